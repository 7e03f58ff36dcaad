"""Layout: plans are confirmed by typing names, carried out in view, and stale ones are not."""

from dataclasses import replace
from threading import Event, Thread

import pytest
from textual.events import Paste

from appliance.client.plan_requests import ApplyEnd, ApplyProgress
from appliance.errors import OperatorError
from appliance.model.plans import Layout
from appliance.storage.execute.request_spool import PLAN_LIFETIME_SECONDS, Request
from tests.tui.driving import both_sizes, keys, notices, plain, settled, shows, typed
from tests.tui.fake_layout import STATUS_HERE, FakeLayouts, note_of, planned, progress, text_of
from tests.tui.fakes import NOW, WALL, screen_text, snapshot, stage
from tests.tui.pictures import assert_looks_as_kept
from tests.tui.test_layout_texts import DATA, LOGS
from tui.screens.layout import LayoutScreen
from tui.screens.layout_apply import ApplyScreen
from tui.screens.layout_plan import PlanScreen

HERE = snapshot(STATUS_HERE)
TO_HALVES = ("3", "i", "down", "enter")
NAMES = "scratch data logs"


async def paste(acted, pilot, text):
    acted.app.post_message(Paste(text))
    await settled(pilot)


def made(layouts):
    return next(reversed(layouts.made.values()))


def applied(layouts):
    return [call for call in layouts.calls if call.startswith("apply")]


def layout_screen(acted):
    return next(one for one in acted.app._screen_stacks["layout"] if isinstance(one, LayoutScreen))


async def look(acted, pilot, what, seconds=1.0):
    """One more look at what is carried out, ``seconds`` later."""
    acted.clock[0] += seconds
    acted.app.world.layouts.looks = [what]
    layout_screen(acted).work.look()
    await settled(pilot)


async def carry_out(acted, pilot):
    """Enter to the button, and a second later another one on it."""
    await keys(pilot, "enter")
    acted.clock[0] += 1
    await keys(pilot, "enter")


async def ready_to_confirm(acted, pilot):
    """Have the plan for two halves made, and type the names that it asks for."""
    await settled(pilot)
    await keys(pilot, *TO_HALVES, "p", "tab")
    await paste(acted, pilot, NAMES)


async def begun(acted, pilot):
    """Have the plan for two halves carried out."""
    await ready_to_confirm(acted, pilot)
    await carry_out(acted, pilot)
    assert isinstance(acted.app.screen, ApplyScreen)


@both_sizes
async def test_a_plan_is_shown_as_it_will_run_and_only_the_names_confirm_it(size):
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        await keys(pilot, *TO_HALVES, "p")
        # The focus is where one types.
        assert acted.app.focused.id == "typed"
        text = plain(acted)
        assert "✗ nvme1n1 AWS00001EXAMPLE 3.41 TiB member of 'scratch'" in text
        assert "✗ scratch is taken down: ALL DATA ON IT IS DESTROYED" in text
        assert "◆ data is created, empty" in text
        assert f"type these 3 names: {NAMES}" in text
        assert f"still to type: {NAMES}" in text
        if size == (80, 24):
            await assert_looks_as_kept(acted.app, pilot, "layout-plan-80x24")
        # All of it can be read: steps with their commands, and the digest.
        seen = text
        for _ in range(9 if size == (80, 24) else 3):
            await keys(pilot, "pagedown")
            seen += plain(acted)
        assert "$ mdadm --create /dev/md/data --run" in seen
        assert "14. mount volume 'logs'" in seen
        assert made(layouts).plan.digest[:40] in seen
        await keys(pilot, "enter", "tab")
        assert acted.app.focused.id == "leave"
        await keys(pilot, "enter")
        assert not isinstance(acted.app.screen, PlanScreen)
        # Only the names confirm.
        await keys(pilot, "p")
        await typed(pilot, "scratch dat")
        await shows(acted, pilot, "✗ 'dat' is not one of the names asked for")
        await keys(pilot, "enter", "enter", "tab", "enter")  # the button is disabled: Cancel
        assert applied(layouts) == []
        await keys(pilot, "p")
        await paste(acted, pilot, NAMES)
        await shows(acted, pilot, "enter goes to Carry out: this cannot be undone")
        # Enter in the text goes to the button and no further.
        await keys(pilot, "enter")
        assert applied(layouts) == []
        assert acted.app.focused.id == "do"
        assert acted.app.focused.has_class("-danger")
        text = plain(acted)
        assert "enter carries it out: this cannot be undone" in text
        assert "goes to Carry out" not in text
        # The same key, held down, is no second one.
        for _ in range(3):
            acted.clock[0] += 0.3
            await keys(pilot, "enter")
            # As Textual does after a fifth of a second.
            acted.app.focused.remove_class("-active")
        assert applied(layouts) == []
        acted.clock[0] += 1
        await keys(pilot, "enter")
        assert applied(layouts) == [f"apply {made(layouts).plan.digest}"]
        assert "hurry" in acted.feed.calls


