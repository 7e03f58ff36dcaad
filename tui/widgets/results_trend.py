"""A series over time: chart, its numbers, and what is normal in words; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from textual.content import Content

from appliance.drift.detection.normal import LEAST, Baseline
from appliance.drift.series.trends import Stretch, Trend
from appliance.figures.metric import Metric
from appliance.model.findings import DriftState, FindingRecord
from appliance.model.slots import Slot
from appliance.text import moment
from tui import marks
from tui.charts.axes import Axis, Unit
from tui.charts.line import Band, Chart, Mark, Series
from tui.charts.markers import Marker
from tui.charts.plot import VRule
from tui.charts.table import Table, table_of
from tui.marks import Glyphs
from tui.widgets.drift import severity_mark
from tui.widgets.panel import Line, cell, labelled
from tui.widgets.results import shown

_DAY = 86_400.0
_UNITS = {Metric.IOPS: Unit.COUNT, Metric.BANDWIDTH: Unit.BANDWIDTH}
_LEVEL_SLOTS = 30
# Runs this many times farther apart than usual are not joined by a line.
_GAP_INTERVALS = 6.0
_LABEL_CELLS = 10
# The axis of values, about.
_AXIS_CELLS = 8
_RUNS_OF_A_COLUMN = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """What one column of the chart stands for: one run, or ``runs`` of them from ``begin`` to
    ``end``. ``value`` is the valid ones' median, from ``low`` (p10) to ``high`` (p90); ``None``
    if ``invalid`` counts them all. ``run_id`` is the last of them; ``normal`` is of its epoch.
    """

    begin: float
    end: float
    value: float | None
    low: float
    high: float
    runs: int
    invalid: int
    run_id: int
    normal: Baseline | None


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a chart and its table are made of, within the days that are shown."""

    metric: Metric
    chart: Chart
    readings: tuple[Reading, ...]
    shown: int
    invalid: int


def drawing(
    trend: Trend,
    metric: Metric,
    days: int | None,
    glyphs: Glyphs,
    *,
    now: float,
    width: int | None = None,
) -> Drawing:
    """The part of ``trend`` (of ``metric``) of its last ``days``: values that are valid as a line,
    the others and the findings as marks, what is normal as a band for each epoch. Of more runs
    than ``width`` cells have columns, the median and from p10 to p90 are drawn.

    ``now`` is seconds since the epoch: a run that a wrong clock dated far ahead of it must not
    make all the others look old, and is not drawn.
    """
    every = [slot for stretch in trend.stretches for slot in stretch.slots]
    last = max(
        (slot.started_at for slot in every if slot.started_at <= now + _DAY),
        default=max((slot.started_at for slot in every), default=0.0),
    )
    first = min((slot.started_at for slot in every), default=0.0)
    low = first if days is None else last - days * _DAY
    inside = [slot for slot in every if low <= slot.started_at <= last]
    columns = len(inside) if width is None else max(1, width - _AXIS_CELLS)
    # Where a few runs share a column each is drawn; of more, their median and spread.
    step = (last - low) / columns if len(inside) > _RUNS_OF_A_COLUMN * columns else 0.0
    readings: list[Reading] = []
    points: list[tuple[float, float | None]] = []
    rules: list[VRule] = []
    bands: list[Band] = []
    for number, stretch in enumerate(trend.stretches):
        ends = trend.stretches[number + 1 :]
        end = ends[0].epoch.opened_at if ends else last
        if end < low:
            continue
        begins = stretch.epoch.opened_at
        if low <= begins:
            rules.append(VRule(begins, f"epoch {stretch.epoch.id}"))
        if points:
            # Other disks: the line does not lead there.
            points.append((max(begins, points[-1][0]), None))
        mine = [slot for slot in stretch.slots if low <= slot.started_at <= last]
        here = _readings(mine, stretch.normal, low, step)
        readings += here
        points += [(_middle(one), one.value) for one in here if one.value is not None]
        bands += _spread(here) if step else _band(stretch, low, end)
    found = _findings(trend, low, glyphs)
    # Of many runs in a column some are always not valid: only where half of them are is it marked.
    bad = [one for one in readings if 2 * one.invalid >= one.runs]
    median = f"{metric}, median" if step else metric
    gap = max(_gap(inside), _GAP_INTERVALS * step)
    return Drawing(
        metric,
        Chart(
            (Series(median, tuple(points), gap=gap),),
            x=Axis(Unit.CALENDAR, low=min(low, last - 1), high=last),
            y=Axis(_UNITS.get(metric, Unit.LATENCY), zero=False),
            bands=bands,
            rules=(*rules, *(VRule(one.at, one.label, one.style) for one in found)),
            marks=(*(_bad(one, metric, glyphs, each=not step) for one in bad), *found),
        ),
        readings=tuple(readings),
        shown=len(inside),
        invalid=sum(not slot.valid for slot in inside),
    )


