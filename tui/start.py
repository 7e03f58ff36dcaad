"""Starting the screens: on what, and how they look on this terminal."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import paths
from tui.settings import Settings, settings_path
from tui.terminal import POOR_THEME, RICH_THEME, THEMES, decide
from tui.world import World

if TYPE_CHECKING:
    from tui.app import StripewrightApp


def world(
    db: Path, *, fleet: str = "", readonly: bool = False, theme: str = "", mouse: bool = False
) -> World:
    """What the screens show: this machine, another history alone, or the machines in ``fleet``.

    ``theme`` is one of :data:`tui.terminal.THEMES` or empty. Raises
    :class:`tui.terminal.TerminalUnusable` where no screen can be drawn.
    """
    policy = decide(os.environ, theme=theme, mouse=mouse)
    settings = Settings(settings_path(os.environ))
    if not theme and policy.theme == RICH_THEME:
        # Only where there are colours to choose from.
        remembered = THEMES.get(settings.get("theme"), RICH_THEME)
        policy = replace(policy, theme=remembered)
    if fleet:
        from tui.fleet import fleet_world

        return replace(fleet_world(fleet, policy), settings=settings)
    if db.absolute() != paths.HISTORY_DB:
        from tui.history import history_world

        return replace(history_world(db, policy), settings=settings)
    from tui.machine import machine_world

    return replace(machine_world(policy, readonly=readonly), settings=settings)


def run(
    db: Path, *, fleet: str = "", readonly: bool = False, theme: str = "", mouse: bool = False
) -> int:
    """Show the screens until the operator leaves; returns the exit code. As :func:`world`."""
    shown = world(db, fleet=fleet, readonly=readonly, theme=theme, mouse=mouse)
    if THEMES.get(theme, POOR_THEME) != POOR_THEME:
        # Who asks for colours by name gets them (no-color.org); Textual looks only for this.
        os.environ.pop("NO_COLOR", None)
    app = _app(shown, fleet)
    app.run(mouse=mouse)
    return app.return_code or 0


def _app(shown: World, fleet: str) -> StripewrightApp:
    if fleet:
        from tui.fleet import FleetApp
        from tui.sources.fleet import Fleets

        return FleetApp(shown, Fleets(fleet))
    from tui.app import StripewrightApp

    return StripewrightApp(shown)
