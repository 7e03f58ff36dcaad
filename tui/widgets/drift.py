"""Findings of drift as rows of a table and as lines of text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.content import Content

from appliance.drift.check_summary import DriftSummary
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord, by_gravity
from appliance.text import duration, moment
from tui import marks
from tui.marks import Glyphs, Mark
from tui.sources.drift import Evidence
from tui.widgets import columns as columns_of
from tui.widgets import drift_finding as finding
from tui.widgets.columns import Cell, Column, Row
from tui.widgets.panel import Line, View, cell, clean, labelled, section, wrapped

WIDE_CELLS = 130
_LABEL_CELLS = 10
_SHEET_LABEL_CELLS = 22
# What an operator looks for at three in the morning.
_STYLES = {"cause": marks.WARN, "next": "bold"}


@dataclass(frozen=True, slots=True)
class Work:
    """What is going on, with since when (of the feed's clock), or what went wrong."""

    reading_seconds: float = 0.0
    problem: str = ""
    problem_age: float = 0.0
    doing: str = ""


def severity_mark(severity: DriftSeverity, glyphs: Glyphs) -> Mark:
    return {
        DriftSeverity.CRITICAL: Mark(glyphs.bad, "critical", marks.BAD),
        DriftSeverity.WARNING: Mark(glyphs.warn, "warning", marks.WARN),
        DriftSeverity.NOTICE: Mark(glyphs.label, "notice", marks.BUSY),
    }[severity]


def state_mark(state: DriftState, glyphs: Glyphs) -> Mark:
    return {
        DriftState.OPEN: Mark(glyphs.dot, "open", ""),
        DriftState.SUSPECT: Mark(glyphs.unknown, "suspect", marks.BUSY),
        DriftState.CONFIRMED: Mark(glyphs.dot, "confirmed", ""),
        DriftState.ACKNOWLEDGED: Mark(glyphs.idle, "acknowledged", marks.MUTED),
        DriftState.CLOSED: Mark(glyphs.good, "closed", marks.MUTED),
    }[state]


def in_order(records: Iterable[FindingRecord], *, closed: bool) -> list[FindingRecord]:
    """Open findings, most severe first; then, if wanted, closed ones, latest first."""
    here = [one for one in records if one.state is not DriftState.CLOSED]
    over = [one for one in records if one.state is DriftState.CLOSED] if closed else []
    return [
        *sorted(here, key=by_gravity),
        *sorted(over, key=lambda one: (one.closed_at or 0.0, one.id), reverse=True),
    ]


def columns(width: int, glyphs: Glyphs) -> tuple[Column, ...]:
    wide = width >= WIDE_CELLS

    def severity(record: FindingRecord) -> Cell:
        mark = severity_mark(record.fact.severity, glyphs)
        return mark.text, marks.MUTED if record.state is DriftState.CLOSED else mark.style

    def state(record: FindingRecord) -> Cell:
        return columns_of.marked(state_mark(record.state, glyphs))

    def code(record: FindingRecord) -> Cell:
        return record.fact.code, "" if record.state is DriftState.CLOSED else "bold"

    def subject(record: FindingRecord) -> Cell:
        return record.fact.subject, ""

    def since(record: FindingRecord) -> Cell:
        return moment(finding.changed_at(record))[0 if wide else 5 : 16], ""

    return (
        Column("severity", 10, get=severity),
        Column("state", 14, get=state),
        Column("code", 20 if wide else 17, get=code),
        Column("subject", 28 if wide else 12, grows=not wide, get=subject),
        Column("since (UTC)", 16 if wide else 11, get=since, sort=finding.changed_at),
        Column("summary", 20, grows=wide, get=lambda one: (one.fact.summary, ""), wide=WIDE_CELLS),
    )


def row(record: FindingRecord, width: int, glyphs: Glyphs) -> Row:
    also = f"#{record.id} {record.fact.summary}"
    return columns_of.row(columns(width, glyphs), record, key=str(record.id), also=also)


def heading_lines(
    view: View,
    records: Sequence[FindingRecord] | None,
    unjudged: str,
    work: Work,
    width: int,
    *,
    closed: bool,
) -> list[Line]:
    """How many there are, when the last check was, what cannot be judged yet, what runs."""
    glyphs = view.glyphs
    status = None if view.snapshot is None else view.snapshot.status
    summary = None if status is None else status.drift
    here = sum(one.state is not DriftState.CLOSED for one in records or ())
    over = len(records or ()) - here
    parts = ["not read yet"] if records is None else [_counted(here, over, closed=closed)]
    parts.append(_looked(summary, view.wall))
    lines = [
        section(
            "DRIFT",
            Content.styled(f" {glyphs.dot} ".join(part for part in parts if part), marks.MUTED),
            width,
            glyphs,
        )
    ]
    if summary is not None and summary.overdue:
        words = f"{glyphs.warn} {clean(summary.overdue)}; d checks now"
        lines.append(Content.styled(cell(words, width, glyphs), marks.WARN))
    if work.problem:
        old = f"; this is {duration(work.problem_age)} old" if records is not None else ""
        words = f"{glyphs.warn} not read: {clean(work.problem)}{old}"
        lines.append(Content.styled(cell(words, width, glyphs), marks.WARN))
    elif work.reading_seconds > 1:
        words = f"{glyphs.busy} reading, for {duration(work.reading_seconds)}"
        lines.append(Content.styled(words, marks.BUSY))
    if work.doing:
        words = f"{glyphs.busy} {clean(work.doing)}"
        lines.append(Content.styled(cell(words, width, glyphs), marks.BUSY))
    if unjudged:
        words = clean(unjudged)
        lines += wrapped(words, width=width, style=marks.MUTED, rows=2)
    return lines


def nothing_words(view: View) -> str:
    """The line without findings; it says that nothing has drifted only after a check."""
    status = None if view.snapshot is None else view.snapshot.status
    summary = None if status is None else status.drift
    if summary is None or summary.checked_at is None:
        return "no findings: never checked yet"
    return "nothing has drifted"


def _counted(here: int, over: int, *, closed: bool) -> str:
    findings = "finding" if here == 1 else "findings"
    shown = f"{here} {findings}" if here else "no findings"
    return f"{shown}, {over} closed" if closed else shown


def _looked(summary: DriftSummary | None, wall: float) -> str:
    if summary is None:
        return ""
    if summary.checked_at is None:
        return "never checked"
    seconds = wall - summary.checked_at
    return f"last check {duration(seconds)} ago" if seconds >= 0 else "last check just now"


# ----------------------------------------------------------------------- the finding itself


def finding_lines(
    record: FindingRecord, rows: finding.Rows, width: int, glyphs: Glyphs
) -> list[Line]:
    """What is wrong, then ``rows``: see :func:`tui.widgets.drift_finding.opening`."""
    state = state_mark(record.state, glyphs)
    lines = [
        section(
            f"#{record.id} {clean(record.fact.code)}",
            Content.styled(state.text, state.style),
            width,
            glyphs,
        ),
        *wrapped(clean(record.fact.summary), width=width, rows=3),
    ]
    return lines + _labelled(rows, _LABEL_CELLS, width)


def further_lines(record: FindingRecord, evidence: Evidence | None, width: int) -> list[Line]:
    """The figures and what happened, below the opening where the chart is beside it."""
    figures, happened = finding.evidence_rows(record), finding.happened_rows(evidence)
    return [
        Content(""),
        *_labelled(figures, _SHEET_LABEL_CELLS, width),
        Content(""),
        *_labelled(happened, _SHEET_LABEL_CELLS, width),
    ]


def evidence_lines(record: FindingRecord, note: Content, width: int, glyphs: Glyphs) -> list[Line]:
    """The figures, where there is no chart."""
    head = section("EVIDENCE", note, width, glyphs)
    return [head, *_labelled(finding.evidence_rows(record), _LABEL_CELLS, width)]


def finding_sheet(
    record: FindingRecord, evidence: Evidence | None, rows: finding.Rows, width: int, glyphs: Glyphs
) -> list[Line]:
    """Everything that is known of a finding; ``rows`` are its opening, and come first."""
    fact = record.fact
    severity, state = severity_mark(fact.severity, glyphs), state_mark(record.state, glyphs)
    lines: list[Line] = [
        Content.assemble(
            (severity.text, f"bold {severity.style}"), "  ", (state.text, state.style)
        ),
        *wrapped(clean(fact.summary), width=width, rows=9),
        Content(""),
        *_labelled(rows, _LABEL_CELLS, width),
    ]
    times = f"{record.times} times" if record.times > 1 else "once"
    happened = [("found", times), ("last seen", moment(record.seen_at))]
    for title, part in (
        ("evidence", finding.evidence_rows(record)),
        ("repeats", finding.repeat_rows(evidence)),
        ("what happened", [*happened, *finding.happened_rows(evidence)]),
    ):
        if part:
            lines += [Content(""), Content.styled(title, marks.TITLE)]
            lines += _labelled(part, _SHEET_LABEL_CELLS, width)
    if command := finding.catalog_command(record):
        lines += [Content(""), Content.assemble(("more: ", marks.MUTED), command)]
    return lines


def _labelled(rows: finding.Rows, cells: int, width: int) -> list[Line]:
    return [
        line
        for label, text in rows
        for line in labelled(clean(label), text, width, _STYLES.get(label, ""), cells=cells, rows=6)
    ]
