"""The tables of drift, as migration 4 of :mod:`appliance.history.schema` makes them."""

from __future__ import annotations

from collections.abc import Callable

from sqlite_utils import Database
from sqlite_utils.db import Table


def create(db: Database, table: Callable[[Database, str], Table]) -> None:
    """Make the tables. Released: never edited, a change is another migration."""
    table(db, "drift_finding").create(
        {
            "id": int,
            "code": str,
            "subject": str,
            "identity": str,
            "severity": str,
            "state": str,
            "fact_state": str,
            "summary": str,
            "expected": str,
            "observed": str,
            "volume": str,
            "member": str,
            "evidence": str,
            "next_step": str,
            "epoch_id": int,
            "boot_id": str,
            "opened_at": float,
            "seen_at": float,
            "closed_at": float,
            "announced_at": float,
            "quiet": int,
            "times": int,
            "acknowledged_at": float,
            "acknowledged_by": str,
            "note": str,
        },
        pk="id",
        foreign_keys=[("epoch_id", "epoch", "id")],
        not_null={
            *("code", "subject", "identity", "severity", "state", "fact_state", "summary"),
            *("expected", "observed", "volume", "member", "evidence", "next_step", "boot_id"),
            *("opened_at", "seen_at", "quiet", "times", "acknowledged_by", "note"),
        },
        strict=True,
    )
    table(db, "drift_finding").create_index(["state", "closed_at"])
    table(db, "drift_transition").create(
        {
            "id": int,
            "finding_id": int,
            "at": float,
            "kind": str,
            "state": str,
            "severity": str,
            "who": str,
            "note": str,
        },
        pk="id",
        foreign_keys=[("finding_id", "drift_finding", "id")],
        not_null={"finding_id", "at", "kind", "state", "severity", "who", "note"},
        strict=True,
    )
    table(db, "drift_transition").create_index(["finding_id"])
    table(db, "drift_approval").create(
        {
            "id": int,
            "finding_id": int,
            "at": float,
            "who": str,
            "note": str,
            "subject": str,
            "target": str,
            "from_run": int,
        },
        pk="id",
        foreign_keys=[("finding_id", "drift_finding", "id")],
        not_null={"finding_id", "at", "who", "note", "subject", "target", "from_run"},
        strict=True,
    )
    table(db, "drift_confirmation").create(
        {
            "id": int,
            "at": float,
            "code": str,
            "subject": str,
            "identity": str,
            "target": str,
            "change_run": int,
            "run_id": int,
            "verdict": str,
            "words": str,
            "repeats": str,
            "control": str,
        },
        pk="id",
        foreign_keys=[("run_id", "run", "id")],
        not_null={
            *("at", "code", "subject", "identity", "target", "change_run", "run_id"),
            *("verdict", "words", "repeats", "control"),
        },
        strict=True,
    )
    table(db, "drift_surroundings").create(
        {"boot_id": str, "at": float, "facts": str},
        pk="boot_id",
        not_null={"at", "facts"},
        strict=True,
    )
    table(db, "drift_value").create(
        {"key": str, "value": str}, pk="key", not_null={"value"}, strict=True
    )
