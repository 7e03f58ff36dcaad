"""A run over time: its jobs, its throughput, and each job's stripe and members. Pure.

A chart with a pixel a second would hide what it draws over. So samples that fall into one
step become its mean, and the lowest and the highest of them are kept beside it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from operator import attrgetter

from appliance.model.measurement import JobResult
from appliance.model.runs import Mean
from appliance.report.page import (
    Band,
    JobDetail,
    Material,
    Point,
    Row,
    Series,
    Timeline,
)
from appliance.report.result_rows import member_shares

# As many points as the charts have room for.
TIMELINE_POINTS = 240
DETAIL_POINTS = 90


def bands_of(material: Material, rows: Sequence[Row]) -> tuple[Band, ...]:
    """When each job ran: its result was written when it ended, and fio says how long it took."""
    if len(material.ended_at) != len(rows):
        return ()
    origin = material.run.started_at
    ends: dict[int, tuple[Row, float, float]] = {}
    for row, result, at in zip(rows, material.results, material.ended_at, strict=True):
        # The directions of one job are written one after the other: the first is nearest.
        if row.number not in ends:
            ends[row.number] = (row, at - origin - result.runtime_ms / 1000, at - origin)
    bands: list[Band] = []
    for number, (row, begin_s, end_s) in ends.items():
        floor = bands[-1].end_s if bands else 0.0
        if end_s > max(begin_s, floor):
            bands.append(Band(number, row.job, max(begin_s, floor), end_s))
    return tuple(bands)


def timeline(material: Material, bands: tuple[Band, ...]) -> Timeline | None:
    own = [rate for rate in material.rates if rate.device == material.run.device]
    if not own:
        return None
    origin = material.run.started_at
    end_s = max(_middle(own[-1]) + own[-1].seconds / 2 - origin, bands[-1].end_s if bands else 0.0)
    sample_s = sample_seconds(own)
    step_s = step_seconds(end_s, sample_s, TIMELINE_POINTS)
    made = tuple(
        series(name, own, value, origin=origin, step_s=step_s)
        for name, value in (("read", read_rate), ("write", write_rate))
    )
    if not all(one.points for one in made):
        return None
    return Timeline(made, bands, end_s, step_s, sample_s)


def detail(material: Material, row: Row, result: JobResult, bands: Sequence[Band]) -> JobDetail:
    band = next((one for one in bands if one.number == row.number), None)
    # A member that was measured alone has nothing below it.
    members = () if result.member else material.run.members
    device = result.member or material.run.device
    whole = of_members = None
    if band is not None:
        begin = material.run.started_at + band.begin_s
        end = material.run.started_at + band.end_s
        inside = [rate for rate in material.rates if begin <= _middle(rate) <= end]
        value = write_rate if row.of.direction == "write" else read_rate
        whole = _part(inside, (device,), begin, end, value)
        if len(members) > 1:
            of_members = _part(inside, members, begin, end, both_rates)
    by_device = {did.device: did for did in result.device_io}
    known = [by_device[member] for member in members if member in by_device]
    # Of a single disk there is nothing to compare.
    shares = member_shares(known, result.direction) if len(members) > 1 else ()
    return JobDetail(row, whole, of_members, shares)


def _part(
    inside: Sequence[Mean], devices: Sequence[str], begin: float, end: float, value: Value
) -> Timeline | None:
    sample_s = sample_seconds(inside)
    step_s = step_seconds(end - begin, sample_s, DETAIL_POINTS)
    made = tuple(
        series(device, own, value, origin=begin, step_s=step_s)
        for device in devices
        if (own := [rate for rate in inside if rate.device == device])
    )
    drawable = tuple(one for one in made if one.points)
    return Timeline(drawable, (), end - begin, step_s, sample_s) if drawable else None


Value = Callable[[Mean], float]
read_rate: Value = attrgetter("read_bytes_per_s")
write_rate: Value = attrgetter("write_bytes_per_s")

_STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
# Fewer missing samples than this are no gap: the sampler may wake late.
_GAP = 2.5


def _middle(rate: Mean) -> float:
    """Seconds since the epoch. History dates a sample by the whole second in which it was taken,
    at its end: half a second less is the middle of that uncertainty.
    """
    return rate.at - 0.5 + rate.seconds / 2


def sample_seconds(rates: Sequence[Mean]) -> float:
    """What one sample stands for: the median of their lengths, 1 without any."""
    return statistics.median(rate.seconds for rate in rates) if rates else 1.0


def step_seconds(span_s: float, sample_s: float, most: int) -> float:
    """The shortest round step with which ``span_s`` has at most ``most`` points."""
    wanted = max(sample_s, span_s / most)
    if wanted <= sample_s * 1.01:
        return sample_s
    return float(next((step for step in _STEPS if step >= wanted), math.ceil(wanted / 3600) * 3600))


def series(
    name: str, rates: Sequence[Mean], value: Value, *, origin: float, step_s: float
) -> Series:
    """``rates`` of one device, in order of time, as points every ``step_s`` from ``origin``.

    A point lies in the middle of what it stands for.
    """
    steps: dict[int, list[Mean]] = {}
    for rate in rates:
        middle = _middle(rate) - origin
        # A history from elsewhere may hold anything; what is no rate is no sample.
        if math.isfinite(value(rate)) and math.isfinite(middle):
            steps.setdefault(int(middle // step_s), []).append(rate)
    segments: list[list[Point]] = []
    before: float | None = None
    for index in sorted(steps):
        inside = steps[index]
        values = [value(rate) for rate in inside]
        at_s = statistics.fmean(map(_middle, inside)) - origin
        gap = max(step_s, inside[0].seconds) * _GAP
        if before is None or at_s - before > gap:
            segments.append([])
        segments[-1].append(Point(at_s, statistics.fmean(values), min(values), max(values)))
        before = at_s
    return Series(name, tuple(tuple(segment) for segment in segments))


def both_rates(rate: Mean) -> float:
    return rate.read_bytes_per_s + rate.write_bytes_per_s
