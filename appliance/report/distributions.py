"""Charts of what repeats: latencies of each job, and each job over many runs. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from appliance import text
from appliance.model.slots import Slot
from appliance.report import svg
from appliance.report.markup import Markup
from appliance.report.page import Row, Trend

# What is marked of each latency distribution, and how.
MARKED = ((50.0, "p50", "dot"), (99.0, "p99", "diamond"), (99.9, "p99.9", "triangle"))
# More rows in one drawing would be cut at the end of a sheet of paper.
ROWS_PER_DRAWING = 8
TREND_WIDTH, TREND_HEIGHT, _TREND_LEFT = 272, 216, 52
_BINS_PER_DECADE = 24
_RIDGE = 26.0


def latency_drawings(rows: Sequence[Row], width: int) -> tuple[Markup, ...]:
    """Every row's latencies on one logarithmic scale, a few rows a drawing."""
    shown = [row for row in rows if row.percentiles or row.bins]
    if not shown:
        return ()
    edges = _edges(shown)
    return tuple(
        _latencies(shown[index : index + ROWS_PER_DRAWING], edges, width)
        for index in range(0, len(shown), ROWS_PER_DRAWING)
    )


def _edges(rows: Sequence[Row]) -> tuple[float, ...]:
    """Powers of ten around all but the last thousandth of every row's I/Os."""
    low, high = math.inf, 0.0
    for row in rows:
        known = [ns for percent, ns in row.percentiles if percent <= 99.9 and ns > 0]
        known += [ns for ns, _ in _most(row.bins) if ns > 0]
        if known:
            low, high = min(low, *known), max(high, *known)
    return svg.decades(low, high) if high else svg.decades(1e3, 1e6)


