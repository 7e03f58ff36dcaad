"""Which member is slow: the rule, its words, and that a slow one is always in sight."""

from dataclasses import replace

import pytest

from tests.tui.fakes import NOW, WALL, live, sample, seconds, snapshot
from tui import marks
from tui.charts.strip import heat_row, sparkline
from tui.tracks import Figure, columns, second_of, volumes, waits
from tui.widgets.live import Shown, live_lines, member_lines, slow_words, volume_of
from tui.widgets.panel import View


def series(awaits, *, number=20, iops=500.0):
    """So many seconds of a volume whose members wait ``awaits`` (ms), with ``iops`` each."""
    made = []
    for second in range(number):
        rows = list(live(members=len(awaits)))
        for at, await_ms in enumerate(awaits, 1):
            found = replace(sample(rows[at].device, 0), read_iops=iops, await_ms=await_ms)
            rows[at] = replace(rows[at], sample=found)
        made.append(second_of(rows, NOW - number + second + 1, made[-1] if made else None))
    return tuple(made)


def slow(found):
    return [one.member.label for one in found if one.is_slow]


def of(made):
    return waits(made, volumes(made)[0])


def view(made, rows=None, *, seconds_later=0.0, glyphs=marks.UNICODE):
    rows = live(members=len(made[-1].devices) - 1) if rows is None else rows
    shown = snapshot(live=tuple(rows), seconds=made, live_at=NOW + seconds_later)
    return View(shown, NOW + seconds_later, WALL + seconds_later, glyphs)


def still(made):
    """Members that complete nothing now."""
    rows = [
        replace(one, sample=replace(one.sample, read_iops=0.0))
        for one in live(members=len(made[-1].devices) - 1)
    ]
    return view(made, rows)


def text(lines):
    return "\n".join(line.plain for line in lines)


@pytest.mark.parametrize(
    ("awaits", "named"),
    [
        ((0.4, 0.4, 1.9, 0.4), ["nvme3n1"]),
        ((0.4, 0.9), ["nvme2n1"]),  # against its only sibling
        ((0.4, 0.79), []),
        ((1.9, 0.4, 2.4, 0.4, 0.4), ["nvme3n1", "nvme1n1"]),  # the slowest first
        ((2.0,), []),
        ((2.0, 2.0, 2.0, 2.0), []),  # all wait: that is the load
        ((0.02, 0.045, 0.02, 0.02), []),  # nearer than whole milliseconds tell apart
        ((0.02, 0.071, 0.02, 0.02), ["nvme2n1"]),
    ],
)
def test_a_member_is_slow_that_waits_twice_as_long_as_its_siblings(awaits, named):
    assert slow(of(series(awaits))) == named


def test_idle_is_not_slow_and_nothing_is_said_of_a_few_ios():
    made = series((0.4, 0.4, 9.0, 0.4))
    idle = [
        replace(one, sample=replace(one.sample, read_iops=0.0, util=0.0)) for one in live()[3:4]
    ]
    rows = (*live()[:3], *idle, live()[4])
    still = made[:3]
    for second in range(20):
        still = (*still, second_of(rows, NOW + second, still[-1]))
    assert slow(of(still)) == []
    assert "nvme3n1" not in [one.member.label for one in of(still)]
    assert slow(of(series((0.4, 9.0, 0.4), iops=5.0))) == []  # 75 I/Os in 15 s
    assert slow(of(series((0.4, 9.0, 0.4), number=4))) == []  # one burst
    assert slow(of(series((0.4, 9.0, 0.4), number=5))) == ["nvme2n1"]


def hung(busy, *, number, other_ios=0):
    """Seconds in which members complete nothing, ``busy`` of the time each."""
    made = series([0.4] * len(busy))
    for second in range(number):
        rows = list(live(members=len(busy)))
        for at, util in enumerate(busy, 1):
            still = replace(sample(rows[at].device, 0), read_iops=0.0, await_ms=0.0, util=util)
            rows[at] = replace(rows[at], sample=still, other_ios=other_ios)
        made = (*made, second_of(rows, NOW + second + 1, made[-1]))
    return made


@pytest.mark.parametrize(
    ("busy", "number", "named"),
    [
        ((0.0, 1.0, 0.0), 5, ["nvme2n1"]),  # the others wait for it, and are idle
        ((0.0, 1.0, 0.0), 4, []),
        ((0.0, 0.5, 0.0), 9, []),
        ((1.0, 1.0, 1.0), 9, ["nvme1n1", "nvme2n1", "nvme3n1"]),
    ],
)
def test_a_member_that_completes_nothing_is_slow(busy, number, named):
    made = hung(busy, number=number)
    assert slow(of(made)) == named
    words = slow_words(of(made), marks.UNICODE).plain
    more = f", {len(named) - 1} more hung" if len(named) > 1 else ""
    said = f"no I/O completed for {number} s ▲ hung{more}"
    assert words == (f"{named[0]} {said}" if named else "")
    for shown in Shown if named else ():
        drawn = member_lines(still(made), volumes(made)[0], 78, 9, shown)
        assert drawn[0].plain.endswith(said)
        assert [line.plain.split()[0] for line in drawn[1:] if "▲ hung" in line.plain] == named
        if shown is Shown.AWAIT:
            assert f"{number}.00 s ▲ hung" in text(drawn)


