"""The last minutes as small charts side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.content import Content

from appliance.text import bandwidth, count
from tui import marks
from tui.charts.area import area, columns, scale
from tui.marks import Glyphs
from tui.snapshot import TREND_SECONDS, TrendPoint
from tui.widgets.panel import Line, View, milliseconds, section

_GAP = 2
# From this width on a chart's heading also says what its full height stands for.
_SCALE_CELLS = 48


@dataclass(frozen=True, slots=True)
class _Series:
    name: str
    value: Callable[[TrendPoint], float]
    show: Callable[[float, Glyphs], str]
    binary: bool
    style: str


def _bandwidth(value: float, _: Glyphs) -> str:
    return bandwidth(value)


def _count(value: float, _: Glyphs) -> str:
    return count(value)


_THROUGHPUT = (
    _Series("READ", lambda point: point.read_bytes_per_s, _bandwidth, True, "$primary 75%"),
    _Series("WRITE", lambda point: point.write_bytes_per_s, _bandwidth, True, "$secondary 75%"),
)
_OPERATIONS = (
    _Series("IOPS READ", lambda point: point.read_iops, _count, False, "$primary 75%"),
    _Series("IOPS WRITE", lambda point: point.write_iops, _count, False, "$secondary 75%"),
)
_AWAIT = _Series("AWAIT", lambda point: point.await_ms, milliseconds, False, "$accent 75%")
WIDE_CELLS = 110


def trend_lines(view: View, width: int, rows: int, *, operations: bool) -> list[Line]:
    """Charts of ``rows`` lines side by side: throughput or IOPS, and await if there is room.

    The first line of each is its heading, with the highest value of the last minutes.
    """
    snapshot = view.snapshot
    if snapshot is None or not snapshot.live or rows < 2:
        return []
    series = list(_OPERATIONS if operations else _THROUGHPUT)
    if width >= WIDE_CELLS:
        series.append(_AWAIT)
    each = (width - _GAP * (len(series) - 1)) // len(series)
    charts = [_chart(one, snapshot.trend, view, each, rows) for one in series]
    gap = Content(" " * _GAP)
    return [gap.join([chart[row] for chart in charts]) for row in range(rows)]


def _chart(
    series: _Series, points: tuple[TrendPoint, ...], view: View, width: int, rows: int
) -> list[Line]:
    values = [(point.at, series.value(point)) for point in points]
    spans = columns(values, now=view.now, seconds=TREND_SECONDS, width=width)
    top = scale(
        max((span for span in spans if span is not None), default=0.0), binary=series.binary
    )
    style = marks.MUTED if view.live_is_stale else series.style
    peak = max((value for _, value in values), default=0.0)
    words = f"peak {series.show(peak, view.glyphs)}" if peak else "none"
    if peak and width >= _SCALE_CELLS:
        words += f" of {series.show(top, view.glyphs)}"
    heading = section(
        f"{series.name}, last {TREND_SECONDS // 60} min",
        Content.styled(words, marks.MUTED),
        width,
        view.glyphs,
    )
    chart = area(spans, height=rows - 1, top=top, bars=view.glyphs.bars)
    return [heading, *(Content.styled(row, style) for row in chart)]
