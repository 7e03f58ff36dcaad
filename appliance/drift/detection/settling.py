"""A change from its alarm until the new level stands still. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

from appliance.drift.detection import cusum, dating
from appliance.drift.detection.normal import LEAST, Baseline, Point, median, values

Direction = Literal["down", "up"]
Shape = Literal["step", "ramp", "spike"]
# A level nearer to zero than so many of its scales may as well be zero.
_FROM_ZERO = 3.0
# Single outliers are drawn in to this distance from their neighbours.
_CALM = 2.0
# What the dating looks at before a change, and at most in all.
LOOK_BACK = 60
WINDOW = 240
# A change from which the series came back in fewer slots to where it was is a spike, and its
# end is no change of its own.
SPIKE = 6
# Slots that must stand still (|t| of their trend below the limit) for a new baseline: few, and
# after a ramp also many.
_STILL = LEAST
_STILL_LONG = 24
_STILL_T = 2.0
_STILL_LONG_T = 3.0
# At so many slots after a change it is dated again, if the level has not stood still before.
_DATED_AT = (_STILL, 18, _STILL_LONG)
# A broken line has to leave that much less than a step does to be taken for the truth.
_BROKEN_LINE = 0.85
# The level to which a ramp leads is that of its last slots.
_END_OF_RAMP = 5


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a series.

    ``change_slot`` is the first slot of the new regime and may be dated better while the new
    level settles; ``alarm_slot``, at which the statistic alone raised it, never moves.
    ``effect_pct`` is the new level against ``baseline`` in percent, signed; ``None`` where the
    baseline is not positive. Beside zero it is a number and means little: what people read
    is ``percent``. ``provisional``: the baseline had fewer than 30 slots. A ``spike``
    was over within five slots. ``settled``: the new level stands still, or something else came.
    """

    change_slot: int
    alarm_slot: int
    direction: Direction
    effect_pct: float | None
    provisional: bool
    baseline: Baseline
    shape: Shape = "step"
    settled: bool = False
    epoch: str = ""

    @property
    def percent(self) -> float | None:
        """``effect_pct`` where a percentage of the level means something.

        ``None`` where the level of ``baseline`` is below 3 of its scales towards zero
        (``scale_down``): then its own scatter hides whether it is zero. So it is for
        every level that is zero or negative.
        """
        if self.baseline.median < _FROM_ZERO * self.baseline.scale_down:
            return None
        return self.effect_pct


class Outcome(Enum):
    GOES_ON = 1
    STANDS = 2
    TURNED = 3


def calm(scores: Sequence[float]) -> list[float]:
    """Scores without single outliers: near the median of five neighbours."""
    around = [median(scores[max(0, i - 2) : i + 3]) for i in range(len(scores))]
    return [
        max(near - _CALM, min(near + _CALM, score))
        for near, score in zip(around, scores, strict=True)
    ]


def effect_pct(old: float, new: float) -> float | None:
    """The new level against the old one in percent; ``None`` if that says nothing."""
    if old <= 0:
        return None
    effect = (new / old - 1) * 100
    return effect if math.isfinite(effect) else None


