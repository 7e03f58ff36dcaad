"""Keys: those that work now, in the last line; and those that move, the same everywhere."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Footer, OptionList


def moves(*, down: str, up: str, first: str, last: str) -> list[BindingType]:
    """The keys of lists and texts, beside Textual's own, for the actions that they are there."""
    return [
        Binding("j", down, show=False),
        Binding("k", up, show=False),
        Binding("g,home", first, show=False),
        Binding("G,end", last, show=False),
    ]


class Scroll(VerticalScroll):
    """A text that is longer than its place, to be read with the keys of all lists."""

    BINDINGS: ClassVar[list[BindingType]] = moves(
        down="scroll_down", up="scroll_up", first="scroll_home", last="scroll_end"
    )


class Options(OptionList):
    """A few options to choose one of."""

    BINDINGS: ClassVar[list[BindingType]] = moves(
        down="cursor_down", up="cursor_up", first="first", last="last"
    )


class Keys(Footer):
    """Textual's footer rebuilds all its parts, and has the whole screen redrawn, whenever bindings
    might have changed: a dozen times for each screen shown, 20 KB each through SSH. This one does
    it only when they have.
    """

    def __init__(self) -> None:
        super().__init__(compact=True, show_command_palette=False)
        self._shown: list[tuple[str, str, bool]] | None = None

    def bindings_changed(self, screen: Screen[Any]) -> None:
        """Take the keys of ``screen``, if they are others than those that are shown."""
        if not screen.app.app_focus or not self.is_attached or screen is not self.screen:
            return
        keys = [
            (self.app.get_key_display(entry.binding), entry.binding.description, entry.enabled)
            for entry in screen.active_bindings.values()
            if entry.binding.show
        ]
        if keys != self._shown:
            self._shown = keys
            super().bindings_changed(screen)
