from dataclasses import dataclass, field, replace

import pytest

from appliance.errors import OperatorError
from appliance.model.runs import Counters
from appliance.system.services import UnitState
from tests.tui.fakes import RESULTS, RUNNING, SMOKE, STATUS, run_record
from tui.feed import Feed
from tui.snapshot import TREND_SECONDS
from tui.tracks import Figure, points


@dataclass
class FakeSources:
    """Answers from fields; an exception in a field is raised."""

    state: object = STATUS
    unit_state: object = UnitState("unit", "inactive", "dead", "success")
    gone: frozenset[str] = frozenset()
    history_mark: object = "7/3"
    counter_problem: Exception | None = None
    ios: int = 0
    progress: object = None
    told: tuple[object, ...] = ()
    calls: list[str] = field(default_factory=list)

    def status(self):
        self.calls.append("status")
        return self._answer(self.state)

    def results(self, run_id):
        self.calls.append(f"results {run_id}")
        return RESULTS[:1]

    def suite(self, name):
        if name != "smoke":
            raise OperatorError("no such suite", "")
        return SMOKE

    def mark(self):
        return self._answer(self.history_mark)

    def unit(self, suite, volume):
        self.calls.append(f"unit {suite} {volume}".strip())
        return self._answer(self.unit_state)

    def applying(self):
        return self.progress

    def live_jobs(self):
        self.calls.append("live jobs")
        return self.told

    def device_name(self, path):
        return "md127" if "md" in path else path.removeprefix("/dev/")

    def counters(self, device):
        if self.counter_problem:
            raise self.counter_problem
        if device in self.gone:
            return None
        return Counters(device, self.ios, self.ios * 4096, self.ios, 0, 0, 0, 0, self.ios)

    def _answer(self, value):
        if isinstance(value, Exception):
            raise value
        return value


@dataclass
class Bench:
    sources: FakeSources
    feed: Feed
    clock: list[float]

    def after(self, seconds, ios=0):
        self.clock[0] += seconds
        self.sources.ios += ios
        return self.feed.step()


@pytest.fixture
def bench():
    sources, clock = FakeSources(), [100.0]
    return Bench(sources, Feed(sources, lambda _: None, clock=lambda: clock[0]), clock)


def test_first_snapshot_has_status_and_devices_but_no_rates(bench):
    first = bench.feed.step()
    assert first.status is STATUS
    assert [(row.label, row.member) for row in first.live] == [
        ("scratch", False),
        *((f"nvme{number}n1", True) for number in range(1, 5)),
    ]
    assert all(row.sample is None for row in first.live)
    assert first.seconds == ()


def test_rates_are_over_the_time_that_really_passed(bench):
    bench.feed.step()
    snapshot = bench.after(4.0, ios=2000)
    sample = snapshot.live[0].sample
    assert sample.read_iops == 500
    assert sample.read_bytes_per_s == 500 * 4096
    scratch = snapshot.seconds[-1].devices[0]
    assert points(snapshot.seconds, scratch, Figure.READ_IOPS) == [(snapshot.taken_at, 500)]


def test_a_slow_status_does_not_falsify_the_rates(bench):
    """The clock runs and 1000 IOPS go on while the status is being read."""

    def slow_status():
        bench.clock[0] += 1.5
        bench.sources.ios += 1500
        return STATUS

    bench.sources.status = slow_status
    bench.feed.step()
    rates = [bench.after(1.0, ios=1000).live[0].sample.read_iops for _ in range(12)]
    assert rates == pytest.approx([1000] * 12)


def test_status_is_read_rarely_when_idle_and_more_often_in_a_run(bench):
    for _ in range(11):
        bench.after(1.0)
    assert bench.sources.calls.count("status") == 3
    bench.sources.state = replace(STATUS, running=RUNNING)
    bench.after(5.0)
    bench.sources.calls.clear()
    for _ in range(4):
        bench.after(1.0)
    assert bench.sources.calls.count("status") == 2


