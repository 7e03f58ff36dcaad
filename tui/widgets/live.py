"""What the volumes do now, and how their members did in the last minutes; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from appliance.text import bandwidth, count, duration
from tui import marks
from tui.charts.axes import Unit
from tui.charts.strip import heat_row, sparkline
from tui.marks import Glyphs
from tui.snapshot import TREND_SECONDS
from tui.tracks import BUSY, Figure, Followed, Second, Wait, columns, group, spread, volumes, waits
from tui.widgets.panel import Line, View, age, cell, clean, milliseconds, section

if TYPE_CHECKING:
    from appliance.model.runs import Sample

_NAME_CELLS, _VALUE_CELLS, _FACTOR_CELLS = 12, 9, 6
_COLUMNS = (("read", 11), ("write", 11), ("IOPS", 8), ("await", 9), ("busy", 5))
# Beside a member's row of heat on wide screens: throughput, IOPS, busy.
_BESIDE = (11, 12, 6)
_WIDE_FROM = 110
_LAST = f"{TREND_SECONDS // 60} min"
# An await of so many times the usual one is of the second, third and fourth level of heat; the
# third begins where a member is called slow.
_WAIT_LEVELS = (1.5, 2.0, 4.0)
_WAIT_STYLES = (marks.MUTED, "", marks.WARN, marks.BAD)
# What is much is not bad: of IOPS and throughput the levels are quarters of the most.
_RATE_STYLES = (marks.MUTED, "$primary", "$primary", "$primary")


class Shown(Enum):
    """What is drawn of volumes and members, in the order in which a key changes it: the figure, its
    words, the unit of its axis, and what that is of the figure's own.
    """

    AWAIT = (Figure.AWAIT_MS, "await", Unit.LATENCY, 1e6)
    IOPS = (Figure.IOPS, "IOPS", Unit.COUNT, 1.0)
    THROUGHPUT = (Figure.BYTES_PER_S, "throughput", Unit.BANDWIDTH, 1.0)

    def __init__(self, figure: Figure, words: str, unit: Unit, factor: float) -> None:
        self.figure, self.words, self.unit, self.factor = figure, words, unit, factor

    @property
    def next(self) -> Shown:
        order = list(Shown)
        return order[(order.index(self) + 1) % len(order)]

    def text(self, value: float | None, glyphs: Glyphs) -> str:
        """``value`` with its unit, ``-`` for none."""
        if value is None:
            return "-"
        if self is Shown.AWAIT:
            return milliseconds(value, glyphs)
        return count(value) if self is Shown.IOPS else bandwidth(value)


def slow_words(found: Sequence[Wait], glyphs: Glyphs) -> Content:
    """The slowest member with its await and factor, and how many more are slow; empty without."""
    slow = [one for one in found if one.is_slow]
    if not slow:
        return Content("")
    worst = slow[0]
    value = milliseconds(worst.await_ms, glyphs)
    if worst.stalled_seconds:
        value = f"no I/O completed for {duration(worst.stalled_seconds)}"
    words = f"{clean(worst.member.label)} {value} {factor(worst, glyphs)}"
    hung = sum(one.stalled_seconds > 0 for one in slow[1:])
    counts = ((hung, "hung"), (len(slow) - 1 - hung, "slow"))
    more = "".join(f", {number} more {word}" for number, word in counts if number)
    return Content.styled(f"{words}{more}", f"bold {marks.WARN}")


def factor(wait: Wait, glyphs: Glyphs) -> str:
    """How many times the median of its siblings a slow member waits, or that it hangs."""
    if wait.stalled_seconds:
        return f"{glyphs.warn} hung"
    return f"{glyphs.warn} {wait.factor:.0f}{glyphs.times}"


def volume_of(view: View, number: int | None) -> Followed | None:
    """The ``number``-th volume with live figures (counted round); before one was chosen, that of
    the slowest member, so that a slow one is never out of sight.
    """
    snapshot = view.snapshot
    known = () if snapshot is None or not snapshot.live else volumes(snapshot.seconds)
    if snapshot is None or not known:
        return None
    if number is not None:
        return known[number % len(known)]
    return max(known, key=lambda one: max(_factors(snapshot.seconds, one), default=0.0))


def _factors(seconds: Sequence[Second], volume: Followed) -> list[float]:
    return [one.factor for one in waits(seconds, volume) if one.is_slow]


def live_lines(view: View, width: int, shown: Shown) -> list[Line]:
    """Column names, and a row for each volume with a sparkline of ``shown``."""
    snapshot, glyphs = view.snapshot, view.glyphs
    live = [] if snapshot is None else [one for one in snapshot.live if not one.member]
    if snapshot is None or not live:
        return []
    stale = view.live_is_stale and view.live_age is not None
    title, style = ("NOW", marks.TITLE)
    if stale:
        title, style = f"{glyphs.warn} {age(view.live_age or 0.0)}", f"bold {marks.WARN}"
    names = " ".join(cell(name, cells, glyphs, right=True) for name, cells in _COLUMNS)
    heading = Content.assemble(
        (cell(title, _NAME_CELLS, glyphs), style), (f" {names} {shown.words}, {_LAST}", marks.MUTED)
    )
    room = width - heading.cell_length + len(shown.words) + len(_LAST) + 2
    rows = []
    followed = {one.label: one for one in volumes(snapshot.seconds)}
    for one in live:
        figures = ["-"] * len(_COLUMNS) if one.sample is None else _figures(one.sample, glyphs)
        cells = " ".join(
            cell(figure, size, glyphs, right=True)
            for figure, (_, size) in zip(figures, _COLUMNS, strict=True)
        )
        style = marks.MUTED if stale else "bold"
        parts = [(cell(clean(one.label), _NAME_CELLS, glyphs), style), (f" {cells} ", style)]
        if one.label in followed:
            made = columns(
                snapshot.seconds, followed[one.label], shown.figure, cells=room, now=view.now
            )
            line = sparkline(made, room, glyphs, from_zero=True)
            parts.append((line, marks.MUTED if stale else "$primary"))
        rows.append(Content.assemble(*parts))
    return [heading, *rows]


def _figures(sample: Sample, glyphs: Glyphs) -> list[str]:
    iops = sample.read_iops + sample.write_iops
    return [
        bandwidth(sample.read_bytes_per_s),
        bandwidth(sample.write_bytes_per_s),
        count(iops),
        milliseconds(sample.await_ms, glyphs) if iops else "-",
        _busy(sample),
    ]


def _busy(sample: Sample) -> str:
    return f"{min(1.0, sample.util) * 100:.0f} %"


@dataclass(frozen=True, slots=True)
class _Map:
    """What the rows of one heat map share. ``scale`` is what levels are measured by."""

    view: View
    seconds: Sequence[Second]
    shown: Shown
    width: int
    scale: float
    waits: Mapping[Followed, Wait]
    samples: Mapping[str, Sample | None]


def member_lines(
    view: View, volume: Followed, width: int, rows: int, shown: Shown, *, several: bool = False
) -> list[Line]:
    """Heading, and in at most ``rows`` lines in all a row of heat for each member of ``volume``.

    Of more members than lines the slow ones come first, the others are always the same, and the
    last line counts the rest. A volume without members is its own row.
    """
    snapshot = view.snapshot
    if snapshot is None or rows < 1:
        return []
    members = members_of(view, volume)
    drawn = _Map(
        view,
        snapshot.seconds,
        shown,
        width,
        _scale(snapshot.seconds, volume, shown),
        {one.member: one for one in waits(snapshot.seconds, volume)},
        {one.device: one.sample for one in snapshot.live},
    )
    by = " by member" if len(members) > 1 else ""
    of = f"{clean(volume.label)}: " if several else ""
    chosen: Sequence[Followed] = members
    if len(members) >= rows:
        slow = [one for one, wait in drawn.waits.items() if wait.is_slow]
        chosen = [*slow, *(one for one in members if one not in slow)][: max(0, rows - 2)]
    lines = [_heading(drawn, f"{of}{shown.words.upper()}{by} {view.glyphs.dot} {_LAST}")]
    lines += [_row(drawn, one) for one in chosen]
    if hidden := [one for one in members if one not in chosen]:
        lines.append(_rest(drawn, hidden))
    return lines[:rows]


def members_of(view: View, volume: Followed) -> tuple[Followed, ...]:
    """What has a row in :func:`member_lines`."""
    seconds = () if view.snapshot is None else view.snapshot.seconds
    return group(seconds[-1].devices, volume)[1:] or (volume,) if seconds else ()


def _heading(drawn: _Map, title: str) -> Line:
    glyphs, known = drawn.view.glyphs, list(drawn.waits.values())
    parts: list[Content | tuple[str, str]] = []
    if moving := [one.await_ms for one in known if not one.stalled_seconds]:
        median = moving[len(moving) // 2]
        what = "" if drawn.shown is Shown.AWAIT else "await "
        parts.append((f"{what}median {milliseconds(median, glyphs)}", marks.MUTED))
    if slow := slow_words(known, glyphs):
        parts += [(f" {glyphs.dot} ", marks.MUTED), slow] if parts else [slow]
    note = Content.assemble(*parts)
    room = max(1, drawn.width - note.cell_length - 3)
    return section(cell(title, min(cell_len(title), room), glyphs), note, drawn.width, glyphs)


def _scale(seconds: Sequence[Second], volume: Followed, shown: Shown) -> float:
    """What levels of heat are measured by: the usual await, or the highest rate of a member."""
    spreads = [spread(one, volume, shown.figure) for one in seconds]
    if shown is Shown.AWAIT:
        known = sorted(one.median for one in spreads if one.median is not None)
        return known[len(known) // 2] if known else 0.0
    return max((one.most for one in spreads if one.most is not None), default=0.0)


def _level(drawn: _Map, value: float | None) -> int | None:
    if not value or not drawn.scale:
        return None
    if drawn.shown is Shown.AWAIT:
        return sum(value >= drawn.scale * limit for limit in _WAIT_LEVELS)
    return min(3, int(4 * value / drawn.scale))


def _row(drawn: _Map, member: Followed) -> Line:
    view, shown, glyphs = drawn.view, drawn.shown, drawn.view.glyphs
    sample, wait = drawn.samples.get(member.device), drawn.waits.get(member)
    wide = drawn.width >= _WIDE_FROM
    beside = sum(cells + 1 for cells in _BESIDE) if wide else 0
    room = max(1, drawn.width - _NAME_CELLS - _VALUE_CELLS - _FACTOR_CELLS - 3 - beside)
    made = columns(drawn.seconds, member, shown.figure, cells=room, now=view.now)
    slow = wait is not None and wait.is_slow
    style = f"bold {marks.WARN}" if slow else ""
    styles: Sequence[str] = _WAIT_STYLES if shown is Shown.AWAIT else _RATE_STYLES
    if view.live_is_stale:
        style, styles = marks.MUTED, (marks.MUTED,) * len(styles)
    value = cell(_value(sample, wait, shown, glyphs), _VALUE_CELLS, glyphs, right=True)
    # A rate does not say that it hangs.
    said = wait is not None and slow and (shown is Shown.AWAIT or wait.stalled_seconds)
    also = factor(wait, glyphs) if wait is not None and said else ""
    return Content.assemble(
        (cell(f" {clean(member.label)}", _NAME_CELLS, glyphs), style),
        (" ", ""),
        heat_row([_level(drawn, value) for value in made], glyphs, styles),
        (f" {value} {cell(also, _FACTOR_CELLS, glyphs)}", style),
        (_beside(sample, glyphs) if wide and sample else "", style if view.live_is_stale else ""),
    )


def _value(sample: Sample | None, wait: Wait | None, shown: Shown, glyphs: Glyphs) -> str:
    """The await of the last seconds, as it is judged; of rates, that of the last second."""
    if sample is None:
        return "-"
    iops = sample.read_iops + sample.write_iops
    if shown is Shown.AWAIT:
        if wait is not None:
            return milliseconds(wait.await_ms, glyphs)
        idle = "waiting" if sample.util >= BUSY else "idle"
        return milliseconds(sample.await_ms, glyphs) if iops else idle
    rate = iops if shown is Shown.IOPS else sample.read_bytes_per_s + sample.write_bytes_per_s
    return shown.text(rate, glyphs)


def _beside(sample: Sample, glyphs: Glyphs) -> str:
    figures = (
        bandwidth(sample.read_bytes_per_s + sample.write_bytes_per_s),
        f"{count(sample.read_iops + sample.write_iops)} IOPS",
        _busy(sample),
    )
    return "".join(
        f" {cell(figure, cells, glyphs, right=True)}"
        for figure, cells in zip(figures, _BESIDE, strict=True)
    )


def _rest(drawn: _Map, hidden: Sequence[Followed]) -> Line:
    """How many members have no line, and between what they wait."""
    glyphs = drawn.view.glyphs
    known = sorted(drawn.waits[one].await_ms for one in hidden if one in drawn.waits)
    words = f" {glyphs.ellipsis} {len(hidden)} others"
    if known:
        ends = dict.fromkeys(milliseconds(one, glyphs) for one in (known[0], known[-1]))
        words += f": await {' to '.join(ends)}"
    return Content.styled(words, marks.MUTED)
