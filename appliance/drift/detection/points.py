"""Slots with their values against a baseline, and a change from one. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from appliance.drift.detection import cusum
from appliance.drift.detection import normal as baselines
from appliance.drift.detection.normal import Baseline, median

Point = tuple[int, float]
Direction = Literal["down", "up"]
Shape = Literal["step", "ramp", "spike"]
# A level nearer to zero than so many of its scales may as well be zero.
_FROM_ZERO = 3.0

# Farther away than this is all the same for dating.
_FAR = 1e6
# Single outliers are drawn in to this distance from their neighbours.
_CALM = 2.0


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a series.

    ``change_slot`` is the first slot of the new regime and may be dated better while the new
    level settles; ``alarm_slot``, at which the statistic alone raised it, never moves.
    ``effect_pct`` is the new level against ``baseline`` in percent, signed; ``None`` where the
    baseline is not positive. Beside zero it is a number and means little: what people are told
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
        (``scale_down``): then it cannot be told from zero by its own scatter. So it is for
        every level that is zero or negative.
        """
        if self.baseline.median < _FROM_ZERO * self.baseline.scale_down:
            return None
        return self.effect_pct


def learned(points: Sequence[Point]) -> Baseline:
    """The baseline of at least two points in the order of their slots."""
    return baselines.learn(values(points), first_slot=points[0][0], last_slot=points[-1][0])


def shifted(baseline: Baseline, points: Sequence[Point]) -> Baseline:
    """A first idea of the level of a few ``points``.

    They scatter as ``baseline`` does or, at a higher level, in proportion to it.
    """
    level = median(values(points))
    grown = level / baseline.median if baseline.median > 0 else 1.0
    # A level of few slots is known as badly as a baseline of few.
    factor = max(1.0, grown) * (1 + 1 / len(points))
    return replace(
        baseline,
        median=level,
        scale_down=min(baselines.HUGE, baseline.scale_down * factor),
        scale_up=min(baselines.HUGE, baseline.scale_up * factor),
        count=len(points),
        provisional=True,
        first_slot=points[0][0],
        last_slot=points[-1][0],
    )


def values(points: Sequence[Point]) -> list[float]:
    return [value for _, value in points]


def score(value: float, baseline: Baseline) -> float:
    """How far ``value`` is from the level, in scales of its side, clipped."""
    distance = value - baseline.median
    return cusum.clipped(distance / (baseline.scale_down if distance < 0 else baseline.scale_up))


def scores(points: Sequence[Point], baseline: Baseline) -> list[float]:
    """Scores for dating: not clipped, but finite."""
    down, up = baseline.scale_down, baseline.scale_up
    distances = (value - baseline.median for _, value in points)
    return [max(-_FAR, min(_FAR, d / (down if d < 0 else up))) for d in distances]


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
