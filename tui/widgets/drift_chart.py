"""The evidence of a finding as a chart, and the same numbers as a table. Pure."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from textual.content import Content

from appliance.model.findings import FindingRecord
from appliance.model.slots import Slot
from tui import marks
from tui.charts.axes import Axis, Unit
from tui.charts.histogram import Percentile, histogram
from tui.charts.line import Band, Chart, Mark, Series
from tui.charts.markers import Marker
from tui.charts.plot import VRule
from tui.charts.table import table_of, table_of_bins
from tui.marks import Glyphs
from tui.sources.drift import Evidence
from tui.widgets.panel import Line, clean, section

# So many results before a change show what was usual; ten years of them would show nothing else.
_BEFORE = 60
_MOST_AFTER = 400
# Longer than so many usual intervals without a result is a gap.
_GAP_INTERVALS = 4.0
_LEAST_ROWS = 6


def has_chart(evidence: Evidence | None) -> bool:
    if evidence is None:
        return False
    return bool(evidence.bins) or (evidence.stretch is not None and bool(evidence.stretch.slots))


def chart_lines(
    record: FindingRecord,
    evidence: Evidence,
    width: int,
    rows: int,
    *,
    marker: Marker,
    glyphs: Glyphs,
) -> list[Line]:
    """Heading, legend and chart in ``rows`` lines; nothing where they are too few."""
    if rows < _LEAST_ROWS or width < 1:
        return []
    if evidence.bins:
        note = "latency of the last run judged: share of I/Os"
        head = section("EVIDENCE", Content.styled(note, marks.MUTED), width, glyphs)
        drawn = histogram(
            evidence.bins,
            width=width,
            height=rows - 1,
            marker=marker,
            percentiles=_latencies(record),
        )
        return [head, *drawn]
    what = chart_of(record, evidence, glyphs)
    note = "IOPS of each run"
    if what.marks:
        note += f" {glyphs.dot} {glyphs.label} a repeat"
    return [
        section("EVIDENCE", Content.styled(note, marks.MUTED), width, glyphs),
        what.legend(width=width, marker=marker),
        *what.lines(width=width, height=rows - 2, marker=marker),
    ]


def numbers(record: FindingRecord, evidence: Evidence, glyphs: Glyphs) -> Content:
    """The numbers of the chart, one line each, for the sheet."""
    if evidence.bins:
        made = table_of_bins(evidence.bins, _latencies(record))
    else:
        made = table_of(chart_of(record, evidence, glyphs))
    return Content("\n").join(made.lines(glyphs))


def chart_of(record: FindingRecord, evidence: Evidence, glyphs: Glyphs) -> Chart:
    """The series around the change, what was normal, when it changed, and the repeats."""
    known = record.fact.evidence
    slots = _around(evidence.stretch.slots if evidence.stretch else (), known.get("change_run"))
    points = [(slot.started_at, slot.value) for slot in slots if slot.valid]
    rules = [
        VRule(at, words, style)
        for run, words, style in (
            (known.get("change_run"), "changed", marks.WARN),
            (known.get("alarm_run"), "alarm", marks.BUSY),
        )
        if (at := _start_of(slots, run)) is not None
    ]
    repeats = [
        Mark(one.at, value, glyphs.label, marks.BUSY, "repeat")
        for one in evidence.said
        for value in one.repeats
    ]
    return Chart(
        (Series(clean(record.fact.subject), points, gap=_gap(points)),),
        Axis(Unit.CALENDAR),
        Axis(Unit.COUNT, zero=False),
        _normal(record, evidence),
        tuple(rules),
        tuple(repeats),
    )


def _around(slots: Sequence[Slot], change_run: object) -> Sequence[Slot]:
    """All since shortly before the change; of what has no change, the last."""
    at = next((place for place, slot in enumerate(slots) if slot.run_id == change_run), None)
    if at is None:
        return slots[-_MOST_AFTER:]
    return slots[max(0, at - _BEFORE) :][:_MOST_AFTER]


def _start_of(slots: Sequence[Slot], run: object) -> float | None:
    return next((slot.started_at for slot in slots if slot.run_id == run), None)


def _normal(record: FindingRecord, evidence: Evidence) -> tuple[Band, ...]:
    """As the finding has it; else as the series has it."""
    known = record.fact.evidence
    low, high = known.get("baseline_low_iops"), known.get("baseline_high_iops")
    if isinstance(low, int | float) and isinstance(high, int | float):
        return (Band(float(low), float(high), "normal"),)
    if evidence.stretch is not None and evidence.stretch.normal is not None:
        normal = evidence.stretch.normal
        return (Band(normal.low, normal.high, "normal"),)
    return ()


def _gap(points: Sequence[tuple[float, float]]) -> float:
    apart = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(points)]
    return _GAP_INTERVALS * statistics.median(apart) if apart else math.inf


def _latencies(record: FindingRecord) -> tuple[Percentile, ...]:
    known = record.fact.evidence
    found = []
    for name, words in (("cut_ns", "usual end"), ("mode_ns", "second peak")):
        value = known.get(name)
        if isinstance(value, int | float):
            found.append(Percentile(words, float(value)))
    return tuple(found)
