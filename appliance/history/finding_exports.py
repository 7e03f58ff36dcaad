"""Findings of drift for other programs: metrics and a JSON document. Reads only."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from appliance.history.findings_json import finding_to_json
from appliance.history.openmetrics import Gauge
from appliance.history.queries import Reader
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord, by_gravity

# A label is a series in somebody's database: there are never more of them than this.
_MOST_FINDINGS = 50
_MAX_LABEL_CHARS = 120
_STATES = tuple(state for state in DriftState if state is not DriftState.CLOSED)


def gauges(reader: Reader, *, checked_at: float | None) -> list[Gauge]:
    """How many findings there are of each severity and state, and which; when somebody last looked.

    ``checked_at`` is seconds since the epoch. The counts are there with zeros from the first check
    on: an alarm on a series that does not exist is never raised.
    """
    found = reader.drift_findings()
    if checked_at is None and not found:
        return []
    counts = Counter((one.fact.severity, one.state) for one in found)
    return [
        Gauge(
            "stripewright_drift_findings",
            "",
            "Findings of drift that are not closed.",
            tuple(
                (
                    {"severity": severity.value, "state": state.value},
                    float(counts[severity, state]),
                )
                for severity in DriftSeverity
                for state in _STATES
            ),
        ),
        Gauge(
            "stripewright_drift_finding_opened_timestamp_seconds",
            "seconds",
            "Since when a finding is open; the gravest fifty.",
            tuple(
                (_labels(one), one.opened_at)
                for one in sorted(found, key=by_gravity)[:_MOST_FINDINGS]
            ),
        ),
        Gauge(
            "stripewright_drift_checked_timestamp_seconds",
            "seconds",
            "When drift was last looked for.",
            () if checked_at is None else (({}, checked_at),),
        ),
    ]


def _labels(record: FindingRecord) -> dict[str, str]:
    fact = record.fact
    return {
        "finding": str(record.id),
        "code": fact.code,
        "severity": fact.severity.value,
        "state": record.state.value,
        "subject": fact.subject[:_MAX_LABEL_CHARS],
        "member": fact.member[:_MAX_LABEL_CHARS],
    }


def document(reader: Reader, record: FindingRecord) -> dict[str, Any]:
    """A finding with every change of its state."""
    return {
        **finding_to_json(record),
        "transitions": [dataclasses.asdict(one) for one in reader.drift_transitions(record.id)],
    }
