"""The Log screen: followed, filtered, held where it is, and old when nobody answers."""

from dataclasses import replace

import pytest

from appliance.errors import OperatorError
from tests.tui.driving import both_sizes, notices, settled, until
from tests.tui.fake_log import READ_AT, FakeLog, entries, entry
from tests.tui.fakes import screen_text, snapshot, stage
from tests.tui.pictures import assert_looks_as_kept
from tests.tui.test_typed_ahead import in_one_read
from tui.sources.journal import EntryDetail, LogState
from tui.widgets.log_list import LogList
from tui.widgets.table import FilterLine


async def shown(acted, pilot):
    await pilot.press("7")
    await until(pilot, lambda: "LOG" in screen_text(acted.app))
    await settled(pilot)


async def again(acted, pilot):
    """A second later."""
    acted.clock[0] += 1
    acted.app.world.log.now = replace(acted.app.world.log.now, read_at=acted.clock[0])
    acted.app.present()
    await settled(pilot)
    return screen_text(acted.app)


@both_sizes
async def test_the_end_is_followed_until_somebody_looks_back(size):
    acted = stage(snapshot(), log=FakeLog(LogState(entries(200), "the journal", read_at=READ_AT)))
    async with acted.app.run_test(size=size) as pilot:
        await shown(acted, pilot)
        text = screen_text(acted.app)
        assert "following" in text
        assert "[199]" in text
        assert "✗ error" in text
        acted.app.world.log.give(entries(2, 200))
        text = await again(acted, pilot)
        assert "[201]" in text
        await pilot.press("pageup", "pageup")
        text = await again(acted, pilot)
        first = text.splitlines()[4]
        assert "paused" in text
        acted.app.world.log.give(entries(30, 202))
        text = await again(acted, pilot)
        assert text.splitlines()[4] == first
        assert "[231]" not in text
        # What falls out at the other end does not move it either.
        log = acted.app.world.log
        log.now = replace(log.now, entries=log.now.entries[5:])
        assert (await again(acted, pilot)).splitlines()[4] == first
        await pilot.press("end")
        text = await again(acted, pilot)
        assert "following" in text
        assert "[231]" in text


async def test_the_end_is_followed_from_entries_that_fit_to_more_than_fit():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await shown(acted, pilot)
        for keys, last in (("fff", "[55]"), ("f", "[59]")):
            in_one_read(acted.app, *keys)
            text = await again(acted, pilot)
            assert "following" in text
            # In the list, and in full below it.
            assert text.count(last) == 2


