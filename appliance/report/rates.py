"""Samples over time, made into as many points as a chart can show. Pure.

A chart with a pixel a second would hide what it draws over. So samples that fall into one
step become its mean, and the lowest and the highest of them are kept beside it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from appliance.report.page import Point, Rate, Series

Value = Callable[[Rate], float]

_STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
# Fewer missing samples than this are no gap: the sampler may wake late.
_GAP = 2.5


def sample_seconds(rates: Sequence[Rate]) -> float:
    """What one sample stands for: the median of their lengths, 1 without any."""
    return statistics.median(rate.seconds for rate in rates) if rates else 1.0


def step_seconds(span_s: float, sample_s: float, most: int) -> float:
    """The shortest round step with which ``span_s`` has at most ``most`` points."""
    wanted = max(sample_s, span_s / most)
    if wanted <= sample_s * 1.01:
        return sample_s
    return float(next((step for step in _STEPS if step >= wanted), math.ceil(wanted / 3600) * 3600))


def series(
    name: str,
    rates: Sequence[Rate],
    value: Value,
    *,
    origin: float,
    step_s: float,
) -> Series:
    """``rates`` of one device, in order of time, as points every ``step_s`` from ``origin``.

    A point lies in the middle of what it stands for.
    """
    steps: dict[int, list[Rate]] = {}
    for rate in rates:
        middle = rate.at + rate.seconds / 2 - origin
        # A history from elsewhere may hold anything; what is no rate is no sample.
        if math.isfinite(value(rate)) and math.isfinite(middle):
            steps.setdefault(int(middle // step_s), []).append(rate)
    segments: list[list[Point]] = []
    before: float | None = None
    for index in sorted(steps):
        inside = steps[index]
        values = [value(rate) for rate in inside]
        at_s = (
            statistics.fmean(rate.at + rate.seconds / 2 for rate in inside) - origin
            if len(inside) > 1
            else inside[0].at + inside[0].seconds / 2 - origin
        )
        gap = max(step_s, inside[0].seconds) * _GAP
        if before is None or at_s - before > gap:
            segments.append([])
        segments[-1].append(Point(at_s, statistics.fmean(values), min(values), max(values)))
        before = at_s
    return Series(name, tuple(tuple(segment) for segment in segments))


def read_rate(rate: Rate) -> float:
    return rate.read_bytes_per_s


def write_rate(rate: Rate) -> float:
    return rate.write_bytes_per_s


def both_rates(rate: Rate) -> float:
    return rate.read_bytes_per_s + rate.write_bytes_per_s
