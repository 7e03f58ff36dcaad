"""Line charts: what is drawn where, and that every picture says the same in three markers."""

import re

import pytest

from tui.charts.axes import Axis, Unit
from tui.charts.line import BAND, Band, Chart, Mark, Series
from tui.charts.markers import Marker
from tui.charts.plot import VRule
from tui.marks import ASCII, UNICODE

X, Y = Axis(Unit.NUMBER), Axis(Unit.COUNT)
RAMP = [(float(at), float(at)) for at in range(11)]


def draw(series, *, width=11, height=3, marker=Marker.BLOCK, x=None, y=None, **more):
    """Rows of a chart, too small for axes unless it is asked for more."""
    return [
        line.plain
        for line in Chart(
            series if isinstance(series, list) else [series],
            x or Axis(Unit.NUMBER),
            y or Axis(Unit.COUNT),
            **more,
        ).lines(width=width, height=height, marker=marker)
    ]


def styles(chart, row):
    """Styles of one line by the text that has them."""
    line = chart[row]
    return {line.plain[one.start : one.end].strip(): one.style for one in line.spans}


@pytest.mark.parametrize(
    ("marker", "rows"),
    [
        (Marker.BRAILLE, ["       ⢀⡠⠔⠊", "    ⣀⠤⠊⠁   ", "⣀⠤⠒⠉       "]),
        (Marker.BLOCK, ["        ▗▞▀", "    ▄▄▞▀▘  ", "▄▄▀▀       "]),
        (Marker.ASCII, ["        .''", "    ..''   ", "..''       "]),
    ],
)
def test_a_ramp_rises_from_corner_to_corner(marker, rows):
    assert draw(Series("a", RAMP), marker=marker) == rows


def test_no_peak_is_lost_among_many_points():
    points = [(float(at), 100.0 if at == 777 else 1.0) for at in range(2000)]
    rows = draw(Series("a", points), width=10, height=2)
    assert rows[0].strip()
    assert rows[0].index(rows[0].strip()) == 3


def test_what_is_not_known_is_a_gap():
    points = [(at, None if 4 <= at <= 6 else 5.0) for at, _ in RAMP]
    assert draw(Series("a", points), height=1) == ["▀▀▀▘   ▝▀▀▀"]


def test_a_silent_feed_is_a_gap_too():
    points = [(0.0, 5.0), (1.0, 5.0), (9.0, 5.0), (10.0, 5.0)]
    assert draw(Series("a", points), height=1) == ["▀" * 11]
    assert draw(Series("a", points, gap=2.5), height=1) == ["▀▘       ▝▀"]


def test_a_single_point_between_gaps_is_seen_in_every_pattern():
    lone = [(0.0, None), (3.0, 5.0), (10.0, None)]
    for number in range(6):
        series = [Series("none", [])] * number + [Series("a", lone)]
        assert "".join(draw(series)).strip()


def test_not_a_number_is_a_gap():
    points = [(at, float("nan") if at == 5 else 5.0) for at, _ in RAMP]
    assert " " in draw(Series("a", points), height=1)[0]


def test_filled_reaches_the_floor():
    assert draw(Series("a", RAMP, filled=True), height=2) == ["      ▗▄▄▟█", "▄▄█████████"]


def test_what_is_beyond_an_axis_ends_there_or_goes_along_its_edge():
    rows = draw(
        Series("a", [(-5.0, 1.0), (0.0, 1.0), (5.0, 99.0), (10.0, 99.0), (15.0, 1.0)]),
        height=2,
        x=Axis(Unit.NUMBER, 0, 10),
        y=Axis(Unit.COUNT, 0, 2),
    )
    assert rows[0].endswith("▀▀▀▀")
    assert rows[1].startswith("▀")


def test_the_first_line_is_on_top_and_its_style_wins():
    flat = [(at, 5.0) for at, _ in RAMP]
    both = [Series("a", flat, "red"), Series("b", flat, "blue")]
    chart = Chart(both, X, Y).lines(width=11, height=1, marker=Marker.BRAILLE)
    assert set(styles(chart, 0).values()) == {"red"}


def test_lines_that_meet_keep_the_dots_of_both():
    low, high = [(at, 0.0) for at, _ in RAMP], [(at, 1.0) for at, _ in RAMP]
    rows = draw(
        [Series("a", low), Series("b", high, filled=True)], height=1, y=Axis(Unit.COUNT, 0, 1)
    )
    assert rows == ["█" * 11]


def test_lines_are_told_apart_without_colour():
    flat = [(at, 5.0) for at, _ in RAMP]
    for marker in Marker:
        looks = {
            draw([Series("x", [])] * number + [Series("a", flat)], height=1, marker=marker)[0]
            for number in range(3)
        }
        assert len(looks) == 3


def test_the_band_is_behind_the_line_and_has_glyph_and_style():
    band = Band(3, 7, "normal")
    for marker, glyph in ((Marker.BRAILLE, "░"), (Marker.ASCII, "~")):
        chart = Chart([Series("a", RAMP)], X, Y, [band]).lines(width=11, height=3, marker=marker)
        middle = chart[1].plain
        assert middle.startswith(glyph * 4)
        assert middle[5] != glyph
        assert glyph not in chart[0].plain + chart[2].plain
        assert BAND in styles(chart, 1).values()


