"""The colours: quiet, and bright only where something is to be seen.

Text has at least the contrast of WCAG 2.2, 1.4.3 (4.5 to 1) on every ground it stands on;
``tests/tui/test_terminals.py`` computes it.
"""

from __future__ import annotations

from textual.theme import Theme

from tui.terminal import LIGHT_THEME, RICH_THEME

DARK = Theme(
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
    variables={
        "footer-key-foreground": "#6cb6eb",
        "footer-background": "#222933",
        "foreground-muted": "#9aa3af",
    },
)
LIGHT = Theme(
    name=LIGHT_THEME,
    primary="#0b5a9c",
    secondary="#7a3e78",
    accent="#0a6b67",
    success="#2c6e27",
    warning="#8a5a00",
    error="#b3261e",
    foreground="#1f252c",
    background="#fbfbf8",
    surface="#f2f3f0",
    panel="#e5e8ea",
    dark=False,
    variables={
        "footer-key-foreground": "#0b5a9c",
        "footer-background": "#e5e8ea",
        "foreground-muted": "#535c66",
    },
)
THEMES = (DARK, LIGHT)
