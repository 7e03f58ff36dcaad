"""The keys that work now, in the last line."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen
from textual.widgets import Footer


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
