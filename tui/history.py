"""The world of the screens over a history alone: on any machine, of whatever machine it is.

Nothing of the machine at hand is in it: no disks, no units, no journal, no layout.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

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


def history_world(db: Path, policy: Policy) -> World:
    """``db`` is the history; whatever it is, and whether it is there, the screens say."""
    why = f"viewing the history in {db}"

    def sources() -> Sources:
        from tui.sources.history import HistorySources

        return HistorySources(db)

    def absent() -> object:
        from tui.sources.history import Absent

        return Absent(why)

    def overview() -> Overview:
        from tui.sources.overview import Overview

        return Overview(db)

    def drift() -> Drift:
        from tui.sources.drift import Drift

        return Drift(db)

    def log() -> Follower:
        from tui.sources.journal_events import follow

        return follow(db)

    def results() -> Results:
        from tui.sources.results import Results

        return Results(db)

    def suites() -> Suites:
        from tui.sources.history import HistorySuites

        return HistorySuites(db, why)

    return World(
        feed=lambda post: Feed(later(sources), post, policy.interval_seconds),
        control=cast(Control, later(absent)),
        policy=policy,
        overview=later(overview),
        drift=later(drift),
        log=later(log),
        layouts=cast("Layouts", later(absent)),
        results=later(results),
        suites=later(suites),
        unable=why,
        history=str(db),
    )
