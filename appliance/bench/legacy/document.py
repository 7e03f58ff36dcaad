"""Imported results as JSON: the keys that outside programs read. Pure."""

from __future__ import annotations

from appliance.bench import capability, validity
from appliance.bench.document import finding_to_json
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
        "job": evidence.job,
        "direction": evidence.direction,
        "rw": evidence.rw,
        "engine": evidence.engine,
        "fio_version": evidence.fio_version,
        "block_size_bytes": evidence.block_size_bytes,
        "jobs": evidence.jobs,
        "iodepth": evidence.iodepth,
        "iops": evidence.iops,
        "bandwidth_bytes": evidence.bandwidth_bytes,
        "io_bytes": evidence.io_bytes,
        "total_ios": evidence.total_ios,
        "latency_mean_ns": evidence.latency_mean_ns,
        "percentiles_ns": evidence.percentiles_ns or {},
        "runtime_ms": evidence.runtime_ms,
        "runtime_asked_ms": evidence.runtime_asked_ms,
        "queue_depth_asked": asked,
        "queue_depth_seen": validity.queue_depth_seen(evidence),
        "errors": evidence.errors,
        "truncated": evidence.truncated,
        "target": evidence.target,
        "device": evidence.device,
        "members": list(evidence.members),
        "machine_type": evidence.machine_type,
        "coverage": validity.coverage_of(evidence),
        "corrected_iops": validity.corrected_iops(judged.findings),
        "published_iops": published.iops if published else None,
        "percent_of_published": capability.percent_of_published(evidence),
        "valid": judged.valid,
        "findings": [finding_to_json(finding) for finding in judged.findings],
    }
