"""Writes the schema of the Parquet into docs/fleet.md, from appliance/fleet: ``make catalog``."""

from __future__ import annotations

from appliance.fleet import tables
from tests.rig.catalog import TOP, with_generated

PAGE = TOP / "docs" / "fleet.md"
_ROWS = {
    "runs": "a run of a suite that has ended",
    "results": "one job of a run in one direction",
    "members": "one disk of the stripe during one result",
    "histograms": "the latencies of one job of one day",
    "findings": "what a validity rule said of a result",
    "drift": "a finding of drift",
    "epochs": "a span in which results can be compared",
}


def section() -> str:
    """What a row of each table is, and every column with the tables that have it."""
    lines = ["| table | a row is |", "|---|---|"]
    lines += [f"| `{table}` | {_ROWS[table]} |" for table in tables.TABLES]
    having: dict[tables.Column, list[str]] = {}
    for table, columns in tables.TABLES.items():
        for column in columns:
            having.setdefault(column, []).append(table)
    lines += ["", "| column | type | in | means |", "|---|---|---|---|"]
    for column, found in having.items():
        where = "all" if len(found) == len(tables.TABLES) else ", ".join(found)
        lines.append(f"| `{column.name}` | {column.kind} | {where} | {column.means} |")
    return "\n".join(lines) + "\n"


def filled(text: str) -> str:
    return with_generated(text, section())


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
