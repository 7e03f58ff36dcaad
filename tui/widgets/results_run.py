"""A run or an import in detail: what it was, its results as a list, charts of one; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from appliance.history.queries import ImportRecord
from appliance.text import bandwidth, count, duration, moment
from tui import marks
from tui.charts import bars, histogram, table
from tui.charts.axes import Unit
from tui.charts.markers import Marker
from tui.marks import Glyphs
from tui.sources.results import RunDetail
from tui.widgets.columns import Cell, Column
from tui.widgets.panel import Line, clean, nanoseconds, section, wrapped
from tui.widgets.results import change_cell, change_style, headline
from tui.widgets.results_item import Item, fact_lines
from tui.widgets.results_trend import finding_lines

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


def item_columns(width: int, glyphs: Glyphs) -> tuple[Column, ...]:
    """The columns of a run's results in ``width`` cells."""
    wide = width >= _WIDE_CELLS

    def figure(
        name: str, cells: int, get: Callable[[Item], float | None], text: Callable[[float], str]
    ) -> Column:
        def made(item: Item) -> Cell:
            value = get(item)
            return ("-", marks.MUTED) if value is None else (text(value), "")

        return Column(name, cells, right=True, get=made, sort=get)

    def latency(value: float) -> str:
        return nanoseconds(value, glyphs)

    def change(item: Item) -> Cell:
        one = item.change
        return ("-", marks.MUTED) if one is None else (change_cell(one, glyphs), change_style(one))

    return (
        Column("job", 26 if wide else 20, get=lambda item: (item.name, "")),
        Column("workload", 26, get=lambda item: (item.workload, marks.MUTED), wide=_WIDE_CELLS),
        figure("IOPS", 7, lambda item: item.iops, count),
        *([figure("bandwidth", 10, lambda item: item.bandwidth_bytes, bandwidth)] if wide else ()),
        figure("mean", 9, lambda item: item.mean_ns, latency),
        figure("p99", 9, lambda item: item.p99_ns, latency),
        Column("change", 6, right=True, get=change),
        Column("verdict", 10, grows=True, get=lambda item: (item.mark.text, item.mark.style)),
    )


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
