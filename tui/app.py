"""The application: modes, keys, palette, and the way from the feed to the screens."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.markup import escape
from textual.screen import Screen

from appliance import paths
from appliance.bench.suite import load_suite
from appliance.errors import OperatorError
from appliance.model import RunState
from tui import marks
from tui.details import results_sheet
from tui.feed import Feed, Snapshot, describe
from tui.help import described, help_text
from tui.messages import ActionDone, SnapshotReady
from tui.permission import Permission, may_cancel, may_read_results, may_start
from tui.questions import cancel_question, start_question
from tui.screens.base import MainScreen
from tui.screens.confirm import ConfirmScreen
from tui.screens.disks import DisksScreen
from tui.screens.overview import OverviewScreen
from tui.screens.reading import ReadingScreen
from tui.sources import MachineControl, MachineSources, why_unable
from tui.terminal import POOR_THEME, Policy, decide
from tui.theme import CALM
from tui.widgets.panel import View, clean

SUITE = "smoke"


class Control(Protocol):
    """Starts and stops suites; may block, raises OperatorError."""

    def start(self, suite: str) -> None: ...

    def stop(self, suite: str) -> None: ...


class FeedControl(Protocol):
    """What the application asks of its feed."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def hurry(self) -> None: ...

    def expect_run(self, suite: str) -> None: ...