async def test_names_are_for_the_line_wherever_the_focus_is():
    acted = stage(HERE, layouts=FakeLayouts())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, *TO_HALVES, "p", "tab")
        assert acted.app.focused.id == "leave"
        await typed(pilot, "scratch")
        await keys(pilot, "tab")
        await paste(acted, pilot, " data")
        await keys(pilot, "tab")
        await typed(pilot, " logs")
        assert acted.app.screen.query_one("#typed").value == NAMES
        assert not acted.app.screen.query_one("#do").disabled


@both_sizes
async def test_steps_are_followed_to_the_end_and_done_ones_keep_their_time(size):
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=size) as pilot:
        await begun(acted, pilot)
        await shows(acted, pilot, "not started yet")
        await shows(acted, pilot, "root's unit waits for its turn")
        plan = made(layouts)
        # It waits for somebody else's: that is not mistaken for it.
        other = replace(progress(plan, 9, NOW), digest="f" * 64)
        acted.give(replace(HERE, applying=other))
        await settled(pilot)
        await shows(acted, pilot, "root's unit waits for its turn")
        acted.give(HERE)
        await look(acted, pilot, progress(plan, 1, acted.clock[0]), 2)
        await look(acted, pilot, progress(plan, 2, acted.clock[0]), 3)
        text = plain(acted)
        assert "step 2 of 15" in text
        assert "1. ✓ done install the layout that this plan was made for, 2 s" in text
        assert "2. ▶ running mark the disk as released from 'scratch'" in text
        assert "$ stripewright chore release scratch" in text
        if size == (140, 45):
            await assert_looks_as_kept(acted.app, pilot, "layout-progress-140x45")
        # Leaving ends nothing; other screens say that it goes on, and w shows it again.
        await keys(pilot, "1")
        acted.give(replace(HERE, applying=progress(plan, 3, acted.clock[0])))
        await settled(pilot)
        await shows(acted, pilot, "3 Layout ▶")
        await keys(pilot, "3")
        assert isinstance(acted.app.screen, ApplyScreen)
        await keys(pilot, "escape")
        await shows(acted, pilot, "▶ APPLYING step 3 of 15")
        await keys(pilot, "p")
        assert notices(acted.app)[-1] == "Plan: a plan is being carried out; w shows it"
        await keys(pilot, "w")
        layouts.base = Layout((DATA, LOGS), "/etc/stripewright/layout.toml")
        await look(acted, pilot, ApplyEnd(plan.plan.digest, 0, "done in 9 s", "", acted.clock[0]))
        await shows(acted, pilot, "✓ DONE")
        assert notices(acted.app)[-1] == "the plan was carried out: done in 9 s"
        assert "15. ✓ done" in plain(acted) or size == (80, 24)
        acted.give(HERE)
        await keys(pilot, "escape")
        # What was wanted is what is installed now.
        assert layout_screen(acted).draft.edits == ()


async def test_q_asks_nothing_while_the_plan_of_the_draft_goes_on_by_itself():
    acted = stage(HERE, layouts=FakeLayouts())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        assert not layout_screen(acted).draft.is_empty
        await keys(pilot, "escape", "q")
        assert acted.app._exit


async def test_q_asks_for_what_was_drafted_since_the_plan_of_the_draft_began():
    acted = stage(HERE, layouts=FakeLayouts())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        await keys(pilot, "escape", "down", "enter", *["tab"] * 4, "end")
        await keys(pilot, *["backspace"] * 6)
        await typed(pilot, "64KiB")
        await keys(pilot, "ctrl+s")
        assert {one.chunk_bytes for one in layout_screen(acted).draft.edits} == {1 << 16, 1 << 18}
        await keys(pilot, "q")
        assert "The draft will be lost." in screen_text(acted.app)


async def test_q_asks_for_a_draft_that_the_running_plan_is_not_of():
    acted = stage(HERE, layouts=FakeLayouts())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "3", "minus")
        theirs = ApplyProgress("f" * 64, 3, 9, "stripe 2 disks", (), "data", NOW)
        acted.give(replace(HERE, applying=theirs))
        await settled(pilot)
        await keys(pilot, "q")
        assert "The draft will be lost." in screen_text(acted.app)


