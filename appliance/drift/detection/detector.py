"""Goes through one series slot by slot and says when it has changed. Pure.

It is in one of three phases: *learning* the first slots of a regime, *watching* it with a
two-sided CUSUM against its baseline, and *settling* after an alarm, until the new level stands
still and becomes the next baseline. So a change is reported once, a ramp is one change, and what
comes later is compared with what is normal now.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace

from appliance.drift.detection import cusum, dating, settling
from appliance.drift.detection.normal import LEAST, Baseline, Point, learn, median, values
from appliance.drift.detection.settling import (
    LOOK_BACK,
    WINDOW,
    Change,
    Direction,
    Outcome,
    Settling,
    effect_pct,
)

# A baseline grows up to this many slots and is then fixed: one that went on moving would follow
# a slow decay for ever and never see it.
FIXED = 120
# The newest slots, a quarter of the baseline's own up to so many, are not yet learned: a change
# may be under way in them.
_GUARD = 8
# Nor is anything while the median of those that wait, or of the newest of them, is farther from the
# baseline's than this score: a change too small to be found soon must not become normal.
_CALM = 1.0
# Of slots that wait longer than this the oldest are never learned.
_LONGEST_WAIT = 64
# It is learned again whenever it has grown by this factor.
_GROWTH = 1.15


class Detector:
    """The state of one series. Memory and time for a slot are bounded, but for the changes kept."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._epoch: str | None = None
        # The two sums, the slots watched, and how many those were when a sum was last zero.
        self._up: float = 0.0
        self._down: float = 0.0
        self._seen: int = 0
        self._zero_up: int = 0
        self._zero_down: int = 0
        self._begin()

    # ------------------------------------------------------------------------- what is known

    @property
    def baseline(self) -> Baseline | None:
        """What slots are compared with now: while a change settles, what was before it."""
        return self._baseline

    @property
    def changes(self) -> list[Change]:
        """All changes so far; the last one as it looks with all slots since."""
        if self._open is not None:
            self._changes[-1] = self._open.dated()
        return list(self._changes)

    @property
    def settling(self) -> bool:
        """Whether a change is too new to have a baseline of its own."""
        return self._open is not None

    # ------------------------------------------------------------------------------ the pass

    def add(self, slot: int, value: float, epoch: str = "") -> Change | None:
        """Take the next slot in; the change that it raises, if it does.

        ``value`` is finite, else :class:`ValueError`. Another ``epoch`` starts afresh: what was
        normal before it says nothing of it.
        """
        if not math.isfinite(value):
            raise ValueError(f"slot {slot}: {value} is no measurement")
        if epoch != self._epoch:
            self._enter(epoch)
        self._recent.append((slot, value))
        if not self._watching:
            if self._open is not None:
                return self._settle(self._open, slot, value)
            self._learn()
            return None
        # The hot loop: the clipped score, and the two sums.
        self._seen += 1
        distance = value - self._median
        step = distance / (self._scale_down if distance < 0 else self._scale_up)
        if step > cusum.CLIP:
            step = cusum.CLIP
        elif step < -cusum.CLIP:
            step = -cusum.CLIP
        self._up += step - cusum.REFERENCE
        if self._up <= 0:
            self._up = 0.0
            self._zero_up = self._seen
        self._down -= step + cusum.REFERENCE
        if self._down <= 0:
            self._down = 0.0
            self._zero_down = self._seen
        if self._up > self._limit_up:
            return self._alarm("up", slot, self._seen - self._zero_up)
        if self._down > self._limit_down:
            return self._alarm("down", slot, self._seen - self._zero_down)
        if self._growing:
            self._grow(slot, value)
        return None

    # ------------------------------------------------------------------- learning, watching

    def _enter(self, epoch: str) -> None:
        if self._epoch is not None:
            if self._open is not None:
                self._close(self._open)
            self._begin()
        self._epoch = epoch

    def _begin(self) -> None:
        self._watching = self._growing = False
        self._open: Settling | None = None
        self._baseline: Baseline | None = None
        self._recent: deque[Point] = deque(maxlen=WINDOW)
        self._before: list[Point] = []
        self._first_of_epoch = len(self._changes)
        self._learnt: list[Point] = []
        self._pending: deque[Point] = deque()

    def _learn(self) -> None:
        if len(self._recent) >= LEAST:
            points = list(self._recent)
            self._watch(learn(points), learnt=points)

    def _watch(self, baseline: Baseline, *, learnt: list[Point] | None) -> None:
        """Watch from the next slot on; ``learnt`` are the slots of a baseline that still grows."""
        self._open = None
        self._watching = True
        self._growing = learnt is not None and len(learnt) < FIXED
        self._learnt = learnt or []
        self._pending = deque()
        self._seen = self._zero_up = self._zero_down = 0
        self._up = self._down = 0.0
        self._take(baseline)

    def _take(self, baseline: Baseline) -> None:
        if baseline.provisional and len(self._changes) > self._first_of_epoch:
            # Its few slots may have missed the long tail that the regime before it had.
            before = self._changes[-1].baseline
            baseline = replace(
                baseline,
                threshold_down=max(baseline.threshold_down, before.threshold_down),
                threshold_up=max(baseline.threshold_up, before.threshold_up),
            )
        self._baseline = baseline
        self._median = baseline.median
        self._scale_down, self._scale_up = baseline.scale_down, baseline.scale_up
        self._limit_down, self._limit_up = baseline.threshold_down, baseline.threshold_up

    def _grow(self, slot: int, value: float) -> None:
        """Learn slots that are old enough, and older than what the sums are made of."""
        self._pending.append((slot, value))
        baseline = self._known()
        guard = min(_GUARD, baseline.count // 4)
        if len(self._pending) <= guard:
            return
        waiting = values(list(self._pending))
        calm = all(
            abs(baseline.score(median(some))) < _CALM for some in (waiting, waiting[-guard:])
        )
        quiet = min(self._zero_up, self._zero_down)
        while calm and len(self._pending) > guard and self._seen - len(self._pending) < quiet:
            self._learnt.append(self._pending.popleft())
        if len(self._pending) > _LONGEST_WAIT:
            self._pending.popleft()
        count = len(self._learnt)
        if count >= min(FIXED, baseline.count * _GROWTH):
            self._take(learn(self._learnt))
            self._measure_last()
            if count >= FIXED:
                self._growing = False
                self._learnt, self._pending = [], deque()

    def _measure_last(self) -> None:
        """The last change leads to the level of this baseline, which is known better now."""
        if len(self._changes) > self._first_of_epoch and self._changes[-1].shape != "spike":
            last = self._changes[-1]
            effect = effect_pct(last.baseline.median, self._median)
            self._changes[-1] = replace(last, effect_pct=effect)

    # ----------------------------------------------------------------------- alarm, settling

    def _alarm(self, direction: Direction, slot: int, length: int) -> Change | None:
        """The sum has been above zero for ``length`` slots and has passed its threshold."""
        if self._goes_on(direction):
            return None
        points = list(self._recent)[-(length + LOOK_BACK) :]
        # With next to nothing before it the sum itself dates the change.
        at = max(0, len(points) - length)
        if at >= dating.LEAST_PART:
            at = dating.split(self._known().scores(points))
        return self._raise(direction, slot, points[:at], points[at:], self._known())

    def _raise(
        self,
        direction: Direction,
        slot: int,
        before: list[Point],
        after: list[Point],
        baseline: Baseline,
    ) -> Change:
        change = Change(
            change_slot=after[0][0],
            alarm_slot=slot,
            direction=direction,
            effect_pct=effect_pct(baseline.median, median(values(after))),
            provisional=baseline.provisional,
            baseline=baseline,
            epoch=self._epoch or "",
        )
        self._changes.append(change)
        self._follow(Settling(change, before, after))
        return change

    def _follow(self, open_change: Settling) -> None:
        self._open = open_change
        self._watching = False
        self._baseline = open_change.change.baseline

    def _goes_on(self, direction: Direction) -> bool:
        """Whether the last change was a ramp, and this alarm is more of it."""
        if len(self._changes) == self._first_of_epoch:
            return False
        last = self._changes[-1]
        if last.direction != direction or last.shape == "spike":
            return False
        again = settling.continues(last, self._before, list(self._recent))
        if again is None:
            return False
        self._changes[-1] = again.change
        self._follow(again)
        return True

    def _settle(self, change: Settling, slot: int, value: float) -> Change | None:
        outcome = change.add((slot, value))
        if outcome is Outcome.TURNED:
            return self._turn(change, slot)
        if outcome is Outcome.STANDS:
            self._close(change)
            points = change.regime
            self._before = change.before
            self._recent = deque(change.after, maxlen=WINDOW)
            self._watch(learn(points), learnt=points)
            self._measure_last()
        return None

    def _turn(self, was: Settling, slot: int) -> Change | None:
        """The series moves the other way before it has settled."""
        there, back = was.turned()
        if was.has_overshot(there, back):
            return None
        if was.was_spike(there, back):
            self._changes[-1] = replace(was.change, shape="spike", settled=True)
            learnt = self._learnt + list(self._pending) + was.after
            # The next change is not to be dated into this one.
            self._recent = deque(back, maxlen=WINDOW)
            self._watch(was.change.baseline, learnt=learnt if self._growing else None)
            return None
        level = was.level(there)
        self._changes[-1] = replace(
            was.change,
            effect_pct=effect_pct(was.change.baseline.median, level.median),
            settled=True,
        )
        return self._raise(
            "up" if was.change.direction == "down" else "down", slot, there, back, level
        )

    def _close(self, open_change: Settling) -> None:
        """The last word on a change."""
        self._changes[-1] = replace(open_change.dated(), settled=True)

    def _known(self) -> Baseline:
        if self._baseline is None:
            raise AssertionError("there is a baseline while a series is watched")
        return self._baseline
