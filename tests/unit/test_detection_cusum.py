"""The threshold that suits a series' own noise."""

from __future__ import annotations

import math
import random

import pytest

from appliance.drift.detection import cusum


def test_the_exponent_solves_its_equation():
    rng = random.Random(1)  # noqa: S311
    scores = [cusum.clipped(rng.gauss(0, 1.4)) for _ in range(80)]
    theta = cusum.exponent(scores, 0.0)
    steps = [score - cusum.REFERENCE for score in scores]
    unseen = 0.5 * math.exp(theta * (cusum.CLIP - cusum.REFERENCE))
    mean = (sum(math.exp(theta * step) for step in steps) + unseen) / (len(steps) + 0.5)
    assert 0 < theta < 4
    assert mean == pytest.approx(1, abs=1e-3)


def test_more_slots_outside_mean_a_smaller_exponent_and_a_higher_threshold():
    few = [0.0] * 118 + [4.5] * 2
    many = [0.0] * 102 + [4.5] * 18
    assert cusum.exponent(many, 0) < cusum.exponent(few, 0)
    assert cusum.threshold(cusum.exponent(many, 0), 120) > cusum.threshold(
        cusum.exponent(few, 0), 120
    )


def test_a_sum_that_climbs_by_itself_has_no_exponent():
    assert cusum.exponent([4.5] * 60 + [0.0] * 40, 0.0) == 0.0


def test_correlation_limits_the_exponent_as_the_variance_of_the_sums_grows():
    assert cusum.exponent([0.0] * 120, 0.5) == pytest.approx(2 * cusum.REFERENCE / 3)


def test_no_threshold_lets_two_slots_raise_an_alarm_and_the_least_lets_three():
    one_slot = cusum.CLIP - cusum.REFERENCE
    assert 2 * one_slot < cusum.threshold(math.inf, 10**9)
    assert cusum.threshold(math.inf, 12) < 3 * one_slot


def test_a_short_baseline_asks_for_more():
    assert cusum.threshold(math.inf, 12) > cusum.threshold(math.inf, 120)