def _in_thread(work: Callable[[], None]) -> None:
    # A daemon thread, not a Textual worker: leaving must not wait for a stuck systemctl.
    threading.Thread(target=work, name="action", daemon=True).start()


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside that the application needs, so that tests can give their own."""

    feed: Callable[[Callable[[Snapshot], None]], FeedControl]
    control: Control
    policy: Policy
    unable: str = ""
    host: str = ""
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    in_background: Callable[[Callable[[], None]], None] = field(default=_in_thread)


class StripewrightApp(App[int]):
    """Screens over one feed of snapshots."""

    TITLE = "stripewright"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar[dict[str, Callable[[], MainScreen]]] = {  # type: ignore[assignment]
        "overview": OverviewScreen,
        "disks": DisksScreen,
    }
    DEFAULT_MODE = "overview"

    def __init__(self, world: World) -> None:
        # Told at once, because Textual chooses here what NO_COLOR does to the colours.
        super().__init__(ansi_color=True if world.policy.theme == POOR_THEME else None)
        self._world = world
        self._snapshot: Snapshot | None = None
        self._glyphs = marks.ASCII if world.policy.ascii_only else marks.UNICODE
        self._feed = world.feed(self._receive)
        self._started = world.clock()
        self._allowed: tuple[bool, ...] = ()
        # Every repaint travels through SSH, so nothing moves for its own sake.
        self.animation_level = "none"
        self.register_theme(CALM)
        self.theme = world.policy.theme

    def on_mount(self) -> None:
        self.set_class(self._world.policy.ascii_only, "-ascii")
        self.present()
        self.set_interval(self._world.policy.interval_seconds, self.present)
        # Paint first, probe after.
        self.call_after_refresh(self._feed.start)

    def on_unmount(self) -> None:
        self._feed.stop()

    # -- from the feed to the screens

    def _receive(self, snapshot: Snapshot) -> None:
        """Take a snapshot, in the feed's thread."""
        self.post_message(SnapshotReady(snapshot))

    def on_snapshot_ready(self, message: SnapshotReady) -> None:
        before, self._snapshot = self._snapshot, message.snapshot
        self._tell_changes(before, message.snapshot)
        self.present()

    def view(self) -> View:
        """Look at the last snapshot as of now."""
        world = self._world
        return View(
            self._snapshot, world.clock(), world.wall(), self._glyphs, world.host, self._started
        )

    def present(self) -> None:
        """Draw the present view on the main screen that is (or lies under what is) shown."""
        screen = self.main_screen
        if screen is not None:
            screen.present(self.view())
        allowed = tuple(
            self._permission(name).allowed for name in ("start_suite", "cancel_run", "results")
        )
        if allowed != self._allowed:
            self._allowed = allowed
            self.refresh_bindings()

    @property
    def main_screen(self) -> MainScreen | None:
        """The main screen of the present mode."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, MainScreen):
                return screen
        return None

    def _tell_changes(self, before: Snapshot | None, after: Snapshot) -> None:
        """Notify of what the operator waits for: a start that failed, a run that ended."""
        if after.start_problem and (before is None or before.start_problem != after.start_problem):
            self._complain(f"{SUITE} did not start: {after.start_problem}")
        was = None if before is None else before.running
        last = None if after.status is None else after.status.last_run
        if was is None or after.running is not None or last is None or last.id != was.id:
            return
        results = () if after.status is None else after.status.last_results
        good = sum(result.valid for result in results)
        text = f"{last.suite} {last.state.value}: {good} of {len(results)} results valid"
        if last.reason:
            text += f"; {last.reason}"
        fine = last.state is RunState.COMPLETE and good == len(results)
        self.notify(clean(text), severity="information" if fine else "warning", markup=False)

    def _complain(self, text: str) -> None:
        self.notify(clean(text), severity="error", timeout=15, markup=False)

    # -- what may be done

    def _permission(self, action: str) -> Permission:
        action = action.removeprefix("app.")
        if action == "start_suite":
            return may_start(self._snapshot, SUITE, self._world.unable)
        if action == "cancel_run":
            return may_cancel(self._snapshot, self._world.unable)
        if action == "results":
            return may_read_results(self._snapshot)
        return Permission()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        # None shows the key as disabled; on_key then says why.
        return True if self._permission(action).allowed else None

    def on_key(self, event: events.Key) -> None:
        """Say why not, when a key gets here: it has no binding, or a disabled one."""
        entry = self.screen.active_bindings.get(event.key)
        if entry is not None and not entry.enabled:
            self._say_why_not(entry.binding)
            event.prevent_default()

    def _say_why_not(self, binding: Binding) -> None:
        reason = self._permission(binding.action).reason
        if reason:
            text = f"{binding.description}: {reason}"
            self.notify(clean(text), severity="warning", markup=False)

    # -- actions

    def action_show(self, mode: str) -> None:
        """Go to a main screen."""
        self.switch_mode(mode)
        self.call_after_refresh(self.present)

    def action_update(self) -> None:
        self._feed.hurry()

    def action_start_suite(self) -> None:
        volume = None if self._snapshot is None else self._snapshot.mounted_volume
        if volume is None:
            return
        try:
            suite = load_suite(SUITE)
        except OperatorError as error:
            self._complain(describe(error))
            return
        self.push_screen(
            ConfirmScreen(
                f"Start suite {SUITE} on {clean(volume.name)}?",
                start_question(suite, volume, self._glyphs),
                do=f"Start {SUITE}",
                leave="Cancel",
            ),
            self._start_confirmed,
        )

    def _start_confirmed(self, confirmed: bool | None) -> None:
        if not confirmed:
            return
        # The machine went on while the question stood there.
        permission = self._permission("start_suite")
        if not permission.allowed:
            self._complain(f"not started: {permission.reason}")
            return
        self._ask(SUITE, start=True)

    def action_cancel_run(self) -> None:
        snapshot = self._snapshot
        if snapshot is None:
            return
        run = snapshot.running
        suite = snapshot.starting if run is None else run.suite

        def answered(confirmed: bool | None) -> None:
            if confirmed:
                self._ask(suite, start=False)

        self.push_screen(
            ConfirmScreen(
                f"Stop suite {clean(suite)}?",
                cancel_question(run, suite),
                do=f"Stop {clean(suite)}",
                leave="Keep it running",
            ),
            answered,
        )

    def _ask(self, suite: str, *, start: bool) -> None:
        """Ask systemd in a thread of its own; the answer comes back as a message."""

        def work() -> None:
            problem = ""
            try:
                if start:
                    self._world.control.start(suite)
                else:
                    self._world.control.stop(suite)
            except OperatorError as error:
                problem = describe(error)
            self.post_message(ActionDone(suite, started=start, problem=problem))

        self._world.in_background(work)

    def on_action_done(self, message: ActionDone) -> None:
        if message.problem:
            self._complain(message.problem)
        elif message.started:
            self._feed.expect_run(message.suite)
        else:
            self.notify(clean(f"asked systemd to stop {message.suite}"), markup=False)
            self._feed.hurry()

    def action_results(self) -> None:
        status = None if self._snapshot is None else self._snapshot.status
        if self._snapshot is None or status is None:
            return
        run, results = status.last_run, status.last_results
        if status.running is not None and self._snapshot.run_results:
            run, results = status.running, self._snapshot.run_results
        if run is not None:
            title = f"Results of {clean(run.suite)}, run {run.id}"
            self.push_screen(ReadingScreen(title, results_sheet(run, results, self._glyphs)))

    def action_help(self) -> None:
        rows = [
            (self.get_key_display(entry.binding), entry.binding, self._reason(entry.binding.action))
            for entry in described(self.screen.active_bindings)
        ]
        name = getattr(self.screen, "NAME", "")
        self.push_screen(ReadingScreen(f"Keys on {name}", help_text(rows, self._glyphs)))

    def _reason(self, action: str) -> str:
        return clean(self._permission(action).reason)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Fill the palette with every action of the bindings, and the choice of a theme."""
        for entry in described(screen.active_bindings):
            binding, reason = entry.binding, self._reason(entry.binding.action)
            about = f"not now: {reason}" if reason else binding.tooltip or ""
            yield SystemCommand(
                binding.description, escape(about), self._palette_action(entry.node, binding)
            )
        yield SystemCommand("Theme", "choose other colours", self.action_change_theme)

    def _palette_action(self, node: object, binding: Binding) -> Callable[[], object]:
        async def run_it() -> None:
            if self._reason(binding.action):
                self._say_why_not(binding)
            else:
                await self.run_action(binding.action, node if isinstance(node, Screen) else self)

        return run_it


def run(db: Path | None) -> int:
    """Show the screens until the operator leaves; returns the exit code.

    ``db`` is the history to read, by default this machine's. Raises
    :class:`tui.terminal.TerminalUnusable` (before anything is drawn) where no screen can be.
    """
    policy = decide(os.environ)
    history = db or paths.HISTORY_DB
    world = World(
        feed=lambda post: Feed(MachineSources(history), post, policy.interval_seconds),
        control=MachineControl(),
        policy=policy,
        unable=why_unable(history),
        host=socket.gethostname(),
    )
    app = StripewrightApp(world)
    app.run()
    return app.return_code or 0
