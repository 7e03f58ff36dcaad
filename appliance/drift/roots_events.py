"""What root's units told the journal, copied into the history: it may explain a change later.

Root writes no history of its own accord but its audit, and units without any privilege could not.
So the drift check, which owns the history, fetches their events from the journal. Only there
they last: the journal is rotated, and a series is judged for as long as the history keeps it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.errors import OperatorError
from appliance.history import queries
from appliance.history.series_slots import EXPLAINING
from appliance.system import journal, services
from appliance.text import printable

# The value in the history that says how far the journal was read.
_CURSOR = "journal_cursor"
# As many in one check; the next one goes on from there.
_AT_ONCE = 500
_LONGEST_TEXT = 500
_IDS = {journal.Event[code].value: code for code in EXPLAINING}


def keep(db: Path) -> str:
    """Copy what is new since the last time into history ``db``; why that is not possible, if so.

    Only this machine's own history: of others, the events happened elsewhere.
    """
    if db.absolute() != paths.HISTORY_DB or not journal.is_there() or not os.path.lexists(db):
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
