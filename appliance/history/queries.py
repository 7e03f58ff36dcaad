"""What can be asked of history.db, by anybody who may read the file, also while a run writes.

How it is read is in :mod:`appliance.history.connection`.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from appliance.errors import OperatorError
from appliance.figures import sampling
from appliance.history import connection, drift_queries, rows
from appliance.history import format as file_format
from appliance.model.confirmations import CONFIRM_SUITE
from appliance.model.measurement import JobResult, Measurement
from appliance.model.runs import EpochRecord, Mean, RunRecord, RunState, Sample
from appliance.system import liveness

# The epochs that the boot unit opens; runs in other directories keep their own.
APPLIANCE = "appliance"
_T = TypeVar("_T")
_M = TypeVar("_M", bound=Measurement)
_SAMPLE = tuple(field.name for field in dataclasses.fields(Sample))


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """One imported file for one machine type. ``at`` is when, in seconds since the epoch."""

    id: int
    at: float
    file: str
    sha256: str
    machine_type: str
    reports: int
    valid: int


@dataclass(frozen=True, slots=True)
class RunCount:
    """``last_at`` is when the latest of them ended (else began), seconds since the epoch."""

    suite: str
    state: RunState
    count: int
    last_at: float


def open_readonly(path: Path) -> Reader:
    """Open ``path``; :class:`OperatorError` says what is wrong if it cannot be read."""
    reader = Reader(connection.connect(path), path)
    try:
        reader.require_schema()
    except BaseException:
        reader.close()
        raise
    return reader


class Reader(drift_queries.DriftQueries):
    """What can be asked of the history."""

    def current_epoch(self, subject: str = APPLIANCE) -> EpochRecord | None:
        """The latest epoch of ``subject``."""
        sql = "SELECT * FROM epoch WHERE subject = ? ORDER BY id DESC LIMIT 1"
        return next(iter(self.values(EpochRecord, sql, subject)), None)

    def epoch(self, epoch_id: int) -> EpochRecord:
        """Epoch ``epoch_id``; :class:`OperatorError` if there is none."""
        found = self.values(EpochRecord, "SELECT * FROM epoch WHERE id = ?", _id(epoch_id))
        if not found:
            raise OperatorError(
                f"there is no epoch {epoch_id} in {self._path}",
                "each run tells its epoch: stripewright results --json, with the same --db",
            )
        return found[0]

    def host(self, epoch_id: int) -> str:
        """The name of the machine of an epoch; empty if there is none."""
        found = self.all(
            "SELECT name FROM host JOIN epoch ON host.id = host_id WHERE epoch.id = ?",
            _id(epoch_id),
        )
        return str(found[0]["name"]) if found else ""

    def runs_after(self, at: float) -> tuple[int, float]:
        """How many of the last runs are dated later than ``at``, and the latest of these dates."""
        found = self.all(
            "SELECT count(*) AS count, max(started_at) AS latest FROM"
            " (SELECT started_at FROM run ORDER BY id DESC LIMIT 1000) WHERE started_at > ?",
            at,
        )
        with self.understood():
            return int(found[0]["count"]), float(found[0]["latest"] or 0.0)

    def runs(self, limit: int, *, suite: str = "", repeats: bool = True) -> tuple[RunRecord, ...]:
        """The last ``limit`` runs, of ``suite`` alone if it is given, latest first.

        Without ``repeats`` those of suspects are left out: they are parts of a suite, beside jobs
        that touch no disk. A run without its process is aborted.
        """
        where = ""
        values: list[object] = [limit]
        if suite:
            where, values = "WHERE suite = ?", [suite, limit]
        elif not repeats:
            where, values = "WHERE suite != ?", [CONFIRM_SUITE, limit]
        return self._runs(
            f"SELECT * FROM run {where} ORDER BY id DESC LIMIT ?",  # noqa: S608 - no value is in it
            *values,
        )

    def runs_around(self, run: RunRecord, *, before: int, after: int) -> tuple[RunRecord, ...]:
        """Other runs of the suite of ``run`` on its target, oldest first: the last ``before``
        ahead of it, and the latest ``after`` of those that came later.

        Of its epoch; a run that was skipped ended before its epoch was known.
        """
        found: list[RunRecord] = []
        for beyond, count in (("id > ?", after), ("id < ?", before)):
            found += self._runs(
                "SELECT * FROM run WHERE suite = ? AND target = ?"  # noqa: S608 - no value is in it
                f" AND (epoch_id IS NULL OR epoch_id = ?) AND {beyond} ORDER BY id DESC LIMIT ?",
                run.suite,
                run.target,
                run.epoch_id,
                run.id,
                count,
            )
        return tuple(reversed(found))

    def runs_of_epoch(self, epoch_id: int, *, per_suite: int) -> tuple[RunRecord, ...]:
        """The last ``per_suite`` complete runs of each suite in an epoch, without repeats of
        suspects.
        """
        suites = self.all(
            "SELECT DISTINCT suite FROM run WHERE epoch_id = ? AND suite != ?",
            _id(epoch_id),
            CONFIRM_SUITE,
        )
        return tuple(
            run
            for suite in suites
            for run in self._runs(
                "SELECT * FROM run WHERE suite = ? AND epoch_id = ? AND state = ?"
                " ORDER BY id DESC LIMIT ?",
                suite["suite"],
                epoch_id,
                RunState.COMPLETE.value,
                per_suite,
            )
        )

    def run(self, run_id: int) -> RunRecord:
        """Run ``run_id`` as :meth:`runs` has it; :class:`OperatorError` if there is none."""
        found = self._runs("SELECT * FROM run WHERE id = ?", _id(run_id))
        if not found:
            raise OperatorError(
                f"there is no run {run_id} in {self._path}",
                "list them: stripewright results, with the same --db",
            )
        return found[0]

    def results(
        self,
        run_id: int,
        *,
        histograms: bool = True,
        counters: bool = True,
    ) -> tuple[JobResult, ...]:
        """Every result of a run in the order of its jobs, with its findings."""
        return self.results_as(
            lambda result: result, run_id, None, histograms=histograms, counters=counters
        )

    def results_as(
        self,
        shown: Callable[[JobResult], _T],
        run_id: int,
        left_out: list[str] | None,
        *,
        histograms: bool = True,
        counters: bool = True,
    ) -> tuple[_T, ...]:
        """What ``shown`` makes of each result of a run. One that cannot be decoded or shown is an
        error, or named in ``left_out`` if that is given.
        """
        with self.snapshot(), self.understood():
            deltas = self._parts("device_delta", "run_id", run_id) if counters else {}
            return self._results(
                JobResult,
                shown,
                run_id,
                lambda result_id: {
                    "bins": self._bins(result_id) if histograms else {},
                    "deltas": deltas.get(result_id, ()),
                },
                left_out,
            )

    def epochs(self) -> tuple[EpochRecord, ...]:
        """Every epoch, oldest first."""
        return self.values(EpochRecord, "SELECT * FROM epoch ORDER BY id")

    def run_counts(self) -> tuple[RunCount, ...]:
        """How many runs of each suite are in each state, and the moment of the latest."""
        counts: Counter[tuple[str, RunState]] = Counter()
        last: dict[tuple[str, RunState], float] = {}
        with self.understood():
            counted = [
                ((row["suite"], RunState(row["state"])), row["count"], row["last_at"])
                for row in self.all(
                    # The latest by number: a clock that was wrong once is in the times. The
                    # other columns are of the row that max() found (SQLite, "bare columns").
                    "SELECT suite, state, count(*) AS count, max(id),"
                    " coalesce(ended_at, started_at) AS last_at"
                    " FROM run WHERE state != ? GROUP BY suite, state",
                    RunState.RUNNING.value,
                )
            ]
        counted += [
            ((run.suite, run.state), 1, run.ended_at or run.started_at)
            for run in self._runs("SELECT * FROM run WHERE state = ?", RunState.RUNNING.value)
        ]
        for key, count, at in counted:
            counts[key] += count
            last[key] = max(at, last.get(key, at))
        return tuple(RunCount(*key, counts[key], last[key]) for key in sorted(counts))

    def latest_results(self) -> tuple[tuple[RunRecord, JobResult], ...]:
        """The last valid result of each series, without histogram and counters.

        A series is a job, direction and member of a suite on a target; of complete runs at
        the suite's own run times. Repeats of suspects are none.
        """
        found = []
        with self.snapshot(), self.understood():
            for latest in self.all(
                "SELECT max(result.id) AS id FROM run JOIN result ON run_id = run.id"
                " WHERE valid = 1 AND state = ? AND time_factor = 1 AND suite != ?"
                " GROUP BY suite, target, job, direction, member"
                " ORDER BY suite, target, job, direction",
                RunState.COMPLETE.value,
                CONFIRM_SUITE,
            ):
                (row,) = self.all("SELECT * FROM result WHERE id = ?", latest["id"])
                (run,) = self._find_run(row["run_id"])
                result = rows.to_result(JobResult, row, bins={})
                found.append((rows.value_of(RunRecord, run), result))
        return tuple(found)

    def summaries(
        self, run_ids: Iterable[int], *, histograms: bool = False
    ) -> dict[int, tuple[JobResult, ...]]:
        """The results of many runs without counters, and without histograms unless asked."""
        with self.snapshot(), self.understood():
            return {
                run_id: self.results(run_id, histograms=histograms, counters=False)
                for run_id in run_ids
            }

    def series(self, run_id: int) -> tuple[Mean, ...]:
        """The block layer's rates during a run: each second, or means if it is long ago."""
        with self.snapshot(), self.understood():
            found = self.all(
                f"SELECT {', '.join(_SAMPLE)} FROM sample"  # noqa: S608
                " WHERE run_id = ? ORDER BY at_ns, device",
                run_id,
            )
            if found:
                return tuple(sampling.second(Sample(*row)) for row in found)
            packed = self.all("SELECT means FROM sample_mean WHERE run_id = ?", run_id)
            return sampling.unpack(packed[0]["means"]) if packed else ()

    def ends(self, run_id: int) -> tuple[float | None, ...]:
        """When each result of a run was written, just after its job ended, in their order."""
        found = self.all("SELECT ended_at FROM result WHERE run_id = ? ORDER BY id", run_id)
        return tuple(row["ended_at"] for row in found)

    def imports(self) -> tuple[ImportRecord, ...]:
        """Every imported file, latest first."""
        return self.values(
            ImportRecord,
            "SELECT imported.*, count(valid) AS reports, coalesce(sum(valid), 0) AS valid"
            " FROM imported LEFT JOIN result ON imported_id = imported.id"
            " GROUP BY imported.id ORDER BY imported.id DESC",
        )

    def import_reports(self, import_id: int) -> tuple[Measurement, ...]:
        """The reports of an import with their verdicts; :class:`OperatorError` if none."""
        return self.import_reports_as(lambda report: report, import_id, None)

    def import_reports_as(
        self, shown: Callable[[Measurement], _T], import_id: int, left_out: list[str] | None
    ) -> tuple[_T, ...]:
        """What ``shown`` makes of each report, as :meth:`results_as` does of results."""
        before = len(left_out or ())
        with self.snapshot(), self.understood():
            number = _id(import_id)
            found = self._results(Measurement, shown, number, lambda _: {}, left_out)
        if not found and len(left_out or ()) == before:
            raise OperatorError(
                f"there is no import {import_id} in {self._path}",
                "list them: stripewright results, with the same --db",
            )
        return found

    def _results(
        self,
        kind: type[_M],
        shown: Callable[[_M], _T],
        number: int,
        apart: Callable[[int], dict[str, Any]],
        left_out: list[str] | None,
    ) -> tuple[_T, ...]:
        """The results of a run (``kind`` is :class:`JobResult`) or of an import; ``apart`` gives
        what :func:`rows.to_result` takes besides, by a result's id.
        """
        of, whose = ("run_id", "run") if kind is JobResult else ("imported_id", "import")
        found = self.all(
            "SELECT result.*, file FROM result"  # noqa: S608 - no value is in it
            f" LEFT JOIN imported ON imported.id = imported_id WHERE {of} = ? ORDER BY result.id",
            number,
        )
        findings = self._parts("finding", of, number)
        columns = tuple(found[0].keys()) if found else ()
        made = []
        for row in found:
            told = findings.get(row["id"], ())
            with self.leaving_out(f"result {row['id']} of {whose} {number}", left_out):
                more = apart(row["id"])
                result = rows.to_result(kind, row, columns=columns, findings=told, **more)
                made.append(shown(result))
        return tuple(made)

    def _parts(self, table: str, of: str, number: int) -> dict[int, list[Any]]:
        """The rows of ``table`` that belong to results, by result; ``of`` is ``run_id`` or
        ``imported_id``.
        """
        found: dict[int, list[Any]] = {}
        for row in self.all(
            f"SELECT {table}.* FROM result JOIN {table} ON result_id = result.id"  # noqa: S608
            f" WHERE {of} = ? ORDER BY result_id, {table}.rowid",
            number,
        ):
            found.setdefault(row["result_id"], []).append(row)
        return found

    def _runs(self, sql: str, *values: object) -> tuple[RunRecord, ...]:
        found = self.all(sql, *values)
        with self.understood():
            return tuple(self.as_it_is(row) for row in found)

    def _find_run(self, run_id: int) -> list[Any]:
        return self.all("SELECT * FROM run WHERE id = ?", run_id)

    def as_it_is(self, row: sqlite3.Row) -> RunRecord:
        """The run of ``row``. A reader cannot close the row of a killed run, but tells of it."""
        if row["state"] == RunState.RUNNING.value and not _is_alive(row):
            # It may have ended in order since the row was read; its last write came before.
            row = next(iter(self._find_run(row["id"])), row)
        run = rows.value_of(RunRecord, row)
        if run.state is not RunState.RUNNING or _is_alive(row):
            return run
        return dataclasses.replace(
            run,
            state=RunState.ABORTED,
            ended_at=row["seen_at"],
            reason="its process is gone; the next run records it"
            if row["boot_id"] == liveness.boot_id()
            else "its process is gone: the machine was restarted, or this is a copy of its history",
        )

    def _bins(self, result_id: int) -> dict[int, int]:
        found = self.all("SELECT bins FROM histogram WHERE result_id = ?", result_id)
        return file_format.unpack_bins(found[0]["bins"]) if found else {}


def _id(number: int) -> int:
    """``number``, or one that is in no row instead of one that SQLite cannot hold."""
    return number if abs(number) <= rows.LARGEST_INTEGER else -1


def _is_alive(row: sqlite3.Row) -> bool:
    return liveness.is_alive(row["pid"], row["pid_start_ticks"], row["boot_id"])
