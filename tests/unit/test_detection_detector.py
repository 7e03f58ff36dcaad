"""A series goes in slot by slot, and each of its changes comes out once."""

from __future__ import annotations

import dataclasses
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.drift.detection.detector import FIXED, Detector
from tests.drift.ours import detect


def series(*parts, sigma=0.01, seed=1):
    """Parts of (slots, level), with normal noise in proportion to the level."""
    rng = random.Random(seed)  # noqa: S311
    levels = [level for slots, level in parts for _ in range(slots)]
    return list(enumerate(level * (1 + sigma * rng.gauss(0, 1)) for level in levels))


def told(points):
    return [(c.change_slot, c.direction, c.shape) for c in detect(points).changes]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("factor", "direction"), [(0.95, "down"), (1.06, "up")])
def test_a_step_is_found_soon_dated_and_told_once(seed, factor, direction):
    (change,) = detect(series((60, 100.0), (60, 100.0 * factor), seed=seed)).changes
    assert change.direction == direction
    assert abs(change.change_slot - 60) <= 1
    assert 62 <= change.alarm_slot <= 66
    assert change.effect_pct == pytest.approx((factor - 1) * 100, abs=1)
    assert (change.shape, change.settled, change.provisional) == ("step", True, False)


def test_three_slots_are_the_least_that_raises_an_alarm():
    points = series((60, 100.0), (2, 20.0), (60, 100.0))
    assert told(points) == []
    (change,) = detect(series((60, 100.0), (20, 20.0))).changes
    assert change.alarm_slot == 62


def test_the_alarm_comes_out_of_the_slot_that_raises_it():
    detector = Detector()
    alarms = {}
    for slot, value in series((60, 100.0), (30, 90.0)):
        if (change := detector.add(slot, value)) is not None:
            alarms[slot] = change
    ((slot, change),) = alarms.items()
    assert change.alarm_slot == slot == 62
    assert [one.alarm_slot for one in detector.changes] == [62]


def test_nothing_is_said_before_twelve_slots():
    assert told(series((8, 100.0), (3, 50.0))) == []
    assert detect(series((11, 100.0))).baseline is None
    assert detect(series((12, 100.0))).baseline is not None


def test_a_change_against_few_slots_is_provisional():
    (change,) = detect(series((16, 100.0), (20, 85.0))).changes
    assert change.provisional


def test_a_recovery_is_a_change_of_its_own():
    points = series((60, 100.0), (40, 95.0), (60, 100.0))
    assert told(points) == [(60, "down", "step"), (100, "up", "step")]


def test_a_recovery_before_the_new_level_has_settled():
    first, second = detect(series((60, 100.0), (8, 90.0), (60, 100.0))).changes
    assert (first.change_slot, second.change_slot) == (60, 68)
    assert first.effect_pct == pytest.approx(-10, abs=1.5)
    assert second.effect_pct == pytest.approx(11, abs=2)


def test_a_spike_has_no_end_of_its_own_and_spoils_no_baseline():
    detection = detect(series((60, 100.0), (4, 85.0), (80, 100.0)))
    assert [(c.direction, c.shape) for c in detection.changes] == [("down", "spike")]
    assert detection.baseline is not None
    assert detection.baseline.first_slot == 0
    assert detection.baseline.count == FIXED


def test_a_change_that_overshoots_for_a_few_slots_is_one():
    (change,) = detect(series((60, 100.0), (4, 80.0), (60, 90.0))).changes
    assert (change.change_slot, change.direction) == (60, "down")
    assert change.effect_pct == pytest.approx(-10, abs=1)


def test_steps_one_after_the_other():
    points = series((60, 100.0), (40, 90.0), (40, 80.0), (40, 95.0))
    assert told(points) == [(60, "down", "step"), (100, "down", "step"), (140, "up", "step")]


@pytest.mark.parametrize("sigma", [0.005, 0.01, 0.02])
def test_a_ramp_is_one_change_and_found_before_it_is_complete(sigma):
    rng = random.Random(5)  # noqa: S311
    points = [
        (slot, 100 * (1 - 0.2 * min(1, max(0, slot - 59) / 60)) * (1 + sigma * rng.gauss(0, 1)))
        for slot in range(180)
    ]
    (change,) = detect(points).changes
    assert change.alarm_slot < 95
    assert change.shape == "ramp"
    assert abs(change.change_slot - 60) <= 8
    assert change.effect_pct == pytest.approx(-20, abs=1.5)


