"""What the main screens share: first line, body, footer, and drawing from a view."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer

from tui.widgets.panel import Panel, View
from tui.widgets.topbar import topbar_lines


def _key(key: str, action: str, name: str, tooltip: str, *, show: bool = True) -> Binding:
    identity = action.partition("(")[0] + "." + key
    return Binding(key, f"app.{action}", name, tooltip=tooltip, show=show, id=identity)


class MainScreen(Screen[None]):
    """A screen of the application; subclasses give :meth:`body` and :meth:`draw`."""

    NAME: ClassVar[str]
    # Here, not at the application, so that footer and help name them first.
    BINDINGS: ClassVar[list[BindingType]] = [
        _key("1", "show('overview')", "Overview", "health, live figures, last suite"),
        _key("2", "show('disks')", "Disks", "every disk, and why it is used or not"),
        _key("s", "start_suite", "Start smoke", "measure the volume; asks first"),
        _key("x", "cancel_run", "Cancel", "stop the suite that is running; asks first"),
        _key("r", "results", "Results", "every verdict of the last suite in words"),
        _key("question_mark", "help", "Help", "the keys and marks of this screen"),
        _key("q", "quit", "Quit", "leave; what runs keeps running"),
        _key("u", "update", "Update", "read everything again now", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._view: View | None = None

    def compose(self) -> ComposeResult:
        yield Panel(id="topbar")
        yield from self.body()
        yield Footer(compact=True, show_command_palette=False)

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def draw(self, view: View, width: int) -> None:
        """Show ``view``; ``width`` is the text width inside the margins."""
        raise NotImplementedError

    def present(self, view: View) -> None:
        """Take ``view`` and draw it, if this screen has its size already."""
        self._view = view
        self.redraw()

    def redraw(self) -> None:
        """Draw the last view again, as after a resize."""
        view, width = self._view, self.size.width - 2
        bar = next(self.query("#topbar").results(Panel), None)
        # A screen that is being taken down loses its parts before its timer stops.
        if view is None or width <= 0 or not self.is_mounted or bar is None:
            return
        bar.show(topbar_lines(view, width, screen=self.NAME))
        self.draw(view, width)

    def on_resize(self) -> None:
        self.redraw()

    def focus_first(self, widget: type[Widget]) -> None:
        """Put the focus on the first ``widget`` of this screen."""
        self.query_one(widget).focus()
