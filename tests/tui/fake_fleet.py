"""A fleet made up for its screen, and the application over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from appliance.fleet.overview import Survey
from tests.fleet.surveys import SURVEY
from tests.tui.fakes import NOW, WALL, FakeControl, FakeFeed, Stage
from tui.fleet import FleetApp, fleet_world
from tui.terminal import RICH_THEME, Policy


@dataclass
class FakeFleet:
    """Answers with ``found``, or fails with it."""

    found: Survey | Exception = SURVEY
    place: str = "/srv/fleet"
    step: str = "the days of 1,000 machines"
    asked: list[str] = field(default_factory=list)

    def survey(self) -> Survey:
        self.asked.append("survey")
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def fleet_stage(
    source: FakeFleet | None = None,
    *,
    in_background: Callable[[Callable[[], None]], None] = lambda work: work(),
    policy: Policy | None = None,
) -> Stage:
    """The application over ``source``; the real sources of what a fleet has not."""
    source, clock = source or FakeFleet(), [NOW]
    policy = policy or Policy(ascii_only=False, theme=RICH_THEME, remote=True)
    world = replace(
        fleet_world(source.place, policy),
        clock=lambda: clock[0],
        wall=lambda: WALL + clock[0] - NOW,
        in_background=in_background,
    )
    return Stage(FleetApp(world, source), FakeControl(), FakeFeed(lambda _: None), clock)
