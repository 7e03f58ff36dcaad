"""When a change began, and whether it was a step or a ramp."""

from __future__ import annotations

import random

import pytest

from appliance.drift.detection import dating


def noise(count, seed):
    rng = random.Random(seed)  # noqa: S311
    return [rng.gauss(0, 1) for _ in range(count)]


def energy(left, right):
    """The statistic of Matteson & James, written down as it is in the paper."""
    n, m = len(left), len(right)
    between = sum(abs(a - b) for a in left for b in right) / (n * m)
    within_left = sum(abs(a - b) for a in left for b in left) / n**2
    within_right = sum(abs(a - b) for a in right for b in right) / m**2
    return n * m / (n + m) * (2 * between - within_left - within_right)


@pytest.mark.parametrize("seed", range(5))
def test_the_split_is_where_the_energy_distance_is_greatest(seed):
    values = noise(30, seed)
    values[21:] = [value + 1 for value in values[21:]]
    best = max(range(3, 28), key=lambda at: energy(values[:at], values[at:]))
    assert dating.split(values) == best


@pytest.mark.parametrize("after", [3, 4, 8, 40])
def test_a_step_of_five_sigma_is_dated_to_the_slot(after):
    right = 0
    for seed in range(20):
        values = noise(60 + after, seed)
        values[60:] = [value - 5 for value in values[60:]]
        right += dating.split(values) == 60
    assert right >= 18


def test_an_outlier_before_the_step_is_not_the_step():
    values = noise(60, 3)
    values[40] -= 50
    values[52:] = [value - 5 for value in values[52:]]
    assert dating.split(values) == 52


def test_windows_too_short_for_two_parts():
    assert dating.split([1.0]) == 0
    assert dating.split([1.0, 2.0, 3.0, 4.0]) == 2


def test_the_knee_is_where_the_slope_begins():
    values = [0.0] * 40 + [float(-i) for i in range(1, 21)]
    at, residual = dating.knee(values)
    assert at == 40
    assert residual == pytest.approx(0, abs=1e-6)


def test_the_residual_of_the_broken_line_is_that_of_least_squares():
    values = [*noise(30, 5), *(v - 0.5 * i for i, v in enumerate(noise(20, 6), 1))]
    at, residual = dating.knee(values)
    m, count = len(values) - at, len(values)
    slots = [0.0] * at + [float(i) for i in range(1, m + 1)]
    mean_x, mean_y = sum(slots) / count, sum(values) / count
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(slots, values, strict=True)) / sum(
        (x - mean_x) ** 2 for x in slots
    )
    level = mean_y - slope * mean_x
    by_hand = sum((y - level - slope * x) ** 2 for x, y in zip(slots, values, strict=True))
    assert residual == pytest.approx(by_hand)
    assert abs(at - 30) <= 3


def test_levels_leave_what_is_about_their_means():
    assert dating.levels_residual([1.0, 3.0, 10.0, 12.0], 2) == pytest.approx(4)
    assert dating.levels_residual([1.0, 3.0, 10.0, 12.0, 5.0], 2, 4) == pytest.approx(4)


def test_the_trend_is_the_t_of_the_slope():
    # y = 2x + (1, -1, -1, 1): slope 2, residual variance 4/2, sum of squares of x 5.
    assert dating.trend([1.0, 1.0, 3.0, 7.0]) == pytest.approx(2 / (2 / 5) ** 0.5)
    assert dating.trend([4.0] * 5) == 0
    assert dating.trend([1.0, 2.0, 3.0]) > 1e6
