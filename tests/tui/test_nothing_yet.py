"""First run, no history, a history of imports only: a true state and the next key."""

from dataclasses import replace

import pytest

from appliance.client.machine_status import Health
from appliance.errors import OperatorError
from appliance.history.queries import ImportRecord
from tests.tui.driving import settled
from tests.tui.fake_overview import FakeOverview
from tests.tui.fakes import STATUS, VOLUME, WALL, screen_text, snapshot, stage
from tui.sources.machine import MachineSources
from tui.sources.overview import Lookback

UNTOUCHED = replace(STATUS, epoch=None, last_run=None, last_results=(), drift=None)
BARE = replace(
    UNTOUCHED,
    health=Health.UNKNOWN,
    summary="the boot unit has not run on this machine",
    disks=(),
    volumes=(),
)
FIRST = {"live": (), "seconds": (), "history_mark": ""}


def test_before_there_is_a_history_nothing_in_it_is_new_and_that_is_no_problem(tmp_path):
    assert MachineSources(tmp_path / "none.db").mark() == ""


async def shown(first, **others):
    acted = stage(first, **others)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        return screen_text(acted.app)


async def test_a_status_that_cannot_be_read_is_not_being_read():
    text = await shown(snapshot(None, status_problem="state.json: not readable", **FIRST))
    assert "✗ NOT READ" in text
    assert "state.json: not readable" in text
    assert "READING" not in text


async def test_disks_that_could_not_be_read_say_why():
    acted = stage(snapshot(None, status_problem="state.json: not [b]readable[/b]", **FIRST))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        assert "not read: state.json: not [b]readable[/b]" in screen_text(acted.app)


@pytest.mark.parametrize(
    ("status", "steps", "others"),
    [
        (replace(UNTOUCHED, volumes=(VOLUME,)), ["s  starts smoke"], ["3  make a volume"]),
        (BARE, ["2  which disks", "3  make a volume"], ["s  starts smoke"]),
    ],
)
async def test_nothing_measured_yet_names_the_next_key(status, steps, others):
    missing = FakeOverview(problem=OperatorError("there is no history", ""))
    text = await shown(snapshot(status, **FIRST), overview=missing)
    assert "nothing measured yet" in text
    assert all(one in text for one in steps)
    assert not any(one in text for one in others)
    # What is not there yet is no problem, and is not asked for.
    assert missing.calls == 0
    assert "no history" not in text


async def test_a_history_of_imports_only_shows_them():
    imports = tuple(
        ImportRecord(number, WALL - 7200, f"reports/[b]{number}.txt", "ab", "i4i.large", 4, 3)
        for number in range(30, 0, -1)
    )
    text = await shown(
        snapshot(replace(UNTOUCHED, volumes=(), disks=()), live=(), seconds=()),
        overview=FakeOverview(Lookback({}, (), imports)),
    )
    rows = text.splitlines()
    assert any(row.startswith(" IMPORTS ──") for row in rows)
    assert any("reports/[b]30.txt" in row and "3 of 4 reports valid" in row for row in rows)
    assert sum(not row.strip() for row in rows) < 4
