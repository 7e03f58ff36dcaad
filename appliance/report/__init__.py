"""One run, or one imported diary, as a page that is attached to a ticket.

``document`` gathers, ``html`` and ``markdown`` write; all of it is pure.
"""
