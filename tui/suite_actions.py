"""Start and cancel suites: ask the operator, ask systemd, report the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.asking import Answer
from tui.permission import may_measure, may_start
from tui.widgets.panel import clean

if TYPE_CHECKING:
    from appliance.client.machine_status import VolumeStatus
    from appliance.model.runs import Suite
    from tui.app import StripewrightApp
    from tui.screens.sheet import Item

_START = "start"


class SuiteActions:
    """Belongs to the application, because several screens start and cancel."""

    def __init__(self, app: StripewrightApp) -> None:
        self._app = app

    def start(self, suite: Suite, volume: VolumeStatus | None = None) -> None:
        """Ask whether ``suite`` shall measure ``volume``, and start it.

        Without a volume, and if there are several, which of them is asked first.
        """
        app, snapshot = self._app, self._app.snapshot
        if snapshot is None or snapshot.status is None:
            return
        volumes = snapshot.status.volumes
        if volume is None and len(volumes) > 1:
            from tui.screens.sheet import Pick

            def chosen(name: str | None) -> None:
                found = next((one for one in volumes if one.name == name), None)
                if found is not None:
                    self._question(suite, found)

            items = [_item(suite, one) for one in volumes]
            app.push_screen(Pick(f"Measure which volume with {clean(suite.name)}?", items), chosen)
            return
        volume = volume or snapshot.mounted_volume
        if volume is not None:
            self._question(suite, volume)

    def _question(self, suite: Suite, volume: VolumeStatus) -> None:
        from tui.questions import start_question
        from tui.screens.sheet import Reply, Sheet

        app = self._app
        refusal = may_measure(suite, volume)
        if not refusal.allowed:
            app.tell(f"not started: {refusal.reason}", "warning")
            return

        def answered(confirmed: str | None) -> None:
            if not confirmed:
                return
            # The machine went on while the question stood there.
            permission = may_start(app.snapshot, suite.name, app.world.unable)
            if not permission.allowed:
                app.tell(f"not started: {permission.reason}", "error")
                return
            if app.asker.waiting_since(_START) is not None:
                # It would wait for its turn, and begin long after it was asked for.
                app.tell("not started: systemd has not answered the start before", "error")
                return
            named = self._named(volume)
            app.asker.ask(
                _START,
                lambda: app.world.control.start(suite.name, named),
                lambda answer: started(answer, named),
            )

        def started(answer: Answer[None], named: str) -> None:
            if answer.problem:
                app.tell(answer.problem, "error")
            else:
                app.feed.expect_run(suite.name, named)

        app.push_screen(
            Sheet(
                f"Start suite {clean(suite.name)} on {clean(volume.name)}?",
                start_question(suite, volume, app.glyphs),
                [Reply("do", f"Start {clean(suite.name)}")],
            ),
            answered,
        )

    def _named(self, volume: VolumeStatus) -> str:
        """How the unit names ``volume``: not at all where there is but one, as the timers do, so
        that it is the same unit as theirs.
        """
        snapshot = self._app.snapshot
        volumes = () if snapshot is None or snapshot.status is None else snapshot.status.volumes
        return "" if [one.name for one in volumes] == [volume.name] else volume.name

    def cancel(self) -> None:
        """Ask whether the suite that runs, or is just starting, shall be stopped."""
        from tui.questions import cancel_question
        from tui.screens.sheet import Reply, Sheet

        app, snapshot = self._app, self._app.snapshot
        if snapshot is None:
            return
        run = snapshot.running
        suite = snapshot.starting if run is None else run.suite
        volume = snapshot.starting_volume if run is None else ""
        pid = 0 if run is None else run.pid

        def answered(confirmed: str | None) -> None:
            if not confirmed:
                return
            now = None if app.snapshot is None else app.snapshot.running
            if run is not None and (now is None or now.id != run.id):
                # What was asked about is over, and another run is not to be stopped for it.
                app.tell(f"{suite} has ended meanwhile", "warning")
                return
            app.asker.ask("stop", lambda: app.world.control.stop(suite, volume, pid), stopped)

        def stopped(answer: Answer[None]) -> None:
            if answer.problem:
                app.tell(answer.problem, "error")
            else:
                app.tell(f"asked systemd to stop {suite}")
                app.feed.hurry()

        app.push_screen(
            Sheet(
                f"Stop suite {clean(suite)}?",
                cancel_question(run, suite),
                [Reply("do", f"Stop {clean(suite)}", danger=True)],
                leave="Keep it running",
            ),
            answered,
        )


def _item(suite: Suite, volume: VolumeStatus) -> Item:
    from textual.content import Content

    from appliance.text import size
    from tui import marks
    from tui.screens.sheet import Item

    disks = len(volume.members)
    about = f"{volume.mount}, {disks} disk{'s' * (disks != 1)}"
    if volume.free_bytes is not None:
        about += f", {size(volume.free_bytes)} free"
    reason = clean(may_measure(suite, volume).reason)
    name = Content.assemble(
        f"{clean(volume.name):12} ", ("" if reason else clean(about), marks.MUTED)
    )
    return Item(volume.name, name, reason)
