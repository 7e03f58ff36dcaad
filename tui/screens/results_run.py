"""One run, or one import: its results, and of the chosen one everything that is known."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import DataTable

from appliance.history.queries import ImportRecord
from appliance.model.measurement import Measurement
from appliance.text import moment
from tui import marks
from tui.screens.charted import Charted, chart_keys
from tui.screens.results_page import PageScreen
from tui.screens.sheet import Item as Link
from tui.screens.sheet import Pick
from tui.sources.results import RunDetail
from tui.widgets.columns import row
from tui.widgets.panel import Line, Panel, clean
from tui.widgets.results_item import Item, item_lines, of_report, of_result
from tui.widgets.results_run import (
    chart_lines,
    import_facts,
    item_columns,
    number_lines,
    run_facts,
)
from tui.widgets.table import FilterTable

# Heading, footer, and the heading of the list.
_FRAME_ROWS = 5
_LEAST_CHART, _MOST_CHART = 9, 18


class RunScreen(PageScreen[None], Charted[None]):
    """``key`` is a run's number or ``import:3``. The cursor begins at the gravest result."""

    NAME = "a run"
    opens = ("Links", "its disks, its findings, the log of that time")
    BINDINGS: ClassVar[list[BindingType]] = [
        # Not of the list, which has a few rows, but of what is known of the chosen one.
        Binding("pagedown,space", "scroll(1)", "More", tooltip="scroll down", priority=True,
                id="run.more"),
        Binding("pageup", "scroll(-1)", "Up", tooltip="scroll up", show=False, priority=True,
                id="run.less"),
        Binding("t", "trend", "Trend", tooltip="this result over time", id="run.trend"),
        Binding("c", "compare", "Compare", tooltip="with the run before", id="run.compare"),
        *chart_keys("TM", footer="T"),
        Binding("e", "export", "Export", tooltip="write this run to a file", id="run.export"),
    ]  # fmt: skip

    def __init__(self, key: str, record: ImportRecord | None = None) -> None:
        super().__init__()
        self._key = key
        if ":" in key:
            # Of an import neither disks nor findings are known, nor when it was measured.
            self.opens = ("", "")
        self._record = record
        self._detail: RunDetail | None = None
        self._items: tuple[Item, ...] = ()
        self._chosen: int | None = None

    def parts(self) -> ComposeResult:
        yield Panel(id="run-facts")
        yield FilterTable(id="run-list")
        with VerticalScroll(id="run-scroll", can_focus=False):
            yield Panel(id="run-item")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(DataTable).focus()
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
        self._items = tuple(
            of_result(
                one, detail.run, self.glyphs, detail.figures.changes if detail.figures else ()
            )
            for one in detail.results
        )

    def _imported(self, reports: tuple[Measurement, ...]) -> None:
        self._items = tuple(of_report(one, self.glyphs) for one in reports)

    @property
    def _item(self) -> Item | None:
        at = self._chosen
        return self._items[at] if at is not None and at < len(self._items) else None

    def heading(self) -> tuple[str, Content]:
        good = sum(item.mark.glyph != self.glyphs.bad for item in self._items)
        note = f"{good} of {len(self._items)} results valid" if self._items else ""
        if self._detail is not None:
            run = self._detail.run
            return clean(f"RUN {run.id} {run.suite}"), Content.styled(note, marks.MUTED)
        return clean(self._key.replace(":", " ").upper()), Content.styled(note, marks.MUTED)

    def draw(self, width: int) -> None:
        facts: list[Line] = import_facts(self._record, width, self.glyphs)
        if self._detail is not None:
            facts = run_facts(self._detail, self._items, width, self.glyphs)
        room = self.size.height - _FRAME_ROWS - len(facts)
        rows = min(len(self._items), max(3, room // 3))
        self.query_one("#run-facts", Panel).show(facts)
        table = self.query_one("#run-list", FilterTable)
        table.styles.height = rows + 1
        table.display = bool(self._items)
        columns = item_columns(width, self.glyphs)
        table.show(
            columns,
            [row(columns, one, key=str(at)) for at, one in enumerate(self._items)],
            width=width - (rows < len(self._items)),
            glyphs=self.glyphs,
        )
        if self._chosen is None and self._items:
            self._chosen = min(range(len(self._items)), key=lambda at: self._items[at].gravity)
            table.move_to(str(self._chosen))
        self._show_item(width, room - rows)

    def _show_item(self, width: int, room: int) -> None:
        # The scroll bar takes a cell.
        self.query_one("#run-item", Panel).show(self._item_lines(width - 1, room))

    def _item_lines(self, width: int, room: int) -> list[Line]:
        item = self._item
        if item is None:
            nothing = "it has no results" if self._detail is not None else ""
            return [Content.styled(nothing, marks.MUTED)]
        lines: list[Line] = [Content(""), *item_lines(item, width, self.glyphs)]
        if self.numbers:
            return lines + number_lines(item, width=width, glyphs=self.glyphs)
        # Below the chart are the members, each with a line, and what both are called.
        height = min(_MOST_CHART, max(_LEAST_CHART, room - len(lines) - len(item.members) - 5))
        return lines + chart_lines(
            item, width=width, height=height, marker=self.marker, glyphs=self.glyphs
        )

    def why_not(self, action: str) -> str:
        item = self._item
        if action in {"scroll", "numbers", "marker"} and item is None:
            return "" if self.is_reading else "there is no result to look at"
        if action == "compare" and ":" in self._key:
            return "an import has no run before it: mark another run or import"
        if action == "trend":
            return "" if item is not None and item.series is not None else _NO_TREND
        if action == "export" and self._detail is None and not self._items:
            return "it has not been read yet"
        return super().why_not(action)

    @on(FilterTable.Moved)
    def _moved(self, event: FilterTable.Moved) -> None:
        at = None if event.row is None else int(event.row.key)
        if at is not None and self._chosen is not None and at != self._chosen:
            self._chosen = at
            self.query_one("#run-scroll", VerticalScroll).scroll_home(animate=False)
            self.redraw()

    @on(FilterTable.Chosen)
    def _links(self) -> None:
        """Go on from here: to the disks, the findings, the log of that time."""
        detail = self._detail
        if detail is None:
            return
        links = [
            Link(f"log {detail.run.started_at}", Content(f"Log at {moment(detail.run.started_at)}"))
        ]
        links += [
            Link(
                f"drift {one.id}",
                Content(clean(f"Finding {one.id} {one.fact.code}: {one.fact.summary}")),
            )
            for one in detail.findings
        ]
        links += [
            Link(f"disks {name}", Content(clean(f"Disk {name}"))) for name in self._disks(detail)
        ]
        title = f"From run {detail.run.id} to"
        self.app.push_screen(Pick(title, links), self._go)

    def _disks(self, detail: RunDetail) -> list[str]:
        """The members that were measured, the one that waited longest first."""
        item = self._item
        waits = {} if item is None else {one.name: one.await_ns or 0.0 for one in item.members}
        return sorted(detail.run.members, key=lambda name: -waits.get(name, 0.0))

    def _go(self, link: str | None) -> None:
        if link:
            mode, _, name = link.partition(" ")
            self.main.visit(mode, name)

    def action_scroll(self, pages: int) -> None:
        scroll = self.query_one("#run-scroll", VerticalScroll)
        scroll.scroll_relative(y=pages * max(1, scroll.size.height - 2), animate=False)

    def action_trend(self) -> None:
        from tui.screens.results_trend import TrendScreen

        item = self._item
        if item is not None and item.series is not None:
            self.app.push_screen(TrendScreen(item.series))

    def action_compare(self) -> None:
        from tui.screens.results_compare import CompareScreen

        self.app.push_screen(CompareScreen("", self._key))

    def action_export(self) -> None:
        from tui.screens.results_export import ExportScreen

        self.app.push_screen(ExportScreen(self._key))


_NO_TREND = "only results of our own runs have a trend"
