"""How fast a volume was in the last minutes: charts, and the same numbers as a table.

The time axis stands still and jumps every few seconds: otherwise each second would move every
cell of every chart, which is unreadable and costs SSH traffic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from textual.content import Content

from tui import marks
from tui.charts.axes import Axis, Unit
from tui.charts.line import Chart, Series
from tui.charts.markers import Marker
from tui.charts.table import Table, table_of
from tui.snapshot import TREND_SECONDS
from tui.tracks import Figure, Followed, points
from tui.widgets.live import Shown
from tui.widgets.panel import Line, View, cell, clean, section

_STEP_SECONDS = 15.0
# A silent feed is a gap; a late second is not.
_GAP_SECONDS = 3.5
_ROW_SECONDS = 10.0
_TIME_CELLS = len("14:13:20Z")
_LINES: dict[Shown, tuple[tuple[str, Figure, str], ...]] = {
    Shown.AWAIT: (("await", Figure.AWAIT_MS, "$accent"),),
    Shown.IOPS: (
        ("read", Figure.READ_IOPS, "$primary"),
        ("write", Figure.WRITE_IOPS, "$secondary"),
    ),
    Shown.THROUGHPUT: (
        ("read", Figure.READ_BYTES_PER_S, "$primary"),
        ("write", Figure.WRITE_BYTES_PER_S, "$secondary"),
    ),
}


def axis_end(view: View) -> float:
    """Where the charts end, in seconds since the epoch."""
    return math.ceil(view.wall / _STEP_SECONDS) * _STEP_SECONDS


def heading(view: View, volume: Followed, shown: Shown, width: int, *, several: bool) -> Line:
    """What the chart below it is of, and the highest value of the last minutes, this second among
    them. ``several``: there are other volumes.
    """
    peak = max((y for one in _series(view, volume, shown) for _, y in one.points if y), default=0.0)
    words = f"peak {shown.text(peak / shown.factor, view.glyphs)}" if peak else "idle"
    title = f"{shown.words.upper()} {clean(volume.label)}" if several else shown.words.upper()
    room = max(1, width - len(words) - 3)
    note = Content.styled(words, marks.MUTED)
    return section(cell(title, min(len(title), room), view.glyphs), note, width, view.glyphs)


def chart_lines(
    view: View, volume: Followed, shown: Shown, width: int, rows: int, *, marker: Marker
) -> list[Line]:
    """The chart in ``rows`` lines, a legend among them where reads and writes are drawn."""
    series = [one for one in _series(view, volume, shown) if any(y for _, y in one.points)]
    if view.live_is_stale:
        series = [
            Series(one.name, one.points, style=marks.MUTED, gap=one.gap, filled=one.filled)
            for one in series
        ]
    end = axis_end(view)
    x = Axis(Unit.CALENDAR, low=end - TREND_SECONDS, high=end)
    chart = Chart(series, x, Axis(shown.unit))
    names = [chart.legend(width=width, marker=marker)] if len(series) > 1 else []
    return names + chart.lines(width=width, height=rows - len(names), marker=marker)


def numbers(view: View, volume: Followed) -> Table:
    """Means of some seconds each, of everything that the charts can show, the latest first."""
    tables = []
    for shown in (Shown.THROUGHPUT, Shown.IOPS, Shown.AWAIT):
        of = "IOPS " if shown is Shown.IOPS else ""
        series = [
            Series(f"{of}{one.name}", _means(one.points)) for one in _series(view, volume, shown)
        ]
        tables.append(table_of(Chart(series, Axis(Unit.CALENDAR), Axis(shown.unit))))
    header = (tables[0].header[0], *(name for one in tables for name in one.header[1:]))
    # All of one day, or of two: the time is enough.
    rows = [
        (parts[0][0][-_TIME_CELLS:], *(text for part in parts for text in part[1:]))
        for parts in zip(*(one.rows for one in tables), strict=True)
    ]
    return Table(header, tuple(rows))


def table_text(table: Table, view: View) -> Content:
    """``table`` in columns."""
    return Content("\n").join(table.lines(view.glyphs))


def _means(found: Sequence[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """Of each span of the wall clock, the mean of what is known; named after its end."""
    spans: dict[float, list[float]] = {}
    for at, value in found:
        end = math.ceil(at / _ROW_SECONDS) * _ROW_SECONDS
        spans.setdefault(end, []).extend([] if value is None else [value])
    return [(at, sum(each) / len(each) if each else None) for at, each in sorted(spans.items())]


def _series(view: View, volume: Followed, shown: Shown) -> list[Series]:
    # From the feed's clock to seconds since the epoch.
    offset = view.wall - view.now
    begin = axis_end(view) - TREND_SECONDS
    return [
        Series(
            name,
            [
                (at + offset, None if value is None else value * shown.factor)
                for at, value in points(view.seconds, volume, figure)
                # A feed that was silent for long has older ones, too.
                if at + offset >= begin
            ],
            style=style,
            gap=_GAP_SECONDS,
            filled=len(_LINES[shown]) == 1,
        )
        for name, figure, style in _LINES[shown]
    ]
