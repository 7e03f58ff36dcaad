"""The colours: quiet, and bright only where something is to be seen."""

from __future__ import annotations

from textual.theme import Theme

from tui.terminal import RICH_THEME

CALM = Theme(
    name=RICH_THEME,
    primary="#6cb6eb",
    secondary="#b48ead",
    accent="#7fc8c2",
    success="#8fbf7f",
    warning="#e0b060",
    error="#e07a75",
    foreground="#d5dae1",
    background="#14181e",
    surface="#1a1f27",
    panel="#222933",
    dark=True,
    variables={"footer-key-foreground": "#6cb6eb", "footer-background": "#222933"},
)
