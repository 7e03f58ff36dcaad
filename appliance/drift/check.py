"""One drift check: look, see what has changed, keep it, tell it.

What is seen comes from :mod:`appliance.drift.collect`, what becomes of it is decided in
:mod:`appliance.drift.lifecycle`. Nothing is written to the disk when nothing has changed.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance import paths
from appliance.drift import acknowledge, check_summary, collect, journal_events, lifecycle
from appliance.drift.codes import CODES
from appliance.drift.collect import Gathered
from appliance.drift.lifecycle import Scope
from appliance.errors import OperatorError
from appliance.history import published
from appliance.model.confirmations import Confirmation, Verdict
from appliance.model.findings import (
    Area,
    DriftSeverity,
    DriftState,
    Fact,
    FindingRecord,
    Kind,
    Transition,
    by_gravity,
)

# Among what the check remembers to have announced: a defect that kept it from judging performance.
_DEFECT = "defect"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found. ``findings`` are those that are not closed, gravest first; one with
    id 0 could not be kept. ``not_judged`` says of an area why it was not looked at. ``at`` is
    seconds since the epoch.
    """

    at: float
    findings: tuple[FindingRecord, ...]
    not_judged: Mapping[Area, str]
    notes: tuple[str, ...]

    @property
    def alarms(self) -> bool:
        """Whether there is a serious, unacknowledged finding."""
        return any(lifecycle.alarms(one.state, one.fact.severity) for one in self.findings)


def check(db: Path, *, now: float | None = None) -> Outcome:
    """Look at this machine and at the history in ``db``, and keep what has changed.

    Where the history cannot be written, what was found goes to the journal all the same.
    :class:`OperatorError` if there is neither an appliance to look at nor a history to read.
    """
    now = time.time() if now is None else now
    pending = _take_requests(db, now=now)
    unexplained = journal_events.keep_roots_events(db)
    remembered = check_summary.load(paths.DRIFT_RUN_DIR)
    seen = collect.gather(db, remembered, now=now)

    def decide(records: tuple[FindingRecord, ...]) -> tuple[Transition, ...]:
        moved = lifecycle.step(records, seen.facts, seen.scope, now=now, boot_id=seen.boot_id)
        return tuple(_with_reason(one, seen.confirmations) for one in moved)

    transitions = decide(seen.records)
    findings, problem = seen.records, ""
    if transitions or seen.surroundings or abs(now - seen.checked_at) >= lifecycle.DAY_SECONDS:
        try:
            findings = _keep(db, seen, decide, now=now)
        except OperatorError as error:
            problem = f"nothing was kept: {error.message}; {error.hint}"
            findings = _as_if_kept(seen.records, transitions, now)
    if seen.is_own:
        asked_at = remembered.asked_at
        if _wants_repeats(seen, findings, asked_at=asked_at, now=now) and _ask_for_repeats():
            asked_at = now
        untold = transitions if problem else ()
        _remember(remembered, seen, untold, asked_at=asked_at, now=now)
    here = [one for one in findings if one.state is not DriftState.CLOSED]
    return Outcome(
        at=now,
        findings=tuple(sorted(here, key=by_gravity)),
        not_judged={
            **seen.not_judged,
            **({Area.PERFORMANCE: seen.unlearned} if seen.unlearned else {}),
        },
        notes=tuple(note for note in (*seen.notes, pending, unexplained, problem) if note),
    )


def keep_performance(
    db: Path, facts: Sequence[Fact], *, now: float | None = None
) -> tuple[FindingRecord, ...]:
    """Keep what was judged of the runs alone; returns the findings that are not closed."""
    from appliance.history import queries
    from appliance.history.store import History

    now = time.time() if now is None else now
    scope = Scope(frozenset({Area.PERFORMANCE}))
    with queries.open_readonly(db) as reader:
        known = reader.confirmations()
    with History.open_writable(db) as history:
        kept = history.drift.step(
            lambda records: [
                _with_reason(one, known) for one in lifecycle.step(records, facts, scope, now=now)
            ],
            now=now,
        )
    journal_events.log_all(kept.moved)
    return tuple(one for one in kept.records if one.state is not DriftState.CLOSED)


def _take_requests(db: Path, *, now: float) -> str:
    """Do what operators have left in the spool; why not, if the history cannot be written."""
    if not published.is_own(db) or not (requests := acknowledge.read(paths.DRIFT_SPOOL_DIR)):
        return ""
    from appliance.history.store import History

    try:
        with History.open_writable(db) as history:
            for one in requests:
                acknowledge.take(history, one, now=now)
                acknowledge.remove(paths.DRIFT_SPOOL_DIR, one.name)
    except OperatorError as error:
        return f"{len(requests)} operator actions are pending: {error.message}; {error.hint}"
    return ""


