"""Parquet of many machines as tables that SQL can ask: a folder, or a place in an object store.

What cannot be read or believed is left out and named: a file that is not whole, a schema of later,
two machines of one name, runs dated in the future.
"""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.errors import OperatorError, UsageError
from appliance.fleet import duck, tables

if TYPE_CHECKING:
    import duckdb

# Those that DuckDB's httpfs can list.
_REMOTE = ("s3://", "gs://", "gcs://", "r2://")
_MAGIC = b"PAR1"
# A clock may be a day off; runs that come later than this after the fleet's present do not count.
_AHEAD_DAYS = 2
# Two machines of one name are told apart no longer than they are judged.
_CLASH_DAYS = 90
# Without it a row is of no machine, or of no day.
_SANE = (
    "coalesce(machine, '') <> '' AND day BETWEEN '1970-01-01' AND '2999-12-31'"
    " AND try_cast(day AS DATE) IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is not counted: a file or a machine, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """Tables by the names of :mod:`appliance.fleet.tables`, without what ``problems`` name.

    ``present`` is the day that is today for the fleet: that of the last run of the machine in the
    middle. So one wrong clock moves nothing.
    """

    database: duckdb.DuckDBPyConnection
    present: str
    machines: int
    problems: tuple[Problem, ...]

    def all(self, sql: str) -> list[Any]:
        """Rows of a query. Raises :class:`duck.UnreadableError`."""
        return self._run(sql).fetchall()

    def make(self, table: str, sql: str) -> None:
        """A temporary ``table`` of the rows of a query. Raises as :meth:`all` does."""
        self._run(f"CREATE OR REPLACE TEMP TABLE {table} AS {sql}")

    def _run(self, sql: str) -> duckdb.DuckDBPyConnection:
        import duckdb

        try:
            return self.database.execute(sql)
        except RuntimeError as error:
            if "interrupted" in str(error).lower():
                raise KeyboardInterrupt from error
            raise
        except (
            duckdb.IOException,
            duckdb.InvalidInputException,
            duckdb.ConversionException,
        ) as error:
            if "temp" in str(error) or "space" in str(error):
                raise OperatorError(
                    f"no room for DuckDB's temporary files: {str(error).splitlines()[0]}",
                    "set TMPDIR to a folder on a filesystem with space",
                ) from error
            raise duck.UnreadableError(
                f"a file is damaged: {str(error).splitlines()[0]}",
                "it is left out of one place: stripewright fleet-import SOURCE --into DIR",
            ) from error


@contextmanager
def open_fleet(place: str, *, deep: bool = False) -> Iterator[Fleet]:
    """The machines whose Parquet is in ``place``. :class:`OperatorError` if there are none.

    A file that is damaged inside is found when it is asked (:class:`duck.UnreadableError`), or
    beforehand by a look that is ``deep``, which takes as long as reading everything.
    """
    database = duck.connect()
    try:
        problems = list(_views(database, place, deep=deep))
        last_days = _last_days(database)
        present = last_days[(len(last_days) - 1) // 2][1] if last_days else "1970-01-01"
        clashing, once = _same_names(database, day_before(present, _CLASH_DAYS))
        problems += [
            Problem(one, "two machines have this name; neither is counted") for one in clashing
        ]
        renamed = _renamed(database)
        problems += [
            Problem(old, f"has become {new}, under which its runs are counted")
            for old, new in renamed.items()
        ]
        left_out = {*clashing, *renamed}
        last_days = [row for row in last_days if row[0] not in left_out]
        if not last_days:
            raise OperatorError(
                f"no machine in {place} can be judged: none has a run, or a name of its own",
                "export histories with runs, under the machines' own names",
            )
        limit = day_before(present, -_AHEAD_DAYS)
        problems += [
            Problem(machine, f"has runs of {last}, and it is {present}: its clock is ahead")
            for machine, last in last_days
            if last > limit
        ]
        _judged(database, sorted(left_out), limit, once=once)
        yield Fleet(database, present, len(last_days), tuple(problems))
    finally:
        database.close()


def day_before(day: str, days: int) -> str:
    """The day that many ``days`` before ``day``."""
    then = datetime.date.fromisoformat(day) - datetime.timedelta(days=days)
    return then.isoformat()


# --------------------------------------------------------------------------------- files


def _views(database: duckdb.DuckDBPyConnection, place: str, *, deep: bool) -> Iterator[Problem]:
    if place.startswith(_REMOTE):
        _read_remote(database, place)
        return
    folder = Path(place)
    if not folder.is_dir():
        raise UsageError(
            f"{place}: there is no such folder", "name the DIR of fleet-import --into, or of export"
        )
    for other in sorted(folder.glob("schema=*")):
        if other.name != tables.ROOT:
            yield Problem(other.name, "written by another version; this one does not read it")
    found = 0
    for table in tables.TABLES:
        paths = []
        for path in sorted(folder.glob(f"{tables.ROOT}/{table}/day=*/[!.]*.parquet")):
            if why := whole(path):
                yield Problem(str(path), why)
            else:
                paths.append(path)
        good, problems = readable(database, table, paths, deep=deep)
        found += len(good)
        yield from problems
    if not found:
        raise OperatorError(
            f"there is no Parquet of Stripewright in {place}",
            "write it on each machine: stripewright export parquet --output DIR",
        )


def whole(path: Path) -> str:
    """Why it is no whole Parquet file, or nothing: it begins and ends with the same four letters
    (Apache Parquet, "File Format").
    """
    try:
        with path.open("rb") as file:
            begin = file.read(len(_MAGIC))
            file.seek(0, os.SEEK_END)
            if file.tell() < 3 * len(_MAGIC):
                return "is not whole"
            file.seek(-len(_MAGIC), os.SEEK_END)
            end = file.read()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if begin != _MAGIC:
        return "is no Parquet"
    return "" if end == _MAGIC else "is not whole"


def readable(
    database: duckdb.DuckDBPyConnection, table: str, paths: list[Path], *, deep: bool
) -> tuple[list[Path], list[Problem]]:
    """Makes ``all_TABLE`` of those of ``paths`` that have its columns, and, if it looks ``deep``,
    values; which, and why not more.
    """
    import duckdb

    try:
        if not _make_view(database, table, paths, deep=deep):
            return paths, []
    except duckdb.Error:
        pass
    good, problems = [], []
    for path in paths:
        try:
            if rows := _make_view(database, table, [path], deep=deep):
                why = f"{rows} rows are of no machine or of no day, and left out"
                problems.append(Problem(str(path), why))
            good.append(path)
        except duckdb.Error as error:
            problems.append(Problem(str(path), f"cannot be read: {str(error).splitlines()[0]}"))
    _make_view(database, table, good, deep=False)
    return good, problems


def _make_view(
    database: duckdb.DuckDBPyConnection, table: str, paths: list[Path], *, deep: bool
) -> int:
    """How many rows are left out: runs say which machines and days there are, and all else is
    looked at by these, but for a ``deep`` look.
    """
    listed = ", ".join(duck.quoted(str(path)) for path in paths)
    source = f"read_parquet([{listed}], hive_partitioning = false)" if paths else ""
    checked = deep or table == "runs"
    _create(database, table, source, where=_SANE if checked else "true")
    # Of several files the first one's columns are taken for those of all, until they are read.
    read = ", ".join(f'max("{name}")' for name in (tables.kinds(table) if deep else ()))
    (count, *_) = _one(database, f"SELECT count(*){read and f', {read}'} FROM all_{table}")
    return _one(database, f"SELECT count(*) FROM {source}")[0] - count if checked and source else 0


def _one(database: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    row = database.execute(sql).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one
    return row


def _create(
    database: duckdb.DuckDBPyConnection, table: str, source: str, *, where: str = "true"
) -> None:
    """The view ``all_TABLE`` of ``source``; without one it has no rows."""
    kinds = tables.kinds(table).items()
    columns = ", ".join(f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in kinds)
    nothing = ", ".join(f'NULL AS "{name}"' for name, _ in kinds)
    database.execute(
        f"CREATE OR REPLACE VIEW all_{table} AS SELECT {columns}"
        f" FROM {source or f'(SELECT {nothing})'} WHERE {where if source else 'false'}"
    )


def _read_remote(database: duckdb.DuckDBPyConnection, place: str) -> None:
    import duckdb

    try:
        database.execute("INSTALL httpfs; LOAD httpfs")
        for table in tables.TABLES:
            pattern = f"{place.rstrip('/')}/{tables.ROOT}/{table}/*/*.parquet"
            there = database.execute(f"FROM glob({duck.quoted(pattern)}) LIMIT 1").fetchone()
            source = f"read_parquet({duck.quoted(pattern)}, hive_partitioning = false)"
            _create(database, table, source if there else "", where=_SANE)
    except duckdb.Error as error:
        raise OperatorError(
            f"{place} cannot be read: {str(error).splitlines()[0]}",
            "DuckDB's page on httpfs says how it gets its credentials; or copy the files",
        ) from error


# -------------------------------------------------------------------------------- doubts


def _same_names(database: duckdb.DuckDBPyConnection, since: str) -> tuple[list[str], bool]:
    """Machines that are two by one name: histories that ran at the same time, or runs of one number
    that began at different moments. And whether any run is there twice, which counts once.
    """
    recent = f"FROM all_runs WHERE day >= {duck.quoted(since)}"
    twice = database.execute(
        f"SELECT machine, min(started_at) < max(started_at) {recent}"
        " GROUP BY machine, history, run HAVING count(*) > 1"
    ).fetchall()
    clashing = {machine for machine, differ in twice if differ}
    spans = database.execute(
        f"SELECT machine, min(started_at) AS first, max(started_at) {recent}"
        " GROUP BY machine, history ORDER BY machine, first"
    ).fetchall()
    until: dict[str, float] = {}
    for machine, first, last in spans:
        if first < until.get(machine, first):
            clashing.add(machine)
        until[machine] = max(last, until.get(machine, last))
    return sorted(clashing), bool(twice)


def _renamed(database: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Old names with the new ones of machines whose history goes on under another: all runs of the
    old name are the new one's, too. A copied disk that goes on elsewhere has some of its own.
    """
    found: dict[str, str] = {}
    shared = database.execute(
        "SELECT history, list(machine ORDER BY runs, machine) FROM (SELECT history, machine,"
        " count(*) AS runs FROM all_runs GROUP BY history, machine) AS counted"
        " GROUP BY history HAVING count(*) > 1"
    ).fetchall()
    for history, machines in shared:
        for old, new in itertools.pairwise(machines):
            own = "SELECT run, started_at FROM all_runs WHERE history = ? AND machine = ?"
            left = database.execute(
                f"SELECT count(*) FROM ({own} EXCEPT {own}) AS left_over",
                [history, old, history, new],
            ).fetchone()
            if left == (0,):
                found[old] = new
    return found


def _last_days(database: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Each machine with the day of its last run, in the order of these days."""
    return database.execute(
        "SELECT machine, max(day) AS last FROM all_runs GROUP BY machine ORDER BY last, machine"
    ).fetchall()


def _judged(
    database: duckdb.DuckDBPyConnection, left_out: list[str], limit: str, *, once: bool
) -> None:
    """The tables without the machines ``left_out`` and what is later than ``limit``."""
    names = ", ".join(duck.quoted(one) for one in ("", *left_out))
    distinct = "DISTINCT " if once else ""
    for table in tables.TABLES:
        database.execute(
            f"CREATE VIEW {table} AS SELECT {distinct}* FROM all_{table}"
            f" WHERE machine NOT IN ({names}) AND day <= {duck.quoted(limit)}"
        )
