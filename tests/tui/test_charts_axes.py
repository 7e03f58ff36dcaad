"""Axes: round ends, ticks that can be read, times as people say them."""

import datetime

import pytest

from tui.charts.axes import Axis, Unit, time_scale, value_scale

DAY = 86_400


def labels(scale):
    return [tick.label for tick in scale.ticks]


def at(*moment):
    return datetime.datetime(*moment, tzinfo=datetime.UTC).timestamp()


@pytest.mark.parametrize(
    ("axis", "values", "words"),
    [
        (Axis(Unit.COUNT), [412_300], ["0", "200k", "400k", "600k"]),
        (Axis(Unit.COUNT, zero=False), [98_100, 104_000], ["98k", "100k", "102k", "104k"]),
        (Axis(Unit.BANDWIDTH), [1.7 * 1024**3], ["0", "1 GiB/s", "2 GiB/s"]),
        (Axis(Unit.BANDWIDTH), [0.9 * 1024**3], ["0", "500 MiB/s", "1000 MiB/s"]),
        (Axis(Unit.SIZE), [3.5 * 1024**4], ["0", "2 TiB", "4 TiB"]),
        (Axis(Unit.PERCENT), [4.2], ["0", "2 %", "4 %", "6 %"]),
        (Axis(Unit.LATENCY), [180_000], ["0", "100 µs", "200 µs"]),
        (Axis(Unit.COUNT), [-3, 3], ["-4", "-2", "0", "2", "4"]),
        (Axis(Unit.COUNT), [0.0123], ["0", "0.005", "0.010", "0.015"]),
    ],
)
def test_ticks_of_values_are_round_and_hold_all(axis, values, words):
    scale = value_scale(axis, values, 4)
    assert labels(scale) == words
    assert scale.low <= min(values)
    assert scale.high >= max(values)


def test_ends_that_are_asked_for_are_kept():
    scale = value_scale(Axis(Unit.COUNT, 0, 70), [10], 4)
    assert (scale.low, scale.high) == (0, 70)
    assert labels(scale) == ["0", "50"]


def test_nothing_and_one_value_have_an_axis():
    assert labels(value_scale(Axis(Unit.COUNT), [], 3))[0] == "0"
    flat = value_scale(Axis(Unit.COUNT, zero=False), [5000.0] * 9, 3)
    assert flat.low < 5000 < flat.high


@pytest.mark.parametrize(
    ("unit", "top"), [(Unit.BANDWIDTH, "1.0 MiB/s"), (Unit.COUNT, "10"), (Unit.LATENCY, "1.0 ms")]
)
@pytest.mark.parametrize("values", [[], [0.0, 0.0]])
def test_of_what_does_nothing_the_axis_is_of_usual_figures(unit, top, values):
    assert value_scale(Axis(unit), values, 3).ticks[-1].label == top


def test_a_logarithmic_axis_has_its_decades():
    scale = value_scale(Axis(Unit.LATENCY, log=True), [83_000, 1_900_000], 6)
    assert labels(scale) == ["50 µs", "100 µs", "200 µs", "500 µs", "1 ms", "2 ms"]
    wide = value_scale(Axis(Unit.LATENCY, log=True), [900, 2.4e9], 5)
    assert labels(wide) == ["1 µs", "100 µs", "10 ms", "1 s"]


def test_a_logarithmic_axis_places_by_ratio_and_leaves_zero_out():
    scale = value_scale(Axis(Unit.LATENCY, log=True), [1e3, 1e5, 0, -4], 4)
    assert scale.place(1e4) == pytest.approx(0.5)
    assert scale.place(0) < 0


@pytest.mark.parametrize(
    ("axis", "ends", "words"),
    [
        (Axis(Unit.AGO), (1000, 1300), ["-4 min", "-2 min", "now"]),
        (Axis(Unit.AGO), (0, 30), ["-30 s", "-20 s", "-10 s", "now"]),
        (Axis(Unit.ELAPSED), (0, 150), ["0", "1 min", "2 min"]),
        (Axis(Unit.ELAPSED), (0, 5400), ["0", "30 min", "1 h", "1:30 h"]),
        (Axis(Unit.NUMBER), (1, 40), ["10", "20", "30", "40"]),
        (Axis(Unit.CALENDAR), (at(2026, 3, 1, 22), at(2026, 3, 2, 4)),
         ["22:00Z", "03-02", "02:00Z", "04:00Z"]),
        (Axis(Unit.CALENDAR), (at(2026, 3, 1), at(2026, 3, 5)),
         ["03-01", "03-02", "03-03", "03-04", "03-05"]),
        (Axis(Unit.CALENDAR), (at(2026, 1, 15), at(2026, 7, 15)),
         ["2026-03", "2026-05", "2026-07"]),
        (Axis(Unit.CALENDAR), (at(2016, 6, 1), at(2026, 6, 1)), ["2020", "2025"]),
    ],
)  # fmt: skip
def test_ticks_of_times_are_what_people_say(axis, ends, words):
    assert labels(time_scale(axis, ends, 44)) == words


def test_weeks_begin_on_mondays():
    scale = time_scale(Axis(Unit.CALENDAR), (at(2026, 3, 1), at(2026, 3, 29)), 60)
    days = {datetime.datetime.fromtimestamp(one.at, datetime.UTC).weekday() for one in scale.ticks}
    assert days == {0}


def test_more_room_has_more_ticks_and_never_labels_without_room():
    few, many = (time_scale(Axis(Unit.AGO), (0, 300), room) for room in (20, 200))
    assert 0 < len(few.ticks) < len(many.ticks) <= 200 // 8


def test_a_date_that_no_calendar_has_does_not_end_the_chart():
    time_scale(Axis(Unit.CALENDAR), (-1e18, 1e18), 80)
    time_scale(Axis(Unit.CALENDAR), (1e17, 1e17 + 90), 80)
