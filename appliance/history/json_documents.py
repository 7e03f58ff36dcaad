"""Runs, imports and findings as JSON documents: the keys that outside programs read. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any

from appliance.clouds import capability
from appliance.figures import quantities
from appliance.model.findings import FindingRecord
from appliance.model.measurement import DeviceLatency, JobResult, Measurement
from appliance.model.runs import RunRecord
from appliance.text import fields

# Of every result, wherever it comes from: what was asked, and what fio says of it.
FIGURES = (
    *("job", "direction", "rw", "engine", "block_size_bytes", "jobs", "iodepth", "iops"),
    *("bandwidth_bytes", "io_bytes", "total_ios", "latency_mean_ns", "runtime_ms"),
    *("runtime_asked_ms", "errors", "cpu_percent", "host_cpu_percent"),
)
# What a whole report has of each job and direction.
_WHOLE = ("iops", "bandwidth_bytes", "total_ios", "runtime_ms", "latency_mean_ns")
# How the log page says that the last histogram is of all larger I/Os.
_NO_LIMIT = 2**32 - 1


def run_to_json(run: RunRecord) -> dict[str, object]:
    """One run without its results. Times are seconds since the epoch (UTC)."""
    return {
        "run": run.id,
        **fields(run, "suite state reason notes"),
        "epoch": run.epoch_id,
        **fields(run, "target target_kind device members machine_type engine fio_version"),
        **fields(run, "time_factor started_at ended_at conditions"),
    }


def figures(of: Measurement) -> dict[str, Any]:
    return {name: getattr(of, name) for name in FIGURES}


def verdict(of: Measurement) -> dict[str, object]:
    """What is thought of a result."""
    return {
        "corrected_iops": quantities.corrected_iops(of),
        "valid": of.valid,
        "findings": [dataclasses.asdict(finding) for finding in of.findings],
    }


def result_to_json(result: JobResult, run: RunRecord | None = None) -> dict[str, object]:
    """One result in SI base units; with ``run``, also where it was measured.

    The keys are those of ``bench import --json``, so that a diary and a run can be set
    side by side.
    """
    document: dict[str, object] = {
        **figures(result),
        "member": result.member,
        "pass": result.pass_index,
        "percentiles_ns": result.percentiles_ns,
        "queue_depth_asked": result.jobs * result.iodepth,
        **fields(result, "queue_depth_seen device_bytes coverage"),
        "device_latencies": [latency_to_json(one) for one in result.device_latencies],
        "published_iops": result.published_iops,
        "percent_of_published": capability.percent_of_published(result),
        **verdict(result),
    }
    if run is not None:
        document |= fields(run, "device members")
    return document


def latency_to_json(one: DeviceLatency) -> dict[str, object]:
    """What a disk itself says of its I/Os; percentiles are the ends of its bins, in µs."""
    return {
        **fields(one, "device ios mean_us"),
        "p50_at_most_us": one.at_most_us(50.0),
        "p99_at_most_us": one.at_most_us(99.0),
        "bins_us": one.bins,
        "by_size": [
            {"at_most_bytes": None if size_bytes == _NO_LIMIT else size_bytes, "bins_us": bins}
            for size_bytes, bins in one.by_size
        ],
    }


def missing(of: Measurement) -> tuple[str, ...]:
    """What a report that is cut off does not say: it is not wrong for it."""
    lacking = (name for name in _WHOLE if getattr(of, name) is None)
    return tuple(lacking) if of.truncated else ()


def report_to_json(result: Measurement) -> dict[str, object]:
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
        "missing": missing(result),
        **fields(result, "direct latency_min_ns printed_iops printed_bandwidth_bytes target"),
        **fields(result, "device members machine_type"),
        "coverage": quantities.coverage_of(result),
        "published_iops": result.published_iops,
        "percent_of_published": capability.percent_of_published(result),
        **verdict(result),
    }


# ------------------------------------------------------------------------------- drift


def next_step(record: FindingRecord) -> str:
    """What to do, with the finding's number where the fact could not know it."""
    step = record.fact.next_step
    return step.replace("drift approve ID", f"drift approve {record.id}") if record.id else step


def drift_to_json(record: FindingRecord) -> dict[str, Any]:
    """One finding; ``id`` is ``None`` if it could not be kept. docs/drift.md explains the keys."""
    fact = record.fact
    return {
        "id": record.id or None,
        **fields(fact, "code severity"),
        "state": record.state,
        **fields(fact, "subject volume member summary expected observed evidence"),
        "next_step": next_step(record),
        **fields(record, "opened_at seen_at closed_at times"),
        "epoch": record.epoch_id,
        **fields(record, "boot_id acknowledged_at acknowledged_by note"),
    }
