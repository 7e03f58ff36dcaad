"""How far a ratio of two sets of measurements can be trusted. Pure; no distribution is assumed.

The ratio of two sets is Hodges and Lehmann's: the median of all quotients of one value of
B and one of A. Its interval are the order statistics of those quotients that the
Mann-Whitney test does not reject (Hollander, Wolfe, Chicken: Nonparametric Statistical
Methods, 3rd ed., 4.3, on logarithms). Where one side is a single value, the interval is that
of the other side's median (ibid., 3.6). Both need values that do not depend on each other.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2
# Above this many values on both sides the normal approximation (ibid., large samples) is taken:
# at most one quotient wider at each end.
_EXACT_UP_TO = 20


@dataclass(frozen=True, slots=True)
class Ratio:
    """B ÷ A. ``low`` and ``high`` are ``None`` where the values support no interval."""

    value: float
    low: float | None = None
    high: float | None = None


def ratio(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """The ratio of two sets of positive values, neither empty, with its 95 % interval.

    An interval needs for example four values on each side, or one on one side and six on the
    other.
    """
    if len(a) == 1:
        return _against_one(b, a[0])
    if len(b) == 1:
        found = _against_one(a, b[0])
        ends = None if found.low is None or found.high is None else (1 / found.high, 1 / found.low)
        return Ratio(1 / found.value, *(ends or (None, None)))
    quotients = sorted(one / other for one in b for other in a)
    value = statistics.median(quotients)
    rank = _mann_whitney_rank(len(a), len(b))
    return Ratio(value, quotients[rank - 1], quotients[-rank]) if rank else Ratio(value)


def _against_one(values: Sequence[float], one: float) -> Ratio:
    """The median of ``values`` over ``one``, with the interval of the median."""
    ordered = sorted(value / one for value in values)
    rank = _sign_rank(len(ordered))
    value = statistics.median(ordered)
    return Ratio(value, ordered[rank - 1], ordered[-rank]) if rank else Ratio(value)


def _sign_rank(count: int) -> int:
    """The largest r with P(Binomial(count, ½) < r) within the tail; 0 if there is none."""
    rank, probability = 0, 0.0
    while (probability := probability + math.comb(count, rank) / 2**count) <= _TAIL:
        rank += 1
    return rank


@lru_cache(maxsize=256)
def _mann_whitney_rank(first: int, second: int) -> int:
    """The largest r with P(U < r) within the tail, U the Mann-Whitney statistic; else 0."""
    if min(first, second) > _EXACT_UP_TO:
        spread = math.sqrt(first * second * (first + second + 1) / 12)
        quantile = statistics.NormalDist().inv_cdf(1 - _TAIL)
        return max(0, math.floor(first * second / 2 - quantile * spread))
    total = math.comb(first + second, first)
    below = 0
    for rank, ways in enumerate(_ways(first, second)):
        below += ways
        if below > _TAIL * total:
            return rank
    raise AssertionError("the probabilities do not add up to one")


def _ways(first: int, second: int) -> list[int]:
    """In how many orders of the values U takes each value from 0 to first × second.

    They are the coefficients of the Gaussian binomial: Π (1 − q^(second+i)) / (1 − q^i).
    """
    small, large = sorted((first, second))
    size = first * second + 1
    ways = [1] + [0] * (size - 1)
    for factor in range(1, small + 1):
        for power in range(size - 1, large + factor - 1, -1):
            ways[power] -= ways[power - large - factor]
        for power in range(factor, size):
            ways[power] += ways[power - factor]
    return ways
