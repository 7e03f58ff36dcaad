"""Overview: is it healthy, what is it doing now, how did the last suite do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from appliance.bench.suite import load_suite
from tui.charts.trend import trend_lines
from tui.details import results_sheet
from tui.permission import may_read_results, may_start
from tui.screens.base import FRAME_ROWS, MainScreen
from tui.screens.reading import ReadingScreen
from tui.widgets.disks import disk_lines
from tui.widgets.health import health_lines
from tui.widgets.live import live_lines
from tui.widgets.panel import Panel, View, clean
from tui.widgets.suite import suite_lines, wanted_rows

# What the first screen starts: short, and the one that the timer runs.
_SUITE = "smoke"
_TREND_LEAST, _TREND_MOST = 4, 20
_LIVE_LEAST, _SUITE_LEAST = 6, 5


@dataclass(frozen=True, slots=True)
class Rows:
    """How many lines each changeable part gets."""

    live: int
    trend: int
    suite: int


def share(room: int, *, live: int, suite: int) -> Rows:
    """Divide ``room`` lines: all that live figures and suite want, and the rest to the chart.

    When there is not enough, the chart shrinks first, then the members, then the results.
    With hardly any room each keeps a least height, and the screen scrolls.
    """
    trend = room - live - suite
    if trend < _TREND_LEAST:
        live = max(min(live, _LIVE_LEAST), live + trend - _TREND_LEAST)
        trend = room - live - suite
    if trend < _TREND_LEAST:
        suite = max(min(suite, _SUITE_LEAST), suite + trend - _TREND_LEAST)
        trend = room - live - suite
    return Rows(live, min(_TREND_MOST, max(_TREND_LEAST, trend)), suite)


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
            "toggle_chart",
            "Chart",
            tooltip="show throughput or IOPS in the charts",
            id="overview.chart",
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._operations = False

    def body(self) -> ComposeResult:
        with VerticalScroll(id="overview", can_focus=False):
            for part in ("health", "live", "trend", "suite"):
                yield Panel(id=part)

    def draw(self, view: View, width: int) -> None:
        health = health_lines(view, width)
        devices = self._rows_of_devices(view)
        room = self.size.height - FRAME_ROWS - len(health)
        rows = share(room, live=1 + devices, suite=wanted_rows(view))
        spare = room - rows.live - rows.trend - rows.suite
        # What is left over separates the parts, so that a high screen is not crowded.
        self.set_class(spare >= 3, "-roomy")
        self._panel("health").show(health)
        live = bool(view.snapshot and view.snapshot.live)
        lines = live_lines if live else disk_lines
        self._panel("live").show(lines(view, width, rows.live))
        self._panel("trend").show(trend_lines(view, width, rows.trend, operations=self._operations))
        self._panel("suite").show(suite_lines(view, width, rows.suite))

    def _rows_of_devices(self, view: View) -> int:
        """Devices with live figures; without a volume the disks take their place."""
        snapshot = view.snapshot
        if snapshot is None or snapshot.status is None:
            return 0
        return len(snapshot.live) or len(snapshot.status.disks)

    def why_not(self, action: str) -> str:
        snapshot = self.main.snapshot
        if action == "start_suite":
            return may_start(snapshot, _SUITE, self.main.world.unable).reason
        if action == "results":
            return may_read_results(snapshot).reason
        return ""

    def action_start_suite(self) -> None:
        volume = None if self.main.snapshot is None else self.main.snapshot.mounted_volume
        if volume is not None:
            self.main.suite_actions.start(load_suite(_SUITE), volume)

    def action_results(self) -> None:
        """Show the results of the last run, or of the one that runs as far as it has some."""
        snapshot, glyphs = self.main.snapshot, self.main.glyphs
        if snapshot is None or snapshot.status is None:
            return
        run, results = snapshot.status.last_run, snapshot.status.last_results
        if snapshot.running is not None and snapshot.run_results:
            run, results = snapshot.running, snapshot.run_results
        if run is not None:
            title = f"Results of {clean(run.suite)}, run {run.id}"
            self.app.push_screen(ReadingScreen(title, results_sheet(run, results, glyphs)))

    def action_toggle_chart(self) -> None:
        self._operations = not self._operations
        self.redraw()

    def _panel(self, name: str) -> Panel:
        return self.query_one(f"#{name}", Panel)