def test_those_that_hang_are_counted_apart_from_those_that_are_slow():
    hangs, *others = of(series((1.9, 0.4, 2.4, 0.4, 0.4)))
    stuck = [replace(hangs, stalled_seconds=seconds) for seconds in (9.0, 8.0, 7.0)]
    words = slow_words([*stuck, *others], marks.UNICODE).plain
    assert words == "nvme3n1 no I/O completed for 9 s ▲ hung, 2 more hung, 1 more slow"


def test_before_the_heading_names_a_hung_one_there_is_nothing_to_part_it_from():
    made = hung((0.0, 1.0, 0.0), number=5)[-5:]
    heading = member_lines(still(made), volumes(made)[0], 78, 9, Shown.AWAIT)[0].plain
    assert "·" not in heading.partition("5 min")[2]


def test_the_one_member_of_a_volume_hangs_too():
    rows = [replace(one, sample=replace(one.sample, read_iops=0.0)) for one in live()[:1]]
    made = ()
    for second in range(6):
        made = (*made, second_of(rows, NOW + second, made[-1] if made else None))
    assert slow(of(made)) == ["scratch"]
    early = member_lines(view(made[:3], rows), volumes(made)[0], 78, 9, Shown.AWAIT)
    assert early[1].plain.split() == ["scratch", "waiting"]


@pytest.mark.parametrize(("apart", "number", "says"), [(0.25, 9, ""), (0.25, 20, "5 s"),
                                                       (10.0, 1, "10 s")])  # fmt: skip
def test_for_how_long_it_hangs_is_by_the_clock(apart, number, says):
    made = hung((0.0, 1.0, 0.0), number=number)
    begin = len(made) - number
    made = tuple(
        one if at < begin else replace(one, at=NOW + apart * (at - begin + 1))
        for at, one in enumerate(made)
    )
    words = slow_words(of(made), marks.UNICODE).plain
    assert words == (f"nvme2n1 no I/O completed for {says} ▲ hung" if says else "")


def test_a_member_that_discards_or_flushes_does_not_hang():
    made = hung((0.0, 1.0, 0.0), number=9, other_ios=1)
    assert slow(of(made)) == []


def test_one_burst_does_not_accuse_and_a_slow_one_is_named_within_seconds():
    good, bad = (0.4, 0.4, 0.4), (0.4, 0.4, 2.0)
    once = series(good, number=14)
    for awaits, number, named in ((bad, 1, []), (bad, 6, ["nvme3n1"])):
        more = once
        for second in range(number):
            (one,) = series(awaits, number=1)
            more = (*more, replace(one, at=NOW + 1 + second, devices=once[0].devices))
        assert slow(of(more)) == named


def test_awaits_are_weighted_by_their_ios():
    (first,) = series((0.4, 0.4), number=1, iops=10_000.0)
    many = [replace(first, at=NOW + at) for at in range(5)]
    (other,) = series((0.4, 40.0), number=1, iops=10.0)
    made = (*many, replace(other, at=NOW + 5, devices=first.devices))
    assert next(one.await_ms for one in of(made) if one.member.label == "nvme2n1") < 0.5


def test_the_slow_member_is_named_in_one_wording():
    made = series((0.382, 0.382, 1.89, 0.382))
    words = slow_words(of(made), marks.UNICODE)
    assert words.plain == "nvme3n1 1.89 ms ▲ 5×"
    assert {span.style for span in words.spans} == {f"bold {marks.WARN}"}
    assert slow_words(of(made), marks.ASCII).plain == "nvme3n1 1.89 ms ! 5x"
    assert slow_words(of(series((0.4, 0.4))), marks.UNICODE).plain == ""
    assert slow_words(of(series((1.9, 0.4, 2.4, 0.4, 0.4))), marks.UNICODE).plain.endswith(
        "nvme3n1 2.40 ms ▲ 6×, 1 more slow"
    )


@pytest.mark.parametrize("members", [2, 4, 24, 64])
@pytest.mark.parametrize(("width", "rows"), [(78, 9), (78, 3), (138, 18)])
def test_a_slow_member_has_a_row_however_many_there_are(members, width, rows):
    made = seconds(members, members)
    lines = member_lines(view(made), volumes(made)[0], width, rows, Shown.AWAIT)
    assert len(lines) <= rows
    assert all(line.cell_length <= width for line in lines)
    name = f"nvme{members}n1"
    assert f"{name} 1.54 ms ▲ 5×" in lines[0].plain
    (row,) = [line for line in lines[1:] if name in line.plain]
    assert "█" in row.plain
    assert "1.54 ms ▲ 5×" in row.plain
    assert any(span.style == marks.BAD for span in row.spans)
    if members >= rows:
        assert f"{members - rows + 2} others: await 308.1 µs" in lines[-1].plain
        assert name in lines[1].plain


