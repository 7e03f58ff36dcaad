"""The series of history.db as drift sees them: one slot a run, details only where they count.

A look every few minutes must not read ten years of reports: the slots come out of an index,
and percentiles, counters and histograms of a few runs are read when they are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from appliance.figures import histogram
from appliance.figures.metric import Metric
from appliance.history import format as file_format
from appliance.history import queries, rows
from appliance.history.queries import Reader
from appliance.model.confirmations import CONFIRM_SUITE
from appliance.model.findings import SeriesKey
from appliance.model.runs import Job, RunRecord, RunState
from appliance.model.slots import Attempt, Detail, Happening, Slot, Span
from appliance.state import codec

# Enough to say in words what became of the last runs.
_ATTEMPTS = 40
# Events that may explain why a figure changed; root's are copied from the journal, each a little
# later than it happened (:mod:`appliance.drift.journal_events`).
EXPLAINING = (
    "TUNING_SET",
    "PLAN_CONFIRMED",
    "STEP_DONE",
    "LAYOUT_DECLARED",
    "EPOCH_OPENED",
    "INITIALISE_STARTED",
    "INITIALISE_ENDED",
    "DISK_ARRIVED",
)
# Where a result has each metric. fio writes its percentiles with six digits.
COLUMNS = {
    Metric.IOPS: "iops",
    Metric.BANDWIDTH: "bandwidth_bytes",
    Metric.MEAN: "latency_mean_ns",
    Metric.P99: """json_extract(percentiles_ns, '$."99.000000"')""",
    Metric.P999: """json_extract(percentiles_ns, '$."99.900000"')""",
}
_MAX_HAPPENINGS = 20
# Three confirmations of five repeats each.
_CONTROLS = 15


def spans(reader: Reader) -> tuple[Span, ...]:
    """The current epoch of the appliance; in a history without, that of each subject.

    A run of another directory or device is an operator's own measurement, and no drift.
    """
    with reader.snapshot(), reader.understood():
        found = [_span(reader, *one) for one in current_epochs(reader).items()]
    return tuple(found)


def current_epochs(reader: Reader) -> dict[int, str]:
    """The subject of each epoch that :meth:`spans` are of, by its id."""
    latest = reader.all("SELECT max(id) AS id, subject FROM epoch GROUP BY subject ORDER BY 1")
    ours = [row for row in latest if row["subject"] == queries.APPLIANCE]
    return {row["id"]: row["subject"] for row in ours or latest}


def of_epoch(
    reader: Reader, epoch_id: int, metric: Metric = Metric.IOPS
) -> dict[SeriesKey, tuple[Slot, ...]]:
    """Every series of an epoch, of each suite as it was last."""
    return _series(reader, _complete(reader, epoch_id), metric)


def details(reader: Reader, run_ids: Iterable[int]) -> dict[int, Detail]:
    """The runs with their results, without histograms."""
    found = {}
    with reader.snapshot(), reader.understood():
        for run_id in run_ids:
            for row in reader.all("SELECT * FROM run WHERE id = ?", run_id):
                run = rows.value_of(RunRecord, row)
                found[run_id] = Detail(run, reader.results(run_id, histograms=False))
    return found


def bins(reader: Reader, key: SeriesKey, run_id: int) -> dict[int, int]:
    """The latency histogram of one slot, its passes added up."""
    found = reader.all(
        "SELECT bins FROM result JOIN histogram ON result_id = id"
        " WHERE run_id = ? AND job = ? AND direction = ? AND member = ?",
        run_id,
        key.job,
        key.direction,
        key.member,
    )
    with reader.understood():
        return histogram.merge(file_format.unpack_bins(row["bins"]) for row in found)


def jobs(reader: Reader, run_id: int) -> tuple[Job, ...]:
    """The jobs of the suite as it was when run ``run_id`` began."""
    found = reader.all(
        "SELECT jobs FROM suite JOIN run ON content_hash = suite_hash WHERE run.id = ?", run_id
    )
    with reader.understood():
        return tuple(codec.decode(Job, job) for row in found for job in json.loads(row["jobs"]))


def suite_hash(reader: Reader, run_id: int) -> str:
    """The content hash of the suite of run ``run_id``; empty if there is no such run."""
    found = reader.all("SELECT suite_hash FROM run WHERE id = ?", run_id)
    return str(found[0]["suite_hash"]) if found else ""


def happenings(reader: Reader, since: float, until: float) -> tuple[Happening, ...]:
    """Events that may explain a change between two moments, latest first."""
    marks = ", ".join("?" * len(EXPLAINING))
    found = reader.all(
        "SELECT at, code, message FROM event"  # noqa: S608 - question marks only
        f" WHERE at BETWEEN ? AND ? AND code IN ({marks}) ORDER BY at DESC, id DESC LIMIT ?",
        since,
        until,
        *EXPLAINING,
        _MAX_HAPPENINGS,
    )
    return tuple(Happening(row["at"], row["code"], row["message"]) for row in found)


def earlier_controls(reader: Reader, epoch_id: int, job: str, direction: str) -> tuple[float, ...]:
    """The latest IOPS of a control job in the repeats of an epoch, latest first."""
    found = reader.all(
        "SELECT iops FROM result JOIN run ON run.id = run_id"
        " WHERE suite = ? AND epoch_id = ? AND job = ? AND direction = ? AND valid = 1"
        " ORDER BY result.id DESC LIMIT ?",
        CONFIRM_SUITE,
        epoch_id,
        job,
        direction,
        _CONTROLS,
    )
    return tuple(float(row["iops"]) for row in found)


def _span(reader: Reader, epoch_id: int, subject: str) -> Span:
    epoch = reader.epoch(epoch_id)
    complete = _complete(reader, epoch_id)
    return Span(
        epoch_id,
        epoch.opened_at,
        epoch.fingerprint,
        _series(reader, complete),
        _attempts(reader, epoch_id, min(complete, default=0), subject),
    )


def _complete(reader: Reader, epoch_id: int) -> dict[int, tuple[str, str, float]]:
    """Suite, target and start of the complete runs of an epoch, by id.

    Of a suite that was edited, only the runs since: before, something else was asked for.
    """
    found = reader.all(
        "SELECT id, suite, suite_hash, target, started_at FROM run"
        " WHERE epoch_id = ? AND state = ? AND suite != ? AND time_factor = 1"
        " ORDER BY id",
        epoch_id,
        RunState.COMPLETE.value,
        CONFIRM_SUITE,
    )
    latest = {(suite, target): asked for _, suite, asked, target, _ in found}
    return {
        run_id: (suite, target, started_at)
        for run_id, suite, asked, target, started_at in found
        if latest[suite, target] == asked
    }


def _series(
    reader: Reader, complete: Mapping[int, tuple[str, str, float]], metric: Metric = Metric.IOPS
) -> dict[SeriesKey, tuple[Slot, ...]]:
    if not complete:
        return {}
    # In the order of the index, which has all of this: no result itself is read.
    found = reader.all(
        f"SELECT job, direction, run_id, member, {COLUMNS[metric]}, valid FROM result"  # noqa: S608
        " WHERE run_id >= ? AND +run_id <= ? ORDER BY job, direction, run_id",
        min(complete),
        max(complete),
    )
    series: dict[SeriesKey, list[Slot]] = {}
    passes: dict[tuple[SeriesKey, int], list[tuple[float, int]]] = {}
    latest: tuple[object, ...] = ()
    for job, direction, run_id, of_member, value, valid in found:
        known = complete.get(run_id)
        if known is None or value is None:
            continue
        suite, target, started_at = known
        # Neighbours are mostly of one series: a key is looked up only where it changes.
        if latest != (suite, target, job, direction, of_member):
            latest = (suite, target, job, direction, of_member)
            key = SeriesKey(suite, target, job, direction, of_member)
            slots = series.setdefault(key, [])
        if slots and slots[-1].run_id == run_id:
            passes.setdefault((key, run_id), [slots[-1][2:]]).append((value, valid))
            slots[-1] = Slot.of_passes(run_id, started_at, passes[key, run_id])
        else:
            slots.append(Slot(run_id, started_at, value, valid == 1))
    return {key: tuple(slots) for key, slots in sorted(series.items())}


def _attempts(reader: Reader, epoch_id: int, first: int, subject: str) -> tuple[Attempt, ...]:
    """The last runs of the epoch; those that ended before their epoch was known (skipped)
    are told by their number and, outside of the appliance's volumes, by their target.
    """
    found = reader.all(
        "SELECT id, suite, target, state, started_at, reason FROM run"
        " WHERE (epoch_id = ? OR (epoch_id IS NULL AND id > ?)) AND suite != ?"
        " ORDER BY id DESC LIMIT ?",
        epoch_id,
        first,
        CONFIRM_SUITE,
        _ATTEMPTS,
    )
    return tuple(
        Attempt(
            row["id"],
            row["suite"],
            row["target"],
            RunState(row["state"]),
            row["started_at"],
            row["reason"] or "",
        )
        for row in reversed(found)
        if subject == queries.APPLIANCE or subject.endswith(f" {row['target']}")
    )