def test_a_ramp_that_seemed_to_have_settled_is_still_the_same():
    rng = random.Random(6)  # noqa: S311
    points = [
        (slot, 100 * (1 - 0.001 * max(0, slot - 99)) * (1 + 0.01 * rng.gauss(0, 1)))
        for slot in range(300)
    ]
    (change,) = detect(points).changes
    assert change.shape == "ramp"
    assert abs(change.change_slot - 100) <= 15


def test_a_slow_decay_is_not_followed_for_ever():
    # A quarter of a per cent in ten slots: a sliding baseline would never see it.
    points = [(slot, value * (1 - 0.00025 * slot)) for slot, value in series((1000, 100.0))]
    assert len(detect(points).changes) >= 2


def test_a_baseline_grows_and_is_then_fixed():
    detector = Detector()
    counts = []
    for slot, value in series((400, 100.0)):
        detector.add(slot, value)
        if detector.baseline is not None:
            counts.append(detector.baseline.count)
    assert counts[0] == 12
    assert counts == sorted(counts)
    assert counts[-1] == FIXED
    assert detector.baseline is not None
    assert detector.baseline.last_slot < 200


def test_what_may_be_a_change_is_not_learned_meanwhile():
    # Two per cent are found slowly: until then they must not become normal.
    points = series((40, 100.0), (30, 97.0))
    (change,) = detect(points).changes
    assert change.baseline.median == pytest.approx(100, abs=0.4)


@pytest.mark.parametrize(("a_slot", "settling"), [(0.5, [True] * 5), (0.0, [False] * 5)])
def test_a_level_that_still_moves_after_twelve_slots_is_no_baseline(a_slot, settling):
    found = []
    for seed in range(5):
        detector = Detector()
        before = series((60, 100.0), seed=seed)
        after = series((13, 80.0), sigma=0.003, seed=seed + 100)
        for slot, value in before:
            detector.add(slot, value)
        for slot, value in after:
            detector.add(60 + slot, value + a_slot * slot)
        found.append(detector.settling)
    assert found == settling


def test_few_slots_after_a_change_have_the_long_tail_of_those_before_it():
    points = [
        (slot, value - 8 * (slot % 10 == 5 and slot < 100))
        for slot, value in series((100, 100.0), (14, 80.0))
    ]
    detection = detect(points)
    (change,) = detection.changes
    assert detection.baseline is not None
    assert detection.baseline.first_slot == 100
    assert change.baseline.threshold_down > 7
    assert detection.baseline.threshold_down == change.baseline.threshold_down


def test_another_epoch_starts_afresh():
    detector = Detector()
    for slot, value in series((60, 100.0)):
        detector.add(slot, value, "1")
    for slot, value in series((60, 50.0)):
        detector.add(slot, value, "2")
    assert detector.changes == []
    assert detector.baseline is not None
    assert detector.baseline.median == pytest.approx(50, abs=0.5)


def test_an_open_change_ends_with_its_epoch():
    detector = Detector()
    for slot, value in series((60, 100.0), (5, 80.0)):
        detector.add(slot, value, "1")
    assert detector.settling
    for slot, value in series((40, 80.0)):
        detector.add(slot, value, "2")
    (change,) = detector.changes
    assert (change.epoch, change.change_slot) == ("1", 60)
    assert change.effect_pct == pytest.approx(-20, abs=1.5)


def test_a_change_below_the_dead_band_is_none():
    assert told(series((60, 100.0), (200, 99.0), sigma=0.001)) == []


def test_values_that_differ_by_rounding_are_the_same():
    points = [(slot, 100 + (slot % 3) * 1e-13) for slot in range(100)]
    points += [(slot, 100 + 5e-13) for slot in range(100, 200)]
    assert told(points) == []


