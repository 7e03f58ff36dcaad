"""The application: screens, keys, palette, and the way from the feed to the screens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from rich.console import RenderableType
from textual import events
from textual._compositor import ChopsUpdate
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.command import CommandPalette
from textual.content import Content
from textual.dom import DOMNode
from textual.markup import escape
from textual.message_pump import MessagePump
from textual.screen import Screen

from appliance.text import printable
from tui import marks, plain
from tui.asking import Answer, Asker
from tui.help import described, help_text
from tui.narrow import NarrowUpdate
from tui.permission import may_cancel
from tui.screens.base import FrameScreen, MainScreen
from tui.snapshot import Snapshot
from tui.suite_actions import SuiteActions
from tui.tabs import TABS
from tui.terminal import POOR_THEME, THEMES
from tui.theme import EXTRA
from tui.theme import THEMES as OURS
from tui.widgets.panel import View, clean
from tui.world import World

if TYPE_CHECKING:
    from tui.jump import Target
    from tui.screens.layout import LayoutScreen

_Severity = Literal["information", "warning", "error"]
# Each snapshot is drawn when it comes; without one for so long the screens draw by themselves.
_SILENT_INTERVALS = 1.5
# The next key is taken at the latest so long after the one before.
_KEY_SECONDS = 1.0


class StripewrightApp(App[int]):
    """Screens over one feed of snapshots."""

    TITLE = "stripewright"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar[dict[str, Callable[[], MainScreen]]] = {  # type: ignore[assignment]
        tab.mode: tab.make for tab in TABS
    }
    DEFAULT_MODE = TABS[0].mode

    def __init__(self, world: World) -> None:
        # Told at once, because Textual chooses here what NO_COLOR does to the colours.
        super().__init__(ansi_color=True if world.policy.theme == POOR_THEME else None)
        # From here on the theme says it: it can be changed.
        self.set_reactive(StripewrightApp.ansi_color, None)
        self.world = world
        self.snapshot: Snapshot | None = None
        self.glyphs = marks.ASCII if world.policy.ascii_only else marks.UNICODE
        self.asker = Asker(self.call_later, world.clock, world.in_background)
        self.suite_actions = SuiteActions(self)
        self.feed = world.feed(lambda snapshot: self.call_later(self._receive, snapshot))
        self._started = self._received = world.clock()
        self._allowed: tuple[tuple[str, bool], ...] = ()
        self._typed: deque[events.Key] = deque()
        # The mode that a link was followed from, by the mode it led to.
        self._came_from: dict[str, str] = {}
        self._quitting: Screen[str] | None = None
        self._records: list[Target] = []
        # Every repaint travels through SSH, so nothing moves for its own sake.
        self.animation_level = "none"
        for theme in OURS:
            self.register_theme(theme)
        self.theme = world.policy.theme

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, self._resumed)
        self.set_class(self.world.policy.ascii_only, "-ascii")
        self.present()
        if self.world.settings.problem:
            self.tell(self.world.settings.problem, "warning")
        self.set_interval(self.world.policy.interval_seconds, self._go_on)
        # Paint first, probe after.
        self.call_after_refresh(self.feed.start)

    def _resumed(self, _: object) -> None:
        """After ctrl+z and fg the terminal is empty: all of it is drawn, not only what changes."""
        self.screen.refresh(layout=True)

    def on_unmount(self) -> None:
        self.feed.stop()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        plain.stand_still(event.widget)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(EXTRA)

    def get_key_display(self, binding: Binding) -> str:
        shown = super().get_key_display(binding)
        return plain.key_text(shown) if self.world.policy.ascii_only else shown

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if isinstance(renderable, ChopsUpdate):
            renderable = NarrowUpdate.of(renderable)
        super()._display(screen, renderable)

    # -- from the feed

    def _receive(self, snapshot: Snapshot) -> None:
        before, self.snapshot = self.snapshot, snapshot
        self._received = self.world.clock()
        self._tell_changes(before, snapshot)
        self.present()

    def _go_on(self) -> None:
        """Draw without a snapshot if none has come: clock and ages advance."""
        silent = self.world.clock() - self._received
        if silent > _SILENT_INTERVALS * self.world.policy.interval_seconds:
            self.present()

    # -- drawing

    def view(self) -> View:
        """Look at the last snapshot as of now."""
        world = self.world
        return View(
            self.snapshot,
            world.clock(),
            world.wall(),
            self.glyphs,
            world.host,
            self._started,
            world.history,
        )

    def present(self) -> None:
        """Draw the present view on the main screen that is (or lies under what is) shown."""
        screen = self.main_screen
        if screen is None:
            return  # the application ends
        view = self.view()
        screen.present(view)
        for over in self.screen_stack:
            if isinstance(over, FrameScreen) and over is not screen:
                over.present(view)
        self.update_permissions()

    def update_permissions(self) -> None:
        """Draw the footer again if something can be done now that could not, or the reverse."""
        allowed = tuple(
            (entry.binding.action, entry.enabled) for entry in self.screen.active_bindings.values()
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

    # -- telling

    def tell(self, text: str, severity: _Severity = "information") -> None:
        """Show ``text`` for some seconds; whatever it has of disks or files is only text."""
        seconds = 15 if severity == "error" else None
        self.notify(clean(text), severity=severity, timeout=seconds, markup=False)

    def _tell_changes(self, before: Snapshot | None, after: Snapshot) -> None:
        """Notify of what the operator waits for: a start that failed, a run that ended."""
        if after.start_problem and (before is None or before.start_problem != after.start_problem):
            self.tell(after.start_problem, "error")
        from appliance.model.runs import RunState

        was = None if before is None else before.running
        last = None if after.status is None else after.status.last_run
        # Report its end even if the next one has begun.
        now = after.running
        if was is None or (now is not None and now.id == was.id):
            return
        if last is None or last.id != was.id:
            return
        results = () if after.status is None else after.status.last_results
        good = sum(result.valid for result in results)
        text = f"{last.suite} {last.state.value}: {good} of {len(results)} results valid"
        if last.reason:
            text += f"; {last.reason}"
        fine = last.state is RunState.COMPLETE and good == len(results)
        self.tell(text, "information" if fine else "warning")

    # -- what may be done

    def why_not(self, action: str) -> str:
        """Why ``action`` of the application cannot be done now; empty if it can."""
        if action == "cancel_run":
            return may_cancel(self.snapshot, self.world.unable).reason
        return ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        # None shows the key as disabled; on_key then says why.
        return None if self.why_not(action) else True

    async def on_event(self, event: events.Event) -> None:
        """Take one key after the other: what a key does may change whose the next one is.

        Textual hands keys on as they come. Through SSH many come in one read, and words typed
        behind the key that opens a line for them would be commands of the screen.
        """
        if isinstance(event, events.Paste) and not event.is_forwarded:
            # Textual draws what is in a line as it is, and this may be out of anybody's log.
            event.text = "\n".join(map(printable, event.text.splitlines()))
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._typed.append(event)
            if len(self._typed) == 1:
                await self._hand_on(event)
        else:
            await super().on_event(event)

    async def _hand_on(self, key: events.Key) -> None:
        target: MessagePump = self.focused or self.screen
        await super().on_event(key)
        # A widget removed meanwhile never reaches the key's action.
        self.set_timer(_KEY_SECONDS, partial(self._next_key, key))
        # One with priority was obeyed here.
        self._go_behind(key, target if key.is_forwarded else self)

    def _go_behind(self, key: events.Key, node: MessagePump | None) -> None:
        """Go the way of ``key`` behind it, from ``node`` up to here."""
        if node is None or node is self:
            self.call_later(self._next_key, key)
        else:
            node.call_later(self._go_behind, key, node._parent)

    async def _next_key(self, key: events.Key) -> None:
        if self._typed and self._typed[0] is key:
            self._typed.popleft()
            if self._typed:
                await self._hand_on(self._typed[0])

    def on_key(self, event: events.Key) -> None:
        """Say why not, when a key gets here: it has no binding, or a disabled one."""
        entry = self.screen.active_bindings.get(event.key)
        if entry is not None and not entry.enabled:
            self._say_why_not(entry.node, entry.binding)
            event.prevent_default()

    def _reason(self, node: DOMNode, action: str) -> str:
        """Why ``action``, bound at ``node``, cannot be done; of the application or of a screen."""
        words = action.partition("(")[0]
        name = words.rpartition(".")[2]
        asked = self if words.startswith("app.") else node
        why = getattr(asked, "why_not", None)
        return "" if why is None else clean(why(name))

    def _say_why_not(self, node: DOMNode, binding: Binding) -> None:
        if reason := self._reason(node, binding.action):
            self.tell(f"{binding.description}: {reason}", "warning")

    # -- actions

    def action_show(self, mode: str) -> None:
        """Go to a main screen."""
        self._came_from.pop(mode, None)
        self.switch_mode(mode)
        self.call_after_refresh(self.present)

    def visit(self, mode: str, name: str) -> None:
        """Follow a link: go to what is called ``name`` on a main screen; escape comes back."""
        before = self.current_mode
        while not isinstance(self.screen, MainScreen) and before == mode:
            self.pop_screen()
        self.action_show(mode)
        if before != mode:
            self._came_from[mode] = before
        self.call_after_refresh(self._jump, name)

    def _jump(self, name: str) -> None:
        if self.main_screen is not None:
            self.main_screen.jump(name)

    async def action_back(self) -> None:
        """From a page to what is below it, from a main screen to where a link was followed, or to
        the first one.
        """
        if not isinstance(self.screen, MainScreen):
            self.screen.dismiss()
        elif (before := self._came_from.pop(self.current_mode, "")) or (
            self.current_mode != self.DEFAULT_MODE
        ):
            self.action_show(before or self.DEFAULT_MODE)

    async def action_quit(self) -> None:
        """Leave; where the draft of a layout would be lost, ask first."""
        from tui.screens.sheet import Reply, Sheet

        # Only a screen that was shown has a stack.
        with suppress(KeyError):
            layout = cast("LayoutScreen", self.get_screen_stack("layout")[0])
            lost = layout.draft.exceeds(layout.work.running)
            if lost and self._quitting not in self.screen_stack:
                words = Content("The draft will be lost.")
                self._quitting = Sheet(
                    "Quit without the draft?", words, [Reply("quit", "Quit", danger=True)]
                )
                self.push_screen(self._quitting, lambda reply: self.exit() if reply else None)
                return
        self.exit()

    def action_help_quit(self) -> None:
        """Say how to leave: ctrl+c is what many try first."""
        self.tell("q leaves (escape first, where text is typed); ctrl+z suspends; x cancels a run")

    def action_copy(self) -> None:
        """Hand the text that is looked at to the terminal's clipboard."""
        text = getattr(self.screen, "copy_text", str)()
        if text:
            self.copy_to_clipboard(text)
            first, _, more = text.partition("\n")
            self.tell(f"copied, if the terminal allows it (OSC 52): {first}{' ...' * bool(more)}")
        else:
            self.tell("nothing to copy here", "warning")

    def action_jump(self) -> None:
        """List what can be gone to; runs and findings are there as soon as they have been read."""
        from tui.jump import JumpProvider, records
        from tui.sources.results import Asked

        results, drift = self.world.results, self.world.drift

        def answered(answer: Answer[list[Target]]) -> None:
            self._records = answer.value or self._records

        def read() -> list[Target]:
            return records(results.page(Asked(), 0, 200).runs, drift.findings().records)

        if self.asker.waiting_since("jump") is None:
            self.asker.ask("jump", read, answered)
        words = "a disk, serial, volume, run or finding"
        self.push_screen(plain.palette([JumpProvider], words))

    def targets(self) -> list[Target]:
        """What ``:`` finds now."""
        from tui.jump import things

        return things(self.snapshot) + self._records

    def remember(self, name: str, word: str) -> None:
        """Keep a setting for the next time; one of :data:`tui.settings.WORDS`."""
        if self.world.settings.set(name, word):
            self.asker.ask("settings", self.world.settings.write, self._kept)

    def _kept(self, answer: Answer[None]) -> None:
        if answer.problem:
            self.tell(f"settings not saved: {answer.problem}", "warning")

    def action_update(self) -> None:
        """Read everything again now."""
        self.feed.hurry()
        if self.main_screen is not None:
            self.main_screen.history_changed()

    def action_command_palette(self) -> None:
        """Show every action, to be found by its words."""
        if not CommandPalette.is_open(cast(App[object], self)):
            self.push_screen(plain.palette())

    def action_colours(self, name: str) -> None:
        """Draw in other colours: ``name`` is one of :data:`tui.terminal.THEMES`."""
        self.theme = THEMES[name]
        self.remember("theme", name)
        self.call_after_refresh(self.present)

    def action_cancel_run(self) -> None:
        """Ask, and stop the suite that runs."""
        self.suite_actions.cancel()

    def action_help(self) -> None:
        """Show the keys of this screen."""
        from tui.screens.sheet import Sheet

        rows = [
            (
                self.get_key_display(entry.binding),
                entry.binding,
                self._reason(entry.node, entry.binding.action),
            )
            for entry in described(self.screen.active_bindings)
        ]
        name = getattr(self.screen, "NAME", "")
        self.push_screen(Sheet(f"Keys on {name}", help_text(rows, self.glyphs)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Fill the palette with every action of the bindings, and the themes."""
        for entry in described(screen.active_bindings):
            binding, reason = entry.binding, self._reason(entry.node, entry.binding.action)
            about = f"not now: {reason}" if reason else binding.tooltip or ""
            yield SystemCommand(
                binding.description, escape(about), self._palette_action(entry.node, binding)
            )
        for name in THEMES:
            about = "the colours of the terminal" if name == "terminal" else f"{name} colours"
            yield SystemCommand(f"Theme: {name}", about, partial(self.action_colours, name))

    def _palette_action(self, node: DOMNode, binding: Binding) -> Callable[[], object]:
        async def run_it() -> None:
            if self._reason(node, binding.action):
                self._say_why_not(node, binding)
            else:
                await self.run_action(binding.action, node)

        return run_it
