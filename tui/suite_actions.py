"""Starting and cancelling suites: asking the operator, asking systemd, telling what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appliance.model import Suite
from appliance.status import VolumeStatus
from tui.asking import Answer
from tui.permission import may_start
from tui.questions import cancel_question, start_question
from tui.screens.confirm import ConfirmScreen
from tui.widgets.panel import clean

if TYPE_CHECKING:
    from tui.app import StripewrightApp


class SuiteActions:
    """Belongs to the application, because several screens start and cancel."""

    def __init__(self, app: StripewrightApp) -> None:
        self._app = app

    def start(self, suite: Suite, volume: VolumeStatus) -> None:
        """Ask whether ``suite`` shall measure ``volume``, and start it."""
        app = self._app

        def answered(confirmed: bool | None) -> None:
            if not confirmed:
                return
            # The machine went on while the question stood there.
            permission = may_start(app.snapshot, suite.name, app.world.unable)
            if not permission.allowed:
                app.tell(f"not started: {permission.reason}", "error")
                return
            app.asker.ask("start", lambda: app.world.control.start(suite.name), started)

        def started(answer: Answer[None]) -> None:
            if answer.problem:
                app.tell(answer.problem, "error")
            else:
                app.feed.expect_run(suite.name)

        app.push_screen(
            ConfirmScreen(
                f"Start suite {clean(suite.name)} on {clean(volume.name)}?",
                start_question(suite, volume, app.glyphs),
                do=f"Start {clean(suite.name)}",
                leave="Cancel",
            ),
            answered,
        )

    def cancel(self) -> None:
        """Ask whether the suite that runs, or is just starting, shall be stopped."""
        app, snapshot = self._app, self._app.snapshot
        if snapshot is None:
            return
        run = snapshot.running
        suite = snapshot.starting if run is None else run.suite

        def answered(confirmed: bool | None) -> None:
            if confirmed:
                app.asker.ask("stop", lambda: app.world.control.stop(suite), stopped)

        def stopped(answer: Answer[None]) -> None:
            if answer.problem:
                app.tell(answer.problem, "error")
            else:
                app.tell(f"asked systemd to stop {suite}")
                app.feed.hurry()

        app.push_screen(
            ConfirmScreen(
                f"Stop suite {clean(suite)}?",
                cancel_question(run, suite),
                do=f"Stop {clean(suite)}",
                leave="Keep it running",
            ),
            answered,
        )
