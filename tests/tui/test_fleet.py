"""The Fleet screen: who is odd, since when, and what is normal; whatever the source does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.widgets import DataTable

from appliance.cli import main
from appliance.errors import OperatorError
from appliance.fleet.odd import Unit
from tests.fleet import surveys
from tests.fleet.surveys import DISK, FASTER, MACHINE, QUIET, SURVEY
from tests.fleet.synthetic import make
from tests.tui.driving import both_sizes, keys, notices, plain, pressed, settled
from tests.tui.fake_fleet import FakeFleet, fleet_stage
from tests.tui.fakes import screen_text
from tests.tui.test_hostile import HOSTILE, assert_clean, shown
from tui.charts.markers import Marker
from tui.marks import ASCII
from tui.sources.fleet import Fleets
from tui.terminal import POOR_THEME, Policy
from tui.widgets import fleet


@both_sizes
async def test_the_odd_ones_with_the_one_under_the_cursor_in_full(size):
    acted = fleet_stage()
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        text = screen_text(acted.app)
        lines = text.splitlines()
        assert "◆ FLEET" in lines[0]
        assert "/srv/fleet" in lines[0]
        assert "1,000 machines, 2026-09-20, read 0 s ago" in lines[2]
        assert "▲ 2 machines and 1 disk are unlike their siblings" in text
        assert "1 not reporting: node-0101 since 2026-09-02" in text
        assert "1 not counted: node-0300: two machines have this name" in text
        order = [text.index(one) for one in ("node-0412", "node-0007", "node-0066")]
        assert order == sorted(order)
        assert "await +50 % in smoke/rand-read-4k read, since 2026-09-01" in text
        # The chart reaches to its axis of days.
        assert "since" in text
        assert "2026-07" in lines[-2]
        await pressed(pilot, "down")
        assert "IOPS -8 % in smoke/seq-write-1m write, level" in plain(acted)
        await pressed(pilot, "down")
        assert "there are no days to draw" in plain(acted)


@both_sizes
async def test_enter_shows_everything_with_each_day(size):
    acted = fleet_stage()
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        await pressed(pilot, "enter")
        text = plain(acted)
        assert "2026-09-20 00:00:00Z 50.0 %" in text
        await pressed(pilot, "escape", "y")
        assert "node-0412 AWS00412EXAMPLE" in acted.app.clipboard
        assert "q 2e-31; in 5 series" in acted.app.clipboard
        assert acted.app.is_running


@both_sizes
@pytest.mark.parametrize(
    ("key", "title", "words"),
    [
        ("t", "NORMAL", "smoke/rand-read-4k read 902 1.6M"),
        ("m", "MACHINES", "6.12.48+deb13-cloud-amd64 fio-3.39 1.0 902"),
        ("v", "VERDICTS", "COVERAGE block 34 12"),
        ("p", "LEFT OUT", "node-0101 does not report: no run since 2026-09-02"),
    ],
)
async def test_the_rest_is_a_key_away(size, key, title, words):
    acted = fleet_stage()
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        await pressed(pilot, key)
        assert title in screen_text(acted.app).splitlines()[2]
        assert words in plain(acted)
        await pressed(pilot, "enter")
        assert title.lower() in plain(acted).lower()
        await pressed(pilot, "escape", "escape")
        assert "unlike their siblings" in plain(acted)


async def test_rows_are_filtered_sorted_and_keep_their_cursor():
    far_below = replace(MACHINE, effect=-0.4)
    acted = fleet_stage(FakeFleet(replace(SURVEY, odd=[DISK, far_below, FASTER])))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        table = acted.app.screen.query_one(DataTable)
        await keys(pilot, "slash", *"faster", "escape")
        await keys(pilot, "slash", *"0066", "enter")
        assert table.row_count == 1
        await keys(pilot, "escape")
        # Machine, disk, job, beside: the largest effect first.
        await keys(pilot, *["greater_than_sign"] * 4, "home")
        assert "await" in str(table.get_row_at(0)[3])
        await keys(pilot, "I", "home")
        assert "IOPS +21" in str(table.get_row_at(0)[3])
        await pressed(pilot, "down", "u")
        assert "IOPS -40 % in smoke/seq-write" in plain(acted)


@both_sizes
async def test_nothing_odd_is_good_news(size):
    acted = fleet_stage(FakeFleet(QUIET))
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        assert "✓ no machine and no disk is unlike its siblings" in plain(acted)
        assert "not reporting" not in plain(acted)
        await pressed(pilot, "enter", "y", "p")
        assert "none" in plain(acted)


@both_sizes
async def test_a_source_that_fails_says_why_and_what_was_read_stays(size):
    source = FakeFleet(OperatorError("there is no Parquet of Stripewright in /srv/fleet", "do"))
    acted = fleet_stage(source)
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        assert "there is no Parquet of Stripewright in /srv/fleet; do" in plain(acted)
        assert "not read yet" in plain(acted)
        await pressed(pilot, "t")
        assert notices(acted.app)[-1] == "Types: not read yet"
        source.found = SURVEY
        await pressed(pilot, "u")
        assert "there is no Parquet" not in plain(acted)
        source.found = RuntimeError("boom")
        acted.clock[0] += 90
        await pressed(pilot, "u")
        acted.app.present()
        await settled(pilot)
        assert "RuntimeError: boom; what is shown is 1 min 30 s old" in plain(acted)
        assert "node-0412" in plain(acted)


@both_sizes
async def test_a_source_that_hangs_stops_no_key(size):
    begun = []
    source = FakeFleet()
    acted = fleet_stage(source, in_background=begun.append)
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        acted.clock[0] += 65
        acted.app.present()
        await settled(pilot)
        assert "reading the days of 1,000 machines, for 1 min 05 s" in plain(acted)
        # Not asked a second time while it hangs, nor later for that.
        await pressed(pilot, "u", "enter", "t", "y", "question_mark")
        assert "Keys on Fleet" in plain(acted)
        await pressed(pilot, "escape")
        assert len(begun) == 1
        begun[0]()
        acted.app.present()
        await settled(pilot)
        assert "node-0412" in plain(acted)
        assert len(begun) == 1
        assert "read 1 min 05 s ago" in plain(acted)


@both_sizes
@pytest.mark.parametrize("text", [*HOSTILE, "W" * 2000, ""])
async def test_whatever_a_name_is_it_is_text(size, text):
    acted = fleet_stage(FakeFleet(surveys.hostile(text), place=text or "x"))
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        assert_clean(screen_text(acted.app))
        assert shown(text)[:8] in screen_text(acted.app)
        for key in ("enter", "down", "y", "t", "enter", "m", "v", "p", "enter"):
            await pressed(pilot, key)
            assert_clean(screen_text(acted.app))
            if key not in {"down", "y"}:
                await pressed(pilot, *["escape"] * 2 * (key == "enter"))
        assert acted.app.is_running


async def test_what_a_fleet_has_not_has_no_keys():
    acted = fleet_stage()
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        active = acted.app.screen.active_bindings
        assert not {"1", "5", "x", "colon"} & set(active)
        await pressed(pilot, "5", "x", "colon", "escape")
        assert "unlike their siblings" in plain(acted)
        await pressed(pilot, "t")
        assert not {"1", "5", "x", "colon"} & set(acted.app.screen.active_bindings)


async def test_a_poor_terminal_shows_it_in_ascii():
    acted = fleet_stage(policy=Policy(ascii_only=True, theme=POOR_THEME, remote=True))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert screen_text(acted.app).isascii()


def test_a_thousand_odd_ones_are_in_the_table_and_few_in_the_heading():
    found = surveys.many(3000)
    assert len(fleet.rows(found.odd, 80)) == 1000
    assert len(fleet.heading_lines(found, ASCII, 80)) == 3


def test_a_day_that_is_none_is_not_drawn():
    broken = replace(DISK, days=(*DISK.days, ("2026-02-31", 0.1)), since="never")
    assert len(fleet.chart_of(broken).series[0].points) == 90
    assert fleet.chart_of(broken).rules == ()
    assert fleet.chart_lines(MACHINE, 80, 5, Marker.usual(ASCII)) == []
    assert fleet.name_of(replace(DISK, unit=Unit("a\x1b"))) == "a\\x1b"


def test_the_source_says_what_it_reads(tmp_path, monkeypatch):
    make(tmp_path, 8, 0, 3)
    source, steps = Fleets(str(tmp_path)), []
    monkeypatch.setattr(Fleets, "_tell", lambda _, step: steps.append(step))
    assert source.survey().machines == 8
    assert steps == ["files", "the days of 8 machines", "what is normal"]


def test_without_a_terminal_it_says_what_fleet_says(tmp_path, capsys):
    assert main.main(["tui", "--fleet", str(tmp_path / "nowhere")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
