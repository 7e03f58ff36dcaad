"""Every series side by side: the last value, how far it is from normal, and a sparkline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import DataTable

from appliance.figures.metric import Metric
from appliance.model.findings import SeriesKey
from tui import marks
from tui.charts.strip import sparkline
from tui.screens.charted import Charted, chart_keys
from tui.screens.results_page import PageScreen
from tui.widgets.results import change_cell, change_style, shown
from tui.widgets.table import Column, FilterTable, Row

if TYPE_CHECKING:
    from appliance.drift.series.trends import Stretch

_DAY = 86_400.0
_WIDE_CELLS = 110


class SeriesScreen(PageScreen[None], Charted[None]):
    """The cursor begins at ``key``, or at the first series of ``suite``; enter opens its chart."""

    NAME = "the series"
    opens = ("Trend", "this series over time")
    BINDINGS: ClassVar[list[BindingType]] = chart_keys("mz", footer="mz")
    metric: Metric = Metric.IOPS

    def __init__(self, key: SeriesKey | None = None, *, suite: str = "") -> None:
        super().__init__()
        self._key, self._suite = key, suite
        self._found: Mapping[SeriesKey, tuple[str, Stretch] | None] = {}

    def parts(self) -> ComposeResult:
        yield FilterTable(id="series")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(DataTable).focus()
        self.read_again()

    def read_again(self) -> None:
        results, metric = self.main.world.results, self.metric

        def found(answer: Mapping[SeriesKey, tuple[str, Stretch] | None]) -> None:
            if metric is self.metric:
                self._found = answer

        self.read("the series", lambda: results.series(metric), found)

    def heading(self) -> tuple[str, Content]:
        words = f"{self.metric}, {self.zoom}; enter shows one"
        return f"{len(self._found)} SERIES", Content.styled(words, marks.MUTED)

    def draw(self, width: int) -> None:
        table = self.query_one("#series", FilterTable)
        wide = width >= _WIDE_CELLS
        cells = width - (94 if wide else 70)
        columns = [
            Column("suite", 8),
            Column("workload", 34 if wide else 26),
            Column("last", 10, right=True),
            Column("change", 7, right=True),
            Column("median of normal", 16, right=True, wide=_WIDE_CELLS),
            Column("trend", cells, grows=True),
        ]
        rows = [
            Row(str(number), self._cells(key, found, cells), also=f"{key} {key.target}")
            for number, (key, found) in enumerate(self._found.items())
        ]
        first = not table.shown_count
        nothing = "" if self.is_reading else NOTHING
        table.show(columns, rows, width=width, glyphs=self.glyphs, nothing=nothing)
        if first:
            keys = list(self._found)
            at = (one for one in keys if one == self._key or one.suite == self._suite)
            table.move_to(str(keys.index(next(at, keys[0])) if keys else 0))

    def _cells(
        self, key: SeriesKey, found: tuple[str, Stretch] | None, cells: int
    ) -> tuple[tuple[str, str], ...]:
        nothing = ("-", marks.MUTED)
        if found is None:
            name = f"{key.job} {key.direction}"
            return ((key.suite, ""), (name, marks.MUTED), *[nothing] * 4)
        from appliance.drift.series.run_figures import change_of

        workload, stretch = found
        days = self.days
        last = stretch.slots[-1]
        since = -1e300 if days is None else last.started_at - days * _DAY
        values = [slot.value for slot in stretch.slots if slot.valid and slot.started_at >= since]
        normal = stretch.normal
        made = [(key.suite, ""), (shown(workload, self.glyphs), "")]
        words = shown(self.metric.words(last.value), self.glyphs)
        made.append((words, "" if last.valid else marks.BAD))
        change = None
        if normal is not None and last.valid:
            change = change_of(key, workload, last.value, normal)
        made.append(
            nothing
            if change is None
            else (
                change_cell(change, self.glyphs),
                change_style(change, less_is_better=self.metric.is_latency),
            )
        )
        level = "-" if normal is None else shown(self.metric.words(normal.median), self.glyphs)
        made.append((level, marks.MUTED))
        return (*made, (sparkline(values, cells, self.glyphs), marks.BUSY))

    def why_not(self, action: str) -> str:
        return NOTHING if action == "metric" and not self._found and not self.is_reading else ""

    def metric_changed(self) -> None:
        self.read_again()

    @on(FilterTable.Chosen)
    def _chosen(self, event: FilterTable.Chosen) -> None:
        from tui.screens.results_trend import TrendScreen

        key = list(self._found)[int(event.row.key)]
        self.app.push_screen(TrendScreen(key, metric=self.metric))


NOTHING = "no complete run of a suite has results yet"
