"""An operator's way to what only root, or the owner of the history, may do.

Used by commands and screens alike: something is left in a spool, a fixed unit is started, its
answer is read. Nothing here prints or waits longer than the unit that was asked.
"""
