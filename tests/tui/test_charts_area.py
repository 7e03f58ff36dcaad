import pytest

from tui.charts.area import area, columns, scale
from tui.marks import ASCII, UNICODE


def test_area_fills_from_below_with_eighths():
    assert area([0, 1, 8, 12, 16], height=2, top=16, bars=UNICODE.bars) == ["   ▄█", " ▁███"]


def test_area_in_ascii():
    assert area([0, 1, 3, 6], height=2, top=6, bars=ASCII.bars) == ["   #", " .##"]


def test_little_is_not_drawn_as_nothing():
    assert area([0.001], height=3, top=1000, bars=UNICODE.bars) == [" ", " ", "▁"]


def test_area_never_leaves_its_height_and_survives_nothing():
    assert area([99.0], height=1, top=1, bars=UNICODE.bars) == ["█"]
    assert area([None, 0.0], height=2, top=0, bars=UNICODE.bars) == ["  ", "  "]
    assert area([], height=2, top=1, bars=UNICODE.bars) == ["", ""]


def test_columns_are_means_and_gaps_stay_gaps():
    points = [(float(at), 10.0 if at < 50 else 20.0) for at in range(100) if not 20 <= at < 80]
    assert columns(points, now=100, seconds=100, width=10) == [
        10, 10, None, None, None, None, None, None, 20, 20,
    ]  # fmt: skip


def test_columns_forget_what_is_older_than_the_span():
    assert columns([(0.0, 5.0), (95.0, 7.0)], now=100, seconds=10, width=2) == [None, 7.0]


def test_sparse_points_leave_no_holes_in_a_wide_chart():
    points = [(float(at), 1.0) for at in range(1, 31)]
    assert None not in columns(points, now=30.0, seconds=30, width=90)[3:]


@pytest.mark.parametrize(
    ("peak", "binary", "top"),
    [
        (0, False, 0),
        (3, False, 5),
        (412_000, False, 500_000),
        (1000, False, 1000),
        (1.7 * 1024**3, True, 2 * 1024**3),
        (900 * 1024**2, True, 1000 * 1024**2),
    ],
)
def test_scale_is_round_and_not_below_the_peak(peak, binary, top):
    assert scale(peak, binary=binary) == top
