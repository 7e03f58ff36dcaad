"""One job measured once: fio on the one side, what the disks did on the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import psutil  # type: ignore[import-untyped]

from appliance.bench import fio, fio_process, job_order, log_page, sampler
from appliance.bench.block_devices import Devices, disk_kinds
from appliance.bench.job_order import PlannedJob
from appliance.bench.prepare import GRACE_SECONDS
from appliance.bench.result import counted, judged, reported
from appliance.bench.run_log import RunLog
from appliance.bench.suite import ACCESS_PATTERNS
from appliance.bench.target import RAW_READ, Place
from appliance.bench.validity import short
from appliance.errors import OperatorError
from appliance.figures import provisioned, sampling
from appliance.model.measurement import JobResult
from appliance.model.runs import Counters, Suite
from appliance.system.kernel import Kernel

# What another disk does beside a run, as a share of what the busiest of its own did.
_ELSEWHERE = 0.1
_SEE_JOURNAL = "see who ended it in the journal, and try the suite again: journalctl -k"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is the same for every job of a run. ``expected`` are the disks of the declared
    volume that the target is in, by kernel name.
    """

    suite: Suite
    engine: str
    machine_type: str
    expected: tuple[str, ...] = ()


def measure(
    measurement: PlannedJob, place: Place, log: RunLog, around: Surroundings
) -> tuple[tuple[JobResult, ...], str]:
    """The judged results of ``measurement``, one a direction, and fio's own report.

    ``place`` is that of the member where a member is measured. Raises what
    :func:`fio_process.run_fio` raises, and :class:`OperatorError` for an unusable report.
    """
    job = measurement.job
    engine = job.engine or around.engine
    members = place.devices.members
    watched = tuple(dict.fromkeys((*place.devices.all, *Kernel().disks())))
    limited = log_page.ask_exceeded(members)
    before, cpu_before = sampler.read_all(watched), cpu_times()
    began_ns = time.time_ns()
    ended = fio_process.run_fio(
        fio.job_arguments(
            job,
            place.workers(job),
            engine=engine,
            file_size_bytes=place.file_size_bytes,
            read_only=place.kind == RAW_READ,
        ),
        directory=place.directory,
        timeout_seconds=job.runtime_seconds * 2 + GRACE_SECONDS,
        on_tick=log.tick,
        interim=log.interim(job.runtime_seconds),
    )
    ended_ns = time.time_ns()
    changes = sampler.deltas(before, sampler.read_all(watched))
    limited_after = log_page.ask_exceeded(members)
    host_cpu_percent = busy_percent(cpu_before, cpu_times())
    # The service manager signals fio and this process together: then it is a stop.
    log.tick()
    # Killed, it has not come to the report at its end, whatever it printed before.
    if ended.returncode < 0:
        raise OperatorError(f"job {job.name}: {ended.in_words}", _SEE_JOURNAL)
    try:
        output = fio.without_interim(ended.output)
        report = fio.parse_report(output)
    except fio.FioOutputError as error:
        if ended.in_words:
            raise OperatorError(f"job {job.name}: {ended.in_words}", error.hint) from error
        raise
    samples = log.samples_of_phase()
    results = tuple(
        replace(
            reported(job, report, direction),
            engine=engine,
            ended=ended.in_words,
            host_cpu_percent=host_cpu_percent,
            member=measurement.member,
            pass_index=measurement.pass_index,
        )
        for direction in ACCESS_PATTERNS[job.rw]
    )
    if job_order.is_control(job):
        return tuple(map(_of_control, results)), output
    return tuple(
        judged(
            counted(
                replace(
                    one,
                    expected=() if measurement.member else around.expected,
                    machine_type=around.machine_type,
                    slices=sampling.slices_of(
                        samples,
                        members=members,
                        direction=one.direction,
                        began_ns=began_ns,
                        ended_ns=ended_ns,
                    ),
                    full_suite=around.suite.steady,
                    provisioned=provisioned.since(limited, limited_after),
                    device_latencies=provisioned.latencies_since(
                        limited, limited_after, one.direction
                    ),
                ),
                place.devices,
                relevant(changes, place.devices),
                disk_kinds(members),
            )
        )
        for one in results
    ), output


def _of_control(result: JobResult) -> JobResult:
    """No disk had a part in it: of the rules about disks only SHORT means anything."""
    found = judged(result)
    return replace(found, findings=tuple(f for f in found.findings if f.code == short.RULE.code))


def relevant(changes: Sequence[Counters], devices: Devices) -> tuple[Counters, ...]:
    """``changes`` of the target's own devices, and of those other disks that did so much that
    they may have done the target's I/O instead.
    """
    own = [change for change in changes if change.device in devices.all]
    most = max((_bytes(change) for change in own), default=0)
    return tuple(
        change
        for change in changes
        if change.device in devices.all or _bytes(change) > most * _ELSEWHERE
    )


def _bytes(change: Counters) -> int:
    return change.read_bytes + change.write_bytes


# -------------------------------------------------------------------------------------- processors


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds since boot, summed over all processors (proc_stat(5))."""

    busy: float
    idle: float


def cpu_times() -> CpuTimes:
    """The times now. Waiting for I/O is idle: the processor was free for others.

    ``guest`` and ``guest_nice`` are in ``user`` and ``nice`` already.
    """
    now = psutil.cpu_times()
    return CpuTimes(
        busy=now.user + now.nice + now.system + now.irq + now.softirq + now.steal,
        idle=now.idle + now.iowait,
    )


def busy_percent(before: CpuTimes, after: CpuTimes) -> float | None:
    """The busy share of all processors between two readings, 0 to 100.

    ``None`` if no time has passed by these clocks, which tick 100 times a second.
    """
    # The kernel lets iowait step back a little.
    busy, idle = max(0.0, after.busy - before.busy), max(0.0, after.idle - before.idle)
    return 100 * busy / (busy + idle) if busy + idle > 0 else None
