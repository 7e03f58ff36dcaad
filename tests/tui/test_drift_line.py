"""The overview's line about drift: glyph, word and colour, and never silence."""

from dataclasses import replace

import pytest

from appliance.drift.check_summary import DriftSummary
from tests.tui.fakes import STATUS, WALL, screen_text, snapshot, stage
from tui import marks

WORST = "#7 MEMBER-MISSING: disk AWS00003EXAMPLE of volume scratch is gone"


async def line(drift):
    acted = stage(snapshot(replace(STATUS, drift=drift)))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        text = screen_text(acted.app)
    drawn = (one.strip() for one in text.splitlines())
    return next((one for one in drawn if one.startswith("drift ")), "")


@pytest.mark.parametrize(
    ("drift", "begins"),
    [
        (DriftSummary(checked_at=WALL), "✓ no findings"),
        (DriftSummary(critical=1, warning=2, worst=WORST), "✗ 1 critical, 2 warning; #7 MEMBER"),
        (DriftSummary(warning=1, worst="#8 MOUNT-OPTIONS: x"), "▲ 1 warning; #8 MOUNT-OPTIONS: x"),
        (DriftSummary(notice=1, worst="#9 ENV-KERNEL: x"), "◆ 1 notice; #9 ENV-KERNEL: x"),
        (DriftSummary(suspect=1), "◆ 1 suspect"),
        (DriftSummary(acknowledged=2), "✓ 2 acknowledged"),
        (
            DriftSummary(notice=1, worst="#9 A: x", overdue="not checked for 2 h 00 min"),
            "▲ 1 notice; #9 A: x; not checked for 2 h 00 min",
        ),
    ],
)
async def test_one_line_says_how_it_is(drift, begins):
    shown = await line(drift)
    assert shown.startswith(f"drift      {begins}")


async def test_nothing_is_said_where_nobody_ever_looked():
    assert await line(None) == ""
    assert await line(DriftSummary()) == ""


async def test_text_from_disks_is_text():
    shown = await line(DriftSummary(critical=1, worst="#1 A: [red]\x1b[2J\nx"))
    assert "[red]\\x1b[2J\\nx" in shown


def test_each_gravity_has_its_own_style():
    styles = [
        marks.drift(one, marks.UNICODE).style
        for one in (DriftSummary(critical=1), DriftSummary(warning=1), DriftSummary(notice=1))
    ]
    assert styles == [marks.BAD, marks.WARN, marks.BUSY]
    assert marks.drift(DriftSummary(critical=1), marks.ASCII).glyph == "x"
