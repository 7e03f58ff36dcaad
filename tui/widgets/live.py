"""How fast it is now: one row for each volume, and its members as far as there is room."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from textual.content import Content

from appliance.text import bandwidth, count
from tui import marks
from tui.marks import Glyphs
from tui.snapshot import LiveDevice
from tui.widgets.panel import Line, View, age, cell, clean, milliseconds

if TYPE_CHECKING:
    from appliance.model.runs import Sample

_NAME_CELLS = 12
_COLUMNS = (
    ("read", 11),
    ("write", 11),
    ("IOPS read", 11),
    ("IOPS write", 11),
    ("await", 9),
    ("busy", 5),
)
# A member among many: name, read and written together, await.
_SHORT_CELLS = (10, 11, 9)
_SHORT_GAP = 3
# So many members are a table; more are figures beside each other, in so many lines: each line
# that changes once a second is some 200 bytes through SSH.
_FEW, _MOST_ROWS = 12, 16
# So many times the median await of all members is slow.
_SLOW = 2.0


@dataclass(frozen=True, slots=True)
class _Volume:
    device: LiveDevice
    members: tuple[LiveDevice, ...]


def wanted_rows(view: View, width: int) -> int:
    """How many lines :func:`live_lines` would fill if it could."""
    volumes = _volumes(view)
    if not volumes:
        return 0
    return 1 + sum(1 + _wanted(len(one.members), width) for one in volumes)


def _wanted(members: int, width: int) -> int:
    return members if members <= _FEW else min(_MOST_ROWS, -(-members // _across(width)))


def live_lines(view: View, width: int, rows: int) -> list[Line]:
    """Heading and figures in at most ``rows`` lines (at least three).

    Every volume has a line. Members without a line are counted, and the slowest is named.
    """
    volumes = _volumes(view)
    extra = _extra_cells(width)
    lines = [_heading(view, extra)]
    room = rows - 1 - len(volumes)
    for number, volume in enumerate(volumes):
        if len(lines) >= rows - 1 and number < len(volumes) - 1:
            more = f"{view.glyphs.ellipsis} {len(volumes) - number} more volumes"
            lines.append(Content.styled(more, marks.MUTED))
            break
        lines.append(_row(volume.device, view, extra))
        share = max(0, room) // (len(volumes) - number)
        members = _members(volume.members, view, width, share, extra)
        room -= len(members)
        lines += members
    return lines


def _volumes(view: View) -> list[_Volume]:
    live = () if view.snapshot is None else view.snapshot.live
    found: list[_Volume] = []
    for device in live:
        if device.member and found:
            found[-1] = _Volume(found[-1].device, (*found[-1].members, device))
        else:
            found.append(_Volume(device, ()))
    return found


def _members(
    members: Sequence[LiveDevice], view: View, width: int, rows: int, extra: int
) -> list[Line]:
    """``members`` in at most ``rows`` lines: one a line, or several, or some of them."""
    if len(members) <= min(rows, _FEW):
        return [_row(member, view, extra) for member in members]
    if rows < 1:
        return []
    across = _across(width)
    if across > 1:
        down = -(-len(members) // across)
        if down <= rows:
            return _grid(members, view, down)
        shown = _first(members, (rows - 1) * across)
        return [*_grid(shown, view, rows - 1), _rest(members, len(shown), view)]
    shown = _first(members, rows - 1)
    return [*(_row(member, view, extra) for member in shown), _rest(members, len(shown), view)]


def _first(members: Sequence[LiveDevice], room: int) -> list[LiveDevice]:
    """``room`` of the members in their order: those that are far slower than usual are among them.

    The others are always the same ones, so that a list does not change every second for nothing.
    """
    awaits = {
        member.device: member.sample.await_ms
        for member in members
        if member.sample is not None and not _is_idle(member.sample)
    }
    limit = _SLOW * statistics.median(awaits.values()) if awaits else 0.0
    slow = [one.device for one in members if awaits.get(one.device, 0.0) > limit][:room]
    others = [one.device for one in members if one.device not in slow][: room - len(slow)]
    shown = {*slow, *others}
    return [member for member in members if member.device in shown]


def _across(width: int) -> int:
    """How many members stand beside each other in ``width`` cells."""
    return max(1, (width - 2 + _SHORT_GAP) // (sum(_SHORT_CELLS) + 2 + _SHORT_GAP))


def _grid(members: Sequence[LiveDevice], view: View, down: int) -> list[Line]:
    """Members in columns of ``down`` lines, read downwards."""
    style = marks.MUTED if view.live_is_stale else ""
    texts = [_short(member, view.glyphs) for member in members]
    gap = " " * _SHORT_GAP
    return [
        Content.assemble("  ", (gap.join(texts[line::down]), style)) for line in range(max(0, down))
    ]


def _short(member: LiveDevice, glyphs: Glyphs) -> str:
    sample = member.sample
    if sample is None:
        return _short_text(member.label, None, None, glyphs)
    await_ms = None if _is_idle(sample) else sample.await_ms
    bytes_per_s = sample.read_bytes_per_s + sample.write_bytes_per_s
    return _short_text(member.label, bytes_per_s, await_ms, glyphs)


# Of many members most are idle most of the time, and they are drawn every second.
@lru_cache(maxsize=256)
def _short_text(
    label: str, bytes_per_s: float | None, await_ms: float | None, glyphs: Glyphs
) -> str:
    figures = [
        "-" if bytes_per_s is None else bandwidth(bytes_per_s),
        "-" if await_ms is None else milliseconds(await_ms, glyphs),
    ]
    texts = [cell(clean(label), _SHORT_CELLS[0], glyphs)]
    texts += [
        cell(figure, cells, glyphs, right=True)
        for figure, cells in zip(figures, _SHORT_CELLS[1:], strict=True)
    ]
    return " ".join(texts)


def _rest(members: Sequence[LiveDevice], shown: int, view: View) -> Line:
    """How many members have no line, and the slowest of all beside what is usual."""
    glyphs = view.glyphs
    words = f"  {glyphs.ellipsis} {len(members) - shown} {'more' if shown else 'members'}"
    at_work = [one for one in members if one.sample is not None and not _is_idle(one.sample)]
    if at_work:
        waits = {one.label: one.sample.await_ms for one in at_work if one.sample is not None}
        slowest = max(waits, key=waits.__getitem__)
        median = milliseconds(statistics.median(waits.values()), glyphs)
        words += (
            f"; slowest of {len(members)}: {clean(slowest)}"
            f" {milliseconds(waits[slowest], glyphs)}, median await {median}"
        )
    elif any(one.sample is not None for one in members):
        words += ", all idle"
    return Content.styled(words, marks.MUTED)


def _extra_cells(width: int) -> int:
    """Cells that each column may be wider than on a terminal of 80, to fill wide ones calmly."""
    spare = width - _NAME_CELLS - sum(cells + 1 for _, cells in _COLUMNS)
    return max(0, min(6, spare // (len(_COLUMNS) + 1)))


def _heading(view: View, extra: int) -> Line:
    glyphs = view.glyphs
    if view.live_is_stale and view.live_age is not None:
        title, style = f"{glyphs.warn} {age(view.live_age)}", f"bold {marks.WARN}"
    else:
        title, style = "NOW", marks.TITLE
    names = " ".join(cell(name, cells + extra, glyphs, right=True) for name, cells in _COLUMNS)
    return Content.assemble(
        (cell(title, _NAME_CELLS + extra, glyphs), style), " ", (names, marks.MUTED)
    )


def _row(device: LiveDevice, view: View, extra: int) -> Line:
    glyphs = view.glyphs
    label = f"  {clean(device.label)}" if device.member else clean(device.label)
    name_style = "" if device.member else "bold"
    sample = device.sample
    figures = ["-"] * len(_COLUMNS) if sample is None else _figures(sample, glyphs)
    style = marks.MUTED if view.live_is_stale else name_style
    cells = " ".join(
        cell(figure, cells + extra, glyphs, right=True)
        for figure, (_, cells) in zip(figures, _COLUMNS, strict=True)
    )
    return Content.assemble(
        (cell(label, _NAME_CELLS + extra, glyphs), name_style), " ", (cells, style)
    )


def _is_idle(sample: Sample) -> bool:
    return sample.read_iops + sample.write_iops == 0


def _figures(sample: Sample, glyphs: Glyphs) -> list[str]:
    return [
        bandwidth(sample.read_bytes_per_s),
        bandwidth(sample.write_bytes_per_s),
        count(sample.read_iops),
        count(sample.write_iops),
        "-" if _is_idle(sample) else milliseconds(sample.await_ms, glyphs),
        f"{min(1.0, sample.util) * 100:.0f} %",
    ]
