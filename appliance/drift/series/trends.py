"""One figure over the whole history: its slots by epoch, and what is normal in each of them.

A slot and what is normal are what drift takes them for: runs of the suite as the epoch last had
it, one value a run, judged within the epoch alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.drift.detection.normal import Baseline
from appliance.drift.series import series_state
from appliance.history.queries import Reader
from appliance.model.confirmations import CONFIRM_SUITE, Approval, Confirmation
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


def whole(reader: Reader, key: SeriesKey) -> Trend:
    """The series ``key`` from its first run to its last."""
    with reader.snapshot(), reader.understood():
        by_epoch, left_out = _by_epoch(reader, key)
        approvals, confirmations = reader.approvals(), reader.confirmations()
        latest = max(by_epoch, default=0)
        stretches = tuple(
            _stretch(
                reader.epoch(number), key, found, approvals, confirmations, over=number < latest
            )
            for number, found in sorted(by_epoch.items())
        )
        findings = tuple(
            one for one in reader.drift_findings(include_closed=True) if _is_about(one, key)
        )
    return Trend(key, stretches, findings, left_out)


def _by_epoch(reader: Reader, key: SeriesKey) -> tuple[dict[int, list[Slot]], int]:
    found = reader.all(
        "SELECT run_id, epoch_id, suite_hash, started_at, iops, valid"
        " FROM result JOIN run ON run.id = run_id"
        " WHERE job = ? AND direction = ? AND member = ? AND suite = ? AND target = ?"
        " AND state = ? AND time_factor = 1 AND epoch_id IS NOT NULL"
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
    for run_id, epoch, suite, started_at, iops, valid in found:
        if asked[epoch] != suite:
            left_out.add(run_id)
            continue
        here = by_epoch.setdefault(epoch, [])
        if here and here[-1].run_id == run_id:
            passes.append((iops, valid))
            here[-1] = Slot.of_passes(run_id, started_at, passes)
        else:
            passes = [(iops, valid)]
            here.append(Slot(run_id, started_at, iops, valid == 1))
    return by_epoch, len(left_out)


def _stretch(
    epoch: EpochRecord,
    key: SeriesKey,
    found: Sequence[Slot],
    approvals: Sequence[Approval],
    confirmations: Sequence[Confirmation],
    *,
    over: bool,
) -> Stretch:
    """``over``: another epoch has begun since."""
    mine = tuple(found)
    # Of an approved change, what follows it is normal: it has to be in what is looked at.
    is_approved = any(one.subject == str(key) and one.target == key.target for one in approvals)
    learned = mine[:_LEARNING_SLOTS] if over and not is_approved else mine
    span = Span(epoch.id, epoch.opened_at, epoch.fingerprint, {key: learned})
    in_epoch = [one for one in approvals if mine[0].run_id <= one.from_run <= mine[-1].run_id]
    (survey,) = series_state.survey(span, in_epoch, confirmations)
    if survey.normal is None:
        return Stretch(epoch, mine)
    return Stretch(epoch, mine, survey.normal, survey.slots[survey.normal.first_slot].started_at)


def _is_about(finding: FindingRecord, key: SeriesKey) -> bool:
    """Whether the evidence of a finding is of this series: its own, or that of a slow member."""
    evidence = finding.fact.evidence
    return evidence.get("member_name", "") == key.member and all(
        evidence.get(name) == getattr(key, name) for name in ("suite", "target", "job", "direction")
    )
