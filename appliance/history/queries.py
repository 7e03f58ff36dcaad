"""Reading history.db, by anybody who may read the file, also while a run writes it.

The file is opened read-only: no lock file, no side file, nothing to write. Every query is
short, because a reader keeps a writer waiting for as long as it reads.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from appliance.errors import OperatorError
from appliance.history import format as file_format
from appliance.history import rows
from appliance.model import EpochRecord, JobResult, RunRecord, Sample

_WAIT_SECONDS = 5.0
# The epochs that the boot unit opens; runs in other directories keep their own.
APPLIANCE = "appliance"


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One line of the audit trail: a step of a plan that began, was done, or failed."""

    at: float
    boot_id: str
    plan_digest: str
    step_index: int
    argv: tuple[str, ...]
    state: str
    detail: str


def open_readonly(path: Path) -> Reader:
    """Open ``path``; :class:`OperatorError` says what is wrong if it cannot be read."""
    if not path.exists():
        raise OperatorError(
            f"there is no history at {path} yet",
            "start a run: stripewright bench run smoke; or name another file with --db FILE",
        )
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=_WAIT_SECONDS
        )
    except sqlite3.Error as error:
        raise file_format.operator_error(path, error) from error
    reader = Reader(connection, path)
    try:
        reader.require_ours()
    except BaseException:
        reader.close()
        raise
    return reader


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

    def epoch(self, epoch_id: int) -> EpochRecord | None:
        found = self._all("SELECT * FROM epoch WHERE id = ?", epoch_id)
        with self._understood():
            return rows.to_epoch(found[0]) if found else None

    def latest_run(self) -> RunRecord | None:
        found = self.runs(limit=1)
        return found[0] if found else None

    def runs(self, limit: int) -> tuple[RunRecord, ...]:
        """The last ``limit`` runs, latest first."""
        found = self._all("SELECT * FROM run ORDER BY id DESC LIMIT ?", limit)
        with self._understood():
            return tuple(rows.to_run(row) for row in found)

    def run(self, run_id: int) -> RunRecord:
        """Run ``run_id``; :class:`OperatorError` if there is none."""
        found = self._all("SELECT * FROM run WHERE id = ?", run_id)
        if not found:
            raise OperatorError(
                f"there is no run {run_id} in {self._path}", "list them: stripewright results"
            )
        with self._understood():
            return rows.to_run(found[0])

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

    def samples(self, run_id: int, since_ns: int = 0) -> tuple[Sample, ...]:
        """The samples of a run after ``since_ns``, oldest first."""
        found = self._all(
            "SELECT * FROM sample WHERE run_id = ? AND at_ns > ? ORDER BY at_ns, id",
            run_id,
            since_ns,
        )
        with self._understood():
            return tuple(rows.to_sample(row) for row in found)

    def audit(self, limit: int) -> tuple[AuditRecord, ...]:
        """The last ``limit`` lines of the audit trail, latest first."""
        found = self._all("SELECT * FROM audit_step ORDER BY id DESC LIMIT ?", limit)
        with self._understood():
            return tuple(
                AuditRecord(
                    at=row["at"],
                    boot_id=row["boot_id"] or "",
                    plan_digest=row["plan_digest"],
                    step_index=row["step_index"],
                    argv=tuple(json.loads(row["argv"])),
                    state=row["state"],
                    detail=row["detail"] or "",
                )
                for row in found
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
            raise file_format.operator_error(self._path, error) from error

    def _number(self, sql: str) -> int:
        return int(self._all(sql)[0][0])