def test_a_narrow_band_is_still_seen_and_one_beyond_the_axis_is_not():
    assert "░" in "".join(draw(Series("a", RAMP), bands=[Band(2.0, 2.0001)]))
    beyond = draw(Series("a", RAMP), y=Axis(Unit.COUNT, 0, 10), bands=[Band(90, 99)])
    assert "░" not in "".join(beyond)


def test_each_epoch_has_its_own_band():
    rows = draw(
        Series("a", []),
        x=Axis(Unit.NUMBER, 0, 10),
        bands=[Band(0, 3, end=4), Band(7, 10, begin=6)],
    )
    assert rows == ["      ░░░░░", "           ", "░░░░░      "]


def test_rules_have_their_labels_above_and_those_that_collide_go_a_line_up():
    rows = draw(
        Series("a", RAMP),
        width=40,
        height=12,
        rules=[VRule(4, "epoch 2"), VRule(5, "epoch 3"), VRule(10, "epoch 4")],
    )
    assert rows[0].index("epoch 2") == rows[2].index("│", 4)
    assert "epoch 3" in rows[1]
    assert rows[0].endswith("epoch 4")
    column = rows[0].index("epoch 2")
    assert sum(row[column] == "│" for row in rows) == 7, "seven of eight lines: one has the ramp"


def test_a_label_without_room_is_cut_and_never_over_another():
    rules = [VRule(at, f"a long label of {at}") for at in range(11)]
    rows = draw(Series("a", RAMP), width=30, height=12, rules=rules)
    assert "…" in rows[0] + rows[1]


def test_marks_are_over_everything_at_their_point():
    rows = draw(Series("a", RAMP), height=3, marks=[Mark(10, 10, "▲", ""), Mark(0, None, "!", "")])
    assert rows[0][-1] == "▲"
    assert rows[0][0] == "!"


def test_a_mark_that_is_no_single_cell_becomes_a_point():
    for glyph in ("", "日", "ab", "\x1b", "\n"):
        rows = draw(Series("a", []), x=Axis(Unit.NUMBER, 0, 10), marks=[Mark(5, None, glyph, "")])
        assert rows[0] == "     ●     "


def test_axes_have_ticks_where_their_labels_are():
    rows = draw(Series("a", RAMP), width=50, height=12, y=Axis(Unit.BANDWIDTH, 0, 2 * 1024**3))
    assert rows[0].startswith("2 GiB/s┤")
    assert rows[9].startswith("      0┤")
    assert rows[10].startswith("       └┬")
    middle = rows[11].index("5")
    assert rows[10][middle] == "┬"


def test_with_little_room_axes_leave_and_the_line_stays():
    low = draw(Series("a", RAMP), width=50, height=3)
    assert "└" not in low[-1]
    narrow = draw(Series("a", RAMP), width=12, height=12)
    assert "┤" not in "".join(narrow)
    assert draw(Series("a", RAMP), width=1, height=1)[0].strip()


def test_ascii_is_ascii():
    chart = draw(
        Series("a", RAMP), width=60, height=14, marker=Marker.ASCII,
        y=Axis(Unit.LATENCY, 1e3, 1e5, log=True), bands=[Band(2, 5)], rules=[VRule(3, "x")],
    )  # fmt: skip
    assert "".join(chart).isascii()
    assert "100 us" in chart[1]


def test_the_same_figures_give_the_same_text():
    made = [
        Chart(
            [Series("a", RAMP), Series("b", RAMP[::2])], Axis(Unit.AGO), Y, rules=[VRule(2, "a")]
        ).lines(width=80, height=20, marker=Marker.BRAILLE)
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert [line.spans for line in made[0]] == [line.spans for line in made[1]]


def test_the_legend_names_every_line_and_the_band():
    series = [Series("scratch", []), Series("[b]nvme1n1\x1b", []), Series("nvme2n1", [])]
    named = Chart(series, X, Y, [Band(1, 2, "normal")])
    line = named.legend(width=80, marker=Marker.ASCII)
    assert line.plain.split() == [
        "...", "scratch", "aaa", "[b]nvme1n1\\x1b", "b", "nvme2n1", "~~~", "normal",
    ]  # fmt: skip
    assert named.legend(width=20, marker=Marker.BLOCK).cell_length == 20
    assert named.legend(width=0, marker=Marker.BLOCK).plain == ""


def test_markers_to_switch_to():
    assert Marker.usual(UNICODE) is Marker.BRAILLE
    assert Marker.usual(ASCII) is Marker.ASCII
    assert {Marker.BRAILLE.next(UNICODE), Marker.BRAILLE.next(UNICODE).next(UNICODE)} == {
        Marker.BLOCK,
        Marker.ASCII,
    }
    assert Marker.ASCII.next(ASCII) is Marker.ASCII


@pytest.mark.parametrize("marker", list(Marker))
def test_no_two_lines_of_a_stripe_and_six_members_have_one_sign(marker):
    every = [Series(f"{number}", [(0.0, 1.0)]) for number in range(7)]
    drawn = Chart(every, X, Y).legend(width=78, marker=marker).plain.rstrip()
    signs = [part[:3] for part in re.split(r"(?<= \d)   ", drawn)]
    assert len(set(signs)) == 7, signs
