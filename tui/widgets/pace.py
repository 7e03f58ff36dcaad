"""How fast a volume was in the last minutes: charts, and the same numbers as a table.

The time axis stands still and jumps every few seconds: otherwise each second would move every
cell of every chart, which is unreadable and costs SSH traffic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rich.cells import cell_len
from textual.content import Content

from appliance.text import bandwidth, count
from tui import marks
from tui.charts.axes import Axis, Unit
from tui.charts.canvas import spelt
from tui.charts.line import Series, legend, line_chart
from tui.charts.markers import Marker
from tui.charts.table import Table, table_of
from tui.snapshot import TREND_SECONDS, Snapshot, TrendPoint
from tui.widgets.panel import Line, View, cell, clean, milliseconds, section

# From this width on await has room beside the others.
WIDE_CELLS = 110
_STEP_SECONDS = 15.0
# Less than a dot of a terminal of 80 columns; a chart takes more time than all else of a screen.
_DRAWN_EVERY_SECONDS = 2.0
# A silent feed is a gap; a late second is not.
_GAP_SECONDS = 3.5
_GAP = 2
_ROW_SECONDS = 10.0
# A chart of fewer lines than this, with its heading, shows nothing.
_LEAST_ROWS = 3
_TIME_CELLS = len("14:13:20Z")
_READ, _WRITE, _AWAIT = "$primary", "$secondary", "$accent"

_Value = Callable[[TrendPoint], float | None]


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    value: _Value
    style: str


@dataclass(frozen=True, slots=True)
class _Chart:
    name: str
    unit: Unit
    lines: tuple[_Line, ...]


def _await_ns(point: TrendPoint) -> float | None:
    """At an idle volume nothing waits."""
    return point.await_ms * 1e6 if point.read_iops + point.write_iops else None


_READ_BYTES = _Line("read", lambda point: point.read_bytes_per_s, _READ)
_WRITE_BYTES = _Line("write", lambda point: point.write_bytes_per_s, _WRITE)
_READ_IOPS = _Line("read", lambda point: point.read_iops, _READ)
_WRITE_IOPS = _Line("write", lambda point: point.write_iops, _WRITE)
_AWAITED = _Line("await", _await_ns, _AWAIT)
_AWAIT_CHART = _Chart("AWAIT", Unit.LATENCY, (_AWAITED,))
_STACK = (
    _Chart("THROUGHPUT", Unit.BANDWIDTH, (_READ_BYTES, _WRITE_BYTES)),
    _Chart("IOPS", Unit.COUNT, (_READ_IOPS, _WRITE_IOPS)),
    _AWAIT_CHART,
)


class Shown(Enum):
    """What narrow screens have charts of; wide ones add await, or show all."""

    THROUGHPUT = (
        _Chart("READ", Unit.BANDWIDTH, (_READ_BYTES,)),
        _Chart("WRITE", Unit.BANDWIDTH, (_WRITE_BYTES,)),
    )
    IOPS = (
        _Chart("IOPS READ", Unit.COUNT, (_READ_IOPS,)),
        _Chart("IOPS WRITE", Unit.COUNT, (_WRITE_IOPS,)),
    )
    AWAIT = (_AWAIT_CHART,)

    @property
    def next(self) -> Shown:
        order = list(Shown)
        return order[(order.index(self) + 1) % len(order)]


@dataclass(frozen=True, slots=True)
class Pace:
    """What is to be drawn: one volume's last minutes. ``several``: there are other volumes."""

    volume: str
    points: tuple[TrendPoint, ...]
    several: bool = False


def pace_of(snapshot: Snapshot | None, number: int) -> Pace | None:
    """The ``number``-th volume that has live figures (counted round), if there is any."""
    volumes = [] if snapshot is None else snapshot.live_volumes
    if snapshot is None or not volumes:
        return None
    volume = volumes[number % len(volumes)]
    return Pace(volume, snapshot.trend_of(volume), several=len(volumes) > 1)


def settled(pace: Pace, view: View) -> tuple[Pace, float]:
    """What there is to draw at ``view``, and the end of the axis (seconds since the epoch).

    Both are the same as before for some seconds, and so is the chart of them.
    """
    end, offset = _axis_end(view), _offset(view)
    until = view.wall // _DRAWN_EVERY_SECONDS * _DRAWN_EVERY_SECONDS - offset
    # What the axis has left behind goes one by one, and is not drawn.
    begin = end - TREND_SECONDS - offset
    points = tuple(point for point in pace.points if begin <= point.at <= until)
    return replace(pace, points=points), end


def beside(
    pace: Pace, view: View, width: int, rows: int, *, shown: Shown, marker: Marker
) -> list[Line]:
    """Charts side by side in ``rows`` lines, their headings among them."""
    charts = list(shown.value)
    if width >= WIDE_CELLS and shown is not Shown.AWAIT:
        charts.append(_AWAIT_CHART)
    each = (width - _GAP * (len(charts) - 1)) // len(charts)
    drawn = [_drawn(chart, pace, view, each, rows, marker=marker) for chart in charts]
    gap = Content(" " * _GAP)
    return [gap.join(one) for one in zip(*drawn, strict=True)]


