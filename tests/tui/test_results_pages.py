"""The pages over Results: a run in detail, trends, export."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from appliance.errors import OperatorError
from appliance.figures.metric import Metric
from appliance.model.measurement import DeviceLatency, Finding, Severity
from appliance.model.slots import Slot
from appliance.text import latency
from tests.tui.driving import both_sizes, notices, pressed, results_opened, settled
from tests.tui.fake_results import KEYS, RESULTS, WALL, FakeResults, run, trend
from tests.tui.fakes import screen_text, snapshot, stage
from tests.tui.pictures import assert_looks_as_kept
from tests.tui.test_hostile import CLICK, CONTROL, RED, assert_clean, shown
from tui.charts.markers import Marker
from tui.marks import UNICODE
from tui.screens.results import ResultsScreen
from tui.screens.results_run import RunScreen
from tui.screens.results_series import SeriesScreen
from tui.screens.results_trend import TrendScreen
from tui.widgets import results_item
from tui.widgets.results import columns
from tui.widgets.results_run import item_columns
from tui.widgets.results_trend import chart, drawing


def test_what_the_disks_say_of_their_own_latency():
    own = (DeviceLatency("nvme1n1", 100, 9000, ((0, 64, 10), (64, 128, 90))),)
    result = dataclasses.replace(RESULTS[0], device_latencies=own)
    item = results_item.of_result(result, run(1), UNICODE)
    text = "\n".join(str(line) for line in results_item.item_lines(item, 100, UNICODE))
    assert "by the disks" in text
    assert "nvme1n1 mean 90 µs, p99 at most 128 µs" in text


@both_sizes
async def test_a_run_in_detail(size):
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=size) as pilot:
        await results_opened(pilot, "enter")
        assert results.calls[-1] == "run 241"
        text = screen_text(acted.app)
        for words in (
            "RUN 241 smoke ─",
            "4 of 5 results valid",
            "✗ 1 of 5 results not valid: rand-read-4k COVERAGE",
            "✗ 729.9k IOPS, p99 1.20 ms, ↓8 % below normal",
            "▲ 7       PERF-SLOWER confirmed",
            "✗ COVERAGE  rand-read-4k  randread 4 KiB QD 32 × 8",
        ):
            assert words in text
        text = "\n".join(line.plain for line in acted.app.screen.query_one("#run-item")._lines)
        for words in (
            "change        ↓8 % below normal",
            "corrected     ~412.3k IOPS is probably true",
            "published     36 % of the published 1.6M IOPS (4 × 400,000",
            "provisioned   exceeded: the volume's IOPS for 1 s (4 %)",
            "coverage      the disks did 70.9 % of fio's bytes",
            "p1 180.0 µs, p50 400.0 µs, p99 1.20 ms",
            "COVERAGE      only 70.9 % of the bytes read came from the disks",
        ):
            assert words in text
        if size[0] == 140:
            await assert_looks_as_kept(acted.app, pilot, "results-run")
        await pressed(pilot, *["pagedown"] * (1 if size[0] == 140 else 2))
        text = screen_text(acted.app)
        assert "p50 400.0 µs     " in text  # a rule of the histogram
        assert "⣿" in text
        await pressed(pilot, "M")
        text = screen_text(acted.app)
        assert "⣿" not in text
        assert "█" in text
        await pressed(pilot, "pagedown", "pagedown")
        text = screen_text(acted.app)
        # One member waits three times as long as the others.
        assert any("nvme4n1" in line and "1.55 ms" in line for line in text.splitlines())
        await pressed(pilot, "T")
        scroll = acted.app.screen.query_one("#run-scroll")
        scroll.scroll_to(y=6, animate=False)
        await settled(pilot)
        assert "up to here" in screen_text(acted.app)
        scroll.scroll_end(animate=False)
        await settled(pilot)
        text = screen_text(acted.app)
        assert "25.0 %" in text
        assert "nvme4n1" in text
        # Another job begins at its top.
        await pressed(pilot, "up")
        assert "valid  seq-read-1m" in screen_text(acted.app)


async def test_the_trend_of_a_result_and_its_export():
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "enter", "t")
        assert isinstance(acted.app.screen, TrendScreen)
        assert "TREND smoke randread 4 KiB QD 32 × 8" in screen_text(acted.app)
        await pressed(pilot, "escape", "e")
        assert "Export run 241" in screen_text(acted.app)


async def test_an_import_in_detail():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, *["down"] * 4, "enter", "down")
        text = screen_text(acted.app)
        for words in (
            "IMPORT 1 ─",
            "i3.txt, i3.4xlarge, imported 2026-09-20",
            "line 40 randread read",
            "corrected     ~412.3k IOPS",
            "no histogram is kept of this result",
            "what each disk did is not known",
        ):
            assert words in text
        await pressed(pilot, "t")
        assert notices(acted.app) == ["Trend: only results of our own runs have a trend"]
        assert "Links" not in text
        await pressed(pilot, "enter")
        assert isinstance(acted.app.screen, RunScreen)


async def test_a_run_without_results_and_one_that_cannot_be_read():
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        acted.app.push_screen(RunScreen("200"))
        await settled(pilot)
        text = screen_text(acted.app)
        assert "it has no results" in text
        assert "the disks were busy with something else" in text
        await pressed(pilot, "down", "escape")
        results.problem = OperatorError("there is no run 9", "list them")
        acted.app.push_screen(RunScreen("9"))
        await settled(pilot)
        assert "▲ there is no run 9; list them" in screen_text(acted.app)
        # It is read again as soon as the history has something new.
        results.problem = None
        acted.give(snapshot(history_mark="new"))
        await settled(pilot)
        acted.app.present()
        await settled(pilot)
        assert "seq-read-1m" in screen_text(acted.app)


async def test_from_a_run_one_goes_to_its_log_its_findings_and_its_disks(monkeypatch):
    acted = stage(snapshot())
    visited = []
    monkeypatch.setattr(acted.app, "visit", lambda *link: visited.append(link))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "enter")
        assert "⏎ Links" in screen_text(acted.app)
        await pressed(pilot, "enter")
        text = screen_text(acted.app)
        for words in ("Log at 2026-09-21 14:13:20Z", "Finding 7 PERF-SLOWER", "Disk nvme4n1"):
            assert words in text
        await pressed(pilot, "enter", "enter", "down", "enter", "enter", "down", "down", "enter")
        # The member that waits longest is the first of the disks.
        assert visited == [("log", str(WALL)), ("drift", "7"), ("disks", "nvme4n1")]


@both_sizes
async def test_every_series_stands_beside_the_others(size):
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=size) as pilot:
        await results_opened(pilot, "t", "z", "m")
        assert isinstance(acted.app.screen, SeriesScreen)
        assert results.calls[-1] == "series bandwidth"
        text = screen_text(acted.app)
        assert "3 SERIES" in text
        assert "⏎ Trend" in text
        assert "bandwidth, last 90 days; enter shows one" in text
        assert acted.app.world.settings.get("zoom") == "last 90 days"
        (line,) = [line for line in text.splitlines() if "randread 4 KiB QD 32 × 8" in line]
        assert "↓9 %" in line
        assert "▂" in line
        await pressed(pilot, "enter")
        assert isinstance(acted.app.screen, TrendScreen)
        assert results.calls[-1] == "trend smoke/rand-read-4k read bandwidth"
        assert "bandwidth, last 90 days, 1 of 3" in screen_text(acted.app)
        await pressed(pilot, "t")
        assert isinstance(acted.app.screen, SeriesScreen)
        await pressed(pilot, "escape")
        assert isinstance(acted.app.screen, ResultsScreen)


@both_sizes
async def test_a_trend_with_normal_epochs_and_findings(size):
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=size) as pilot:
        await results_opened(pilot, "t", "enter")
        text = screen_text(acted.app)
        for words in (
            "TREND smoke randread 4 KiB QD 32 × 8 ─",
            "IOPS, last 30 days, 1 of 3",
            "PERF-SLOWER",
            "░ normal",
            "✗ 4 not valid",
            "now       736",
            "normal    788.0k to 812.0k IOPS, from 39 runs since 2026-08-22",
            "shown     121 runs, 4 not valid",
            "▲ 7       PERF-SLOWER confirmed: smoke/rand-read-4k read: -8.0%",
        ):
            assert words in text
        await pressed(pilot, "z", "z")
        text = screen_text(acted.app)
        assert "all time, 1 of 3" in text
        assert "epoch 3" in text
        assert "shown     241 runs, 9 not valid" in text
        if size[0] == 80:
            await assert_looks_as_kept(acted.app, pilot, "results-trend")
        await pressed(pilot, "T")
        text = screen_text(acted.app)
        assert "2026-09-21 08:13:20Z         743.4k  below normal" in text
        assert "2026-09-20 02:13:20Z              -  ✗ not valid, 1.1M" in text
        await pressed(pilot, "T", "M", "v")
        text = screen_text(acted.app)
        assert "TREND smoke write 1 MiB QD 32 × 8" in text
        assert "▀" in text
        await pressed(pilot, "V", "V")
        assert "TREND smoke/rand-read-4k read on nvme1n1" in screen_text(acted.app)
        await pressed(pilot, "V", "m")
        assert results.calls[-1] == "trend smoke/seq-write-1m write bandwidth"


async def test_the_cursor_reads_a_trend_and_opens_its_run():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "t", "enter", "enter")
        assert notices(acted.app) == ["Run: left and right move the cursor to a run"]
        await pressed(pilot, "left")
        assert "2026-09-21 14:13  729.9k, -8.8 % against normal  run 241" in screen_text(acted.app)
        await pressed(pilot, "left", "left")
        assert "2026-09-21 02:13  740.9k" in screen_text(acted.app)
        await pressed(pilot, "home")
        assert "2026-08-22" in screen_text(acted.app)
        await pressed(pilot, "end", "left", "enter")
        assert "RUN 240" in screen_text(acted.app)


async def test_keys_typed_while_a_trend_is_read_are_kept():
    waiting = []
    results = FakeResults()
    acted = stage(snapshot(), results=results, in_background=waiting.append)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        acted.app.push_screen(TrendScreen(KEYS[0]))
        await pressed(pilot, "z", "z", "v", "m")
        assert notices(acted.app) == []
        while waiting:
            waiting.pop(0)()
            await settled(pilot)
        text = screen_text(acted.app)
        assert "TREND smoke write 1 MiB QD 32 × 8" in text
        assert "bandwidth, all time, 2 of 3" in text
        assert results.calls[-1] == "trend smoke/seq-write-1m write bandwidth"


async def test_keys_typed_while_the_series_are_read_are_kept():
    waiting = []
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot)
        acted.app.asker._in_background = waiting.append
        await pressed(pilot, "t", "z", "z")
        assert notices(acted.app) == []
        waiting.pop(0)()
        await settled(pilot)
        assert "all time" in screen_text(acted.app)


def _long(invalid=lambda number: number % 50 == 1):
    level = 8e5
    made = tuple(
        Slot(number, number * 21_600.0, level + 1e4 * (number % 10), not invalid(number))
        for number in range(1, 14_601)
    )
    stretch = dataclasses.replace(trend().stretches[-1], slots=made)
    return dataclasses.replace(trend(), stretches=(stretch,), findings=())


def test_of_a_long_trend_the_median_and_its_spread_are_drawn():
    drawn = drawing(_long(), Metric.IOPS, None, UNICODE, now=1e18, width=80)
    assert 60 <= len(drawn.readings) <= 80
    assert sum(one.runs for one in drawn.readings) == 14_600
    assert drawn.invalid == 292
    one = drawn.readings[30]
    # The values are 800k to 890k, evenly; every fiftieth, of 800k, is not valid.
    assert (one.low, one.value, one.high) == (8.1e5, 8.5e5, 8.8e5)
    assert len(drawn.chart.bands) == len(drawn.readings)
    # Two in a hundred that are not valid are counted, and no wall of marks.
    assert drawn.chart.marks == ()
    lines = chart(drawn, width=80, height=15, marker=Marker.BRAILLE, glyphs=UNICODE)
    assert "✗ 292 not valid" in lines[-1].plain
    words = chart(drawn, width=80, height=15, marker=Marker.BRAILLE, glyphs=UNICODE, cursor=30)
    assert "850.0k, p10 810.0k, p90 880.0k" in words[-1].plain
    assert "runs, last" in words[-1].plain


def test_a_time_in_which_most_runs_are_not_valid_is_marked():
    drawn = drawing(
        _long(lambda number: 7000 < number < 7400), Metric.IOPS, None, UNICODE, now=1e18, width=80
    )
    assert 1 <= len(drawn.chart.marks) <= 3
    assert drawn.chart.marks[0].value is None


async def test_a_trend_is_left_from_its_numbers():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "t", "enter", "T")
        assert isinstance(acted.app.screen, TrendScreen)
        await pressed(pilot, "escape")
        assert isinstance(acted.app.screen, SeriesScreen)
        await pressed(pilot, "escape")
        assert isinstance(acted.app.screen, ResultsScreen)


async def test_without_series_there_is_no_trend():
    class NoSeries(FakeResults):
        def series(self, metric):
            return {}

    acted = stage(snapshot(), results=NoSeries())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "t", "m")
        assert "no complete run of a suite has results yet" in screen_text(acted.app)
        assert notices(acted.app) == ["Metric: no complete run of a suite has results yet"]


@both_sizes
async def test_export_writes_a_new_file_and_says_where(size):
    results = FakeResults()
    acted = stage(snapshot(), results=results, unable="read only")
    async with acted.app.run_test(size=size) as pilot:
        await results_opened(pilot, "e")
        text = screen_text(acted.app)
        assert "stripewright-run-241.html" in text
        assert ".csv   the results of the whole history, for a spreadsheet" in text
        await pressed(pilot, "enter")
        name = Path("stripewright-run-241.html")
        assert results.written == [name]
        assert notices(acted.app) == [f"written: {name}: a report, as a page, 31.4 KiB"]


async def test_the_name_of_an_export_can_be_changed():
    results = FakeResults(written=[Path("stripewright-run-241.html")])
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "e", "enter")
        assert "✗ stripewright-run-241.html exists and was left as it is" in screen_text(acted.app)
        await pressed(pilot, "ctrl+u", "enter")
        assert "type a file's name" in screen_text(acted.app)
        acted.app.screen.query_one("#export-name").value = "~/x.csv"
        await pressed(pilot, "enter")
        assert results.written[1:] == [Path.home() / "x.csv"]


async def test_an_export_that_takes_long_says_so_and_can_be_left():
    waiting = []
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "down", "e")
        acted.app.asker._in_background = waiting.append
        await pressed(pilot, "enter", "enter")
        acted.clock[0] += 12
        acted.app.screen._tick()
        await settled(pilot)
        assert "writing stripewright-run-240.html, for 12 s" in screen_text(acted.app)
        await pressed(pilot, "escape")
        (work,) = waiting
        work()
        await settled(pilot)
        assert notices(acted.app)[0].startswith("written: stripewright-run-240.html")


async def test_hostile_text_is_shown_as_text():
    text = RED + CONTROL + CLICK

    class Hostile(FakeResults):
        def page(self, asked, skip, limit):
            page = super().page(asked, skip, limit)
            first = page.runs[0]
            run = dataclasses.replace(first.run, suite=text, target=text, reason=text)
            one = dataclasses.replace(first, run=run, code=text)
            return dataclasses.replace(page, runs=(one, *page.runs[1:]))

        def figures(self, run_ids):
            return {
                number: dataclasses.replace(one, workload=text)
                for number, one in super().figures(run_ids).items()
            }

        def imports(self):
            return tuple(dataclasses.replace(one, file=text) for one in super().imports())

        def run(self, run_id):
            detail = super().run(run_id)
            finding = Finding(text[:12], Severity.BLOCK, text)
            result = dataclasses.replace(RESULTS[0], job=text, findings=(finding,))
            run = dataclasses.replace(detail.run, suite=text, target=text, notes=(text,))
            return dataclasses.replace(detail, run=run, results=(result,), layout=text)

        def series(self, metric):
            return {
                dataclasses.replace(key, job=text, target=text): found and (text, found[1])
                for key, found in super().series(metric).items()
            }

        def trend(self, key, metric):
            trend = super().trend(key, metric)
            found = tuple(
                dataclasses.replace(
                    one, fact=dataclasses.replace(one.fact, code=text, summary=text)
                )
                for one in trend.findings
            )
            return dataclasses.replace(trend, findings=found)

        def compare(self, a, b, metric):
            found = super().compare(a, b, metric)
            worded = dataclasses.replace(
                found.worded,
                notes=(text,),
                rows=(dataclasses.replace(found.worded.rows[0], workload=text),),
            )
            return dataclasses.replace(
                found, a=dataclasses.replace(found.a, what=text), worded=worded
            )

        def epochs(self):
            return tuple(
                dataclasses.replace(
                    one,
                    epoch=dataclasses.replace(
                        one.epoch, fingerprint={text: text}, changed={text: (text, text)}
                    ),
                )
                for one in super().epochs()
            )

    acted = stage(snapshot(), results=Hostile(problem=None))
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await settled(pilot)
        for keys in (
            ("5",),
            ("enter",),
            ("enter",),
            ("escape", "t"),
            ("T",),
            ("escape", "escape", "t"),
            ("escape", "c"),
            ("escape", "l"),
            ("enter",),
        ):
            await pressed(pilot, *keys)
            found = screen_text(acted.app)
            assert_clean(found)
            assert shown(text)[:6] in found, keys
        assert acted.app.is_running


@pytest.mark.parametrize("width", [78, 138])
def test_no_latency_is_torn_from_its_unit(width):
    shown = {one.name: one.cells for one in item_columns(width, UNICODE)}
    listed = {one.name: one.cells for one in columns(width)}
    longest = len(latency(999_990_000))
    assert min(shown["mean"], shown["p99"], listed["p99"]) >= longest


async def test_a_page_is_copied_as_it_is_read():
    acted = stage(snapshot(), results=FakeResults())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "enter", "y")
        copied = acted.app.clipboard
        for words in ("randread 4 KiB QD 32", "RUN 241 smoke", "change        ↓8 % below normal"):
            assert words in copied, copied
        await pressed(pilot, "c", "y")
        assert "COMPARE" in acted.app.clipboard


async def test_a_comparison_is_read_with_the_keys_of_all_lists():
    acted = stage(snapshot(), results=FakeResults())
    async with acted.app.run_test(size=(80, 10)) as pilot:
        await results_opened(pilot, "enter", "c")
        scroll = acted.app.screen.query_one("#compare-scroll")
        await pressed(pilot, "G")
        assert scroll.scroll_offset.y == scroll.max_scroll_y > 0
        await pressed(pilot, "k")
        assert scroll.scroll_offset.y == scroll.max_scroll_y - 1
        await pressed(pilot, "g")
        assert scroll.scroll_offset.y == 0