def test_where_others_have_no_row_they_do_not_change_places():
    made = seconds(64)
    lines = member_lines(view(made), volumes(made)[0], 78, 9, Shown.AWAIT)
    assert [line.plain.split()[0] for line in lines[1:-1]] == [f"nvme{n}n1" for n in range(1, 8)]


def test_the_map_has_rates_too_and_what_is_much_is_not_bad():
    made = seconds(4, 3)
    for shown, words in ((Shown.IOPS, "104.9k"), (Shown.THROUGHPUT, "410 MiB/s")):
        lines = member_lines(view(made), volumes(made)[0], 78, 9, shown)
        assert lines[0].plain.startswith(f"{shown.words.upper()} by member")
        assert words in lines[1].plain
        assert "▲" not in lines[3].plain
        assert marks.BAD not in {span.style for span in lines[1].spans}


def test_without_io_there_is_no_heat_and_it_says_idle():
    rows = [replace(one, sample=replace(one.sample, read_iops=0.0, util=0.0)) for one in live()]
    made = (second_of(rows, NOW, None),)
    lines = member_lines(view(made, rows), volumes(made)[0], 78, 9, Shown.AWAIT)
    assert "median" not in lines[0].plain
    assert lines[1].plain.split() == ["nvme1n1", "idle"]


def test_a_volume_of_one_disk_is_its_own_row():
    rows = live()[:1]
    made = (second_of(rows, NOW, None),)
    lines = member_lines(view(made, rows), volumes(made)[0], 78, 9, Shown.AWAIT)
    assert len(lines) == 2
    assert lines[0].plain.startswith("AWAIT · 5 min")
    assert "scratch" in lines[1].plain


def test_old_figures_have_no_colour_of_their_own():
    made = seconds(4, 3)
    seen = replace(view(made), now=NOW + 9)
    (row,) = [
        line
        for line in member_lines(seen, volumes(made)[0], 78, 9, Shown.AWAIT)
        if line.plain.startswith(" nvme3n1")
    ]
    assert {str(span.style) for span in row.spans if span.style} == {marks.MUTED}
    assert "9 s old" in live_lines(seen, 78, Shown.AWAIT)[0].plain


def test_the_volume_with_the_slow_member_is_shown_until_another_is_chosen():
    rows = (*live(), replace(live()[0], label="logs", device="md126"))
    rows += tuple(
        replace(one, label=f"x{one.label}", device=f"x{one.device}") for one in live()[1:]
    )
    made = ()
    for second in range(20):
        slowed = list(rows)
        slowed[7] = replace(rows[7], sample=replace(rows[7].sample, await_ms=3.0))
        made = (*made, second_of(slowed, NOW - 20 + second, made[-1] if made else None))
    seen = view(made, rows)
    assert volume_of(seen, None).label == "logs"
    assert [volume_of(seen, number).label for number in (0, 1, 2)] == ["scratch", "logs", "scratch"]
    assert volume_of(replace(seen, snapshot=snapshot(live=())), None) is None


def test_spans_of_a_row_stand_still_until_one_ends():
    made = seconds(4)
    volume = volumes(made)[0]
    drawn = [
        columns(made, volume, Figure.IOPS, cells=50, now=NOW + later)  # 6 s each
        for later in (2, 3, 4, 8)
    ]
    assert drawn[0] == drawn[1]
    assert drawn[3][:-1] == drawn[0][1:]
    assert len(drawn[0]) == 50


def test_a_sparkline_has_the_shape_of_its_values():
    assert sparkline([0, 1, 2, 4, 8], 5, marks.UNICODE, from_zero=True) == "▁▂▃▅█"
    assert sparkline([5, None, 5], 3, marks.UNICODE, from_zero=True) == "█ █"
    # Noise of one per cent is no cliff.
    assert len(set(sparkline([100, 99, 100, 99.5], 4, marks.UNICODE))) == 1
    assert sparkline([1, 1, 3, 3], 2, marks.UNICODE) == "▁█"
    assert sparkline([2], 3, marks.ASCII) == "  #"
    assert sparkline([], 3, marks.UNICODE) == "   "


def test_a_row_of_heat_has_a_style_for_each_level():
    row = heat_row([0, 0, None, 3, 1], marks.UNICODE, ("a", "b", "c", "d"))
    assert row.plain == "░░ █▒"
    assert [span.style for span in row.spans] == ["a", "d", "b"]
    assert heat_row([0, 3], marks.ASCII, ("", "", "", "")).plain == ".#"