async def test_a_failure_says_what_was_done_what_was_not_and_what_next():
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        plan = made(layouts)
        await look(acted, pilot, progress(plan, 7, acted.clock[0]))
        end = ApplyEnd(
            plan.plan.digest,
            1,
            "step 8 of 15 failed: mkfs.xfs: exit status 1: [red]no[/] "
            "(done before: mdadm; not done: mount)",
            "when the cause is gone, plan and apply again",
            acted.clock[0],
        )
        await look(acted, pilot, end)
        text = plain(acted)
        for words in (
            "7. ✓ done stripe 2 disks",
            "8. ✗ failed xfs aligned",
            "$ mkfs.xfs -f",
            "9. – not run",
            "✗ FAILED",
            "[red]no[/] (done before: mdadm; not done: mount)",
            "next when the cause is gone, plan and apply again",
        ):
            assert words in text
        assert "not carried out in full: step 8 of 15 failed" in notices(acted.app)[-1]
        await keys(pilot, "escape", "w")
        await shows(acted, pilot, "✗ FAILED")


async def test_exit_4_is_said_in_words_and_that_plan_is_stale_from_then_on():
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        digest = made(layouts).plan.digest
        said = "the disks or the layout are no longer what the plan was made for"
        await look(acted, pilot, ApplyEnd(digest, 4, said, "plan again", acted.clock[0] + 1))
        text = plain(acted)
        assert "▲ STALE" in text
        assert said in text
        assert "no step was started" in text
        assert "next plan again" in text
        await keys(pilot, "escape", "P")
        await shows(acted, pilot, "▲ stale")
        await keys(pilot, "enter")
        await shows(acted, pilot, f"cannot be carried out: stale: {said}")


@pytest.mark.parametrize("name", ["plan", "apply"])
async def test_what_root_says_no_to_is_shown(name):
    layouts = FakeLayouts(problems={name: OperatorError("polkit says [b]no[/b]", "be an operator")})
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, *TO_HALVES, "p")
        if name == "apply":
            await keys(pilot, "tab")
            await paste(acted, pilot, NAMES)
            await carry_out(acted, pilot)
        assert isinstance(acted.app.screen, PlanScreen)
        await shows(acted, pilot, "polkit says [b]no[/b]; be an operator")
        assert acted.app.screen.query_one("#do").disabled
        await keys(pilot, "escape")
        assert not isinstance(acted.app.screen, PlanScreen)


async def test_planning_that_hangs_can_be_left_and_asked_for_again():
    never, asked = Event(), []

    def hang(name):
        if name == "plan":
            asked.append(name)
            if len(asked) == 1:
                never.wait()

    def beside(work):
        thread = Thread(target=work, daemon=True)
        thread.start()
        if len(asked) != 1:
            thread.join(0.2)

    acted = stage(HERE, layouts=FakeLayouts(hang=hang), in_background=beside)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "3", "p")
        acted.clock[0] += 30
        acted.app.present()
        await settled(pilot)
        text = plain(acted)
        assert "root reads the disks and plans, for 30 s" in text
        assert "esc stops waiting" in text
        await keys(pilot, "escape", "p")
        for _ in range(50):
            await settled(pilot)
            if "STEPS" in plain(acted) or "WHAT IS DESTROYED" in plain(acted):
                break
        assert len(asked) == 2
        await shows(acted, pilot, "WHAT IS DESTROYED")
    never.set()


async def test_a_preview_without_roots_units_cannot_be_confirmed_and_says_why():
    layouts = FakeLayouts(why_not="only root can read the disks, and its units are not installed")
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, *TO_HALVES, "p")
        text = plain(acted)
        assert "WHAT IS DESTROYED" in text
        assert "cannot be carried out: only root can read the disks" in text
        assert not acted.app.screen.query_one("#typed").display
        assert acted.app.screen.query_one("#do").disabled


