"""The SNIA rule: five rounds, 20 % range, 10 % slope."""

import pytest

from appliance.figures import steady


@pytest.mark.parametrize(
    ("values", "is_steady"),
    [
        ([100] * 4, False),  # fewer than five rounds say nothing
        ([100] * 5, True),
        ([900, 500, 300, 100, 100, 100, 100, 100], True),  # only the last five count
        ([100, 100, 100, 100, 900], False),
        ([90, 110, 90, 110, 100], True),  # a range of 20 % without a slope
        ([89, 111, 89, 111, 100], False),  # 22 %
        ([95.1, 97.5, 100, 102.5, 104.9], True),  # a slope of 9.8 %
        ([94, 97, 100, 103, 106], False),  # 12 % of slope, though the range is within 20 %
        ([106, 103, 100, 97, 94], False),  # falling is no better than rising
        ([0] * 5, False),
    ],
)
def test_steady_over_the_last_five_rounds(values, is_steady):
    found = steady.judge(values)
    assert found.steady is is_steady
    assert found.rounds == len(values)


def test_the_shares_are_of_the_mean_and_in_words():
    found = steady.judge([94, 97, 100, 103, 106])
    assert found.range_share == pytest.approx(0.12)
    assert found.slope_share == pytest.approx(0.12)
    assert found.in_words == "not steady after 5 rounds (range 12 %, slope 12 % of the mean)"
    assert steady.judge([1.0]).in_words == "not known after 1 rounds"
