"""Runs and results as JSON documents: the keys that outside programs read. Pure."""

from __future__ import annotations

from appliance.clouds import capability
from appliance.figures import quantities
from appliance.model import DeviceLatency, Finding, JobResult, Measurement, RunRecord


def run_to_json(run: RunRecord) -> dict[str, object]:
    """One run without its results. Times are seconds since the epoch (UTC)."""
    return {
        "run": run.id,
        "suite": run.suite,
        "state": run.state.value,
        "reason": run.reason,
        "notes": list(run.notes),
        "epoch": run.epoch_id,
        "target": run.target,
        "target_kind": run.target_kind,
        "device": run.device,
        "members": list(run.members),
        "machine_type": run.machine_type,
        "engine": run.engine,
        "fio_version": run.fio_version,
        "time_factor": run.time_factor,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "conditions": dict(run.conditions),
    }


def figures(of: Measurement) -> dict[str, str | int | float | None]:
    """What was asked and what fio says of it: of every result, wherever it comes from."""
    return {
        "job": of.job,
        "direction": of.direction,
        "rw": of.rw,
        "engine": of.engine,
        "block_size_bytes": of.block_size_bytes,
        "jobs": of.jobs,
        "iodepth": of.iodepth,
        "iops": of.iops,
        "bandwidth_bytes": of.bandwidth_bytes,
        "io_bytes": of.io_bytes,
        "total_ios": of.total_ios,
        "latency_mean_ns": of.latency_mean_ns,
        "runtime_ms": of.runtime_ms,
        "runtime_asked_ms": of.runtime_asked_ms,
        "errors": of.errors,
        "cpu_percent": of.cpu_percent,
        "host_cpu_percent": of.host_cpu_percent,
    }


def verdict(of: Measurement) -> dict[str, object]:
    """What is thought of a result."""
    return {
        "corrected_iops": quantities.corrected_iops(of),
        "valid": of.valid,
        "findings": [finding_to_json(finding) for finding in of.findings],
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
        "percentiles_ns": dict(result.percentiles_ns),
        "queue_depth_asked": result.jobs * result.iodepth,
        "queue_depth_seen": result.queue_depth_seen,
        "device_bytes": result.device_bytes,
        "coverage": result.coverage,
        "device_latencies": [latency_to_json(one) for one in result.device_latencies],
        "published_iops": result.published_iops,
        "percent_of_published": capability.percent_of_published(result),
        **verdict(result),
    }
    if run is not None:
        document |= {"device": run.device, "members": list(run.members)}
    return document


# How the log page says that the last histogram is of all larger I/Os.
_NO_LIMIT = 2**32 - 1


def latency_to_json(one: DeviceLatency) -> dict[str, object]:
    """What a disk itself says of its I/Os; percentiles are the ends of its bins, in µs."""
    return {
        "device": one.device,
        "ios": one.ios,
        "mean_us": one.mean_us,
        "p50_at_most_us": one.at_most_us(50.0),
        "p99_at_most_us": one.at_most_us(99.0),
        "bins_us": [list(row) for row in one.bins],
        "by_size": [
            {
                "at_most_bytes": None if size_bytes == _NO_LIMIT else size_bytes,
                "bins_us": [list(row) for row in bins],
            }
            for size_bytes, bins in one.by_size
        ],
    }


def finding_to_json(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "measured": finding.measured,
        "limit": finding.limit,
        "corrected": finding.corrected,
        "unit": finding.unit,
    }
