"""Layout at night: a terminal too small, a clock put back, a unit that is killed."""

from dataclasses import replace

from appliance.errors import OperatorError
from tests.tui.driving import notices, plain, resized, shows
from tests.tui.fake_layout import STATUS_HERE, FakeLayouts, progress
from tests.tui.fakes import WALL, stage
from tests.tui.test_layout_plans import (
    HERE,
    applied,
    begun,
    carry_out,
    layout_screen,
    look,
    made,
    ready_to_confirm,
)
from tui.screens.layout_plan import PlanScreen


async def test_what_cannot_be_read_cannot_be_confirmed():
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await ready_to_confirm(acted, pilot)
        await resized(pilot, 40, 10)
        text = plain(acted)
        assert "✗ 4 disks" in text
        assert "Cancel" in text
        assert "cannot be carried out: the terminal is smaller than 60 x 20" in text
        assert acted.app.focused.id == "leave"
        await resized(pilot, 20, 5)
        assert "WHAT IS DESTROYED" in plain(acted)
        await carry_out(acted, pilot)
        assert not isinstance(acted.app.screen, PlanScreen)
        assert applied(layouts) == []


async def test_a_clock_that_was_put_back_makes_no_plan_stale():
    layouts = FakeLayouts()
    ahead = replace(STATUS_HERE, decided_at=WALL + 3600)
    acted = stage(replace(HERE, status=ahead), layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        assert applied(layouts) == [f"apply {made(layouts).plan.digest}"]


async def test_a_plan_that_is_lost_is_not_shown_as_running_until_it_is_seen_again():
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        plan = made(layouts)
        await look(acted, pilot, progress(plan, 2, acted.clock[0]))
        await shows(acted, pilot, "2. ▶ running")
        layouts.problems["look"] = OperatorError("unit ended without a result", "look there")
        for _ in range(5):
            await look(acted, pilot, None)
        await shows(acted, pilot, "step 2 of 15, when it was last seen")
        text = plain(acted)
        assert "1. ✓ done" in text
        assert "2. ? unclear" in text
        assert "3. ? unclear" in text
        assert "running" not in text
        # systemctl answers again, and the plan goes on.
        layouts.problems.clear()
        acted.give(replace(HERE, applying=progress(plan, 3, acted.clock[0])))
        await shows(acted, pilot, "3. ▶ running")
        assert "cannot be seen" not in plain(acted)


async def test_what_cannot_be_seen_any_more_is_said_and_not_asked_for_ever():
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        layouts.problems["look"] = OperatorError("unit ended without a result", "look there")
        for _ in range(8):
            await look(acted, pilot, None)
        await shows(acted, pilot, "its progress is not known: unit ended without a result")
        assert notices(acted.app)[-1].startswith("no longer followed")
        assert layout_screen(acted).work._timer is None
