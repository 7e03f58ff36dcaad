"""What this terminal can show: decided once, from the environment alone, before Textual starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appliance.errors import UsageError

# Consoles whose fonts hold hardly more than ASCII, and whose palette has 16 colours.
_POOR_TERMINALS = ("linux", "vt", "ansi", "cons25", "sun", "wsvt", "xterm-mono")
_UNUSABLE_TERMINALS = {"", "dumb", "unknown", "emacs"}
# As Rich tells what a terminal can do (rich.console.Console._detect_color_system); all others
# get the 16 colours, and of those only the terminal's owner knows that they can be read.
_MANY_COLOURS = ("-256color", "-kitty")
_TRUE_COLOURS = {"truecolor", "24bit"}
RICH_THEME = "stripewright"
LIGHT_THEME = "stripewright-light"
POOR_THEME = "ansi-dark"
# What can be asked for, by its name on the command line and in the palette.
THEMES: Mapping[str, str] = {"dark": RICH_THEME, "light": LIGHT_THEME, "terminal": POOR_THEME}


class TerminalUnusable(UsageError):
    """Nothing can be drawn here; the caller prints the status as text instead."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How to draw.

    ``ascii_only`` replaces every glyph and border by ASCII; ``theme`` is the Textual theme
    (the ANSI one leaves the terminal's own colours alone); ``interval_seconds`` is the
    least time between two snapshots. ``mouse`` takes the mouse from the terminal, which then
    selects text only with a key held down.
    """

    ascii_only: bool
    theme: str
    remote: bool
    interval_seconds: float = 1.0
    mouse: bool = False


def decide(environ: Mapping[str, str], *, theme: str = "", mouse: bool = False) -> Policy:
    """Policy for ``environ``; raises :class:`TerminalUnusable` where no screen can be drawn.

    ``theme`` is one of :data:`THEMES` or empty, and then what suits the terminal. ``NO_COLOR``
    follows no-color.org: present and not empty means no colour at all, unless the command line
    says otherwise.
    """
    term = environ.get("TERM", "")
    if term in _UNUSABLE_TERMINALS:
        raise TerminalUnusable(
            f"this terminal (TERM={term or 'not set'}) cannot show screens",
            "use a terminal such as xterm or tmux, or read: stripewright status",
        )
    # tmux and screen name the terminal they run on after a dot: screen.linux
    poor = term.split(".")[-1].startswith(_POOR_TERMINALS)
    plain = poor or bool(environ.get("NO_COLOR")) or not _has_many_colours(environ)
    return Policy(
        ascii_only=poor or not _locale_is_utf8(environ),
        theme=THEMES[theme] if theme else POOR_THEME if plain else RICH_THEME,
        remote=any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")),
        mouse=mouse,
    )


def _has_many_colours(environ: Mapping[str, str]) -> bool:
    if environ.get("COLORTERM", "").strip().lower() in _TRUE_COLOURS:
        return True
    return environ.get("TERM", "").strip().lower().endswith(_MANY_COLOURS)


def _locale_is_utf8(environ: Mapping[str, str]) -> bool:
    """Whether the locale's character set is UTF-8; assumed if unset or ``C``."""
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        value = environ.get(name, "")
        if value:
            charset = value.partition("@")[0].partition(".")[2]
            return charset.replace("-", "").lower() in {"", "utf8"}
    return True
