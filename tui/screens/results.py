"""Results: every run and import of the history, latest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from appliance.history.pages import PAGE_RUNS, Order, Page, RunSummary
from appliance.history.queries import ImportRecord
from appliance.model import advice
from appliance.text import duration
from tui import marks
from tui.asking import Answer
from tui.screens.base import MainScreen
from tui.sources.results import Asked
from tui.widgets.panel import Line, Panel, View, clean, section, wrapped
from tui.widgets.results import columns, has_words, import_lines, run_lines, table_rows
from tui.widgets.table import FilterTable

if TYPE_CHECKING:
    from appliance.drift.series.run_figures import RunFigures

_PROBLEM_ROWS = 2


class ResultsScreen(MainScreen):
    """Loads pages of some hundred runs: a history of ten years opens as fast as a new one. What is
    sought or sorted is all of it.
    """

    NAME = "Results"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pin", "Mark", tooltip="mark one of two to compare", id="results.mark"),
        Binding(
            "c", "compare", "Compare", tooltip="the two marked, or with the run before",
            id="results.compare",
        ),
        Binding(
            "t", "trend", "Trend", tooltip="every workload over time", id="results.trend"
        ),
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
        self._figures: dict[int, RunFigures] = {}
        self._imports: tuple[ImportRecord, ...] = ()
        self._asked = Asked()
        self._problem = ""
        self._read_at: float | None = None
        self._marked: list[str] = []
        self._changes = 0
        self._drawn: tuple[object, ...] = ()

    def body(self) -> ComposeResult:
        yield Panel(id="results-heading")
        yield FilterTable(id="results", asks=True)
        yield Panel(id="result")

    def on_mount(self) -> None:
        self.focus_first(DataTable)

    # -- reading

    def history_changed(self) -> None:
        self._figures = {}
        self._read(0 if self._page is None else len(self._page.runs))

    @on(FilterTable.Asked)
    def _ask_other(self, event: FilterTable.Asked) -> None:
        order = Order(event.column) if event.column else Order.RUN
        self._asked = Asked(event.words, order, event.descending)
        self._read(0)

    def _read(self, known: int) -> None:
        """The first runs of what is asked for; of ``known`` ones that are shown, as many again."""
        results, asked, limit = self.main.world.results, self._asked, max(PAGE_RUNS, known)

        def found(answer: Answer[tuple[Page, tuple[ImportRecord, ...]]]) -> None:
            self._problem = answer.problem
            # What was typed meanwhile is being asked for.
            if answer.value is not None and asked == self._asked:
                page, self._imports = answer.value
                self._take(page, answer.asked_at)
            self.redraw()

        self.ask("runs", lambda: (results.page(asked, 0, limit), results.imports()), found)

    def action_older(self) -> None:
        page, results, asked = self._page, self.main.world.results, self._asked
        if page is None or not page.more or self.is_asking("older"):
            return

        def found(answer: Answer[Page]) -> None:
            self._problem = answer.problem
            if answer.value is not None and asked == self._asked and self._page is not None:
                known = {one.run.id for one in self._page.runs}
                # A run that ended meanwhile has moved all others down by one.
                runs = [one for one in answer.value.runs if one.run.id not in known]
                stripes = {**self._page.stripes, **answer.value.stripes}
                every = (*self._page.runs, *runs)
                self._take(replace(answer.value, runs=every, stripes=stripes), answer.asked_at)
            self.redraw()

        self.ask("older", lambda: results.page(asked, len(page.runs), PAGE_RUNS), found)

    def _take(self, page: Page, asked_at: float) -> None:
        self._page, self._read_at = page, asked_at
        self._changes += 1
        results = self.main.world.results
        new = [one.run.id for one in page.runs if one.results and one.run.id not in self._figures]
        if new:
            self.ask("figures", lambda: results.figures(new), self._figured)

    def _figured(self, answer: Answer[Mapping[int, RunFigures]]) -> None:
        self._problem = answer.problem
        self._figures |= answer.value or {}
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
        loaded = len(page.runs)
        words = f"{page.total:,} run{'s' * (page.total != 1)}"
        if self._asked.words:
            words = f"{page.found:,} of {words} found"
        elif self._imports:
            words += f", {len(self._imports)} import{'s' * (len(self._imports) > 1)}"
        if loaded < page.found:
            words += f", {loaded:,} shown"
        if self._marked:
            words += f", {len(self._marked)} marked"
        return Content.styled(words, marks.MUTED)

    def _asking_lines(self, view: View, width: int) -> list[Line]:
        seconds = max(self.asking_seconds(key) for key in ("runs", "older", "figures"))
        old = ""
        if self._read_at is not None and (seconds >= 1 or self._problem):
            old = f"; this is {duration(view.now - self._read_at)} old"
        if seconds >= 1:
            words = f"{view.glyphs.busy} reading, for {duration(seconds)}{old}"
            return [Content.styled(words, marks.BUSY)]
        if self._problem:
            return wrapped(
                f"{view.glyphs.warn} {clean(self._problem)}{old}",
                width=width,
                style=marks.WARN,
                rows=_PROBLEM_ROWS,
            )
        return []

    def _fill(self, view: View, width: int) -> None:
        page = self._page
        # The rows are more than the screen, so the scroll bar takes some.
        width -= self._table.rows.styles.scrollbar_size_vertical
        imports = [one for one in self._imports if has_words(one, self._asked.words)]
        rows = (
            ()
            if page is None
            else table_rows(
                page.runs,
                self._figures,
                imports,
                page.stripes,
                by_run=self._asked.order is Order.RUN and self._asked.descending,
                more=page.more,
                pinned=self._marked,
                width=width,
                now=view.wall,
                glyphs=view.glyphs,
            )
        )
        nothing = "" if page is None else self._no_runs()
        self._table.show(
            columns(width),
            rows,
            width=width,
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
        if at_end and event.row is not None and event.row.key == last:
            self.action_older()

    def _show_current(self, width: int) -> None:
        self.query_one("#result", Panel).show(self._current_lines(width))

    def _current_lines(self, width: int) -> list[Line]:
        view, run, imported = self.view, self._run, self._import
        if view is None:
            return []
        if run is not None and self._page is not None:
            figures = self._figures.get(run.run.id)
            return run_lines(run, figures, self._page.stripes, width, view.glyphs)
        return [] if imported is None else import_lines(imported, width, view.glyphs)

    # -- what can be done

    def jump(self, name: str) -> None:
        """Open run ``name``, wherever it is in the list."""
        from tui.screens.results_run import RunScreen

        if name.isdecimal():
            self.app.push_screen(RunScreen(name))

    def copy_text(self) -> str:
        return "\n".join(line.plain.rstrip() for line in self._current_lines(10_000))

    def why_not(self, action: str) -> str:
        if action in {"pin", "export", "compare"} and not self._key:
            return "there is no run here" if self._page is not None else "not read yet"
        chosen = self._chosen_keys
        if action == "compare" and len(chosen) == 1 and chosen[0].startswith("import"):
            return "an import has no run before it: mark another run or import"
        if action == "older":
            if self._page is None or not self._page.more:
                return "there are no older runs"
            return "older runs are being read" if self.is_asking("older") else ""
        return ""

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
        from tui.screens.results_series import SeriesScreen

        run = self._run
        self.app.push_screen(SeriesScreen(suite="" if run is None else run.run.suite))

    def action_layouts(self) -> None:
        from tui.screens.results_epochs import EpochsScreen

        self.app.push_screen(EpochsScreen())

    def action_export(self) -> None:
        from tui.screens.results_export import ExportScreen

        self.app.push_screen(ExportScreen(self._key))

    def _no_runs(self) -> str:
        if self.main.world.unable:
            return "no runs in it"
        return f"no runs yet; start one on Suites (4), or: {advice.run_suite()}"

    @on(FilterTable.Chosen)
    def _chosen(self, event: FilterTable.Chosen) -> None:
        from tui.screens.results_run import RunScreen

        self.app.push_screen(RunScreen(event.row.key, self._import))
