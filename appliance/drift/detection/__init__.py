"""Has one series changed, when, and how much. Pure; standard library.

``normal.py`` learns what is normal, ``cusum.py`` says how much deviation in a row is too much for
that, ``dating.py`` says when a change began and whether it was a step or a ramp, ``settling.py``
follows it until the new level stands still, and ``detector.py`` goes through a series with them.
docs/decisions/0031-detector.md says why.
"""
