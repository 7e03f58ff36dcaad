"""Every key of every screen, where something may be changed and where nothing may."""

import pytest

from tests.tui.driving import keys, settled
from tests.tui.fake_drift import FakeDrift
from tests.tui.fake_layout import STATUS_HERE, FakeLayouts
from tests.tui.fake_suites import FakeSuites
from tests.tui.fakes import running_snapshot, snapshot, stage
from tui.screens.base import MainScreen
from tui.tabs import TABS

# What reads, of all that the sources are asked for; an export is the operator's own file.
READS = {"findings", "current", "preview", "recent", "before", "catalog", "schedule"}
# Approving takes a finding of another kind: test_drift_screen has that.
CHANGES = {"start", "stop", "look", "acknowledge", "confirm", "plan", "set_schedule"}
# These go elsewhere, or take what is typed next; all else of ours is pressed.
ELSEWHERE = {"q", "ctrl+p", "ctrl+z", "colon", "escape", "slash", *(tab.key for tab in TABS)}


# Links to other screens, which tests of their own follow.
LINKS = {"disks.log", "overview.slow"}


def ours(screen):
    """Keys of the bindings that help and palette are made of."""
    active = screen.active_bindings.items()
    return [
        key
        for key, entry in active
        if entry.binding.id and entry.binding.id not in LINKS and key not in ELSEWHERE
    ]


async def answered(pilot):
    """Say yes to what a key has asked, and come back to the screen."""
    if not isinstance(pilot.app.screen, MainScreen):
        for widget in pilot.app.screen.query("#off, #do"):
            widget.focus()
        # Links lead elsewhere; test_drift_screen has them.
        if not pilot.app.screen.query("#to-0"):
            await keys(pilot, "enter")
    for _ in range(4):
        if not isinstance(pilot.app.screen, MainScreen):
            await keys(pilot, "escape")


async def every_key(pilot):
    """Press each key of each screen, and then what says yes to whatever that asks."""
    for tab in TABS:
        await keys(pilot, tab.key)
        pressed = ours(pilot.app.screen)
        # The first two findings are of two kinds.
        second = ("home", "down", *pressed) if tab.mode == "drift" else ()
        for key in (*pressed, *second):
            await keys(pilot, key)
            await answered(pilot)
            assert tab.name == pilot.app.main_screen.NAME, key


@pytest.mark.parametrize("unable", ["", "only looked at from here"])
async def test_what_changes_something_is_known_and_nothing_is_where_nothing_may_be(unable):
    sources = {"drift": FakeDrift(), "layouts": FakeLayouts(), "suites": FakeSuites()}
    acted = stage(snapshot(STATUS_HERE), unable=unable, **sources)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await every_key(pilot)
        acted.give(running_snapshot())
        await keys(pilot, "x")
        await answered(pilot)
    asked = {
        call.partition(" ")[0]
        for source in (acted.control, *sources.values())
        for call in source.calls
    }
    assert asked - READS == (set() if unable else CHANGES)
