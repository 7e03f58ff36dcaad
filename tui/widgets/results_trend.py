"""A series over time: chart, its numbers, and what is normal in words; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from textual.content import Content

from appliance.drift.detection.normal import LEAST
from appliance.drift.series.trends import Stretch, Trend
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord
from appliance.model.slots import Slot
from appliance.text import count, moment
from tui import marks
from tui.charts import line, table
from tui.charts.axes import Axis, Unit, counts
from tui.charts.line import Band, Mark, Series
from tui.charts.markers import Marker
from tui.charts.plot import VRule
from tui.charts.table import Table
from tui.marks import Glyphs
from tui.widgets.panel import Line, clean, wrapped

_DAY = 86_400.0
# Days that are shown, the last of the series; None is all of it.
ZOOMS: tuple[int | None, ...] = (30, 90, None, 7)
_LEVEL_SLOTS = 30
# Runs this many times farther apart than usual are not joined by a line.
_GAP_INTERVALS = 6.0
_LABEL_CELLS = 10
_FEW_INVALID = 40
_STYLES = {
    DriftSeverity.CRITICAL: marks.BAD,
    DriftSeverity.WARNING: marks.WARN,
    DriftSeverity.NOTICE: marks.BUSY,
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a chart and its table are made of, within the days that are shown."""

    series: tuple[Series, ...]
    bands: tuple[Band, ...]
    rules: tuple[VRule, ...]
    marks: tuple[Mark, ...]
    x: Axis
    y: Axis
    shown: int
    invalid: int


def zoom_words(days: int | None) -> str:
    """How much of the series is shown, for the heading."""
    return "all time" if days is None else f"last {days} days"


def drawing(trend: Trend, days: int | None, glyphs: Glyphs, *, now: float) -> Drawing:
    """The part of ``trend`` of its last ``days``: values that are valid as a line, the others and
    the findings as marks, what is normal as a band for each epoch.

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
    invalid = [slot for slot in inside if not slot.valid]
    # So many would hide the line: then they are at the upper edge.
    few = len(invalid) <= _FEW_INVALID
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
        points += [
            (slot.started_at, slot.iops)
            for slot in stretch.slots
            if slot.valid and low <= slot.started_at <= last
        ]
        bands += _band(stretch, low, end)
    found = _findings(trend, low, glyphs)
    return Drawing(
        series=(Series("IOPS", tuple(points), gap=_gap(inside)),),
        bands=tuple(bands),
        rules=(*rules, *(VRule(one.at, one.label, one.style) for one in found)),
        marks=(
            *(
                Mark(one.started_at, one.iops if few else None, glyphs.bad, marks.BAD, _words(one))
                for one in invalid
            ),
            *found,
        ),
        x=Axis(Unit.CALENDAR, low=min(low, last - 1), high=last),
        y=counts(zero=False),
        shown=len(inside),
        invalid=len(invalid),
    )


def _words(slot: Slot) -> str:
    """For the table, in which the value of a run that is not valid is in no column."""
    return f"not valid, {count(slot.iops)}"


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
            value = None if slot is None else slot.iops
            style = _STYLES[one.fact.severity]
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


def chart(drawn: Drawing, *, width: int, height: int, marker: Marker, glyphs: Glyphs) -> list[Line]:
    """``height`` lines; the last is the legend."""
    if not drawn.shown:
        return [Content.styled("no complete run in this time", marks.MUTED)]
    lines = line.line_chart(
        drawn.series,
        width=width,
        height=max(1, height - 1),
        marker=marker,
        x=drawn.x,
        y=drawn.y,
        bands=drawn.bands,
        rules=drawn.rules,
        marks=drawn.marks,
    )
    said = []
    if drawn.invalid:
        said.append(Content.styled(f"{glyphs.bad} not valid", marks.BAD))
    if len(drawn.marks) > drawn.invalid:
        said.append(Content.styled(f"{glyphs.warn} finding", marks.WARN))
    said.append(Content.styled("| epoch", marks.MUTED))
    key = Content("   ").join(said)
    room = max(0, width - key.cell_length - 1)
    legend = line.legend(drawn.series, width=room, marker=marker, bands=drawn.bands)
    return [*lines, Content.assemble(legend, " ", key)]


def numbers(drawn: Drawing) -> Table:
    """The numbers of the chart, latest first."""
    made = table.table_of(
        drawn.series,
        x=drawn.x,
        y=drawn.y,
        bands=drawn.bands,
        rules=drawn.rules,
        marks=drawn.marks,
    )
    return Table(made.header, tuple(reversed(made.rows)))


def facts(trend: Trend, drawn: Drawing, *, width: int, rows: int, glyphs: Glyphs) -> list[Line]:
    """What is normal, what it is now, and the findings about it, in at most ``rows`` lines."""
    lines: list[Line] = []
    last = trend.stretches[-1] if trend.stretches else None
    valid = [slot for slot in last.slots if slot.valid] if last else []
    if last is not None and valid:
        level = statistics.median(slot.iops for slot in valid[-_LEVEL_SLOTS:])
        of = min(len(valid), _LEVEL_SLOTS)
        now = f"{count(level)} IOPS, the median of the last {of} valid of epoch {last.epoch.id}"
        lines += _fact("now", now, width)
    if last is not None:
        lines += _fact("normal", _normal_words(last), width)
    runs = "run" if drawn.shown == 1 else "runs"
    shown = f"{drawn.shown} {runs}, {drawn.invalid} not valid"
    if trend.left_out:
        shown += f"; {trend.left_out} of an earlier version of the suite are left out"
    lines += _fact("shown", shown, width)
    room = rows - len(lines)
    for one in sorted(trend.findings, key=lambda one: one.opened_at, reverse=True):
        if room < 1:
            break
        made = _finding(one, width, min(2, room), glyphs)
        lines += made
        room -= len(made)
    return lines[:rows]


def _normal_words(stretch: Stretch) -> str:
    if stretch.normal is None:
        return f"not known yet: a baseline needs {LEAST} valid runs in one epoch"
    normal = stretch.normal
    provisional = ", provisional" if normal.provisional else ""
    return (
        f"{count(normal.low)} to {count(normal.high)} IOPS, from {normal.count} runs since "
        f"{moment(stretch.normal_from)[:10]}{provisional}"
    )


def _finding(one: FindingRecord, width: int, rows: int, glyphs: Glyphs) -> list[Line]:
    closed = one.state is DriftState.CLOSED
    glyph = glyphs.good if closed else glyphs.warn
    style = marks.MUTED if closed else _STYLES[one.fact.severity]
    words = f"{one.fact.code} {one.state.value}: {one.fact.summary}"
    first = Content.styled(f"{glyph} {one.id}", style)
    return wrapped(clean(words), first=first, indent=_LABEL_CELLS, width=width, rows=rows)


def _fact(label: str, words: str, width: int) -> list[Line]:
    first = Content.styled(label, marks.MUTED)
    return wrapped(words, first=first, indent=_LABEL_CELLS, width=width, rows=2)