def _readings(
    slots: Sequence[Slot], normal: Baseline | None, first: float, step: float
) -> list[Reading]:
    """Of each run, or of all within one of the steps of time since ``first``."""
    if not step:
        return [_reading([slot], normal) for slot in slots]
    # By number, not by time: a clock that was put back must not begin a column again.
    ordered = sorted(slots, key=lambda slot: slot.started_at)
    columns = groupby(ordered, key=lambda slot: int((slot.started_at - first) / step))
    return [_reading(list(group), normal) for _, group in columns]


def _reading(slots: Sequence[Slot], normal: Baseline | None) -> Reading:
    valid = sorted(slot.value for slot in slots if slot.valid)
    shown = valid or sorted(slot.value for slot in slots)
    return Reading(
        begin=slots[0].started_at,
        end=slots[-1].started_at,
        value=statistics.median(valid) if valid else None,
        low=_share(shown, 0.1),
        high=_share(shown, 0.9),
        runs=len(slots),
        invalid=len(slots) - len(valid),
        run_id=slots[-1].run_id,
        normal=normal,
    )


def _share(ordered: Sequence[float], share: float) -> float:
    """The value that ``share`` of them do not exceed, the nearest that there is."""
    return ordered[round(share * (len(ordered) - 1))]


def _middle(one: Reading) -> float:
    return one.begin / 2 + one.end / 2


def _bad(one: Reading, metric: Metric, glyphs: Glyphs, *, each: bool) -> Mark:
    """With words for the table, in which the value of a run that is not valid is in no column."""
    words = f"{one.invalid} of {one.runs} not valid"
    if one.runs == 1:
        words = f"not valid, {metric.words(one.low)}"
    return Mark(_middle(one), one.low if each else None, glyphs.bad, marks.BAD, words)


def _spread(readings: Sequence[Reading]) -> list[Band]:
    return [
        Band(one.low, one.high, "p10 to p90", one.begin, one.end)
        for one in readings
        if one.value is not None
    ]


def _band(stretch: Stretch, low: float, end: float) -> list[Band]:
    if stretch.normal is None or not stretch.slots:
        return []
    normal = stretch.normal
    begin = max(low, stretch.normal_from)
    return [Band(normal.low, normal.high, "normal", begin, end)] if begin <= end else []


def _findings(trend: Trend, low: float, glyphs: Glyphs) -> list[Mark]:
    """A mark for each finding, where its change began."""
    slots = {slot.run_id: slot for stretch in trend.stretches for slot in stretch.slots}
    found = []
    for one in trend.findings:
        slot = slots.get(_run_of(one))
        at = one.opened_at if slot is None else slot.started_at
        if at >= low:
            value = None if slot is None else slot.value
            style = severity_mark(one.fact.severity, glyphs).style
            found.append(Mark(at, value, glyphs.warn, style, one.fact.code))
    return found


def _run_of(finding: FindingRecord) -> int:
    evidence = finding.fact.evidence
    run = evidence.get("change_run", evidence.get("last_run", 0))
    return run if isinstance(run, int) else 0


def _gap(slots: Sequence[Slot]) -> float:
    apart = [later.started_at - earlier.started_at for earlier, later in pairwise(slots)]
    usual = statistics.median(apart) if apart else 0.0
    return _GAP_INTERVALS * usual if usual > 0 else math.inf


