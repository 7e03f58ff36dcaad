"""Many machines: their results as Parquet, in one place, and which of them is not like the others.

``tables.py`` is the schema of the files, ``export.py`` writes a history's, ``store.py`` brings
those of many machines together, ``sources.py`` reads them with DuckDB, ``odd.py`` judges and
``overview.py`` counts. docs/fleet.md leads through it.
"""