@both_sizes
async def test_entries_are_chosen_by_severity_unit_and_words(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await shown(acted, pilot)
        await pilot.press("f", "f", "f")
        text = await again(acted, pilot)
        assert "error and above" in text
        assert "MOUNT-MISSING" in text
        assert "COVERAGE" not in text
        await pilot.press("f")
        assert "60 entries" in await again(acted, pilot)
        await pilot.press("v")
        await settled(pilot)
        assert "Entries of which unit?" in screen_text(acted.app)
        await pilot.press("down", "down", "enter")
        await settled(pilot)
        text = await again(acted, pilot)
        assert "unit bench@smoke" in text
        assert "MOUNT-MISSING" not in text
        await pilot.press("slash", *"coverage")
        text = await again(acted, pilot)
        assert "with: coverage" in text
        assert "Starting" not in text
        await pilot.press("enter")
        assert acted.app.focused is acted.app.screen.query_one(LogList)
        await pilot.press("escape", "escape")
        assert "60 entries" in await again(acted, pilot)
        await pilot.press("slash", *"nothing-has-this", "enter")
        assert "none of 60 entries: with: nothing" in await again(acted, pilot)
        await pilot.press("escape")
        await pilot.press("v")
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert "60 entries" in await again(acted, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: acted.app.current_mode == "overview")


@both_sizes
async def test_an_entry_is_shown_in_full_with_what_it_means(size):
    acted = stage(snapshot())
    log = acted.app.world.log
    log.details = EntryDetail(
        (("MESSAGE", "all of it"), ("_BOOT_ID", "b1")), "A volume is not mounted.\nMount it."
    )
    async with acted.app.run_test(size=size) as pilot:
        await shown(acted, pilot)
        await pilot.press("enter")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "A volume is not mounted." in text
        assert "_BOOT_ID" in text
        assert log.calls == ["detail c59"]
        await pilot.press("escape", "home", "enter")
        await settled(pilot)
        assert log.calls[-1] == "detail c0"
        await pilot.press("escape")
        log.details = OperatorError("this entry is no longer in the journal", "")
        await pilot.press("enter")
        await settled(pilot)
        assert "this entry is no longer in the journal" in notices(acted.app)


async def test_older_entries_are_read_when_asked_for_and_the_key_says_why_not():
    acted = stage(snapshot())
    log = acted.app.world.log
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        await pilot.press("o")
        assert log.calls == ["older"]
        log.now = replace(log.now, has_older=False)
        await again(acted, pilot)
        await pilot.press("o")
        await settled(pilot)
        assert log.calls == ["older"]
        assert any("no older entries" in notice for notice in notices(acted.app))


async def test_n_goes_to_the_next_match_and_keeps_what_is_around_it():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        listed = acted.app.screen.query_one(LogList)
        await pilot.press("n")
        assert any(
            "nothing to repeat: filter with / first" in notice for notice in notices(acted.app)
        )
        await pilot.press("slash", *"coverage", "enter", "g")
        assert [entry.key for entry in listed.entries][:2] == ["c4", "c11"]
        await pilot.press("escape")
        assert listed.current.key == "c4"
        assert len(listed.entries) == 60
        await pilot.press("n", "n")
        assert listed.current.key == "c18"
        await pilot.press("N")
        assert listed.current.key == "c11"
        await pilot.press("N", "N")
        assert listed.current.key == "c4"
        assert "no earlier entry has: coverage" in notices(acted.app)


async def test_a_link_leads_to_its_time_and_reads_back_to_it():
    acted = stage(snapshot())
    log = acted.app.world.log
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        await pilot.press("f", "f", "f")
        screen = acted.app.screen
        listed = screen.query_one(LogList)
        goal = entry(0).at - 30
        screen.jump(str(goal))
        await again(acted, pilot)
        assert log.calls == [f"older {goal:.0f}"]
        log.now = replace(log.now, entries=(*entries(8, -8), *log.now.entries))
        text = await again(acted, pilot)
        assert listed.current.key == "c-3"
        assert "paused" in text
        # It was reached: what comes moves nothing.
        log.give(entries(3, 60))
        await again(acted, pilot)
        assert listed.current.key == "c-3"
        log.now = replace(log.now, has_older=False)
        screen.jump(str(goal - 86_400))
        await again(acted, pilot)
        assert listed.current.key == "c-8"
        assert any("for more: journalctl --since '2026-09-20" in one for one in notices(acted.app))


async def test_a_log_that_hangs_is_shown_as_old_and_freezes_nothing():
    acted = stage(snapshot(), log=FakeLog(LogState()))
    log = acted.app.world.log
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        assert "reading the log" in screen_text(acted.app)
        acted.clock[0] += 30
        acted.app.present()
        await settled(pilot)
        assert "has not answered yet, for 30 s" in screen_text(acted.app)
        log.now = LogState(entries(40), "the journal", read_at=acted.clock[0])
        acted.app.present()
        await settled(pilot)
        assert "has not answered" not in screen_text(acted.app)
        acted.clock[0] += 30
        acted.app.present()
        await settled(pilot)
        assert "has not answered for 30 s" in screen_text(acted.app)
        assert "[39]" in screen_text(acted.app)
        # Nobody looked meanwhile: that is no reason to complain.
        log.now = replace(log.now, asked_at=acted.clock[0])
        acted.app.present()
        await settled(pilot)
        assert "has not answered" not in screen_text(acted.app)
        await pilot.press("up", "up")
        await settled(pilot)
        assert "paused" in screen_text(acted.app)
        await pilot.press("1")
        await until(pilot, lambda: acted.app.current_mode == "overview")


async def test_an_entry_that_is_not_answered_freezes_nothing():
    waiting = []
    acted = stage(snapshot(), in_background=waiting.append)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        await pilot.press("enter")
        acted.clock[0] += 30
        acted.app.world.log.now = replace(acted.app.world.log.now, read_at=acted.clock[0])
        acted.app.present()
        await settled(pilot)
        assert "reading the entry, for 30 s" in screen_text(acted.app)
        await pilot.press("up")
        await settled(pilot)
        assert "[58]" in screen_text(acted.app)
        for work in waiting:
            work()
        await settled(pilot)
        assert "What it means." in screen_text(acted.app)


async def test_what_stands_in_for_a_journal_and_what_fails_is_said():
    log = FakeLog(
        LogState(
            entries(3),
            "events in the history",
            "this user may not read the system's journal; members of group systemd-journal may",
            read_at=READ_AT,
        )
    )
    acted = stage(snapshot(), log=log)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        text = screen_text(acted.app)
        assert "events in the history" in text
        assert "members of group" in text
        log.now = replace(log.now, entries=())
        acted.app.present()
        await settled(pilot)
        assert "no entries yet" in screen_text(acted.app)
        log.now = replace(log.now, problem="database is locked")
        acted.clock[0] += 3
        acted.app.present()
        await settled(pilot)
        assert "not read: database is locked; this is 3 s old" in screen_text(acted.app)


HOSTILE = "\x1b[31m[bold red]rm -rf[/] \x07\u202e[@click=app.quit]x[/]\nsecond line" + "y" * 5000


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_hostile_entries_are_one_line_of_text_each(size):
    log = FakeLog()
    bad = entry(60, message=HOSTILE, unit="stripewright-[red]\x1b]0;title\x07.service")
    log.give((bad, entry(61)))
    log.details = EntryDetail(((HOSTILE, HOSTILE),), HOSTILE)
    acted = stage(snapshot(), log=log)
    async with acted.app.run_test(size=size) as pilot:
        await shown(acted, pilot)
        await pilot.press("up")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "\x1b" not in text
        assert "\\x1b[31m[bold red]rm" in text
        lines = text.splitlines()
        (below,) = [at for at, line in enumerate(lines) if line.startswith(" stripewright-[red]")]
        # One line each: the entry after it is the last of the list.
        assert "no drift found" in lines[below - 1]
        assert "\\x1b[31m[bold red]rm" in lines[below - 2]
        await pilot.press("enter")
        await settled(pilot)
        assert "\x1b" not in screen_text(acted.app)
        assert "\\u202e" in screen_text(acted.app)
        await pilot.press("escape", "v")
        await settled(pilot)
        assert "stripewright-[red]" in screen_text(acted.app)
        assert "\x1b" not in screen_text(acted.app)


async def test_help_names_every_key_of_the_log():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await shown(acted, pilot)
        footer = screen_text(acted.app).splitlines()[-1]
        assert "Follow" in footer
        assert "Severity" in footer
        await pilot.press("question_mark")
        await settled(pilot)
        text = screen_text(acted.app)
        for word in ("Severity", "Unit", "Filter", "Older", "Follow", "Detail"):
            assert word in text


@both_sizes
async def test_pictures(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await shown(acted, pilot)
        await assert_looks_as_kept(acted.app, pilot, f"log-{size[0]}")


async def test_a_link_takes_the_filter_line_away():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await shown(acted, pilot)
        await pilot.press("slash", *"coverage", "enter")
        acted.app.main_screen.jump("0")
        await settled(pilot)
        assert not acted.app.screen.query_one(FilterLine).display
