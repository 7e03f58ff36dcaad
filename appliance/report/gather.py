"""A run of ours and what history knows around it, gathered into a report. Pure."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from appliance import text
from appliance.figures.stripe_delivery import efficiencies
from appliance.model import Detail, EpochRecord, JobResult, Mean, RunRecord, RunState
from appliance.report import machine_facts
from appliance.report.markup import clipped
from appliance.report.page import (
    NAME,
    Band,
    JobDetail,
    Point,
    ReportDocument,
    Row,
    Series,
    Timeline,
    Tone,
)
from appliance.report.result_rows import Normals, member_shares, result_rows, trends

# As many points as the charts have room for.
TIMELINE_POINTS = 240
DETAIL_POINTS = 90


@dataclass(frozen=True, slots=True)
class Material:
    """What history knows of a run.

    ``rates`` are the samples in order of time, ``ended_at`` says for each of ``results`` when
    it was written (empty: not known), ``others`` are the other runs of this suite on
    this target, oldest first. ``host`` is empty where the history does not name it. ``normals``
    is what drift takes for normal in the run's epoch.
    """

    run: RunRecord
    results: tuple[JobResult, ...]
    epoch: EpochRecord | None = None
    host: str = ""
    rates: tuple[Mean, ...] = ()
    ended_at: tuple[float, ...] = ()
    others: tuple[Detail, ...] = ()
    normals: Normals = field(default_factory=dict)


def gather(material: Material, *, written_at: float, version: str) -> ReportDocument:
    """The report of a run. ``written_at`` is now, in seconds since the epoch."""
    run, results = material.run, material.results
    comparable = tuple(
        one
        for one in material.others
        if one.run.id < run.id
        and one.run.epoch_id == run.epoch_id
        and one.run.time_factor == run.time_factor
        and one.results
    )
    rows = result_rows(results, material.normals)
    bands = _bands(material, rows)
    tone, headline = _headline(run, rows)
    made = _timeline(material, bands)
    details = tuple(
        _detail(material, row, result, bands) for row, result in zip(rows, results, strict=True)
    )
    found = trends(rows, results, comparable, run=Detail(run, results))
    return ReportDocument(
        kind="run",
        title=f"{clipped(run.suite, NAME)}, run {run.id}",
        tone=tone,
        headline=headline,
        summary=machine_facts.summary(material.run, material.epoch),
        notes=_notes(material),
        facts=machine_facts.facts(material.run, material.epoch, material.host),
        rows=rows,
        gains=_gains(material),
        timeline=made,
        details=details,
        trends=found,
        history=_told(material),
        missing=_missing(material, made, details, has_trend=bool(found)),
        written_at=written_at,
        version=version,
    )


def _headline(run: RunRecord, rows: Sequence[Row]) -> tuple[Tone, str]:
    valid = sum(row.valid for row in rows)
    results = f"{len(rows)} result" + ("" if len(rows) == 1 else "s")
    done = len({row.number for row in rows})
    if run.state is RunState.SKIPPED:
        return Tone.CARE, "Skipped: nothing was measured"
    if run.state is RunState.RUNNING:
        return Tone.CARE, f"Still running: {done} of {run.job_count} jobs measured"
    if run.state in {RunState.ABORTED, RunState.FAILED}:
        word = "Aborted" if run.state is RunState.ABORTED else "Failed"
        if not rows:
            return Tone.BAD, f"{word} before anything was measured"
        return Tone.BAD, f"{word} after {done} of {run.job_count} jobs; {valid} of {results} valid"
    if not rows:
        return Tone.BAD, "Complete, and without any result"
    if valid == 0:
        return Tone.BAD, f"None of {results} can be believed" if len(rows) > 1 else (
            "The only result cannot be believed"
        )
    if valid < len(rows):
        return Tone.BAD, f"{len(rows) - valid} of {results} cannot be believed"
    if run.scaled:
        return Tone.CARE, f"{results}, none to be quoted: run times were scaled"
    if any(row.findings for row in rows):
        return Tone.CARE, f"{results}, all valid; read the findings"
    return Tone.GOOD, f"{results}, all valid"


def _notes(material: Material) -> tuple[str, ...]:
    run = material.run
    found = []
    if run.reason:
        found.append(f"The run {_ENDED.get(run.state, 'ended')}: {run.reason}")
    if run.scaled:
        found.append(f"The {run.scaled}.")
    found += run.notes
    later = [one.run for one in material.others if one.run.id > run.id]
    for one in later[-3:]:
        found.append(
            f"There is a later run {one.id}, {one.state.value}, {text.moment(one.started_at)}"
            + (f": {one.reason}" if one.reason else ".")
        )
    return tuple(found)


def _gains(material: Material) -> tuple[str, ...]:
    return tuple(
        f"{one.job}, {one.direction}: the stripe does {one.stripe_iops:,.0f} IOPS, its "
        f"{len(one.member_iops)} members alone {sum(one.member_iops.values()):,.0f} in sum: "
        f"{one.share * 100:.1f} %"
        for one in efficiencies(material.results, material.run.members)
    )


_ENDED = {
    RunState.SKIPPED: "was skipped",
    RunState.ABORTED: "was aborted",
    RunState.FAILED: "failed",
}


def _told(material: Material) -> tuple[str, ...]:
    """What became of the earlier runs, and why those that did not complete did not."""
    earlier = [one.run for one in material.others if one.run.id < material.run.id]
    if not earlier:
        return ()
    states = Counter(run.state for run in earlier)
    counted = ", ".join(f"{states[state]} {state.value}" for state in RunState if states.get(state))
    lines = [
        f"The last {'run' if len(earlier) == 1 else f'{len(earlier)} runs'} of this suite on this "
        "target before this one, since "
        f"{text.moment(earlier[0].started_at)}: {counted}."
    ]
    odd = [run for run in earlier if run.state is not RunState.COMPLETE]
    lines += [
        f"Run {run.id}, {text.moment(run.started_at)}, {run.state.value}"
        + (f": {run.reason}" if run.reason else "")
        for run in odd[-5:]
    ]
    if len(odd) > 5:
        lines.append(f"{len(odd) - 5} older ones that did not complete are not listed.")
    return tuple(lines)


def _missing(
    material: Material, timeline: Timeline | None, details: Sequence[JobDetail], *, has_trend: bool
) -> dict[str, str]:
    missing: dict[str, str] = {}
    if not material.run.device:
        why = "the block devices of the target are not known, so nothing was sampled"
        missing |= {"timeline": why, "members": why}
    if timeline is None:
        missing.setdefault("timeline", "no samples of this run are kept")
    if not any(detail.shares for detail in details):
        missing.setdefault("members", "there is one member, so nothing is to be compared")
    if not has_trend:
        missing["trend"] = (
            "there is no earlier run of this suite with these run times in these surroundings"
            if material.results
            else "this run measured nothing to compare"
        )
    return missing


def _bands(material: Material, rows: Sequence[Row]) -> tuple[Band, ...]:
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


def _timeline(material: Material, bands: tuple[Band, ...]) -> Timeline | None:
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


def _detail(material: Material, row: Row, result: JobResult, bands: Sequence[Band]) -> JobDetail:
    band = next((one for one in bands if one.number == row.number), None)
    # A member that was measured alone has nothing below it.
    members = () if result.member else material.run.members
    device = result.member or material.run.device
    whole = of_members = None
    if band is not None:
        begin = material.run.started_at + band.begin_s
        end = material.run.started_at + band.end_s
        inside = [rate for rate in material.rates if begin <= _middle(rate) <= end]
        value = write_rate if row.direction == "write" else read_rate
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


# -------------------------------------------------------------------------------- points over time


Value = Callable[[Mean], float]

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


def read_rate(rate: Mean) -> float:
    return rate.read_bytes_per_s


def write_rate(rate: Mean) -> float:
    return rate.write_bytes_per_s


def both_rates(rate: Mean) -> float:
    return rate.read_bytes_per_s + rate.write_bytes_per_s
