"""fio's report and the disks' counters, brought together as one judged result. Pure."""

from __future__ import annotations

from appliance.bench import fio, validity
from appliance.bench.block_devices import Devices
from appliance.clouds import capability
from appliance.model import (
    Capability,
    Counters,
    DeviceIo,
    DeviceLatency,
    DiskKind,
    Evidence,
    Job,
    JobResult,
    Provisioned,
    Slice,
    Source,
)


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
    """One direction of one job.

    ``changes`` are the counters between fio's start and end of the device, its members, and
    of any other disk that could have done the I/O instead. ``kinds`` are the members' kinds:
    with the machine type they say what is published. ``expected`` are the disks that the
    volume is made of, if something says so (empty: those below the target). ``slices`` and
    ``full_suite`` are for STEADY and BURST. ``ended`` says in words how fio ended if not by
    itself and in order, ``host_cpu_percent`` is as in :func:`host.busy_percent`.
    """
    did = report.directions.get(direction)
    published = capability.published(
        machine_type,
        kind=capability.one_kind(kinds),
        member_count=len(kinds),
        direction=direction,
        block_size_bytes=job.block_size_bytes,
        rw=job.rw,
    )
    evidence = to_evidence(
        job,
        report,
        direction,
        engine=engine,
        devices=devices,
        changes=changes,
        ended=ended,
        host_cpu_percent=host_cpu_percent,
        published=published,
        expected=expected,
        slices=slices,
        full_suite=full_suite,
        provisioned=provisioned,
        device_latencies=device_latencies,
        machine_type=machine_type,
    )
    members = [change for change in changes if change.device in devices.members]
    device_bytes = sum(
        change.read_bytes if direction == "read" else change.write_bytes for change in members
    )
    return JobResult(
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
        findings=validity.judge(evidence),
        published_iops=published.iops if published else None,
        rw=job.rw,
        host_cpu_percent=host_cpu_percent,
        published_bytes_per_s=published.bytes_per_s if published else None,
        published_basis=published.basis if published else "",
        published_source=published.source if published else "",
        provisioned=provisioned,
        device_latencies=device_latencies,
        member=member,
        pass_index=pass_index,
    )


def to_evidence(
    job: Job,
    report: fio.FioReport,
    direction: str,
    *,
    engine: str,
    devices: Devices,
    changes: tuple[Counters, ...],
    ended: str,
    host_cpu_percent: float | None,
    published: Capability | None,
    expected: tuple[str, ...],
    slices: tuple[Slice, ...],
    full_suite: bool,
    provisioned: Provisioned | None,
    machine_type: str,
    device_latencies: tuple[DeviceLatency, ...] = (),
) -> Evidence:
    """The same as the one form that is judged; the arguments are those of :func:`to_result`."""
    did = report.directions.get(direction)
    other = next((one for name, one in report.directions.items() if name != direction), None)
    return Evidence(
        source=Source.RUN,
        job=job.name,
        direction=direction,
        rw=job.rw,
        engine=engine,
        direct=True,
        block_size_bytes=job.block_size_bytes,
        jobs=job.jobs,
        iodepth=job.iodepth,
        iops=did.iops if did else 0.0,
        bandwidth_bytes=did.bandwidth_bytes if did else 0.0,
        io_bytes=did.io_bytes if did else 0,
        total_ios=did.total_ios if did else 0,
        runtime_ms=did.runtime_ms if did else 0,
        runtime_asked_ms=round(job.runtime_seconds * 1000),
        latency_mean_ns=did.latency_mean_ns if did else 0.0,
        percentiles_ns=did.percentiles_ns if did else {},
        errors=report.error,
        ended=ended,
        cpu_percent=report.cpu_percent,
        host_cpu_percent=host_cpu_percent,
        device=devices.device,
        members=devices.members,
        # Of a target without devices (tmpfs), what other disks did meanwhile says nothing.
        device_io=tuple(device_io(change) for change in changes) if devices.device else (),
        expected=expected or devices.members,
        other_direction_iops=other.iops if other else None,
        other_direction_latency_mean_ns=other.latency_mean_ns if other else None,
        think_time_ms=job.think_time_ms,
        slices=slices,
        full_suite=full_suite,
        machine_type=machine_type,
        capability=published,
        provisioned=provisioned,
        device_latencies=device_latencies,
    )


def device_io(counters: Counters) -> DeviceIo:
    """A difference of counters in the form that is judged. Merges are in neither of them."""
    return DeviceIo(
        device=counters.device,
        read_ios=counters.read_ios,
        write_ios=counters.write_ios,
        read_ticks_ms=counters.read_ms,
        write_ticks_ms=counters.write_ms,
        read_bytes=counters.read_bytes,
        write_bytes=counters.write_bytes,
    )
