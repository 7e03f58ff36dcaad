"""The numbers of a chart as a table, for who cannot see charts or wants the figure. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from appliance.text import bandwidth, count, latency, moment, size
from tui.charts.axes import Unit
from tui.charts.bars import MemberBar, amount
from tui.charts.canvas import clean, fit, spelt
from tui.charts.histogram import Percentile
from tui.charts.line import Band, Chart
from tui.charts.markers import Marker
from tui.marks import MUTED, Glyphs


@dataclass(frozen=True, slots=True)
class Table:
    """Texts only; every row has as many as ``header``."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lines(self, glyphs: Glyphs) -> list[Content]:
        """In columns: figures to the right, the first and what is said in words to the left."""
        marker, lines = Marker.usual(glyphs), []
        rows = [tuple(spelt(text, marker) for text in row) for row in (self.header, *self.rows)]
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        for number, row in enumerate(rows):
            cells = [
                fit(text, width, marker, right=name not in {self.header[0], "what"})
                for text, width, name in zip(row, widths, self.header, strict=True)
            ]
            lines.append(Content.styled("  ".join(cells).rstrip(), "" if number else MUTED))
        return lines


def table_of(chart: Chart) -> Table:
    """One row for each x of a line chart, the latest first if that is a time; a gap is ``-``.

    The last column, if anything is in it, has in words what the chart shows beside its lines:
    rules, marks, and where a value is outside the band that holds there.
    """
    series, x, y = chart.series, chart.x, chart.y
    end = max((at for one in series for at, _ in one.points), default=0.0)
    end = end if x.high is None else x.high
    values: dict[float, list[float | None]] = {}
    notes: dict[float, list[str]] = {}
    for number, one in enumerate(series):
        for at, value in one.points:
            values.setdefault(at, [None] * len(series))[number] = value
    for rule in chart.rules:
        notes.setdefault(rule.at, []).append(clean(rule.label) or "rule")
    for mark in chart.marks:
        notes.setdefault(mark.at, []).append(f"{clean(mark.glyph)} {clean(mark.label)}".strip())
    for at, row in values.items():
        outside = _outside(at, row[0], chart.bands)
        if outside:
            notes.setdefault(at, []).append(outside)
    header = (_NAME_OF_X.get(x.unit, "number"), *(clean(one.name) for one in series))
    rows = [
        (
            position(x.unit, at, end),
            *(figure(y.unit, value) for value in values.get(at, [None] * len(series))),
            *(("; ".join(notes.get(at, [])),) if notes else ()),
        )
        for at in sorted({*values, *notes}, reverse=x.unit in _NAME_OF_X)
    ]
    return Table((*header, "what") if notes else header, tuple(rows))


def table_of_bins(bins: Mapping[int, int], percentiles: Sequence[Percentile] = ()) -> Table:
    """A histogram: latency, I/Os, per cent, and per cent up to there; percentiles in words."""
    total = sum(bins.values()) or 1
    rows: list[tuple[float, tuple[str, ...]]] = []
    so_far = 0
    for ns, number in sorted(bins.items()):
        so_far += number
        cells = (latency(ns), str(number), _percent(number / total), _percent(so_far / total), "")
        rows.append((ns, cells))
    rows += [
        (one.value_ns, (latency(one.value_ns), "", "", "", clean(one.label))) for one in percentiles
    ]
    return Table(
        ("latency", "I/Os", "share", "up to here", "what"),
        tuple(cells for _, cells in sorted(rows, key=lambda row: row[0])),
    )


def table_of_members(members: Sequence[MemberBar], *, unit: Unit, what: str = "amount") -> Table:
    """One row a member."""
    total = sum(one.amount for one in members if one.amount > 0)
    return Table(
        ("member", clean(what), "share", "await", "what"),
        tuple(
            (
                clean(one.name),
                amount(unit, one.amount),
                f"{100 * one.amount / total:.1f} %" if total > 0 else "-",
                "-" if one.await_ns is None else latency(one.await_ns),
                clean(one.note),
            )
            for one in members
        ),
    )


def figure(unit: Unit, value: float | None) -> str:
    """A value with its unit and as many digits as elsewhere; ``-`` for none."""
    if value is None or not math.isfinite(value):
        return "-"
    if unit is Unit.PERCENT:
        return f"{value:.1f} %"
    known = {Unit.COUNT: count, Unit.SIZE: size, Unit.BANDWIDTH: bandwidth, Unit.LATENCY: latency}
    return known[unit](value) if unit in known else f"{value:g}"


_NAME_OF_X = {Unit.AGO: "time", Unit.ELAPSED: "time", Unit.CALENDAR: "time (UTC)"}


def position(unit: Unit, at: float, end: float) -> str:
    """Where a row is on the axis of x: a time, or a number."""
    if not math.isfinite(at):
        return "-"
    if unit is Unit.CALENDAR:
        return moment(at)
    if unit is Unit.AGO:
        return f"{at - end:.0f} s"
    return f"{at:.0f} s" if unit is Unit.ELAPSED else f"{at:g}"


def _outside(at: float, value: float | None, bands: Sequence[Band]) -> str:
    """Whether the first line leaves the band that holds at ``at``."""
    for band in bands:
        begins = band.begin is None or band.begin <= at
        if begins and (band.end is None or at < band.end) and value is not None:
            name = clean(band.label) or "band"
            return f"below {name}" if value < band.low else f"above {name}" * (value > band.high)
    return ""


def _percent(share: float) -> str:
    return f"{100 * share:.3f} %"
