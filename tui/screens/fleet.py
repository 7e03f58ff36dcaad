"""Fleet: the machines and disks that are unlike their siblings, and what is normal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import DataTable

from appliance.text import duration
from tui import marks
from tui.asking import Answer
from tui.screens.base import MainScreen
from tui.screens.charted import Charted, chart_keys
from tui.screens.results_page import PageScreen
from tui.screens.sheet import Sheet
from tui.widgets import fleet
from tui.widgets.columns import Column, Row
from tui.widgets.panel import Line, Panel, View, clean, section, wrapped
from tui.widgets.table import FilterTable

if TYPE_CHECKING:
    from appliance.fleet.odd import Odd
    from appliance.fleet.overview import Survey
    from tui.fleet import FleetApp
    from tui.sources.fleet import Fleets

_SURVEY = "survey"
# Between the words and the chart beside them.
_GAP_CELLS = 2


class FleetScreen(MainScreen, Charted[None]):
    """A table of the odd ones, with the one under the cursor and its days below it."""

    NAME = "Fleet"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "page('normals')", "Types", tooltip="what each type does normally",
                id="fleet.normals"),
        Binding("m", "page('kinds')", "Machines", tooltip="by type, kernel, fio and version",
                id="fleet.kinds"),
        Binding("v", "page('verdicts')", "Verdicts", tooltip="how often each rule spoke",
                id="fleet.verdicts"),
        Binding("p", "page('problems')", "Left out",
                tooltip="machines that do not report, and what is not counted",
                id="fleet.problems"),
        *chart_keys("M"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._survey: Survey | None = None
        self._problem = ""
        self._read_at = 0.0

    def body(self) -> ComposeResult:
        yield Panel(id="fleet-heading")
        yield FilterTable(id="fleet")
        with Container(id="fleet-below"):
            yield Panel(id="fleet-text")
            yield Panel(id="fleet-chart")

    def on_mount(self) -> None:
        self.focus_first(DataTable)
        # Nothing says that there is something new: it is read now, and when u asks for it.
        self.history_changed()

    # -- reading

    @property
    def _source(self) -> Fleets:
        return cast("FleetApp", self.app).fleet

    def history_changed(self) -> None:
        # Of a place that does not answer nothing more is asked.
        if not self.is_asking(_SURVEY):
            self.ask(_SURVEY, self._source.survey, self._found)

    def _found(self, answer: Answer[Survey]) -> None:
        self._problem = answer.problem
        if answer.value is not None:
            self._survey, self._read_at = answer.value, answer.asked_at
        self.redraw()
        # The chart takes what heading and table leave, which is known when they have been laid out.
        self.call_after_refresh(self.redraw)

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        found, glyphs = self._survey, view.glyphs
        old = "" if found is None else f"; what is shown is {self._age(view)} old"
        lines = [section("FLEET", self._note(view), width, glyphs)]
        lines += self._asking_lines(width, old)
        if found is not None:
            lines += fleet.heading_lines(found, glyphs, width)
        self.query_one("#fleet-heading", Panel).show(lines)
        odd = () if found is None else found.odd
        self._table.show(
            fleet.columns(width), fleet.rows(odd, width), width=width, glyphs=glyphs, nothing=""
        )
        self._draw_below(view, width)

    def _asking_lines(self, width: int, old: str) -> list[Line]:
        """What is being read and for how long, or why it could not be."""
        if seconds := self.asking_seconds(_SURVEY):
            step = clean(self._source.step)
            words = f"{self.glyphs.busy} reading {step}, for {duration(seconds)}{old}"
            return [Content.styled(words, marks.BUSY)]
        if self._problem:
            words = f"{self.glyphs.warn} {clean(self._problem)}{old}"
            return wrapped(words, width=width, style=marks.WARN)
        return []

    def _note(self, view: View) -> Content:
        found = self._survey
        words = "not read yet"
        if found is not None:
            machines = f"{found.machines:,} machine{'s' * (found.machines != 1)}"
            words = f"{machines}, {found.present}, read {self._age(view)} ago"
        return Content.styled(words, marks.MUTED)

    def _age(self, view: View) -> str:
        return duration(view.now - self._read_at)

    def _draw_below(self, view: View, width: int) -> None:
        """The one under the cursor, and beside or below that its days."""
        odd = self._current
        wide = width >= fleet.WIDE_CELLS
        self.set_class(wide, "-wide")
        text, chart = self.query_one("#fleet-text", Panel), self.query_one("#fleet-chart", Panel)
        cells = width // 2 - _GAP_CELLS if wide else width
        height = self.query_one("#fleet-below").size.height
        lines = [] if odd is None else fleet.odd_lines(odd, cells, view.glyphs)
        text.show(lines)
        rows = height if wide else height - len(lines)
        chart.show([] if odd is None else fleet.chart_lines(odd, cells, rows, self.marker))

    @property
    def _table(self) -> FilterTable:
        return self.query_one("#fleet", FilterTable)

    @property
    def _current(self) -> Odd | None:
        row, found = self._table.current, self._survey
        odd = () if found is None else found.odd
        return next((one for one in odd if row and fleet.key_of(one) == row.key), None)

    @on(FilterTable.Moved)
    def _moved(self) -> None:
        if self.view is not None:
            self._draw_below(self.view, self.size.width - 2)

    @on(FilterTable.Chosen)
    def _chosen(self) -> None:
        if (odd := self._current) is not None:
            self.app.push_screen(Sheet(fleet.name_of(odd), fleet.sheet_text(odd, self.glyphs)))

    # -- what can be done

    def copy_text(self) -> str:
        odd = self._current
        if odd is None:
            return super().copy_text()
        lines = [fleet.name_of(odd), *(line.plain for line in fleet.facts(odd, 10_000))]
        return "\n".join(line.rstrip() for line in lines)

    def why_not(self, action: str) -> str:
        if action == "page" and self._survey is None:
            return "not read yet"
        return super().why_not(action)

    def action_page(self, name: str) -> None:
        found, glyphs = self._survey, self.glyphs
        if found is None:
            return
        page = {
            "normals": ("NORMAL", fleet.normal_columns(glyphs),
                        fleet.normal_rows(found.normals, glyphs)),
            "kinds": ("MACHINES", fleet.KIND_COLUMNS, fleet.kind_rows(found.kinds)),
            "verdicts": ("VERDICTS", fleet.VERDICT_COLUMNS, fleet.verdict_rows(found.judged)),
            "problems": ("LEFT OUT", fleet.PROBLEM_COLUMNS, fleet.problem_rows(found)),
        }[name]  # fmt: skip
        self.app.push_screen(FleetPage(*page))


class FleetPage(PageScreen[None]):
    """A table of what was read; enter shows a row whole."""

    NAME = "a table of the fleet"

    def __init__(self, title: str, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        super().__init__()
        self._title, self._columns, self._rows = title, columns, rows

    def parts(self) -> ComposeResult:
        yield FilterTable(id="fleet-page")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(self.query_one(FilterTable).rows)

    def heading(self) -> tuple[str, Content]:
        count = len(self._rows)
        return self._title, Content.styled(f"{count:,} row{'s' * (count != 1)}", marks.MUTED)

    def draw(self, width: int) -> None:
        table = self.query_one(FilterTable)
        width -= table.rows.styles.scrollbar_size_vertical
        table.show(self._columns, self._rows, width=width, glyphs=self.glyphs, nothing="none")

    @on(FilterTable.Chosen)
    def _chosen(self, event: FilterTable.Chosen) -> None:
        said = zip(self._columns, event.row.cells, strict=True)
        lines = [f"{column.name:<10}  {clean(text)}" for column, (text, _) in said]
        self.app.push_screen(Sheet(self._title.capitalize(), Content("\n".join(lines))))
