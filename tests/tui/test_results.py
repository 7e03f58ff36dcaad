"""Results: the table of runs in pages, marks, what is compared, and a history that hangs."""

from __future__ import annotations

import dataclasses

from appliance.errors import OperatorError
from tests.tui.driving import both_sizes, notices, pressed, results_opened, settled
from tests.tui.fake_results import LAST, PAGE, FakeResults
from tests.tui.fakes import screen_text, snapshot, stage
from tests.tui.pictures import assert_looks_as_kept
from tui.screens.results import ResultsScreen
from tui.screens.results_compare import CompareScreen
from tui.screens.results_epochs import EpochsScreen
from tui.screens.results_export import ExportScreen
from tui.screens.results_run import RunScreen
from tui.screens.results_series import SeriesScreen
from tui.terminal import RICH_THEME, Policy


@both_sizes
async def test_every_run_has_its_verdict_and_its_layout(size):
    acted = stage(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await results_opened(pilot)
        text = screen_text(acted.app)
        for words in (
            f"{LAST} runs, 1 import, {PAGE} shown",
            "✗ COVERAGE",
            "✗ not all",
            "run 241 smoke ─",
            "✗ 729.9k IOPS, p99 1.20 ms, ↓8 % below normal",
            "4 of 5 results valid",
            "✓ complete in 3 min 20 s",
            "Export",
        ):
            assert words in text
        lines = text.splitlines()
        (slow,) = [" ".join(line.split()) for line in lines if " 240 " in line]
        if size[0] == 80:
            assert slow.startswith("240 09-21 08:13 full 743.4k 1.20 ms ↓30 % ")
        else:
            assert slow.startswith(
                "240 2026-09-21 08:13 full randread 4 KiB QD 32 × 8 743.4k 1.20 ms"
            )
            assert "raid0×4" in slow
        assert len(lines) == size[1]
        assert all(len(line) <= size[0] for line in lines)
        # The columns fit: nothing is to be scrolled sideways.
        assert acted.app.screen.query_one("DataTable").max_scroll_x == 0
        if size[0] == 80:
            await assert_looks_as_kept(acted.app, pilot, "results")


@both_sizes
async def test_older_runs_are_loaded_at_the_end_of_the_list_or_by_key(size):
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=size) as pilot:
        await results_opened(pilot, "ctrl+end")
        assert [one for one in results.calls if "page" in one] == ["page 0", f"page {PAGE}"]
        assert f"{LAST} runs, 1 import, {2 * PAGE} shown" in screen_text(acted.app)
        # The cursor stays on the run that was the last.
        assert f"run {LAST - PAGE + 1} smoke" in screen_text(acted.app)
        await pressed(pilot, "o")
        assert f"{LAST} runs, 1 import" in screen_text(acted.app)
        await pressed(pilot, "o")
        assert notices(acted.app) == ["Older: there are no older runs"]


async def test_words_are_sought_in_the_whole_history_and_found_while_typing():
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "slash", *"full")
        assert "page 0 of full" in results.calls
        text = screen_text(acted.app)
        assert "12 of 241 runs found" in text
        # It is not among the hundred that had been loaded.
        assert "80     08-12 08:13" in text
        assert "241    09-21" not in text
        await pressed(pilot, "escape")
        assert results.calls[-1].startswith("page 0")
        assert "241    09-21" in screen_text(acted.app)


async def test_every_column_sorts_the_whole_history():
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "greater_than_sign", "greater_than_sign")
        asked = [one for one in results.calls if "page" in one]
        assert asked[-2:] == ["page 0", "page 0 by when True"]
        await pressed(pilot, "I")
        assert "page 0 by when False" in results.calls
        text = screen_text(acted.app)
        assert "when ↑" in text
        assert "   1      07-23 14:13" in text
        await pressed(pilot, *["greater_than_sign"] * 6)
        orders = [one.split()[3] for one in results.calls if " by " in one]
        assert orders[2:] == ["suite", "figure", "p99", "change", "verdict"]


async def test_an_answer_to_other_words_is_not_shown():
    waiting = []
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot)
        acted.app.asker._in_background = waiting.append
        await pressed(pilot, "slash", "f", "u")
        waiting.pop(0)()
        await settled(pilot)
        assert "241    09-21" in screen_text(acted.app)
        waiting.pop(0)()
        await settled(pilot)
        assert "241    09-21" not in screen_text(acted.app)


async def test_a_new_run_comes_on_top_and_the_older_ones_stay():
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "o")
        results.last = LAST + 1
        acted.give(snapshot(history_mark="new"))
        await settled(pilot)
        text = screen_text(acted.app)
        assert "242 runs, 1 import, " in text
        assert "242    09-21 20:13" in text
        # The cursor is on the same run as before.
        assert "run 241 smoke" in text


