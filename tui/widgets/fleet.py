"""A fleet as lines and rows: the odd ones, the days of one, and tables of the rest. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from textual.content import Content

from appliance.fleet import words
from appliance.fleet.odd import Odd
from appliance.fleet.overview import Judged, Kind, Normal, Survey
from appliance.text import count
from tui import marks
from tui.charts.axes import Axis, Unit
from tui.charts.line import Chart, Series
from tui.charts.markers import Marker
from tui.charts.plot import VRule
from tui.charts.table import table_of
from tui.marks import Glyphs, Mark
from tui.widgets.columns import Cell, Column, Row, row
from tui.widgets.panel import (
    ALL,
    Line,
    cell,
    clean,
    labelled,
    nanoseconds,
    section,
)

# From this width on there is room for type, q and series, and for the chart beside the words.
WIDE_CELLS = 120
_DAY = 86_400.0
_LABEL_CELLS = 10
_LEAST_CHART = 6
# So many are named in the heading; p has all.
_NAMED = 3


# -- the heading


def heading_lines(found: Survey, glyphs: Glyphs, width: int) -> list[Line]:
    """How many are odd, which do not report, and what is not counted."""
    mark = Mark(glyphs.warn, "", marks.WARN) if found.odd else Mark(glyphs.good, "", marks.GOOD)
    lines = [_line(f"{mark.glyph} {words.headline(found.odd)}", mark.style, width, glyphs)]
    silent = [f"{name} since {last}" for name, last in found.silent]
    left_out = [f"{one.what}: {one.why}" for one in found.problems]
    for what, named in (("not reporting", silent), ("not counted", left_out)):
        if named:
            first = "; ".join(islice(named, _NAMED))
            text = f"{glyphs.warn} {len(named):,} {what}: {first}"
            lines.append(_line(text, marks.WARN, width, glyphs))
    return lines


def _line(text: str, style: str, width: int, glyphs: Glyphs) -> Line:
    return Content.styled(cell(clean(text), width, glyphs).rstrip(), style)


# -- the odd ones


def columns(width: int) -> tuple[Column, ...]:
    wide = width >= WIDE_CELLS
    return (
        Column("machine", 10, grows=True, get=lambda one: (one.unit.machine, "")),
        Column("disk", 20 if wide else 13, get=lambda one: (one.unit.member or "-", "")),
        Column("type", 18, wide=WIDE_CELLS, get=lambda one: (one.machine_type or "?", "")),
        Column("job", 28, get=lambda one: (words.job(one), "")),
        Column("beside siblings" if wide else "beside", 15 if wide else 12, right=True,
               get=_effect, sort=lambda one: abs(one.effect)),
        Column("since", 10, get=lambda one: (words.since(one), "")),
        Column("q", 7, right=True, wide=WIDE_CELLS, get=lambda one: (f"{one.q_value:.1g}", ""),
               sort=lambda one: one.q_value),
        Column("series", 6, right=True, wide=WIDE_CELLS, get=lambda one: (str(one.series), ""),
               sort=lambda one: one.series),
    )  # fmt: skip


def _effect(one: Odd) -> Cell:
    return words.effect(one), marks.WARN if one.worse else marks.BUSY


def key_of(one: Odd) -> str:
    """Its row's identity."""
    return "\n".join(one.unit)


def rows(found: Sequence[Odd], width: int) -> list[Row]:
    made = columns(width)
    return [
        row(made, one, key=key_of(one), also=f"{one.machine_type} {one.suite}") for one in found
    ]


def name_of(one: Odd) -> str:
    """Machine and disk."""
    return clean(" ".join(part for part in one.unit if part))


def odd_lines(one: Odd, width: int, glyphs: Glyphs) -> list[Line]:
    """What is odd about it."""
    word = (
        Mark(glyphs.warn, "slower", marks.WARN)
        if one.worse
        else (Mark(glyphs.label, "faster", marks.BUSY))
    )
    return [
        section(name_of(one), Content.styled(word.text, word.style), width, glyphs),
        *facts(one, width),
    ]


def facts(one: Odd, width: int) -> list[Line]:
    """A line for each thing that is known of it."""
    said = (
        ("what", f"{words.effect(one)} in {words.job(one)}, {words.when(one)}"),
        ("evidence", words.evidence(one)),
        ("beside", "the other disks of its stripe" if one.unit.member else
         "machines of its type under the same conditions, day by day"),
        ("type", f"{one.machine_type or '?'}, suite {one.suite}"),
    )  # fmt: skip
    return [
        line
        for label, text in said
        for line in labelled(label, text, width, cells=_LABEL_CELLS, rows=2)
    ]


