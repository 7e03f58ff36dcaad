"""Latency histograms and the balance of members."""

import pytest

from tui.charts.axes import Unit
from tui.charts.bars import MemberBar, balance, bar
from tui.charts.histogram import Percentile, histogram, percentile_rules
from tui.charts.markers import Marker

HILL = {80_000: 10, 90_000: 60, 100_000: 25, 1_000_000: 5}


def text(chart):
    return [line.plain for line in chart]


def drawn(rows, row, blank=" ·│┤░"):
    """Columns of a line of the plot in which something is drawn."""
    return [column for column, char in enumerate(rows[row]) if char not in blank]


@pytest.mark.parametrize("marker", Marker)
def test_the_hill_is_where_most_are_and_the_axis_is_logarithmic(marker):
    rows = text(histogram(HILL, width=60, height=12, marker=marker))
    times = rows[-1].replace("u", "µ").split("  ")
    assert [one.strip() for one in times if one.strip()] == [
        "50 µs", "100 µs", "200 µs", "500 µs", "1 ms",
    ]  # fmt: skip
    top = min(row for row in range(9) if drawn(rows, row, " ·│┤░|+%0123456789"))
    peak = drawn(rows, top, " ·│┤░|+%0123456789")[0]
    below = rows[-1].replace("u", "µ").index("100 µs") + 3
    assert 0 < below - peak < 6, "90 µs is a little left of 100 µs"


def test_one_slow_io_among_a_million_is_seen():
    bins = {100_000: 1_000_000, 50_000_000: 1}
    rows = text(histogram(bins, width=60, height=12, marker=Marker.BRAILLE))
    assert max(drawn(rows, 9)) == 59


def test_the_axis_of_values_has_per_cent():
    rows = text(histogram({100_000: 3, 400_000: 1}, width=60, height=12, marker=Marker.BLOCK))
    assert rows[0].startswith("80 %┤") or rows[0].startswith("100 %┤")
    assert max(len(drawn(rows, row)) for row in range(10)) >= 2


def test_percentiles_are_rules_with_words():
    marked = (Percentile("p50", 90_000), Percentile("p99", 1_000_000))
    rows = text(histogram(HILL, width=70, height=12, marker=Marker.ASCII, percentiles=marked))
    assert "p50 90.0 us" in rows[0]
    assert "p99 1.00 ms" in rows[0]
    assert "".join(rows).isascii()


def test_percentiles_of_a_result_are_chosen_by_number():
    known = {"50.000000": 1, "99.000000": 2, "99.900000": 3, "99.990000": 4, "hostile": 5}
    assert [(one.label, one.value_ns) for one in percentile_rules(known)] == [
        ("p50", 1), ("p99", 2), ("p99.9", 3),
    ]  # fmt: skip
    assert percentile_rules({}) == ()


def test_narrow_columns_make_no_comb():
    """fio's bins are as wide as a column here: none of them may be left empty or counted double."""
    bins = {65_536 + 1024 * step + 512: 100 for step in range(64)}
    rows = text(histogram(bins, width=200, height=3, marker=Marker.BLOCK))
    heights = {char for char in rows[2][30:] if char in "▁▂▃▄▅▆▇█"}
    assert " " not in rows[2].strip(" ·┤0│")
    assert heights <= {"█"} or len(heights) <= 8


def members(count, slow=None):
    return [
        MemberBar(f"nvme{number}n1", 4e8, 90_000.0 if number == slow else 80_000.0 + number)
        for number in range(count)
    ]


def test_every_member_has_amount_share_and_await():
    rows = text(balance(members(2), width=100, height=9, marker=Marker.BRAILLE))
    assert rows[0].split() == ["member", "amount", "share", "await"]
    assert len(rows) == 3
    for row, await_time in zip(rows[1:], ("80.0", "80.0"), strict=True):
        assert "381 MiB/s" in row
        assert "50.0 %" in row
        assert f"{await_time} µs" in row


def test_with_too_many_members_the_odd_ones_are_shown():
    rows = text(balance(members(64, slow=40), width=80, height=6, marker=Marker.BRAILLE))
    assert len(rows) == 6
    assert any(row.startswith("nvme40n1") for row in rows)
    assert rows[-1].startswith("… 60 more, await 80.0 µs to ")


def test_a_slow_member_stands_right_of_the_median():
    rows = text(balance(members(5, slow=3), width=120, height=9, marker=Marker.ASCII))
    assert rows[4].rindex("o") > rows[4].rindex("|")
    assert "|" not in rows[1], "the usual ones are on the median"


def test_without_io_there_is_no_await_and_no_share():
    idle = [MemberBar("nvme0n1", 0, None)]
    row = text(balance(idle, width=80, height=3, marker=Marker.BLOCK, unit=Unit.COUNT))[1]
    assert row.split() == ["nvme0n1", "0", "-", "-"]


def test_notes_and_narrow_screens():
    noted = [MemberBar("nvme0n1", 1.0, 2.0, note="slow, see PERF-MEMBER")]
    assert "slow" in text(balance(noted, width=140, height=3, marker=Marker.BLOCK))[1]
    narrow = text(balance(noted, width=12, height=3, marker=Marker.BLOCK))
    assert narrow[1].startswith("nvme0n1")


def test_bars_grow_by_eighths_and_little_is_not_nothing():
    assert bar(1.0, width=4, marker=Marker.BLOCK) == "████"
    assert bar(0.53, width=4, marker=Marker.BLOCK) == "██▏ "
    assert bar(1e-9, width=4, marker=Marker.BLOCK) == "▏   "
    assert bar(0.0, width=4, marker=Marker.ASCII) == "    "
    assert bar(9.0, width=2, marker=Marker.ASCII) == "##"
    assert bar(float("nan"), width=2, marker=Marker.ASCII) == "  "
