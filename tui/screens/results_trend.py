"""One figure over time: chart or numbers, of any series of the history."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from appliance.drift.series.trends import Trend
from appliance.model.findings import SeriesKey
from tui import marks
from tui.charts.markers import Marker
from tui.screens.results_page import PageScreen
from tui.widgets.panel import Line, Panel, clean
from tui.widgets.results_trend import ZOOMS, Drawing, chart, drawing, facts, numbers, zoom_words
from tui.widgets.table import Column, FilterTable, Row

_FRAME_ROWS = 4
_FACT_ROWS = 7
_LEAST_CHART = 6
# More rows take the table too long; all are in the .csv that e writes.
_MOST_ROWS = 500


class TrendScreen(PageScreen[None]):
    """Begins with ``key``, or with the first series of ``suite``, or of all."""

    NAME = "a trend"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "left", "step(-1)", "Previous", tooltip="the series before", show=False, id="trend.left"
        ),
        Binding("right", "step(1)", "Next", tooltip="the next series", id="trend.right"),
        Binding("s", "pick", "Series", tooltip="choose a series from the list", id="trend.pick"),
        Binding("z", "zoom", "Zoom", tooltip="30, 90 days, all, 7 days", id="trend.zoom"),
        Binding("T", "numbers", "Numbers", tooltip="the chart or its numbers", id="trend.numbers"),
        Binding("m", "marker", "Marker", tooltip="draw with other characters", id="trend.marker"),
    ]

    def __init__(self, key: SeriesKey | None = None, *, suite: str = "") -> None:
        super().__init__()
        self._key = key
        self._suite = suite
        self._keys: tuple[SeriesKey, ...] = ()
        self._trend: Trend | None = None
        self._zoom = 0
        self._numbers = False
        self._marker: Marker | None = None

    def parts(self) -> ComposeResult:
        yield Panel(id="trend-chart")
        yield FilterTable(id="trend-numbers")
        yield Panel(id="trend-facts")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#trend-numbers", FilterTable).display = False
        self._list()

    def _list(self) -> None:
        self.read("the list of series", self.main.world.results.series, self._listed)

    def _listed(self, keys: tuple[SeriesKey, ...]) -> None:
        self._keys = keys
        if self._key not in keys:
            # Of a run that is not complete, or with scaled run times: the nearest there is.
            suite = self._suite or (self._key.suite if self._key else "")
            self._key = next((one for one in keys if one.suite == suite), next(iter(keys), None))
        self._ask()

    def read_again(self) -> None:
        if self._keys:
            self._ask()
        else:
            self._list()

    def _ask(self) -> None:
        key, results = self._key, self.main.world.results
        if key is not None:
            self.read("its runs", lambda: results.trend(key), self._found)

    def _found(self, trend: Trend) -> None:
        # An answer to the series before may come late.
        if trend.key == self._key:
            self._trend = trend

    def heading(self) -> tuple[str, Content]:
        key = self._key
        if key is None:
            return "TREND", Content("")
        at = self._keys.index(key) + 1 if key in self._keys else 0
        place = f", {at} of {len(self._keys)}" if at else ""
        note = f"{zoom_words(ZOOMS[self._zoom])}{place}"
        return clean(f"TREND {key}"), Content.styled(note, marks.MUTED)

    def draw(self, width: int) -> None:
        chart_panel = self.query_one("#trend-chart", Panel)
        facts_panel = self.query_one("#trend-facts", Panel)
        table = self.query_one("#trend-numbers", FilterTable)
        trend = self._trend
        table.display = self._numbers and trend is not None
        chart_panel.display = not table.display
        if trend is None or trend.key != self._key:
            nothing = "" if self._keys or self._reading else _NOTHING
            chart_panel.show([Content.styled(nothing, marks.MUTED)])
            facts_panel.show([])
            return
        drawn = self._drawn(trend)
        target = Content.styled(f"on {clean(trend.key.target)}", marks.MUTED)
        room = self.size.height - _FRAME_ROWS
        said: list[Line] = [
            target,
            *facts(trend, drawn, width=width, rows=_FACT_ROWS, glyphs=self.glyphs),
        ]
        facts_panel.show(said)
        if table.display:
            self._fill(table, width)
            return
        height = max(_LEAST_CHART, room - len(said))
        marker = self._marker or Marker.usual(self.glyphs)
        chart_panel.show(
            chart(drawn, width=width, height=height, marker=marker, glyphs=self.glyphs)
        )

    def _drawn(self, trend: Trend) -> Drawing:
        return drawing(trend, ZOOMS[self._zoom], self.glyphs, now=self.main.world.wall())

    def _fill(self, table: FilterTable, width: int) -> None:
        if self._trend is None:
            return
        made = numbers(self._drawn(self._trend))
        columns = [Column("time (UTC)", 20), Column("IOPS", 9, right=True)]
        columns.append(Column("what", 12, grows=True))
        rows = [
            Row(f"{number} {cells[0]}", tuple((one, "") for one in (*cells, "")[:3]))
            for number, cells in enumerate(made.rows[:_MOST_ROWS])
        ]
        table.show(columns, rows, width=width, glyphs=self.glyphs)

    def why_not(self, action: str) -> str:
        if action in {"step", "pick"} and len(self._keys) < 2:
            return "there is no other series" if self._keys else _NOTHING
        if action in {"zoom", "numbers", "marker"} and self._trend is None:
            return "there is nothing to draw yet"
        if action == "marker" and self.glyphs is marks.ASCII:
            return "this terminal shows only ASCII"
        return ""

    def _show(self, key: SeriesKey | None) -> None:
        if key is not None and key != self._key:
            self._key = key
            self._ask()
            self.redraw()

    def action_step(self, by: int) -> None:
        at = self._keys.index(self._key) if self._key in self._keys else 0
        self._show(self._keys[(at + by) % len(self._keys)])

    def action_pick(self) -> None:
        from tui.screens.results_series import SeriesScreen

        self.app.push_screen(SeriesScreen(self._keys, self._key), self._show)

    def action_zoom(self) -> None:
        self._zoom = (self._zoom + 1) % len(ZOOMS)
        self.redraw()

    def action_numbers(self) -> None:
        self._numbers = not self._numbers
        self.redraw()
        self.set_focus(
            self.query_one("#trend-numbers", FilterTable).rows if self._numbers else None
        )

    def action_marker(self) -> None:
        self._marker = (self._marker or Marker.usual(self.glyphs)).next(self.glyphs)
        self.redraw()


_NOTHING = "no complete run of a suite has results yet"
