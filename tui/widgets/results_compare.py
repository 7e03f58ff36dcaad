"""Two sides next to each other, as the command ``compare`` has them; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual.content import Content

from appliance.figures.metric import Metric
from appliance.figures.sides import Change, Chosen, WordedRow
from tui import marks
from tui.marks import Glyphs, Mark
from tui.sources.results import Comparison
from tui.widgets import columns
from tui.widgets.columns import Cell, Column
from tui.widgets.panel import Line, labelled
from tui.widgets.results import shown

_GAP = "  "
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
    lines = _side("A", found.a, width) + _side("B", found.b, width)
    unit = " IOPS" if found.metric is Metric.IOPS else ""

    def marked(row: WordedRow) -> Cell:
        mark = change_mark(row.change, found.metric, glyphs)
        return f"{mark.glyph}{row.ratio}", mark.style

    notes = max([4, *(len(_numbers(row)) for row in found.worded.rows)])
    made = (
        Column("workload", 18, get=lambda row: (shown(row.workload, glyphs), "")),
        Column(f"A{unit}", 10, right=True, get=lambda row: (shown(row.a, glyphs), "")),
        Column(f"B{unit}", 10, right=True, get=lambda row: (shown(row.b, glyphs), "")),
        Column("B/A", 6, right=True, get=marked),
        Column("95 %", 12, get=lambda row: (row.interval, marks.MUTED)),
        Column("note", notes, get=lambda row: (_numbers(row), marks.MUTED)),
    )
    # Many notes may reach into the cell of the scroll bar: a workload is not cut for them.
    room = max(18, min(40, width - sum(one.cells + 2 for one in made[1:]) + notes - 4))
    table = (replace(made[0], cells=room), *made[1:])
    lines += [Content(""), *columns.lines(table, found.worded.rows, width=width, glyphs=glyphs)]
    lines += [Content(""), *_legend(found.worded.rows, found.metric, glyphs)]
    for number, note in enumerate(found.worded.notes, start=1):
        lines += labelled(f"{number:>3}", shown(note, glyphs), width, cells=_NOTE_INDENT)
    return lines


def _side(name: str, side: Chosen, width: int) -> list[Line]:
    lines = labelled((name, f"bold {marks.BUSY}"), side.what, width, cells=3)
    for note in side.notes:
        lines += labelled("", note, width, marks.WARN, cells=3, rows=2)
    return lines


def _numbers(row: WordedRow) -> str:
    return ",".join(str(number) for number in row.notes)


def _legend(rows: Sequence[WordedRow], metric: Metric, glyphs: Glyphs) -> list[Line]:
    """What the marks mean, of those that there are."""
    there = [one for one in Change if one.value and any(row.change is one for row in rows)]
    if not there:
        return []
    found = [change_mark(one, metric, glyphs) for one in there]
    words = [Content.styled(mark.text, mark.style) for mark in found]
    words.append(Content.styled("by the 95 % interval", marks.MUTED))
    return [Content(_GAP).join(words)]
