"""Questions before acting on a finding, why it cannot be done, and the outcome. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from appliance.drift.detection.normal import LEAST
from appliance.drift.lifecycle import APPROVABLE
from appliance.model.findings import DriftState, FindingRecord
from appliance.text import count, duration
from tui.sources.drift import Evidence, Repeat
from tui.widgets.panel import ALL, clean, labelled

if TYPE_CHECKING:
    from appliance.model.confirmations import Repeated

_LABEL_CELLS = 10
# Of appliance.drift.series.remeasure, which is not imported for a word; a test compares them.
AT_ONCE = 3


def acknowledge_text(record: FindingRecord) -> Content:
    return _facts(
        [
            ("finding", f"#{record.id} {record.fact.code}: {record.fact.summary}"),
            ("then", "silences the alert until it clears; the finding stays listed"),
            ("before", record.note),
        ]
    )


def approve_text(record: FindingRecord, evidence: Evidence | None) -> Content:
    """What is judged by what from then on."""
    known = record.fact.evidence
    run, level = known.get("change_run"), known.get("level_iops")
    low, high = known.get("baseline_low_iops"), known.get("baseline_high_iops")
    new = f"{count(float(level))} IOPS, " if isinstance(level, int | float) else ""
    old = ""
    if isinstance(low, int | float) and isinstance(high, int | float):
        old = f"{count(float(low))} to {count(float(high))} IOPS"
        old += f", from {known['baseline_slots']} results" if "baseline_slots" in known else ""
    there = ""
    if evidence is not None and evidence.stretch is not None and isinstance(run, int):
        since = sum(slot.valid and slot.run_id >= run for slot in evidence.stretch.slots)
        there = f"; there are {since}"
    return _facts(
        [
            ("series", f"{record.fact.subject} in {known.get('target', '')}"),
            ("until now", old),
            ("from now", f"{new}its level since run {run} is normal"),
            (
                "judged",
                f"only by results from run {run} on: a baseline needs {LEAST} of them{there}; "
                "until then this series is not judged",
            ),
            ("closes", f"finding #{record.id}; all results stay in the history"),
        ]
    )


def confirm_text(repeats: Sequence[Repeat], *, running: str) -> Content:
    """What is repeated, for how long, and what is written meanwhile."""
    seconds = sum(one.seconds for one in sorted(repeats, key=lambda one: -one.seconds)[:AT_ONCE])
    writes = sorted({one.job for one in repeats if "read" not in one.rw or "rw" in one.rw})
    targets = ", ".join(sorted({one.target for one in repeats}))
    at_once = f"; {AT_ONCE} at a time, the largest change first" if len(repeats) > AT_ONCE else ""
    said = "only its own files" if not writes else f"its own files, also in {', '.join(writes)}"
    return _facts(
        [
            ("repeats", ", ".join(one.subject for one in repeats) + at_once),
            ("how", "each job five times, beside a job that touches no disk"),
            ("takes", f"about {duration(seconds)}, plus writing the files first"),
            ("writes", f"{said}, in {targets}"),
            ("effect", "slows other I/O on these disks; postponed if other I/O is running"),
            ("waits", f"up to half an hour for suite {running} to end" if running else ""),
            ("then", "each suspect is confirmed or closed; x stops it"),
        ]
    )


def stop_text() -> Content:
    return _facts(
        [
            ("stops", "the running repeats"),
            ("keeps", "the results of earlier repeats"),
            ("then", "suspects stay suspect and are repeated later"),
        ]
    )


def ended_words(end: Repeated) -> str:
    """The outcome of the repeats, in a line or two."""
    said = [f"{one.subject}: {one.verdict.value.replace('_', ' ')}" for one in end.made]
    said += [f"{fact.subject} not repeated: {why}" for fact, why in end.waits]
    if end.failed and not end.made:
        said.insert(0, "the repeats were stopped or failed")
    return "; ".join(said) or "nothing was left to repeat"


def why_not_acknowledge(record: FindingRecord | None) -> str:
    if record is None:
        return "no finding is under the cursor"
    if record.state is DriftState.CLOSED:
        return f"finding {record.id} is already closed"
    return ""


def why_not_approve(record: FindingRecord | None) -> str:
    if why := why_not_acknowledge(record):
        return why
    if record is None or record.fact.code not in APPROVABLE:
        code = "" if record is None else clean(record.fact.code)
        return f"{code} can be fixed or acknowledged; only a changed speed can become normal"
    if type(record.fact.evidence.get("change_run")) is not int:
        return f"finding {record.id} does not say with which run its change began"
    return ""


def why_not_confirm(records: Sequence[FindingRecord] | None, repeats: Sequence[Repeat]) -> str:
    if records is None:
        return "the findings have not been read yet"
    if repeats:
        return ""
    suspects = [one for one in records if one.state is DriftState.SUSPECT]
    if not suspects:
        return "nothing is suspect, so there is nothing to repeat"
    if all("by_hand" in one.fact.evidence for one in suspects):
        return "the suspects were measured by hand: repeat them by hand"
    return "the suspects were repeated recently, or often enough"


def _facts(rows: Sequence[tuple[str, str]]) -> Content:
    """The sheet wraps each under where its text begins."""
    return Content("\n").join(
        line
        for label, text in rows
        if text
        for line in labelled(label, text, ALL, cells=_LABEL_CELLS)
    )
