"""Runs and results as JSON documents: the keys that outside programs read. Pure."""

from __future__ import annotations

from appliance.bench import capability, validity
from appliance.model import Finding, JobResult, RunRecord


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


def result_to_json(result: JobResult, run: RunRecord | None = None) -> dict[str, object]:
    """One result in SI base units; with ``run``, also where it was measured.

    The keys are those of ``bench import --json``, so that a diary and a run can be set
    side by side.
    """
    document: dict[str, object] = {
        "job": result.job,
        "direction": result.direction,
        "rw": result.rw,
        "member": result.member,
        "pass": result.pass_index,
        "engine": result.engine,
        "block_size_bytes": result.block_size_bytes,
        "iops": result.iops,
        "bandwidth_bytes": result.bandwidth_bytes,
        "io_bytes": result.io_bytes,
        "total_ios": result.total_ios,
        "latency_mean_ns": result.latency_mean_ns,
        "percentiles_ns": dict(result.percentiles_ns),
        "runtime_ms": result.runtime_ms,
        "runtime_asked_ms": result.runtime_asked_ms,
        "queue_depth_asked": result.jobs * result.iodepth,
        "queue_depth_seen": result.queue_depth_seen,
        "cpu_percent": result.cpu_percent,
        "host_cpu_percent": result.host_cpu_percent,
        "errors": result.errors,
        "device_bytes": result.device_bytes,
        "coverage": result.coverage,
        "corrected_iops": validity.corrected_iops(result),
        "published_iops": result.published_iops,
        "percent_of_published": capability.percent_of_published(result),
        "valid": result.valid,
        "findings": [finding_to_json(finding) for finding in result.findings],
    }
    if run is not None:
        document |= {"device": run.device, "members": list(run.members)}
    return document


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
