"""What the screens show, at the smallest and at a comfortable size; help, palette, sizes."""

from dataclasses import replace

import pytest
from textual.command import CommandPalette
from textual.widgets._toast import Toast, ToastRack

from tests.tui.driving import both_sizes, keys, notices, resized, settled
from tests.tui.fakes import (
    REFUSED_STATUS,
    STATUS,
    screen_text,
    snapshot,
    stage,
)
from tui.screens.overview import OverviewScreen
from tui.screens.results_run import RunScreen
from tui.screens.sheet import Sheet


@both_sizes
async def test_overview_answers_in_one_look(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        text = screen_text(acted.app)
    for words in (
        "✓ HEALTHY",
        "raid0 × 4",
        "chunk 256 KiB, sunit 256 KiB, swidth 1 MiB ✓ aligned",
        "/mnt/scratch",
        "1.60 GiB/s",
        "nvme4n1",
        "AWAIT by member · 5 min",
        "░░░",
        "4 of 5 valid",
        "✗ COVERAGE",
        "▲ DEPTH",
        "rand-write-4k",
        "next in 4 h 12 min",
        "Start smoke",
        "Quit",
    ):
        assert words in text
    lines = text.splitlines()
    assert len(lines) == size[1]
    assert all(len(line) <= size[0] for line in lines)


async def test_wide_overview_shows_await_and_findings_in_words():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        text = screen_text(acted.app)
    assert "AWAIT ──" in text
    assert "only 70.9 % of the bytes" in text


async def test_paints_before_anything_was_read():
    acted = stage(None)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "READING" in screen_text(acted.app)
        assert acted.feed.calls == ["start"]
        acted.give(snapshot())
        await settled(pilot)
        assert "HEALTHY" in screen_text(acted.app)
    assert acted.feed.calls[-1] == "stop"


async def test_refused_machine_says_why_and_what_to_do():
    acted = stage(snapshot(REFUSED_STATUS, live=(), seconds=()))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        text = screen_text(acted.app)
        assert "▲ REFUSED" in text
        assert "ext4 signature at 0x438" in text
        assert "next       save or erase" in text
        assert "✗ no      nvme5n1" in text
        await pilot.press("s")
        await settled(pilot)
        assert notices(acted.app) == [
            "Start smoke: no volume is mounted, so smoke has nothing to measure"
        ]
        assert not isinstance(acted.app.screen, Sheet)


@both_sizes
async def test_the_last_suite_is_one_key_away(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("r")
        await settled(pilot)
        assert isinstance(acted.app.screen, RunScreen)
        assert "RUN 41 smoke" in screen_text(acted.app)
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(acted.app.screen, OverviewScreen)


async def test_update_hurries_the_feed():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("u")
        await settled(pilot)
        assert acted.feed.calls[-1] == "hurry"


@both_sizes
async def test_disks_say_why_each_is_used_or_not(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "4 of 6 used" in text
        assert "✓ used" in text
        assert "AWS00001EXAMPLE" in text
        assert "the system runs from it" in text
        await pilot.press(*["down"] * 5)
        await settled(pilot)
        assert "holds an ext4 signature at 0x438" in screen_text(acted.app)
        await pilot.press("enter")
        await settled(pilot)
        detail = screen_text(acted.app)
        assert isinstance(acted.app.screen, Sheet)
        assert "ext4 at 0x438 label old-data" in detail
        assert "3750000000000 bytes" in detail
        await pilot.press("escape", "escape")
        await settled(pilot)
        assert acted.app.current_mode == "overview"


async def test_disk_cursor_stays_where_it_is_when_snapshots_come():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2", "down", "down")
        acted.give(snapshot(replace(STATUS, disks=(*STATUS.disks[:5],))))
        await settled(pilot)
        assert "/dev/nvme2n1 ──" in screen_text(acted.app)


async def test_no_disks_at_all_is_shown_and_enter_does_nothing():
    acted = stage(snapshot(replace(REFUSED_STATUS, disks=()), live=()))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2", "enter", "down")
        await settled(pilot)
        assert "none recorded by the boot unit" in screen_text(acted.app)


@pytest.mark.parametrize("screen", ["1", "2"])
async def test_help_lists_every_binding_of_the_screen(screen):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        await pilot.press(screen)
        await settled(pilot)
        bound = [
            entry.binding
            for entry in acted.app.screen.active_bindings.values()
            if entry.binding.id is not None
        ]
        assert len(bound) >= 9
        await pilot.press("question_mark")
        await settled(pilot)
        text = screen_text(acted.app)
        for binding in bound:
            assert binding.description in text
            assert binding.tooltip in text or binding.action.startswith("app.show(")
        assert "not now: no suite is running" in text
        assert "Palette" in text


async def test_palette_knows_every_action_and_runs_it():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        offered = {
            command.title: command for command in acted.app.get_system_commands(acted.app.screen)
        }
        names = {
            entry.binding.description
            for entry in acted.app.screen.active_bindings.values()
            if entry.binding.id is not None
        }
        assert names <= set(offered)
        assert offered["Cancel"].help == "not now: no suite is running"
        await pilot.press("ctrl+p")
        await settled(pilot)
        assert isinstance(acted.app.screen, CommandPalette)
        await pilot.press(*"disks")
        await acted.app.workers.wait_for_complete()
        await settled(pilot)
        await pilot.press("enter")
        await acted.app.workers.wait_for_complete()
        await settled(pilot)
        await offered["Cancel"].callback()
        await settled(pilot)
        assert "Cancel: no suite is running" in notices(acted.app)
        await offered["Metric"].callback()
        await offered["Disks"].callback()
        await settled(pilot)
        assert acted.app.current_mode == "disks"


@pytest.mark.parametrize("keys", [("2", "q"), ("r", "q", "q")])
async def test_q_quits_from_every_screen(keys):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*keys)
        await settled(pilot)
        assert not acted.app.is_running


async def test_a_resize_is_followed():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        await resized(pilot, 80, 24)
        await settled(pilot)
        text = screen_text(acted.app)
        assert "AWAIT, last" not in text
        assert "rand-write-4k" in text
        await resized(pilot, 30, 8)
        await settled(pilot)
        assert "HEALTHY" in screen_text(acted.app)


async def test_the_answer_that_enter_gives_stays_in_sight_on_a_small_terminal():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "s")
        await resized(pilot, 40, 10)
        await settled(pilot)
        assert "Start smoke" in screen_text(acted.app)
        assert acted.app.focused.id == "do"


@pytest.mark.parametrize("key", "1234567")
async def test_a_notice_covers_nothing(key):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press(key)
        await settled(pilot)
        acted.app.tell("the suite failed to start " + "again and " * 20, "error")
        await settled(pilot)
        notice = acted.app.screen.query_one(Toast).region
        assert notice.height == 3
        for widget in acted.app.screen.children:
            if not isinstance(widget, ToastRack):
                assert not widget.region.overlaps(notice), widget
