"""Where the Parquet files are, and writing one: whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from appliance.fleet import duck, tables
from appliance.history.rows import holdable_text
from appliance.system import files

if TYPE_CHECKING:
    import duckdb

Row = Mapping[str, Any]


def path_of(folder: Path, table: str, day: str, stem: str) -> Path:
    """Of the rows of one table and day."""
    return folder / tables.ROOT / table / f"day={day}" / f"{stem}.parquet"


def stem_of(machine: str, history: str) -> str:
    """The file name of what one history of a machine gives: of no other machine, whatever the
    names are, and of no other history of this one.
    """
    told = hashlib.sha256(f"{machine}\0{history}".encode()).hexdigest()[:12]
    return f"machine={quote(machine, safe='')[:150]}.{told}"


def runs_in(
    database: duckdb.DuckDBPyConnection, folder: Path, stem: str
) -> dict[str, frozenset[int]]:
    """The runs in the files called ``stem``, by day; a file that cannot be read has none."""
    import duckdb

    found = {}
    for path in folder.glob(f"{tables.ROOT}/runs/day=*/{stem}.parquet"):
        try:
            rows = database.execute(
                f"SELECT run FROM read_parquet({duck.quoted(str(path))}, hive_partitioning = false)"
            ).fetchall()
        except duckdb.Error:
            continue
        found[path.parent.name.removeprefix("day=")] = frozenset(run for (run,) in rows)
    return found


class Staging:
    """Rows of one table on their way into Parquet: memory is not what bounds them."""

    def __init__(self, folder: Path, table: str) -> None:
        self.table = table
        self.days: set[str] = set()
        self._path = folder / f"{table}.json"
        self._file = self._path.open("w", encoding="utf-8")

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.days.add(row["day"])
            # JSON knows no NaN, and UTF-8 no half a surrogate pair: both are in damaged files only.
            self._file.write(json.dumps(_held(row)) + "\n")

    def write(self, database: duckdb.DuckDBPyConnection, folder: Path, stem: str) -> Iterator[Path]:
        """Each day's rows to its file. :class:`OSError` where that cannot be written."""
        self._file.close()
        columns = duck.names(tables.kinds(self.table))
        with duck.working():
            database.execute(
                f"CREATE OR REPLACE TEMP TABLE staged AS SELECT * FROM read_json("
                f"{duck.quoted(str(self._path))}, format = 'newline_delimited',"
                f" columns = {columns})"
            )
        for day in sorted(self.days):
            path = path_of(folder, self.table, day, stem)
            write(database, f"FROM staged WHERE day = {duck.quoted(day)}", path)
            yield path


def write(database: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """What ``query`` gives to ``path``, in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The readers' pattern does not take it.
    begun = path.with_name(f".{os.urandom(8).hex()}")
    try:
        with duck.working():
            database.execute(f"COPY ({query}) TO {duck.quoted(str(begun))} (FORMAT parquet)")
        begun.replace(path)
    except BaseException:
        begun.unlink(missing_ok=True)
        raise
    files.sync_folder(path.parent)


def _held(row: Row) -> Row:
    return {
        name: holdable_text(value)
        if isinstance(value, str)
        else None
        if isinstance(value, float) and value - value != 0
        else value
        for name, value in row.items()
    }
