"""When a change began, and whether it was a step or a ramp. Pure; for windows of a few hundred.

A step is dated as e-divisive does (Matteson & James 2014, A Nonparametric Approach for Multiple
Change Point Analysis of Multivariate Data, JASA 109:334): the split of the window whose two
parts are farthest apart by their energy distance with exponent α = 1. It assumes no
distribution and minds outliers little. It also finds a ramp, but in its middle; so the start of
one is the knee of the broken line that fits best, where that fits better than a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from appliance.drift.detection.normal import median

# Parts smaller than this are single outliers, not a regime.
LEAST_PART = 3


def split(values: Sequence[float], *, least: int = LEAST_PART) -> int:
    """The index of the first value of the new regime; both parts have ``least`` values or more.

    With n and m values on both sides the statistic is nm/(n+m) · (2 E|X-Y| - E|X-X'| - E|Y-Y'|).
    Takes n² steps. Fewer than twice ``least`` values: half of them.
    """
    count = len(values)
    if count < 2 * least:
        return count // 2
    # Sums of the distances of each value to those before it and after it.
    before = [0.0] * count
    after = [0.0] * count
    for i, value in enumerate(values):
        apart = [abs(value - other) for other in values[:i]]
        before[i] = sum(apart)
        for j, distance in enumerate(apart):
            after[j] += distance
    left, right, across = 0.0, sum(before), 0.0
    best, at = -1.0, count // 2
    for i in range(count - 1):
        # Value i goes from the right part to the left one.
        left += before[i]
        right -= after[i]
        across += after[i] - before[i]
        n, m = i + 1, count - i - 1
        if n < least or m < least:
            continue
        energy = 2 * across / (n * m) - 2 * left / (n * n) - 2 * right / (m * m)
        statistic = energy * n * m / count
        if statistic > best:
            best, at = statistic, n
    return at


def knee(values: Sequence[float], *, least: int = LEAST_PART) -> tuple[int, float]:
    """The broken line level-then-slope that fits best: index of its first sloping value, and
    the sum of the squared residuals.

    The level is that of the values before the knee; least squares for both, in one pass.
    """
    count = len(values)
    shift = median(values)
    moved = [value - shift for value in values]
    total, squares = sum(moved), sum(value * value for value in moved)
    # Sums over the right part of values and of index × value, from the end.
    right = list(accumulate(reversed(moved)))
    weighted = list(accumulate(right))
    best, at = float("inf"), count - least
    for start in range(least, count - least + 1):
        m = count - start
        # The regressor is 0 before the knee and 1, 2, … m from it on.
        s1, s2 = m * (m + 1) / 2, m * (m + 1) * (2 * m + 1) / 6
        # Σ k·y over the right part is the sum of the tail sums.
        product = weighted[m - 1]
        spread = s2 - s1 * s1 / count
        slope = (product - s1 * total / count) / spread
        residual = squares - total * total / count - slope * slope * spread
        if residual < best:
            best, at = residual, start
    return at, max(0.0, best)


def levels_residual(values: Sequence[float], *cuts: int) -> float:
    """The sum of squared residuals of levels that change at the indices ``cuts``, ascending."""
    ends = (0, *cuts, len(values))
    return sum(_about_mean(values[a:b]) for a, b in pairwise(ends) if a < b)


def trend(values: Sequence[float]) -> float:
    """The slope of a straight line through ``values``, in its own standard errors (t)."""
    count = len(values)
    middle = (count - 1) / 2
    mean = sum(values) / count
    spread = count * (count * count - 1) / 12
    slope = sum((i - middle) * (value - mean) for i, value in enumerate(values)) / spread
    residual = sum((value - mean) ** 2 for value in values) - slope * slope * spread
    if residual <= 0:
        return 0.0 if not slope else float("inf") if slope > 0 else float("-inf")
    return slope / float((residual / (count - 2) / spread) ** 0.5)


def _about_mean(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)
