"""Disks -> inventory -> layout -> plan -> applied.

``devices`` looks, ``identity`` and ``planner`` decide, ``executor`` acts; ``md`` and
``filesystem`` know one tool each, ``document`` turns the values into JSON and back.
"""
