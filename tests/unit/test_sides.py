"""What an interval says of B, in the words that a screen and a command share."""

import pytest

from appliance.figures import comparison, sides
from appliance.figures.comparison import Key, Observation
from appliance.figures.metric import Metric
from appliance.figures.sides import Change, Chosen


def _side(label, *values):
    key = Key("randread", "read", 4096, 8, 32, "io_uring")
    return Chosen(
        label,
        (),
        tuple(
            Observation(key, unit, f"run {unit}", "r", "raid0", 4, value, valid=True)
            for unit, value in enumerate(values)
        ),
    )


@pytest.mark.parametrize(
    ("scale", "change"), [(1.2, Change.FASTER), (0.8, Change.SLOWER), (1.002, Change.NOT_TOLD)]
)
def test_the_interval_says_whether_b_is_faster(scale, change):
    a = _side("A", 100.0, 101.0, 102.0, 103.0, 104.0)
    b = _side("B", *(scale * value for value in (101.0, 103.0, 102.0, 104.0, 100.0)))
    (row,) = sides.in_words((a, b), comparison.compare(a.observations, b.observations)).rows
    assert row.change is change
    assert row.workload == "randread 4 KiB QD 32 × 8"
    assert row.ratio == f"{scale:.2f}"


def test_a_longer_latency_is_slower():
    a = _side("A", 1e5, 1.1e5, 1.2e5, 1.3e5, 1.4e5)
    b = _side("B", 2e5, 2.1e5, 2.2e5, 2.3e5, 2.4e5)
    rows = comparison.compare(a.observations, b.observations)
    (row,) = sides.in_words((a, b), rows, Metric.P99).rows
    assert row.change is Change.SLOWER
    assert (row.a, row.b) == ("120.0 µs", "220.0 µs")


def test_without_an_interval_nothing_is_said():
    a, b = _side("A", 100.0), _side("B", 200.0)
    worded = sides.in_words((a, b), comparison.compare(a.observations, b.observations))
    assert worded.rows[0].change is Change.UNKNOWN
    assert worded.rows[0].interval == "-"
    assert worded.notes == (comparison.ONE_EACH,)
    assert comparison.CONFIDENCE == 0.95
