"""Tables have the numbers of the charts, and in words what else the charts show."""

from tui.charts.axes import Axis, Unit
from tui.charts.bars import MemberBar
from tui.charts.histogram import Percentile
from tui.charts.line import Band, Chart, Mark, Series
from tui.charts.plot import VRule
from tui.charts.table import table_of, table_of_bins, table_of_members


def test_lines_share_their_rows_and_gaps_are_told():
    table = table_of(
        Chart(
            [
                Series("scratch", [(0.0, 2048.0), (1.0, None)]),
                Series("nvme\x1b1n1", [(1.0, 1024.0), (2.0, 512.0)]),
            ],
            x=Axis(Unit.ELAPSED),
            y=Axis(Unit.BANDWIDTH),
        )
    )
    assert table.header == ("time", "scratch", "nvme\\x1b1n1")
    assert table.rows == (
        ("2 s", "-", "512 B/s"),
        ("1 s", "-", "1 KiB/s"),
        ("0 s", "2 KiB/s", "-"),
    )


def test_rules_marks_and_what_is_not_normal_are_words():
    table = table_of(
        Chart(
            [Series("4k-randread", [(0.0, 100.0), (86_400.0, 80.0), (172_800.0, 120.0)])],
            x=Axis(Unit.CALENDAR),
            y=Axis(Unit.COUNT),
            bands=[Band(90, 110, "normal")],
            rules=[VRule(50_000.0, "epoch 2")],
            marks=[Mark(86_400.0, 80.0, "▲", "", "slower by 20 %")],
        )
    )
    assert table.header == ("time (UTC)", "4k-randread", "what")
    assert table.rows == (
        ("1970-01-03 00:00:00Z", "120", "above normal"),
        ("1970-01-02 00:00:00Z", "80", "▲ slower by 20 %; below normal"),
        ("1970-01-01 13:53:20Z", "-", "epoch 2"),
        ("1970-01-01 00:00:00Z", "100", ""),
    )


def test_a_band_counts_only_where_it_holds():
    table = table_of(
        Chart(
            [Series("a", [(0.0, 100.0), (9.0, 100.0)])],
            x=Axis(Unit.AGO, high=9.0),
            y=Axis(Unit.LATENCY),
            bands=[Band(1, 2, "normal", end=5.0)],
        )
    )
    assert table.rows == (("0 s", "0.1 µs", ""), ("-9 s", "0.1 µs", "above normal"))


def test_a_histogram_adds_up():
    table = table_of_bins({100_000: 3, 400_000: 1}, (Percentile("p99", 400_000),))
    assert table.rows == (
        ("100.0 µs", "3", "75.000 %", "75.000 %", ""),
        ("400.0 µs", "1", "25.000 %", "100.000 %", ""),
        ("400.0 µs", "", "", "", "p99"),
    )
    assert table_of_bins({}).rows == ()


def test_members():
    table = table_of_members(
        [MemberBar("nvme0n1", 3.0, 1e6, note="slow"), MemberBar("nvme1n1", 1.0, None)],
        unit=Unit.COUNT,
        what="I/Os",
    )
    assert table.header == ("member", "I/Os", "share", "await", "what")
    assert table.rows == (
        ("nvme0n1", "3", "75.0 %", "1.00 ms", "slow"),
        ("nvme1n1", "1", "25.0 %", "-", ""),
    )