def chart_of(one: Odd) -> Chart:
    """Its days beside its siblings' median, which is zero."""
    points = [(_seconds(day), percent) for day, percent in words.days(one)]
    ends = [(at, 0.0) for at, _ in (points[:1] + points[-1:])]
    since = words.day_of(one.since)
    return Chart(
        (
            Series(f"{words.figure(one)}, beside siblings", points, gap=2.5 * _DAY),
            Series("siblings", ends, marks.MUTED),
        ),
        Axis(Unit.CALENDAR),
        Axis(Unit.PERCENT),
        rules=(VRule(_seconds(since), "since", marks.WARN),) if since else (),
    )


def _seconds(day: datetime.date) -> float:
    return datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp()


def chart_lines(one: Odd, width: int, rows: int, marker: Marker) -> list[Line]:
    """Legend and chart in ``rows`` lines; nothing where they are too few."""
    if rows < _LEAST_CHART or width < 1:
        return []
    if not words.days(one):
        return [Content.styled("it shows in no job alone: there are no days to draw", marks.MUTED)]
    drawn = chart_of(one)
    return [
        drawn.legend(width=width, marker=marker),
        *drawn.lines(width=width, height=rows - 1, marker=marker),
    ]


def sheet_text(one: Odd, glyphs: Glyphs) -> Content:
    """Everything of it, with the figure of each day."""
    lines = facts(one, ALL)
    if words.days(one):
        drawn = chart_of(one)
        days = table_of(replace(drawn, series=drawn.series[:1]))
        lines += [Content(""), *days.lines(glyphs)]
    return Content("\n").join(lines)


# -- the rest, as pages


def normal_columns(glyphs: Glyphs) -> tuple[Column, ...]:
    def latency(at: int) -> Column:
        name = ("p50", "p99", "p99.9")[at]
        return Column(
            name, 9, right=True, wide=0 if at == 1 else WIDE_CELLS,
            get=lambda one: (
                nanoseconds(one.latency_ns[at], glyphs) if one.latency_ns else "?", ""
            ),
            sort=lambda one: one.latency_ns[at] if one.latency_ns else None,
        )  # fmt: skip

    return (
        Column("type", 8, grows=True, get=lambda one: (one.machine_type or "?", "")),
        Column("job", 28, get=lambda one: (words.job(one), "")),
        Column("mach.", 5, right=True, get=lambda one: (f"{one.machines}", "")),
        Column("IOPS", 7, right=True, get=lambda one: (count(one.iops[1]), "")),
        Column("p10 to p90", 16, right=True, wide=WIDE_CELLS,
               get=lambda one: (words.spread(one), "")),
        Column("publ.", 6, right=True, get=lambda one: (words.published(one), "")),
        *map(latency, range(3)),
    )  # fmt: skip


def normal_rows(found: Sequence[Normal], glyphs: Glyphs) -> list[Row]:
    made = normal_columns(glyphs)
    return [row(made, one, key=str(at), also=one.suite) for at, one in enumerate(found)]


def _kind_column(at: int, name: str, cells: int) -> Column:
    grows, right = name == "kernel", name == "machines"
    return Column(name, cells, grows=grows, right=right, get=lambda one: (words.kind(one)[at], ""))


KIND_COLUMNS = (
    _kind_column(0, "type", 17),
    _kind_column(1, "kernel", 12),
    _kind_column(2, "fio", 9),
    _kind_column(3, "version", 8),
    _kind_column(4, "machines", 8),
)


def kind_rows(found: Sequence[Kind]) -> list[Row]:
    return [row(KIND_COLUMNS, one, key=str(at)) for at, one in enumerate(found)]


VERDICT_COLUMNS = (
    Column("rule", 12, grows=True, get=lambda one: (one.code, "")),
    Column("severity", 8, get=lambda one: (one.severity, "")),
    Column("results", 9, right=True, get=lambda one: (f"{one.results:,}", "")),
    Column("machines", 8, right=True, get=lambda one: (f"{one.machines:,}", "")),
)


def verdict_rows(found: Sequence[Judged]) -> list[Row]:
    return [row(VERDICT_COLUMNS, one, key=str(at)) for at, one in enumerate(found)]


PROBLEM_COLUMNS = (
    Column("what", 30, get=lambda one: (one[0], "")),
    Column("why", 12, grows=True, get=lambda one: (one[1], "")),
)


def problem_rows(found: Survey) -> list[Row]:
    """Those that do not report, and what is not counted."""
    silent = [(name, f"does not report: no run since {last}") for name, last in found.silent]
    said = [*silent, *((one.what, one.why) for one in found.problems)]
    return [row(PROBLEM_COLUMNS, one, key=str(at)) for at, one in enumerate(said)]
