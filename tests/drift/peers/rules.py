"""The two rules that people write themselves, as online methods. Standard library only."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Sequence

_RUNS = 30


def sigma_rule(values: Sequence[float], *, sigmas: float) -> list[tuple[int, int]]:
    """Alarm when a value is more than ``sigmas`` deviations off the mean of the last 30 runs.

    In favour of the rule, a stretch of values that are off is one alarm, not one each.
    """
    last: deque[float] = deque(maxlen=_RUNS)
    found: list[tuple[int, int]] = []
    inside = True
    for slot, value in enumerate(values):
        if len(last) == _RUNS:
            mean, deviation = _spread(last)
            off = abs(value - mean) > sigmas * deviation
            if off and inside:
                found.append((slot, slot))
            inside = not off
        last.append(value)
    return found


def cusum(values: Sequence[float], *, k: float, h: float) -> list[tuple[int, int]]:
    """Two-sided CUSUM (Page 1954) on mean and deviation of 30 runs; learns 30 anew after an alarm.

    The change is dated where the statistic last left zero.
    """
    found: list[tuple[int, int]] = []
    learnt: list[float] = []
    mean = deviation = up = down = 0.0
    up_from = down_from = 0
    for slot, value in enumerate(values):
        if len(learnt) < _RUNS:
            learnt.append(value)
            if len(learnt) == _RUNS:
                mean, deviation = _spread(learnt)
                up = down = 0.0
                up_from = down_from = slot + 1
            continue
        off = (value - mean) / deviation
        up, down = max(0.0, up + off - k), max(0.0, down - off - k)
        up_from = up_from if up > 0 else slot + 1
        down_from = down_from if down > 0 else slot + 1
        if max(up, down) > h:
            found.append((slot, up_from if up > down else down_from))
            learnt = [value]
    return found


def _spread(values: Collection[float]) -> tuple[float, float]:
    """Mean and standard deviation."""
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
