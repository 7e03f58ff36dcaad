"""Rows of the drift tables to and from the frozen values of appliance.model.findings. Pure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from appliance.history.rows import Row, to_json
from appliance.model.confirmations import Approval, Confirmation, Verdict
from appliance.model.findings import TEXTS, DriftSeverity, DriftState, Fact, FindingRecord

# Columns of drift_confirmation that are fields of a Confirmation as they are.
_CONFIRMATION = (
    "code",
    "subject",
    "identity",
    "target",
    "change_run",
    "run_id",
    "at",
    "words",
)


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


def fact_row(fact: Fact) -> Row:
    """The columns of drift_finding that are the fact itself."""
    return {
        **{name: getattr(fact, name) for name in TEXTS},
        "severity": fact.severity.value,
        "fact_state": fact.state.value,
        "evidence": to_json(dict(fact.evidence)),
    }


def to_finding(row: Mapping[str, Any]) -> FindingRecord:
    return FindingRecord(
        id=row["id"],
        fact=Fact(
            **{name: row[name] for name in TEXTS},
            severity=DriftSeverity(row["severity"]),
            evidence=json.loads(row["evidence"]),
            state=DriftState(row["fact_state"]),
        ),
        state=DriftState(row["state"]),
        epoch_id=row["epoch_id"],
        opened_at=row["opened_at"],
        seen_at=row["seen_at"],
        closed_at=row["closed_at"],
        acknowledged_at=row["acknowledged_at"],
        acknowledged_by=row["acknowledged_by"],
        note=row["note"],
        times=row["times"],
        boot_id=row["boot_id"],
        announced_at=row["announced_at"],
        quiet=bool(row["quiet"]),
    )


def to_transition(row: Mapping[str, Any]) -> TransitionRecord:
    return TransitionRecord(
        id=row["id"],
        finding_id=row["finding_id"],
        at=row["at"],
        kind=row["kind"],
        state=DriftState(row["state"]),
        severity=DriftSeverity(row["severity"]),
        who=row["who"],
        note=row["note"],
    )


def to_approval(row: Mapping[str, Any]) -> Approval:
    return Approval(subject=row["subject"], target=row["target"], from_run=row["from_run"])


def confirmation_row(confirmation: Confirmation) -> Row:
    row = dataclasses.asdict(confirmation)
    return {
        **row,
        "verdict": confirmation.verdict.value,
        "repeats": to_json(list(confirmation.repeats)),
        "control": to_json(list(confirmation.control)),
    }


def to_confirmation(row: Mapping[str, Any]) -> Confirmation:
    known = {name: row[name] for name in _CONFIRMATION}
    return Confirmation(
        **known,
        verdict=Verdict(row["verdict"]),
        repeats=tuple(json.loads(row["repeats"])),
        control=tuple(json.loads(row["control"])),
    )
