"""What an operator says of a finding, and asking for the runs that confirm or refute one.

A user who may write the history does it in this process. For all others the units do, which are
the user that owns it: a word on a finding lies in a spool until the drift check reads it, and the
runs are a unit's that operators may start and stop.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from appliance import paths, text
from appliance.client import answers
from appliance.drift import acknowledge
from appliance.drift.acknowledge import Action, Request
from appliance.errors import OperatorError
from appliance.history import queries
from appliance.model.confirmations import CONFIRM_SUITE, Repeated
from appliance.model.findings import DriftState, FindingRecord
from appliance.model.runs import RunState
from appliance.system import services

# A check waits for the writer of the history.
_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 1.0
_DONE = {Action.ACKNOWLEDGE: "acknowledged", Action.APPROVE: "approved"}
# Repeats of suspects that are looked at: those of one call, and what was ahead of it.
_LATE_RUNS = 10


def is_ours_to_write(db: Path) -> bool:
    """Root writes nothing where another user owns the directory: that user does."""
    return os.access(db, os.W_OK) and (os.geteuid() != 0 or db.parent.stat().st_uid == 0)


# ------------------------------------------------------------------------- a word on a finding


def say(db: Path, finding_id: int, action: Action, note: str = "") -> FindingRecord:
    """Acknowledge a finding, which silences its alarm, or approve it: a changed speed
    becomes the new normal, which closes it. Returns it as it is then.

    Blocks until the history has it. Raises :class:`OperatorError`; :class:`Refused` and
    :class:`UsageError` for what cannot be done, before any unit was asked.
    """
    note = text.printable(" ".join(note.split()))
    with queries.open_readonly(db) as reader:
        record = reader.drift_finding(finding_id)
    request = Request(finding_id, action, note, acknowledge.user_name(os.getuid()))
    # Said here and not by a unit's journal: what can't be done is known before one is asked.
    if acknowledge.decide(record, request) is None:
        return record
    if not is_ours_to_write(db):
        return _leave(db, request)

    from appliance.history.store import History

    # A damaged history stays where it is: in a new one there would be no such finding.
    with History.open_writable(db, may_set_aside=False) as history:
        return acknowledge.keep(history, request, now=time.time())


def _leave(db: Path, request: Request) -> FindingRecord:
    """Have the drift check, which owns the history, write it."""
    if db.absolute() != paths.HISTORY_DB or not services.is_installed(services.DRIFT_UNIT):
        raise _not_ours(db)
    acknowledge.leave(paths.DRIFT_SPOOL_DIR, request)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        # One that was at work already may have read the spool before the request was in it.
        services.start_and_wait(services.DRIFT_UNIT)
        with queries.open_readonly(db) as reader:
            record = reader.drift_finding(request.finding_id)
        acknowledged = record.state is DriftState.ACKNOWLEDGED and record.note == request.note
        if record.state is DriftState.CLOSED or (
            acknowledged and request.action is Action.ACKNOWLEDGE
        ):
            return record
        if time.monotonic() > deadline:
            raise OperatorError(
                f"finding {request.finding_id} is not {_DONE[request.action]} yet",
                answers.see_journal(services.DRIFT_UNIT),
            )
        time.sleep(_POLL_SECONDS)


def _not_ours(db: Path) -> OperatorError:
    return OperatorError(
        f"history {db} cannot be written by you, and no unit is here that could",
        "do it as the user that owns the file",
    )


# ---------------------------------------------------------------------------- runs that confirm


@dataclass(frozen=True, slots=True)
class AskedConfirm:
    """Repeats that the unit was asked for; ``last_run`` is the last run of them that had ended."""

    db: Path
    last_run: int


def has_a_unit_for(db: Path) -> bool:
    """Whether the unit that makes the runs is here, and ``db`` is the history it writes."""
    return db.absolute() == paths.HISTORY_DB and answers.units_are_here(services.CONFIRM_UNIT)


def confirm_now(db: Path) -> AskedConfirm:
    """Have every suspect repeated now that waits for it; returns once the unit is on its way.

    One that is at work already is joined. Raises :class:`Refused` for who is no operator,
    :class:`OperatorError` where there is no unit.
    """
    if not has_a_unit_for(db):
        raise _not_ours(db)
    with queries.open_readonly(db) as reader:
        runs = reader.runs(_LATE_RUNS, suite=CONFIRM_SUITE)
    last_run = max((run.id for run in runs if run.state is not RunState.RUNNING), default=0)
    services.start_unit(services.CONFIRM_UNIT)
    return AskedConfirm(db, last_run)


def poll_confirm(asked: AskedConfirm) -> Repeated | None:
    """One look at what came of it; ``None`` while the unit is at work, which takes minutes."""
    state = services.unit_state(services.CONFIRM_UNIT)
    if state.busy:
        return None
    from appliance.drift.series import confirmation, evaluate

    now = time.time()
    facts = evaluate.facts_of(asked.db, now=now)
    with queries.open_readonly(asked.db) as reader:
        answered = reader.confirmations()
        runs = reader.runs(_LATE_RUNS, suite=CONFIRM_SUITE)
    # By target, of its last run: why that made nothing.
    reasons = {
        run.target: run.reason
        for run in reversed(runs)
        if run.id > asked.last_run and run.state is not RunState.COMPLETE
    }
    elsewhere = answers.see_journal(services.CONFIRM_UNIT)
    return Repeated(
        made=tuple(one for one in answered if one.run_id > asked.last_run),
        waits=tuple(
            (fact, reasons.get(str(fact.evidence["target"])) or elsewhere)
            for fact in confirmation.waiting(facts, answered, now=now)
        ),
        failed=state.result not in {"", "success"},
    )


def stop_confirming() -> None:
    """End the runs that the unit makes; what is suspect is repeated another time."""
    services.stop_unit(services.CONFIRM_UNIT)
