"""What Textual itself writes, in words and ASCII; and nothing of it moves."""

from __future__ import annotations

from textual.command import CommandPalette, ProviderSource
from textual.widget import Widget
from textual.widgets import Input

# Textual's names of keys (textual.keys.KEY_DISPLAY_ALIASES).
_KEYS = {"↑": "up", "↓": "down", "←": "left", "→": "right", "⏎": "enter", "⌫": "backspace"}


def key_text(text: str) -> str:
    """The name of a key as the footer has it, with words for what is not ASCII."""
    for glyph, word in _KEYS.items():
        text = text.replace(glyph, word)
    return text.encode("ascii", "replace").decode("ascii")


def palette(
    providers: ProviderSource | None = None, words: str = "search commands"
) -> CommandPalette:
    """The palette; its own words end in an ellipsis, and its loupe is two cells on some fonts."""
    return CommandPalette(providers, id="--command-palette", placeholder=words)


def stand_still(widget: Widget) -> None:
    """No blinking cursor in ``widget``: each blink is a line through SSH, twice a second."""
    if isinstance(widget, Input):
        widget.cursor_blink = False
