"""The overview: one look answers, at every size; charts, numbers, several volumes, many members."""

import re
from dataclasses import replace

import pytest

from appliance.client.plan_requests import ApplyProgress
from appliance.errors import OperatorError
from appliance.model.measurement import Capability
from appliance.model.runs import RunState
from tests.tui.driving import both_sizes, notices, pressed, settled
from tests.tui.fake_overview import FakeOverview
from tests.tui.fakes import (
    GIB,
    NOW,
    RESULTS,
    STATUS,
    VOLUME,
    WALL,
    live,
    run_record,
    running_snapshot,
    screen_text,
    seconds,
    snapshot,
    stage,
)
from tests.tui.pictures import assert_looks_as_kept
from tui import marks
from tui.sources.overview import Level, Lookback
from tui.tracks import second_of, volumes
from tui.widgets import pace
from tui.widgets.health import health_lines
from tui.widgets.live import Shown, live_lines
from tui.widgets.panel import View
from tui.widgets.suite import suite_lines

LOGS = replace(VOLUME, name="logs", device="/dev/md/logs", mount="/mnt/logs")
BOTH = (*live(), replace(live(0.2 * GIB)[0], label="logs", device="md126"))
TWO = snapshot(
    replace(STATUS, volumes=(VOLUME, LOGS)),
    live=BOTH,
    seconds=tuple(second_of(BOTH, NOW - 20 + number, None) for number in range(20)),
)


def many(members=64, slow=17):
    """A stripe of many members, one of which is slow."""
    rows = list(live(1.6 * GIB, members))
    rows[slow] = replace(rows[slow], sample=replace(rows[slow].sample, await_ms=1.55))
    return snapshot(live=tuple(rows), seconds=seconds(members, slow))


def runs_with(result):
    return snapshot(replace(STATUS, last_results=(result,)))


@both_sizes
async def test_the_last_suite_stands_beside_published_and_baseline(size):
    results = (replace(RESULTS[0], iops=7_474), RESULTS[1], replace(RESULTS[4], rw="randread"))
    acted = stage(snapshot(replace(STATUS, last_results=results)))
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        rows = screen_text(acted.app).splitlines()
        assert any("baseline" in row and "publ" in row for row in rows)
        (valid,) = [row for row in rows if "seq-read-1m" in row]
        assert "+1 %" in valid
        # What cannot be true is compared with nothing.
        (bad,) = [row for row in rows if "rand-read-4k" in row]
        assert "%" not in bad.partition("only")[0]


@pytest.mark.parametrize(("share", "style"), [(0.04, marks.WARN), (0.06, "")])
def test_a_filesystem_about_to_be_full_is_coloured(share, style):
    volume = replace(VOLUME, size_bytes=GIB, free_bytes=int(share * GIB))
    view = View(snapshot(replace(STATUS, volumes=(volume,))), NOW, WALL, marks.UNICODE)
    (line,) = [one for one in health_lines(view, 80) if " free" in one.plain]
    at = line.plain.index(" free")
    assert [one.style for one in line.spans if one.start <= at < one.end] == [style] * bool(style)


async def test_a_provisional_baseline_is_told_from_a_known_one():
    levels = {("seq-write-1m", "write"): Level(4_350, provisional=True)}
    acted = stage(snapshot(), overview=FakeOverview(Lookback(levels)))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "(-10 %)" in screen_text(acted.app)


async def test_share_of_published_is_shown_where_it_was_within_reach():
    known = replace(RESULTS[4], rw="randwrite", capability=Capability(iops=1_000_000))
    acted = stage(runs_with(known))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        (row,) = [one for one in screen_text(acted.app).splitlines() if "rand-write-4k" in one]
        assert " 80 %" in row


@both_sizes
async def test_a_plan_that_is_carried_out_is_seen_by_everybody(size):
    doing = ApplyProgress("d" * 64, 2, 7, "make the filesystem", ("x",), "scratch", NOW - 12)
    acted = stage(snapshot(applying=doing))
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        assert "APPLYING step 2 of 7, for 12 s: scratch: make the file" in screen_text(acted.app)
        await pilot.press("s")
        await settled(pilot)
        assert "carried out" in notices(acted.app)[0]


