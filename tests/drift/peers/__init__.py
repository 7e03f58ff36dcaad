"""Other people's ways to find a change, on the series that the detector is judged with.

``make peers``. They run in an environment of their own: nothing here is in the image, and no
other test imports it.
"""
