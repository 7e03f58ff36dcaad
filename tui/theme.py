"""The colours: each one of the 256 of xterm, so that every terminal shows the one that was chosen.

SSH forwards no ``COLORTERM`` and tmux sets none: most terminals get 256 colours, and Rich turns
any other colour into one of them, often far from it. It also takes greys lighter than 246 for
their neighbours; hence the light ones here have a hue.

Text has at least the contrast of WCAG 2.2, 1.4.3 (4.5 to 1) on every ground it stands on, the row
under the cursor included; ``tests/tui/test_terminals.py`` computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.theme import Theme

from tui.terminal import LIGHT_THEME, RICH_THEME

# What our styles name and Textual's themes do not have: for the terminal's own colours.
EXTRA: Mapping[str, str] = {
    "rule": "ansi_default",
    "grid": "ansi_default",
    "band": "ansi_green",
    "cursor": "ansi_default",
}

_MAIN = (
    "primary", "secondary", "accent", "success", "warning", "error",
    "foreground", "background", "surface", "panel",
)  # fmt: skip


def _xterm(number: int) -> str:
    """The colour ``number`` (16 to 255) of xterm's palette: its cube of 6 × 6 × 6, then greys."""
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    cube = number - 16
    levels = (cube // 36, cube // 6 % 6, cube % 6)
    return "#" + "".join(f"{55 + 40 * level if level else 0:02x}" for level in levels)


def _theme(name: str, *, dark: bool, **numbers: int) -> Theme:
    colours = {key.replace("_", "-"): _xterm(number) for key, number in numbers.items()}
    own: dict[str, Any] = {key: colours.pop(key) for key in _MAIN}
    muted, cursor, rule = (colours[key] for key in ("foreground-muted", "cursor", "rule"))
    # Textual mixes these, and the main ones with nothing, and so gets other colours.
    mixed = {
        **own,
        **{f"text-{key}": own[key] for key in own},
        **{f"{key}-muted": own["panel"] for key in own if key != "foreground"},
        **{f"{key}-lighten-1": own[key] for key in ("surface", "panel")},
        **{f"{key}-darken-1": own[key] for key in ("surface", "panel", "background")},
        "foreground-disabled": muted,
        "text": own["foreground"],
        "text-muted": muted,
        "text-disabled": muted,
        "border": own["primary"],
        "border-blurred": own["panel"],
        "surface-active": own["surface"],
        "block-cursor-foreground": own["foreground"],
        "block-cursor-background": cursor,
        "block-cursor-blurred-background": cursor,
        "block-hover-background": own["panel"],
        "footer-key-foreground": own["primary"],
        "input-selection-background": cursor,
        "scrollbar": rule,
        "scrollbar-hover": rule,
        "scrollbar-active": own["primary"],
        "scrollbar-background": own["background"],
    }
    return Theme(name=name, dark=dark, variables=mixed | colours, **own)


DARK = _theme(
    RICH_THEME,
    dark=True,
    background=233, surface=234, panel=235, cursor=17,
    foreground=189, foreground_muted=246, rule=238, grid=237, band=65,
    primary=75, secondary=176, accent=80, success=113, warning=215, error=203,
)  # fmt: skip
LIGHT = _theme(
    LIGHT_THEME,
    dark=False,
    background=231, surface=231, panel=230, cursor=229,
    foreground=235, foreground_muted=240, rule=146, grid=189, band=151,
    primary=25, secondary=90, accent=23, success=28, warning=130, error=160,
)  # fmt: skip
THEMES = (DARK, LIGHT)
