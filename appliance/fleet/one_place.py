"""Many machines' Parquet, or their histories, in one place: a file a table and day.

Where it was read from is noted with size and time, so that the next import reads what is new. A
run that comes again replaces what is there of it; of two machines with one name both are kept, for
:mod:`appliance.fleet.places` to say so.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.errors import OperatorError, Refused, UsageError
from appliance.fleet import duck, tables
from appliance.fleet.from_history import export
from appliance.fleet.parquet_files import path_of, write
from appliance.fleet.places import Problem, readable, whole
from appliance.history import queries
from appliance.system import files

if TYPE_CHECKING:
    import duckdb

_STEM = "fleet"
_NOTES = "imported.json"
_NOTES_BYTES = 1 << 28
_SQLITE = b"SQLite format 3\0"
# What a row of a table is told by, beside its machine; a run that is there twice is one.
_KEYS = ("machine", "history", "day", "run", "started_at")


@dataclass(frozen=True, slots=True)
class Imported:
    """Files that were new, those that were known, and what could not be taken."""

    new: int
    known: int
    problems: tuple[Problem, ...]


def bring(
    sources: list[Path], into: Path, tell: Callable[[str], None] = lambda _: None
) -> Imported:
    """Take what is new in ``sources`` (folders of Parquet, histories, folders of either).

    :class:`UsageError` for a source that is not there, :class:`Refused` while another import is
    at work, :class:`OperatorError` where ``into`` cannot be written.
    """
    for source in sources:
        if not source.exists():
            raise UsageError(f"{source}: there is no such file or folder", "name what is there")
    database = duck.connect()
    try:
        with _alone(into), tempfile.TemporaryDirectory(prefix="stripewright-") as made:
            return _bring(database, sources, into, Path(made), tell)
    except OSError as error:
        raise OperatorError(
            f"{into} cannot be written: {error.strerror or error}",
            "name a folder that you may write to, on a filesystem with space: --into DIR",
        ) from error
    finally:
        database.close()


@contextmanager
def _alone(into: Path) -> Iterator[None]:
    into.mkdir(parents=True, exist_ok=True)
    held = os.open(into, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Refused(f"another import writes to {into}", "try again when it has ended") from None
    finally:
        os.close(held)


def _bring(
    database: duckdb.DuckDBPyConnection,
    sources: list[Path],
    into: Path,
    made: Path,
    tell: Callable[[str], None],
) -> Imported:
    notes = _noted(into)
    problems: list[Problem] = []
    seen: dict[str, list[int]] = {}
    new: dict[tuple[str, str], list[Path]] = {}
    known = 0
    for source in _found(sources, into):
        about = source.stat()
        mark = [about.st_size, about.st_mtime_ns]
        if notes.get(str(source)) == mark:
            known += 1
            continue
        tell(str(source))
        taken, trouble = _taken(source, made / str(len(seen)))
        problems += trouble
        # What could not be taken is no longer new when it can be.
        if not trouble:
            seen[str(source)] = mark
        for path in taken:
            new.setdefault(_of(path), []).append(path)
    for stale in into.glob(f"{tables.ROOT}/*/day=*/.*"):
        stale.unlink(missing_ok=True)
    for (table, day), paths in sorted(new.items()):
        tell(f"{table} {day}")
        target = path_of(into, table, day, _STEM)
        if _set_aside(database, table, target):
            problems.append(
                Problem(str(target), "is damaged, and set aside; the next import makes it again")
            )
            # Of what it was made is not known: all of that day, and every history.
            of_day = f"/day={day}/"
            notes = {one: mark for one, mark in notes.items() if ".parquet" in one
                     and of_day not in one}  # fmt: skip
        for one in _merge(database, table, paths, target):
            problems.append(one)
            seen.pop(one.what, None)
    if {**notes, **seen} != _noted(into):
        files.replace_text(into / _NOTES, json.dumps({**notes, **seen}, indent=0), durable=True)
    return Imported(len(seen), known, tuple(problems))


def _taken(source: Path, made: Path) -> tuple[list[Path], list[Problem]]:
    """The Parquet files that ``source`` is, or gives."""
    if source.suffix != ".parquet":
        return _of_history(source, made)
    if why := whole(source):
        return [], [Problem(str(source), why)]
    table, day = _of(source)
    if table not in tables.TABLES or not tables.DAY.fullmatch(day):
        return [], [Problem(str(source), f"is not called {tables.ROOT}/TABLE/day=YYYY-MM-DD/…")]
    return [source], []


def _of(path: Path) -> tuple[str, str]:
    """Table and day of a file, by where it lies."""
    *_, root, table, day, _ = ("", "", "", *path.parts)
    return (table, day.removeprefix("day=")) if root == tables.ROOT else ("", "")


def _set_aside(database: duckdb.DuckDBPyConnection, table: str, target: Path) -> bool:
    """Whether ``target`` is damaged; then it has another name from now on."""
    if not target.exists() or (not whole(target) and not readable(
        database, table, [target], deep=True
    )[1]):  # fmt: skip
        return False
    target.rename(target.with_suffix(".damaged"))
    return True


def _noted(into: Path) -> dict[str, list[int]]:
    """What has been read; if the notes cannot be, all is read again, and nothing counts twice."""
    try:
        found = json.loads(files.read_bounded(into / _NOTES, _NOTES_BYTES))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _found(sources: list[Path], into: Path) -> Iterator[Path]:
    """Parquet files of this schema and histories, each once."""
    found: set[Path] = set()
    for source in sources:
        if source.is_dir():
            parquet = set(source.rglob(f"{tables.ROOT}/*/day=*/[!.]*.parquet"))
            found |= {path.resolve() for path in parquet}
            # A published history has what is written beside it, in a folder that is private.
            found |= {path.resolve() for path in source.rglob("*.db") if path.is_file()}
        else:
            found.add(source.resolve())
    yield from sorted(path for path in found if not path.is_relative_to(into.resolve()))


def _of_history(path: Path, folder: Path) -> tuple[list[Path], list[Problem]]:
    left_out: list[str] = []
    try:
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                return [], [Problem(str(path), "is neither Parquet nor a history")]
        with queries.open_readonly(path) as reader:
            export(reader, folder, left_out)
    except OperatorError as error:
        return [], [Problem(str(path), error.message)]
    problems = [Problem(str(path), f"not taken: {one}") for one in left_out]
    return sorted(folder.rglob("*.parquet")), problems


def _merge(
    database: duckdb.DuckDBPyConnection, table: str, paths: list[Path], target: Path
) -> list[Problem]:
    """``target`` with the rows of ``paths`` in the place of those that tell of the same."""
    good, problems = readable(database, table, paths, deep=True)
    if not good:
        return problems
    keys = [name for name in _KEYS if name in tables.kinds(table)]
    here = ""
    if target.is_file():
        same = " AND ".join(f"old.{key} = new.{key}" for key in keys)
        columns = ", ".join(f'"{name}"' for name in tables.kinds(table))
        here = (
            f" UNION ALL SELECT {columns} FROM read_parquet({duck.quoted(str(target))},"
            " hive_partitioning = false) AS old"
            f" WHERE NOT EXISTS (SELECT 1 FROM all_{table} AS new WHERE {same})"
        )
    query = f"SELECT DISTINCT * FROM all_{table}{here}"
    write(database, f"FROM ({query}) ORDER BY machine", target)
    return problems
