"""Two sides next to each other, as the command ``compare`` has them; pure."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from appliance.figures.metric import Metric
from appliance.figures.sides import Change, Chosen, WordedRow
from tui import marks
from tui.marks import Glyphs, Mark
from tui.sources.results import Comparison
from tui.widgets.panel import Line, cell, clean, wrapped
from tui.widgets.results import shown

_GAP = "  "
# Least cells of each column; the workload takes what is left of the width.
_CELLS = (18, 10, 10, 6, 12, 4)
_NOTE_INDENT = 5


def change_mark(change: Change, metric: Metric, glyphs: Glyphs) -> Mark:
    """What the interval says of B: glyph (the way of the figure), word, colour."""
    more, less = glyphs.ascending, glyphs.descending
    if metric.is_latency:
        more, less = less, more
    return {
        Change.FASTER: Mark(more, "B is faster", marks.GOOD),
        Change.SLOWER: Mark(less, "B is slower", marks.WARN),
        Change.NOT_TOLD: Mark("=", "no difference seen", ""),
        Change.UNKNOWN: Mark(" ", "", marks.MUTED),
    }[change]


def compare_lines(found: Comparison, width: int, glyphs: Glyphs) -> list[Line]:
    """What A and B are, a table with a row for each workload, and its notes."""
    lines: list[Line] = []
    for name, side in (("A", found.a), ("B", found.b)):
        lines += _side(name, side, width)
    unit = "IOPS" if found.metric is Metric.IOPS else ""
    heads = ("workload", f"A {unit}".strip(), f"B {unit}".strip(), "B/A", "95 %", "note")
    lines += [Content(""), _row(heads, None, width, glyphs)]
    for row in found.worded.rows:
        cells = (row.workload, row.a, row.b, row.ratio, row.interval, _numbers(row))
        mark = change_mark(row.change, found.metric, glyphs)
        lines.append(_row(cells, mark, width, glyphs))
    lines += [Content(""), *_legend(found.worded.rows, found.metric, glyphs)]
    for number, note in enumerate(found.worded.notes, start=1):
        first = Content.styled(f"{number:>3}", marks.MUTED)
        lines += wrapped(shown(note, glyphs), first=first, indent=_NOTE_INDENT, width=width, rows=4)
    return lines


def _side(name: str, side: Chosen, width: int) -> list[Line]:
    first = Content.styled(name, f"bold {marks.BUSY}")
    lines = wrapped(clean(side.what), first=first, indent=3, width=width, rows=4)
    for note in side.notes:
        lines += wrapped(
            clean(note), first=Content(""), indent=3, width=width, style=marks.WARN, rows=2
        )
    return lines


def _numbers(row: WordedRow) -> str:
    return ",".join(str(number) for number in row.notes)


def _row(cells: Sequence[str], mark: Mark | None, width: int, glyphs: Glyphs) -> Line:
    """A line of the table; the heading has no mark."""
    first = max(_CELLS[0], min(40, width - sum(_CELLS[1:]) - len(_GAP) * 5))
    style = marks.MUTED if mark is None else ""
    mark = mark or Mark(" ", "", marks.MUTED)
    parts = [cell(shown(cells[0], glyphs), first, glyphs)]
    parts += [
        cell(shown(one, glyphs), cells_of, glyphs, right=True)
        for one, cells_of in zip(cells[1:3], _CELLS[1:3], strict=True)
    ]
    ratio = cell(f"{mark.glyph}{cells[3]}", _CELLS[3], glyphs, right=True)
    tail = cell(cells[4], _CELLS[4], glyphs) + _GAP + cells[5]
    return Content.assemble(
        (_GAP.join(parts), style), _GAP, (ratio, mark.style), _GAP, (tail, style or marks.MUTED)
    )


def _legend(rows: Sequence[WordedRow], metric: Metric, glyphs: Glyphs) -> list[Line]:
    """What the marks mean, of those that there are."""
    there = [one for one in Change if one.value and any(row.change is one for row in rows)]
    if not there:
        return []
    found = [change_mark(one, metric, glyphs) for one in there]
    words = [Content.styled(mark.text, mark.style) for mark in found]
    words.append(Content.styled("by the 95 % interval", marks.MUTED))
    return [Content(_GAP).join(words)]
