"""What is normal: the level, the scale of each side, and what makes it wider."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from appliance.drift.detection import cusum
from appliance.drift.detection.normal import DEAD_BAND, learn, median


def noise(count, seed=1, sigma=1.0, level=100.0):
    rng = random.Random(seed)  # noqa: S311
    return [rng.gauss(level, sigma) for _ in range(count)]


def baseline(values):
    return learn(list(enumerate(values, start=3)))


def test_the_scale_of_normal_noise_is_its_standard_deviation():
    many = [baseline(noise(120, seed)) for seed in range(60)]
    assert statistics.fmean(one.scale_down for one in many) == pytest.approx(1.07, abs=0.05)
    assert statistics.fmean(one.scale_up for one in many) == pytest.approx(1.07, abs=0.05)
    assert statistics.fmean(one.median for one in many) == pytest.approx(100, abs=0.1)


def test_the_fewer_slots_the_wider():
    def mean_scale(count):
        return statistics.fmean(baseline(noise(count, seed)).scale_up for seed in range(200))

    assert mean_scale(12) > 1.25 * mean_scale(120)
    assert mean_scale(30) > 1.05 * mean_scale(120)


def test_it_says_where_it_comes_from():
    short, full = baseline(noise(29)), baseline(noise(30))
    assert (short.count, short.provisional) == (29, True)
    assert (full.count, full.provisional) == (30, False)
    assert (full.first_slot, full.last_slot) == (3, 32)


def test_one_outlier_moves_nothing_much():
    values = noise(40)
    clean, spoilt = baseline(values), baseline([*values, 1e9])
    assert spoilt.median == pytest.approx(clean.median, abs=0.1)
    assert spoilt.scale_up < 1.3 * clean.scale_up


def test_a_skewed_series_is_wider_on_its_long_side():
    rng = random.Random(2)  # noqa: S311
    values = [100 + 3 * rng.expovariate(1) for _ in range(120)]
    one, mirrored = baseline(values), baseline([200 - value for value in values])
    assert one.scale_up > 1.2 * one.scale_down
    assert mirrored.scale_down == pytest.approx(one.scale_up, rel=1e-9)


def test_changes_below_the_dead_band_count_for_nothing():
    quiet = baseline(noise(60, sigma=0.01))
    assert quiet.low == pytest.approx(100 * (1 - DEAD_BAND), abs=0.01)
    assert quiet.high == pytest.approx(100 * (1 + DEAD_BAND), abs=0.01)


def test_there_is_no_dead_band_without_a_positive_level():
    below = baseline(noise(60, sigma=0.01, level=-100.0))
    assert below.high - below.low < 0.1


def test_rounded_values_scatter_by_more_than_nothing():
    # More than half of them are the same: the median absolute deviation is zero.
    values = [400.0, 410, 410, 410, 420, 410, 410, 420, 410, 410, 400, 410] * 5
    assert baseline(values).scale_up > 0.3 * 10


def test_a_constant_series_has_a_scale():
    assert baseline([0.0] * 12).scale_up > 0
    assert baseline([5.0] * 12).high == pytest.approx(5 * (1 + DEAD_BAND))


def test_a_second_mode_raises_the_threshold_of_its_side():
    values = noise(120)
    for at in range(0, 120, 10):
        values[at] -= 8
    two_modes = baseline(values)
    assert two_modes.threshold_down > cusum.threshold(math.inf, 120)
    assert two_modes.threshold_up == cusum.threshold(math.inf, 120)


def test_values_that_follow_each_other_raise_both_thresholds():
    rng = random.Random(4)  # noqa: S311
    values, last = [], 0.0
    for _ in range(120):
        last = 0.85 * last + rng.gauss(0, 1)
        values.append(100 + last)
    one = baseline(values)
    assert min(one.threshold_down, one.threshold_up) > 1.5 * cusum.threshold(math.inf, 120)


def test_where_half_of_the_slots_lie_outside_the_scale_grows():
    # No threshold could make up for it: the sum would climb with no change at all.
    values = [100.0] * 32 + [150.0] * 28
    one = baseline(values)
    assert one.high > 110
    assert math.isfinite(one.threshold_up)


def test_the_median_of_two_huge_values_is_finite():
    assert median([1.6e308, 1.7e308]) == pytest.approx(1.65e308)
    assert median([3.0, 1.0, 2.0]) == 2.0
