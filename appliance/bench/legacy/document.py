"""Imported results as JSON: the keys that outside programs read. Pure."""

from __future__ import annotations

from appliance.bench import capability, validity
from appliance.bench.document import figures, verdict
from appliance.model import Judged


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
        "queue_depth_seen": validity.queue_depth_seen(evidence),
        "truncated": evidence.truncated,
        "target": evidence.target,
        "device": evidence.device,
        "members": list(evidence.members),
        "machine_type": evidence.machine_type,
        "coverage": validity.coverage_of(evidence),
        "published_iops": published.iops if published else None,
        "percent_of_published": capability.percent_of_published(evidence),
        **verdict(judged),
    }
