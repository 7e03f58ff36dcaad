"""A history as Parquet: which rows it gives, and writing those that are new.

Only runs that have ended. A day whose runs are all in its file is not written again: what a run
measured does not change. Findings of drift and epochs are few, and do: all of them are.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from appliance import __version__
from appliance.drift.series import member_rules, siblings
from appliance.errors import OperatorError, UsageError
from appliance.figures import histogram, quantities
from appliance.fleet import duck, tables
from appliance.fleet.parquet_files import Row, Staging, runs_in, stem_of
from appliance.history.queries import Reader
from appliance.model.measurement import JobResult
from appliance.model.runs import EpochRecord, RunRecord, RunState
from appliance.model.slots import Detail

_NAME = "give one of 1 to 120 characters that no other machine has: --machine NAME"
_Series = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """Whose history it is; ``history`` tells it from another one that the machine had."""

    name: str
    history: str


@dataclass(frozen=True, slots=True)
class Written:
    """How much of it was new."""

    machine: Machine
    runs: int
    files: int


def machine_of(reader: Reader, name: str | None = None) -> Machine:
    """By the ``name`` that was given, else by its last host name. Raises :class:`UsageError`."""
    epochs = reader.epochs()
    latest = reader.current_epoch()
    found = name if name is not None else reader.host(latest.id) if latest else ""
    if name is None and not found:
        raise UsageError(f"{reader.path} does not say of which machine it is", _NAME)
    if not found.strip() or len(found) > 120 or not found.isprintable():
        raise UsageError(f"{found[:20]!r} cannot be the name of a machine", _NAME)
    # Where it was begun, in what surroundings, and its first run: that stays, whatever comes later.
    hosts = reader.all("SELECT name, first_seen_at FROM host ORDER BY id LIMIT 1")
    first = reader.all("SELECT started_at FROM run ORDER BY id LIMIT 1")
    begun = [
        [tuple(row) for row in (*hosts, *first)],
        [(one.opened_at, sorted(one.fingerprint.items())) for one in epochs[:1]],
    ]
    return Machine(found, hashlib.sha256(json.dumps(begun).encode()).hexdigest()[:12])


def export(
    reader: Reader,
    folder: Path,
    left_out: list[str],
    *,
    name: str | None = None,
    tell: Callable[[int], None] = lambda _: None,
) -> Written:
    """Write what is new in the history to ``folder``; a damaged run is named in ``left_out``.

    ``tell`` is called with the number of runs so far. :class:`OperatorError` where ``folder``
    cannot be written.
    """
    machine = machine_of(reader, name)
    database = duck.connect()
    stem = stem_of(machine.name, machine.history)
    due = _due(reader, runs_in(database, folder, stem))
    runs = written = 0
    try:
        with tempfile.TemporaryDirectory(prefix="stripewright-") as made:
            staged = {table: Staging(Path(made), table) for table in tables.TABLES}
            for rows in _rows(reader, machine, due, left_out):
                for table, found in rows.items():
                    staged[table].add(found)
                runs += len(rows.get("runs", ()))
                tell(runs)
            for one in staged.values():
                written += sum(1 for _ in one.write(database, folder, stem))
    except OSError as error:
        raise OperatorError(
            f"{folder} cannot be written: {error.strerror or error}",
            "name a folder that you may write to, on a filesystem with space: --output DIR",
        ) from error
    finally:
        database.close()
    return Written(machine, runs, written)


# ---------------------------------------------------------------------------------- rows


def _due(reader: Reader, written: Mapping[str, frozenset[int]]) -> list[int]:
    """The runs of those days that are not whole in the files yet, in their order."""
    days: dict[str, set[int]] = {}
    for row in reader.all("SELECT id, started_at, state FROM run"):
        if row["state"] != RunState.RUNNING.value or reader.run(row["id"]).state != row["state"]:
            days.setdefault(day_of(row["started_at"]), set()).add(row["id"])
    return sorted(
        run for day, runs in days.items() if runs != set(written.get(day, ())) for run in runs
    )


def _rows(
    reader: Reader, machine: Machine, due: list[int], left_out: list[str]
) -> Iterator[Mapping[str, list[Row]]]:
    of = {"machine": machine.name, "history": machine.history}
    epochs = {one.id: one for one in reader.epochs()}
    subjects = {row["id"]: row["subject"] for row in reader.all("SELECT id, subject FROM epoch")}
    with reader.understood():
        yield {
            "epochs": [
                {**of, **_epoch(one), "subject": subjects[one.id]} for one in epochs.values()
            ],
            "drift": [
                {
                    **of,
                    "day": day_of(one.opened_at),
                    "finding": one.id,
                    "code": one.fact.code,
                    "severity": one.fact.severity.value,
                    "state": one.state.value,
                    "subject": one.fact.subject,
                    "member": one.fact.member,
                    "summary": one.fact.summary,
                    "opened_at": one.opened_at,
                    "closed_at": one.closed_at,
                }
                for one in reader.drift_findings(include_closed=True)
            ],
        }
    # Of one day the histograms are added up.
    day, merged = "", dict[_Series, dict[int, int]]()
    for number in due:
        with reader.leaving_out(f"run {number}", left_out):
            run = reader.run(number)
            if day_of(run.started_at) != day:
                yield {"histograms": list(_histograms(of, day, merged))}
                day, merged = day_of(run.started_at), {}
            results = reader.results(number)
            epoch = epochs.get(run.epoch_id or 0)
            (row,) = reader.all("SELECT suite_hash FROM run WHERE id = ?", number)
            known = epoch.fingerprint if epoch else {}
            same = siblings.conditions(str(row["suite_hash"]), run, known)
            whole = _Run(of, run, results, epoch, same)
            yield whole.rows()
            for result in whole.quotable():
                key = tuple(whole.series(result).values())
                merged[key] = histogram.merge((merged.get(key, {}), result.bins))
    yield {"histograms": list(_histograms(of, day, merged))}


def day_of(at: float) -> str:
    """The day of a moment, UTC; of one that is in no calendar the first."""
    try:
        return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return "1970-01-01"


def _epoch(epoch: EpochRecord) -> Row:
    return {
        "day": day_of(epoch.opened_at),
        "epoch": epoch.id,
        "opened_at": epoch.opened_at,
        "fingerprint": json.dumps(epoch.fingerprint, sort_keys=True),
        "changed": json.dumps(epoch.changed, sort_keys=True),
    }


def _histograms(of: Row, day: str, merged: Mapping[_Series, Mapping[int, int]]) -> Iterator[Row]:
    names = ("machine_type", "conditions", "suite", "job", "direction")
    for key, bins in merged.items():
        yield {
            **of, "day": day, **dict(zip(names, key, strict=True)),
            "latency_ns": list(bins), "counts": list(bins.values()),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that has ended, and what its rows are made of."""

    of: Row
    run: RunRecord
    results: tuple[JobResult, ...]
    epoch: EpochRecord | None
    conditions: str

    def rows(self) -> Mapping[str, list[Row]]:
        numbered = list(enumerate(self.results, 1))
        return {
            "runs": [self._own()],
            "results": [self._result(number, result) for number, result in numbered],
            "members": [row for one in numbered for row in self._members(*one)],
            "findings": [
                {
                    **self._of(result), "result": number, "code": finding.code,
                    "severity": finding.severity.value, "message": finding.message,
                }
                for number, result in numbered
                for finding in result.findings
            ],
        }  # fmt: skip

    def quotable(self) -> Iterator[JobResult]:
        """Valid results of the stripe that can be compared."""
        return (one for one in self.results if self._valid(one) and not one.member)

    def series(self, result: JobResult) -> Mapping[str, str]:
        return {
            "machine_type": self.run.machine_type,
            "conditions": self.conditions,
            "suite": self.run.suite,
            "job": result.job,
            "direction": result.direction,
        }

    def _valid(self, result: JobResult) -> bool:
        whole = self.run.state is RunState.COMPLETE and self.run.time_factor == 1
        return whole and result.valid

    def _moment(self) -> Row:
        run = self.run
        return {
            **self.of, "day": day_of(run.started_at), "run": run.id, "started_at": run.started_at,
        }  # fmt: skip

    def _of(self, result: JobResult) -> Row:
        return {**self._moment(), **self.series(result)}

    def _own(self) -> Row:
        run = self.run
        known = self.epoch.fingerprint if self.epoch else {}
        return {
            **self._moment(),
            "machine_type": run.machine_type,
            "conditions": self.conditions,
            "suite": run.suite,
            "state": run.state.value,
            "reason": run.reason,
            "epoch": run.epoch_id,
            "ended_at": run.ended_at,
            "time_factor": run.time_factor,
            "stripe": known.get("stripe", ""),
            "kernel": known.get("kernel", ""),
            "fio_version": run.fio_version,
            "version": __version__,
        }

    def _result(self, number: int, result: JobResult) -> Row:
        percentiles = {
            name: quantities.percentile_ns(result, percent)
            for name, percent in (("p50_ns", 50.0), ("p99_ns", 99.0), ("p999_ns", 99.9))
        }
        return {
            **self._of(result),
            "result": number,
            "member": result.member,
            "pass": result.pass_index,
            "rw": result.rw,
            "block_size_bytes": result.block_size_bytes,
            "jobs": result.jobs,
            "iodepth": result.iodepth,
            "iops": result.iops,
            "bandwidth_bytes": result.bandwidth_bytes,
            "latency_mean_ns": result.latency_mean_ns,
            **percentiles,
            "published_iops": result.published_iops,
            "published_bytes_per_s": result.published_bytes_per_s,
            "valid": self._valid(result),
        }

    def _members(self, number: int, result: JobResult) -> Iterator[Row]:
        if result.member:
            return
        detail = Detail(self.run, self.results)
        fingerprint = self.epoch.fingerprint if self.epoch else {}
        for one in member_rules.beside(result, detail, fingerprint):
            yield {
                **self._of(result),
                "result": number,
                "member": one.serial,
                "device": one.device,
                "await_ms": one.await_ms,
                "await_ratio": one.ratio,
                "valid": self._valid(result),
            }
