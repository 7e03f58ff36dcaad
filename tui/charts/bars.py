"""Members of a stripe beside each other: how much each did, and how long each took. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from appliance.text import bandwidth, count, latency, size
from tui import marks
from tui.charts.axes import Unit
from tui.charts.canvas import Canvas, clean, fit, spelt
from tui.charts.markers import Marker

_NAME_CELLS, _AMOUNT_CELLS, _SHARE_CELLS, _AWAIT_CELLS = 16, 11, 7, 9
# A bar shorter than this shows no difference.
_LEAST_BAR = 6


@dataclass(frozen=True, slots=True)
class MemberBar:
    """One member: what it did (bytes, bytes/s or I/Os) and its mean await, if it did any."""

    name: str
    amount: float
    await_ns: float | None
    style: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Columns:
    """Widths of name, bar and strip of points, in cells; a part of 0 is not shown."""

    name: int
    bar: int
    strip: int

    @property
    def amount(self) -> int:
        """Cell at which the amount's figures begin; the other properties are alike."""
        return self.name + 1 + (self.bar + 1 if self.bar else 0)

    @property
    def figures(self) -> int:
        return self.amount + _AMOUNT_CELLS + _SHARE_CELLS + 1

    @property
    def points(self) -> int:
        return self.figures + _AWAIT_CELLS + 1

    @property
    def note(self) -> int:
        return self.points + (self.strip + 1 if self.strip else 0)


def bar(fraction: float, *, width: int, marker: Marker) -> str:
    """A horizontal bar in ``width`` cells; what is above zero shows at least a trace."""
    fillings = marker.frame.eighths
    levels = len(fillings) - 1
    # "not above" is also true of what is not a number.
    level = 0 if not fraction > 0 else max(1, round(min(1.0, fraction) * width * levels))
    return "".join(
        fillings[min(levels, max(0, level - cell * levels))] for cell in range(max(0, width))
    )


def amount(unit: Unit, value: float) -> str:
    """What a member did, in words: ``412.3k``, ``1.95 GiB/s``, ``3.49 TiB``."""
    known = {Unit.BANDWIDTH: bandwidth, Unit.SIZE: size}
    return known.get(unit, count)(value)


def balance(
    members: Sequence[MemberBar],
    *,
    width: int,
    height: int,
    marker: Marker,
    unit: Unit = Unit.BANDWIDTH,
    what: str = "amount",
) -> list[Content]:
    """A heading and one line a member, in at most ``height`` lines of ``width`` cells.

    The point is the member's await, the upright stroke the median of all. If there are more
    members than lines, those are shown whose await is farthest from the median, and a
    last line tells of the others.
    """
    if height < 1:
        return []
    shown, others = _chosen(members, height - 1)
    columns = _columns(members, width)
    canvas = Canvas(width, 1 + len(shown) + bool(others and height > 1))
    _heading(canvas, columns, clean(what), marker)
    for line, member in enumerate(shown, 1):
        canvas.text(0, line, fit(clean(member.name), columns.name, marker), member.style)
    _amounts(canvas, shown, members, columns, unit, marker=marker)
    _awaits(canvas, shown, members, columns, marker=marker)
    if others and height > 1:
        _summary(canvas, 1 + len(shown), others, marker)
    return canvas.lines()


