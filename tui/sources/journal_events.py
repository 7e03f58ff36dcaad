"""The events in the history, in the place of a journal: of another machine, or without systemd."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.errors import OperatorError
from appliance.history import pages, queries
from appliance.history.pages import ROWS_AT_ONCE
from appliance.system.journal import Event, Priority
from tui.asking import describe
from tui.sources import journal_reader
from tui.sources.journal import Entry, EntryDetail, Follower, Reading, cut
from tui.sources.journal_reader import SystemJournal

_KEY = "event-"
# Each look opens the file.
_LOOK_SECONDS = 5.0
# The history keeps no priority: that of the journal entry beside the event.
_PRIORITIES = {
    "STEP_FAILED": Priority.ERROR,
    "VOLUME_REFUSED": Priority.ERROR,
    "HISTORY_DAMAGED": Priority.ERROR,
    "UNIT_FAILED": Priority.ERROR,
    "HISTORY_UNAVAILABLE": Priority.WARNING,
    "RUN_ABORTED": Priority.WARNING,
    "RUN_SKIPPED": Priority.WARNING,
    "PLAN_REJECTED": Priority.WARNING,
    "SCHEDULE_REFUSED": Priority.WARNING,
    "DRIFT_REQUEST_REJECTED": Priority.WARNING,
    "STEP_STARTED": Priority.INFO,
    "STEP_DONE": Priority.INFO,
    "RUN_STARTED": Priority.INFO,
    "RUN_RESULT": Priority.INFO,
}


class HistoryEvents:
    """The events of history ``db``; see :class:`tui.sources.journal.Reading`."""

    about = "events in the history"

    def __init__(
        self, db: Path, notice: str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.notice = notice
        self._db = db
        self._sleep = sleep
        self._first = self._last = 0

    def close(self) -> None:
        """Nothing stays open."""

    def latest(self, count: int) -> Sequence[Entry]:
        with queries.open_readonly(self._db) as reader:
            rows = pages.last_events(reader, count)
        self._first = rows[0]["id"] if rows else 0
        self._last = rows[-1]["id"] if rows else 0
        return [to_entry(row) for row in rows]

    def older(self, count: int, *, this_boot: bool) -> Sequence[Entry]:  # noqa: ARG002
        """An event does not say of which boot it is."""
        if self._first <= 1:
            return ()
        with queries.open_readonly(self._db) as reader:
            rows = pages.last_events(reader, count, before=self._first)
        self._first = rows[0]["id"] if rows else 0
        return [to_entry(row) for row in rows]

    def newer(self, wait_seconds: float) -> Sequence[Entry]:
        self._sleep(max(wait_seconds, _LOOK_SECONDS))
        with queries.open_readonly(self._db) as reader:
            rows = pages.events_after(reader, self._last, ROWS_AT_ONCE)
        self._last = rows[-1]["id"] if rows else self._last
        return [to_entry(row) for row in rows]


def to_entry(row: Mapping[str, Any]) -> Entry:
    """An entry of a row of the event table; its code stands where the unit would."""
    code = str(row["code"])
    return Entry(
        key=f"{_KEY}{row['id']}",
        at=float(row["at"]),
        priority=int(_PRIORITIES.get(code, Priority.NOTICE)),
        unit=cut(code),
        message=cut(str(row["message"])),
    )


def detail(db: Path, key: str) -> EntryDetail:
    """All of an event; :class:`OperatorError` if it is not there."""
    number = int(key.removeprefix(_KEY))
    with queries.open_readonly(db) as reader:
        rows = pages.events_after(reader, number - 1, 1)
    if not rows or rows[0]["id"] != number:
        raise OperatorError("this event is no longer in the history", "press u to read it again")
    row = rows[0]
    fields = [(name, cut(str(row[name]))) for name in ("message", "code", "at", "id")]
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        more = json.loads(row["fields"])
        fields += [(cut(str(name)), cut(str(value))) for name, value in list(more.items())[:80]]
    return EntryDetail(tuple(fields), _explanation(str(row["code"])))


def _explanation(code: str) -> str:
    """The catalog's text, where the catalog of the appliance is installed."""
    try:
        from systemd import journal

        return str(journal.get_catalog(Event[code].value)).strip()
    except (ImportError, KeyError, OSError, ValueError):
        return ""


def follow(db: Path) -> Follower:
    """What happened on this machine: its journal; of another machine's history, its events."""
    is_own = db.absolute() == paths.HISTORY_DB

    def open_log() -> Reading:
        if not is_own:
            return HistoryEvents(
                db, f"{db} is a copy: the events in it, not this machine's journal"
            )
        try:
            return SystemJournal()
        except OperatorError as error:
            return HistoryEvents(db, describe(error))

    def of(key: str) -> EntryDetail:
        return detail(db, key) if key.startswith(_KEY) else journal_reader.detail(key)

    return Follower(open_log, of)