def _keep(
    db: Path,
    seen: Gathered,
    decide: Callable[[tuple[FindingRecord, ...]], Sequence[Transition]],
    *,
    now: float,
) -> tuple[FindingRecord, ...]:
    """Write what has changed, then tell it; the findings as they are now."""
    from appliance.history.store import History

    # A check never moves a copy of a history, even a damaged one.
    with History.open_writable(db, may_set_aside=seen.is_own) as history:
        kept = history.drift.step(decide, now=now, boot_id=seen.boot_id, is_check=True)
        if seen.surroundings:
            history.drift.keep_surroundings(seen.boot_id, seen.surroundings, now=now)
    if seen.is_own:
        journal_events.log_all(kept.moved)
    return kept.records


def _with_reason(one: Transition, confirmations: Sequence[Confirmation]) -> Transition:
    """A suspect that repeated runs did not show is closed with their words."""
    if one.kind is not Kind.CLOSED or one.fact.state is DriftState.CONFIRMED:
        return one
    said = [
        answer.words
        for answer in confirmations
        if answer.key == one.fact.key and answer.verdict is Verdict.NOT_REPEATED
    ]
    return dataclasses.replace(one, note=said[-1]) if said else one


def _as_if_kept(
    records: Sequence[FindingRecord], transitions: Sequence[Transition], now: float
) -> tuple[FindingRecord, ...]:
    """What the findings would be. One that is new has id 0."""
    found = {one.id: one for one in records}
    new = []
    for one in transitions:
        if one.id is None:
            new.append(FindingRecord(0, one.fact, one.state, None, now, now))
        else:
            found[one.id] = dataclasses.replace(found[one.id], fact=one.fact, state=one.state)
    return (*found.values(), *new)


def _remember(
    before: check_summary.Memory,
    seen: Gathered,
    untold: Sequence[Transition],
    *,
    asked_at: float,
    now: float,
) -> None:
    """That there was a check; and tell what no history keeps, each fact once a day.

    Only the drift check itself can remember: any other caller would tell it each time.
    """
    told = {key: at for key, at in before.told.items() if abs(now - at) < lifecycle.DAY_SECONDS}
    news = [one for one in untold if one.announce and _told_key(one) not in told]
    told |= {_told_key(one): now for one in news}
    # What was judged and not kept is judged again.
    judged = "" if untold else seen.judged or before.judged
    judged_at = now if seen.judged else before.judged_at
    tell_defect = bool(seen.defect) and _DEFECT not in told
    if tell_defect:
        told[_DEFECT] = now
    if check_summary.save(
        paths.DRIFT_RUN_DIR, check_summary.Memory(now, judged, judged_at, told, asked_at)
    ):
        for one in news:
            journal_events.log(None, one)
        if tell_defect:
            # The unit has its stderr in the journal.
            print(seen.defect, file=sys.stderr, flush=True)


def _told_key(one: Transition) -> str:
    return "\n".join((*one.fact.key, one.state.value))


def _wants_repeats(
    seen: Gathered, findings: Sequence[FindingRecord], *, asked_at: float, now: float
) -> bool:
    """Whether what is suspect is to be repeated now; not while the stripe itself is in trouble."""
    unsure = {DriftState.SUSPECT, DriftState.OPEN}
    suspects = [one.fact for one in findings if one.state in unsure]
    if not suspects or any(map(_is_broken, findings)):
        return False
    from appliance.drift.series import confirmation

    # Repeats that are refused before they are a run leave nothing in the history, and start the
    # next check all the same: having asked counts like a run.
    tried = _latest((seen.last_tried_at, asked_at), now)
    return bool(confirmation.waiting(suspects, seen.confirmations, last_tried=tried, now=now))


def _latest(moments: Iterable[float | None], now: float) -> float | None:
    """What lies ahead, because the clock was put back, hides nothing."""
    return max((at for at in moments if at is not None and at <= now), default=None)


def _ask_for_repeats() -> bool:
    """Ask for repeated runs; whether that was possible, and had not been done already."""
    flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC
    try:
        os.close(os.open(paths.CONFIRM_WANTED, flags, 0o644))
    except OSError:
        return False
    return True


def _is_broken(record: FindingRecord) -> bool:
    code = CODES.get(record.fact.code)
    return (
        record.state is not DriftState.CLOSED
        and record.fact.severity is DriftSeverity.CRITICAL
        and code is not None
        and code.area is Area.LAYOUT
    )
