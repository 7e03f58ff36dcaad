"""Ratios of two sets of measurements: exact ranks, and the promised confidence."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.figures import comparison

_VALUES = st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=12)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(range(1, 6), repeat=2)))
def test_the_ways_of_mann_and_whitney_are_those_that_one_can_count(first, second):
    counted = Counter(
        sum(place - index for index, place in enumerate(places))
        for places in itertools.combinations(range(first + second), first)
    )
    expected = [counted[u] for u in range(first * second + 1)]
    assert comparison._ways(first, second) == expected


def test_ranks_are_those_of_the_tables():
    # Hollander, Wolfe and Chicken, 3rd ed., tables of the Mann-Whitney and the sign test.
    assert [comparison._mann_whitney_rank(n, n) for n in (3, 4, 5, 8, 10)] == [0, 1, 3, 14, 24]
    assert [comparison._sign_rank(n) for n in (5, 6, 8, 9, 12, 20)] == [0, 1, 1, 2, 3, 6]


def test_the_approximation_for_many_values_agrees_with_the_exact_rank(monkeypatch):
    exact = comparison._mann_whitney_rank(20, 30)
    monkeypatch.setattr(comparison, "_EXACT_UP_TO", 0)
    comparison._mann_whitney_rank.cache_clear()
    assert abs(comparison._mann_whitney_rank(20, 30) - exact) <= 1
    comparison._mann_whitney_rank.cache_clear()


@pytest.mark.parametrize(("first", "second"), [(4, 4), (1, 6), (6, 1), (10, 7), (25, 25)])
def test_the_interval_holds_the_truth_as_often_as_it_says(first, second):
    chance = random.Random(first * 100 + second)  # noqa: S311
    rounds, held = 1500, 0
    for _ in range(rounds):
        # A skewed distribution, because nothing was assumed about it.
        a = [math.exp(chance.expovariate(20)) for _ in range(first)]
        b = [2 * math.exp(chance.expovariate(20)) for _ in range(second)]
        middle = math.exp(math.log(2) / 20)
        found = comparison.ratio([middle] if first == 1 else a, [2 * middle] if second == 1 else b)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 2 <= found.high
    assert held / rounds >= comparison.CONFIDENCE - 0.015


@given(_VALUES, _VALUES)
def test_the_ratio_lies_in_its_interval_and_turns_around(a, b):
    found, turned = comparison.ratio(a, b), comparison.ratio(b, a)
    assert min(b) / max(a) <= found.value * (1 + 1e-9)
    assert found.value <= max(b) / min(a) * (1 + 1e-9)
    assert (found.low is None) == (found.high is None) == (turned.low is None)
    if found.low is not None and found.high is not None:
        assert turned.low is not None
        assert found.low <= found.value <= found.high
        assert turned.low == pytest.approx(1 / found.high)
    if len(a) == 1 or len(b) == 1:
        expected = statistics.median(b) / statistics.median(a)
        if len(a) == 1 or (len(b) == 1 and len(a) % 2):
            assert found.value == pytest.approx(expected)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 5), (5, 1), (3, 3), (2, 5)])
def test_too_few_values_have_no_interval(first, second):
    found = comparison.ratio([1.0] * first, [2.0] * second)
    assert found == comparison.Ratio(2.0, None, None)


def test_no_noise_is_no_width():
    assert comparison.ratio([5.0] * 6, [10.0] * 6) == comparison.Ratio(2.0, 2.0, 2.0)
