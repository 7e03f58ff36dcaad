"""Writing what is known of drift: findings and their changes, approvals, confirmations.

Through :attr:`appliance.history.store.History.drift`; each function is one short transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from appliance.history import drift_queries, rows
from appliance.history.queries import APPLIANCE
from appliance.history.writing import Writer
from appliance.model.confirmations import Confirmation
from appliance.model.findings import DriftState, FindingRecord, Kind, Transition

Decide = Callable[[tuple[FindingRecord, ...]], Sequence[Transition]]
# Of the surroundings of earlier boots; only the last other one is ever compared with.
_BOOTS_KEPT = 20


class Kept(NamedTuple):
    """``moved`` are findings as they are now, with what moved them; ``records`` are all that are
    not closed, or were of late.
    """

    moved: tuple[tuple[FindingRecord, Transition], ...]
    records: tuple[FindingRecord, ...]


class DriftWriter:
    """What is written of drift."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def step(
        self,
        decide: Decide,
        *,
        now: float,
        boot_id: str = "",
        is_check: bool = False,
    ) -> Kept:
        """Ask ``decide`` what changes, given the findings as they are, and keep it.

        The write lock is held meanwhile, so that two checks never tell the same fact. With
        ``is_check`` it is noted that there was one.
        """
        with self._writer.transaction():
            records = self._lately(now)
            kept = [
                (self._keep(one, records.get(one.id or 0), now, boot_id), one)
                for one in decide(tuple(records.values()))
            ]
            if is_check:
                self._note(drift_queries.CHECKED_AT, f"{now:.0f}")
            moved = tuple(
                (self._writer.reader.drift_finding(finding_id), one) for finding_id, one in kept
            )
            return Kept(moved, tuple(self._lately(now).values()))

    def decide_on(
        self,
        finding_id: int,
        decide: Callable[[FindingRecord], Transition | None],
        *,
        now: float,
        approval: Callable[[FindingRecord], Mapping[str, str | int]] | None = None,
    ) -> tuple[FindingRecord, Transition | None]:
        """A person's word on one finding; ``approval`` gives the columns of its approval.

        :class:`drift_queries.NoSuchFindingError` if there is none, and what ``decide`` raises.
        """
        with self._writer.transaction():
            record = self._writer.reader.drift_finding(finding_id)
            transition = decide(record)
            if transition is not None:
                self._keep(transition, record, now, "")
                if approval is not None:
                    said = {"at": now, "who": transition.who, "note": transition.note}
                    self._writer.insert(
                        "drift_approval",
                        {"finding_id": finding_id, **said, **approval(record)},
                    )
        return self._writer.reader.drift_finding(finding_id), transition

    def add_confirmation(self, confirmation: Confirmation) -> None:
        """Keep what repeated runs said of a suspect."""
        with self._writer.transaction():
            self._writer.insert("drift_confirmation", rows.row_of(confirmation))

    def keep_surroundings(self, boot_id: str, values: Mapping[str, Any], *, now: float) -> None:
        """What the machine is like in this boot; the first word of a boot stands."""
        with self._writer.transaction():
            row = {"boot_id": boot_id, "at": now, "facts": rows.to_json(dict(values))}
            self._writer.insert("drift_surroundings", row, or_ignore=True)
            self._writer.execute(
                "DELETE FROM drift_surroundings WHERE rowid NOT IN"
                " (SELECT rowid FROM drift_surroundings ORDER BY rowid DESC LIMIT ?)",
                _BOOTS_KEPT,
            )

    def add_events(self, events: Sequence[Mapping[str, Any]], value: tuple[str, str]) -> None:
        """Add rows of ``event``, and note with them how far their source was read: the key and
        the value as for :meth:`set_value`.
        """
        with self._writer.transaction():
            for one in events:
                self._writer.insert("event", {**one, "fields": rows.to_json(one["fields"])})
            self._note(*value)

    def set_value(self, key: str, value: str) -> None:
        """Note ``value`` under ``key``, for :meth:`DriftQueries.drift_value`."""
        with self._writer.transaction():
            self._note(key, value)

    def _lately(self, now: float) -> dict[int, FindingRecord]:
        return {one.id: one for one in self._writer.reader.drift_lately(now)}

    def _note(self, key: str, value: str) -> None:
        self._writer.execute("DELETE FROM drift_value WHERE key = ?", key)
        self._writer.insert("drift_value", {"key": key, "value": value})

    def _keep(self, one: Transition, record: FindingRecord | None, now: float, boot_id: str) -> int:
        """Write one transition; the finding's id."""
        columns: dict[str, Any] = {
            **drift_queries.fact_row(one.fact),
            "state": one.state.value,
            "quiet": int(one.quiet),
        }
        if one.announce and one.state is not DriftState.CLOSED:
            columns["announced_at"] = now
        columns["closed_at"] = now if one.state is DriftState.CLOSED else None
        if one.kind is Kind.ACKNOWLEDGED:
            columns |= {"acknowledged_at": now, "acknowledged_by": one.who, "note": one.note}
        elif one.kind not in {Kind.CLOSED, Kind.APPROVED}:
            columns["seen_at"] = now
        if record is None:
            epoch = self._writer.all(
                "SELECT id FROM epoch WHERE subject = ? ORDER BY id DESC LIMIT 1", APPLIANCE
            )
            finding_id = self._writer.insert(
                "drift_finding",
                {
                    "acknowledged_by": "",
                    "note": "",
                    **columns,
                    "opened_at": now,
                    "times": 1,
                    "epoch_id": epoch[0]["id"] if epoch else None,
                    "boot_id": boot_id,
                },
            )
        else:
            finding_id = record.id
            if one.kind is Kind.REOPENED and record.state is DriftState.CLOSED:
                columns["times"] = record.times + 1
            self._writer.update("drift_finding", finding_id, columns)
        if one.is_change:
            self._writer.insert(
                "drift_transition",
                {
                    "finding_id": finding_id,
                    "at": now,
                    "kind": one.kind.value,
                    "state": one.state.value,
                    "severity": one.fact.severity.value,
                    "who": one.who,
                    "note": one.note,
                },
            )
        return finding_id
