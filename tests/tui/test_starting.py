"""Suites are started and stopped from the screen, or it says why not; how they end is told."""

from dataclasses import replace

import pytest

from appliance.client.plan_requests import ApplyProgress
from appliance.errors import OperatorError
from appliance.model.runs import RunState
from tests.tui.driving import both_sizes, notices, settled, until
from tests.tui.fakes import (
    RESULTS,
    STATUS,
    FakeControl,
    run_record,
    running_snapshot,
    screen_text,
    snapshot,
    stage,
)
from tui.screens.sheet import Sheet


async def begun(acted, pilot):
    """The feed's first snapshot is there, and drawn."""
    await until(pilot, lambda: acted.app.snapshot is not None)
    await settled(pilot)


@both_sizes
async def test_running_suite_shows_job_progress_and_time_left(size):
    acted = stage(running_snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await begun(acted, pilot)
        text = screen_text(acted.app)
        assert "▶ RUNNING smoke" in text
        assert "job 2 of 5 rand-read-4k · 1 min 48 s left" in text
        assert "45 %" in text
        assert "▶ measuring  rand-read-4k" in text
        assert "– waiting    rand-write-4k" in text
        acted.clock[0] += 10
        acted.app.present()
        await settled(pilot)
        assert "1 min 38 s left" in screen_text(acted.app)


@both_sizes
async def test_starting_asks_first_and_takes_two_keys(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await begun(acted, pilot)
        await pilot.press("s")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "Start suite smoke on scratch?" in text
        assert "5 jobs, 2 min 30 s in all" in text
        assert "about 16 GiB of files in /mnt/scratch/.stripewright-bench" in text
        assert "13.3 TiB on scratch now" in text
        assert acted.app.focused.id == "do"
        await pilot.press("left", "enter")
        await settled(pilot)
        assert acted.control.calls == []
        assert not isinstance(acted.app.screen, Sheet)


@pytest.mark.parametrize("keys", [("enter",), ("right", "enter"), ("tab", "tab", "enter")])
async def test_confirmed_start_asks_systemd_and_watches(keys):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        await pilot.press("s")
        await settled(pilot)
        await pilot.press(*keys)
        await settled(pilot)
        assert acted.control.calls == ["start smoke"]
        assert acted.feed.calls[-1] == "expect smoke"
        acted.give(snapshot(starting="smoke"))
        await settled(pilot)
        assert "asked systemd to start smoke" in screen_text(acted.app)
        await pilot.press("s")
        await settled(pilot)
        assert "Start smoke: suite smoke is starting" in notices(acted.app)


async def test_start_that_is_not_allowed_is_told_as_plain_text():
    control = FakeControl(OperatorError("not allowed to [b]start[/b]", "ask [red]root[/]"))
    acted = stage(snapshot(), control=control)
    async with acted.app.run_test(size=(80, 24), notifications=True) as pilot:
        await begun(acted, pilot)
        await pilot.press("s", "right", "enter")
        await settled(pilot)
        assert notices(acted.app) == ["not allowed to [b]start[/b]; ask [red]root[/]"]
        await until(pilot, lambda: "not allowed to [b]start[/b]" in screen_text(acted.app))
        assert "expect smoke" not in acted.feed.calls


async def test_machine_that_changed_under_the_question_is_not_started():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        await pilot.press("s")
        await settled(pilot)
        acted.give(running_snapshot())
        await settled(pilot)
        await pilot.press("right", "enter")
        await settled(pilot)
        assert acted.control.calls == []
        assert "already running" in notices(acted.app)[0]


async def test_start_that_failed_later_is_told_once():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        for _ in range(3):
            acted.give(snapshot(start_problem="smoke did not start: unit is failed (exit-code)"))
            await settled(pilot)
        assert notices(acted.app) == ["smoke did not start: unit is failed (exit-code)"]


@both_sizes
async def test_cancelling_asks_first_and_stops_the_unit(size):
    acted = stage(running_snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await begun(acted, pilot)
        await pilot.press("x")
        await settled(pilot)
        assert "Stop suite smoke?" in screen_text(acted.app)
        assert acted.app.focused.id == "leave"
        await pilot.press("escape")
        await settled(pilot)
        assert acted.control.calls == []
        await pilot.press("x", "right", "enter")
        await settled(pilot)
        assert acted.control.calls == ["stop 812"]
        assert acted.feed.calls[-1] == "hurry"


async def test_disabled_actions_say_why():
    acted = stage(snapshot(replace(STATUS, last_run=None, last_results=())))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        await pilot.press("x", "r")
        await settled(pilot)
        assert notices(acted.app) == [
            "Cancel: no suite is running",
            "Verdicts: no suite has been run yet",
        ]
        acted.give(running_snapshot())
        await settled(pilot)
        await pilot.press("s")
        await settled(pilot)
        assert "already running" in notices(acted.app)[-1]


async def test_no_suite_starts_while_a_plan_is_carried_out():
    applying = ApplyProgress("d" * 64, 1, 2, "make the array", ("mdadm",), "scratch", 0.0)
    acted = stage(snapshot(applying=applying))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        await pilot.press("s")
        await settled(pilot)
        assert "Start smoke: a plan is being carried out on the disks" in notices(acted.app)


async def test_a_copy_of_history_can_only_be_looked_at():
    acted = stage(snapshot(), unable="viewing the history in /tmp/copy.db")
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        await pilot.press("s")
        await settled(pilot)
        assert notices(acted.app) == ["Start smoke: viewing the history in /tmp/copy.db"]


@pytest.mark.parametrize(
    ("state", "results", "words"),
    [
        (RunState.COMPLETE, RESULTS, "smoke complete: 4 of 5 results valid"),
        (RunState.ABORTED, (), "smoke aborted: 0 of 0 results valid; the power went"),
    ],
)
async def test_the_end_of_a_run_is_told(state, results, words):
    acted = stage(running_snapshot())
    reason = "" if state is RunState.COMPLETE else "the power went"
    ended = replace(
        STATUS, last_run=run_record(id=42, state=state, reason=reason), last_results=results
    )
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await begun(acted, pilot)
        acted.give(snapshot(ended))
        await settled(pilot)
        assert notices(acted.app) == [words]
        assert "LAST SUITE smoke" in screen_text(acted.app)
