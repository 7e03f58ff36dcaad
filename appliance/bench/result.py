"""fio's report and the disks' counters, brought together as one judged result. Pure."""

from __future__ import annotations

import dataclasses

from appliance.bench import fio, validity
from appliance.bench.block_devices import Devices
from appliance.clouds import capability
from appliance.model.disks import DiskKind
from appliance.model.measurement import DeviceIo, DeviceLatency, JobResult, Provisioned, Slice
from appliance.model.runs import Counters, Job

_NOTHING = fio.DirectionReport(0, 0, 0.0, 0.0, 0, 0.0, {}, {})


def to_result(
    job: Job,
    report: fio.FioReport,
    direction: str,
    *,
    engine: str,
    devices: Devices,
    changes: tuple[Counters, ...],
    ended: str,
    host_cpu_percent: float | None,
    machine_type: str = "",
    kinds: tuple[DiskKind, ...] = (),
    expected: tuple[str, ...] = (),
    slices: tuple[Slice, ...] = (),
    full_suite: bool = False,
    provisioned: Provisioned | None = None,
    device_latencies: tuple[DeviceLatency, ...] = (),
    member: str = "",
    pass_index: int = 1,
) -> JobResult:
    """One direction of one job, judged.

    ``changes`` are the counters between fio's start and end of the device, its members, and
    of any other disk that could have done the I/O instead. ``kinds`` are the members' kinds:
    with the machine type they say what is published. ``expected`` are the disks that the
    volume is made of, if something says so (empty: those below the target). ``slices`` and
    ``full_suite`` are for STEADY and BURST. ``ended`` says in words how fio ended if not by
    itself and in order, ``host_cpu_percent`` is as in :func:`measure.busy_percent`.
    """
    did = report.directions.get(direction, _NOTHING)
    other = next((one for name, one in report.directions.items() if name != direction), None)
    result = JobResult(
        job=job.name,
        direction=direction,
        rw=job.rw,
        engine=engine,
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
        ended=ended,
        cpu_percent=report.cpu_percent,
        host_cpu_percent=host_cpu_percent,
        device=devices.device,
        members=devices.members,
        device_io=tuple(map(DeviceIo.of, changes)),
        device_bytes=_member_bytes(devices, changes, direction),
        expected=expected or devices.members,
        other_direction_iops=other.iops if other else None,
        other_direction_latency_mean_ns=other.latency_mean_ns if other else None,
        think_time_ms=job.think_time_ms,
        slices=slices,
        full_suite=full_suite,
        machine_type=machine_type,
        capability=capability.published(
            machine_type,
            kind=capability.one_kind(kinds),
            member_count=len(kinds),
            direction=direction,
            block_size_bytes=job.block_size_bytes,
            rw=job.rw,
        ),
        provisioned=provisioned,
        device_latencies=device_latencies,
        member=member,
        pass_index=pass_index,
    )
    # Of a target without devices (tmpfs), what other disks did meanwhile says nothing.
    judged = result if devices.device else dataclasses.replace(result, device_io=())
    return dataclasses.replace(result, findings=validity.judge(judged))


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