def test_zero_and_negative_levels_have_changes_without_a_percentage():
    up = [(slot, 0.0 if slot < 40 else 3.0) for slot in range(80)]
    (change,) = detect(up).changes
    assert (change.change_slot, change.direction, change.effect_pct) == (40, "up", None)
    below = [(slot, value - 200) for slot, value in series((60, 100.0), (60, 90.0))]
    (change,) = detect(below).changes
    assert (change.direction, change.effect_pct, change.percent) == ("down", None, None)


@pytest.mark.parametrize(("away", "told"), [(2.9, False), (3.1, True)])
def test_a_percentage_of_a_level_that_is_as_good_as_zero_is_not_told(away, told):
    (change,) = detect(series((60, 100.0), (60, 80.0))).changes
    assert change.percent == change.effect_pct == pytest.approx(-20, abs=1)
    near = dataclasses.replace(change.baseline, median=away * change.baseline.scale_down)
    assert (dataclasses.replace(change, baseline=near).percent is not None) == told


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_measurement_is_refused(value):
    detector = Detector()
    with pytest.raises(ValueError, match="slot 7"):
        detector.add(7, value)


def test_how_far_a_spread_goes_up_with_the_level():
    # Twice the level, twice the noise: no change back while it settles.
    for seed in range(10):
        assert told(series((60, 100.0), (60, 200.0), sigma=0.02, seed=seed)) == [(60, "up", "step")]


# ----------------------------------------------------------------------------- properties

_PARTS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([60.0, 90.0, 95.0, 100.0, 110.0])),
    min_size=1,
    max_size=5,
)


@settings(max_examples=30, deadline=None)
@given(_PARTS, st.integers(0, 1000), st.integers(-40, 40))
def test_the_unit_of_the_values_does_not_matter(parts, seed, power):
    points = series(*parts, seed=seed)
    scaled = [(slot, value * 2.0**power) for slot, value in points]
    assert [dataclasses.replace(c, baseline=None) for c in detect(points).changes] == [
        dataclasses.replace(c, baseline=None) for c in detect(scaled).changes
    ]


@settings(max_examples=30, deadline=None)
@given(st.integers(20, 60), st.sampled_from([60.0, 90.0, 95.0, 107.0, 160.0]), st.integers(0, 999))
def test_a_mirrored_series_has_its_first_change_to_the_other_side(slots, level, seed):
    points = series((slots, 100.0), (30, level), seed=seed)
    opposite = {"down": "up", "up": "down"}
    as_it_is = detect(points).changes[0]
    mirrored = detect((slot, 200 - value) for slot, value in points).changes[0]
    assert mirrored.alarm_slot == as_it_is.alarm_slot
    assert mirrored.direction == opposite[as_it_is.direction]
    assert mirrored.change_slot == as_it_is.change_slot


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from([0.0, 100.0, 90.0, 1e308, -1e308, 5e-324]),
        ),
        max_size=80,
    )
)
def test_no_finite_series_is_too_much(values):
    detector = Detector()
    alarms = [
        change
        for slot, value in enumerate(values)
        if (change := detector.add(slot, value)) is not None
    ]
    assert [c.alarm_slot for c in detector.changes] == [c.alarm_slot for c in alarms]
    for change in detector.changes:
        assert 0 <= change.change_slot <= change.alarm_slot < len(values)
        assert change.effect_pct is None or math.isfinite(change.effect_pct)


@settings(max_examples=25, deadline=None)
@given(_PARTS, st.integers(0, 1000))
def test_changes_are_in_order(parts, seed):
    changes = detect(series(*parts, seed=seed)).changes
    alarms = [c.alarm_slot for c in changes]
    dates = [c.change_slot for c in changes]
    assert alarms == sorted(set(alarms))
    assert dates == sorted(set(dates))


@settings(max_examples=20, deadline=None)
@given(_PARTS, st.integers(0, 1000))
def test_what_was_found_does_not_depend_on_what_comes_later(parts, seed):
    points = series(*parts, (30, 80.0), seed=seed)
    whole = [c.alarm_slot for c in detect(points).changes]
    for end in (len(points) // 3, len(points) // 2, len(points) - 1):
        early = [c.alarm_slot for c in detect(points[:end]).changes]
        assert early == [slot for slot in whole if slot < end]
