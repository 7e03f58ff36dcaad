"""The overview: one look answers, at every size; charts, numbers, several volumes, many members."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.client.plan_requests import ApplyProgress
from appliance.errors import OperatorError
from appliance.model.measurement import Capability
from appliance.model.runs import RunState
from tests.tui.driving import both_sizes, notices, settled
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
    snapshot,
    stage,
    trend,
)
from tests.tui.pictures import assert_looks_as_kept
from tui import marks
from tui.charts.markers import Marker
from tui.screens.overview import share
from tui.sources.overview import Level, Lookback
from tui.widgets.pace import pace_of, stacked
from tui.widgets.panel import View
from tui.widgets.suite import suite_lines

LOGS = replace(VOLUME, name="logs", device="/dev/md/logs", mount="/mnt/logs")
TWO = snapshot(
    replace(STATUS, volumes=(VOLUME, LOGS)),
    live=(*live(), replace(live()[0], label="logs", device="md126")),
    other_trends=(("logs", trend()[:200]),),
)


def many(members=64, slow=17):
    """A stripe of many members, one of which is slow."""
    rows = list(live(1.6 * GIB, members))
    rows[slow] = replace(rows[slow], sample=replace(rows[slow].sample, await_ms=1.2))
    return snapshot(live=tuple(rows))


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
        assert "READ, last 5 min" in screen_text(acted.app)
        await pilot.press("t")
        await settled(pilot)
        assert "IOPS READ, last 5 min" in screen_text(acted.app)
        await pilot.press("t")
        await settled(pilot)
        assert "AWAIT, last 5 min" in screen_text(acted.app)
        await pilot.press("t", "m")
        await settled(pilot)
        blocks = screen_text(acted.app)
        assert "█" in blocks
        assert "⣿" not in blocks
        await pilot.press("m")
        await settled(pilot)
        assert "::::" in screen_text(acted.app)
        await pilot.press("T")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "The last minutes of scratch, means of 10 s" in text
        # 14:13:10 to 14:13:20, at 1.6 GiB/s with waves of 8 %
        row = next(row for row in text.splitlines() if "14:13:20Z" in row and "GiB/s" in row)
        assert "1.6" in row
        assert "0 B/s" in row
        await pilot.press("v")
        await settled(pilot)


async def test_chart_keys_say_why_not():
    acted = stage(snapshot(live=(), trend=()))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("t", "T", "v", "m")
        await settled(pilot)
        assert notices(acted.app) == [
            f"{name}: there are no live figures of a volume"
            for name in ("Chart", "Numbers", "Volume", "Marker")
        ]
        acted.give(snapshot())
        await settled(pilot)
        await pilot.press("v")
        await settled(pilot)
        assert notices(acted.app)[-1] == "Volume: there is only one volume"


@both_sizes
async def test_of_several_volumes_each_has_its_line_and_one_its_chart(size):
    acted = stage(TWO)
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        text = screen_text(acted.app)
        assert "READ scratch" in text
        assert "peak 1.73 GiB/s" in text
        rows = [row.strip() for row in text.splitlines()]
        assert sum(row.startswith("logs") for row in rows) >= 2
        await pilot.press("v")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "READ logs" in text
        assert "peak 1.73 GiB/s" not in text
        await pilot.press("v")
        await settled(pilot)
        assert "READ scratch" in screen_text(acted.app)


@pytest.mark.parametrize("size", [(80, 24), (140, 45), (200, 60)])
async def test_of_many_members_the_slowest_is_named(size):
    acted = stage(many())
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        text = screen_text(acted.app)
        assert "slowest of 64: nvme17n1 1.20 ms, median await 310.0 µs" in text
        # It has a line of its own, too, although not all have.
        assert text.count("nvme17n1") == 2
        assert re.search(r"nvme17n1 +[\d.]+ MiB/s +(\d\S+ +\d+ +\d+ +)?1\.20 ms", text)
        assert re.search(r"nvme1n1 +[\d.]+ MiB/s +(\d\S+ +\d+ +\d+ +)?310\.0 µs", text)
        assert "LAST SUITE smoke" in text
        # As many lines change once a second as SSH can carry.
        assert sum("nvme" in row for row in text.splitlines()) <= 17


async def test_idle_members_are_not_slow():
    rows = tuple(
        replace(one, sample=replace(one.sample, read_iops=0.0, write_iops=0.0))
        for one in live(members=64)
    )
    acted = stage(snapshot(live=rows))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "58 more, all idle" in screen_text(acted.app)


@pytest.mark.parametrize("size", [(140, 45), (200, 60), (240, 70)])
async def test_high_screens_have_no_holes(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        rows = screen_text(acted.app).splitlines()
        assert "LAST RUNS" in "\n".join(rows)
        halves = [(0, size[0])] if size[0] < 170 else [(0, size[0] // 2), (size[0] // 2, size[0])]
        for begin, end in halves:
            # The lines about health stand alone, above both columns.
            below = rows[6:-1] if begin else rows[:-1]
            blank = "".join("." if row[begin:end].strip() else " " for row in below)
            # A list of runs ends where there are no more.
            assert "  " not in blank.rstrip()


async def test_very_wide_screens_have_charts_beside_all_else():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(200, 60)) as pilot:
        await settled(pilot)
        rows = screen_text(acted.app).splitlines()
        for words in ("THROUGHPUT, last 5 min", "IOPS, last 5 min", "AWAIT, last 5 min"):
            assert any(row.find(words) >= 100 for row in rows)
        acted.give(snapshot(live=(), trend=()))
        await settled(pilot)
        assert "THROUGHPUT" not in screen_text(acted.app)


async def test_a_second_moves_the_last_column_of_a_chart_only():
    """What moves travels through SSH, and nothing is read while it runs past."""
    acted = stage(snapshot())
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        before = screen_text(acted.app).splitlines()
        acted.clock[0] += 1
        after_points = (*trend()[1:], replace(trend()[-1], at=NOW))
        acted.give(snapshot(taken_at=NOW + 1, live_at=NOW + 1, status_at=NOW, trend=after_points))
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
        assert "Results of smoke, run 41" in screen_text(acted.app)
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
    acted = stage(snapshot(live=(*rows, rows[0])))
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        await pilot.press("t", "T")
        await settled(pilot)
        text = screen_text(acted.app)
        assert "[@click=app.quit]\\x1b[2J" in text
        assert "\x1b" not in text


@given(
    st.integers(0, 80), st.integers(0, 70), st.integers(1, 60), st.integers(0, 41), st.booleans()
)
def test_all_lines_are_shared_out(room, live_rows, suite, runs, charts):
    rows = share(room, live=live_rows, suite=suite, runs=runs, charts=charts)
    parts = [rows.live, rows.suite, rows.runs, rows.trend]
    used = sum(parts) + rows.gaps * sum(lines > 0 for lines in parts)
    least = min(live_rows, 6) + min(suite, 5) + 4 * charts
    assert min(parts) >= 0
    assert used <= max(room, least)
    if charts:
        assert used >= room


async def test_pictures():
    for name, first, size in (
        ("overview-80", running_snapshot(), (80, 24)),
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


def seen_after(seconds, **changes):
    """What is shown of the same machine so many seconds later."""
    return View(snapshot(**changes), NOW + seconds, WALL + seconds, marks.UNICODE)


def text_of(lines):
    return "\n".join(line.plain for line in lines)


def test_a_peak_is_of_the_minutes_that_are_shown():
    now, later = seen_after(0), seen_after(600)
    pace = pace_of(now.snapshot, 0)
    assert "peak" in text_of(stacked(pace, now, 80, 20, marker=Marker.BRAILLE))
    assert "peak" not in text_of(stacked(pace, later, 80, 20, marker=Marker.BRAILLE))


def test_the_last_suite_is_not_just_over_where_the_clock_was_put_back():
    shown = [text_of(suite_lines(seen_after(far), 80, 9, levels={})) for far in (-7200, -1250)]
    assert "in the future" in shown[0]
    assert "just now" in shown[1]


def test_a_history_that_cannot_be_read_is_not_one_without_runs():
    status = replace(STATUS, last_run=None, last_results=(), history_problem="it is damaged")
    view = View(snapshot(status), NOW, WALL, marks.UNICODE)
    assert "not read" in text_of(suite_lines(view, 80, 9, levels={}))
    assert "none yet" not in text_of(suite_lines(view, 80, 9, levels={}))
