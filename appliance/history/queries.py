"""Reading history.db, by anybody who may read the file, also while a run writes it.

The file is opened read-only: no lock file, no side file, nothing to write. Every query is
short, because a reader keeps a writer waiting for as long as it reads.
"""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from appliance import paths
from appliance.errors import OperatorError
from appliance.history import format as file_format
from appliance.history import liveness, rows
from appliance.model import EpochRecord, JobResult, RunRecord, RunState

_WAIT_SECONDS = 5.0
# The epochs that the boot unit opens; runs in other directories keep their own.
APPLIANCE = "appliance"
# SQLite's integers; a larger number is in no row.
_MAX_ID = (1 << 63) - 1


def open_readonly(path: Path) -> Reader:
    """Open ``path``; :class:`OperatorError` says what is wrong if it cannot be read."""
    _require_file(path)
    try:
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(path.absolute()))}?mode=ro", uri=True, timeout=_WAIT_SECONDS
        )
        for pragma in file_format.CAUTION:
            connection.execute(pragma)
    except sqlite3.Error as error:
        raise file_format.operator_error(path, error) from error
    reader = Reader(connection, path)
    try:
        reader.require_ours()
    except BaseException:
        reader.close()
        raise
    return reader


def _require_file(path: Path) -> None:
    """Not opened here: closing a second descriptor would drop SQLite's locks on the file."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise OperatorError(
            f"there is no history at {path} yet",
            "start a run: stripewright bench run smoke; or name another file with --db FILE",
        ) from error
    except OSError as error:
        raise OperatorError(
            f"cannot read history {path}: {os.strerror(error.errno or 0)}",
            "name a file that you may read with --db FILE",
        ) from error
    if stat.S_ISDIR(mode):
        raise file_format.directory(path)


class Reader:
    """A read-only connection; use it as a context manager and from one thread."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        connection.row_factory = sqlite3.Row
        self._connection = connection
        self._path = path

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def require_ours(self) -> None:
        """:class:`OperatorError` for another program's file, or a newer version's."""
        application = self._number("PRAGMA application_id")
        version = self._number("PRAGMA user_version")
        if application != file_format.APPLICATION_ID:
            if not self._all("SELECT 1 FROM sqlite_master LIMIT 1"):
                raise OperatorError(
                    f"history {self._path} is empty",
                    "start a run: stripewright bench run smoke",
                )
            raise file_format.foreign(self._path)
        if version > file_format.SCHEMA_VERSION:
            raise file_format.too_new(self._path, version)

    def current_epoch(self, subject: str = APPLIANCE) -> EpochRecord | None:
        """The latest epoch of ``subject``."""
        found = self._all("SELECT * FROM epoch WHERE subject = ? ORDER BY id DESC LIMIT 1", subject)
        with self._understood():
            return rows.to_epoch(found[0]) if found else None

    def runs(self, limit: int) -> tuple[RunRecord, ...]:
        """The last ``limit`` runs, latest first; a run without its process is aborted."""
        found = self._all("SELECT * FROM run ORDER BY id DESC LIMIT ?", limit)
        with self._understood():
            return tuple(self._as_it_is(row) for row in found)

    def run(self, run_id: int) -> RunRecord:
        """Run ``run_id`` as :meth:`runs` has it; :class:`OperatorError` if there is none."""
        found = self._find_run(run_id) if abs(run_id) <= _MAX_ID else []
        if not found:
            raise OperatorError(
                f"there is no run {run_id} in {self._path}",
                "list them: stripewright results, with the same --db",
            )
        with self._understood():
            return self._as_it_is(found[0])

    def results(self, run_id: int) -> tuple[JobResult, ...]:
        """Every result of a run in the order of its jobs, with bins, deltas and findings."""
        with self._snapshot(), self._understood():
            return tuple(
                rows.to_result(
                    row,
                    bins=self._bins(row["id"]),
                    deltas=self._all("SELECT * FROM device_delta WHERE result_id = ?", row["id"]),
                    findings=self._all(
                        "SELECT * FROM finding WHERE result_id = ? ORDER BY id", row["id"]
                    ),
                )
                for row in self._all("SELECT * FROM result WHERE run_id = ? ORDER BY id", run_id)
            )

    def _find_run(self, run_id: int) -> list[Any]:
        return self._all("SELECT * FROM run WHERE id = ?", run_id)

    def _as_it_is(self, row: Mapping[str, Any]) -> RunRecord:
        """The run of ``row``. A reader cannot close the row of a killed run, but tells of it."""
        if row["state"] == RunState.RUNNING.value and not _is_alive(row):
            # It may have ended in order since the row was read; its last write came before.
            row = next(iter(self._find_run(row["id"])), row)
        run = rows.to_run(row)
        if run.state is not RunState.RUNNING or _is_alive(row):
            return run
        return dataclasses.replace(
            run,
            state=RunState.ABORTED,
            ended_at=row["seen_at"],
            reason="its process is gone; the next run or 'stripewright bench reap' records it"
            if row["boot_id"] == liveness.boot_id()
            else "its process is gone: the machine was restarted, or this is a copy of its history",
        )

    def _bins(self, result_id: int) -> dict[int, int]:
        found = self._all("SELECT bins FROM histogram WHERE result_id = ?", result_id)
        return file_format.unpack_bins(found[0]["bins"]) if found else {}

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """A value that cannot be decoded is damage too, though SQLite does not see it."""
        try:
            yield
        except (ValueError, TypeError, KeyError, zlib.error) as error:
            raise file_format.damaged(self._path, error) from error

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Several queries over one state of the file."""
        self._all("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()

    def _all(self, sql: str, *values: object) -> list[Any]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            if file_format.is_damage(error) and not self._is_provably_ours():
                raise file_format.foreign(self._path) from error
            raise file_format.operator_error(self._path, error) from error

    def _is_provably_ours(self) -> bool:
        """As the writing side sees it: only then is a damaged file set aside."""
        try:
            with self._path.open("rb") as file:
                header = file.read(file_format.HEADER_BYTES)
        except OSError:
            return True
        return file_format.is_ours(header) or self._path.absolute() == paths.HISTORY_DB

    def _number(self, sql: str) -> int:
        return int(self._all(sql)[0][0])


def _is_alive(row: Mapping[str, Any]) -> bool:
    return liveness.is_alive(row["pid"], row["pid_start_ticks"], row["boot_id"] or "")
