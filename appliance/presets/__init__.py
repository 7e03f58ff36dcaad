"""What others set as a disk's speed: read, and compared with what is published and was measured.

Pure but for :mod:`appliance.presets.own`, which reads the history. ``io_properties.py`` and
``io_cost.py`` are the two families of formats, ``audit.py`` judges.
"""
