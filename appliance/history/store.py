"""Writing history.db: one connection, one thread, short transactions.

The rollback journal is used (journal_mode=DELETE), because a reader without write access
cannot open a WAL file that has no side files yet. What the appliance writes is read from a
copy (:mod:`appliance.history.published`). A process killed in the middle of a
write leaves a journal behind, and the next writer's first look at the file undoes it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
import sqlite3
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from appliance.errors import OperatorError
from appliance.history import format as file_format
from appliance.history import opening, retention, rows
from appliance.history.findings_store import DriftWriter
from appliance.history.queries import APPLIANCE
from appliance.history.writing import Writer
from appliance.model.measurement import JobResult, Measurement
from appliance.model.runs import EpochRecord, RunRecord, RunState, Sample, Suite
from appliance.system import journal, liveness

_KILLED = (
    "the process that ran it is gone: it was killed, or the machine lost power; "
    "the end is its last sign of life"
)


class History:
    """history.db open for writing. ``set_aside`` is where a damaged file went, ``reaped``
    the runs that were found without their process and marked as aborted.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, set_aside: Path | None) -> None:
        self._writer = Writer(connection, path)
        self.drift = DriftWriter(self._writer)
        self.path = path
        self.set_aside = set_aside
        self.reaped: tuple[RunRecord, ...] = ()

    @classmethod
    def open_writable(
        cls,
        path: Path,
        *,
        may_set_aside: bool = True,
        wait_seconds: float | None = None,
    ) -> History:
        """Open or make ``path``, check it, migrate it, and reap dead runs.

        A damaged file of ours is renamed to ``NAME.damaged-TIME`` and a new one begun: what
        can still be read from it stays. Not so without ``may_set_aside``, for whoever has only a
        word to say of what is in it: then that is an :class:`OperatorError`.
        :class:`UsageError` for a file that is something else, which is left alone;
        :class:`OperatorError` for everything else.
        """
        set_aside = None
        place = opening.adopt(path)
        try:
            connection = opening.open_checked(place, wait_seconds=wait_seconds)
        except opening.DamagedError as damage:
            if not may_set_aside:
                raise file_format.damaged(path, damage) from damage
            set_aside = opening.set_aside(place, path)
            connection, begun = opening.begin_again(path, wait_seconds=wait_seconds)
            journal.event(
                journal.Event.HISTORY_DAMAGED,
                f"history {path} was damaged ({damage}) and is now {set_aside}; {begun}",
                priority=journal.Priority.ERROR,
                path=str(path),
                set_aside=str(set_aside),
            )
        history = cls(connection, path, set_aside)
        try:
            history.reaped = history._reap()
            history._writer.publish()
        except BaseException:
            history.close()
            raise
        return history

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._writer.close()

    # ------------------------------------------------------------------ plans and epochs

    def audit(
        self,
        *,
        plan_digest: str,
        step_index: int,
        argv: Sequence[str],
        state: str,
        detail: str = "",
        at: float | None = None,
        boot_id: str = "",
    ) -> None:
        """One line of the audit trail; ``state`` is ``started``, ``done`` or ``failed``.

        The same ``at`` is the same line, so that a caller unsure of success can repeat it.
        """
        row = {
            "at": time.time() if at is None else at,
            "boot_id": boot_id or liveness.boot_id(),
            "plan_digest": plan_digest,
            "step_index": step_index,
            "state": state,
        }
        same = " AND ".join(f"{name} = ?" for name in row)
        # A step waits for its row, and not for readers' copy: that is renewed at the end.
        with self._writer.transaction(publish=False):
            known = self._writer.all(
                f"SELECT 1 FROM audit_step WHERE {same} LIMIT 1",  # noqa: S608 - names only
                *row.values(),
            )
            if not known:
                argument_list = rows.to_json(list(argv))
                self._writer.insert("audit_step", {**row, "argv": argument_list, "detail": detail})

    def event(self, code: str, message: str, fields: Mapping[str, str | int | float]) -> None:
        """Keep an event; the journal gets it from the caller."""
        with self._writer.transaction():
            self._writer.insert(
                "event",
                {
                    "at": time.time(),
                    "code": code,
                    "message": message,
                    "fields": rows.to_json(dict(fields)),
                },
            )

    def current_epoch(self, subject: str = APPLIANCE) -> EpochRecord | None:
        """The latest epoch of ``subject``."""
        return self._writer.reader.current_epoch(subject)

    def ensure_epoch(
        self, fingerprint: Mapping[str, str], *, subject: str = APPLIANCE
    ) -> EpochRecord:
        """The current epoch if ``fingerprint`` is still the same, else a new one.

        ``changed`` of a new epoch says what is different from the one before. ``subject``
        keeps the epochs of the appliance's volumes apart from those of other directories.
        """
        current = self.current_epoch(subject)
        if current is not None and current.fingerprint == dict(fingerprint):
            return current
        before = current.fingerprint if current else {}
        changed = {
            key: (before.get(key, ""), fingerprint.get(key, ""))
            for key in (*fingerprint, *(key for key in before if key not in fingerprint))
            if current is not None and before.get(key, "") != fingerprint.get(key, "")
        }
        opened_at = time.time()
        with self._writer.transaction():
            epoch_id = self._writer.insert(
                "epoch",
                {
                    "host_id": self._host(fingerprint.get("machine_type", "")),
                    "subject": subject,
                    "opened_at": opened_at,
                    "fingerprint": rows.to_json(dict(fingerprint)),
                    "changed": rows.to_json(changed),
                },
            )
        return EpochRecord(epoch_id, opened_at, dict(fingerprint), changed)

    # ------------------------------------------------------------------------------ runs

    def begin_run(self, suite: Suite, **known: object) -> int:
        """A new running row that belongs to this process, with the columns ``known``; its id."""
        now = time.time()
        with self._writer.transaction():
            self._writer.insert(
                "suite",
                {
                    "content_hash": suite.content_hash,
                    "name": suite.name,
                    "jobs": rows.to_json(list(suite.jobs)),
                },
                or_ignore=True,
            )
            return self._writer.insert(
                "run",
                {
                    **{name: rows.cell(value) for name, value in known.items()},
                    "suite_hash": suite.content_hash,
                    "suite": suite.name,
                    "state": RunState.RUNNING.value,
                    "started_at": now,
                    "seen_at": now,
                    "phase": "check",
                    "phase_started_at": now,
                    "job_count": len(suite.jobs),
                    "pid": os.getpid(),
                    "pid_start_ticks": liveness.start_ticks(os.getpid()),
                    "boot_id": liveness.boot_id(),
                },
            )

    def update_run(self, run_id: int, **learnt: object) -> None:
        """Fill in columns of a run by what is learnt after its beginning: it is a sign of life.

        ``job_count`` is how many measurements there are, all passes and members together.
        """
        values = {name: rows.cell(value) for name, value in learnt.items()}
        with self._writer.transaction():
            self._writer.update("run", run_id, {**values, "seen_at": time.time()})

    def begin_phase(self, run_id: int, phase: str, *, job_index: int, seconds: float) -> None:
        """A phase of ``seconds`` (an estimate) begins now; ``job_index`` counts from 1."""
        self.update_run(
            run_id,
            phase=phase,
            job_index=job_index,
            phase_started_at=time.time(),
            phase_seconds=seconds,
        )

    def add_samples(self, run_id: int, samples: Sequence[Sample]) -> None:
        """A batch of samples and a sign of life, in one transaction."""
        with self._writer.transaction():
            self._writer.insert(
                "sample", *({"run_id": run_id, **rows.row_of(sample)} for sample in samples)
            )
            self._writer.update("run", run_id, {"seen_at": time.time()})

    def add_result(self, run_id: int, result: JobResult, *, raw_report: str) -> None:
        """One result with everything that belongs to it; all of it or nothing."""
        with self._writer.transaction():
            now = time.time()
            of = self._insert_result(result, run_id=run_id, ended_at=now)
            self._writer.insert("histogram", {**of, "bins": file_format.pack_bins(result.bins)})
            deltas = ({**of, **rows.delta_row(io)} for io in result.device_io)
            self._writer.insert("device_delta", *deltas)
            report = zlib.compress(raw_report.encode())
            # Both directions of a mixed job come out of one report.
            last = "SELECT job, fio_json FROM raw_report WHERE run_id = ? ORDER BY id DESC LIMIT 1"
            if [tuple(row) for row in self._writer.all(last, run_id)] != [(result.job, report)]:
                self._writer.insert(
                    "raw_report",
                    {"run_id": run_id, "job": result.job, "at": now, "fio_json": report},
                )

    def _insert_result(self, result: Measurement, **of_what: float) -> rows.Row:
        """Insert a result of a run or an import with its findings; returns the columns by which
        what else belongs to it refers to it.
        """
        row = rows.result_row(result, self._writer.columns("result"))
        of = {"result_id": self._writer.insert("result", {**of_what, **row})}
        findings = rows.finding_rows(result.findings)
        self._writer.insert("finding", *({**of, **one} for one in findings))
        return of

    def finish_run(self, run_id: int, state: RunState, reason: str = "") -> None:
        """The run has ended; ``reason`` says why if it is not complete. Then what is too old
        is thinned out: a failure of that is left to the next run.
        """
        now = time.time()
        self.update_run(run_id, state=state, reason=reason, ended_at=now)
        with contextlib.suppress(OperatorError):
            retention.thin_out(self._writer, now=now)

    def add_import(
        self, file: str, *, sha256: str, machine_type: str, judged: Sequence[Measurement]
    ) -> int:
        """Keep the reports of one file; returns the import's id.

        ``sha256`` is that of the file's content. The same content for the same machine type
        is the same import: its verdicts are replaced by these if they differ, because the
        rules may have learnt since.
        """
        with self._writer.transaction():
            known = self._writer.all(
                "SELECT id FROM imported WHERE sha256 = ? AND machine_type = ?",
                sha256,
                machine_type,
            )
            if known:
                import_id = int(known[0]["id"])
                if self._is_kept(import_id, judged):
                    return import_id
                self._writer.execute(
                    "DELETE FROM finding WHERE result_id IN"
                    " (SELECT id FROM result WHERE imported_id = ?)",
                    import_id,
                )
                self._writer.execute("DELETE FROM result WHERE imported_id = ?", import_id)
            else:
                import_id = self._writer.insert(
                    "imported",
                    {
                        "at": time.time(),
                        "file": rows.holdable_text(file),
                        "sha256": sha256,
                        "machine_type": machine_type,
                    },
                )
            for one in judged:
                self._insert_result(one, imported_id=import_id)
        return import_id

    def _is_kept(self, import_id: int, judged: Sequence[Measurement]) -> bool:
        kept: tuple[Measurement, ...] = ()
        with contextlib.suppress(OperatorError):
            kept = self._writer.reader.import_reports(import_id)
        # The same content may come under another name.
        given = tuple(dataclasses.replace(one, file="") for one in judged)
        return tuple(dataclasses.replace(one, file="") for one in kept) == given

    def left_behind(self) -> tuple[str, ...]:
        """The targets of killed runs whose files may still be there."""
        found = self._writer.all("SELECT DISTINCT target FROM run WHERE files_left = 1")
        return tuple(row["target"] for row in found)

    def mark_cleaned(self, target: str) -> None:
        """Nothing of a killed run is left in ``target``."""
        with self._writer.transaction():
            self._writer.execute(
                "UPDATE run SET files_left = 0 WHERE files_left = 1 AND target = ?", target
            )

    def _reap(self) -> tuple[RunRecord, ...]:
        dead = [
            row
            for row in self._writer.all("SELECT * FROM run WHERE state = ?", RunState.RUNNING.value)
            if not liveness.is_alive(row["pid"], row["pid_start_ticks"], row["boot_id"])
        ]
        for row in dead:
            with self._writer.transaction():
                self._writer.update(
                    "run",
                    row["id"],
                    {
                        "state": RunState.ABORTED.value,
                        "reason": _KILLED,
                        "ended_at": row["seen_at"],
                        "files_left": 1,
                    },
                )
            journal.event(
                journal.Event.RUN_ABORTED,
                f"run {row['id']} of suite {row['suite']} is marked as aborted: {_KILLED}",
                priority=journal.Priority.WARNING,
                run=row["id"],
                suite=row["suite"],
            )
        return tuple(rows.value_of(RunRecord, row) for row in dead)

    # --------------------------------------------------------------------------- plumbing

    def _host(self, machine_type: str) -> int:
        name = platform.node()
        found = self._writer.all(
            "SELECT id FROM host WHERE name = ? AND machine_type = ?", name, machine_type
        )
        if found:
            return int(found[0]["id"])
        return self._writer.insert(
            "host", {"name": name, "machine_type": machine_type, "first_seen_at": time.time()}
        )
