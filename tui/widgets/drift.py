"""Findings of drift as rows of a table and as lines of text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from appliance.drift.check_summary import DriftSummary
from appliance.drift.codes import CODES
from appliance.history.json_documents import next_step
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord, by_gravity
from appliance.text import duration, moment
from tui import marks
from tui.marks import Glyphs, Mark
from tui.sources.drift import Evidence
from tui.widgets.panel import Line, View, cell, clean, section, wrapped
from tui.widgets.table import Column, Row

WIDE_CELLS = 130
_COLUMNS = (
    Column("severity", 10),
    Column("state", 14),
    Column("code", 17),
    Column("subject", 12, grows=True),
    Column("since (UTC)", 11),
)
_WIDE_COLUMNS = (
    Column("severity", 10),
    Column("state", 14),
    Column("code", 20),
    Column("subject", 28),
    Column("since (UTC)", 16),
    Column("summary", 20, grows=True),
)
_LABEL_CELLS = 10
_SHEET_LABEL_CELLS = 22
_MOST_MOVES = 200
# Beside the chart, and from so much room on.
_MOVES, _LEAST_MORE = 8, 8


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
        DriftState.OPEN: Mark(glyphs.pointer, "open", ""),
        DriftState.SUSPECT: Mark(glyphs.unknown, "suspect", marks.BUSY),
        DriftState.CONFIRMED: Mark(glyphs.pointer, "confirmed", ""),
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


def columns(width: int) -> tuple[Column, ...]:
    return _WIDE_COLUMNS if width >= WIDE_CELLS else _COLUMNS


def row(record: FindingRecord, width: int, glyphs: Glyphs) -> Row:
    fact, wide = record.fact, width >= WIDE_CELLS
    severity, state = severity_mark(fact.severity, glyphs), state_mark(record.state, glyphs)
    over = record.state is DriftState.CLOSED
    since = moment(record.opened_at)[:16] if wide else moment(record.opened_at)[5:16]
    cells = (
        (severity.text, marks.MUTED if over else severity.style),
        (state.text, state.style),
        (fact.code, "bold" if not over else ""),
        (fact.subject, ""),
        (since, ""),
        (fact.summary, ""),
    )
    return Row(str(record.id), cells[: len(columns(width))], also=f"#{record.id} {fact.summary}")


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
        lines += wrapped(words, first=Content(""), indent=0, width=width, style=marks.MUTED, rows=2)
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
        return "never looked"
    seconds = wall - summary.checked_at
    return f"last check {duration(seconds)} ago" if seconds >= 0 else "last look just now"


# ----------------------------------------------------------------------- the finding itself


def finding_lines(
    record: FindingRecord,
    evidence: Evidence | None,
    width: int,
    rows: int,
    glyphs: Glyphs,
    *,
    with_values: bool,
) -> list[Line]:
    """The finding under the cursor in at most ``rows`` lines, what matters most first.

    ``with_values``: expected and observed are among them, and not beside in a chart.
    """
    fact = record.fact
    state = state_mark(record.state, glyphs)
    lines = [
        section(
            f"#{record.id} {clean(fact.code)}",
            Content.styled(state.text, state.style),
            width,
            glyphs,
        ),
        *wrapped(clean(fact.summary), first=Content(""), indent=0, width=width, rows=3),
    ]
    for label, text in _facts(record, evidence, with_values=with_values):
        lines += _labelled(label, text, width, _LABEL_CELLS, 2)
    # Beside a chart there is room for all of it.
    if rows > len(lines) + _LEAST_MORE:
        lines += _further(record, evidence, width)
    if len(lines) > rows > 1:
        lines = [*lines[: rows - 1], Content.styled("enter: details", marks.MUTED)]
    return lines[:rows]


def _further(record: FindingRecord, evidence: Evidence | None, width: int) -> list[Line]:
    """The figures of the evidence, and what happened to the finding."""
    lines: list[Line] = [Content("")]
    for name, value in record.fact.evidence.items():
        lines += _labelled(clean(name), str(value), width, _SHEET_LABEL_CELLS, 2)
    moves = evidence.transitions[-_MOVES:] if evidence else ()
    lines += [Content("")] if moves else []
    for one in moves:
        words = _moved(one.kind, one.who, one.note)
        lines += _labelled(moment(one.at), words, width, _SHEET_LABEL_CELLS, 2)
    return lines


def _facts(
    record: FindingRecord, evidence: Evidence | None, *, with_values: bool
) -> list[tuple[str, str]]:
    fact = record.fact
    code = CODES.get(fact.code)
    values = [("expected", fact.expected), ("observed", fact.observed)] if with_values else []
    found = [
        ("next", next_step(record) if record.state is not DriftState.CLOSED else ""),
        *values,
        ("means", code.title if code else "a code that this version does not know"),
        ("cause", str(fact.evidence.get("cause", ""))),
        ("note", _noted(record)),
        *(("repeated", one.words) for one in (evidence.said if evidence else ())[-1:]),
        ("disk", fact.member),
        ("closed", moment(record.closed_at) if record.closed_at is not None else ""),
    ]
    return [(label, text) for label, text in found if text]


def _noted(record: FindingRecord) -> str:
    if record.acknowledged_at is None:
        return ""
    said = f": {record.note}" if record.note else ""
    return f"acknowledged by {record.acknowledged_by or 'unknown'}{said}"


def _labelled(label: str, text: str, width: int, indent: int, rows: int) -> list[Line]:
    lead = Content.styled(label, marks.MUTED)
    return wrapped(clean(text), first=lead, indent=indent, width=width, rows=rows)


def value_lines(record: FindingRecord, width: int, glyphs: Glyphs) -> list[Line]:
    """Expected against observed: the evidence of what has no series."""
    fact = record.fact
    return [
        section("EVIDENCE", Content(""), width, glyphs),
        *_labelled("expected", fact.expected or "-", width, _LABEL_CELLS, 3),
        *_labelled("observed", fact.observed or "-", width, _LABEL_CELLS, 3),
    ]


def finding_sheet(record: FindingRecord, evidence: Evidence | None, glyphs: Glyphs) -> Content:
    """Everything that is known of a finding."""
    fact = record.fact
    code = CODES.get(fact.code)
    severity, state = severity_mark(fact.severity, glyphs), state_mark(record.state, glyphs)
    rows = [
        ("means", code.title if code else ""),
        ("next", next_step(record)),
        ("area", code.area.value if code else ""),
        ("subject", fact.subject),
        ("volume", fact.volume),
        ("disk", fact.member),
        ("expected", fact.expected),
        ("observed", fact.observed),
        ("since", moment(record.opened_at)),
        ("last seen", moment(record.seen_at)),
        ("closed", moment(record.closed_at) if record.closed_at is not None else ""),
        ("found", f"{record.times} times" if record.times > 1 else "once"),
        ("note", _noted(record)),
    ]
    lines = [
        Content.assemble(
            (severity.text, f"bold {severity.style}"), "  ", (state.text, state.style)
        ),
        Content(clean(fact.summary)),
        Content(""),
        *_sheet_rows(rows),
    ]
    lines += _part("evidence", [(name, str(value)) for name, value in fact.evidence.items()])
    if evidence is not None:
        lines += _part("repeats", [(moment(one.at), one.words) for one in evidence.said])
        lines += _part(
            "what happened",
            [(moment(one.at), _moved(one.kind, one.who, one.note))
             for one in evidence.transitions[-_MOST_MOVES:]],
        )  # fmt: skip
    if code is not None:
        more = f"journalctl -x -t stripewright STRIPEWRIGHT_DRIFT_CODE={code.name}"
        lines += [Content(""), Content.assemble(("more: ", marks.MUTED), more)]
    return Content("\n").join(lines)


def _moved(kind: str, who: str, note: str) -> str:
    return f"{kind}{f' by {who}' if who else ''}{f': {note}' if note else ''}"


def _part(title: str, rows: Sequence[tuple[str, str]]) -> list[Content]:
    if not rows:
        return []
    return [Content(""), Content.styled(title, marks.TITLE), *_sheet_rows(rows)]


def _sheet_rows(rows: Sequence[tuple[str, str]]) -> list[Content]:
    return [
        Content.assemble((_padded(clean(name)), marks.MUTED), clean(value))
        for name, value in rows
        if value
    ]


def _padded(name: str) -> str:
    return name + " " * max(1, _SHEET_LABEL_CELLS - cell_len(name))
