"""One run, or one import: its results, and of the chosen one everything that is known."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from appliance.history.queries import ImportRecord
from appliance.model.measurement import Measurement
from tui import marks
from tui.charts.markers import Marker
from tui.screens.results_page import PageScreen
from tui.sources.results import RunDetail
from tui.widgets.panel import Line, Panel, clean
from tui.widgets.results_item import Item, item_lines, of_report, of_result
from tui.widgets.results_run import (
    chart_lines,
    import_facts,
    list_lines,
    number_lines,
    run_facts,
)

# Heading and footer.
_FRAME_ROWS = 4
_LEAST_CHART, _MOST_CHART = 9, 18


class RunScreen(PageScreen[None]):
    """``key`` is a run's number or ``import:3``."""

    NAME = "a run"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", "Job", tooltip="the result above", show=False, id="run.up"),
        Binding("down", "choose(1)", "Job", tooltip="the result below", id="run.down"),
        Binding("pagedown,space", "scroll(1)", "More", tooltip="scroll down", id="run.more"),
        Binding("pageup", "scroll(-1)", "Less", tooltip="scroll up", show=False, id="run.less"),
        Binding("t", "trend", "Trend", tooltip="this result over time", id="run.trend"),
        Binding("T", "numbers", "Numbers", tooltip="charts or their numbers", id="run.numbers"),
        Binding("m", "marker", "Marker", tooltip="draw with other characters", id="run.marker"),
        Binding("e", "export", "Export", tooltip="write this run to a file", id="run.export"),
    ]

    def __init__(self, key: str, record: ImportRecord | None = None) -> None:
        super().__init__()
        self._key = key
        self._record = record
        self._detail: RunDetail | None = None
        self._items: tuple[Item, ...] = ()
        self._chosen = 0
        self._numbers = False
        self._marker: Marker | None = None

    def parts(self) -> ComposeResult:
        yield Panel(id="run-facts")
        yield Panel(id="run-list")
        with VerticalScroll(id="run-scroll", can_focus=False):
            yield Panel(id="run-item")

    def on_mount(self) -> None:
        super().on_mount()
        self.read_again()

    def read_again(self) -> None:
        results, kind, number = self.main.world.results, *self._selector()
        if kind == "import":
            self.read("its reports", lambda: results.imported(number), self._imported)
        else:
            self.read("its results", lambda: results.run(number), self._found)

    def _selector(self) -> tuple[str, int]:
        kind, _, number = self._key.rpartition(":")
        return kind, int(number)

    def _found(self, detail: RunDetail) -> None:
        self._detail = detail
        self._items = tuple(of_result(one, detail.run, self.glyphs) for one in detail.results)

    def _imported(self, reports: tuple[Measurement, ...]) -> None:
        self._items = tuple(of_report(one, self.glyphs) for one in reports)

    @property
    def _item(self) -> Item | None:
        return self._items[self._chosen] if self._chosen < len(self._items) else None

    def heading(self) -> tuple[str, Content]:
        good = sum(item.mark.glyph != self.glyphs.bad for item in self._items)
        note = f"{good} of {len(self._items)} results valid" if self._items else ""
        if self._detail is not None:
            run = self._detail.run
            return clean(f"RUN {run.id} {run.suite}"), Content.styled(note, marks.MUTED)
        return clean(self._key.replace(":", " ").upper()), Content.styled(note, marks.MUTED)

    def draw(self, width: int) -> None:
        facts: list[Line] = import_facts(self._record, width)
        if self._detail is not None:
            facts = run_facts(self._detail.run, self._detail.layout, width, self.glyphs)
        room = self.size.height - _FRAME_ROWS - len(facts)
        rows = min(len(self._items) + 1, max(4, room // 3)) if self._items else 0
        self.query_one("#run-facts", Panel).show(facts)
        self.query_one("#run-list", Panel).show(
            list_lines(self._items, self._chosen, width=width, rows=rows, glyphs=self.glyphs)
            if rows
            else []
        )
        # The scroll bar takes a cell.
        self.query_one("#run-item", Panel).show(self._item_lines(width - 1, room - rows))

    def _item_lines(self, width: int, room: int) -> list[Line]:
        item = self._item
        if item is None:
            nothing = "it has no results" if self._detail is not None else ""
            return [Content.styled(nothing, marks.MUTED)]
        lines: list[Line] = [Content(""), *item_lines(item, width, self.glyphs)]
        if self._numbers:
            return lines + number_lines(item, width=width, glyphs=self.glyphs)
        # Below the chart are the members, each with a line, and what both are called.
        height = min(_MOST_CHART, max(_LEAST_CHART, room - len(lines) - len(item.members) - 5))
        marker = self._marker or Marker.usual(self.glyphs)
        return lines + chart_lines(
            item, width=width, height=height, marker=marker, glyphs=self.glyphs
        )

    def why_not(self, action: str) -> str:
        item = self._item
        if action in {"choose", "scroll", "numbers", "marker"} and item is None:
            return "there is no result to look at"
        if action == "marker" and self.glyphs is marks.ASCII:
            return "this terminal shows only ASCII"
        if action == "trend":
            return "" if item is not None and item.series is not None else _NO_TREND
        if action == "export" and self._detail is None and not self._items:
            return "it has not been read yet"
        return ""

    def action_choose(self, step: int) -> None:
        self._chosen = max(0, min(len(self._items) - 1, self._chosen + step))
        self.query_one("#run-scroll", VerticalScroll).scroll_home(animate=False)
        self.redraw()

    def action_scroll(self, pages: int) -> None:
        scroll = self.query_one("#run-scroll", VerticalScroll)
        scroll.scroll_relative(y=pages * max(1, scroll.size.height - 2), animate=False)

    def action_numbers(self) -> None:
        self._numbers = not self._numbers
        self.redraw()

    def action_marker(self) -> None:
        self._marker = (self._marker or Marker.usual(self.glyphs)).next(self.glyphs)
        self.redraw()

    def action_trend(self) -> None:
        from tui.screens.results_trend import TrendScreen

        item = self._item
        if item is not None and item.series is not None:
            self.app.push_screen(TrendScreen(item.series))

    def action_export(self) -> None:
        from tui.screens.results_export import ExportScreen

        self.app.push_screen(ExportScreen(self._key))


_NO_TREND = "only results of our own runs have a trend"
