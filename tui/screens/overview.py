"""Overview: is it healthy, what is it doing now, how did the last suite do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll

from appliance.text import duration
from tui.permission import may_read_results, may_start
from tui.screens.base import FRAME_ROWS, MainScreen
from tui.widgets import live, suite
from tui.widgets.disks import disk_lines
from tui.widgets.health import health_lines
from tui.widgets.panel import Line, Panel, View, clean
from tui.widgets.runs import run_lines

if TYPE_CHECKING:
    # What draws charts is loaded when there is something to draw: the first paint comes before.
    from tui.asking import Answer
    from tui.charts.markers import Marker
    from tui.sources.overview import Lookback
    from tui.widgets.pace import Pace, Shown

# What the first screen starts: short, and the one that the timer runs.
_SUITE = "smoke"
_TREND_LEAST, _TREND_USUAL = 4, 14
_LIVE_LEAST, _SUITE_LEAST = 6, 5
# Fewer lines of runs are not worth their heading.
_RUNS_LEAST = 4
# From this width on the charts stand beside all else.
_TWO_COLUMNS_FROM = 170
# Lower screens have one line for each of several volumes.
_HIGH_FROM = 40
_SLOW_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Rows:
    """How many lines each changeable part gets; ``gaps``: an empty line before each."""

    live: int
    trend: int
    suite: int
    runs: int = 0
    gaps: bool = False


def share(room: int, *, live: int, suite: int, runs: int, charts: bool) -> Rows:
    """Divide ``room`` lines: all that live figures and suite want, the rest to charts and runs.

    When there is not enough, the chart shrinks first, then the members, then the results.
    With hardly any room each keeps a least height, and the screen scrolls.
    """
    least = _TREND_LEAST if charts else 0
    trend = room - live - suite
    if trend < least:
        live = max(min(live, _LIVE_LEAST), live + trend - least)
        trend = room - live - suite
    if trend < least:
        suite = max(min(suite, _SUITE_LEAST), suite + trend - least)
        trend = room - live - suite
    spare = max(least, trend)
    parts = (live > 0) + (suite > 0) + charts
    for_runs = spare - (_TREND_USUAL if charts else 0) - parts - 1
    if runs and for_runs >= _RUNS_LEAST:
        runs = min(runs, for_runs)
        return Rows(live, spare - parts - 1 - runs if charts else 0, suite, runs, gaps=True)
    gaps = spare - parts >= _TREND_USUAL
    return Rows(live, (spare - parts * gaps) if charts else 0, suite, gaps=gaps)


class OverviewScreen(MainScreen):
    """The first screen."""

    NAME = "Overview"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "s",
            "start_suite",
            "Start smoke",
            tooltip="measure the volume; asks first",
            id="overview.start",
        ),
        Binding(
            "r",
            "results",
            "Verdicts",
            tooltip="every verdict of the last suite in words",
            id="overview.results",
        ),
        Binding(
            "t",
            "other_chart",
            "Chart",
            tooltip="throughput, IOPS or await in the charts",
            id="overview.chart",
        ),
        Binding(
            "T",
            "numbers",
            "Numbers",
            tooltip="the last minutes as a table",
            id="overview.numbers",
        ),
        Binding(
            "v",
            "volume",
            "Volume",
            tooltip="charts of the next volume",
            show=False,
            id="overview.volume",
        ),
        Binding(
            "m",
            "marker",
            "Marker",
            tooltip="draw charts in braille, blocks or ASCII",
            show=False,
            id="overview.marker",
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._shown: Shown | None = None
        self._marker: Marker | None = None
        self._volume = 0
        self._lookback: Lookback | None = None
        self._problem = ""
        # What the charts on the screen were drawn of.
        self._charts: tuple[object, ...] = ()

    def body(self) -> ComposeResult:
        with VerticalScroll(id="overview", can_focus=False):
            yield Panel(id="health")
            with Horizontal(id="overview-columns"):
                with Vertical(id="overview-left"):
                    for part in ("live", "trend", "suite", "runs"):
                        yield Panel(id=part)
                yield Panel(id="charts")

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        high = self.size.height >= _HIGH_FROM
        health = health_lines(view, width, brief=not high)
        room = self.size.height - FRAME_ROWS - len(health)
        drawn = self._pace(view)
        beside = drawn is not None and width >= _TWO_COLUMNS_FROM
        left = self.size.width // 2 - 2 if beside else width
        lookback = self._lookback
        runs = 1 + len(lookback.runs) if lookback is not None and lookback.runs else 0
        rows = share(
            room,
            live=self._live_rows(view, left),
            suite=suite.wanted_rows(view),
            runs=runs or (_RUNS_LEAST if self._note() else 0),
            charts=drawn is not None and not beside,
        )
        self.set_class(rows.gaps, "-roomy")
        self.set_class(beside, "-beside")
        self._show("health", health)
        self._show("live", self._live(view, left, rows.live))
        levels = {} if lookback is None else lookback.levels
        self._show("suite", suite.suite_lines(view, left, rows.suite, levels=levels))
        shown = () if lookback is None else lookback.runs
        self._show("runs", run_lines(shown, view, left, rows.runs, note=self._note()))
        self._draw_charts(view, drawn, width, rows.trend, room - rows.gaps if beside else 0)

    def _draw_charts(
        self, view: View, drawn: Pace | None, width: int, rows: int, rows_beside: int
    ) -> None:
        below: list[Line] = []
        beside: list[Line] = []
        if drawn is None:
            self._charts = ()
        else:
            from tui.charts.markers import Marker
            from tui.widgets import pace

            marker = self._marker or Marker.usual(view.glyphs)
            drawn, until = pace.settled(drawn, view)
            same = (drawn, until, view.live_is_stale, width, rows, rows_beside, marker, self._shown)
            if same == self._charts:
                return
            self._charts = same
            if rows_beside:
                cells = self.size.width - self.size.width // 2 - 2
                beside = pace.stacked(drawn, view, cells, rows_beside, marker=marker)
            elif rows:
                shown = self._shown or pace.Shown.THROUGHPUT
                below = pace.beside(drawn, view, width, rows, shown=shown, marker=marker)
        self._show("trend", below)
        self._show("charts", beside)

    def _pace(self, view: View) -> Pace | None:
        """What there are charts of."""
        if view.snapshot is None or not view.snapshot.live:
            return None
        from tui.widgets import pace

        return pace.pace_of(view.snapshot, self._volume)

    def _live_rows(self, view: View, width: int) -> int:
        """Devices with live figures; without a volume the disks take their place."""
        snapshot = view.snapshot
        if snapshot is None or snapshot.status is None:
            return 0 if view.history else 1
        if snapshot.live:
            return live.wanted_rows(view, width)
        return 0 if view.history else 1 + len(snapshot.status.disks)

    def _live(self, view: View, width: int, rows: int) -> list[Line]:
        if not rows:
            return []
        has_figures = bool(view.snapshot and view.snapshot.live)
        return (live.live_lines if has_figures else disk_lines)(view, width, rows)

    def _note(self) -> str:
        """What is to be said of the look into the history, if it is not as it should be."""
        waited = self.asking_seconds("lookback")
        if waited > _SLOW_SECONDS:
            return f"reading, for {duration(waited)}"
        return f"not read: {clean(self._problem)}" if self._problem else ""

    # -- what the history says

    def history_changed(self) -> None:
        self.ask("lookback", self.main.world.overview.lookback, self._looked_back)

    def _looked_back(self, answer: Answer[Lookback]) -> None:
        self._problem = answer.problem
        if answer.value is not None:
            self._lookback = answer.value
        self.redraw()

    # -- actions

    def why_not(self, action: str) -> str:
        snapshot = self.main.snapshot
        if action == "start_suite":
            return may_start(snapshot, _SUITE, self.main.world.unable).reason
        if action == "results":
            return may_read_results(snapshot).reason
        if action == "marker" and self.main.world.policy.ascii_only:
            return "this terminal shows ASCII only"
        if action in {"other_chart", "numbers", "volume", "marker"}:
            live_volumes = [] if snapshot is None else snapshot.live_volumes
            if not live_volumes:
                return "there are no live figures of a volume"
            if action == "volume" and len(live_volumes) == 1:
                return "there is only one volume"
        return ""

    def action_start_suite(self) -> None:
        from appliance.bench.suite import load_suite

        self.main.suite_actions.start(load_suite(_SUITE))

    def action_results(self) -> None:
        """Show the results of the last run, or of the one that runs as far as it has some."""
        from tui.details import results_sheet
        from tui.screens.reading import ReadingScreen

        snapshot, glyphs = self.main.snapshot, self.main.glyphs
        if snapshot is None or snapshot.status is None:
            return
        run, results = snapshot.status.last_run, snapshot.status.last_results
        if snapshot.running is not None and snapshot.run_results:
            run, results = snapshot.running, snapshot.run_results
        if run is not None:
            title = f"Results of {clean(run.suite)}, run {run.id}"
            self.app.push_screen(ReadingScreen(title, results_sheet(run, results, glyphs)))

    def action_other_chart(self) -> None:
        from tui.widgets.pace import Shown

        self._shown = (self._shown or Shown.THROUGHPUT).next
        self.redraw()

    def action_marker(self) -> None:
        from tui.charts.markers import Marker

        now = self._marker or Marker.usual(self.main.glyphs)
        self._marker = now.next(self.main.glyphs)
        self.redraw()

    def action_volume(self) -> None:
        self._volume += 1
        self.redraw()

    def action_numbers(self) -> None:
        """Show what the charts show as a table, as of now."""
        from tui.screens.reading import ReadingScreen
        from tui.widgets import pace

        view = self.main.view()
        drawn = self._pace(view)
        if drawn is not None:
            title = f"The last minutes of {clean(drawn.volume)}, means of 10 s"
            self.app.push_screen(
                ReadingScreen(title, pace.table_text(pace.numbers(drawn, view), view))
            )

    def _show(self, name: str, lines: list[Line]) -> None:
        panel = self.query_one(f"#{name}", Panel)
        panel.display = bool(lines)
        panel.show(lines)
