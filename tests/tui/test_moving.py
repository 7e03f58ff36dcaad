"""The keys that are the same everywhere: moving in lists, leaving, jumping, copying."""

import pytest
from textual.widgets import DataTable

from tests.tui.driving import keys, notices, pressed, settled
from tests.tui.fake_log import FakeLog
from tests.tui.fakes import screen_text, snapshot, stage
from tui.screens.base import MainScreen
from tui.sources.journal import LogState
from tui.widgets.table import FilterTable


async def opened(pilot, *names):
    await settled(pilot)
    await keys(pilot, *names)
    await settled(pilot)


@pytest.mark.parametrize(
    ("pressed_keys", "row"),
    [("jj", 2), ("jjk", 1), ("G", 5), ("Gg", 0), (["end"], 5), (["end", "home"], 0)],
)
async def test_tables_are_moved_in(pressed_keys, row):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "2", *pressed_keys)
        assert acted.app.screen.query_one(DataTable).cursor_row == row


async def test_matches_are_gone_through_after_the_filter_too():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "2", "slash", *"instance", "enter")
        table = acted.app.screen.query_one(FilterTable)
        assert table.shown_count == 5
        await keys(pilot, "escape", "g")
        assert table.shown_count == 6
        visited = []
        for key in "nnN":
            await keys(pilot, key)
            visited.append(table.current.key)
        assert visited[0] == visited[2] != visited[1]


async def test_ctrl_c_names_the_key_that_leaves():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "ctrl+c")
        assert notices(acted.app)[0].startswith("q leaves")


async def test_pages_have_the_top_bar_and_its_keys():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "5", "enter")
        page = acted.app.screen
        assert not isinstance(page, MainScreen)
        lines = screen_text(acted.app).splitlines()
        assert lines[0].strip().startswith("stripewright")
        assert "5 Results" in lines[1]
        await keys(pilot, "2")
        assert acted.app.screen.NAME == "Disks"
        await keys(pilot, "5")
        assert acted.app.screen is page
        await keys(pilot, "q")
        assert acted.app.screen.NAME == "Results"
        assert acted.app.is_running


async def test_links_are_followed_and_come_back(monkeypatch):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "6")
        wanted = []
        monkeypatch.setattr(MainScreen, "jump", lambda screen, name: wanted.append(name))
        acted.app.visit("suites", "smoke")
        await settled(pilot)
        await settled(pilot)
        assert acted.app.current_mode == "suites"
        await keys(pilot, "escape")
        assert acted.app.current_mode == "drift"
        await keys(pilot, "escape")
        assert acted.app.current_mode == "overview"
        assert wanted == ["smoke"]


async def test_everything_with_a_name_can_be_jumped_to(monkeypatch):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, "colon")
        names = [one.name for one in acted.app.targets()]
        assert "volume scratch" in names
        assert "disk nvme3n1" in names
        assert any(name.startswith("run ") for name in names)
        assert any(name.startswith("finding ") for name in names)
        visited = []
        monkeypatch.setattr(acted.app, "visit", lambda *where: visited.append(where))
        for words in ("AWS00003EXAMPLE", "run 99999"):
            if len(acted.app.screen_stack) == 1:
                await pressed(pilot, "colon")
            await pressed(pilot, *["space" if char == " " else char for char in words])
            await acted.app.workers.wait_for_complete()
            await settled(pilot)
            await pressed(pilot, "enter")
            await settled(pilot)
        assert visited == [("disks", "AWS00003EXAMPLE"), ("results", "99999")]


async def test_nothing_to_copy_is_said():
    acted = stage(snapshot(), log=FakeLog(LogState()))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "7", "y")
        assert notices(acted.app) == ["nothing to copy here"]
