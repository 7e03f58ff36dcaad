"""What history.db has logged: events, and the steps of plans. Tables that only grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from appliance.history import connection

# A reader keeps a writer waiting for as long as it reads.
ROWS_AT_ONCE = 1000


class LogQueries(connection.Connection):
    """The part of :class:`appliance.history.queries.Reader` that is about what was logged."""

    def log(self, table: str) -> Iterator[dict[str, Any]]:
        """The rows of ``event`` or ``audit_step`` as they are, oldest first, some at a time."""
        last = 0
        while found := self._all(
            f"SELECT * FROM {table} WHERE id > ? ORDER BY id LIMIT {ROWS_AT_ONCE}",  # noqa: S608
            last,
        ):
            yield from (dict(row) for row in found)
            last = found[-1]["id"]

    def last_events(self, count: int, *, before: int | None = None) -> list[dict[str, Any]]:
        """The last ``count`` rows of ``event``, of those before the id ``before`` if it is given;
        oldest first, at most :data:`ROWS_AT_ONCE`.
        """
        found = self._all(
            "SELECT * FROM event WHERE ? IS NULL OR id < ? ORDER BY id DESC LIMIT ?",
            before,
            before,
            min(count, ROWS_AT_ONCE),
        )
        return [dict(row) for row in reversed(found)]

    def events_after(self, event_id: int, count: int) -> list[dict[str, Any]]:
        """The first ``count`` rows of ``event`` behind ``event_id``, oldest first."""
        found = self._all(
            "SELECT * FROM event WHERE id > ? ORDER BY id LIMIT ?",
            event_id,
            min(count, ROWS_AT_ONCE),
        )
        return [dict(row) for row in found]