def _most(bins: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """``bins`` without the last thousandth of the I/Os: one outlier must not set the scale."""
    total, seen, kept = sum(count for _, count in bins), 0, []
    for ns, count in bins:
        if seen > total * 0.999:
            break
        kept.append((ns, count))
        seen += count
    return kept


def _latencies(rows: Sequence[Row], edges: Sequence[float], width: int) -> Markup:
    wide = width == svg.WIDE
    x = svg.LogScale(edges[0], edges[-1], 14, width - 14)
    row_px = 72 if wide else 90
    bottom = row_px * len(rows) + 4
    parts: list[Markup] = []
    for edge in edges:
        parts.append(svg.line(x(edge), 4, x(edge), bottom, "grid"))
        anchor = "start" if edge == edges[0] else "end" if edge == edges[-1] else "middle"
        at = x(edge) + {"start": -8, "end": 10}.get(anchor, 0)
        parts.append(svg.label(at, bottom + 16, _tick(edge), anchor=anchor, kind="t axis"))
    for index, row in enumerate(rows):
        parts += _latency_row(row, x, index * row_px, wide=wide, width=width)
    return svg.drawing(
        width,
        bottom + 22,
        "Latency of each job",
        "Logarithmic scale. The hill is the share of the I/Os, the marks are percentiles; "
        "the table of results has the figures.",
        *parts,
        kind="wide" if wide else "narrow",
    )


def _latency_row(row: Row, x: svg.LogScale, top: float, *, wide: bool, width: int) -> list[Markup]:
    named = row.label + ("" if row.valid else ", invalid")
    values = [
        (name, shape, ns)
        for percent, name, shape in MARKED
        if (ns := row.percentile_ns(percent)) is not None
    ]
    room = width - 8 - (126 * len(values) if wide else 0)
    if svg.width_of(f"{named}, {row.asked}", bold=True) <= room:
        named += f", {row.asked}"
    parts = [svg.label(4, top + 16, svg.fitting(named, room, bold=True), kind="t job")]
    at = width - 4.0 - 126 * len(values) if wide else 4.0
    y = top + (16 if wide else 34)
    gap = 126 if wide else 112
    for name, shape, ns in values:
        parts.append(svg.mark(shape, at + 5, y - 4, "mark"))
        kind = "t" if row.valid else "t struck"
        parts.append(svg.label(at + 14, y, f"{name} {text.latency(ns)}", kind=kind))
        at += gap
    floor = top + (54 if wide else 72)
    parts += _ridge(row, x, floor)
    first = row.percentile_ns(1.0) or (row.percentiles[0][1] if row.percentiles else None)
    if first and values:
        parts.append(svg.line(x(first), floor + 8, x(values[-1][2]), floor + 8, "stem"))
    for _, shape, ns in values:
        parts.append(svg.mark(shape, x(ns), floor + 8, "mark"))
    return parts


def _ridge(row: Row, x: svg.LogScale, floor: float) -> list[Markup]:
    """The share of the I/Os for each twenty-fourth of a decade, as a hill."""
    shares: dict[int, int] = {}
    for ns, count in row.bins:
        if ns > 0:
            index = math.floor(math.log10(ns) * _BINS_PER_DECADE)
            shares[index] = shares.get(index, 0) + count
    if not shares:
        return []
    highest = max(shares.values())
    outline = []
    for index in range(min(shares), max(shares) + 1):
        height = _RIDGE * shares.get(index, 0) / highest
        for edge in (index, index + 1):
            outline.append((x(10 ** (edge / _BINS_PER_DECADE)), floor - height))
    outline = [(outline[0][0], floor), *outline, (outline[-1][0], floor)]
    kind = "hill" if row.valid else "hill invalid"
    return [svg.path(outline, kind, closed=True)]


def _tick(ns: float) -> str:
    if ns < 1e3:
        return f"{ns:g} ns"
    if ns < 1e6:
        return f"{ns / 1e3:g} µs"
    return f"{ns / 1e6:g} ms" if ns < 1e9 else f"{ns / 1e9:g} s"


def trend_drawing(trend: Trend) -> Markup:
    """One job over its runs: IOPS from zero above, and the change against the median below.

    The one shows how much there is, the other shows a change of a percent.
    """
    points = trend.points
    x = svg.Scale(len(points) - 1, _TREND_LEFT + 6, TREND_WIDTH - 16)
    parts = [
        svg.label(2, 14, svg.fitting(trend.label, TREND_WIDTH - 4, bold=True), kind="t job"),
        *_amounts(trend, x, top=40, bottom=104),
        *_changes(trend, x, top=126, bottom=TREND_HEIGHT - 24),
    ]
    for point, at, anchor in (
        (points[0], _TREND_LEFT, "start"),
        (points[-1], TREND_WIDTH - 10, "end"),
    ):
        words = f"run {point.run_id}"
        parts.append(svg.label(at, TREND_HEIGHT - 6, words, anchor=anchor, kind="t axis"))
    invalid = sum(not point.valid for point in points)
    return svg.drawing(
        TREND_WIDTH,
        TREND_HEIGHT,
        f"{trend.label} over {len(points)} runs",
        f"IOPS from run {points[0].run_id} to run {points[-1].run_id}, the last is this one"
        + (f"; {invalid} invalid, crossed" if invalid else "")
        + ". The table below has the figures.",
        *parts,
    )


def _amounts(trend: Trend, x: svg.Scale, *, top: float, bottom: float) -> list[Markup]:
    ticks = svg.round_ticks(max(point.value for point in trend.points), 2)
    y = svg.Scale(ticks[-1], bottom, top)
    parts = [svg.label(2, top - 10, "IOPS", kind="t axis")]
    for tick in ticks:
        parts += _level(y(tick), _count(tick), "grid" if tick else "zero")
    marks = [(point, x(index), y(point.value)) for index, point in enumerate(trend.points)]
    return parts + [_run_mark(one, at, height, trend) for one, at, height in marks]


def _changes(trend: Trend, x: svg.Scale, *, top: float, bottom: float) -> list[Markup]:
    """Percent of change against the median of the runs before, the normal interval shaded."""
    normal = trend.baseline.normal
    known = [point.value for point in trend.points[:-1] if point.valid]
    median = (normal.median if normal else 0.0) or (statistics.median(known) if known else 0.0)
    if not median:
        return []
    changes = [100 * (point.value / median - 1) for point in trend.points]
    valid = [
        abs(change) for change, point in zip(changes, trend.points, strict=True) if point.valid
    ]
    edge = svg.round_ticks(max([1.0, *valid]), 1)[-1]
    middle = (top + bottom) / 2

    def y(percent: float) -> float:
        # An invalid result may be anywhere: it is put on the edge.
        return middle - (bottom - middle) * max(-1.0, min(1.0, percent / edge))

    parts = [svg.label(2, top - 8, "against the median", kind="t axis")]
    if normal is not None:
        high, low = (y(100 * (one / median - 1)) for one in (normal.high, normal.low))
        parts.append(
            svg.rect(_TREND_LEFT, high, TREND_WIDTH - 10 - _TREND_LEFT, low - high, "normal")
        )
    for percent in (edge, 0.0, -edge):
        words = f"{percent:+g} %" if percent else "0"
        parts += _level(y(percent), words, "median" if percent == 0 else "grid")
    marks = zip(trend.points, changes, strict=True)
    return parts + [
        _run_mark(point, x(index), y(change), trend) for index, (point, change) in enumerate(marks)
    ]


def _level(y: float, words: str, kind: str) -> list[Markup]:
    return [
        svg.line(_TREND_LEFT, y, TREND_WIDTH - 10, y, kind),
        svg.label(_TREND_LEFT - 6, y + 4, words, anchor="end", kind="t axis"),
    ]


def _run_mark(point: Slot, x: float, y: float, trend: Trend) -> Markup:
    is_this = point is trend.points[-1]
    if not point.valid:
        return svg.mark("cross", x, y, "crossed", 4.5 if is_this else 3)
    return svg.mark("dot", x, y, "now" if is_this else "dot", 4.5 if is_this else 2.5)


def _count(value: float) -> str:
    """A tick in thousands or millions: ``1.5M``, ``200k``."""
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"
