"""fio's report and the disks' counters, brought together as one judged result. Pure."""

from __future__ import annotations

from dataclasses import replace

from appliance.bench import fio, validity
from appliance.bench.block_devices import Devices
from appliance.clouds import capability
from appliance.model.disks import DiskKind
from appliance.model.measurement import DeviceIo, JobResult
from appliance.model.runs import Counters, Job

_NOTHING = fio.DirectionReport(0, 0, 0.0, 0.0, 0, 0.0, {}, {})


def reported(job: Job, report: fio.FioReport, direction: str) -> JobResult:
    """One direction of one job as fio tells of it; the rest of its fields is the caller's."""
    did = report.directions.get(direction, _NOTHING)
    other = next((one for name, one in report.directions.items() if name != direction), None)
    return JobResult(
        job=job.name,
        direction=direction,
        rw=job.rw,
        engine=job.engine,
        direct=True,
        block_size_bytes=job.block_size_bytes,
        jobs=job.jobs,
        iodepth=job.iodepth,
        iops=did.iops,
        bandwidth_bytes=did.bandwidth_bytes,
        io_bytes=did.io_bytes,
        total_ios=did.total_ios,
        runtime_ms=did.runtime_ms,
        runtime_asked_ms=round(job.runtime_seconds * 1000),
        latency_mean_ns=did.latency_mean_ns,
        percentiles_ns=did.percentiles_ns,
        bins=did.bins,
        errors=report.error,
        cpu_percent=report.cpu_percent,
        device_bytes=None,
        other_direction_iops=other.iops if other else None,
        other_direction_latency_mean_ns=other.latency_mean_ns if other else None,
        think_time_ms=job.think_time_ms,
    )


def counted(
    result: JobResult,
    devices: Devices,
    changes: tuple[Counters, ...],
    kinds: tuple[DiskKind, ...] = (),
) -> JobResult:
    """``result`` with what the disks did for it, and what is published for them.

    ``changes`` are the counters between fio's start and end of the device, its members, and
    of any other disk that could have done the I/O instead. ``kinds`` are the members' kinds:
    with the machine type they say what is published. Where nothing says which disks were
    ``expected``, they are those below the target.
    """
    return replace(
        result,
        device=devices.device,
        members=devices.members,
        device_io=tuple(map(DeviceIo.of, changes)),
        device_bytes=_member_bytes(devices, changes, result.direction),
        expected=result.expected or devices.members,
        capability=capability.published(
            result.machine_type,
            kind=capability.one_kind(kinds),
            member_count=len(kinds),
            direction=result.direction,
            block_size_bytes=result.block_size_bytes,
            rw=result.rw,
        ),
    )


def judged(result: JobResult) -> JobResult:
    """``result`` with its findings."""
    # Of a target without devices (tmpfs), what other disks did meanwhile says nothing.
    evidence = result if result.device else replace(result, device_io=())
    return replace(result, findings=validity.judge(evidence))


def _member_bytes(devices: Devices, changes: tuple[Counters, ...], direction: str) -> int | None:
    """``None`` without every member (one vanished, or was reset): the sum would be
    too small, and would look like a cache.
    """
    members = [change for change in changes if change.device in devices.members]
    if not members or len(members) != len(devices.members):
        return None
    return sum(
        change.read_bytes if direction == "read" else change.write_bytes for change in members
    )
