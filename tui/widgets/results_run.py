"""A run or an import in detail: what it was, its results as a list, charts of one; pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from appliance.history.queries import ImportRecord
from appliance.model.runs import RunRecord
from appliance.text import bandwidth, count, duration, moment
from tui import marks
from tui.charts import bars, histogram, table
from tui.charts.axes import Unit
from tui.charts.markers import Marker
from tui.charts.table import Table
from tui.marks import Glyphs
from tui.widgets.panel import Line, cell, clean, nanoseconds, section, wrapped
from tui.widgets.results_item import Item

_LABEL_CELLS = 8
_WIDE_CELLS = 110
_GAP = "  "
_MEMBER_ROWS = 17


def run_facts(run: RunRecord, layout: str, width: int, glyphs: Glyphs) -> list[Line]:
    """How the run ended, when it was, and what it measured."""
    mark = marks.run_state(run.state, glyphs)
    seconds = -1.0 if run.ended_at is None else run.ended_at - run.started_at
    took = f", took {duration(seconds)}" if seconds >= 0 else ""
    epoch = "" if run.epoch_id is None else f", epoch {run.epoch_id}"
    lines: list[Line] = [
        Content.assemble(
            (mark.text, f"bold {mark.style}"), f"  {moment(run.started_at)}{took}{epoch}"
        )
    ]
    facts = [("on", f"{layout}, {run.target}, {run.fio_version} {run.engine}".rstrip())]
    facts += [("reason", run.reason), ("scaled", run.scaled)]
    facts += [("note", note) for note in run.notes]
    return lines + _facts(facts, width)


def import_facts(record: ImportRecord | None, width: int) -> list[Line]:
    """Whose report it is, as far as that was given."""
    if record is None:
        return []
    machine = record.machine_type or "machine type not given"
    words = f"{record.file}, {machine}, imported {moment(record.at)}"
    return _facts([("file", words)], width)


def _facts(facts: Sequence[tuple[str, str]], width: int) -> list[Line]:
    lines: list[Line] = []
    for label, words in facts:
        if words:
            first = Content.styled(label, marks.MUTED)
            lines += wrapped(clean(words), first=first, indent=_LABEL_CELLS, width=width, rows=2)
    return lines


def list_lines(
    items: Sequence[Item], chosen: int, *, width: int, rows: int, glyphs: Glyphs
) -> list[Line]:
    """The results as a list of at most ``rows`` lines (the first is a heading) around the
    chosen one.
    """
    room = max(0, rows - 1)
    wide = width >= _WIDE_CELLS
    names = min(38, max([12, *(cell_len(clean(one.name)) for one in items)]))
    names = names if wide else min(names, 24)
    shapes = max([5, *(cell_len(one.shape) for one in items)])
    first = min(max(0, chosen - room // 2), max(0, len(items) - room))
    more = f"{first + 1} to {min(len(items), first + room)} of {len(items)}"
    title = f"job {glyphs.dot} {more}" if len(items) > room else "job"
    heads = [("IOPS", 8), ("mean", 9), ("p99", 9)]
    if wide:
        heads.insert(1, ("bandwidth", 11))
    line = (
        "  "
        + cell(title, names, glyphs)
        + _GAP
        + cell("asked", shapes, glyphs)
        + "".join(" " + cell(head, cells, glyphs, right=True) for head, cells in heads)
        + _GAP
        + "verdict"
    )
    lines: list[Line] = [Content.styled(cell(line, width, glyphs).rstrip(), marks.MUTED)]
    for number, item in enumerate(items[first : first + room], start=first):
        here = number == chosen
        figures = [
            "-" if item.iops is None else count(item.iops),
            "-" if item.mean_ns is None else nanoseconds(item.mean_ns, glyphs),
            "-" if item.p99_ns is None else nanoseconds(item.p99_ns, glyphs),
        ]
        if wide:
            known = item.bandwidth_bytes
            figures.insert(1, "-" if known is None else bandwidth(known))
        text = (
            f"{glyphs.cursor if here else ' '} "
            + cell(clean(item.name), names, glyphs)
            + _GAP
            + cell(item.shape, shapes, glyphs)
            + "".join(
                " " + cell(figure, cells, glyphs, right=True)
                for figure, (_, cells) in zip(figures, heads, strict=True)
            )
            + _GAP
        )
        room_left = max(0, width - cell_len(text))
        verdict = cell(item.mark.text, min(cell_len(item.mark.text), room_left), glyphs)
        lines.append(Content.assemble((text, "bold" if here else ""), (verdict, item.mark.style)))
    return lines


def chart_lines(
    item: Item, *, width: int, height: int, marker: Marker, glyphs: Glyphs
) -> list[Line]:
    """Latency histogram in ``height`` lines, and the members beside each other."""
    lines: list[Line] = [Content(""), _title("LATENCY", "share of I/Os", width, glyphs)]
    if item.bins:
        rules = histogram.percentile_rules(item.percentiles_ns)
        lines += histogram.histogram(
            item.bins, width=width, height=height, marker=marker, percentiles=rules
        )
    else:
        lines.append(Content.styled("no histogram is kept of this result", marks.MUTED))
    lines += [Content(""), _title("MEMBERS", "requests of this direction", width, glyphs)]
    if item.members:
        lines += bars.balance(
            item.members,
            width=width,
            height=_MEMBER_ROWS,
            marker=marker,
            unit=Unit.COUNT,
            what="I/Os",
        )
    else:
        lines.append(Content.styled("what each disk did is not known", marks.MUTED))
    return lines


def number_lines(item: Item, *, width: int, glyphs: Glyphs) -> list[Line]:
    """The numbers of the charts, as tables."""
    rules = histogram.percentile_rules(item.percentiles_ns)
    lines = [Content(""), _title("LATENCY", "the histogram's bins", width, glyphs)]
    if item.bins:
        lines += as_lines(table.table_of_bins(item.bins, rules), glyphs)
    else:
        lines.append(Content.styled("no histogram is kept of this result", marks.MUTED))
    lines += [Content(""), _title("MEMBERS", "requests of this direction", width, glyphs)]
    members = table.table_of_members(item.members, unit=Unit.COUNT, what="I/Os")
    return lines + as_lines(members, glyphs)


def as_lines(made: Table, glyphs: Glyphs) -> list[Line]:
    """A table as lines, figures to the right and the last column to the left."""
    rows = [made.header, *made.rows]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(made.header))]
    last = len(widths) - 1
    lines = []
    for number, row in enumerate(rows):
        text = _GAP.join(
            cell(words, width, glyphs, right=0 < column < last)
            for column, (words, width) in enumerate(zip(row, widths, strict=True))
        )
        # An ASCII terminal has no micro sign.
        text = text.replace("µ", "u") if glyphs is marks.ASCII else text
        lines.append(Content.styled(text.rstrip(), "" if number else marks.MUTED))
    return lines


def _title(name: str, note: str, width: int, glyphs: Glyphs) -> Line:
    return section(name, Content.styled(note, marks.MUTED), width, glyphs)
