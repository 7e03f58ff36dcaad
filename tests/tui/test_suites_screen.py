"""The Suites screen: the table, starting, the run that is on, its end, and the schedule."""

from dataclasses import replace

from appliance.errors import OperatorError
from tests.tui.driving import both_sizes, notices, settled, until
from tests.tui.fake_suites import CATALOG, FakeSuites
from tests.tui.fakes import (
    RUNNING,
    STATUS,
    VOLUME,
    FakeControl,
    screen_text,
    snapshot,
)
from tests.tui.pictures import assert_looks_as_kept
from tests.tui.suites_stage import ENDED, LOGS, MORE, RAW, RUNS, on_smoke, opened, press, suites_on
from tui.screens.results_run import RunScreen
from tui.screens.sheet import Pick, Sheet
from tui.screens.suites import SuitesScreen
from tui.terminal import POOR_THEME, Policy


@both_sizes
async def test_the_table_tells_each_suite_and_the_one_under_the_cursor_in_full(size):
    acted = suites_on(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot)
        text = screen_text(acted.app)
        assert "3 suites" in text
        assert "16 GiB, writes" in text
        assert "2 GiB, reads" in text
        assert "in 4 h 12 min" in text
        assert "nvme2n1 is 80 % busy with something else" in " ".join(text.split())
        await press(pilot, *on_smoke())
        text = screen_text(acted.app)
        assert "✗ COVERAGE, 4 of 5 results valid" in text
        await press(pilot, "enter")
        text = screen_text(acted.app)
        assert "Suite smoke" in text
        assert "rand-write-4k      randwrite 4 KiB QD 32 × 8, 30 s" in text
        await press(pilot, "escape", "slash", *"probe", "enter")
        assert "One read at a time" in screen_text(acted.app)
        assert acted.app.screen._suite.name == "latency-probe"


@both_sizes
async def test_a_suite_is_started_after_a_question_that_says_what_it_does(size):
    acted = suites_on(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot, *on_smoke(), "s")
        text = screen_text(acted.app)
        assert "Start suite smoke on scratch?" in text
        assert "5 jobs, 2 min 30 s in all" in text
        assert "about 16 GiB of files in /mnt/scratch/.stripewright-bench" in text
        assert "13.3 TiB on scratch now" in text
        assert "other I/O on these disks gets slower" in text
        # Two keys: it writes nothing but files of its own.
        assert acted.app.focused.id == "do"
        await press(pilot, "enter")
        assert acted.control.calls == ["start smoke"]
        assert acted.feed.calls[-1] == "expect smoke"
        acted.give(snapshot(starting="smoke"))
        await settled(pilot)
        assert "asked systemd to start smoke" in screen_text(acted.app)
        await press(pilot, "s")
        assert "Start: suite smoke is starting" in notices(acted.app)
        await press(pilot, "x", "right", "enter")
        assert acted.control.calls[-1] == "stop smoke"


@both_sizes
async def test_with_several_volumes_the_one_to_measure_is_chosen_first(size):
    acted = suites_on(snapshot(replace(STATUS, volumes=(VOLUME, LOGS, RAW, MORE))))
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot, *on_smoke(), "s")
        assert isinstance(acted.app.screen, Pick)
        text = screen_text(acted.app)
        assert "Measure which volume with smoke?" in text
        assert "not enough space" in text
        assert "it has no filesystem" in text
        await press(pilot, "escape")
        assert isinstance(acted.app.screen, SuitesScreen)
        # What cannot be measured is passed over.
        await press(pilot, "s", "down", "enter")
        assert "Start suite smoke on more?" in screen_text(acted.app)
        await press(pilot, "right", "enter")
        assert acted.control.calls == ["start smoke more"]
        assert acted.feed.calls[-1] == "expect smoke more"
        acted.give(snapshot(starting="smoke", starting_volume="more"))
        await press(pilot, "x", "right", "enter")
        assert acted.control.calls[-1] == "stop smoke more"


