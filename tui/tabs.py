"""The main screens, by the key that shows each."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tab:
    """``screen`` is module and class; imported when it is first shown, because start-up counts."""

    key: str
    mode: str
    name: str
    about: str
    screen: str

    @property
    def make(self) -> Callable[[], Any]:
        """Makes the screen."""

        def made() -> Any:  # noqa: ANN401 - a screen, which knows this module
            module, _, name = self.screen.partition(":")
            return getattr(importlib.import_module(module), name)()

        return made


TABS = (
    Tab("1", "overview", "Overview", "is it healthy, and what is it doing now",
        "tui.screens.overview:OverviewScreen"),
    Tab("2", "disks", "Disks", "every disk, and why it is used or not",
        "tui.screens.disks:DisksScreen"),
    Tab("3", "layout", "Layout", "volumes: edit, plan, confirm, carry out",
        "tui.screens.layout:LayoutScreen"),
    Tab("4", "suites", "Suites", "what can be measured, when, and a run's progress",
        "tui.screens.suites:SuitesScreen"),
    Tab("5", "results", "Results", "every run, trends, two runs side by side",
        "tui.screens.results:ResultsScreen"),
    Tab("6", "drift", "Drift", "what has changed, and since when",
        "tui.screens.drift:DriftScreen"),
    Tab("7", "log", "Log", "the journal of the appliance's units",
        "tui.screens.log:LogScreen"),
)  # fmt: skip
# The one screen where many machines are shown and not this one.
FLEET = Tab("", "fleet", "Fleet", "which machines and disks are unlike their siblings",
    "tui.screens.fleet:FleetScreen")  # fmt: skip
