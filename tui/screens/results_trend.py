"""One figure over time: chart or numbers, of any series of the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from appliance.figures.metric import Metric
from appliance.model.findings import SeriesKey
from tui import marks
from tui.screens.charted import Charted, chart_keys
from tui.screens.results_page import PageScreen
from tui.screens.results_series import NOTHING
from tui.widgets.panel import Line, Panel, clean
from tui.widgets.results import shown
from tui.widgets.results_trend import Drawing, chart, drawing, facts, numbers
from tui.widgets.table import Column, FilterTable, Row

if TYPE_CHECKING:
    from appliance.drift.series.trends import Stretch, Trend

_FRAME_ROWS = 4
_FACT_ROWS = 7
_LEAST_CHART = 6
# More rows take the table too long; all are in the .csv that e writes.
_MOST_ROWS = 500


class TrendScreen(PageScreen[None], Charted[None]):
    """Begins with ``key``, by ``metric``."""

    NAME = "a trend"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "cursor(-1)", "Cursor", tooltip="read the value before", id="trend.left"),
        Binding("right", "cursor(1)", "Cursor", tooltip="read the next value", show=False,
                id="trend.right"),
        Binding("home", "cursor(-100000)", "First", tooltip="read the first value", show=False,
                id="trend.home"),
        Binding("end", "cursor(100000)", "Last", tooltip="read the last value", show=False,
                id="trend.end"),
        Binding("enter", "open", "Run", tooltip="the run at the cursor", id="trend.open"),
        Binding("v", "step(1)", "Next", tooltip="the next series", id="trend.next"),
        Binding("V", "step(-1)", "Previous", tooltip="the series before", show=False,
                id="trend.previous"),
        Binding("t", "all", "All", tooltip="every series side by side", id="trend.all"),
        *chart_keys("mzTM", footer="mzT"),
    ]  # fmt: skip

    metric: Metric

    def __init__(self, key: SeriesKey | None = None, *, metric: Metric = Metric.IOPS) -> None:
        super().__init__()
        self._key = key
        self._known: Mapping[SeriesKey, tuple[str, Stretch] | None] = {}
        # How many series further than the first one, as long as they are not known.
        self._steps = 0
        self._trend: Trend | None = None
        self._shown: tuple[SeriesKey | None, Metric] = (None, metric)
        self.metric = metric
        self._cursor: int | None = None

    def parts(self) -> ComposeResult:
        yield Panel(id="trend-chart")
        yield FilterTable(id="trend-numbers")
        yield Panel(id="trend-facts")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#trend-numbers", FilterTable).display = False
        self._list()

    # -- reading

    def _list(self) -> None:
        results, metric = self.main.world.results, self.metric
        self.read("the list of series", lambda: results.series(metric), self._listed)

    def _listed(self, found: Mapping[SeriesKey, tuple[str, Stretch] | None]) -> None:
        self._known = found
        if self._key not in found:
            # Of a run that is not complete, or with scaled run times: the nearest there is.
            suite = self._key.suite if self._key else ""
            self._key = next((one for one in found if one.suite == suite), next(iter(found), None))
        by, self._steps = self._steps, 0
        self._step(by)
        self._ask()

    def read_again(self) -> None:
        if self._known:
            self._ask()
        else:
            self._list()

    def _ask(self) -> None:
        key, metric, results = self._key, self.metric, self.main.world.results
        if key is None:
            return

        def found(trend: Trend) -> None:
            # An answer to the question before may come late.
            if (key, metric) == (self._key, self.metric):
                self._trend, self._shown = trend, (key, metric)

        self.read("its runs", lambda: results.trend(key, metric), found)

    @property
    def _current(self) -> Trend | None:
        """What was read, if it is what is to be shown."""
        return self._trend if self._shown == (self._key, self.metric) else None

    # -- drawing

    def heading(self) -> tuple[str, Content]:
        key = self._key
        if key is None:
            return "TREND", Content("")
        keys = list(self._known)
        place = f", {keys.index(key) + 1} of {len(keys)}" if key in self._known else ""
        found = self._known.get(key)
        words = str(key) if found is None else f"{key.suite} {found[0]}"
        note = f"{self.metric}, {self.zoom}{place}"
        return f"TREND {shown(words, self.glyphs)}", Content.styled(note, marks.MUTED)

    def draw(self, width: int) -> None:
        chart_panel = self.query_one("#trend-chart", Panel)
        facts_panel = self.query_one("#trend-facts", Panel)
        table = self.query_one("#trend-numbers", FilterTable)
        trend = self._current
        table.display = self.numbers and trend is not None
        chart_panel.display = not table.display
        if trend is None:
            nothing = "" if self._known or self.is_reading else NOTHING
            chart_panel.show([Content.styled(nothing, marks.MUTED)])
            facts_panel.show([])
            return
        drawn = self._drawn(trend, width)
        where = f"job {trend.key.job} on {trend.key.target}"
        said: list[Line] = [
            *facts(trend, drawn, width=width, rows=_FACT_ROWS, glyphs=self.glyphs),
            Content.styled(clean(where), marks.MUTED),
        ]
        facts_panel.show(said)
        if table.display:
            self._fill(table, trend, width)
            return
        if self._cursor is not None:
            self._cursor = min(self._cursor, len(drawn.readings) - 1) if drawn.readings else None
        room = self.size.height - _FRAME_ROWS
        height = max(_LEAST_CHART, room - len(said))
        chart_panel.show(
            chart(
                drawn,
                width=width,
                height=height,
                marker=self.marker,
                glyphs=self.glyphs,
                cursor=self._cursor,
            )
        )

    def _drawn(self, trend: Trend, width: int | None) -> Drawing:
        days, now = self.days, self.main.world.wall()
        return drawing(trend, self.metric, days, self.glyphs, now=now, width=width)

    def _fill(self, table: FilterTable, trend: Trend, width: int) -> None:
        made = numbers(self._drawn(trend, None))
        columns = [Column("time (UTC)", 20), Column(self.metric, 13, right=True)]
        columns.append(Column("what", 12, grows=True))
        rows = [
            Row(f"{number} {cells[0]}", tuple((one, "") for one in (*cells, "")[:3]))
            for number, cells in enumerate(made.rows[:_MOST_ROWS])
        ]
        table.show(columns, rows, width=width, glyphs=self.glyphs)

    # -- what can be done

    def why_not(self, action: str) -> str:
        # While it is being read, everything can be asked for that what is read is shown by.
        if action in {"step", "cursor", "open", "metric"} and not self._known:
            if action in {"step", "metric"} and self.is_reading:
                return ""
            return "the series are being read" if self.is_reading else NOTHING
        if action == "step" and len(self._known) < 2:
            return "there is no other series"
        if action == "open" and self._cursor is None:
            return "left and right move the cursor to a run"
        return super().why_not(action)

    def _step(self, by: int) -> None:
        keys = list(self._known)
        if self._key in keys:
            self._key = keys[(keys.index(self._key) + by) % len(keys)]
            self._cursor = None if by else self._cursor

    def action_step(self, by: int) -> None:
        if not self._known:
            self._steps += by
            return
        self._step(by)
        self._ask()
        self.redraw()

    def action_cursor(self, by: int) -> None:
        trend = self._current
        last = 0 if trend is None else len(self._drawn(trend, self.size.width - 2).readings) - 1
        if last >= 0 and trend is not None:
            # The first key shows where it is: at the last run, which is what one asks about first.
            at = last if self._cursor is None else self._cursor + by
            self._cursor = max(0, min(last, at))
            self.redraw()

    def action_open(self) -> None:
        from tui.screens.results_run import RunScreen

        trend = self._current
        if trend is not None and self._cursor is not None:
            reading = self._drawn(trend, self.size.width - 2).readings[self._cursor]
            self.app.push_screen(RunScreen(str(reading.run_id)))

    def action_all(self) -> None:
        from tui.screens.results_series import SeriesScreen

        if isinstance(self.app.screen_stack[-2], SeriesScreen):
            self.dismiss()
        else:
            self.app.switch_screen(SeriesScreen(self._key))

    def metric_changed(self) -> None:
        self._ask()

    def action_zoom(self) -> None:
        self._cursor = None
        super().action_zoom()

    def action_numbers(self) -> None:
        super().action_numbers()
        table = self.query_one("#trend-numbers", FilterTable)
        self.set_focus(table.rows if self.numbers else None)
