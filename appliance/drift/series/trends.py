"""One figure over the whole history: its slots by epoch, and what is normal in each of them.

A slot and what is normal are what drift takes them for: runs of the suite as the epoch last had
it, one value a run, judged within the epoch alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appliance import text
from appliance.drift.detection.normal import Baseline
from appliance.drift.series import series_state
from appliance.figures.metric import Metric
from appliance.history import series_slots
from appliance.history.queries import Reader
from appliance.model.confirmations import CONFIRM_SUITE
from appliance.model.findings import FindingRecord, SeriesKey
from appliance.model.runs import EpochRecord, RunState
from appliance.model.slots import Slot, Span

# The first baseline is known long before so many slots; of an epoch that is over, nothing else
# is asked, and the detector takes its time.
_LEARNING_SLOTS = 240


@dataclass(frozen=True, slots=True)
class Stretch:
    """The part of a series within one epoch. ``slots`` are oldest first, those that are not valid
    among them. ``normal`` holds from ``normal_from`` (seconds since the epoch).
    """

    epoch: EpochRecord
    slots: tuple[Slot, ...]
    normal: Baseline | None = None
    normal_from: float = 0.0


@dataclass(frozen=True, slots=True)
class Trend:
    """A series over all epochs, oldest first, and the findings of drift that are about it.

    ``left_out`` counts runs of the suite as it was before it was edited within an epoch.
    """

    key: SeriesKey
    stretches: tuple[Stretch, ...]
    findings: tuple[FindingRecord, ...] = ()
    left_out: int = 0


def keys(reader: Reader) -> tuple[SeriesKey, ...]:
    """Every series that has a value, repeats of suspects left out."""
    found = reader.all(
        "SELECT DISTINCT suite, target, job, direction, member"
        " FROM result JOIN run ON run.id = run_id"
        " WHERE state = ? AND suite != ? AND time_factor = 1"
        " ORDER BY suite, target, member, job, direction",
        RunState.COMPLETE.value,
        CONFIRM_SUITE,
    )
    return tuple(
        SeriesKey(row["suite"], row["target"], row["job"], row["direction"], row["member"])
        for row in found
    )


def latest(reader: Reader, metric: Metric = Metric.IOPS) -> dict[SeriesKey, tuple[str, Stretch]]:
    """Of every series its workload in words and its part in the last epoch that has runs of it."""
    with reader.snapshot(), reader.understood():
        rows = reader.all(
            "SELECT suite, target, max(epoch_id) AS epoch FROM run WHERE state = ? AND suite != ?"
            " AND time_factor = 1 AND epoch_id IS NOT NULL GROUP BY suite, target",
            RunState.COMPLETE.value,
            CONFIRM_SUITE,
        )
        epochs = {(row["suite"], row["target"]): row["epoch"] for row in rows}
        judged, found = Normals(reader), {}
        for epoch_id in sorted(set(epochs.values()), reverse=True):
            series = {
                key: slots
                for key, slots in series_slots.of_epoch(reader, epoch_id, metric).items()
                if epochs[key.suite, key.target] == epoch_id
            }
            epoch = reader.epoch(epoch_id)
            for survey in judged.surveys(epoch, series):
                stretch = _stretch(epoch, series[survey.key], survey)
                found[survey.key] = (_workload(reader, survey.key, stretch), stretch)
        return found


def _workload(reader: Reader, key: SeriesKey, stretch: Stretch) -> str:
    (row,) = reader.all(
        "SELECT rw, block_size_bytes, iodepth, jobs FROM result"
        " WHERE run_id = ? AND job = ? AND direction = ? AND member = ? LIMIT 1",
        stretch.slots[-1].run_id,
        key.job,
        key.direction,
        key.member,
    )
    words = text.workload(**dict(row), direction=key.direction)
    return f"{words} on {key.member}" if key.member else words


def whole(reader: Reader, key: SeriesKey, metric: Metric = Metric.IOPS) -> Trend:
    """The series ``key`` from its first run to its last, by one of its figures."""
    with reader.snapshot(), reader.understood():
        by_epoch, left_out = _by_epoch(reader, key, metric)
        judged = Normals(reader)
        stretches = tuple(
            judged.stretch(number, key, tuple(found)) for number, found in sorted(by_epoch.items())
        )
        findings = tuple(
            one for one in reader.drift_findings(include_closed=True) if _is_about(one, key)
        )
    return Trend(key, stretches, findings, left_out)


def _by_epoch(reader: Reader, key: SeriesKey, metric: Metric) -> tuple[dict[int, list[Slot]], int]:
    column = series_slots.COLUMNS[metric]
    found = reader.all(
        f"SELECT run_id, epoch_id, suite_hash, started_at, {column}, valid"  # noqa: S608
        " FROM result JOIN run ON run.id = run_id"
        " WHERE job = ? AND direction = ? AND member = ? AND suite = ? AND target = ?"
        f" AND state = ? AND time_factor = 1 AND epoch_id IS NOT NULL AND {column} IS NOT NULL"
        " ORDER BY run_id",
        key.job,
        key.direction,
        key.member,
        key.suite,
        key.target,
        RunState.COMPLETE.value,
    )
    asked = {epoch: suite for _, epoch, suite, _, _, _ in found}
    by_epoch: dict[int, list[Slot]] = {}
    passes: list[tuple[float, int]] = []
    left_out = set()
    for run_id, epoch, suite, started_at, value, valid in found:
        if asked[epoch] != suite:
            left_out.add(run_id)
            continue
        here = by_epoch.setdefault(epoch, [])
        if here and here[-1].run_id == run_id:
            passes.append((value, valid))
            here[-1] = Slot.of_passes(run_id, started_at, passes)
        else:
            passes = [(value, valid)]
            here.append(Slot(run_id, started_at, value, valid == 1))
    return by_epoch, len(left_out)


class Normals:
    """What is normal in each epoch, as the rules of drift judge it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._approvals, self._confirmations = reader.approvals(), reader.confirmations()
        self._current = series_slots.current_epochs(reader)

    @property
    def said(self) -> tuple[int, int]:
        """How often people and repeats have said what is normal: with more, it may be other."""
        return len(self._approvals), len(self._confirmations)

    def is_over(self, epoch_id: int) -> bool:
        """Whether another epoch has begun since."""
        return epoch_id not in self._current

    def surveys(
        self, epoch: EpochRecord, series: Mapping[SeriesKey, tuple[Slot, ...]]
    ) -> tuple[series_state.Survey, ...]:
        """Of ``series`` of an epoch, in their order."""
        over = self.is_over(epoch.id)
        runs = [slots[at].run_id for slots in series.values() if slots for at in (0, -1)]
        approved = [
            one for one in self._approvals if runs and min(runs) <= one.from_run <= max(runs)
        ]
        subjects = {(one.subject, one.target) for one in approved}
        learned = {
            # Of an approved change, what follows it is normal: it has to be looked at.
            key: slots[:_LEARNING_SLOTS]
            if over and (str(key), key.target) not in subjects
            else slots
            for key, slots in series.items()
        }
        span = Span(epoch.id, epoch.opened_at, epoch.fingerprint, learned)
        return series_state.survey(span, approved, self._confirmations)

    def stretch(self, epoch_id: int, key: SeriesKey, slots: tuple[Slot, ...]) -> Stretch:
        """The part of one series in an epoch."""
        epoch = self._reader.epoch(epoch_id)
        (survey,) = self.surveys(epoch, {key: slots})
        return _stretch(epoch, slots, survey)


def _stretch(epoch: EpochRecord, slots: tuple[Slot, ...], survey: series_state.Survey) -> Stretch:
    if survey.normal is None:
        return Stretch(epoch, slots)
    begins = survey.slots[survey.normal.first_slot].started_at
    return Stretch(epoch, slots, survey.normal, begins)


def _is_about(finding: FindingRecord, key: SeriesKey) -> bool:
    """Whether the evidence of a finding is of this series: its own, or that of a slow member."""
    evidence = finding.fact.evidence
    return evidence.get("member_name", "") == key.member and all(
        evidence.get(name) == getattr(key, name) for name in ("suite", "target", "job", "direction")
    )
