"""What is normal for a series: its level, how far it scatters to each side. Pure.

The level is the median. The scale starts from the median absolute deviation (Rousseeuw & Croux
1993, Alternatives to the Median Absolute Deviation, JASA 88:1273, who also show its inefficiency)
and becomes a truncated second moment about the median, which uses the data better: the τ-scale
of Maronna & Zamar 2002 (Technometrics 44:307). It is taken from all slots and from the slots of
each side, and the larger counts: a skewed series scatters more to one side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from appliance.drift.detection import cusum

# A slot and its value.
Point = tuple[int, float]

# A baseline from fewer slots raises nothing; one below FULL is provisional.
LEAST = 12
FULL = 30
# Changes of less than this share of the level are never looked for: the machine next door, a
# new kernel or the weather do as much, and no one can act on it.
DEAD_BAND = 0.015
# Of a normal distribution: σ ÷ median absolute deviation, and E min(z², 4).
_MAD = 1.482602
_TRUNCATED = 2.0
_SECOND_MOMENT = 0.920536
# The scale of n slots is too small or too large, and the median off. The scale is enlarged by
# 1 + A/n + B/n²: by simulation, so that short series raise no more false alarms than long ones.
_SMALL_SAMPLE_A = 3.0
_SMALL_SAMPLE_B = 30.0
# No scale is smaller or larger, so that every finite series gives finite scores or ±infinity.
_TINY = 1e-300
HUGE = 1e300
# Farther away than this is all the same for dating.
_FAR = 1e6


@dataclass(frozen=True, slots=True)
class Baseline:
    """The normal level of a series, in the unit of its values.

    ``scale_down`` and ``scale_up`` are one unit of score below and above the ``median``:
    standard deviations of normal noise, enlarged for what is not known from ``count`` slots and
    never below half the dead band. ``threshold_*`` is what the cumulative sum must pass.
    """

    median: float
    scale_down: float
    scale_up: float
    count: int
    provisional: bool
    first_slot: int
    last_slot: int
    threshold_down: float = cusum.LEAST_THRESHOLD
    threshold_up: float = cusum.LEAST_THRESHOLD

    @property
    def low(self) -> float:
        """A slot below it counts towards an alarm."""
        return self.median - cusum.REFERENCE * self.scale_down

    @property
    def high(self) -> float:
        """A slot above it counts towards an alarm."""
        return self.median + cusum.REFERENCE * self.scale_up

    def side(self, value: float) -> int:
        """-1 or 1 where ``value`` is below or above what is normal, else 0."""
        return (value > self.high) - (value < self.low)

    def score(self, value: float) -> float:
        """How far ``value`` is from the level, in scales of its side, clipped."""
        return _score(value - self.median, self.scale_down, self.scale_up)

    def scores(self, points: Sequence[Point]) -> list[float]:
        """Scores for dating: not clipped, but finite."""
        down, up = self.scale_down, self.scale_up
        distances = (value - self.median for _, value in points)
        return [max(-_FAR, min(_FAR, d / (down if d < 0 else up))) for d in distances]

    def shifted(self, points: Sequence[Point]) -> Baseline:
        """A first idea of the level of a few ``points``.

        They scatter as this one does or, at a higher level, in proportion to it.
        """
        level = median(values(points))
        grown = level / self.median if self.median > 0 else 1.0
        # A level of few slots is known as badly as a baseline of few.
        factor = max(1.0, grown) * (1 + 1 / len(points))
        return replace(
            self,
            median=level,
            scale_down=min(HUGE, self.scale_down * factor),
            scale_up=min(HUGE, self.scale_up * factor),
            count=len(points),
            provisional=True,
            first_slot=points[0][0],
            last_slot=points[-1][0],
        )


def learn(points: Sequence[Point]) -> Baseline:
    """The baseline of at least two points with finite values, in the order of their slots."""
    count = len(points)
    centre = median(values(points))
    distances = [value - centre for _, value in points]
    down, up = _scales(distances)
    enlarged = 1 + _SMALL_SAMPLE_A / count + _SMALL_SAMPLE_B / count**2
    floor = max(_TINY, DEAD_BAND / cusum.REFERENCE * centre)
    down = min(HUGE, max(down * enlarged, floor))
    up = min(HUGE, max(up * enlarged, floor))
    correlated = _correlation([_score(d, down, up) for d in distances])
    down, threshold_down = _settled([-d for d in distances], down, up, correlated)
    up, threshold_up = _settled(distances, up, down, correlated)
    return Baseline(
        median=centre,
        scale_down=down,
        scale_up=up,
        count=count,
        provisional=count < FULL,
        first_slot=points[0][0],
        last_slot=points[-1][0],
        threshold_down=threshold_down,
        threshold_up=threshold_up,
    )


def values(points: Sequence[Point]) -> list[float]:
    return [value for _, value in points]


def median(values: Sequence[float]) -> float:
    """The median, also where the sum of two values would be infinite."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return ordered[half - 1] * 0.5 + ordered[half] * 0.5


def _scales(distances: Sequence[float]) -> tuple[float, float]:
    """The scale below and above the median, before anything is added for a small sample."""
    first = _MAD * median([abs(d) for d in distances])
    if not first:
        # Most values are the same, as rounded ones are: what do nine tenths of them scatter?
        inner = sorted(abs(d) for d in distances)[: math.ceil(0.9 * len(distances))]
        first = math.hypot(*inner) / math.sqrt(len(inner))
    if not 0 < first < math.inf:
        return first, first
    below = [min(-d / first, _TRUNCATED) ** 2 for d in distances if d < 0]
    above = [min(d / first, _TRUNCATED) ** 2 for d in distances if d > 0]
    # A value at the median belongs to both halves.
    whole = (sum(below) + sum(above)) / len(distances)
    half = len(distances) / 2
    down, up = max(whole, sum(below) / half), max(whole, sum(above) / half)
    return first * math.sqrt(down / _SECOND_MOMENT), first * math.sqrt(up / _SECOND_MOMENT)


def _score(distance: float, down: float, up: float) -> float:
    return cusum.clipped(distance / (down if distance < 0 else up))


def _settled(
    distances: Sequence[float], scale: float, other: float, correlation: float
) -> tuple[float, float]:
    """The scale of the positive side and its threshold.

    Where more of the slots lie outside than any threshold could make up for, the scale grows.
    """
    nearest = min((d for d in distances if d > 0), default=0.0)
    factor = 1.1
    while True:
        scores = [_score(d, other, scale) for d in distances]
        theta = cusum.exponent(scores, correlation)
        if theta >= cusum.LEAST_EXPONENT or scale >= HUGE or not nearest:
            limit = cusum.threshold(max(theta, cusum.LEAST_EXPONENT), len(scores))
            return scale, limit
        # Faster and faster, and not where all of them are clipped: values may be far apart.
        scale = min(HUGE, max(scale, nearest / cusum.CLIP) * factor)
        factor *= 1.1


def _correlation(scores: Sequence[float]) -> float:
    """The lag-1 correlation of clipped scores as far as it is surely above zero; at most 0.9."""
    total = sum(score * score for score in scores)
    if not total:
        return 0.0
    together = sum(a * b for a, b in pairwise(scores))
    count = len(scores)
    return min(0.9, max(0.0, together / total - 1 / math.sqrt(count)))