@both_sizes
async def test_a_run_that_somebody_else_started_takes_the_screen_with_all_it_tells(size):
    acted = suites_on(snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot)
        acted.give(RUNS)
        await settled(pilot)
        await settled(pilot)
        text = screen_text(acted.app)
        assert "▶ RUNNING smoke on scratch" in text
        assert "job 2 of 5 · 1 min 48 s left" in text
        assert "✓ valid" in text
        assert "18 s left" in text
        assert text.count("– waiting") == 3
        assert "p50 580.0 µs  p99 1.24 ms  p99.9 2.90 ms" in text
        assert "IOPS (m), last 5 min (z)" in text
        await press(pilot, "s")
        assert "already running" in notices(acted.app)[-1]
        # The table again, and back.
        await press(pilot, "w")
        text = screen_text(acted.app)
        assert "▶ smoke is running: w shows it" in text
        assert "▶ running" in text
        await press(pilot, "m")
        assert notices(acted.app)[-1] == "Metric: only while a run is shown"
        acted.give(RUNS)
        await settled(pilot)
        assert "w shows it" in screen_text(acted.app)
        await press(pilot, "w")
        assert "▶ RUNNING smoke" in screen_text(acted.app)


@both_sizes
async def test_the_chart_changes_by_key_and_is_there_as_numbers(size):
    acted = suites_on(RUNS)
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot)
        assert "IOPS (m), last 5 min (z)" in screen_text(acted.app)
        drawn = screen_text(acted.app)
        await press(pilot, "M")
        assert "▘" in screen_text(acted.app) or "▗" in screen_text(acted.app)
        await press(pilot, "M", "M")
        assert screen_text(acted.app) == drawn
        await press(pilot, "m")
        assert "THROUGHPUT (m), last 5 min (z)" in screen_text(acted.app)
        await press(pilot, "m", "z")
        text = screen_text(acted.app)
        assert "AWAIT (m), this job (z)" in text
        assert "nvme3n1 900.0 µs ▲ 3×" in text
        await press(pilot, "T")
        text = screen_text(acted.app)
        assert "await, each second" in text
        assert "nvme3n1" in text
        assert "900.0 µs" in text
        await press(pilot, "escape", "m")
        assert "IOPS (m), this job (z)" in screen_text(acted.app)


@both_sizes
async def test_cancelling_stops_the_process_that_measures(size):
    acted = suites_on(RUNS)
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot, "x")
        text = screen_text(acted.app)
        assert "Stop suite smoke?" in text
        assert "/mnt/scratch/.stripewright-bench" in " ".join(text.split())
        assert acted.app.focused.id == "leave"
        await press(pilot, "right", "enter")
        assert acted.control.calls == [f"stop {RUNNING.pid}"]


async def test_a_run_that_ended_under_the_question_does_not_stop_the_next():
    acted = suites_on(RUNS)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "x")
        acted.give(replace(RUNS, status=replace(RUNS.status, running=replace(RUNNING, id=43))))
        await press(pilot, "right", "enter")
        assert acted.control.calls == []
        assert notices(acted.app)[-1] == "smoke has ended meanwhile"


@both_sizes
async def test_the_end_is_told_and_enter_goes_to_the_results(size):
    acted = suites_on(RUNS)
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot)
        acted.give(ENDED)
        await settled(pilot)
        await settled(pilot)
        assert notices(acted.app) == ["smoke complete: 4 of 5 results valid"]
        text = screen_text(acted.app)
        assert "ENDED smoke on scratch" in text
        assert "✗ COVERAGE" in text
        assert "enter shows its results in full" in text
        await press(pilot, "enter")
        assert isinstance(acted.app.screen, RunScreen)
        assert acted.app.screen._key == "42"
        await press(pilot, "escape")
        # It has been seen: the suites again.
        assert "3 suites" in screen_text(acted.app)
        await press(pilot, *on_smoke(), "r")
        assert acted.app.screen._key == "41"


async def test_the_end_of_a_run_is_told_where_the_next_is_on_already():
    acted = suites_on(RUNS)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "w")
        assert "w shows it" in screen_text(acted.app)
        following = replace(ENDED.status, running=replace(RUNNING, id=43))
        acted.give(replace(RUNS, status=following))
        await settled(pilot)
        await settled(pilot)
        assert notices(acted.app) == ["smoke complete: 4 of 5 results valid"]
        # Another run is not the one that was put away.
        assert "▶ RUNNING smoke" in screen_text(acted.app)


# ---------------------------------------------------------------------- what cannot be done


async def test_where_nothing_may_be_changed_every_action_says_so():
    acted = suites_on(RUNS, unable="this shows a copy")
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        for key in ("s", "S", "x"):
            await press(pilot, key)
            assert isinstance(acted.app.screen, SuitesScreen)
        assert notices(acted.app) == [
            "Start: this shows a copy",
            "Schedule: this shows a copy",
            "Cancel: this shows a copy",
        ]
        # Looking is allowed.
        await press(pilot, "w", "enter")
        assert "Suite full" in screen_text(acted.app)
        assert acted.control.calls == []
        assert not any(call.startswith("set") for call in acted.app.world.suites.calls)


