"""What a monitoring system may know: this machine now, and its last run of each suite, as gauges.

Labels are bounded by the machine: its volumes, its disks, the codes of findings, and the suites
and targets that ran last. One process answers one question, perhaps every few seconds: it starts
no program, opens no disk, and asks no filesystem of a volume, which on a dead disk never answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance import __version__, text
from appliance.client.machine_status import Health, Status, read_status
from appliance.clouds import capability
from appliance.drift import check_summary
from appliance.drift.series import member_rules, run_figures
from appliance.drift.series.run_figures import Change, RunFigures
from appliance.history import metrics, published
from appliance.history.metrics import Gauge, Labels
from appliance.history.queries import Reader
from appliance.model.disks import DiskKind
from appliance.model.findings import FindingRecord
from appliance.model.measurement import JobResult
from appliance.model.runs import RunRecord
from appliance.model.slots import Detail

# Suites on targets, the last ones: each is a series of most gauges of runs.
_MOST_RUNS = 16
_MAX_LABEL_CHARS = 120


def exposition(reader: Reader) -> str:
    """Everything, as a text; of a history that is not this machine's own, the history alone."""
    # An alert cannot tell a series that is left out from one that ended: all or nothing.
    with reader.snapshot(), reader.understood():
        checked_at = check_summary.last_check(reader)
        gauges = [
            *metrics.gauges(reader, drift_checked_at=checked_at),
            *_code_gauges(reader.drift_findings()),
            *run_gauges(reader),
        ]
    if published.is_own(reader.path):
        gauges += machine_gauges(
            read_status(db=reader.path, next_run=lambda: None, usages_of=lambda _: {})
        )
    return metrics.render(gauges)


def _gauge(
    name: str, unit: str, summary: str, samples: Iterable[tuple[Labels, float | None]]
) -> Gauge:
    """``name`` without ``stripewright_`` and ``unit``. What has no value has no sample."""
    whole = "_".join(("stripewright", name, unit) if unit else ("stripewright", name))
    known = tuple((labels, float(value)) for labels, value in samples if value is not None)
    return Gauge(whole, unit, summary, known)


def _code_gauges(records: Sequence[FindingRecord]) -> Iterator[Gauge]:
    counts = Counter((one.fact.code, one.fact.severity, one.state) for one in records)
    yield _gauge(
        "drift_code_findings",
        "",
        "Findings of drift that are not closed, by code.",
        (
            ({"code": code, "severity": severity.value, "state": state.value}, count)
            for (code, severity, state), count in sorted(counts.items())
        ),
    )


# ------------------------------------------------------------------------------ the last runs


@dataclass(frozen=True, slots=True)
class _Last:
    """A run, and its headline workload: the first valid pass of it, or the first."""

    run: RunRecord
    results: Sequence[JobResult]
    figures: RunFigures

    @property
    def labels(self) -> dict[str, str]:
        return {"suite": self.run.suite, "target": self.run.target}

    @property
    def workload_labels(self) -> dict[str, str]:
        key = self.figures.key
        # Not "job": that label is what Prometheus calls a group of targets.
        return {**self.labels, "workload": key.job, "direction": key.direction}

    @property
    def headline(self) -> JobResult:
        key = self.figures.key
        passes = [
            one
            for one in self.results
            if (one.job, one.direction, one.member) == (key.job, key.direction, key.member)
        ]
        return next((one for one in passes if one.valid), passes[0])

    @property
    def published_ratio(self) -> float | None:
        percent = capability.percent_of_published(self.headline)
        return None if percent is None else percent / 100

    @property
    def change(self) -> Change | None:
        return next((one for one in self.figures.changes if one.key == self.figures.key), None)


def _p99_seconds(one: _Last) -> float | None:
    return None if one.figures.p99_ns is None else one.figures.p99_ns / 1e9


_HEADLINE: tuple[tuple[str, str, str, Callable[[_Last], float | None]], ...] = (
    ("iops", "", "I/O operations a second of the headline workload of the last run",
        lambda one: one.figures.iops),
    ("bandwidth", "bytes_per_second", "Bytes a second of the headline workload",
        lambda one: one.figures.bandwidth_bytes),
    ("latency_p99", "seconds", "The 99th percentile of latency of the headline workload",
        _p99_seconds),
    ("valid", "", "1 if the headline may be quoted, 0 if a rule blocks it",
        lambda one: one.figures.valid),
    ("published", "ratio", "Headline over the lesser of published IOPS and bandwidth",
        lambda one: one.published_ratio),
    ("normal", "ratio", "Headline over the median of what is normal for this machine",
        lambda one: None if one.change is None else 1 + one.change.share),
    ("normal_side", "", "-1 if the headline is below what is normal, 1 if above, else 0",
        lambda one: None if one.change is None else one.change.side),
    ("timestamp", "seconds", "When the run of the headline ended", lambda one: one.run.ended_at),
)  # fmt: skip


