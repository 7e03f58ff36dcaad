"""Imported results as JSON: the keys that outside programs read. Pure."""

from __future__ import annotations

from appliance.clouds import capability
from appliance.figures import quantities
from appliance.history.runs_json import figures, verdict
from appliance.model import ImportedResult, Measurement

# What a whole report has of each job and direction.
_WHOLE = ("iops", "bandwidth_bytes", "total_ios", "runtime_ms", "latency_mean_ns")


def missing(of: Measurement) -> tuple[str, ...]:
    """What a report that is cut off does not say: it is not wrong for it."""
    lacking = (name for name in _WHOLE if getattr(of, name) is None)
    return tuple(lacking) if of.truncated else ()


def to_json(result: ImportedResult) -> dict[str, object]:
    """One result in SI base units; ``null`` is what the report does not prove."""
    return {
        "source": result.file,
        "line": result.line,
        **figures(result),
        "fio_version": result.fio_version,
        "percentiles_ns": result.percentiles_ns or {},
        "queue_depth_asked": quantities.asked_depth(result),
        "queue_depth_seen": quantities.queue_depth_seen(result),
        "truncated": result.truncated,
        "missing": list(missing(result)),
        "direct": result.direct,
        "latency_min_ns": result.latency_min_ns,
        "printed_iops": result.printed_iops,
        "printed_bandwidth_bytes": result.printed_bandwidth_bytes,
        "target": result.target,
        "device": result.device,
        "members": list(result.members),
        "machine_type": result.machine_type,
        "coverage": quantities.coverage_of(result),
        "published_iops": result.published_iops,
        "percent_of_published": capability.percent_of_published(result),
        **verdict(result),
    }
