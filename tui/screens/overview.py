"""Overview: is it healthy, what is it doing now, how did the last suite do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.geometry import Size

from appliance.text import duration
from tui.permission import may_read_results, may_start
from tui.screens.base import MainScreen
from tui.screens.charted import Charted, chart_keys
from tui.tracks import Followed, Wait, volumes, waits
from tui.widgets import live
from tui.widgets.disks import disk_lines
from tui.widgets.health import health_lines
from tui.widgets.keys import Scroll
from tui.widgets.live import Shown
from tui.widgets.panel import Line, Panel, View, clean
from tui.widgets.runs import run_lines
from tui.widgets.suite import suite_lines

if TYPE_CHECKING:
    # What draws charts is loaded when there is something to draw: the first paint comes before.
    from tui.asking import Answer
    from tui.charts.markers import Marker
    from tui.sources.overview import Lookback

# What the first screen starts: short, and the one that the timer runs.
_SUITE = "smoke"
_SLOW_SECONDS = 1.0
# Less than a dot of a terminal of 80 columns; a chart takes more time than all else of a screen.
_DRAWN_EVERY_SECONDS = 2.0


class Fitted(Panel):
    """Has as many lines as the style sheet leaves it, of those that it could have."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._wanted = 0
        self._make: Callable[[int], list[Line]] | None = None

    def fit(self, wanted: int, make: Callable[[int], list[Line]]) -> None:
        """Show what ``make`` gives for at most so many lines; ``wanted`` are all of them."""
        self.set_class(wanted == 0, "-empty")
        self._make = make
        if wanted != self._wanted:
            self._wanted = wanted
            self.refresh(layout=True)
        self.on_resize()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return self._wanted

    def on_resize(self) -> None:
        if self._make is not None and (rows := self.content_size.height):
            self.show(self._make(rows))


class Chart(Panel):
    """A chart as large as the style sheet has it: its heading each second, its body less often."""

    def __init__(self, shown: Shown) -> None:
        super().__init__(id=f"chart-{shown.name.lower()}")
        self.add_class("chart")
        self._shown = shown
        self._drawn: tuple[object, ...] = ()
        self._body: list[Line] = []
        self._draw: Callable[[], None] | None = None

    def draw(self, view: View, volume: Followed, marker: Marker, *, several: bool) -> None:
        """Draw what ``volume`` did; without a size yet, as soon as there is one."""
        from tui.widgets import pace

        self._draw = lambda: self.draw(view, volume, marker, several=several)
        width, height = self.content_size
        if height < 2 or not self.display:
            return
        step = view.wall // _DRAWN_EVERY_SECONDS
        drawn = (step, pace.axis_end(view), volume, view.live_is_stale, width, height, marker)
        if drawn != self._drawn:
            self._drawn = drawn
            self._body = pace.chart_lines(
                view, volume, self._shown, width, height - 1, marker=marker
            )
        head = pace.heading(view, volume, self._shown, width, several=several)
        self.show([head, *self._body])

    def on_resize(self) -> None:
        if self._draw is not None:
            self._draw()


