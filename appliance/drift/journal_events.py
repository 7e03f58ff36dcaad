"""The journal: what goes into it about findings, and what root's units have written to it.

Each code of findings has its own MESSAGE_ID. The other way, root writes no history of its own
accord but its audit, and units without any privilege could not: so the drift check, which owns the
history, copies their events from the journal, because one may explain a change later. Only in the
history they last: the journal is rotated, and a series is judged for as long as the history keeps
it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from appliance.drift.codes import CODES
from appliance.errors import OperatorError
from appliance.history import published, queries
from appliance.history.json_documents import next_step
from appliance.history.series_slots import EXPLAINING
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord, Kind, Transition
from appliance.system import journal, services
from appliance.system.journal import Priority
from appliance.text import printable

_PRIORITY = {
    DriftSeverity.CRITICAL: Priority.ERROR,
    DriftSeverity.WARNING: Priority.WARNING,
    DriftSeverity.NOTICE: Priority.NOTICE,
}
# The value in the history that says how far the journal was read.
_CURSOR = "journal_cursor"
# As many in one check; the next one goes on from there.
_AT_ONCE = 500
_LONGEST_TEXT = 500
_IDS = {journal.Event[code].value: code for code in EXPLAINING}


def log_all(moved: Iterable[tuple[FindingRecord, Transition]]) -> None:
    """Log each finding that has moved and is to be announced."""
    for record, transition in moved:
        if transition.announce:
            log(record, transition)


def log(record: FindingRecord | None, transition: Transition) -> None:
    """Log what became of a finding; ``record`` is ``None`` if it is not kept.

    An alarm has the priority of its severity; what is suspect, over or acknowledged is a notice.
    """
    fact = transition.fact
    code = CODES.get(fact.code)
    if code is None:
        return
    number = f" (finding {record.id})" if record is not None else ""
    # What was acknowledged was less grave than what it has become.
    grew = transition.kind is Kind.SEVERITY and transition.state is DriftState.ACKNOWLEDGED
    is_alarm = grew or transition.state in {DriftState.OPEN, DriftState.CONFIRMED}
    priority = _PRIORITY[fact.severity] if is_alarm else Priority.NOTICE
    do = fact.next_step if record is None else next_step(record)
    then = f" Next: {do}" if is_alarm and do else ""
    journal.message(
        f"drift-{fact.code.lower()}",
        code.message_id,
        f"{fact.code} {_word(transition)}{number}: {fact.summary.rstrip('.')}.{then}",
        priority=priority,
        drift_code=fact.code,
        drift_state=transition.state.value,
        drift_severity=fact.severity.value,
        drift_subject=fact.subject,
        drift_volume=fact.volume,
        drift_member=fact.member,
        drift_expected=fact.expected,
        drift_observed=fact.observed,
        drift_finding="" if record is None else record.id,
    )


def _word(transition: Transition) -> str:
    by = f" by {transition.who}" if transition.who else ""
    note = f" ({transition.note})" if transition.note else ""
    if transition.kind is Kind.OPENED and transition.state is DriftState.SUSPECT:
        return "suspected"
    if transition.kind is Kind.SEVERITY:
        return f"is now {transition.fact.severity.value}"
    return f"{transition.kind.value}{by}{note}"


# ---------------------------------------------------------------------------- root's events


def keep_roots_events(db: Path) -> str:
    """Copy what is new since the last time into history ``db``; why that is not possible, if so.

    Only this machine's own history: of others, the events happened elsewhere.
    """
    if not published.is_own(db) or not journal.is_there() or not os.path.lexists(db):
        return ""
    from appliance.history.store import History

    try:
        with queries.open_readonly(db) as reader:
            before = reader.drift_value(_CURSOR)
        found, cursor = _read(before)
        # Also behind entries that explain nothing, or each check would read them again.
        if cursor != before:
            with History.open_writable(db) as history:
                history.drift.add_events(found, (_CURSOR, cursor))
    except (OperatorError, OSError, ImportError) as error:
        return f"events of root's units were not read: {error}"
    return ""


def row_of(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """The event that a journal entry is, ``None`` for an entry that is not to be believed or
    explains nothing.

    Everybody may write an entry with our MESSAGE_ID. The fields that begin with an underscore are
    journald's own (systemd.journal-fields(7)).
    """
    code = _IDS.get(str(entry.get("MESSAGE_ID")))
    unit = entry.get("_SYSTEMD_UNIT", "")
    is_roots = entry.get("_UID") == "0"
    if code is None or not (is_roots or unit == services.WATCH_UNIT):
        return None
    if unit == services.CPU_LATENCY_UNIT:
        # With every suite alike.
        return None
    return {
        "at": entry["__REALTIME_TIMESTAMP"] / 1e6,
        "code": code,
        "message": printable(str(entry.get("MESSAGE", "")))[:_LONGEST_TEXT],
        "fields": {"unit": printable(unit)},
    }


def _read(cursor: str) -> tuple[list[dict[str, Any]], str]:
    """The events behind ``cursor`` (of all of the journal if it is empty), oldest first, and the
    cursor of the last one.
    """
    found: list[dict[str, Any]] = []
    for entry in _entries(cursor):
        cursor = entry["__CURSOR"]
        if (row := row_of(entry)) is not None:
            found.append(row)
        if len(found) == _AT_ONCE:
            break
    return found, cursor


def _entries(cursor: str) -> Iterator[Mapping[str, Any]]:
    from systemd import journal as library

    def text(value: bytes) -> str:
        return value.decode("utf-8", "backslashreplace")

    names = ("MESSAGE", "MESSAGE_ID", "_UID", "_SYSTEMD_UNIT")
    converters = {**dict.fromkeys(names, text), "__REALTIME_TIMESTAMP": lambda value: value}
    reader = library.Reader(library.SYSTEM | library.LOCAL_ONLY, converters=converters)
    try:
        if not reader.get_usage():
            raise OSError("this user may not read the system's journal")
        # So that forged ones are not even read (sd_journal_add_match(3)): what is alike in the
        # name of its field is one or the other, all else has to match together.
        for number in _IDS:
            reader.add_match(f"MESSAGE_ID={number}")
        reader.add_conjunction()
        reader.add_match("_UID=0")
        reader.add_disjunction()
        reader.add_match(f"_SYSTEMD_UNIT={services.WATCH_UNIT}")
        if cursor:
            reader.seek_cursor(cursor)
        else:
            reader.seek_head()
        while entry := reader.get_next():
            # The first one is that of the cursor, unless it was rotated away.
            if entry["__CURSOR"] != cursor:
                yield entry
    finally:
        reader.close()
