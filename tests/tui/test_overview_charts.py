"""The overview's charts: drawn every two seconds, and whenever anything of them is another."""

from dataclasses import replace

import pytest

from tests.tui.driving import resized, settled
from tests.tui.fakes import NOW, STATUS, VOLUME, WALL, live, screen_text, snapshot, stage, trend
from tui import marks
from tui.snapshot import TREND_SECONDS
from tui.widgets import pace
from tui.widgets.panel import Panel, View

LOGS = replace(VOLUME, name="logs", device="/dev/md/logs", mount="/mnt/logs")


def later(point, seconds, **changes):
    return replace(point, at=point.at + seconds, **changes)


def view(seconds, points):
    """What is shown so many seconds later, of ``points``."""
    return View(snapshot(trend=points), NOW + seconds, WALL + seconds, marks.UNICODE)


def of(seconds, points):
    seen = view(seconds, points)
    return pace.settled(pace.pace_of(seen.snapshot, 0), seen)


def test_what_is_drawn_changes_in_whole_steps():
    points = trend()
    more = (*points, later(points[-1], 2))
    assert of(0, points) == of(1.9, points) == of(1.9, more)
    assert of(2.0, more)[0].points[-1] is more[-1]
    assert len({of(seconds, points)[1] for seconds in range(15)}) == 2


def test_what_leaves_the_feed_changes_nothing_before_the_axis_moves():
    points = trend()
    (begin,) = {of(seconds, points)[1] - TREND_SECONDS for seconds in (1, 2)}
    gone = sum(point.at + WALL - NOW < begin for point in points)
    assert gone > 1
    assert of(2, points) == of(2, points[1:]) == of(2, points[gone:])
    assert of(2, points) != of(2, points[gone + 1 :])


async def test_charts_follow_what_happens():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "peak 1.73 GiB/s" in screen_text(acted.app)
        points = trend()
        acted.clock[0] += 2
        fast = later(points[-1], 2, read_bytes_per_s=9 * 2**30)
        acted.feed.post(snapshot(trend=(*points, fast)))
        await settled(pilot)
        assert "peak 9 GiB/s" in screen_text(acted.app)


async def test_of_many_seconds_few_are_drawn(monkeypatch):
    drawn = []
    beside = pace.beside
    monkeypatch.setattr(pace, "beside", lambda *a, **k: drawn.append(a) or beside(*a, **k))
    acted = stage(snapshot())
    # As on a machine each is of the second in which it is shown.
    points = [later(point, 1) for point in trend()]
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        drawn.clear()
        for _ in range(30):
            acted.clock[0] += 1
            points = [*points[1:], later(points[-1], 1)]
            acted.feed.post(snapshot(trend=tuple(points), live_at=acted.clock[0]))
            await settled(pilot)
    # Fifteen steps of two seconds, and two of the axis.
    assert 15 <= len(drawn) <= 18


@pytest.fixture
async def shown():
    """An overview of two volumes that do the same, with charts; how to go on, and their text."""
    points = trend()
    two = snapshot(
        replace(STATUS, volumes=(VOLUME, LOGS)),
        live=(*live(), replace(live()[0], label="logs", device="md126")),
        trend=points,
        other_trends=(("logs", points),),
    )
    acted = stage(two)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        yield acted, pilot, two


def charts(acted):
    return acted.app.screen.query_one("#trend", Panel)._lines


async def test_another_volume_is_drawn_although_it_did_the_same(shown):
    acted, pilot, _ = shown
    assert "READ scratch" in charts(acted)[0].plain
    await pilot.press("v")
    await settled(pilot)
    assert "READ logs" in charts(acted)[0].plain


async def test_old_charts_are_muted(shown):
    acted, pilot, two = shown
    assert not any(span.style == marks.MUTED for span in charts(acted)[2].spans[1:-1])
    before = {span.style for line in charts(acted)[1:] for span in line.spans}
    # Nothing new for four seconds, and nothing of the chart but its colour is another.
    acted.clock[0] += 1.9
    acted.feed.post(replace(two, live_at=NOW - 4))
    await settled(pilot)
    after = {span.style for line in charts(acted)[1:] for span in line.spans}
    assert "$primary" in before
    assert "$primary" not in after


async def test_charts_are_as_wide_as_the_screen(shown):
    acted, pilot, _ = shown
    assert charts(acted)[0].cell_length == 78
    await resized(pilot, 96, 24)
    await settled(pilot)
    assert charts(acted)[0].cell_length == 94


async def test_the_axis_goes_on_where_nothing_is_read(shown):
    acted, pilot, two = shown
    acted.feed.post(replace(two, trend=(), other_trends=()))
    await settled(pilot)
    before = [line.plain for line in charts(acted)]
    acted.clock[0] += 15
    acted.feed.post(replace(two, trend=(), other_trends=(), live_at=NOW + 15))
    await settled(pilot)
    assert [line.plain for line in charts(acted)] != before


async def test_volumes_that_go_and_come_back_have_their_charts(shown):
    acted, pilot, two = shown
    before = [line.plain for line in charts(acted)]
    acted.feed.post(replace(two, live=()))
    await settled(pilot)
    assert charts(acted) == []
    acted.feed.post(two)
    await settled(pilot)
    assert [line.plain for line in charts(acted)] == before
