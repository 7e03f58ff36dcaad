"""Making a fact: its code gives the severity, and what comes from disks is made printable. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from appliance.drift.codes import CODES
from appliance.model import DriftSeverity, Fact
from appliance.text import printable


def fact(
    code: str,
    subject: str,
    summary: str,
    *,
    expected: str,
    observed: str,
    next_step: str,
    identity: str = "",
    volume: str = "",
    member: str = "",
    severity: DriftSeverity | None = None,
    evidence: Mapping[str, str | int | float] | None = None,
) -> Fact:
    """``identity`` is what was observed in place of what was expected, unless it is given."""
    shown = {
        key: printable(value) if isinstance(value, str) else value
        for key, value in (evidence or {}).items()
    }
    return Fact(
        code=code,
        subject=printable(subject),
        summary=printable(summary),
        identity=printable(identity or f"{expected} -> {observed}"),
        severity=severity or CODES[code].severity,
        expected=printable(expected),
        observed=printable(observed),
        volume=volume,
        member=printable(member),
        evidence=shown,
        next_step=printable(next_step),
    )