def test_a_source_that_fails_leaves_the_last_answer_with_its_time(bench):
    bench.feed.step()
    bench.sources.state = OperatorError("database is locked", "wait")
    snapshot = bench.after(6.0)
    assert snapshot.status is STATUS
    assert snapshot.status_at == 100.0
    assert snapshot.status_problem == "database is locked; wait"
    bench.sources.state = STATUS
    recovered = bench.after(6.0)
    assert (recovered.status_at, recovered.status_problem) == (112.0, "")


def test_a_defect_in_a_source_does_not_end_the_feed(bench):
    bench.sources.state = ValueError("odd")
    snapshot = bench.feed.step()
    assert snapshot.status is None
    assert snapshot.status_problem == "ValueError: odd"


def test_failing_counters_keep_the_last_figures_and_age(bench):
    bench.feed.step()
    good = bench.after(1.0, ios=100)
    bench.sources.counter_problem = OSError("gone")
    bad = bench.after(1.0)
    assert bad.live == good.live
    assert bad.live_at == good.live_at
    assert "gone" in bad.live_problem
    bench.sources.counter_problem = None
    # rates over the gap would be wrong: start again
    assert bench.after(1.0, ios=100).live[0].sample is None


def test_a_member_that_has_gone_is_shown_without_figures(bench):
    bench.feed.step()
    bench.sources.gone = frozenset({"nvme3n1"})
    snapshot = bench.after(1.0, ios=10)
    assert [row.sample is None for row in snapshot.live] == [False, False, False, True, False]


def test_waking_twice_in_one_tick_of_the_clock_divides_by_nothing(bench):
    bench.feed.step()
    good = bench.after(1.0, ios=10)
    assert bench.after(0.0, ios=10).live == good.live


def test_what_happened_in_an_instant_is_no_peak_of_the_last_minutes(bench):
    """A status that was read wakes the pump, whenever that is."""
    bench.feed.step()
    good = bench.after(1.0, ios=1000)
    hasty = bench.after(0.011, ios=250)
    assert (hasty.live, hasty.seconds) == (good.live, good.seconds)
    assert bench.after(0.989, ios=750).live[0].sample.read_iops == pytest.approx(1000)


def test_a_run_brings_its_suite_and_its_results_so_far(bench):
    bench.sources.state = replace(STATUS, running=RUNNING)
    snapshot = bench.feed.step()
    assert snapshot.running is RUNNING
    assert snapshot.run_results == RESULTS[:1]
    assert snapshot.run_suite is SMOKE
    bench.sources.state = replace(STATUS, running=replace(RUNNING, suite="of another version"))
    assert bench.after(2.0).run_suite is None


def test_the_figures_so_far_are_read_every_second_of_a_run_and_never_else(bench):
    bench.sources.told = ("figures",)
    assert bench.feed.step().live_jobs == ()
    assert "live jobs" not in bench.sources.calls
    bench.sources.state = replace(STATUS, running=RUNNING)
    assert bench.after(6.0).live_jobs == ("figures",)
    bench.sources.told = ("later",)
    assert bench.after(1.0).live_jobs == ("later",)


def test_every_device_is_kept_for_as_long_as_the_trend(bench):
    bench.feed.step()
    for _ in range(TREND_SECONDS + 5):
        shown = bench.after(1.0, ios=500)
    assert len(shown.seconds) == TREND_SECONDS
    devices = shown.seconds[-1].devices
    assert [one.label for one in devices] == ["scratch", *(f"nvme{n}n1" for n in range(1, 5))]
    assert devices is shown.seconds[0].devices
    assert points(shown.seconds[-1:], devices[3], Figure.IOPS) == [(shown.taken_at, 500.0)]


def test_the_unit_of_the_named_volume_is_watched(bench):
    bench.feed.step()
    bench.feed.expect_run("smoke", "data")
    bench.sources.unit_state = UnitState("unit", "activating", "start", "success")
    shown = bench.after(1.0)
    assert (shown.starting, shown.starting_volume) == ("smoke", "data")
    assert bench.sources.calls[-1] == "unit smoke data"
    bench.sources.state = replace(STATUS, running=RUNNING)
    assert bench.after(1.0).starting_volume == ""


