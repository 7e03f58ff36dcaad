"""What reports reckon with: baselines, points of charts, ticks."""

import dataclasses
import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.drift.detection import normal as detection
from appliance.report import svg, timeline
from appliance.report.page import BesideNormal
from tests.unit import reports


def normal(values: list[float]) -> BesideNormal:
    return BesideNormal(len(values), detection.learn(list(enumerate(values))))


def test_a_baseline_needs_twelve_runs():
    assert detection.LEAST == 12
    few = BesideNormal(11, None, 100.0)
    assert (few.change_percent, few.position) == (None, "")


def test_what_is_normal_is_what_drift_takes_for_it():
    found = dataclasses.replace(normal([float(value) for value in range(101, 131)]), value=121.0)
    assert found.normal is not None
    assert (found.normal.median, found.normal.count) == (115.5, 30)
    assert found.change_percent == pytest.approx(100 * 5.5 / 115.5)


@pytest.mark.parametrize(("by", "position"), [(-1, "below"), (0, "within"), (1, "above")])
def test_a_value_is_normal_or_not(by, position):
    known = normal([2.0, 3.0, 4.0] * 10)
    assert known.normal is not None
    edge = {-1: known.normal.low, 0: 3.0, 1: known.normal.high}[by]
    assert dataclasses.replace(known, value=edge).position == "within"
    assert dataclasses.replace(known, value=edge + by * 0.01).position == position


def test_what_may_not_be_compared_is_not():
    unknown = normal([2.0, 3.0, 4.0] * 10)
    assert (unknown.change_percent, unknown.position) == (None, "")


# ------------------------------------------------------------------------ points of charts


def seconds(values, *, at=0.0, device="md0", length=1.0):
    return [
        reports.mean(at + index * length, length, device, value, 0.0)
        for index, value in enumerate(values)
    ]


def points(found, step_s):
    return timeline.series("md0", found, timeline.read_rate, origin=0.0, step_s=step_s).points


def test_few_samples_are_shown_one_by_one():
    found = seconds([5.0, 7.0, 6.0])
    assert timeline.step_seconds(3, 1.0, 240) == 1.0
    assert [(p.at_s, p.mean, p.low, p.high) for p in points(found, 1.0)] == [
        (0.5, 5, 5, 5),
        (1.5, 7, 7, 7),
        (2.5, 6, 6, 6),
    ]


def test_many_samples_become_means_that_keep_the_lowest_and_the_highest():
    found = seconds([10.0, 0.0, 20.0, 10.0, 10.0, 10.0])
    first, second = points(found, 3.0)
    assert (first.mean, first.low, first.high) == (10.0, 0.0, 20.0)
    assert (second.mean, second.low, second.high) == (10.0, 10.0, 10.0)
    assert first.at_s == 1.5


@given(st.integers(1, 400_000), st.sampled_from([1.0, 10.0]))
def test_there_are_never_more_points_than_room(span_s, sample_s):
    step = timeline.step_seconds(span_s, sample_s, 240)
    assert step >= sample_s
    assert span_s / step <= 240 * 1.01
    assert step == sample_s or step in timeline._STEPS or step % 3600 == 0


def test_a_gap_is_not_drawn_over():
    found = seconds([1.0, 1.0]) + seconds([2.0, 2.0], at=10.0)
    segments = timeline.series("md0", found, timeline.read_rate, origin=0.0, step_s=1.0).segments
    assert [len(segment) for segment in segments] == [2, 2]
    late = seconds([1.0, 1.0]) + seconds([2.0], at=3.0)
    assert (
        len(timeline.series("md0", late, timeline.read_rate, origin=0.0, step_s=1.0).segments) == 1
    )


def test_what_is_no_rate_is_no_sample():
    found = seconds([1.0, math.inf, math.nan, 2.0])
    assert [point.mean for point in points(found, 1.0)] == [1.0, 2.0]


# -------------------------------------------------------------------------------- drawing


@given(st.floats(1e-6, 1e15), st.integers(1, 9))
def test_ticks_are_round_and_reach_the_highest_value(highest, most):
    ticks = svg.round_ticks(highest, most)
    assert ticks[0] == 0
    assert ticks[-1] >= highest * 0.999999
    assert ticks[-2] < highest
    assert 2 <= len(ticks) <= most + 2
    step = ticks[1]
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert any(mantissa == pytest.approx(nice) for nice in (1, 2, 2.5, 5, 10))


@pytest.mark.parametrize("odd", [0.0, -1.0, math.inf, math.nan])
def test_ticks_of_nothing(odd):
    assert svg.round_ticks(odd, 4) == (0.0, 1.0)


def test_rates_have_binary_units():
    ticks, unit = svg.rate_ticks(1.06 * 1024**3, 4)
    assert unit == "GiB/s"
    assert [words for _, words in ticks] == ["0", "0.5", "1", "1.5"]
    assert ticks[1][0] == 0.5 * 1024**3
    assert svg.rate_ticks(0.0, 4)[1] == "B/s"


def test_times_are_round():
    assert svg.time_ticks(185, 8) == (
        (0, "0"),
        (30, "30 s"),
        (60, "1 min"),
        (90, "1:30 min"),
        (120, "2 min"),
        (150, "2:30 min"),
        (180, "3 min"),
    )
    assert svg.time_ticks(5 * 3600, 6)[-1] == (18_000, "5 h")


def test_decades_enclose_what_is_shown():
    assert svg.decades(52_000, 534_770_000) == (1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
    assert svg.decades(100.0, 100.0) == (100.0, 1000.0)
    scale = svg.LogScale(1e3, 1e6, 0, 300)
    assert (scale(1e3), scale(1e4), scale(1e6)) == (0, pytest.approx(100), 300)
    assert (scale(0), scale(1e9)) == (0, 300), "what is outside stays on the edge"


@given(st.lists(st.floats(0, 100), min_size=1, max_size=6).map(sorted))
def test_labels_keep_apart(wanted):
    placed = svg.spread(wanted, 12, 0, 100)
    assert all(after - before >= 11.999 for before, after in itertools.pairwise(placed))
    assert min(placed) >= 0
    assert max(placed) <= 100


@given(st.text(max_size=200), st.floats(0, 300))
def test_texts_fit_their_room(text, room_px):
    assert svg.width_of(svg.fitting(text, room_px)) <= room_px
