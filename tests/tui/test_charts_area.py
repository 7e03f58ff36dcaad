from tui.charts.area import area
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