def test_expected_run_is_watched_until_it_shows(bench):
    bench.feed.step()
    bench.feed.expect_run("smoke", "")
    bench.sources.unit_state = UnitState("unit", "activating", "start", "success")
    assert bench.after(1.0).starting == "smoke"
    assert bench.after(1.0).starting == "smoke"
    bench.sources.state = replace(STATUS, running=RUNNING)
    shown = bench.after(1.0)
    assert (shown.starting, shown.start_problem) == ("", "")


def test_expected_run_that_was_short_is_no_problem(bench):
    bench.feed.step()
    bench.feed.expect_run("smoke", "")
    bench.sources.state = replace(STATUS, last_run=run_record(id=99))
    shown = bench.after(1.0)
    assert (shown.starting, shown.start_problem) == ("", "")


def test_unit_that_failed_before_its_run_is_told_at_once(bench):
    bench.feed.step()
    bench.feed.expect_run("smoke", "")
    bench.sources.unit_state = UnitState(
        "stripewright-bench@smoke.service", "failed", "", "exit-code"
    )
    shown = bench.after(1.0)
    assert shown.starting == ""
    assert (
        shown.start_problem
        == "smoke did not start: stripewright-bench@smoke.service is failed (exit-code)"
    )


def test_unit_that_never_starts_is_told_after_a_grace(bench):
    bench.feed.step()
    bench.feed.expect_run("smoke", "")
    assert bench.after(1.0).starting == "smoke"
    assert "inactive" in bench.after(10.0).start_problem


def test_the_pump_posts_and_stops(bench):
    posted = []

    def post(snapshot):
        posted.append(snapshot)
        bench.feed.stop()

    bench.feed.post = post
    bench.feed._pump()
    assert len(posted) == 1


def test_the_plan_that_is_carried_out_is_in_every_snapshot_and_its_end_reads_all_again(bench):
    bench.feed.step()
    bench.sources.progress = "step 1"
    assert bench.after(1).applying == "step 1"
    bench.sources.progress = "step 2"
    assert bench.after(1).applying == "step 2"
    bench.sources.calls.clear()
    bench.sources.progress = None
    assert bench.after(1).applying is None
    bench.after(0.5)
    assert "status" in bench.sources.calls


class Waits:
    """Stands for what the pump waits on; after ``turns`` the feed is told to stop."""

    def __init__(self, feed, turns):
        self.feed, self.turns, self.seconds = feed, turns, []

    def clear(self):
        pass

    def set(self):
        pass

    def wait(self, seconds):
        self.seconds.append(seconds)
        if len(self.seconds) == self.turns:
            self.feed.stop()


@pytest.mark.parametrize("gone", [frozenset(), frozenset({"md127", "nvme1n1", "nvme2n1"})])
def test_first_rates_come_soon_and_later_ones_once_an_interval(gone):
    sources = FakeSources(gone=gone)
    feed = Feed(sources, lambda snapshot: None)
    feed._wake = waits = Waits(feed, 4)
    feed._pump()
    assert waits.seconds == [1.0] * 4  # nothing to read before the first status
    feed._stopping = False
    feed.step_status()
    feed._wake = waits = Waits(feed, 4)
    feed._pump()
    assert waits.seconds == [0.3, 1.0, 1.0, 1.0]


def test_links_of_devices_are_followed_once_a_status():
    followed = []
    sources = FakeSources()
    sources.device_name = lambda path: followed.append(path) or path.removeprefix("/dev/")
    feed = Feed(sources, lambda snapshot: None)
    feed.step_status()
    for _ in range(3):
        feed.step_live()
    assert len(followed) == 5  # the volume and its four members
    sources.state = replace(STATUS)
    feed.hurry()
    feed.step_status()
    feed.step_live()
    assert len(followed) == 10
