"""Many machines: their results as Parquet, in one place, and which of them is not like the others.

``tables.py`` is the schema of the files, ``from_history.py`` writes those of a history and
``one_place.py`` brings those of many machines together, ``places.py`` opens them with DuckDB,
``odd.py`` judges and ``overview.py`` counts. docs/fleet.md leads through it.
"""
