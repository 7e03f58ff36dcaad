"""A run or an import in detail: what it was, its results as a list, charts of one; pure."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from appliance.history.queries import ImportRecord
from appliance.text import bandwidth, count, duration, moment
from tui import marks
from tui.charts import bars, histogram, table
from tui.charts.axes import Unit
from tui.charts.markers import Marker
from tui.marks import Glyphs
from tui.sources.results import RunDetail
from tui.widgets.panel import Line, clean, nanoseconds, section, wrapped
from tui.widgets.results import change_cell, change_style, headline
from tui.widgets.results_item import Item, fact_lines
from tui.widgets.results_trend import finding_lines
from tui.widgets.table import Column, Row

_LABEL_CELLS = 8
_WIDE_CELLS = 110
_MEMBER_ROWS = 17
_FINDINGS = 2


def run_facts(detail: RunDetail, items: Sequence[Item], width: int, glyphs: Glyphs) -> list[Line]:
    """How the run ended and when; what failed, its figures beside normal, findings; then what it
    measured.
    """
    run = detail.run
    mark = marks.run_state(run.state, glyphs)
    seconds = -1.0 if run.ended_at is None else run.ended_at - run.started_at
    took = f", took {duration(seconds)}" if seconds >= 0 else ""
    epoch = "" if run.epoch_id is None else f", epoch {run.epoch_id}"
    lines: list[Line] = [
        Content.assemble(
            (mark.text, f"bold {mark.style}"), f"  {moment(run.started_at)}{took}{epoch}"
        )
    ]
    bad = [one for one in items if any(each.severity == "block" for each in one.findings)]
    if bad:
        words = f"{glyphs.bad} {len(bad)} of {len(items)} results not valid: "
        words += ", ".join(f"{one.name} {one.mark.word}" for one in bad)
        lines += wrapped(clean(words), width=width, style=marks.BAD, rows=2)
    if detail.figures is not None:
        lines += headline(detail.figures, width, glyphs)
    for one in detail.findings[:_FINDINGS]:
        lines += finding_lines(one, width, 1, glyphs)
    facts = [("on", f"{detail.layout}, {run.target}, {run.fio_version} {run.engine}".rstrip())]
    facts += [("reason", run.reason), ("scaled", run.scaled)]
    facts += [("note", note) for note in run.notes]
    return lines + fact_lines(facts, width, glyphs, cells=_LABEL_CELLS)


def import_facts(record: ImportRecord | None, width: int, glyphs: Glyphs) -> list[Line]:
    """Whose report it is, as far as that was given."""
    if record is None:
        return []
    machine = record.machine_type or "machine type not given"
    words = f"{record.file}, {machine}, imported {moment(record.at)}"
    return fact_lines([("file", words)], width, glyphs, cells=_LABEL_CELLS)


def item_columns(width: int) -> tuple[Column, ...]:
    """The columns of a run's results in ``width`` cells."""
    wide = width >= _WIDE_CELLS
    return (
        Column("job", 26 if wide else 20),
        *([Column("workload", 26)] if wide else []),
        Column("IOPS", 7, right=True),
        *([Column("bandwidth", 10, right=True)] if wide else []),
        Column("mean", 8, right=True),
        Column("p99", 8, right=True),
        Column("change", 6, right=True),
        Column("verdict", 10, grows=True),
    )


def item_rows(items: Sequence[Item], width: int, glyphs: Glyphs) -> list[Row]:
    """A row for each result, called by its number."""
    rows = []
    for number, item in enumerate(items):
        cells = {
            "job": (item.name, ""),
            "workload": (item.workload, marks.MUTED),
            "verdict": (item.mark.text, item.mark.style),
        }
        if item.iops is not None:
            cells["IOPS"] = (count(item.iops), "")
        if item.bandwidth_bytes is not None:
            cells["bandwidth"] = (bandwidth(item.bandwidth_bytes), "")
        for name, latency_ns in (("mean", item.mean_ns), ("p99", item.p99_ns)):
            if latency_ns is not None:
                cells[name] = (nanoseconds(latency_ns, glyphs), "")
        if item.change is not None:
            cells["change"] = (change_cell(item.change, glyphs), change_style(item.change))
        nothing = ("-", marks.MUTED)
        columns = item_columns(width)
        rows.append(Row(str(number), tuple(cells.get(one.name, nothing) for one in columns)))
    return rows


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
        lines += table.table_of_bins(item.bins, rules).lines(glyphs)
    else:
        lines.append(Content.styled("no histogram is kept of this result", marks.MUTED))
    lines += [Content(""), _title("MEMBERS", "requests of this direction", width, glyphs)]
    members = table.table_of_members(item.members, unit=Unit.COUNT, what="I/Os")
    return lines + members.lines(glyphs)


def _title(name: str, note: str, width: int, glyphs: Glyphs) -> Line:
    return section(name, Content.styled(note, marks.MUTED), width, glyphs)
