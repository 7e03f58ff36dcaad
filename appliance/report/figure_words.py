"""Figures of a report in words; the page and the Markdown say the same. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeGuard

from appliance import text
from appliance.bench.validity import rule_of
from appliance.bench.validity.rule import Rule
from appliance.drift.detection.normal import LEAST
from appliance.figures import quantities
from appliance.model.measurement import Finding, Severity
from appliance.report.markup import clipped
from appliance.report.page import (
    NAME,
    BesideNormal,
    JobDetail,
    Published,
    Row,
    Timeline,
    Tone,
    Trend,
)

UNKNOWN = "–"
PERCENTILES = (1.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99)


def iops(value: float | None) -> str:
    return f"{value:,.0f}" if _is_known(value) else UNKNOWN


def bandwidth(value: float | None) -> str:
    return text.bandwidth(value) if _is_known(value) else UNKNOWN


def latency(value: float | None) -> str:
    return text.latency(value) if _is_known(value) else UNKNOWN


def _is_known(value: float | None) -> TypeGuard[float]:
    """A number. A damaged history, or a broken fio, may hold anything."""
    return value is not None and math.isfinite(value)


def size(value: int | None) -> str:
    return UNKNOWN if value is None else text.size(value)


def coverage(row: Row) -> str:
    share = quantities.coverage(row.of)
    return UNKNOWN if share is None else f"{share * 100:.1f} %"


def percent(value: float) -> str:
    return f"{value:.1f} %" if abs(value) < 999.95 else f"{value:,.0f} %"


def verdict(row: Row) -> tuple[str, str, Tone]:
    """A glyph, a word and how it is meant; the codes are named beside it."""
    if not row.valid:
        return "✗", "invalid", Tone.BAD
    if any(finding.severity is Severity.WARN for finding in row.of.findings):
        return "!", "valid, see", Tone.CARE
    return "✓", "valid", Tone.GOOD


def codes(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Each code once, in the order of the findings."""
    return tuple(dict.fromkeys(clipped(finding.code, NAME) for finding in findings))


def advice(rows: Sequence[Row]) -> tuple[Rule, ...]:
    """The rules behind the findings, each once, in the order of the findings."""
    codes = dict.fromkeys(finding.code for row in rows for finding in row.of.findings)
    return tuple(rule for code in codes if (rule := rule_of(code)) is not None)


def members(detail: JobDetail) -> list[tuple[str, str, str, str]]:
    """What each member did: its name, bytes, I/Os and await."""
    return [
        (
            one.member,
            size(one.size_bytes),
            f"{one.ios:,}",
            latency(None if one.await_ms is None else one.await_ms * 1e6),
        )
        for one in detail.shares
    ]


def published(one: Published) -> str:
    """``99.9 % of 412,500 IOPS``; without a percentage the figure alone."""
    if one.percent is None:
        return f"{one.limit} {one.verb}"
    return f"{percent(one.percent)} of {one.limit}" + (
        " (corrected figure)" if one.corrected else ""
    )


def sources(rows: Sequence[Row]) -> tuple[str, ...]:
    """How the published figures come about and where they are from, each once."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for one in row.published:
            if one.basis or one.source:
                found.setdefault((one.limit, one.basis, one.source), []).append(str(row.number))
    lines = [
        f"{limit} (job {', '.join(dict.fromkeys(numbers))}): "
        + "; ".join(part for part in (basis, source and f"source: {source}") if part)
        for (limit, basis, source), numbers in found.items()
    ]
    if any(
        one.percent is None and one.verb == "published" for row in rows for one in row.published
    ):
        lines.append(
            "Where there is no percentage, the figure is published for another kind of job, or the "
            "result is not valid."
        )
    return tuple(lines)


def baseline(one: BesideNormal) -> tuple[str, str]:
    """In short, and what normal is (empty without a baseline)."""
    known = one.normal
    if known is None:
        return f"no baseline yet: {one.runs} of {LEAST} runs", ""
    normal = (
        f"median {iops(known.median)}; normal is "
        f"{iops(known.low)} to {iops(known.high)}; learned from {known.count} runs"
    )
    if one.change_percent is None:
        return "not compared", normal
    position = "normal" if one.position == "within" else f"{one.position} normal"
    return f"{one.change_percent:+.1f} %, {position}", normal


def trend(one: Trend) -> str:
    last = one.points[-1]
    this = f"This run: {iops(last.value)} IOPS" if last.valid else "This run is invalid"
    return "; ".join(part for part in (this, *baseline(one.baseline)) if part) + "."


def percentile_name(value: float) -> str:
    return f"p{value:g}"


def ranges(timeline: Timeline) -> list[tuple[str, str, str, str]]:
    """Mean, lowest and highest of each series: the chart as a table."""
    found = []
    for one in timeline.series:
        if points := one.points:
            mean = sum(point.mean for point in points) / len(points)
            low, high = min(point.low for point in points), max(point.high for point in points)
            found.append((one.name, bandwidth(mean), bandwidth(low), bandwidth(high)))
    return found


def phases(timeline: Timeline) -> list[tuple[str, ...]]:
    """Each job of the timeline with its place in time and its mean rates."""
    found = []
    for band in timeline.bands:
        rates = []
        for one in timeline.series:
            inside = [p.mean for p in one.points if band.begin_s <= p.at_s <= band.end_s]
            rates.append(bandwidth(sum(inside) / len(inside)) if inside else UNKNOWN)
        name = f"{band.number} {clipped(band.job, NAME)}"
        found.append((name, f"{band.begin_s:.0f} s", f"{band.end_s:.0f} s", *rates))
    return found


def sampled(timeline: Timeline) -> str:
    """What one point of the chart stands for."""
    each = f"Samples of {timeline.sample_s:g} s from the block layer's counters"
    if timeline.is_downsampled:
        each += (
            f"; each point is the mean of {timeline.step_s:g} s, the shade behind it reaches from "
            "the lowest to the highest sample"
        )
    return f"{each}."
