"""Apache Otava and ruptures, which segment a finished series, used as one would use them online.

After every run the last 120 values are segmented. A change point raises an alarm when it is more
than ten slots away from every one that was reported before: an estimate that wanders a little is
in their favour not counted as another. They start at the 13th value, where ours does.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence

import numpy as np
import ruptures
from otava.analysis import compute_change_points

_FIRST = 12
_WINDOW = 120
_SAME = 10

Segmenter = Callable[[Sequence[float]], list[int]]


def online(
    values: Sequence[float], segment: Segmenter, first: int, after: int = 1
) -> list[tuple[int, int]]:
    """``after``: so many values a change point must have behind it to be believed."""
    found: list[tuple[int, int]] = []
    for slot in range(first, len(values)):
        begin = max(0, slot + 1 - _WINDOW)
        for index in segment(values[begin : slot + 1]):
            change = begin + index
            known = any(abs(change - date) <= _SAME for _, date in found)
            if slot + 1 - change >= after and not known:
                found.append((slot, change))
    return found


def otava(
    values: Sequence[float], *, pvalue: float, magnitude: float, after: int
) -> list[tuple[int, int]]:
    """``otava.analysis.compute_change_points``: e-divisive in windows of 50, Student's t-test."""

    def segment(window: Sequence[float]) -> list[int]:
        kept, _ = compute_change_points(
            list(window), window_len=50, max_pvalue=pvalue, min_magnitude=magnitude
        )
        return [int(change.index) for change in kept]

    return online(values, segment, _FIRST, after)


def ruptures_l2(values: Sequence[float], *, factor: float, least: int) -> list[tuple[int, int]]:
    """PELT with the l2 cost (``KernelCPD(kernel="linear")``, the exact one in C, no jump).

    Penalty: ``factor`` × BIC's 2 σ² ln n. σ is taken from the differences of neighbouring values
    (median absolute, ÷ 0.954), so that a step does not widen it. ``least``: shortest segment.
    """

    def segment(window: Sequence[float]) -> list[int]:
        steps = [abs(b - a) for a, b in itertools.pairwise(window)]
        variance = (statistics.median(steps) / 0.954) ** 2
        penalty = factor * 2 * variance * math.log(len(window))
        return _kernel("linear", least, window, penalty)

    return online(values, segment, _FIRST)


def ruptures_rbf(values: Sequence[float], *, factor: float, least: int) -> list[tuple[int, int]]:
    """PELT with the rbf kernel (its own median heuristic); penalty ``factor`` × ln n."""

    def segment(window: Sequence[float]) -> list[int]:
        return _kernel("rbf", least, window, factor * math.log(len(window)))

    return online(values, segment, _FIRST)


def _kernel(kernel: str, least: int, window: Sequence[float], penalty: float) -> list[int]:
    if penalty <= 0:
        return []
    cut = ruptures.KernelCPD(kernel=kernel, min_size=least).fit(np.array(window))
    return [int(index) for index in cut.predict(pen=penalty)[:-1]]