def run_gauges(reader: Reader) -> Iterator[Gauge]:
    """Of the last complete run of each suite on each target: verdicts, its headline workload
    beside what is published and what is normal, and the members under that load.
    """
    run_ids = metrics.last_runs(reader, _MOST_RUNS)
    figures = run_figures.of_runs(reader, run_ids)
    lasts = [
        _Last(reader.run(run_id), reader.results(run_id, histograms=False), figures[run_id])
        for run_id in run_ids
    ]
    yield _gauge(
        "last_run_results",
        "",
        "Results of the last run, by their verdict.",
        (
            ({**one.labels, "verdict": verdict}, sum(got.valid is valid for got in one.results))
            for one in lasts
            for verdict, valid in (("valid", True), ("blocked", False))
        ),
    )
    yield _gauge(
        "last_run_findings",
        "",
        "Results of the last run that a validity rule names.",
        (
            ({**one.labels, "rule": rule, "severity": severity.value}, count)
            for one in lasts
            for (rule, severity), count in sorted(
                Counter(
                    (of.code, of.severity) for got in one.results for of in got.findings
                ).items()
            )
        ),
    )
    for name, unit, summary, value_of in _HEADLINE:
        samples = ((one.workload_labels, value_of(one)) for one in lasts)
        yield _gauge(f"headline_{name}", unit, f"{summary}.", samples)
    yield _gauge(
        "member_await",
        "seconds",
        "Time of an I/O at a member during the headline workload; slots count from 0.",
        (
            ({**one.workload_labels, "member": serial, "slot": str(slot)}, ms / 1000)
            for one in lasts
            for serial, slot, ms in _awaits(reader, one)
        ),
    )


def _awaits(reader: Reader, one: _Last) -> Iterator[tuple[str, int, float]]:
    """Serial, slot and await in ms of each member, where the members did the same work."""
    run = one.run
    fingerprint = {} if run.epoch_id is None else reader.epoch(run.epoch_id).fingerprint
    for found in member_rules.beside(one.headline, Detail(run, ()), fingerprint):
        yield found.serial, run.members.index(found.device), found.await_ms


# -------------------------------------------------------------------------- the machine now


def machine_gauges(status: Status, sys_block: Path = Path("/sys/class/block")) -> Iterable[Gauge]:
    """The machine as ``status`` and the screens have it."""
    machine = status.machine
    about = {"version": __version__}
    if machine is not None:
        about["machine_type"] = text.bounded(machine.machine_type, _MAX_LABEL_CHARS)
        about["provider"] = machine.provider
        about["kernel"] = text.bounded(machine.kernel, _MAX_LABEL_CHARS)
    yield _gauge("machine", "", "1; the labels say what machine it is.", [(about, 1)])
    yield _gauge(
        "health", "", "1 for the state that the machine is in.", _states({}, status.health)
    )
    yield _gauge(
        "volume_health",
        "",
        "1 for the state that the volume is in.",
        (sample for one in status.volumes for sample in _states({"volume": one.name}, one.health)),
    )
    yield _gauge(
        "volume_members",
        "",
        "Disks that the volume came up with.",
        (({"volume": one.name}, len(one.members)) for one in status.volumes),
    )
    yield _gauge(
        "volume_members_missing",
        "",
        "Members that the volume lacks now.",
        (
            ({"volume": one.name}, max(one.degraded, _gone(one.members, sys_block)))
            for one in status.volumes
        ),
    )
    yield _gauge(
        "volume_size",
        "bytes",
        "Size of the volume.",
        (({"volume": one.name}, one.size_bytes) for one in status.volumes),
    )
    yield from _disk_gauges(status)
    yield _gauge(
        "schedule_in_effect",
        "",
        "0 if the declared schedule is refused, else 1.",
        [({}, not status.schedule_problem)],
    )
    drift = status.drift
    yield _gauge(
        "drift_overdue",
        "",
        "1 if drift was not looked for as often as declared.",
        [] if drift is None else [({}, bool(drift.overdue))],
    )


def _states(labels: Labels, now: Health) -> Iterable[tuple[Labels, float]]:
    return [({**labels, "state": state.value}, state is now) for state in Health]


def _gone(members: Iterable[str], sys_block: Path) -> int:
    """How many disks the kernel no longer has. A broken RAID0 counts none as missing."""
    return sum(not (sys_block / Path(path).name).exists() for path in members)


def _disk_gauges(status: Status) -> Iterator[Gauge]:
    local = [one for one in status.disks if one.kind is DiskKind.INSTANCE_STORE]
    expected = None if status.machine is None else status.machine.expected_disks
    yield _gauge(
        "instance_disks",
        "",
        "Disks of instance storage at boot.",
        [] if status.inventory is None else [({}, len(local))],
    )
    yield _gauge(
        "instance_disks_expected", "", "As many as the machine type is sold with.", [({}, expected)]
    )
    known = [
        ({"member": one.serial or one.id, "device": Path(one.path).name}, health)
        for one in status.disks
        if (health := status.smart.get(one.id)) is not None
    ]
    yield _gauge(
        "disk_temperature",
        "celsius",
        "Composite temperature of a disk.",
        ((labels, health.temperature_celsius) for labels, health in known),
    )
    yield _gauge(
        "disk_endurance_used",
        "ratio",
        "Share of its endurance that a disk has used.",
        ((labels, health.percentage_used / 100) for labels, health in known),
    )
    yield _gauge(
        "disk_critical_warning",
        "",
        "1 if a disk raises a critical warning.",
        ((labels, health.critical_warning != 0) for labels, health in known),
    )
