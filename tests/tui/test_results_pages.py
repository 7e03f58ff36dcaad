"""The pages over Results: a run in detail, trends, export."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from appliance.errors import OperatorError
from appliance.model.measurement import DeviceLatency, Finding, Severity
from tests.tui.driving import both_sizes, notices, pressed, results_opened, settled
from tests.tui.fake_results import RESULTS, FakeResults, run
from tests.tui.fakes import screen_text, snapshot, stage
from tests.tui.pictures import assert_looks_as_kept
from tests.tui.test_hostile import CLICK, CONTROL, RED, assert_clean, shown
from tui.marks import UNICODE
from tui.screens.results import ResultsScreen
from tui.screens.results_run import RunScreen
from tui.screens.results_series import SeriesScreen
from tui.screens.results_trend import TrendScreen
from tui.widgets import results_item


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
            "› seq-read-1m ",
            "✗ COVERAGE",
            "measured      7.5k IOPS, 7.30 GiB/s, mean 440.0 µs",
        ):
            assert words in text
        await pressed(pilot, "down")
        text = screen_text(acted.app)
        for words in (
            "› rand-read-4k ",
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
        await pressed(pilot, "pagedown")
        text = screen_text(acted.app)
        assert "p50 400.0 µs     " in text  # a rule of the histogram
        assert "⣿" in text
        await pressed(pilot, "m")
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
        assert "✓ valid  seq-read-1m" in screen_text(acted.app)


async def test_the_trend_of_a_result_and_its_export():
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "enter", "down", "t")
        assert isinstance(acted.app.screen, TrendScreen)
        assert "TREND smoke/rand-read-4k read" in screen_text(acted.app)
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
            "› line 40 randread read",
            "corrected     ~412.3k IOPS",
            "no histogram is kept of this result",
            "what each disk did is not known",
        ):
            assert words in text
        await pressed(pilot, "t")
        assert notices(acted.app) == ["Trend: only results of our own runs have a trend"]


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
        acted.app.screen._tick()
        await settled(pilot)
        assert "› seq-read-1m" in screen_text(acted.app)


@both_sizes
async def test_a_trend_with_normal_epochs_and_findings(size):
    results = FakeResults()
    acted = stage(snapshot(), results=results)
    async with acted.app.run_test(size=size) as pilot:
        await results_opened(pilot, "t")
        text = screen_text(acted.app)
        for words in (
            "TREND smoke/rand-read-4k read",
            "last 30 days, 1 of 3",
            "PERF-SLOWER",
            "░ normal",
            "✗ not valid",
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
        assert "2026-09-21 08:13:20Z     743.4k  below normal" in text
        assert "2026-09-20 02:13:20Z          -  ✗ not valid, 1.1M" in text
        await pressed(pilot, "T", "m", "right")
        text = screen_text(acted.app)
        assert "TREND smoke/seq-write-1m write" in text
        assert "▀" in text
        await pressed(pilot, "left", "left")
        assert "TREND smoke/rand-read-4k read on nvme1n1" in screen_text(acted.app)
        await pressed(pilot, "s", "up", "enter")
        assert results.calls[-1] == "trend smoke/seq-write-1m write"


async def test_a_trend_is_left_from_its_list_and_its_numbers():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "t", "T", "s")
        assert isinstance(acted.app.screen, SeriesScreen)
        await pressed(pilot, "escape")
        assert isinstance(acted.app.screen, TrendScreen)
        await pressed(pilot, "escape")
        assert isinstance(acted.app.screen, ResultsScreen)


async def test_without_series_there_is_no_trend():
    class NoSeries(FakeResults):
        def series(self):
            return ()

    acted = stage(snapshot(), results=NoSeries())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await results_opened(pilot, "t", "z", "right")
        assert "no complete run of a suite has results yet" in screen_text(acted.app)
        assert notices(acted.app) == [
            "Zoom: there is nothing to draw yet",
            "Next: no complete run of a suite has results yet",
        ]


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
        def page(self, before):
            page = super().page(before)
            first = page.runs[0]
            run = dataclasses.replace(first.run, suite=text, target=text, reason=text)
            one = dataclasses.replace(first, run=run, code=text)
            return dataclasses.replace(page, runs=(one, *page.runs[1:]))

        def imports(self):
            return tuple(dataclasses.replace(one, file=text) for one in super().imports())

        def run(self, run_id):
            detail = super().run(run_id)
            finding = Finding(text[:12], Severity.BLOCK, text)
            result = dataclasses.replace(RESULTS[0], job=text, findings=(finding,))
            run = dataclasses.replace(detail.run, suite=text, target=text, notes=(text,))
            return dataclasses.replace(detail, run=run, results=(result,), layout=text)

        def series(self):
            return tuple(
                dataclasses.replace(key, job=text, target=text) for key in super().series()
            )

        def trend(self, key):
            trend = super().trend(key)
            found = tuple(
                dataclasses.replace(
                    one, fact=dataclasses.replace(one.fact, code=text, summary=text)
                )
                for one in trend.findings
            )
            return dataclasses.replace(trend, findings=found)

        def compare(self, a, b):
            found = super().compare(a, b)
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
            ("t",),
            ("s",),
            ("escape", "T"),
            ("escape", "escape", "c"),
            ("escape", "l"),
            ("enter",),
        ):
            await pressed(pilot, *keys)
            found = screen_text(acted.app)
            assert_clean(found)
            assert shown(text)[:6] in found, keys
        assert acted.app.is_running
