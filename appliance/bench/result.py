"""fio's report and the disks' counters, brought together as one judged result. Pure."""

from __future__ import annotations

import dataclasses

from appliance.bench import fio, validity
from appliance.bench.target import Devices
from appliance.model import Counters, Job, JobResult


def to_result(
    job: Job,
    report: fio.FioReport,
    direction: str,
    *,
    engine: str,
    devices: Devices,
    changes: tuple[Counters, ...],
    published_iops: float | None,
    ended: str,
    host_cpu_percent: float | None,
) -> JobResult:
    """One direction of one job. ``changes`` are the counters of the device and its members
    between fio's start and end; ``ended`` is as in :func:`validity.judge`,
    ``host_cpu_percent`` as in :func:`host.busy_percent`.
    """
    did = report.directions.get(direction)
    members = [change for change in changes if change.device in devices.members]
    device_bytes = sum(
        change.read_bytes if direction == "read" else change.write_bytes for change in members
    )
    result = JobResult(
        job=job.name,
        direction=direction,
        engine=engine,
        block_size_bytes=job.block_size_bytes,
        iops=did.iops if did else 0.0,
        bandwidth_bytes=did.bandwidth_bytes if did else 0.0,
        io_bytes=did.io_bytes if did else 0,
        total_ios=did.total_ios if did else 0,
        latency_mean_ns=did.latency_mean_ns if did else 0.0,
        percentiles_ns=did.percentiles_ns if did else {},
        bins=did.bins if did else {},
        runtime_ms=did.runtime_ms if did else 0,
        runtime_asked_ms=round(job.runtime_seconds * 1000),
        jobs=job.jobs,
        iodepth=job.iodepth,
        errors=report.error,
        cpu_percent=report.cpu_percent,
        # Without every member (one vanished, or came back and counts anew) the sum would be
        # too small, and would look like a cache.
        device_bytes=device_bytes if members and len(members) == len(devices.members) else None,
        device_deltas=changes,
        published_iops=published_iops,
        rw=job.rw,
        host_cpu_percent=host_cpu_percent,
    )
    return dataclasses.replace(result, findings=validity.judge(result, ended=ended))
