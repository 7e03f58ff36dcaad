"""The SQL of :mod:`appliance.fleet.odd` answers the same on DuckDB and on ClickHouse, unchanged.

``make fleet``; skipped where chDB, which is ClickHouse as a library, is not installed. What differs
is made beforehand: the tables of the Parquet files, and the quantiles that each engine calls by a
name of its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from appliance.fleet import beside_sql, duck, places, tables
from tests.fleet.synthetic import make

session = pytest.importorskip("chdb.session")

PRESENT = "2026-08-29"
# A machine that was silent lately, and a disk that came late: some statistics are NULL.
WHERE = (
    " WHERE NOT (machine = 'node-00011' AND day > '2026-08-20')"
    " AND NOT (member = 'AWS0002201' AND day < '2026-08-10')"
)


class Engine(NamedTuple):
    """``make`` makes a table of a query's rows, ``rows`` gives these."""

    make: Callable[[str, str], object]
    rows: Callable[[str], list[Any]]


def of_duckdb(folder: Path) -> Iterator[Engine]:
    with places.open_fleet(str(folder)) as fleet:
        beside_sql.macros(fleet.database)
        for table in ("results", "members"):
            fleet.make(table, f"SELECT * FROM all_{table}{WHERE}")
        yield Engine(fleet.make, fleet.all)


def of_clickhouse(folder: Path) -> Iterator[Engine]:
    with session.Session() as engine:

        def make_table(table: str, sql: str) -> None:
            engine.query(f"DROP TABLE IF EXISTS {table}")
            engine.query(f"CREATE TABLE {table} ENGINE = Memory AS {sql}")

        def rows(sql: str) -> list[Any]:
            answer = str(engine.query(sql, "JSONCompactEachRow"))
            return [tuple(json.loads(line)) for line in answer.splitlines()]

        for percent in (20, 25, 50, 80):
            engine.query(
                f"CREATE FUNCTION q{percent} AS (x) -> quantileExactInclusive({percent / 100})(x)"
            )
        for table in ("results", "members"):
            paths = duck.quoted(f"{folder}/{tables.ROOT}/{table}/*/*.parquet")
            make_table(table, f"SELECT * FROM file({paths}, Parquet){WHERE}")
        yield Engine(make_table, rows)


def answers(engine: Engine) -> dict[str, list[Any]]:
    """What each step of :func:`odd.find` gives."""
    given: dict[str, list[Any]] = {}
    for unit, daily in (("machine", beside_sql.machines_sql), ("member", beside_sql.members_sql)):
        for table, sql in beside_sql.steps("days", daily(PRESENT), PRESENT):
            engine.make(table, sql)
            given[f"{table} of a {unit}"] = engine.rows(f"SELECT * FROM {table}")
        given[f"tests of a {unit}"] = engine.rows(beside_sql.tests_sql("units"))
        given[f"far of a {unit}"] = engine.rows(beside_sql.far_sql("all_scores"))
    return given


def told(row: tuple[Any, ...]) -> tuple[str, ...]:
    """What a row is known by: all of it that is no figure."""
    return tuple(one for one in row if isinstance(one, str))


def alike(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def test_both_engines_give_the_same_rows(tmp_path: Path) -> None:
    make(tmp_path, 80, 24, 7, effects=(0.2, 0.5))
    (on_duckdb,) = map(answers, of_duckdb(tmp_path))
    (on_clickhouse,) = map(answers, of_clickhouse(tmp_path))
    assert on_clickhouse.keys() == on_duckdb.keys()
    for step, rows in on_duckdb.items():
        expected = {told(row): row for row in rows}
        found = {told(row): row for row in on_clickhouse[step]}
        assert len(expected) == len(rows) == len(on_clickhouse[step]) > 0, step
        assert found.keys() == expected.keys(), step
        for key, row in expected.items():
            assert all(map(alike, row, found[key])), (step, row, found[key])
    assert any(None in row for row in on_duckdb["units of a member"])