def chart(
    drawn: Drawing,
    *,
    width: int,
    height: int,
    marker: Marker,
    glyphs: Glyphs,
    cursor: int | None = None,
) -> list[Line]:
    """``height`` lines; the last is the legend, or with a ``cursor`` (a number of a reading) what
    is read there.
    """
    if not drawn.shown:
        return [Content.styled("no complete run in this time", marks.MUTED)]
    of = drawn.chart
    if cursor is not None:
        of = replace(of, rules=(*of.rules, VRule(_middle(drawn.readings[cursor]), "", marks.BUSY)))
    lines = of.lines(width=width, height=max(1, height - 1), marker=marker)
    if cursor is not None:
        words = reading_words(drawn.readings[cursor], drawn.metric)
        text = cell(shown(words, glyphs), width, glyphs).rstrip()
        return [*lines, Content.styled(text, marks.BUSY)]
    said = []
    if drawn.invalid:
        said.append(Content.styled(f"{glyphs.bad} {drawn.invalid:,} not valid", marks.BAD))
    if any(mark.glyph == glyphs.warn for mark in of.marks):
        said.append(Content.styled(f"{glyphs.warn} finding", marks.WARN))
    said.append(Content.styled("| epoch", marks.MUTED))
    key = Content("   ").join(said)
    room = max(0, width - key.cell_length - 1)
    return [*lines, Content.assemble(of.legend(width=room, marker=marker), " ", key)]


def reading_words(one: Reading, metric: Metric) -> str:
    """What stands at the cursor: when, how much, beside what is normal, and of which run."""
    begin, end = moment(one.begin)[:16], moment(one.end)[:16]
    when = begin if one.runs == 1 else f"{begin[:10]} to {end[:10]}"
    if one.value is None:
        value = f"{metric.words(one.low)} (not valid)"
    else:
        value = metric.words(one.value)
        if one.runs > 1:
            value += f", p10 {metric.words(one.low)}, p90 {metric.words(one.high)}"
        elif one.normal is not None and one.normal.median > 0:
            value += f", {100 * (one.value / one.normal.median - 1):+.1f} % against normal"
    which = f"run {one.run_id}" if one.runs == 1 else f"{one.runs} runs, last {one.run_id}"
    return f"{when}  {value}  {which}"


def numbers(drawn: Drawing) -> Table:
    """The numbers of the chart, latest first."""
    return table_of(drawn.chart)


def facts(trend: Trend, drawn: Drawing, *, width: int, rows: int, glyphs: Glyphs) -> list[Line]:
    """What it is now, what is normal, and the findings about it, in at most ``rows`` lines."""
    words = drawn.metric.words
    lines: list[Line] = []

    def fact(label: str, text: str) -> list[Line]:
        return labelled(label, shown(text, glyphs), width, cells=_LABEL_CELLS, rows=2)

    last = trend.stretches[-1] if trend.stretches else None
    valid = [slot for slot in last.slots if slot.valid] if last else []
    if last is not None and valid:
        level = statistics.median(slot.value for slot in valid[-_LEVEL_SLOTS:])
        of = min(len(valid), _LEVEL_SLOTS)
        now = f"{words(level)}{_unit(drawn.metric)}, the median of the last {of} valid"
        lines += fact("now", f"{now} of epoch {last.epoch.id}")
    if last is not None:
        lines += fact("normal", _normal_words(last, drawn.metric))
    runs = "run" if drawn.shown == 1 else "runs"
    of_runs = f"{drawn.shown} {runs}, {drawn.invalid} not valid"
    if trend.left_out:
        of_runs += f"; {trend.left_out} of an earlier version of the suite left out"
    lines += fact("shown", of_runs)
    room = rows - len(lines)
    for one in sorted(trend.findings, key=lambda one: one.opened_at, reverse=True):
        if room < 1:
            break
        made = finding_lines(one, width, min(2, room), glyphs)
        lines += made
        room -= len(made)
    return lines[:rows]


def _unit(metric: Metric) -> str:
    """What :meth:`Metric.words` leaves out."""
    return " IOPS" if metric is Metric.IOPS else ""


def _normal_words(stretch: Stretch, metric: Metric) -> str:
    if stretch.normal is None:
        return f"not known yet: a baseline needs {LEAST} valid runs in one epoch"
    normal = stretch.normal
    provisional = ", provisional" if normal.provisional else ""
    return (
        f"{metric.words(normal.low)} to {metric.words(normal.high)}{_unit(metric)}, from"
        f" {normal.count} runs since {moment(stretch.normal_from)[:10]}{provisional}"
    )


def finding_lines(one: FindingRecord, width: int, rows: int, glyphs: Glyphs) -> list[Line]:
    """A finding of drift in at most ``rows`` lines."""
    closed = one.state is DriftState.CLOSED
    glyph = glyphs.good if closed else glyphs.warn
    style = marks.MUTED if closed else severity_mark(one.fact.severity, glyphs).style
    words = f"{one.fact.code} {one.state.value}: {one.fact.summary}"
    return labelled((f"{glyph} {one.id}", style), words, width, cells=_LABEL_CELLS, rows=rows)
