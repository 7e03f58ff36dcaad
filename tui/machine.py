"""The world of the screens on a real machine.

Each source is made, and its modules loaded, when it is first used: the first paint comes before.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from appliance import paths
from appliance.system import services
from tui.feed import Feed, Sources
from tui.terminal import Policy
from tui.world import Control, World, later

if TYPE_CHECKING:
    from tui.sources.drift import Drift
    from tui.sources.journal import Follower
    from tui.sources.layout import Layouts
    from tui.sources.overview import Overview
    from tui.sources.results import Results
    from tui.sources.suites import Suites


def machine_world(policy: Policy, *, readonly: bool = False) -> World:
    """The machine at hand with its own history. ``readonly``: nothing can be changed."""
    history = paths.HISTORY_DB

    def sources() -> Sources:
        from tui.sources.machine import MachineSources

        return MachineSources(history)

    def control() -> Control:
        from tui.sources.machine import MachineControl

        return MachineControl()

    def overview() -> Overview:
        from tui.sources.overview import Overview

        return Overview(history)

    def drift() -> Drift:
        from tui.sources.drift import Drift

        return Drift(history)

    def log() -> Follower:
        from tui.sources.journal_events import follow

        return follow(history)

    def layouts() -> Layouts:
        from tui.sources.layout import Layouts

        return Layouts()

    def results() -> Results:
        from tui.sources.results import Results

        return Results(history)

    def suites() -> Suites:
        from tui.sources.suites import Suites

        return Suites(history)

    return World(
        feed=lambda post: Feed(later(sources), post, policy.interval_seconds),
        control=later(control),
        policy=policy,
        overview=later(overview),
        drift=later(drift),
        log=later(log),
        layouts=later(layouts),
        results=later(results),
        suites=later(suites),
        unable=why_unable(readonly=readonly),
        host=socket.gethostname(),
    )


def why_unable(*, readonly: bool) -> str:
    """Why nothing can be changed from here, or an empty string."""
    if readonly:
        return "the screens were started with --readonly"
    if not services.systemd_is_running():
        return "systemd is not the service manager here, so no unit can be started"
    return ""
