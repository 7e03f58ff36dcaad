"""The Drift screen: findings, what they rest on, and what can be done about them."""

from dataclasses import replace

from appliance.drift.series import remeasure
from appliance.errors import OperatorError, Refused
from appliance.model.confirmations import CONFIRM_SUITE, Repeated
from tests.tui.driving import both_sizes, notices, settled, until
from tests.tui.fake_drift import (
    FINDINGS,
    MISSING,
    MODE,
    OF_SLOWER,
    RECORDS,
    REPEATS,
    SAID,
    SLOWER,
    FakeDrift,
)
from tests.tui.fakes import RUNNING, STATUS, screen_text, snapshot, stage
from tests.tui.pictures import assert_looks_as_kept
from tui.sources.drift import Evidence, Findings
from tui.widgets import drift_questions


async def shown(acted, pilot):
    await pilot.press("6")
    await until(pilot, lambda: "DRIFT" in screen_text(acted.app))
    await settled(pilot)
    return screen_text(acted.app)


async def pressed(acted, pilot, *keys):
    for key in keys:
        await pilot.press(key)
        await settled(pilot)
    await settled(pilot)
    return screen_text(acted.app)


@both_sizes
async def test_findings_gravest_first_with_evidence_and_all_of_it(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        text = await shown(acted, pilot)
        rows = [line for line in text.splitlines() if "· open" in line or "? suspect" in line]
        assert "✗ critical" in rows[0]
        assert "MOUNT-MISSING" in rows[0]
        assert "▲ warning" in rows[1]
        assert "last check 2 min 00 s ago" in text
        assert "2 of 12 series are not judged yet: a baseline needs 12" in text
        # What is wrong, since when, what it means and what to do, without a key.
        lines = [line.strip() for line in text.splitlines()]
        at = next(at for at, line in enumerate(lines) if line.startswith("#14 MOUNT")) + 1
        for line, words in zip(
            lines[at:],
            (
                "logs: /mnt/logs is not mounted",
                "since     2026-09-21 13:58:20Z, 15 min 00 s ago",
                "means     the volume is not mounted",
                "next      mount it: systemctl start mnt-logs.mount",
            ),
            strict=False,
        ):
            assert line.startswith(words)
        # Without a series: expected against observed.
        assert "expected  mounted at /mnt/logs" in text
        assert "observed  not mounted" in text
        assert "ENV-FIO" not in text
        text = await pressed(acted, pilot, "f")
        assert "ENV-FIO" in text
        assert "3 findings, 1 closed" in text
        text = await pressed(acted, pilot, "f", "down")
        assert "ENV-FIO" not in text
        assert "IOPS of each run" in text
        assert "normal" in text
        assert "changed" in text
        assert "cause     member nvme3n1 waits longer than the others" in text
        assert "next      R repeats the suspect job now, for about 2 min 40 s" in text
        assert "drift list" not in text
        # Beside the chart there is room for all of it.
        assert ("normal range          403.7k to 420.2k" in text) == (size[0] == 140)
        assert ("2026-09-20 02:13:20Z  opened" in text) == (size[0] == 140)
        braille = text
        text = await pressed(acted, pilot, "M")
        assert text != braille
        text = await pressed(acted, pilot, "T")
        assert "Numbers of finding 12" in text
        assert "409.3k" in await pressed(acted, pilot, "end")
        text = await pressed(acted, pilot, "escape", "enter", "end")
        assert "3 of 5 repeats are nearer" in text
        assert "opened" in text
        assert "STRIPEWRIGHT_DRIFT_CODE=PERF-SLOWER" in text


async def test_however_many_findings_the_one_under_the_cursor_has_its_chart():
    others = [replace(MISSING, id=100 + number) for number in range(20)]
    acted = stage(snapshot(), drift=FakeDrift(Findings((SLOWER, *others))))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        text = await pressed(acted, pilot, "G")
        assert "IOPS of each run" in text
        assert "changed" in text


@both_sizes
async def test_acknowledge_with_a_note(size):
    acted = stage(snapshot())
    drift = acted.app.world.drift
    async with acted.app.run_test(size=size) as pilot:
        await shown(acted, pilot)
        text = await pressed(acted, pilot, "a")
        assert "Acknowledge finding 14?" in text
        assert "silences the alert until it clears" in text
        await pressed(acted, pilot, "escape")
        assert drift.calls == ["findings"]
        await pilot.press("a")
        await settled(pilot)
        await pilot.press(*"ticket-7", "enter")
        await until(pilot, lambda: "acknowledge 14: ticket-7" in drift.calls)
        await settled(pilot)
        assert drift.calls[-1] == "findings"
        assert "finding 14 is acknowledged" in notices(acted.app)
        assert "hurry" in acted.feed.calls
        drift.problem = Refused("not allowed to start", "operators are the members of a group")
        await pressed(acted, pilot, "a", "enter")
        assert "not allowed to start; operators are the members of a group" in notices(acted.app)


@both_sizes
async def test_approve_says_what_is_judged_and_has_cancel_focused(size):
    acted = stage(snapshot())
    drift = acted.app.world.drift
    async with acted.app.run_test(size=size) as pilot:
        await shown(acted, pilot)
        text = await pressed(acted, pilot, "b")
        assert "only a changed speed can become normal" in "".join(notices(acted.app))
        text = await pressed(acted, pilot, "down", "b")
        assert "403.7k to 420.2k IOPS, from 60 results" in text
        assert "only by results from run 61 on: a baseline needs 12 of them" in text
        assert "there are 10" in text
        assert acted.app.focused.id == "leave"
        await pressed(acted, pilot, "enter")
        assert not any(call.startswith("approve") for call in drift.calls)
        await pressed(acted, pilot, "b", "shift+tab", *"new fio", "enter")
        assert not any(call.startswith("approve") for call in drift.calls)
        await pressed(acted, pilot, "tab", "enter")
        assert "approve 12: new fio" in drift.calls
        assert "finding 12 is closed" in notices(acted.app)
        assert "PERF-SLOWER" not in "".join(screen_text(acted.app).splitlines()[3:10])


@both_sizes
async def test_confirm_says_what_it_does_and_is_followed_to_its_end(size):
    end = Repeated((replace(SAID, words="so it is"),), (), failed=False)
    acted = stage(snapshot(), drift=FakeDrift(ends=[None, end]))
    drift = acted.app.world.drift
    async with acted.app.run_test(size=size) as pilot:
        await shown(acted, pilot)
        text = await pressed(acted, pilot, "R")
        assert "smoke/rand-read-4k read" in text
        assert "about 2 min 40 s" in text
        assert "/mnt/scratch/.stripewright-bench" in text
        await pressed(acted, pilot, "left", "enter")
        assert drift.calls == ["findings"]
        await pressed(acted, pilot, "R", "enter")
        assert "confirm" in drift.calls
        assert "repeating the suspect jobs" in screen_text(acted.app)
        await pressed(acted, pilot, "R")
        assert any("already being repeated" in notice for notice in notices(acted.app))
        # x stops it, and not the suite that another screen would stop.
        text = await pressed(acted, pilot, "x")
        assert "Stop the repeats?" in text
        await pressed(acted, pilot, "right", "enter")
        assert "stop" in drift.calls
        for _ in range(2):
            acted.clock[0] += 4
            acted.app.present()
            await settled(pilot)
        assert "smoke/rand-read-4k read: unclear" in notices(acted.app)
        assert "repeating the suspect jobs" not in screen_text(acted.app)
        assert acted.control.calls == []


async def test_repeats_of_others_are_seen_and_a_suite_is_cancelled_as_elsewhere():
    repeats = replace(RUNNING, suite=CONFIRM_SUITE)
    acted = stage(snapshot(replace(STATUS, running=repeats)))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        assert "repeating the suspect jobs" in screen_text(acted.app)
        text = await pressed(acted, pilot, "x")
        assert "Stop the repeats?" in text
        await pressed(acted, pilot, "escape")
        acted.give(snapshot(replace(STATUS, running=RUNNING)))
        await settled(pilot)
        assert "Stop suite smoke?" in await pressed(acted, pilot, "x")
        await pressed(acted, pilot, "escape")
        assert "for suite smoke to end" in await pressed(acted, pilot, "R")


async def test_a_finding_leads_to_its_run_its_disk_and_the_log_and_back():
    slow = replace(SLOWER, fact=replace(SLOWER.fact, member="AWS00003EXAMPLE"))
    drift = FakeDrift(Findings((slow,)), {12: OF_SLOWER})
    acted = stage(snapshot(), drift=drift)
    app, runs = acted.app, []
    results = app.world.results
    results.run, read = lambda number: (runs.append(number), read(number))[1], results.run
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        text = await pressed(acted, pilot, "enter")
        for link in ("Close ", " Log 08:13 ", " Disk ", " Run 70 ", " Run 61 "):
            assert link in text
        await pressed(acted, pilot, "enter")
        assert runs == [61]
        assert "#12 PERF-SLOWER" in await pressed(acted, pilot, "escape")
        await pressed(acted, pilot, "r")
        assert runs == [61, 61]
        await pressed(acted, pilot, "escape", "enter", "left", "left", "enter")
        assert app.current_mode == "disks"
        assert "#12 PERF-SLOWER" in await pressed(acted, pilot, "escape")
        await pressed(acted, pilot, "enter", "left", "left", "left", "enter")
        assert app.current_mode == "log"
        began = OF_SLOWER.stretch.slots[60].started_at
        assert app.world.log.calls == [f"older {began:.0f}"]
        assert "#12 PERF-SLOWER" in await pressed(acted, pilot, "escape")


async def test_a_link_leads_to_a_finding_that_is_closed_or_not_read_yet():
    waiting = []
    acted = stage(snapshot(), in_background=waiting.append)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        acted.app.visit("drift", "4")
        await settled(pilot)
        for work in waiting:
            work()
        await settled(pilot)
        assert "#4 ENV-FIO" in screen_text(acted.app)


async def test_y_copies_the_command_of_the_next_step_or_else_the_finding():
    drift = FakeDrift(Findings((MODE, SLOWER), repeats=REPEATS), {15: OF_SLOWER})
    acted = stage(snapshot(), drift=drift, unable="only read here")
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        await pressed(acted, pilot, "down", "y")
        assert acted.app.clipboard.startswith("journalctl -k --since '2026-09-19 02:13:20 UTC'")
        drift.now = Findings((MISSING,))
        await pressed(acted, pilot, "u", "y")
        assert acted.app.clipboard == "systemctl start mnt-logs.mount"
        quiet = replace(MISSING, fact=replace(MISSING.fact, next_step="look\x1b"))
        drift.now = Findings((quiet,))
        await pressed(acted, pilot, "u", "y")
        assert acted.app.clipboard == "#14 MOUNT-MISSING: logs: /mnt/logs is not mounted"


async def test_look_now_and_what_cannot_be_done_says_why():
    acted = stage(snapshot(), drift=FakeDrift(Findings(RECORDS)))
    drift = acted.app.world.drift
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        await pressed(acted, pilot, "d")
        assert "look" in drift.calls
        assert "drift check done" in notices(acted.app)
        await pressed(acted, pilot, "R")
        assert any("repeated recently, or often enough" in notice for notice in notices(acted.app))
        await pressed(acted, pilot, "T")
        assert any("no chart" in notice for notice in notices(acted.app))
        await pressed(acted, pilot, "f", "down", "down", "down", "a")
        assert any("is already closed" in notice for notice in notices(acted.app))
        drift.now = Findings(())
        drift.problem = OperatorError("the look failed", "")
        await pressed(acted, pilot, "d")
        assert "the look failed" in notices(acted.app)
        assert "nothing has drifted" in screen_text(acted.app)
        await pressed(acted, pilot, "R")
        assert any("nothing is suspect" in notice for notice in notices(acted.app))


async def test_nothing_is_changed_where_nothing_may_be():
    acted = stage(snapshot(), unable="only read here")
    drift = acted.app.world.drift
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        await pressed(acted, pilot, "down", "a", "b", "R", "d", "x")
        assert drift.calls == ["findings"]
        said = notices(acted.app)
        for name in ("Acknowledge", "Rebaseline", "Retest", "Check now", "Cancel"):
            assert f"{name}: only read here" in said


async def test_overdue_and_never_looked_are_said():
    late = replace(STATUS.drift, overdue="not checked for 3 h 00 min")
    acted = stage(snapshot(replace(STATUS, drift=late)))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        assert "▲ not checked for 3 h 00 min; d checks now" in await shown(acted, pilot)
        acted.give(snapshot(replace(STATUS, drift=replace(late, checked_at=None, overdue=""))))
        await settled(pilot)
        assert "never checked" in screen_text(acted.app)


async def test_a_history_that_hangs_freezes_nothing_and_shows_itself():
    waiting = []
    acted = stage(snapshot(), in_background=waiting.append)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        assert "not read yet" in await shown(acted, pilot)
        acted.clock[0] += 30
        acted.app.present()
        await settled(pilot)
        assert "reading, for 30 s" in screen_text(acted.app)
        await pressed(acted, pilot, "down", "f", "a")
        while waiting:
            waiting.pop(0)()
            await settled(pilot)
        assert "MOUNT-MISSING" in screen_text(acted.app)
        # What was there stays when the next answer is a problem.
        acted.app.world.drift.findings = _locked
        await pressed(acted, pilot, "u")
        waiting.pop(0)()
        acted.clock[0] += 5
        acted.app.present()
        await settled(pilot)
        text = screen_text(acted.app)
        assert "not read: database is locked; this is 35 s old" in text
        assert "MOUNT-MISSING" in text


def _locked():
    raise OperatorError("database is locked", "")


HOSTILE = "\x1b[31m[bold red]x[/]\x07\u202e[@click=app.quit]"


@both_sizes
async def test_hostile_findings_are_text(size):
    fact = replace(
        SLOWER.fact,
        code="PERF-[red]\x1b",
        subject=HOSTILE,
        summary=HOSTILE,
        expected=HOSTILE,
        observed=HOSTILE,
        next_step=HOSTILE,
        member=HOSTILE,
        evidence={HOSTILE: HOSTILE, **SLOWER.fact.evidence, "cause": HOSTILE},
    )
    bad = replace(SLOWER, fact=fact, note=HOSTILE, acknowledged_at=1.0, acknowledged_by=HOSTILE)
    said = replace(OF_SLOWER, said=(replace(SAID, words=HOSTILE),))
    acted = stage(snapshot(), drift=FakeDrift(replace(FINDINGS, records=(bad,)), {12: said}))
    async with acted.app.run_test(size=size) as pilot:
        text = await shown(acted, pilot)
        assert "\\x1b[31m[bold red]x" in text
        assert "\x1b" not in text
        for key in ("enter", "T", "a", "R"):
            text = await pressed(acted, pilot, key)
            assert "\x1b" not in text
            assert "\u202e" not in text
            await pressed(acted, pilot, "escape")


async def test_a_second_mode_is_shown_as_a_histogram_and_unread_evidence_is_said():
    drift = FakeDrift(
        Findings((MODE, SLOWER)),
        {15: Evidence(bins={100_000: 900, 9_000_000: 20}, stretch=OF_SLOWER.stretch)},
    )
    acted = stage(snapshot(), drift=drift)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        text = await pressed(acted, pilot, "down")
        assert "share of I/Os" in text
        assert "usual end" in text
        assert "9.00 ms" in await pressed(acted, pilot, "T")
        await pressed(acted, pilot, "escape")
        drift.evidence = lambda _: _locked()
        text = await pressed(acted, pilot, "u", "up")
        assert "not read: database is locked" in text


async def test_help_names_every_key_of_drift():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        text = await shown(acted, pilot)
        for word in ("Detail", "Acknowledge", "Rebaseline", "Retest", "Check now"):
            assert word in text.splitlines()[-1]
        await pilot.resize_terminal(140, 45)
        text = await pressed(acted, pilot, "question_mark")
        for word in ("Run", "Trend", "Closed", "Cancel", "Numbers", "Marker"):
            assert word in text
    assert drift_questions.AT_ONCE == remeasure.MAX_SUSPECTS


@both_sizes
async def test_pictures(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await shown(acted, pilot)
        await pressed(acted, pilot, "down")
        await assert_looks_as_kept(acted.app, pilot, f"drift-{size[0]}")