async def test_where_nothing_may_be_changed_all_can_be_looked_at_and_root_is_not_asked():
    layouts = FakeLayouts()
    other = planned(Request(text_of(DATA, LOGS), ("scratch",), ()))
    layouts.made[other.plan.digest] = other
    layouts.notes = [note_of(other)]
    acted = stage(HERE, layouts=layouts, unable="this is --readonly")
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, *TO_HALVES)
        text = plain(acted)
        assert "read-only: this is --readonly" in text
        assert "◆ new" in text  # previewed all the same
        await keys(pilot, "p")
        assert notices(acted.app)[-1] == "Plan: this is --readonly"
        await keys(pilot, "P", "enter")
        await shows(acted, pilot, "cannot be carried out: this is --readonly")
        assert acted.app.screen.query_one("#do").disabled
        assert not acted.app.screen.query_one("#typed").display
    assert not [call for call in layouts.calls if call.startswith(("plan ", "apply"))]


@both_sizes
async def test_the_second_operator_sees_the_plan_and_the_run_of_the_first(size):
    layouts = FakeLayouts()
    first = planned(Request(text_of(DATA, LOGS), ("scratch",), ()), at_s=NOW - 125)
    layouts.made[first.plan.digest] = first
    layouts.notes = [note_of(first)]
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        await keys(pilot, "3")
        await shows(acted, pilot, "PLANS SINCE BOOT")
        await shows(acted, pilot, "◆ plan theirs 2 min 05 s ago")
        await keys(pilot, "P")
        await shows(acted, pilot, "15 steps scratch: remove; data: create; logs: create")
        await keys(pilot, "enter")
        await shows(acted, pilot, f"type these 3 names: {NAMES}")
        await keys(pilot, "tab")
        await paste(acted, pilot, NAMES)
        assert not acted.app.screen.query_one("#do").disabled
        # The first has confirmed it, and this screen was not drawn since: not begun all the same.
        acted.app.snapshot = replace(HERE, applying=progress(first, 1, NOW))
        acted.app.screen.query_one("#do").press()
        await settled(pilot)
        assert applied(layouts) == []
        # The second cannot confirm it any more, and is told so while the plan is shown.
        acted.give(replace(HERE, applying=progress(first, 2, NOW)))
        await settled(pilot)
        assert acted.app.screen.query_one("#do").disabled
        await shows(acted, pilot, "a plan is being carried out; plan again when it has ended")
        await keys(pilot, "escape")
        await shows(acted, pilot, "▶ APPLYING step 2 of 15")
        await keys(pilot, "w")
        await shows(acted, pilot, "step 2 of 15")
        await shows(acted, pilot, "1. ✓ done install the layout")
        end = ApplyEnd(first.plan.digest, 0, "done in 3 s", "", NOW + 3)
        acted.give(HERE)
        await look(acted, pilot, end)
        await shows(acted, pilot, "✓ DONE")
        await keys(pilot, "escape", "P", "enter")
        await shows(acted, pilot, "stale: a plan was carried out since it was made; plan again")
        assert applied(layouts) == []


async def test_a_plan_is_stale_when_the_volumes_changed_since_or_root_forgot_it():
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await ready_to_confirm(acted, pilot)
        assert not acted.app.screen.query_one("#do").disabled
        acted.clock[0] += 10
        changed = replace(STATUS_HERE, decided_at=WALL + 8)
        acted.give(snapshot(changed, taken_at=acted.clock[0]))
        await settled(pilot)
        await shows(acted, pilot, "stale: volumes were changed or brought up since it was made")
        assert acted.app.focused.id == "leave"
        assert acted.app.screen.query_one("#do").disabled
        await keys(pilot, "enter")
        assert not isinstance(acted.app.screen, PlanScreen)
        acted.give(HERE)
        await settled(pilot)
        layouts.at_s = acted.clock[0]
        await keys(pilot, "p")
        later = planned(Request(None, (), ()), at_s=acted.clock[0] + 1)
        layouts.notes = [note_of(later)]
        acted.clock[0] += 10
        acted.give(HERE)
        await settled(pilot)
        await shows(acted, pilot, "dropped by root, too many newer plans")
    assert applied(layouts) == []


async def test_a_plan_that_is_too_old_cannot_be_confirmed():
    layouts = FakeLayouts()
    acted = stage(HERE, layouts=layouts)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await ready_to_confirm(acted, pilot)
        acted.clock[0] += PLAN_LIFETIME_SECONDS - 1
        acted.give(snapshot(STATUS_HERE, taken_at=acted.clock[0]))
        await settled(pilot)
        assert not acted.app.screen.query_one("#do").disabled
        acted.clock[0] += 2
        acted.give(snapshot(STATUS_HERE, taken_at=acted.clock[0]))
        await settled(pilot)
        await shows(acted, pilot, "stale: older than 15 min; plan again")
        assert acted.app.screen.query_one("#do").disabled
        await keys(pilot, "enter")
    assert applied(layouts) == []
