"""What every device did in each of the last seconds, kept small, and drawn."""

import math
import sys
from dataclasses import replace

import pytest

from tests.tui.fakes import GIB, NOW, RUNNING, STATUS, VOLUME, WALL, live, running_snapshot
from tests.tui.suites_stage import followed
from tui import marks
from tui.charts.markers import Marker
from tui.snapshot import TREND_SECONDS
from tui.tracks import Figure, Spread, group, points, second_of, spread
from tui.widgets import suites_chart
from tui.widgets.live import Shown
from tui.widgets.panel import View
from tui.widgets.suites_chart import Choice

CHARTS = [Marker.BRAILLE, Marker.BLOCK, Marker.ASCII]


def seconds(members=4, count=TREND_SECONDS, rate=GIB):
    made = []
    for number in range(count):
        shown = live(rate * (1 + number / count), members)
        made.append(second_of(shown, NOW - count + number, made[-1] if made else None))
    return tuple(made)


def seen(members=4, later=0.0, **changes):
    shown = replace(running_snapshot(), seconds=seconds(members), **changes)
    return View(shown, NOW + later, WALL + later, marks.UNICODE)


def test_five_minutes_of_64_members_are_small():
    kept = seconds(64)
    assert len({id(one.devices) for one in kept}) == 1
    size_bytes = sum(
        sys.getsizeof(one) + sys.getsizeof(one.figures) + one.figures.itemsize for one in kept
    )
    assert size_bytes < 800_000


def test_a_second_keeps_sums_and_no_await_where_nothing_was_done():
    devices = list(live(4096.0 * 100, 2))
    devices[1] = replace(devices[1], sample=None)
    devices[2] = replace(devices[2], sample=replace(devices[2].sample, read_iops=0.0))
    kept = second_of(tuple(devices), 5.0, None)
    stripe, first, second = kept.devices
    assert points([kept], stripe, Figure.IOPS) == [(5.0, 100.0)]
    assert points([kept], stripe, Figure.AWAIT_MS) == [(5.0, pytest.approx(0.31))]
    assert points([kept], first, Figure.BYTES_PER_S) == [(5.0, None)]
    assert points([kept], second, Figure.AWAIT_MS) == [(5.0, None)]
    assert spread(kept, stripe, Figure.IOPS) == Spread(0.0, 0.0, 0.0)
    assert spread(kept, first, Figure.AWAIT_MS) == Spread()


def test_the_spread_is_of_the_members_of_one_volume():
    rows = [replace(one, sample=replace(one.sample, read_iops=100.0 * n)) for n, one in
            enumerate(live(GIB, 3))]  # fmt: skip
    other = [replace(one, label="logs", device=f"x{one.device}") for one in live(GIB, 1)]
    kept = second_of((*rows, *other), 1.0, None)
    assert spread(kept, kept.devices[0], Figure.IOPS) == Spread(100.0, 200.0, 300.0)
    assert len(group(kept.devices, kept.devices[4])) == 2
    gone = replace(kept.devices[0], device="md1")
    assert group(kept.devices, gone) == ()
    assert spread(kept, gone, Figure.IOPS) == Spread()


def test_a_device_that_came_later_has_a_gap_before():
    early = second_of(live(GIB, 2), 1.0, None)
    late = second_of(live(GIB, 3), 2.0, early)
    assert late.devices is not early.devices
    assert [value is None for _, value in points([early, late], late.devices[3], Figure.IOPS)] == [
        True,
        False,
    ]


def test_the_group_of_a_run_is_its_volume_and_the_members_below_it():
    other = replace(VOLUME, name="logs", mount="/mnt/logs")
    devices = live(GIB, 2) + tuple(
        replace(one, label="logs" if not one.member else one.label, device=f"x{one.device}")
        for one in live(GIB, 3)
    )
    kept = (second_of(devices, 1.0, None),)
    status = replace(STATUS, volumes=(VOLUME, other), running=RUNNING)
    shown = replace(running_snapshot(), status=status, seconds=kept)
    names = [one.device for one in suites_chart.group_of(RUNNING, shown)]
    assert names == ["md127", "nvme1n1", "nvme2n1"]
    second = replace(RUNNING, target="/mnt/logs/.stripewright-bench")
    names = [one.device for one in suites_chart.group_of(second, shown)]
    assert names == ["xmd127", "xnvme1n1", "xnvme2n1", "xnvme3n1"]
    raw = replace(RUNNING, target="/dev/md127", device="md127")
    assert len(suites_chart.group_of(raw, shown)) == 3
    assert suites_chart.group_of(replace(RUNNING, target="/srv"), shown) == ()


