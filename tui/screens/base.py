"""What the main screens share: first lines, body, footer, keys, and drawing from a view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

from tui.asking import Answer
from tui.marks import Glyphs
from tui.tabs import TABS
from tui.widgets.keys import Keys
from tui.widgets.panel import Panel, View
from tui.widgets.topbar import topbar_lines

if TYPE_CHECKING:
    from tui.app import StripewrightApp

T = TypeVar("T")
V = TypeVar("V")
# Lines of a main screen that are not its body: the two of the top bar, and the footer.
FRAME_ROWS = 3


def _key(key: str, action: str, name: str, tooltip: str, *, show: bool = True) -> Binding:
    identity = action.partition("(")[0] + "." + key
    return Binding(key, f"app.{action}", name, tooltip=tooltip, show=show, id=identity)


_EVERYWHERE = {"cancel_run.x", "help.question_mark", "quit.q", "page.back"}


class FrameScreen(Screen[T]):
    """What every screen that fills the terminal has: top bar, keys, the way to the application.

    Subclasses give :meth:`body` and :meth:`redraw`. Bindings have an ``id`` and a ``tooltip``, from
    which help and palette are made.
    """

    NAME: ClassVar[str]
    # Here, not at the application, so that help names them. The top bar shows the screens.
    BINDINGS: ClassVar[list[BindingType]] = [
        *(_key(tab.key, f"show('{tab.mode}')", tab.name, tab.about, show=False) for tab in TABS),
        _key("x", "cancel_run", "Cancel", "stop the suite that is running; asks first"),
        _key("question_mark", "help", "Help", "the keys and marks of this screen"),
        _key("colon", "jump", "Jump", "to a run, disk, volume or finding by name", show=False),
        _key("y", "copy", "Copy", "copy what is looked at", show=False),
        _key("u", "update", "Update", "read everything again now", show=False),
        _key("ctrl+z", "suspend_process", "Suspend", "back to the shell; fg returns", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._view: View | None = None
        # Of the history that was asked of last; ``None``: it was not asked yet.
        self._mark: str | None = None

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """As Textual has them, but what this screen is for before what every screen has."""
        found = super().active_bindings
        everywhere = {key for key, entry in found.items() if entry.binding.id in _EVERYWHERE}
        # Escape goes back from every screen: it needs no room in the last line.
        ordered = {
            key: entry._replace(binding=replace(entry.binding, show=False))
            if entry.binding.id == "table.back"
            else entry
            for key, entry in found.items()
            if key not in everywhere
        }
        return ordered | {key: found[key] for key in found if key in everywhere}

    @property
    def main(self) -> StripewrightApp:
        """The application, as what it is."""
        return cast("StripewrightApp", self.app)

    @property
    def glyphs(self) -> Glyphs:
        return self.main.glyphs

    @property
    def view(self) -> View | None:
        """What was drawn last."""
        return self._view

    def compose(self) -> ComposeResult:
        yield Panel(id="topbar")
        yield from self.body()
        yield Keys()

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def why_not(self, action: str) -> str:  # noqa: ARG002
        """Why ``action`` of this screen cannot be done now; empty if it can."""
        return ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        # None shows the key as disabled; the application then says why. Keys may come before the
        # screen has its parts.
        return True if self.is_mounted and not self.why_not(action) else None

    def copy_text(self) -> str:
        """What ``y`` copies: the name or the figures of what the cursor is on, and without a cursor
        the text of the panels; empty if nothing.
        """
        panels = (
            one
            for one in self.query(Panel)
            if one.id != "topbar" and all(each.display for each in one.ancestors_with_self)
        )
        return "\n".join(filter(None, (one.text for one in panels)))

    def history_changed(self) -> None:
        """The history has something new, or cannot be read any more, or this screen is shown for
        the first time.
        """

    def ask(self, key: str, work: Callable[[], V], done: Callable[[Answer[V]], None]) -> None:
        """Have ``work`` done beside the application; see :meth:`tui.asking.Asker.ask`.

        ``key`` is this screen's own. An answer that comes when the screen has gone is dropped.
        """

        def answered(answer: Answer[V]) -> None:
            if self.is_mounted:
                done(answer)
                # What can be done now may be more, and the footer is not to say so a second later.
                self.call_after_refresh(self.main.update_permissions)

        self.main.asker.ask(self._question(key), work, answered)

    def _question(self, key: str) -> str:
        """Of this very screen: the answer to a page that was left is not waited for."""
        return f"{self.NAME}.{id(self)}.{key}"

    def is_asking(self, key: str) -> bool:
        """Whether a question of ``key`` is open."""
        return self.main.asker.waiting_since(self._question(key)) is not None

    def asking_seconds(self, key: str) -> float:
        """For how long the open question of ``key`` has been asked; 0 if there is none."""
        since = self.main.asker.waiting_since(self._question(key))
        return 0.0 if since is None else max(0.0, self.main.world.clock() - since)

    def present(self, view: View) -> None:
        """Take ``view`` and draw it, if this screen has its size already."""
        self._view = view
        snapshot = view.snapshot
        # Before the first status it is unknown whether there is a history; after it one without a
        # mark cannot be read, and what needs none is asked for all the same.
        if snapshot is not None and (snapshot.status or snapshot.status_problem):
            mark = snapshot.history_mark
            if mark != self._mark and self.is_mounted:
                self._mark = mark
                self.history_changed()
        self.tick()

    def tick(self) -> None:
        """A second has passed."""
        self.redraw()

    def redraw(self) -> None:
        """Draw the last view again, as after a resize."""
        raise NotImplementedError

    def on_resize(self) -> None:
        self.redraw()

    def draw_bar(self) -> bool:
        """Draw the top bar; whether there is a place to draw in."""
        view, width = self._view, self.size.width - 2
        bar = next(self.query("#topbar").results(Panel), None)
        # A screen that is being closed loses its parts before its timer stops.
        if view is None or width <= 0 or not self.is_mounted or bar is None:
            return False
        main = self.main.main_screen
        bar.show(topbar_lines(view, width, screen="" if main is None else main.NAME))
        return True


class MainScreen(FrameScreen[None]):
    """One of the screens of the top bar; subclasses give :meth:`body` and :meth:`draw`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("q", "quit", "Quit", "leave; running work continues"),
        _key("escape", "back", "Back", "to where you came from, or to the overview", show=False),
    ]

    def draw(self, view: View, width: int) -> None:
        """Show ``view``; ``width`` is the text width inside the margins. Called once a second."""
        raise NotImplementedError

    def redraw(self) -> None:
        if self.draw_bar() and self._view is not None:
            self.draw(self._view, self.size.width - 2)

    def jump(self, name: str) -> None:
        """Put the cursor on what is called ``name``, now or when it has been read."""

    def focus_first(self, widget: type[Widget]) -> None:
        """Put the focus on the first ``widget`` of this screen."""
        self.query_one(widget).focus()
