"""A person's word on a finding: kept in the history, and told."""

from __future__ import annotations

from appliance.drift import journal_events, lifecycle
from appliance.drift.spool import Action, Rejected, Word
from appliance.errors import Refused, UsageError
from appliance.history.drift_queries import NoSuchFindingError
from appliance.history.store import History
from appliance.model.findings import FindingRecord
from appliance.system import journal


def say(history: History, word: Word, *, now: float) -> FindingRecord:
    """Keep ``word``; returns the finding as it is now.

    :class:`NoSuchFindingError` if there is none, :class:`Refused` or :class:`UsageError` if it
    cannot be done, another :class:`OperatorError` if the history cannot be written.
    """
    if word.action is Action.APPROVE:
        record, transition = history.drift.decide_on(
            word.finding_id,
            lambda found: lifecycle.approve(found, who=word.who, note=word.note),
            now=now,
            approval=baseline_of,
        )
    else:
        record, transition = history.drift.decide_on(
            word.finding_id,
            lambda found: lifecycle.acknowledge(found, who=word.who, note=word.note),
            now=now,
        )
    if transition is not None:
        journal_events.tell(record, transition)
    return record


def hear(history: History, one: Word | Rejected, *, now: float) -> None:
    """The same for what lay in the spool: what cannot be done is told, and forgotten.

    :class:`OperatorError` if it may be done later: the history is in use, or the disk is full.
    """
    why = one.why if isinstance(one, Rejected) else ""
    if isinstance(one, Word):
        try:
            say(history, one, now=now)
        except (NoSuchFindingError, Refused, UsageError) as error:
            why = error.message
    if why:
        journal.event(
            journal.Event.DRIFT_REQUEST_REJECTED,
            f"what {one.who or 'somebody'} said of a finding was not accepted: {why}",
            priority=journal.Priority.WARNING,
            who=one.who,
        )


def baseline_of(record: FindingRecord) -> dict[str, str | int]:
    """The series whose baseline begins anew, and with which run: columns of an approval.

    :class:`Refused` if the finding does not say from when on it is so.
    """
    target, run = record.fact.evidence.get("target"), record.fact.evidence.get("change_run")
    if not isinstance(target, str) or type(run) is not int:
        raise Refused(
            f"finding {record.id} does not say with which run its change began",
            f"look at it: stripewright drift show {record.id}",
        )
    return {"subject": record.fact.subject, "target": target, "from_run": run}