async def test_a_volume_without_room_is_refused_before_anything_is_asked():
    status = replace(STATUS, volumes=(replace(VOLUME, free_bytes=10**9),))
    acted = suites_on(snapshot(status))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "no room" in screen_text(acted.app)
        await press(pilot, "s")
        assert not isinstance(acted.app.screen, Sheet)
        assert "not enough space" in notices(acted.app)[0]


async def test_sources_that_hang_freeze_no_key_and_show_it():
    acted = suites_on(snapshot(), in_background=lambda _: None)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        acted.clock[0] += 31
        acted.app.present()
        await settled(pilot)
        text = screen_text(acted.app)
        assert "reading the suites and their runs, for 31 s" in text
        assert "reading the schedule, for 31 s" in text
        await press(pilot, "s", "S", "r", "w")
        assert len(notices(acted.app)) == 4
        acted.give(RUNS)
        await settled(pilot)
        await settled(pilot)
        # What the feed tells does not wait for them.
        assert "▶ RUNNING smoke" in screen_text(acted.app)
        await press(pilot, "1")
        await until(pilot, lambda: acted.app.current_mode == "overview")


async def test_what_cannot_be_read_again_stays_with_its_age_and_the_problem():
    suites = FakeSuites()
    acted = suites_on(snapshot(), suites=suites)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        suites.problems = {
            "catalog": OperatorError("database [b]is locked", "wait"),
            "schedule": OperatorError("systemctl did not answer", "try again"),
        }
        acted.clock[0] += 20
        await press(pilot, "u")
        acted.app.present()
        await settled(pilot)
        text = " ".join(screen_text(acted.app).split())
        assert "▲ the suites and their runs: database [b]is locked; wait; this is 20 s old" in text
        assert "▲ the schedule: systemctl did not answer; try again" in text
        assert "latency-probe" in text
        assert "in 4 h 11 min" in text


async def test_a_control_that_fails_is_told():
    control = FakeControl(OperatorError("the run was started by hand", "kill -INT 812"))
    acted = suites_on(RUNS, control=control)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "x", "right", "enter")
        assert notices(acted.app) == ["the run was started by hand; kill -INT 812"]


async def test_a_poor_terminal_gets_only_ascii():
    policy = Policy(ascii_only=True, theme=POOR_THEME, remote=True)
    acted = suites_on(RUNS, policy=policy)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        for keys in (("m", "m"), ("w",), ("S",), ("escape", "w")):
            await press(pilot, *keys)
            # The footer shows keys as Textual does.
            assert "\n".join(screen_text(acted.app).splitlines()[:-1]).isascii(), keys
        await press(pilot, "M")
        assert notices(acted.app) == ["Marker: this terminal shows ASCII only"]
        acted.give(ENDED)
        await settled(pilot)
        await settled(pilot)
        text = screen_text(acted.app)
        assert "ENDED" in text
        assert "\n".join(text.splitlines()[:-1]).isascii()


async def test_hostile_names_are_text_on_the_screen_and_in_its_questions():
    click, red = "[@click=app.quit]X", "[red]R[/red]"
    suite = replace(CATALOG.suites[2], name=click, summary=red)
    catalog = replace(CATALOG, suites=(suite,), last={})
    status = replace(STATUS, volumes=(replace(VOLUME, name=red), replace(MORE, name=click)))
    acted = suites_on(snapshot(status), suites=FakeSuites(catalog))
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await opened(pilot)
        text = screen_text(acted.app)
        assert click in text
        assert red in text
        await press(pilot, "s")
        assert f"Measure which volume with {click}?" in screen_text(acted.app)
        await press(pilot, "enter")
        assert f"Start suite {click} on {red}?" in screen_text(acted.app)
        await press(pilot, "escape", "S")
        assert f"When is {click} started?" in screen_text(acted.app)
        await press(pilot, "escape", "enter")
        assert f"Suite {click}" in screen_text(acted.app)


@both_sizes
async def test_it_looks_as_kept(size):
    name = f"suites-{size[0]}"
    acted = suites_on(RUNS if size[0] > 80 else snapshot())
    async with acted.app.run_test(size=size) as pilot:
        await opened(pilot)
        await assert_looks_as_kept(acted.app, pilot, name)