def _columns(members: Sequence[MemberBar], width: int) -> _Columns:
    longest = max((cell_len(clean(one.name)) for one in members), default=0)
    name = min(_NAME_CELLS, max(6, longest), max(1, width))
    notes = max((cell_len(clean(one.note)) + 2 for one in members if one.note), default=0)
    room = width - name - 1 - _AMOUNT_CELLS - _SHARE_CELLS - 1 - _AWAIT_CELLS - notes - 3
    if room < 2 * _LEAST_BAR:
        return _Columns(name, room if room >= _LEAST_BAR else 0, 0)
    return _Columns(name, min(60, room * 3 // 5), min(60, room - room * 3 // 5))


def _heading(canvas: Canvas, columns: _Columns, what: str, marker: Marker) -> None:
    canvas.text(0, 0, fit("member", columns.name, marker), marks.MUTED)
    for x, cells, words in (
        (columns.amount, _AMOUNT_CELLS, what),
        (columns.amount + _AMOUNT_CELLS, _SHARE_CELLS, "share"),
        (columns.figures, _AWAIT_CELLS, "await"),
    ):
        canvas.text(x, 0, fit(words, cells, marker, right=True), marks.MUTED)


def _amounts(
    canvas: Canvas,
    shown: Sequence[MemberBar],
    members: Sequence[MemberBar],
    columns: _Columns,
    unit: Unit,
    *,
    marker: Marker,
) -> None:
    """How much each did: as a bar, in words, and as its share of all members."""
    total = sum(one.amount for one in members if one.amount > 0)
    most = max((one.amount for one in members), default=0.0)
    for line, member in enumerate(shown, 1):
        filled = bar(member.amount / most if most > 0 else 0, width=columns.bar, marker=marker)
        canvas.text(columns.name + 1, line, filled, member.style or "$primary")
        figures = fit(amount(unit, member.amount), _AMOUNT_CELLS, marker, right=True)
        canvas.text(columns.amount, line, figures, "")
        share = f"{100 * member.amount / total:.1f} %" if total > 0 else "-"
        share = fit(share, _SHARE_CELLS, marker, right=True)
        canvas.text(columns.amount + _AMOUNT_CELLS, line, share, marks.MUTED)


def _awaits(
    canvas: Canvas,
    shown: Sequence[MemberBar],
    members: Sequence[MemberBar],
    columns: _Columns,
    *,
    marker: Marker,
) -> None:
    """How long each took: in words, as a point beside the median of all, and what is to be said."""
    awaits = [one.await_ns for one in members if one.await_ns is not None]
    longest = max(awaits, default=0.0)
    middle = statistics.median(awaits) if awaits else 0.0
    for line, member in enumerate(shown, 1):
        words = "-" if member.await_ns is None else spelt(latency(member.await_ns), marker)
        words = fit(words, _AWAIT_CELLS, marker, right=True)
        canvas.text(columns.figures, line, words, member.style)
        if columns.strip and longest > 0:
            last = columns.strip - 1
            x = columns.points + round(middle / longest * last)
            canvas.put(x, line, marker.frame.rule, marks.MUTED)
            if member.await_ns is not None:
                x = columns.points + round(max(0.0, member.await_ns) / longest * last)
                canvas.put(x, line, marker.frame.point, member.style or "$accent")
        note = clean(member.note)
        note = fit(note, min(cell_len(note), canvas.width - columns.note), marker)
        canvas.text(columns.note, line, note, member.style or marks.MUTED)


def _chosen(members: Sequence[MemberBar], lines: int) -> tuple[list[MemberBar], list[MemberBar]]:
    """Members that get a line of their own, in their order, and the others."""
    if len(members) <= lines:
        return list(members), []
    awaits = [one.await_ns for one in members if one.await_ns is not None]
    middle = statistics.median(awaits) if awaits else 0.0

    def oddity(index: int) -> float:
        value = members[index].await_ns
        return -1.0 if value is None else abs(value - middle)

    order = sorted(range(len(members)), key=oddity, reverse=True)
    own = set(order[: max(0, lines - 1)])
    return (
        [one for index, one in enumerate(members) if index in own],
        [one for index, one in enumerate(members) if index not in own],
    )


def _summary(canvas: Canvas, line: int, others: Sequence[MemberBar], marker: Marker) -> None:
    awaits = [one.await_ns for one in others if one.await_ns is not None]
    words = f"{marker.frame.ellipsis} {len(others)} more"
    if awaits:
        least, most = (spelt(latency(one), marker) for one in (min(awaits), max(awaits)))
        words += f", await {least} to {most}"
    words = fit(words, min(cell_len(words), canvas.width), marker)
    canvas.text(0, line, words, marks.MUTED)