@both_sizes
async def test_chart_keys_do_what_they_say(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        for shown in ("AWAIT", "IOPS", "THROUGHPUT", "AWAIT"):
            assert f"{shown} by member" in screen_text(acted.app)
            await pilot.press("m")
            await settled(pilot)
        if size[1] >= 40:
            assert "⣿" in screen_text(acted.app)
            await pilot.press("M")
            await settled(pilot)
            assert "⣿" not in screen_text(acted.app)
        await pilot.press("T")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "The last minutes of scratch, means of 10 s" in text
        # The latest first: 14:13:10 to 14:13:20, at 1.6 GiB/s with waves of 8 %
        rows = [row for row in text.splitlines() if "Z" in row and "GiB/s" in row]
        assert "14:13:20Z" in rows[0]
        assert "1.6" in rows[0]
        assert "0 B/s" in rows[0]


async def test_chart_keys_say_why_not():
    acted = stage(snapshot(live=(), seconds=()))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("m", "T", "v", "M")
        await settled(pilot)
        assert notices(acted.app) == [
            f"{name}: there are no live figures of a volume"
            for name in ("Metric", "Numbers", "Volume", "Marker")
        ]
        acted.give(snapshot())
        await settled(pilot)
        await pilot.press("v")
        await settled(pilot)
        assert notices(acted.app)[-1] == "Volume: there is only one volume"


@both_sizes
async def test_of_several_volumes_each_has_its_line_and_one_its_map(size):
    acted = stage(TWO)
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        for name, other in (("scratch", "logs"), ("logs", "scratch"), ("scratch", "logs")):
            text = screen_text(acted.app)
            assert f"{name}: AWAIT" in text
            assert f"{other}: AWAIT" not in text
            rows = [row.strip() for row in text.splitlines()]
            assert any(row.startswith("logs") and "205 MiB/s" in row for row in rows)
            await pilot.press("v")
            await settled(pilot)


@pytest.mark.parametrize("size", [(80, 24), (140, 45), (200, 60)])
async def test_of_many_members_the_slowest_is_named(size):
    acted = stage(many())
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        text = screen_text(acted.app)
        assert "median 308.1 µs · nvme17n1 1.54 ms ▲ 5×" in text
        assert re.search(r" nvme17n1 +░[ ░]+▓?█+ +1\.54 ms ▲ 5×", text)
        assert re.search(r"\d+ others: await 308\.1 µs", text)
        assert "LAST SUITE smoke" in text
        # As many lines change once a second as SSH can carry.
        assert sum("nvme" in row for row in text.splitlines()) <= 18


@pytest.mark.parametrize("size", [(140, 45), (200, 60), (240, 70)])
async def test_high_screens_have_no_holes(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        rows = screen_text(acted.app).splitlines()
        assert "LAST RUNS" in "\n".join(rows)
        for words in ("THROUGHPUT ──", "IOPS ──", "AWAIT ──"):
            assert any(words in row for row in rows)
        halves = [(0, size[0])] if size[0] < 170 else [(0, size[0] // 2), (size[0] // 2, size[0])]
        for begin, end in halves:
            # The lines about health stand alone, above both columns.
            below = rows[7:-1] if begin else rows[:-1]
            blank = "".join("." if row[begin:end].strip() else " " for row in below)
            # A list of runs ends where there are no more.
            assert "  " not in blank.rstrip()


async def test_without_live_figures_there_are_no_charts():
    acted = stage(snapshot(live=(), seconds=()))
    async with acted.app.run_test(size=(200, 60)) as pilot:
        await settled(pilot)
        assert "peak" not in screen_text(acted.app)
        acted.give(snapshot())
        await settled(pilot)
        assert "peak" in screen_text(acted.app)


@pytest.mark.parametrize("size", [(80, 24), (140, 45), (200, 60), (60, 15), (20, 5)])
async def test_a_running_suite_has_column_names(size):
    acted = stage(running_snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        rows = screen_text(acted.app).splitlines()
        if size[0] >= 80:
            (at,) = [number for number, row in enumerate(rows) if "RUNNING smoke" in row]
            assert rows[at + 2].split()[:3] == ["verdict", "job", "IOPS"]
            assert "seq-read-1m" in rows[at + 3]


async def test_a_second_moves_the_last_column_only():
    """What moves travels through SSH, and nothing is read while it runs past."""
    acted = stage(snapshot())
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        before = screen_text(acted.app).splitlines()
        acted.clock[0] += 1
        more = second_of(live(), NOW + 1, seconds()[-1])
        acted.give(
            snapshot(
                taken_at=NOW + 1, live_at=NOW + 1, status_at=NOW, seconds=(*seconds()[1:], more)
            )
        )
        await settled(pilot)
        after = screen_text(acted.app).splitlines()
        moved = sum(
            one != other
            for old, new in zip(before[2:], after[2:], strict=True)
            for one, other in zip(old.ljust(140), new.ljust(140), strict=True)
        )
        assert moved <= 3 * 14 * 2


async def test_stale_figures_lose_their_colour_and_say_so():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        acted.clock[0] += 9
        acted.app.present()
        await settled(pilot)
        assert "9 s old" in screen_text(acted.app)


async def test_a_history_that_hangs_freezes_no_key_and_is_told():
    waiting = []
    acted = stage(snapshot(), in_background=waiting.append)
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        acted.clock[0] += 31
        acted.app.present()
        await settled(pilot)
        assert "LAST RUNS" in screen_text(acted.app)
        assert "reading, for 31 s" in screen_text(acted.app)
        await pilot.press("r")
        await settled(pilot)
        assert " 41 ──" in screen_text(acted.app)
        await pilot.press("escape")
        for work in list(waiting):
            work()
        await settled(pilot)
        assert "reading, for" not in screen_text(acted.app)
        assert "+1 %" in screen_text(acted.app)


async def test_a_history_that_cannot_be_read_keeps_what_was_there():
    source = FakeOverview()
    acted = stage(snapshot(), overview=source)
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        source.problem = OperatorError("database is [b]locked[/b]", "wait")
        await pilot.press("u")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "not read: database is [b]locked[/b]; wait" in text
        assert "+1 %" in text
        assert source.calls == 2


async def test_the_history_is_asked_again_when_it_has_something_new():
    source = FakeOverview()
    acted = stage(snapshot(), overview=source)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for mark, calls in (("41", 1), ("42", 2), ("42", 2)):
            acted.give(snapshot(history_mark=mark))
            await settled(pilot)
            assert source.calls == calls


async def test_hostile_names_of_volumes_and_members_are_text():
    evil = "[@click=app.quit]\x1b[2J"
    rows = (
        replace(live()[0], label=evil),
        *(replace(one, label=evil) for one in live(members=40)[1:]),
    )
    rows = (*rows, rows[0])
    acted = stage(snapshot(live=rows, seconds=(second_of(rows, NOW, None),)))
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        await pilot.press("m", "T")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "[@click=app.quit]\\x1b[2J" in text
        assert "\x1b" not in text


async def test_pictures():
    for name, first, size in (
        ("overview-80", running_snapshot(), (80, 24)),
        ("overview-slow", many(12, 5), (80, 24)),
        ("overview-200", many(12, 5), (200, 60)),
    ):
        acted = stage(first)
        async with acted.app.run_test(size=size) as pilot:
            await settled(pilot)
            await assert_looks_as_kept(acted.app, pilot, name)


async def test_a_run_that_was_not_complete_says_why():
    ended = run_record(state=RunState.ABORTED, reason="the power went")
    acted = stage(snapshot(replace(STATUS, last_run=ended, last_results=())))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        text = screen_text(acted.app)
        assert "aborted" in text
        assert "the power went" in text


def seen_after(later, **changes):
    """What is shown of the same machine so many seconds later."""
    return View(snapshot(**changes), NOW + later, WALL + later, marks.UNICODE)


def text_of(lines):
    return "\n".join(line.plain for line in lines)


def test_a_peak_is_of_the_minutes_that_are_shown_and_never_below_what_is_now():
    now, later = seen_after(0), seen_after(600)
    (volume,) = volumes(seconds())
    head = pace.heading(now, volume, Shown.THROUGHPUT, 80, several=False).plain
    assert head.endswith("peak 1.73 GiB/s")
    assert "idle" in pace.heading(later, volume, Shown.THROUGHPUT, 80, several=False).plain
    # The second that NOW shows, a moment ago.
    fast = second_of(live(9 * GIB), NOW + 1, seconds()[-1])
    shown = seen_after(1, seconds=(*seconds()[1:], fast), live=live(9 * GIB))
    head = pace.heading(shown, volume, Shown.THROUGHPUT, 80, several=False).plain
    assert head.endswith("peak 9 GiB/s")
    assert "9 GiB/s" in text_of(live_lines(shown, 80, Shown.AWAIT))


def test_the_last_suite_is_not_just_over_where_the_clock_was_put_back():
    shown = [text_of(suite_lines(seen_after(far), 80, 9, levels={})) for far in (-7200, -1250)]
    assert "in the future" in shown[0]
    assert "just now" in shown[1]


def test_a_history_that_cannot_be_read_is_not_one_without_runs():
    status = replace(STATUS, last_run=None, last_results=(), history_problem="it is damaged")
    view = View(snapshot(status), NOW, WALL, marks.UNICODE)
    assert "not read" in text_of(suite_lines(view, 80, 9, levels={}))
    assert "nothing measured" not in text_of(suite_lines(view, 80, 9, levels={}))


def test_what_health_says_at_length_leaves_room_for_the_rest():
    long = "word " * 100
    view = View(snapshot(replace(STATUS, summary=long, hint=long)), NOW, WALL, marks.UNICODE)
    short = View(snapshot(replace(STATUS, summary="s", hint="h")), NOW, WALL, marks.UNICODE)
    assert len(health_lines(view, 78)) == len(health_lines(short, 78)) + 2 + 1


async def test_from_the_slow_member_to_its_disk_and_its_log():
    slow = many(4, 3)
    acted = stage(slow)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "⏎ Slow disk" in screen_text(acted.app)
        await pressed(pilot, "y")
        assert "HEALTHY" in acted.app.clipboard
        await pressed(pilot, "enter")
        assert acted.app.current_mode == "disks"
        assert "nvme3n1" in acted.app.screen.query_one("#reason").text
        await pressed(pilot, "l")
        assert acted.app.current_mode == "log"
        assert "with: nvme3n1" in screen_text(acted.app)


async def test_without_a_slow_member_enter_says_so():
    acted = stage(running_snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pressed(pilot, "enter")
        assert acted.app.current_mode == "overview"
        assert "no member is slow" in notices(acted.app)[-1]
