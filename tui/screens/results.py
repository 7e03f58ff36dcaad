"""Results: every run and import of the history, latest first."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from appliance.history.pages import Page, RunSummary
from appliance.history.queries import ImportRecord
from appliance.model import advice
from appliance.text import duration
from tui import marks
from tui.asking import Answer
from tui.screens.base import MainScreen
from tui.widgets.panel import Line, Panel, View, clean, section, wrapped
from tui.widgets.results import columns, import_lines, run_lines, table_rows
from tui.widgets.table import FilterTable

_Found = tuple[Page, tuple[ImportRecord, ...]]
_PROBLEM_ROWS = 2


class ResultsScreen(MainScreen):
    """Loads pages of some hundred runs: a history of ten years opens as fast as a new one."""

    NAME = "Results"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pin", "Mark", tooltip="mark one of two to compare", id="results.mark"),
        Binding(
            "c", "compare", "Compare", tooltip="the two marked, or with the run before",
            id="results.compare",
        ),
        Binding("t", "trend", "Trend", tooltip="figures over time", id="results.trend"),
        Binding(
            "l", "layouts", "Layouts", tooltip="compare two layouts: epochs", id="results.layouts"
        ),
        Binding("e", "export", "Export", tooltip="write this run to a file", id="results.export"),
        Binding(
            "o", "older", "Older", tooltip="load older runs; the end of the list does it too",
            show=False, id="results.older",
        ),
        # Works as everywhere, but has no room in the footer.
        Binding(
            "x", "app.cancel_run", "Cancel", tooltip="stop the suite that is running; asks first",
            show=False, id="cancel_run.x",
        ),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._page: Page | None = None
        self._imports: tuple[ImportRecord, ...] = ()
        self._problem = ""
        self._read_at: float | None = None
        self._marked: list[str] = []
        self._changes = 0
        self._drawn: tuple[object, ...] = ()

    def body(self) -> ComposeResult:
        yield Panel(id="results-heading")
        yield FilterTable(id="results")
        yield Panel(id="result")

    def on_mount(self) -> None:
        self.focus_first(DataTable)

    # -- reading

    def history_changed(self) -> None:
        results = self.main.world.results
        self.ask("runs", lambda: (results.page(None), results.imports()), self._newest)

    def _newest(self, answer: Answer[_Found]) -> None:
        self._problem = answer.problem
        if answer.value is not None:
            page, self._imports = answer.value
            self._page = _under(page, self._page)
            self._read_at = answer.asked_at
            self._changes += 1
        self.redraw()

    def _older(self, answer: Answer[Page]) -> None:
        self._problem = answer.problem
        page = self._page
        if answer.value is not None and page is not None:
            older = answer.value
            # The newest were read again meanwhile, and may end elsewhere.
            last = page.runs[-1].run.id if page.runs else 0
            runs = tuple(one for one in older.runs if one.run.id < last)
            self._page = Page(
                (*page.runs, *runs), older.more, {**older.stripes, **page.stripes}, older.total
            )
            self._changes += 1
        self.redraw()

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        lines = [section("RESULTS", self._note(), width, view.glyphs)]
        lines += self._asking_lines(view, width)
        self.query_one("#results-heading", Panel).show(lines)
        drawn = (self._changes, tuple(self._marked), width, view.glyphs, self.app.theme)
        # Once a second nothing is new, and the rows of ten years are many.
        if drawn != self._drawn:
            self._drawn = drawn
            self._fill(view, width)
        self._show_current(width)

    def _note(self) -> Content:
        page = self._page
        if page is None:
            return Content.styled("not read yet", marks.MUTED)
        loaded, total = len(page.runs), page.total
        words = f"{total:,} run{'s' * (total != 1)}"
        if loaded != total:
            words = f"{loaded:,} of {words} loaded"
        if self._imports:
            words += f", {len(self._imports)} import{'s' * (len(self._imports) > 1)}"
        if loaded < total and self._table.has_class("-filtering"):
            return Content.styled(f"only {words} searched; o loads older", marks.WARN)
        if self._marked:
            words += f", {len(self._marked)} marked"
        return Content.styled(words, marks.MUTED)

    def _asking_lines(self, view: View, width: int) -> list[Line]:
        seconds = max(self.asking_seconds("runs"), self.asking_seconds("older"))
        old = ""
        if self._read_at is not None and (seconds >= 1 or self._problem):
            old = f"; this is {duration(view.now - self._read_at)} old"
        if seconds >= 1:
            words = f"{view.glyphs.busy} reading, for {duration(seconds)}{old}"
            return [Content.styled(words, marks.BUSY)]
        if self._problem:
            return wrapped(
                f"{view.glyphs.warn} {clean(self._problem)}{old}",
                first=Content(""),
                indent=0,
                width=width,
                style=marks.WARN,
                rows=_PROBLEM_ROWS,
            )
        return []

    def _fill(self, view: View, width: int) -> None:
        page = self._page
        rows = (
            ()
            if page is None
            else table_rows(
                page.runs,
                self._imports,
                page.stripes,
                more=page.more,
                marked=self._marked,
                width=width,
                glyphs=view.glyphs,
            )
        )
        nothing = "" if page is None else self._no_runs()
        self._table.show(
            columns(width),
            rows,
            # The rows are more than the screen, so the scroll bar takes some.
            width=width - self._table.rows.styles.scrollbar_size_vertical,
            glyphs=view.glyphs,
            nothing=nothing,
        )

    @property
    def _table(self) -> FilterTable:
        return self.query_one("#results", FilterTable)

    @property
    def _key(self) -> str:
        row = self._table.current
        return "" if row is None else row.key

    @property
    def _run(self) -> RunSummary | None:
        key, runs = self._key, () if self._page is None else self._page.runs
        if not key.isdecimal():
            return None
        number = int(key)
        return next((one for one in runs if one.run.id == number), None)

    @property
    def _import(self) -> ImportRecord | None:
        return next((one for one in self._imports if f"import:{one.id}" == self._key), None)

    @on(FilterTable.Moved)
    def _moved(self, event: FilterTable.Moved) -> None:
        self._show_current(self.size.width - 2)
        page = self._page
        at_end = page is not None and page.more and event.row is not None
        last = str(page.runs[-1].run.id) if page is not None and page.runs else ""
        filtered = self._table.has_class("-filtering")
        if at_end and not filtered and event.row is not None and event.row.key == last:
            self.action_older()

    def _show_current(self, width: int) -> None:
        view, run, imported = self.view, self._run, self._import
        lines: list[Line] = []
        if view is None:
            return
        if run is not None and self._page is not None:
            lines = run_lines(run, self._page.stripes, width, view.glyphs)
        elif imported is not None:
            lines = import_lines(imported, width, view.glyphs)
        self.query_one("#result", Panel).show(lines)

    # -- what can be done

    def why_not(self, action: str) -> str:
        if action in {"pin", "export", "compare"} and not self._key:
            return "there is no run here" if self._page is not None else "not read yet"
        chosen = self._chosen_keys
        if action == "compare" and len(chosen) == 1 and chosen[0].startswith("import"):
            return "an import has no run before it: mark another run or import"
        if action == "older":
            if self._page is None or not self._page.more:
                return "there are no older runs"
            return "older runs are being read" if self._is_reading_older else ""
        return ""

    @property
    def _is_reading_older(self) -> bool:
        return self.main.asker.waiting_since(f"{self.NAME}.older") is not None

    def action_pin(self) -> None:
        from tui.screens.results_epochs import toggle

        toggle(self._marked, self._key)
        self.redraw()

    @property
    def _chosen_keys(self) -> list[str]:
        """What is marked, and what is under the cursor if that is not two."""
        chosen = list(self._marked)
        if len(chosen) < 2 and self._key and self._key not in chosen:
            chosen.append(self._key)
        return chosen

    def _pair(self) -> tuple[str, str]:
        """The older and the newer; an empty older one is the run before."""
        chosen = self._chosen_keys
        if len(chosen) < 2:
            return "", chosen[0]
        first, second = sorted(chosen, key=self._place)
        return first, second

    def _place(self, key: str) -> tuple[float, int]:
        """When it was; runs among themselves by number, which no clock moves."""
        if key.startswith("import"):
            return next((one.at for one in self._imports if f"import:{one.id}" == key), 0.0), 0
        number = int(key)
        runs = () if self._page is None else self._page.runs
        if not any(one.startswith("import") for one in self._chosen_keys):
            return 0.0, number
        return next((one.run.started_at for one in runs if one.run.id == number), 0.0), number

    def action_compare(self) -> None:
        from tui.screens.results_compare import CompareScreen

        self.app.push_screen(CompareScreen(*self._pair()))

    def action_trend(self) -> None:
        from tui.screens.results_trend import TrendScreen

        run = self._run
        self.app.push_screen(TrendScreen(suite="" if run is None else run.run.suite))

    def action_layouts(self) -> None:
        from tui.screens.results_epochs import EpochsScreen

        self.app.push_screen(EpochsScreen())

    def action_export(self) -> None:
        from tui.screens.results_export import ExportScreen

        self.app.push_screen(ExportScreen(self._key))

    def action_older(self) -> None:
        page, results = self._page, self.main.world.results
        if page is None or not page.more or not page.runs or self._is_reading_older:
            return
        last = page.runs[-1].run.id
        self.ask("older", lambda: results.page(last), self._older)

    def _no_runs(self) -> str:
        if self.main.world.unable:
            return "no runs in it"
        return f"no runs yet; start one on Suites (4), or: {advice.run_suite()}"

    @on(FilterTable.Chosen)
    def _chosen(self, event: FilterTable.Chosen) -> None:
        from tui.screens.results_run import RunScreen

        self.app.push_screen(RunScreen(event.row.key, self._import))


def _under(newest: Page, before: Page | None) -> Page:
    """The newest runs, and below them the older ones that had been loaded."""
    if before is None or not newest.more or not newest.runs:
        return newest
    last = newest.runs[-1].run.id
    known = [one.run.id for one in before.runs]
    if last not in known:
        return newest
    older = tuple(one for one in before.runs if one.run.id < last)
    more = before.more if older else newest.more
    return Page((*newest.runs, *older), more, {**before.stripes, **newest.stripes}, newest.total)
