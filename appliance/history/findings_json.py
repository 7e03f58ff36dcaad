"""Findings of drift as JSON: what ``drift check --json`` and ``export json`` print. Pure."""

from __future__ import annotations

from typing import Any

from appliance.model.findings import FindingRecord


def next_step(record: FindingRecord) -> str:
    """What to do, with the finding's number where the fact could not know it."""
    step = record.fact.next_step
    return step.replace("drift approve ID", f"drift approve {record.id}") if record.id else step


def finding_to_json(record: FindingRecord) -> dict[str, Any]:
    """One finding; ``id`` is ``None`` if it could not be kept. docs/drift.md explains the keys."""
    fact = record.fact
    return {
        "id": record.id or None,
        "code": fact.code,
        "severity": fact.severity.value,
        "state": record.state.value,
        "subject": fact.subject,
        "volume": fact.volume,
        "member": fact.member,
        "summary": fact.summary,
        "expected": fact.expected,
        "observed": fact.observed,
        "evidence": dict(fact.evidence),
        "next_step": next_step(record),
        "opened_at": record.opened_at,
        "seen_at": record.seen_at,
        "closed_at": record.closed_at,
        "times": record.times,
        "epoch": record.epoch_id,
        "boot_id": record.boot_id,
        "acknowledged_at": record.acknowledged_at,
        "acknowledged_by": record.acknowledged_by,
        "note": record.note,
    }
