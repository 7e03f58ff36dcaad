"""Suites: what can be measured, when, and how far the run is that is on."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import DataTable

from appliance.client.schedule_requests import ScheduleNow, When, with_times
from appliance.model import advice
from appliance.model.runs import RunRecord, Suite
from appliance.text import duration
from tui import marks
from tui.asking import Answer
from tui.permission import may_start
from tui.screens.base import FRAME_ROWS, MainScreen
from tui.screens.charted import Charted, chart_keys
from tui.screens.sheet import Sheet
from tui.sources.suites import Catalog
from tui.widgets import suites, suites_chart, suites_run
from tui.widgets.live import Shown
from tui.widgets.panel import Line, Panel, View, clean, section, wrapped
from tui.widgets.suites_chart import Choice
from tui.widgets.table import FilterTable

_CATALOG, _SCHEDULE, _SET = "catalog", "schedule", "set"
_LEAST_TABLE, _LEAST_CHART = 6, 7
# Of a run with many jobs the chart keeps at least this share of the screen.
_CHART_SHARE = 0.4


class SuitesScreen(MainScreen, Charted[None]):
    """The table of suites; while one runs, that run in its stead."""

    NAME = "Suites"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "start_suite", "Start", tooltip="measure a volume: s, then enter",
                id="suites.start"),
        Binding("S", "schedule", "Schedule", tooltip="when it starts automatically",
                id="suites.schedule"),
        Binding("w", "watch", "Watch", tooltip="the run, or the table of suites again",
                id="suites.watch"),
        Binding("r,enter", "results", "Results", tooltip="the last run's results in full",
                id="suites.results"),
        # Told above the chart: the footer has no room for what is of one page only.
        *chart_keys("mzTM"),
    ]  # fmt: skip

    metric: Shown

    def __init__(self) -> None:
        super().__init__()
        self._catalog: Catalog | None = None
        self._schedule: ScheduleNow | None = None
        self._problems: dict[str, str] = {}
        self._read_at: float | None = None
        # The run that is shown or was shown last, and whether the table is wanted in its stead.
        self._run_id = 0
        self._away = False
        self.metric = Shown.IOPS
        self._since_job = False

    def body(self) -> ComposeResult:
        with Vertical(id="suites-table"):
            yield Panel(id="suites-heading")
            yield FilterTable(id="suites")
            yield Panel(id="suite-detail")
        with VerticalScroll(id="suites-run"):
            for part in ("run-heading", "run-jobs", "run-latency", "run-chart"):
                yield Panel(id=f"suite-{part}")

    def on_mount(self) -> None:
        self.query_one("#suites-run").display = False
        self.focus_first(DataTable)

    def on_screen_suspend(self) -> None:
        # A finished run has been seen: show the suites on return.
        snapshot = self.main.snapshot
        if snapshot is not None and snapshot.running is None:
            self._away = True

    def on_screen_resume(self) -> None:
        self.redraw()

    # -- reading

    def history_changed(self) -> None:
        self.ask(_CATALOG, self.main.world.suites.catalog, self._listed)
        self._read_schedule()

    def _read_schedule(self) -> None:
        self.ask(_SCHEDULE, self.main.world.suites.schedule, self._scheduled)

    def _listed(self, answer: Answer[Catalog]) -> None:
        self._problems[_CATALOG] = answer.problem
        if answer.value is not None:
            self._catalog, self._read_at = answer.value, answer.asked_at
        self.redraw()

    def _scheduled(self, answer: Answer[ScheduleNow]) -> None:
        self._problems[_SCHEDULE] = answer.problem
        if answer.value is not None:
            self._schedule = answer.value
        self.redraw()

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        run = self._shown_run(view)
        shows_run = run is not None and not self._away
        table, page = self.query_one("#suites-table"), self.query_one("#suites-run")
        if page.display != shows_run:
            table.display, page.display = not shows_run, shows_run
            (page if shows_run else self._table.rows).focus()
        if run is not None and shows_run:
            self._draw_run(run, view, width)
        else:
            self._draw_table(view, width)

    def _shown_run(self, view: View) -> RunRecord | None:
        """The run that is on, or the one that was watched until it ended."""
        snapshot = view.snapshot
        if snapshot is None or snapshot.status is None:
            return None
        running, last = snapshot.running, snapshot.status.last_run
        if running is not None:
            if running.id != self._run_id:
                self._run_id, self._away = running.id, False
            return running
        return last if last is not None and last.id == self._run_id else None

    def _draw_table(self, view: View, width: int) -> None:
        heading = [section("SUITES", self._note(view), width, view.glyphs)]
        heading += self._word_lines(view, width)
        self._panel("suites-heading").show(heading)
        rows = suites.table_rows(self._catalog, self._schedule, view, width)
        self._table.show(
            suites.columns(width, self._catalog, self._schedule, view),
            rows,
            # With more rows than the screen, the scroll bar takes some.
            width=width - self._table.rows.styles.scrollbar_size_vertical,
            glyphs=view.glyphs,
        )
        self._draw_detail(view, width, len(heading))

    def _draw_detail(self, view: View, width: int, heading: int) -> None:
        suite, catalog = self._suite, self._catalog
        lines: list[Line] = []
        if suite is not None and catalog is not None:
            room = self.size.height - FRAME_ROWS - heading
            # The table's own heading is a line of it.
            table = min(len(catalog.suites) + 1, max(_LEAST_TABLE, room // 2))
            known = (catalog, self._schedule)
            lines = suites.detail_lines(suite, known, view, width, max(0, room - table))
        self._panel("suite-detail").show(lines)

    def _note(self, view: View) -> Content:
        snapshot, glyphs = view.snapshot, view.glyphs
        if snapshot is not None and snapshot.running is not None:
            words = f"{glyphs.pointer} {clean(snapshot.running.suite)} is running: w shows it"
            return Content.styled(words, marks.BUSY)
        if snapshot is not None and snapshot.starting:
            words = f"{glyphs.busy} asked systemd to start {clean(snapshot.starting)}"
            return Content.styled(words, marks.BUSY)
        if self._catalog is None:
            return Content.styled("not read yet", marks.MUTED)
        return Content.styled(f"{len(self._catalog.suites)} suites", marks.MUTED)

    def _word_lines(self, view: View, width: int) -> list[Line]:
        """What is being asked for long, and what could not be read."""
        lines: list[Line] = []
        for key, what in (
            (_CATALOG, "the suites and their runs"),
            (_SCHEDULE, "the schedule"),
            (_SET, "another schedule"),
        ):
            seconds, problem = self.asking_seconds(key), self._problems.get(key, "")
            if seconds >= 1:
                doing = "asking for" if key == _SET else "reading"
                words = f"{view.glyphs.busy} {doing} {what}, for {duration(seconds)}"
                lines.append(Content.styled(words, marks.BUSY))
            elif problem:
                lines += self._warning(f"{what}: {clean(problem)}{self._age(key, view)}", width)
        now = self._schedule
        if now is not None and now.problem:
            lines += self._warning(f"the schedule is not in effect: {clean(now.problem)}", width)
        return lines

    def _age(self, key: str, view: View) -> str:
        if key != _CATALOG or self._read_at is None:
            return ""
        return f"; this is {duration(view.now - self._read_at)} old"

    def _warning(self, words: str, width: int) -> list[Line]:
        text = f"{self.main.glyphs.warn} {words}"
        return wrapped(text, width=width, style=marks.WARN, rows=2)

    def _draw_run(self, run: RunRecord, view: View, width: int) -> None:
        snapshot = view.snapshot
        room = self.size.height - FRAME_ROWS
        if snapshot is None or snapshot.status is None:
            return
        if snapshot.running is None:
            results = snapshot.status.last_results
            heading = suites_run.ended_heading(run, results, view, width)
            jobs = suites_run.ended_lines(results, width, room - len(heading), view.glyphs)
            latency: list[Line] = []
            chart: list[Line] = []
        else:
            heading = suites_run.run_heading(run, view, width)
            latency = suites_run.latency_lines(run, view, width)
            rest = room - len(heading) - len(latency)
            most = rest - max(_LEAST_CHART, int(_CHART_SHARE * rest))
            jobs = suites_run.job_lines(run, view, width, max(_LEAST_TABLE, most))
            chart = suites_chart.chart_lines(
                run,
                view,
                width,
                max(_LEAST_CHART, rest - len(jobs)),
                choice=self._choice,
                marker=self.marker,
            )
        for part, lines in (
            ("heading", heading), ("jobs", jobs), ("latency", latency), ("chart", chart)
        ):  # fmt: skip
            self._panel(f"suite-run-{part}").show(lines)

    def _panel(self, name: str) -> Panel:
        return self.query_one(f"#{name}", Panel)

    @property
    def _table(self) -> FilterTable:
        return self.query_one("#suites", FilterTable)

    @property
    def _suite(self) -> Suite | None:
        """The suite under the cursor, or the one whose run is shown."""
        known = () if self._catalog is None else self._catalog.suites
        row, snapshot = self._table.current, self.main.snapshot
        name = "" if row is None else row.key
        if self._shows_run and snapshot is not None and snapshot.status is not None:
            run = snapshot.running or snapshot.status.last_run
            name = "" if run is None else run.suite
        return next((one for one in known if one.name == name), None)

    @on(FilterTable.Moved)
    def _moved(self) -> None:
        self.redraw()
        self.main.update_permissions()

    @on(FilterTable.Chosen)
    def _chosen(self) -> None:
        suite, catalog, view = self._suite, self._catalog, self.view
        if suite is not None and catalog is not None and view is not None:
            width = min(106, self.size.width * 92 // 100 - 4)
            text = suites.sheet(suite, (catalog, self._schedule), view, width)
            self.app.push_screen(Sheet(f"Suite {clean(suite.name)}", text))

    # -- what may be done

    def copy_text(self) -> str:
        """The command that does the same from a shell."""
        return "" if self._suite is None else advice.start_suite(self._suite.name)

    @property
    def _shows_run(self) -> bool:
        return bool(self.query_one("#suites-run").display)

    def why_not(self, action: str) -> str:
        if action == "start_suite":
            return self._why_not_start()
        if action == "schedule":
            return self._why_not_schedule()
        if action == "results":
            return "" if self._results_of() else "it has no results yet"
        if action == "watch":
            known = self.view is not None and self._shown_run(self.view) is not None
            return "" if known else "no suite is running"
        if action in {"metric", "zoom", "numbers", "marker"}:
            return self._why_no_chart(action)
        return ""

    def _why_not_start(self) -> str:
        suite, unable = self._suite, self.main.world.unable
        name = "a suite" if suite is None else suite.name
        reason = may_start(self.main.snapshot, name, unable).reason
        return reason or ("" if suite is not None else self._why_no_suite())

    def _why_no_suite(self) -> str:
        if self._catalog is None:
            return self._problems.get(_CATALOG) or "the suites have not been read yet"
        if self._shows_run:
            return "this run's suite is not a built-in one"
        return "no suite is chosen"

    def _why_not_schedule(self) -> str:
        if self.main.world.unable:
            return self.main.world.unable
        if self.is_asking(_SET):
            return "another schedule is being requested"
        if self._suite is None:
            return self._why_no_suite()
        if self._schedule is None:
            return self._problems.get(_SCHEDULE) or "the schedule has not been read yet"
        return ""

    def _why_no_chart(self, action: str) -> str:
        running = None if self.main.snapshot is None else self.main.snapshot.running
        if running is None or not self._shows_run:
            return "only while a run is shown"
        return super().why_not(action)

    def _results_of(self) -> int:
        """The run whose results are asked for: the one that is shown, or the cursor's last."""
        snapshot = self.main.snapshot
        if self._shows_run and snapshot is not None and snapshot.status is not None:
            if snapshot.running is not None:
                return snapshot.running.id if snapshot.run_results else 0
            return self._run_id if snapshot.status.last_results else 0
        suite, catalog = self._suite, self._catalog
        if suite is None or catalog is None:
            return 0
        last = catalog.last.get(suite.name)
        return last.run.id if last is not None and last.results else 0

    # -- actions

    def action_start_suite(self) -> None:
        if self._suite is not None:
            self.main.suite_actions.start(self._suite)

    def action_results(self) -> None:
        from tui.screens.results_run import RunScreen

        run = self._results_of()
        if run:
            self.app.push_screen(RunScreen(str(run)))

    def action_watch(self) -> None:
        self._away = not self._away
        self.redraw()
        self.main.update_permissions()

    def action_schedule(self) -> None:
        from tui.screens.suites_schedule import ScheduleScreen

        suite, now, catalog, view = self._suite, self._schedule, self._catalog, self.view
        if suite is None or now is None or catalog is None or view is None:
            return
        names = [one.name for one in catalog.suites]

        def wished(when: When) -> None:
            self.ask(_SET, lambda: set_times(when), self._set)

        def set_times(when: When) -> None:
            # In what is installed by now: another operator may have set times since it was read.
            known = self.main.world.suites
            known.set_schedule(with_times(known.schedule().text, suite.name, when))

        words = suites.schedule_words(suite.name, now, view)
        self.app.push_screen(
            ScheduleScreen(suite.name, now, words, suites=names, wished=wished, glyphs=view.glyphs)
        )

    def _set(self, answer: Answer[None]) -> None:
        if answer.problem:
            self.main.tell(answer.problem, "error")
        else:
            self.main.tell("the schedule is set")
        self.main.feed.hurry()
        self._read_schedule()

    def action_zoom(self) -> None:
        """Since the job began, or the last minutes."""
        self._since_job = not self._since_job
        self.redraw()

    @property
    def _choice(self) -> Choice:
        return Choice(self.metric, self._since_job)

    def action_numbers(self) -> None:
        view = self.view
        run = None if view is None else self._shown_run(view)
        if view is not None and run is not None:
            text = suites_chart.numbers(run, view, self._choice)
            self.app.push_screen(Sheet(f"{self.metric.words}, each second", text))
