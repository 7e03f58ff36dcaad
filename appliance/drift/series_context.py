"""What is read of a series besides its slots, and which of them stand for what. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from appliance.drift import latency
from appliance.drift.detection.normal import FULL, LEAST
from appliance.drift.series_state import FULL_SECONDS, Standing, Survey
from appliance.model import (
    Confirmation,
    Detail,
    DriftSeverity,
    FindingRecord,
    Happening,
    JobResult,
    SeriesKey,
    Slot,
    Span,
)

# Slots before and after a change that are compared with each other.
_BEFORE = 5
_AFTER = 5

Bins = Mapping[int, int]
Evidence = dict[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Known:
    """What was read besides the slots. ``details`` by run; ``bins`` gives the histogram of one
    slot; ``happenings`` the events between two moments. ``gaps`` is how many seconds the schedule
    leaves between two runs of a suite, ``None`` where it runs none. ``records`` are the findings
    so far, closed ones too.
    """

    confirmations: Sequence[Confirmation] = ()
    details: Mapping[int, Detail] = field(default_factory=dict)
    bins: Callable[[SeriesKey, int], Bins] = lambda _, __: {}
    happenings: Callable[[float, float], Sequence[Happening]] = lambda _, __: ()
    gaps: Mapping[str, float | None] = field(default_factory=dict)
    records: Sequence[FindingRecord] = ()


def before(one: Survey, change: Standing) -> tuple[Slot, ...]:
    return one.slots[max(0, change.began - _BEFORE) : change.began]


def after(one: Survey, change: Standing) -> tuple[Slot, ...]:
    return one.slots[change.began : change.began + _AFTER]


def latest(one: Survey) -> tuple[Slot, ...]:
    return one.slots[-latency.LAST :]


def early(one: Survey) -> tuple[Slot, ...]:
    """The first slots of the baseline. They stay what they are while the baseline grows, and
    would else take in what is looked for.
    """
    first = one.normal.first_slot if one.normal is not None else 0
    return one.slots[first : first + LEAST]


def is_judged(one: Survey) -> bool:
    """Whether there is a series of the stripe, and slots that no baseline has taken in yet."""
    if one.normal is None or one.key.member:
        return False
    return len(one.slots) >= one.normal.first_slot + LEAST + latency.NEEDED


def young(one: Survey) -> Evidence:
    """Says so where too few slots are known for more than a notice."""
    seconds = one.slots[-1].started_at - one.slots[0].started_at
    return {} if len(one.slots) >= FULL and seconds >= FULL_SECONDS else {"provisional": 1}


def severity(evidence: Mapping[str, object]) -> DriftSeverity:
    return DriftSeverity.NOTICE if "provisional" in evidence else DriftSeverity.WARNING


def results(key: SeriesKey, detail: Detail) -> list[JobResult]:
    return [
        result
        for result in detail.results
        if (result.job, result.direction, result.member) == (key.job, key.direction, key.member)
    ]


def of_series(span: Span, key: SeriesKey) -> Evidence:
    """What the evidence of every fact of a series says of it. ``by_hand``: runs of it are made
    by people only, so that none is made to confirm it.
    """
    known: Evidence = {
        "suite": key.suite,
        "target": key.target,
        "job": key.job,
        "direction": key.direction,
        "epoch": span.epoch_id,
    }
    if key.member:
        known["member_name"] = key.member
    return known | {"by_hand": 1} if key.member or key.target.startswith("/dev/") else known
