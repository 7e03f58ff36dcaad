"""The screens over a fleet alone: one screen, on any machine that has the files of many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from tui.app import StripewrightApp
from tui.screens.base import MainScreen
from tui.tabs import FLEET
from tui.terminal import Policy
from tui.widgets.panel import View
from tui.world import World, later

if TYPE_CHECKING:
    from tui.sources.fleet import Fleets

# What is about one machine.
_ABSENT = frozenset({"show", "cancel_run", "jump"})


class FleetApp(StripewrightApp):
    """Without the screens of a machine, and without the keys that lead there."""

    MODES: ClassVar[dict[str, Callable[[], MainScreen]]] = {FLEET.mode: FLEET.make}
    DEFAULT_MODE = FLEET.mode

    def __init__(self, world: World, fleet: Fleets) -> None:
        super().__init__(world)
        self.fleet = fleet

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if action in _ABSENT else super().check_action(action, parameters)

    def view(self) -> View:
        return replace(super().view(), fleet=self.fleet.place)


class _NoFeed:
    """There is no machine that is looked at every second."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def hurry(self) -> None: ...

    def expect_run(self, suite: str, volume: str) -> None: ...


def fleet_world(place: str, policy: Policy) -> World:
    """``place`` has the Parquet; whatever is there, the screen says."""
    why = f"viewing the fleet in {place}"

    def absent() -> object:
        from tui.sources.history import Absent

        return Absent(why)

    nothing = cast(Any, later(absent))
    return World(
        feed=lambda _: _NoFeed(),
        control=nothing,
        policy=policy,
        overview=nothing,
        drift=nothing,
        log=nothing,
        layouts=nothing,
        results=nothing,
        suites=nothing,
        unable=why,
    )