class Settling:
    """The slots before and after a change, and what they say of it so far."""

    def __init__(
        self, change: Change, before: list[Point], after: list[Point], *, ramp: bool = False
    ) -> None:
        self.change = change
        self.before, self.after = before, after
        self._old = change.baseline
        self._ramp = ramp
        self._back = 0.0
        self._level = self._old.shifted(after[-_STILL:])

    @property
    def regime(self) -> list[Point]:
        """The slots of the new level: all since a step, the last ones of a ramp."""
        return self.after[-_STILL:] if self._ramp else list(self.after)

    def add(self, point: Point) -> Outcome:
        """Take a slot in: whether the new level stands now, or the series has gone back."""
        self.after.append(point)
        if len(self.after) > WINDOW:
            del self.after[0]
        falling = self.change.direction == "down"
        # The sum towards the old level, seen from the new one.
        step = self._level.score(point[1])
        self._back = max(0.0, self._back + (step if falling else -step) - cusum.REFERENCE)
        limit = self._level.threshold_up if falling else self._level.threshold_down
        if self._back > limit:
            return Outcome.TURNED
        if not self._back:
            self._level = self._old.shifted(self.after[-_STILL:])
        return Outcome.STANDS if self._stands() else Outcome.GOES_ON

    def turned(self) -> tuple[list[Point], list[Point]]:
        """The slots of the change, and those since it went the other way."""
        at = dating.split(self._old.scores(self.after))
        return self.after[:at], self.after[at:]

    def was_spike(self, there: list[Point], back: list[Point]) -> bool:
        """Whether it was short, and all is as it was before."""
        again = median(values(back))
        return len(there) < SPIKE and self._old.low <= again <= self._old.high

    def has_overshot(self, there: list[Point], back: list[Point]) -> bool:
        """Whether its first few slots only lay beyond the new level; then it goes on from there."""
        again = median(values(back))
        falling = self.change.direction == "down"
        if len(there) >= SPIKE or not (
            again < self._old.low if falling else again > self._old.high
        ):
            return False
        self._level, self._back = self._old.shifted(back), 0.0
        return True

    def level(self, there: list[Point]) -> Baseline:
        """The level that it had until it turned."""
        return self._old.shifted(there[-_STILL:])

    def dated(self) -> Change:
        """The change as all slots since show it: its date, whether it is a ramp, its size."""
        points = self.before[-LOOK_BACK:] + self.after
        if not self._ramp and len(self.before) >= dating.LEAST_PART:
            seen = self._old.scores(points)
            at = dating.split(seen)
            if len(points) - at >= _STILL:
                quiet = calm(seen)
                knee, left = dating.knee(quiet)
                if left < _BROKEN_LINE * dating.levels_residual(quiet, at):
                    self._ramp, at = True, knee
            while points[at][0] > self.change.alarm_slot:
                at -= 1
            self.before, self.after = points[:at], points[at:]
        level = median(values(self.after[-_END_OF_RAMP:] if self._ramp else self.after))
        self.change = replace(
            self.change,
            change_slot=min(self.after[0][0], self.change.alarm_slot)
            if len(self.after) < WINDOW
            else self.change.change_slot,
            effect_pct=effect_pct(self._old.median, level),
            shape="ramp" if self._ramp else "step",
        )
        return self.change

    def _stands(self) -> bool:
        if len(self.after) < _STILL:
            return False
        if not self._ramp and len(self.after) in _DATED_AT:
            self.dated()
        if self._ramp and len(self.after) < _STILL_LONG:
            return False
        quiet = calm(self._old.scores(self.after[-_STILL_LONG:]))
        if abs(dating.trend(quiet[-_STILL:])) > _STILL_T:
            return False
        return len(quiet) == _STILL or abs(dating.trend(quiet)) <= _STILL_LONG_T


def continues(last: Change, before: list[Point], since: list[Point]) -> Settling | None:
    """Whether an alarm after ``last`` is that change going on: a ramp that seemed to have settled.

    One broken line from the old baseline to now then fits as well as two steps. ``before`` and
    ``since`` are the slots on both sides of the change.
    """
    points = before[-LOOK_BACK:] + since
    begin = len(points) - len(since)
    if begin < dating.LEAST_PART or len(since) >= WINDOW:
        return None
    quiet = calm(last.baseline.scores(points))
    knee, one_ramp = dating.knee(quiet)
    second = begin + dating.split(quiet[begin:])
    # Two steps have two parameters more, and a third for where the second one is.
    if one_ramp > dating.levels_residual(quiet, begin, second) * (1 + 6 / len(quiet)):
        return None
    again = replace(
        last, change_slot=min(points[knee][0], last.alarm_slot), shape="ramp", settled=False
    )
    return Settling(again, points[:knee], points[knee:], ramp=True)