def stacked(pace: Pace, view: View, width: int, rows: int, *, marker: Marker) -> list[Line]:
    """Throughput, IOPS and await below each other in exactly ``rows`` lines, if that is enough."""
    lines: list[Line] = []
    for number, chart in enumerate(_STACK):
        room = (rows - len(lines)) // (len(_STACK) - number)
        lines += _drawn(chart, pace, view, width, room, marker=marker)
    return lines


def numbers(pace: Pace, view: View) -> Table:
    """Means of some seconds each, of everything that the charts can show."""
    tables = []
    for chart in _STACK:
        of = f"{chart.name} " if chart.unit is Unit.COUNT else ""
        series = [
            Series(f"{of}{line.name}", _means(pace, view, line.value)) for line in chart.lines
        ]
        tables.append(table_of(series, x=Axis(Unit.CALENDAR), y=Axis(chart.unit)))
    header = (tables[0].header[0], *(name for one in tables for name in one.header[1:]))
    # All of one day, or of two: the time is enough.
    rows = (
        (parts[0][0][-_TIME_CELLS:], *(text for part in parts for text in part[1:]))
        for parts in zip(*(one.rows for one in tables), strict=True)
    )
    return Table(header, tuple(rows))


def table_text(table: Table, view: View) -> Content:
    """``table`` in columns, latest first."""
    widths = [
        max(len(row[number]) for row in (table.header, *table.rows))
        for number in range(len(table.header))
    ]

    marker = Marker.usual(view.glyphs)

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            cell(spelt(text, marker), width, view.glyphs, right=number > 0)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        )

    lines = [Content.styled(line(table.header), marks.MUTED)]
    return Content("\n").join(lines + [Content(line(row)) for row in reversed(table.rows)])


def _means(pace: Pace, view: View, value: _Value) -> list[tuple[float, float | None]]:
    """Of each span of the wall clock, the mean of what is known; named after its end."""
    spans: dict[float, list[float]] = {}
    for point in pace.points:
        at = math.ceil((point.at + _offset(view)) / _ROW_SECONDS) * _ROW_SECONDS
        known = value(point)
        spans.setdefault(at, []).extend([] if known is None else [known])
    return [(at, sum(each) / len(each) if each else None) for at, each in sorted(spans.items())]


def _offset(view: View) -> float:
    """From the feed's clock to seconds since the epoch."""
    return view.wall - view.now


def _axis_end(view: View) -> float:
    return math.ceil(view.wall / _STEP_SECONDS) * _STEP_SECONDS


def _drawn(
    chart: _Chart, pace: Pace, view: View, width: int, rows: int, *, marker: Marker
) -> list[Line]:
    if rows < _LEAST_ROWS:
        return [Content(" " * max(0, width))] * max(0, rows)
    offset = _offset(view)
    end = _axis_end(view)
    series = [
        Series(
            line.name,
            # A feed that was silent for long has older ones, too.
            [
                (point.at + offset, line.value(point))
                for point in pace.points
                if point.at + offset >= end - TREND_SECONDS
            ],
            style=marks.MUTED if view.live_is_stale else line.style,
            gap=_GAP_SECONDS,
            filled=len(chart.lines) == 1,
        )
        for line in chart.lines
    ]
    lines = line_chart(
        series,
        width=width,
        height=rows - 1,
        marker=marker,
        x=Axis(Unit.CALENDAR, low=end - TREND_SECONDS, high=end),
        y=Axis(chart.unit),
    )
    return [_heading(chart, pace, series, view, width, marker=marker), *lines]


def _heading(
    chart: _Chart,
    pace: Pace,
    series: Sequence[Series],
    view: View,
    width: int,
    *,
    marker: Marker,
) -> Line:
    """What it is, and the highest value of the last minutes."""
    peak = max((value for one in series for _, value in one.points if value), default=0.0)
    words = f"peak {_figure(chart.unit, peak, view)}" if peak else "none"
    note = Content.styled(words, marks.MUTED)
    if len(series) > 1:
        samples = legend(series, width=24, marker=marker).rstrip()
        note = Content.assemble(samples, "  ", note)
    title = f"{chart.name} {clean(pace.volume)}" if pace.several else chart.name
    since = f", last {TREND_SECONDS // 60} min"
    room = max(1, width - note.cell_length - 3)
    if cell_len(title + since) <= room:
        title += since
    title = cell(title, min(cell_len(title), room), view.glyphs)
    return section(title, note, width, view.glyphs)


def _figure(unit: Unit, value: float, view: View) -> str:
    if unit is Unit.LATENCY:
        return milliseconds(value / 1e6, view.glyphs)
    return bandwidth(value) if unit is Unit.BANDWIDTH else count(value)
