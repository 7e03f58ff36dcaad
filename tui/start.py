"""Starting the screens: on what, and how they look on this terminal."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from appliance import paths
from tui.settings import Settings, settings_path
from tui.terminal import POOR_THEME, RICH_THEME, THEMES, decide
from tui.world import World


def world(db: Path, *, readonly: bool = False, theme: str = "", mouse: bool = False) -> World:
    """What the screens show: this machine, or another history alone.

    ``theme`` is one of :data:`tui.terminal.THEMES` or empty. Raises
    :class:`tui.terminal.TerminalUnusable` where no screen can be drawn.
    """
    policy = decide(os.environ, theme=theme, mouse=mouse)
    settings = Settings(settings_path(os.environ))
    if not theme and policy.theme == RICH_THEME:
        # Only where there are colours to choose from.
        remembered = THEMES.get(settings.get("theme"), RICH_THEME)
        policy = replace(policy, theme=remembered)
    if db.absolute() != paths.HISTORY_DB:
        from tui.history import history_world

        return replace(history_world(db, policy), settings=settings)
    from tui.machine import machine_world

    return replace(machine_world(policy, readonly=readonly), settings=settings)


def run(db: Path, *, readonly: bool = False, theme: str = "", mouse: bool = False) -> int:
    """Show the screens until the operator leaves; returns the exit code. As :func:`world`."""
    shown = world(db, readonly=readonly, theme=theme, mouse=mouse)
    if THEMES.get(theme, POOR_THEME) != POOR_THEME:
        # Who asks for colours by name gets them (no-color.org); Textual looks only for this.
        os.environ.pop("NO_COLOR", None)
    from tui.app import StripewrightApp

    app = StripewrightApp(shown)
    app.run(mouse=mouse)
    return app.return_code or 0
