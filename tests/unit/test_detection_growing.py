"""Which slots a baseline takes in while it grows, and which it leaves out."""

from __future__ import annotations

from appliance.drift.detection.detector import Detector

# Twelve slots about 100: the baseline begins with them.
FIRST = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 101.2, 98.8, 100.1, 99.9, 100.0]


def begun() -> Detector:
    detector = Detector()
    for slot, value in enumerate(FIRST):
        detector.add(slot, value)
    return detector


def last_learnt(detector: Detector, *scores: float) -> int:
    """The last slot of the baseline when slots of these scores have followed."""
    known = detector.baseline
    assert known is not None
    for slot, score in enumerate(scores, start=known.last_slot + 1):
        scale = known.scale_down if score < 0 else known.scale_up
        assert detector.add(slot, known.median + score * scale) is None
    assert detector.baseline is not None
    return detector.baseline.last_slot


def test_the_newest_quarter_is_not_yet_learnt():
    assert last_learnt(begun(), *[0.0] * 4) == 11
    # Three of twelve wait, and it is learnt again when it has grown by a seventh.
    assert last_learnt(begun(), *[0.0] * 5) == 13


def test_of_a_long_baseline_eight_slots_wait():
    detector, gaps = begun(), []
    count = 12
    for slot in range(12, 110):
        detector.add(slot, FIRST[slot % 12])
        baseline = detector.baseline
        assert baseline is not None
        if baseline.count != count:
            gaps.append(slot - baseline.last_slot)
            count = baseline.count
    assert gaps[0] == 3
    assert gaps[-1] == 8


def test_nothing_is_learnt_while_those_that_wait_lie_apart():
    assert last_learnt(begun(), *[1.3] * 8, *[0.0] * 4) == 11, "all of them, by their median"
    assert last_learnt(begun(), *[1.3] * 6, *[-1.3] * 6) == 11, "the newest of them"
    assert last_learnt(begun(), *[0.3] * 6, *[-0.3] * 6) > 11


def test_nothing_is_learnt_of_which_a_sum_is_made():
    # One in three is an outlier: medians are calm, and the sum never comes down to zero.
    assert last_learnt(begun(), *[4.0, 0.9, 0.9] * 3) == 11


def test_what_waits_too_long_is_never_learnt_and_holds_up_nothing():
    detector = begun()
    assert last_learnt(detector, *[1.3] * 100) == 11
    for slot in range(112, 160):
        detector.add(slot, FIRST[slot % 12])
    assert detector.baseline is not None
    assert detector.baseline.last_slot > 112
