"""What the detector says of each series, which of its changes still stand, and what was read of a
series besides its slots. Pure.

The level of the first baseline is what is normal: of the epoch, or since the run from which a
person approved another one. A change stands until the level is back there; so a disk that
recovers closes its own finding, and one that loses twice has two.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from appliance.drift.codes import Evidence
from appliance.drift.detection.detector import Detector
from appliance.drift.detection.normal import DEAD_BAND, FULL, LEAST, Baseline
from appliance.drift.detection.settling import Change
from appliance.model.confirmations import Approval, Confirmation, Verdict
from appliance.model.findings import DriftSeverity, FindingRecord, SeriesKey
from appliance.model.measurement import JobResult
from appliance.model.runs import RunState
from appliance.model.slots import Attempt, Detail, Happening, Slot, Span

# A baseline of fewer days has not seen a week of other people's habits.
FULL_SECONDS = 7 * 86_400.0
# The level now is that of so many of the last slots.
_LEVEL_SLOTS = 30
# The last slots that a rule looks at, and how many of them must show what it raises.
LAST = 3
NEEDED = 2
# What makes a habit is seen in so many of the last slots.
_HABIT_SLOTS = 30
# Slots before and after a change that are compared with each other.
_AROUND = 5

Bins = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Standing:
    """A change that has not been undone. ``began`` and ``alarm`` are indices of
    :attr:`Survey.slots`: the first slot of the new level, which later slots may date better, and
    the one that raised it, which never moves. ``before`` is the level that it left, of which
    ``effect`` is a share; ``normal`` is the series' first baseline.
    """

    normal: Baseline
    before: float
    began: int
    alarm: int
    effect: float


@dataclass(frozen=True, slots=True)
class Survey:
    """One series: its valid ``slots``, oldest first, since its baseline started again.

    ``normal`` is its first baseline, in indices of ``slots``; ``None`` with too few slots.
    ``standing`` are all in one direction, oldest first.
    """

    key: SeriesKey
    slots: tuple[Slot, ...]
    normal: Baseline | None = None
    standing: tuple[Standing, ...] = ()

    @property
    def is_provisional(self) -> bool:
        """Whether too little is known yet: of what is normal, and of what has been since."""
        normal, slots = self.normal, self.slots
        if normal is None:
            return True
        first, last = slots[normal.first_slot], slots[normal.last_slot]
        if not normal.provisional and last.started_at - first.started_at >= FULL_SECONDS:
            return False
        known = slots[normal.first_slot :]
        return len(known) < 2 * FULL or known[-1].started_at - first.started_at < 2 * FULL_SECONDS

    @property
    def is_judged(self) -> bool:
        """Whether there is a series of the stripe, and slots that no baseline has taken in yet."""
        if self.normal is None or self.key.member:
            return False
        return len(self.slots) >= self.normal.first_slot + LEAST + NEEDED

    @property
    def latest(self) -> tuple[Slot, ...]:
        return self.slots[-LAST:]

    @property
    def early(self) -> tuple[Slot, ...]:
        """The first slots of the baseline. They stay what they are while the baseline grows, and
        would else take in what is looked for.
        """
        first = self.normal.first_slot if self.normal is not None else 0
        return self.slots[first : first + LEAST]

    @property
    def young(self) -> Evidence:
        """Says so where too few slots are known for more than a notice."""
        seconds = self.slots[-1].started_at - self.slots[0].started_at
        return {} if len(self.slots) >= FULL and seconds >= FULL_SECONDS else {"provisional": 1}

    def before(self, change: Standing) -> tuple[Slot, ...]:
        return self.slots[max(0, change.began - _AROUND) : change.began]

    def after(self, change: Standing) -> tuple[Slot, ...]:
        return self.slots[change.began : change.began + _AROUND]

    @property
    def level(self) -> float:
        """The median of the last slots: since the last change, if one stands. There are some
        wherever there is a baseline.
        """
        first = self.standing[-1].began if self.standing else 0
        values = [slot.value for slot in self.slots[first:][-_LEVEL_SLOTS:]]
        return statistics.median(values)


def survey(
    span: Span, approvals: Iterable[Approval], confirmations: Iterable[Confirmation]
) -> tuple[Survey, ...]:
    """Every series of an epoch. What repeated runs did not find again is taken out of its
    series, from the change to the repeats, and it goes on from there.
    """
    begins: dict[tuple[str, str], int] = {}
    for approval in approvals:
        key = (approval.subject, approval.target)
        begins[key] = max(begins.get(key, 0), approval.from_run)
    undone: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for one in confirmations:
        if one.verdict is Verdict.NOT_REPEATED and one.code in {"PERF-SLOWER", "PERF-FASTER"}:
            undone.setdefault((one.subject, one.target), []).append((one.change_run, one.run_id))
    found = []
    for series, slots in span.series.items():
        of = (str(series), series.target)
        first, out = begins.get(of, 0), undone.get(of, [])
        valid = tuple(
            slot
            for slot in slots
            if slot.valid
            and 0 < slot.value < math.inf
            and slot.run_id >= first
            and not any(began <= slot.run_id < ended for began, ended in out)
        )
        found.append(_surveyed(series, valid))
    return tuple(found)


def _surveyed(key: SeriesKey, slots: tuple[Slot, ...]) -> Survey:
    detector = Detector()
    for index, slot in enumerate(slots):
        detector.add(index, slot.value)
    changes = detector.changes
    normal = changes[0].baseline if changes else detector.baseline
    if normal is None:
        return Survey(key, slots)
    return Survey(key, slots, normal, _standing(changes, normal))


def _standing(changes: Sequence[Change], normal: Baseline) -> tuple[Standing, ...]:
    stack: list[Standing] = []
    of_stack = ""
    for change in changes:
        if change.shape == "spike" or change.effect_pct is None:
            continue
        level = change.baseline.median * (1 + change.effect_pct / 100)
        if _is_normal(level, normal):
            stack = []
            continue
        off = "down" if level < normal.median else "up"
        if of_stack != off:
            stack, of_stack = [], off
        # The way back, half of it: what has begun still stands.
        if change.direction != off:
            continue
        before, effect = change.baseline.median, change.effect_pct / 100
        stack.append(Standing(normal, before, change.change_slot, change.alarm_slot, effect))
    return tuple(stack)


def _is_normal(level: float, normal: Baseline) -> bool:
    """Whether a level is back at the normal one: nearer than one slot scatters, or in the dead
    band.
    """
    scale = normal.scale_down if level < normal.median else normal.scale_up
    return abs(level - normal.median) <= max(scale, DEAD_BAND * normal.median)


# --------------------------------------------------------------- what was read besides the slots


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

    def of(self, slots: Iterable[Slot]) -> list[Detail]:
        return [self.details[slot.run_id] for slot in slots if slot.run_id in self.details]


def severity(evidence: Mapping[str, object]) -> DriftSeverity:
    return DriftSeverity.NOTICE if "provisional" in evidence else DriftSeverity.WARNING


def results(key: SeriesKey, detail: Detail) -> list[JobResult]:
    return [
        result
        for result in detail.results
        if (result.job, result.direction, result.member) == (key.job, key.direction, key.member)
    ]


def intervals(slots: Sequence[Slot]) -> list[float]:
    """The seconds between each of the last thirty ``slots`` and the next."""
    times = [slot.started_at for slot in slots[-_HABIT_SLOTS:]]
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def attempts_since(run_id: int, key: SeriesKey, attempts: Iterable[Attempt]) -> list[Attempt]:
    """Those of the series' suite and target that have ended, however they did."""
    return [
        one
        for one in attempts
        if one.run_id > run_id
        and (one.suite, one.target) == (key.suite, key.target)
        and one.state is not RunState.RUNNING
    ]


def of_series(span: Span, key: SeriesKey) -> Evidence:
    """What the evidence of every fact of a series says of it. ``by_hand``: runs of it are made
    by hand only, so that none is made to confirm it.
    """
    by_hand = key.member or key.target.startswith("/dev/")
    return {
        "suite": key.suite,
        "target": key.target,
        "job": key.job,
        "direction": key.direction,
        "epoch": span.epoch_id,
        **({"member_name": key.member} if key.member else {}),
        **({"by_hand": 1} if by_hand else {}),
    }