@pytest.mark.parametrize("marker", CHARTS)
@pytest.mark.parametrize("shown", list(Shown))
def test_every_figure_is_drawn_in_every_marker_and_size(marker, shown):
    view = seen()
    for since in (False, True):
        for width, rows in ((78, 9), (138, 30), (20, 6), (78, 1)):
            lines = suites_chart.chart_lines(
                RUNNING, view, width, rows, choice=Choice(shown, since), marker=marker
            )
            assert len(lines) in {rows, 1}
            assert all(line.cell_length <= max(width, 78) for line in lines)


def test_the_heading_has_figures_keys_and_the_span():
    view = seen()
    first = suites_chart.chart_lines(RUNNING, view, 78, 9, choice=Choice(), marker=Marker.BRAILLE)
    assert first[0].plain.startswith("IOPS (m), last 5 min (z)")
    assert "now 523.4k · members 130.9k to 130.9k" in first[0].plain
    # Of what adds up the volume is in the heading alone: beside it members would be a flat line.
    assert "scratch" not in first[1].plain
    assert "nvme4n1" in first[1].plain
    assert "-5 min" in first[-1].plain
    choice = Choice(Shown.AWAIT, since_job=True)
    await_lines = suites_chart.chart_lines(
        RUNNING, view, 78, 9, choice=choice, marker=Marker.BRAILLE
    )
    assert "AWAIT (m), this job (z)" in await_lines[0].plain
    assert "scratch" in await_lines[1].plain
    assert "30 s" in await_lines[-1].plain


def test_the_heading_names_the_slow_member_with_its_factor_whatever_is_drawn():
    shown = replace(running_snapshot(), seconds=followed())
    view = View(shown, NOW, WALL, marks.UNICODE)
    for choice in map(Choice, Shown):
        line, *_ = suites_chart.chart_lines(
            RUNNING, view, 78, 9, choice=choice, marker=Marker.BRAILLE
        )
        assert line.plain.endswith("nvme3n1 900.0 µs ▲ 3×")
        assert any(marks.WARN in str(span.style) for span in line.spans)


def test_of_many_members_least_median_and_most_are_drawn():
    lines = suites_chart.chart_lines(
        RUNNING, seen(64), 138, 12, choice=Choice(), marker=Marker.BRAILLE
    )
    assert "least of 64 members" in lines[1].plain
    narrow = suites_chart.chart_lines(
        RUNNING, seen(64), 78, 12, choice=Choice(), marker=Marker.BRAILLE
    )
    for one in (lines, narrow):
        assert one[1].plain.split()[-1] == "most"
    assert "nvme1n1" not in lines[1].plain


def test_what_is_drawn_moves_by_steps_of_some_seconds():
    drawn = [
        [line.plain for line in suites_chart.chart_lines(
            RUNNING, seen(later=later), 78, 9, choice=Choice(), marker=Marker.BRAILLE
        )]
        for later in (0.1, 3.4)
    ]  # fmt: skip
    assert drawn[0] == drawn[1]


def test_disks_that_are_not_followed_and_old_figures_say_so():
    stranger = replace(RUNNING, target="/srv/x")
    (line,) = suites_chart.chart_lines(
        stranger, seen(), 78, 9, choice=Choice(), marker=Marker.BRAILLE
    )
    assert "these disks are not followed here" in line.plain
    assert "no figures" in suites_chart.numbers(stranger, seen(), Choice()).plain
    old = suites_chart.chart_lines(
        RUNNING, seen(later=42), 78, 9, choice=Choice(), marker=Marker.BRAILLE
    )
    assert "▲ 42 s old" in old[0].plain


def test_the_same_numbers_as_a_table():
    text = suites_chart.numbers(RUNNING, seen(), Choice(Shown.THROUGHPUT)).plain.splitlines()
    assert len(text) == TREND_SECONDS + 1
    assert text[0].split()[1:] == ["scratch", "nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1"]
    assert text[1].split()[-2:] == ["511", "MiB/s"]
    assert int(text[1].split()[0]) > int(text[-1].split()[0]), "the latest is first"
    plain = replace(seen(), glyphs=marks.ASCII)
    assert suites_chart.numbers(RUNNING, plain, Choice(Shown.AWAIT)).plain.isascii()


def test_not_a_number_never_leaves_the_tracks():
    kept = second_of(tuple(replace(one, sample=None) for one in live()), 1.0, None)
    assert all(math.isnan(value) for value in kept.figures)
    shown = replace(running_snapshot(), seconds=(kept,))
    view = View(shown, NOW, WALL, marks.UNICODE)
    lines = suites_chart.chart_lines(RUNNING, view, 78, 9, choice=Choice(), marker=Marker.BRAILLE)
    assert "now -" in lines[0].plain