@both_sizes
async def test_two_runs_are_compared(size):
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=size) as pilot:
        await results_opened(pilot, "c")
        assert isinstance(acted.app.screen, CompareScreen)
        assert results.calls[-1] == "compare - 241 IOPS"
        text = screen_text(acted.app)
        assert "↓0.90  0.90 to 0.90" in text
        assert "↓ B is slower  by the 95 % interval" in text
        assert "523.2k is not valid (COVERAGE), not compared; corrected" in text
        await pressed(pilot, "I")
        assert results.calls[-1] == "compare 241 240 IOPS"
        await pressed(pilot, "m", "m", "m", "m")
        assert results.calls[-1] == "compare 241 240 p99.9 latency"
        await pressed(pilot, "escape")
        assert "RESULTS ─" in screen_text(acted.app)


async def test_which_two_are_compared():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "space", "down", "down")
        results = acted.app.screen
        # The marked one and that of the cursor, the older first.
        assert results._pair() == ("239", "241")
        await pressed(pilot, "space", "up")
        assert results._pair() == ("239", "241")
        # A third mark takes the place of the first.
        await pressed(pilot, "space")
        assert results._pair() == ("239", "240")
        await pressed(pilot, "space", "down", "down", "down")
        assert results._pair() == ("import:1", "239")
        # An import alone has nothing before it.
        await pressed(pilot, "up", "up", "space", "down", "down", "c")
        assert notices(acted.app) == [
            "Compare: an import has no run before it: mark another run or import"
        ]


@both_sizes
async def test_two_layouts_are_compared(size):
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=size) as pilot:
        await results_opened(pilot, "l")
        text = screen_text(acted.app)
        assert "119  md-raid0 of 4, chunk 256 KiB, xfs" in text
        assert "began with: stripe from md-raid0 of 2, chunk 256 KiB to md-raid0 of 4" in text
        await pressed(pilot, "down", "c")
        assert "the first of its machine" in screen_text(acted.app)
        assert notices(acted.app) == ["Compare: there are not two epochs to compare"]
        await pressed(pilot, "space", "up", "c")
        assert results.calls[-1] == "compare epoch:2 epoch:3 IOPS"
        await pressed(pilot, "escape", "enter")
        assert "stripe          md-raid0 chunk=262144 members=4" in screen_text(acted.app)
        await pressed(pilot, "escape", "escape")
        assert isinstance(acted.app.screen, ResultsScreen)


async def test_pages_are_offered_where_nothing_may_be_changed_and_in_ascii():
    policy = Policy(ascii_only=True, theme=RICH_THEME, remote=True)
    acted = stage(snapshot(), unable="this history is read only", policy=policy)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot)
        for key, page in (
            ("enter", RunScreen),
            ("t", SeriesScreen),
            ("e", ExportScreen),
            ("l", EpochsScreen),
            ("c", CompareScreen),
        ):
            await pressed(pilot, key)
            assert isinstance(acted.app.screen, page)
            # The footer shows the arrow keys as Textual does.
            assert "\n".join(screen_text(acted.app).splitlines()[:-1]).isascii()
            await pilot.press("escape")
            assert isinstance(acted.app.screen, ResultsScreen)


async def test_a_history_that_hangs_holds_up_no_key():
    acted = stage(snapshot(), in_background=lambda _: None)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot)
        acted.clock[0] += 31
        acted.app.present()
        await settled(pilot)
        assert "reading, for 31 s" in screen_text(acted.app)
        await pressed(pilot, "space", "c", "e")
        assert len(notices(acted.app)) == 3
        await pressed(pilot, "t")
        acted.clock[0] += 5
        acted.app.screen.redraw()
        await settled(pilot)
        assert "reading the series, for 5 s" in screen_text(acted.app)
        await pressed(pilot, "z", "escape", "1")
        assert acted.app.current_mode == "overview"


async def test_old_rows_stay_when_the_history_fails():
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot)
        results.problem = OperatorError("database [b]is locked", "wait")
        acted.clock[0] += 60
        await pressed(pilot, "u")
        acted.app.present()
        await settled(pilot)
        text = screen_text(acted.app)
        assert "▲ database [b]is locked; wait; this is 1 min 00 s old" in text
        assert "241    09-21" in text
        results.problem = None
        await pressed(pilot, "u")
        assert "is locked" not in screen_text(acted.app)


async def test_an_empty_history_says_how_to_begin():
    class Empty(FakeResults):
        def page(self, asked, skip, limit):
            page = super().page(asked, skip, limit)
            return dataclasses.replace(page, runs=(), more=False, found=0, total=0)

        def imports(self):
            return ()

    acted = stage(snapshot(), results=Empty())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "e")
        assert "no runs yet; start one on Suites (4)" in screen_text(acted.app)
        assert notices(acted.app) == ["Export: there is no run here"]
