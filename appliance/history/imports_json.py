"""Imported results as JSON: the keys that outside programs read. Pure."""

from __future__ import annotations

from appliance.clouds import capability
from appliance.figures import quantities
from appliance.history.runs_json import figures, verdict
from appliance.model import Evidence, Judged

# What a whole report has of each job and direction.
_WHOLE = ("iops", "bandwidth_bytes", "total_ios", "runtime_ms", "latency_mean_ns")


def missing(evidence: Evidence) -> tuple[str, ...]:
    """What a report that is cut off does not say: it is not wrong for it."""
    lacking = (name for name in _WHOLE if getattr(evidence, name) is None)
    return tuple(lacking) if evidence.truncated else ()


def to_json(judged: Judged) -> dict[str, object]:
    """One result in SI base units; ``null`` is what the report does not prove."""
    evidence = judged.evidence
    asked = None
    if evidence.jobs is not None and evidence.iodepth is not None:
        asked = evidence.jobs * evidence.iodepth
    published = evidence.capability
    return {
        "source": judged.file,
        "line": judged.line,
        **figures(evidence),
        "fio_version": evidence.fio_version,
        "percentiles_ns": evidence.percentiles_ns or {},
        "queue_depth_asked": asked,
        "queue_depth_seen": quantities.queue_depth_seen(evidence),
        "truncated": evidence.truncated,
        "missing": list(missing(evidence)),
        "direct": evidence.direct,
        "latency_min_ns": evidence.latency_min_ns,
        "printed_iops": evidence.printed_iops,
        "printed_bandwidth_bytes": evidence.printed_bandwidth_bytes,
        "target": evidence.target,
        "device": evidence.device,
        "members": list(evidence.members),
        "machine_type": evidence.machine_type,
        "coverage": quantities.coverage_of(evidence),
        "published_iops": published.iops if published else None,
        "percent_of_published": capability.percent_of_published(evidence),
        **verdict(judged),
    }
