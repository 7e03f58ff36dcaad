"""What can be asked of history.db about drift."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.errors import OperatorError
from appliance.history import connection, rows
from appliance.model.confirmations import Approval, Confirmation
from appliance.model.findings import DriftSeverity, DriftState, Fact, FindingRecord

# Those closed so lately can come back as the same finding (lifecycle.DAY_SECONDS), and a little
# more, so that the rule itself decides.
_LATELY_SECONDS = 2 * 86_400.0
# The file may be hostile, and an operator waits.
_MOST = 10_000
# A confirmation is asked for as long as its change is in the series: years of them are not needed.
_CONFIRMATIONS = 1000


@dataclass(frozen=True, slots=True)
class TransitionRecord:
    """One change of a finding's state, as history keeps it; ``who`` is empty for the program."""

    id: int
    finding_id: int
    at: float
    kind: str
    state: DriftState
    severity: DriftSeverity
    who: str
    note: str


class NoSuchFindingError(OperatorError):
    """There is no finding of that number in the file."""

    def __init__(self, finding_id: int, path: Path) -> None:
        super().__init__(
            f"there is no finding {finding_id} in {path}",
            "list them: stripewright drift list --all, with the same --db",
        )


# The key of drift_value for the last check that wrote.
CHECKED_AT = "checked_at"


class DriftQueries(connection.Connection):
    """The part of :class:`appliance.history.queries.Reader` that is about drift."""

    def drift_findings(self, *, include_closed: bool = False) -> tuple[FindingRecord, ...]:
        """Findings that are not closed, oldest first; with the closed ones if asked for."""
        return self._findings(
            "SELECT * FROM drift_finding WHERE ? OR state != ? ORDER BY id LIMIT ?",
            include_closed,
            DriftState.CLOSED.value,
            _MOST,
        )

    def drift_lately(self, now: float | None = None) -> tuple[FindingRecord, ...]:
        """Findings that are not closed, and those closed so lately that they may come back."""
        now = time.time() if now is None else now
        return self._findings(
            "SELECT * FROM drift_finding WHERE state != ?"
            # On both sides of now, because clocks jump.
            " OR (closed_at > ? AND closed_at < ?) ORDER BY id LIMIT ?",
            DriftState.CLOSED.value,
            now - _LATELY_SECONDS,
            now + _LATELY_SECONDS,
            _MOST,
        )

    def drift_finding(self, finding_id: int) -> FindingRecord:
        """Finding ``finding_id``; :class:`NoSuchFindingError` if there is none."""
        found: tuple[FindingRecord, ...] = ()
        if 0 < finding_id <= rows.LARGEST_INTEGER:
            found = self._findings("SELECT * FROM drift_finding WHERE id = ?", finding_id)
        if not found:
            raise NoSuchFindingError(finding_id, self._path)
        return found[0]

    def _findings(self, sql: str, *values: object) -> tuple[FindingRecord, ...]:
        found = self.all(sql, *values)
        with self.understood():
            return tuple(to_finding(row) for row in found)

    def drift_transitions(self, finding_id: int) -> tuple[TransitionRecord, ...]:
        """Every change of state of a finding, oldest first."""
        return self.values(
            TransitionRecord,
            "SELECT * FROM drift_transition WHERE finding_id = ? ORDER BY id LIMIT ?",
            finding_id,
            _MOST,
        )

    def approvals(self) -> tuple[Approval, ...]:
        """Every change that a person called the new normal, oldest first."""
        return self.values(Approval, "SELECT * FROM drift_approval ORDER BY id LIMIT ?", _MOST)

    def confirmations(self) -> tuple[Confirmation, ...]:
        """What repeated runs said of suspects, oldest first."""
        return self.values(
            Confirmation,
            "SELECT * FROM (SELECT * FROM drift_confirmation ORDER BY id DESC LIMIT ?) ORDER BY id",
            _CONFIRMATIONS,
        )

    def surroundings_before(self, boot_id: str) -> dict[str, Any] | None:
        """What the machine was like in the last boot other than ``boot_id``, if it is known."""
        found = self.all(
            "SELECT facts FROM drift_surroundings WHERE boot_id != ? ORDER BY rowid DESC LIMIT 1",
            boot_id,
        )
        with self.understood():
            values = json.loads(found[0]["facts"]) if found else None
            if values is not None and not isinstance(values, dict):
                raise TypeError("surroundings are no object")
            return values

    def knows_surroundings(self, boot_id: str) -> bool:
        """Whether those of ``boot_id`` are kept already."""
        return bool(self.all("SELECT 1 FROM drift_surroundings WHERE boot_id = ?", boot_id))

    def drift_mark(self) -> str:
        """A text that changes whenever there is something new to judge performance by."""
        (row,) = self.all(
            "SELECT (SELECT max(id) FROM run WHERE ended_at IS NOT NULL), max(id),"
            " (SELECT max(id) FROM drift_confirmation), (SELECT max(id) FROM drift_approval)"
            " FROM epoch"
        )
        return "/".join(str(value or 0) for value in row)

    def change_mark(self) -> str:
        """A text that changes whenever there is something new to show: a run that began, a result,
        an epoch, an import, or anything about drift.
        """
        (row,) = self.all(
            "SELECT (SELECT max(id) FROM run), (SELECT max(id) FROM result),"
            " (SELECT max(id) FROM imported), (SELECT max(id) FROM drift_transition)"
        )
        return "/".join((self.drift_mark(), *(str(value or 0) for value in row)))

    def drift_checked_at(self) -> float | None:
        """When a check last wrote here, seconds since the epoch: within a day of the last one."""
        noted = self.drift_value(CHECKED_AT)
        return float(noted) if noted.isascii() and noted.isdecimal() else None

    def drift_value(self, key: str) -> str:
        """What was noted under ``key``; empty if nothing was."""
        found = self.all("SELECT value FROM drift_value WHERE key = ?", key)
        return str(found[0]["value"]) if found else ""


def fact_row(fact: Fact) -> rows.Row:
    """The columns of drift_finding that are the fact itself, its state as ``fact_state``."""
    row = rows.row_of(fact, without=("evidence", "state"))
    return {**row, "evidence": rows.to_json(dict(fact.evidence)), "fact_state": fact.state.value}


def to_finding(row: sqlite3.Row) -> FindingRecord:
    fact = rows.value_of(Fact, row, state=DriftState(row["fact_state"]))
    return rows.value_of(FindingRecord, row, fact=fact)
