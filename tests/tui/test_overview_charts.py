"""The overview's charts: drawn every two seconds, and whenever anything of them is another."""

from dataclasses import replace

import pytest

from tests.tui.driving import resized, settled
from tests.tui.fakes import NOW, STATUS, VOLUME, live, screen_text, seconds, snapshot, stage
from tui import marks
from tui.screens.overview import Chart
from tui.tracks import second_of
from tui.widgets import pace

LOGS = replace(VOLUME, name="logs", device="/dev/md/logs", mount="/mnt/logs")
ROWS = (*live(), replace(live()[0], label="logs", device="md126"))


def two():
    made = []
    for number in range(300):
        made.append(second_of(ROWS, NOW - 299 + number, made[-1] if made else None))
    return snapshot(replace(STATUS, volumes=(VOLUME, LOGS)), live=ROWS, seconds=tuple(made))


@pytest.fixture
async def shown():
    """An overview of two volumes that do the same, with charts; how to go on, and their text."""
    acted = stage(two())
    async with acted.app.run_test(size=(120, 45)) as pilot:
        await settled(pilot)
        yield acted, pilot, two()


def chart(acted, name="throughput"):
    return acted.app.screen.query_one(f"#chart-{name}", Chart)._lines


async def test_of_many_seconds_few_are_drawn(monkeypatch):
    drawn = []
    of = pace.chart_lines
    monkeypatch.setattr(pace, "chart_lines", lambda *a, **k: drawn.append(a[2]) or of(*a, **k))
    acted = stage(snapshot())
    made = list(seconds())
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        drawn.clear()
        for _ in range(30):
            acted.clock[0] += 1
            made = [*made[1:], second_of(live(), acted.clock[0], made[-1])]
            acted.feed.post(snapshot(seconds=tuple(made), live_at=acted.clock[0]))
            await settled(pilot)
    # Fifteen steps of two seconds, and two of the axis, for each of three charts.
    assert 3 * 15 <= len(drawn) <= 3 * 18


async def test_another_volume_is_drawn_although_it_did_the_same(shown):
    acted, pilot, _ = shown
    assert "THROUGHPUT scratch" in chart(acted)[0].plain
    await pilot.press("v")
    await settled(pilot)
    assert "THROUGHPUT logs" in chart(acted)[0].plain


async def test_old_charts_are_muted(shown):
    acted, pilot, both = shown
    before = {span.style for line in chart(acted)[1:] for span in line.spans}
    # Nothing new for four seconds, and nothing of the chart but its colour is another.
    acted.clock[0] += 1.9
    acted.feed.post(replace(both, live_at=NOW - 4))
    await settled(pilot)
    after = {span.style for line in chart(acted)[1:] for span in line.spans}
    assert "$primary" in before
    assert "$primary" not in after
    assert marks.MUTED in after


async def test_charts_are_as_large_as_the_layout_lets_them(shown):
    acted, pilot, _ = shown
    assert chart(acted)[0].cell_length == 120 // 3 - 2
    await resized(pilot, 200, 60)
    await settled(pilot)
    assert chart(acted)[0].cell_length == 98
    await resized(pilot, 90, 45)
    await settled(pilot)
    # Where there is room for one, it is that of the metric that is shown.
    assert chart(acted, "await")[0].cell_length == 88
    assert "peak 1.60 GiB/s" not in screen_text(acted.app)
    await pilot.press("m", "m")
    await settled(pilot)
    assert "peak 1.60 GiB/s" in screen_text(acted.app)


async def test_the_axis_goes_on_where_nothing_is_read(shown):
    acted, pilot, both = shown
    before = [line.plain for line in chart(acted)]
    acted.clock[0] += 15
    acted.feed.post(replace(both, live_at=NOW + 15))
    await settled(pilot)
    assert [line.plain for line in chart(acted)] != before


async def test_volumes_that_go_and_come_back_have_their_charts(shown):
    acted, pilot, both = shown
    acted.feed.post(replace(both, live=()))
    await settled(pilot)
    assert "peak" not in screen_text(acted.app)
    acted.feed.post(both)
    await settled(pilot)
    assert "peak 1.60 GiB/s" in screen_text(acted.app)
