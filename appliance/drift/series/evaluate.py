"""The history's series → facts of performance: reads, and has the pure rules judge."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from appliance.bench import timetable
from appliance.drift.codes import CODES
from appliance.drift.detection.normal import LEAST
from appliance.drift.series import acceptance, performance, series_state, siblings
from appliance.drift.series.acceptance import Acceptance
from appliance.drift.series.series_state import Known
from appliance.history import published, queries, series_slots
from appliance.model.findings import Area, Fact, FindingRecord
from appliance.model.slots import Happening, Span
from appliance.system import liveness

# Under this name the history says which run was judged for acceptance.
ACCEPTED_RUN = "accepted_run"


def performance_facts(
    reader: queries.Reader, spans: Sequence[Span], *, now: float, is_own: bool
) -> tuple[Fact, ...]:
    """Every fact of performance in ``spans`` (the current epoch), that of its acceptance included.

    ``now`` is seconds since the epoch (UTC). Without ``is_own`` it is the history of another
    machine: whether that is up, and how often it is to measure, is not known.
    :class:`OperatorError` for a history that cannot be read.
    """
    records = reader.drift_findings(include_closed=True)
    approvals, confirmations = reader.approvals(), reader.confirmations()
    up_since = liveness.up_since(now) if is_own else None
    gaps = timetable.planned_gaps() if is_own else {}
    facts: list[Fact] = []
    for span in spans:
        surveys = series_state.survey(span, approvals, confirmations)
        known = Known(
            confirmations=confirmations,
            details=series_slots.details(reader, sorted(performance.wanted(span, surveys))),
            bins=functools.partial(series_slots.bins, reader),
            happenings=lambda since, until: (
                *series_slots.happenings(reader, since, until),
                *_findings(records, since, until),
            ),
            gaps=gaps,
            records=records,
        )
        facts += performance.judge(span, surveys, known, now=now, up_since=up_since)
    accepted_run = reader.drift_value(ACCEPTED_RUN)
    if accepted_run.isdecimal() and (verdict := accepted(reader, int(accepted_run))):
        facts += verdict.facts
    return tuple(facts)


def unlearned(spans: Sequence[Span]) -> tuple[bool, str]:
    """Whether some series can be judged, and in words what cannot be yet; empty if all can."""
    counts = [sum(slot.valid for slot in slots) for span in spans for slots in span.series.values()]
    known = sum(count >= LEAST for count in counts)
    if counts and known == len(counts):
        return True, ""
    if not known:
        most = f"the longest series has {max(counts)}" if counts else "there are none"
        needed = f"a baseline needs {LEAST} valid results of whole runs in one epoch"
        return False, f"{needed}; {most}"
    words = f"{len(counts) - known} of {len(counts)} series are not judged yet"
    return True, f"{words}: a baseline needs {LEAST} valid results"


def _findings(records: Sequence[FindingRecord], since: float, until: float) -> list[Happening]:
    """What a look at the machine found between two moments, apart from its performance."""
    return [
        Happening(one.opened_at, one.fact.code, one.fact.summary)
        for one in records
        if since <= one.opened_at <= until
        and one.fact.code in CODES
        and CODES[one.fact.code].area is not Area.PERFORMANCE
    ]


def facts_of(db: Path, *, now: float) -> tuple[Fact, ...]:
    """:func:`performance_facts` of history ``db``."""
    with queries.open_readonly(db) as reader:
        spans, is_own = series_slots.spans(reader), published.is_own(db)
        return performance_facts(reader, spans, now=now, is_own=is_own)


def accepted(reader: queries.Reader, run_id: int) -> Acceptance | None:
    """The acceptance by run ``run_id``; ``None`` if that was in an epoch that is over."""
    detail = series_slots.details(reader, [run_id]).get(run_id)
    if detail is None or detail.run.epoch_id is None:
        return None
    epoch = reader.epoch(detail.run.epoch_id)
    if epoch.id not in series_slots.current_epochs(reader):
        return None
    found = siblings.read() if published.is_own(reader.path) else siblings.Siblings()
    (row,) = reader.all("SELECT suite_hash FROM run WHERE id = ?", run_id)
    same = siblings.conditions(row["suite_hash"], detail.run, epoch.fingerprint)
    return acceptance.judge(detail, epoch.id, epoch.fingerprint, found, same)
