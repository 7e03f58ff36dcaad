"""docs/fleet.md: its schema is that of the files, and its query runs."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from appliance.fleet import places, tables
from tests.fleet import schema_page
from tests.fleet.synthetic import make


def test_the_schema_in_the_guide_is_that_of_the_files():
    text = schema_page.PAGE.read_text(encoding="utf-8")
    assert schema_page.filled(text) == text, "run make catalog"
    for columns in tables.TABLES.values():
        assert all(f"| `{column.name}` | {column.kind} |" in text for column in columns)


def test_the_query_in_the_guide_finds_the_slow_disks(tmp_path: Path) -> None:
    make(tmp_path, 24, 6, 7, effects=(0.5,))
    text = schema_page.PAGE.read_text(encoding="utf-8")
    query = next(
        one for one in re.findall(r"```sql\n(.*?)```", text, re.DOTALL) if "GROUP BY ALL" in one
    )
    found = duckdb.sql(query.replace("/srv/fleet", str(tmp_path))).fetchall()
    assert found
    with places.open_fleet(str(tmp_path)) as fleet:
        known = fleet.all("SELECT DISTINCT machine, member FROM members")
    assert {row[:2] for row in found} <= set(known)
    assert all(ratio > 1.25 for _, _, ratio, _ in found)