class OverviewScreen(MainScreen, Charted[None]):
    """The first screen."""

    NAME = "Overview"
    # Textual's own annotation of these is one of an instance.
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [  # type: ignore[misc]
        (0, "-narrow"), (110, "-broad"), (170, "-beside"),
    ]  # fmt: skip
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [  # type: ignore[misc]
        (0, "-low"), (40, "-tall"),
    ]  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "start_suite", "Start smoke", tooltip="measure the volume; asks first",
                id="overview.start"),
        Binding("r", "results", "Verdicts", tooltip="the last suite, all figures and verdicts",
                id="overview.results"),
        Binding("enter", "slow", "Slow disk", tooltip="to the slowest member on Disks",
                id="overview.slow"),
        *chart_keys("mTM", footer="mT"),
        Binding("v", "volume", "Volume", tooltip="members and charts of the next volume",
                show=False, id="overview.volume"),
    ]  # fmt: skip

    metric: Shown

    def __init__(self) -> None:
        super().__init__()
        self.metric = Shown.AWAIT
        # The volume that was chosen; before that the one that needs to be seen.
        self._volume: int | None = None
        self._lookback: Lookback | None = None
        self._problem = ""

    def body(self) -> ComposeResult:
        with Scroll(id="overview"):
            yield Panel(id="health")
            with Container(id="overview-columns"):
                with Vertical(id="overview-left"):
                    yield Panel(id="live")
                    yield Fitted(id="members")
                    yield Fitted(id="suite")
                    yield Fitted(id="runs")
                with Container(id="charts"):
                    for shown in Shown:
                        yield Chart(shown)

    def on_mount(self) -> None:
        self.focus_first(Scroll)

    # -- drawing

    def draw(self, view: View, width: int) -> None:
        self.query_one("#health", Panel).show(
            health_lines(view, width, brief=self.has_class("-low"))
        )
        left = width // 2 - 1 if self.has_class("-beside") else width
        volume = live.volume_of(view, self._volume)
        # Without figures there is room for what was measured before.
        self.set_class(volume is None, "-at-rest")
        now = live.live_lines(view, left, self.metric)
        panel = self.query_one("#live", Panel)
        panel.set_class(not now, "-empty")
        panel.show(now)
        several = len(now) > 2

        def members(rows: int) -> list[Line]:
            if volume is None:
                return disk_lines(view, left, rows)
            return live.member_lines(view, volume, left, rows, self.metric, several=several)

        wanted = len(disk_lines(view, left))
        if volume is not None:
            wanted = 1 + len(live.members_of(view, volume))
        self.query_one("#members", Fitted).fit(wanted, members)
        lookback = self._lookback
        levels = {} if lookback is None else lookback.levels
        result = suite_lines(view, left, levels=levels)
        self.query_one("#suite", Fitted).fit(
            len(result), lambda rows: suite_lines(view, left, rows, levels=levels)
        )
        runs = run_lines(lookback, view, left, note=self._note())
        self.query_one("#runs", Fitted).fit(len(runs), lambda rows: runs[:rows])
        self._draw_charts(view, volume, several=several)

    def _draw_charts(self, view: View, volume: Followed | None, *, several: bool) -> None:
        self.query_one("#charts").set_class(volume is None, "-empty")
        if volume is None or self.has_class("-low"):
            return
        for chart in self.query(Chart):
            chart.set_class(chart.id == f"chart-{self.metric.name.lower()}", "-chosen")
            chart.draw(view, volume, self.marker, several=several)

    def _note(self) -> str:
        """What is to be said of the look into the history, if it is not as it should be."""
        waited = self.asking_seconds("lookback")
        if waited > _SLOW_SECONDS:
            return f"reading, for {duration(waited)}"
        return f"not read: {clean(self._problem)}" if self._problem else ""

    # -- what the history says

    def history_changed(self) -> None:
        snapshot = self.main.snapshot
        status = None if snapshot is None else snapshot.status
        if snapshot and status and not (snapshot.history_mark or status.history_problem):
            return  # there is no history yet, which is no problem
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
        if action == "slow":
            return "" if self._slow is not None else "no member is slow"
        if reason := super().why_not(action):
            return reason
        if action in {"metric", "numbers", "volume", "marker"}:
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
        """Show the last run, or the one that runs as far as it has results."""
        from tui.screens.results_run import RunScreen

        snapshot = self.main.snapshot
        if snapshot is None or snapshot.status is None:
            return
        run = snapshot.running if snapshot.run_results else snapshot.status.last_run
        if run is not None:
            self.app.push_screen(RunScreen(str(run.id)))

    @property
    def _slow(self) -> Wait | None:
        """The slowest member of all volumes, if one is slow."""
        seconds = self.main.view().seconds
        found = (one for volume in volumes(seconds) for one in waits(seconds, volume))
        return max((one for one in found if one.is_slow), key=lambda one: one.factor, default=None)

    def action_slow(self) -> None:
        if self._slow is not None:
            self.main.visit("disks", self._slow.member.device)

    def action_volume(self) -> None:
        view = self.main.view()
        names = [] if view.snapshot is None else view.snapshot.live_volumes
        present = live.volume_of(view, self._volume)
        self._volume = 1 + (names.index(present.label) if present else 0)
        self.redraw()

    def action_numbers(self) -> None:
        """Show what the charts show as a table, as of now."""
        from tui.screens.sheet import Sheet
        from tui.widgets import pace

        view = self.main.view()
        volume = live.volume_of(view, self._volume)
        if volume is not None:
            title = f"The last minutes of {clean(volume.label)}, means of 10 s"
            text = pace.table_text(pace.numbers(view, volume), view)
            self.app.push_screen(Sheet(title, text))
