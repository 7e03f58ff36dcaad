"""What is known of one measurement, wherever it comes from: the one form that is judged.

A run of ours and a report out of somebody's diary become the same :class:`Evidence`, so that
one set of rules (:mod:`appliance.bench.validity`) judges both. ``None`` and empty mean "not
known": a rule stays silent where what it needs is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from appliance.model.runs import DeviceLatency, Finding, Provisioned, Severity, Slice


class Source(StrEnum):
    RUN = "run"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class DeviceIo:
    """What one block device did while a job ran: a difference of counters, or fio's disk stats.

    ``*_ios`` are requests completed, ``*_merges`` those that were merged into others before,
    ``*_ticks_ms`` the sum of their times (ticks / ios is the await). ``*_bytes`` is ``None``
    where only requests are known (fio's text reports).
    """

    device: str
    read_ios: int
    write_ios: int
    read_merges: int = 0
    write_merges: int = 0
    read_ticks_ms: int | None = None
    write_ticks_ms: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Capability:
    """What the provider publishes for the devices that were measured, at their level.

    ``iops`` and ``bytes_per_s`` are upper bounds for this direction and block size over all
    members; ``baseline_*`` and ``burst_*`` differ only where credits exist. ``kind`` is
    ``instance-store`` or ``network``. ``basis`` says in words how the bound comes about
    (``2 × 206,250 (i3.4xlarge)``), ``source`` where the facts are from. ``is_limit`` is false
    where more is possible, or the figures are not certain. ``measured_*`` is what others
    measured on as many disks of this machine type: to judge by in words, never a limit.
    """

    kind: str
    iops: float | None = None
    bytes_per_s: float | None = None
    baseline_iops: float | None = None
    baseline_bytes_per_s: float | None = None
    burst_iops: float | None = None
    burst_bytes_per_s: float | None = None
    member_iops: float | None = None
    basis: str = ""
    source: str = ""
    is_limit: bool = True
    measured_iops: float | None = None
    measured_bytes_per_s: float | None = None
    measured_source: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One job and direction: what was asked, what fio says, what the disks did.

    ``direction`` is ``read``, ``write`` or ``trim``; ``rw`` fio's word (``randrw``).
    ``io_bytes`` and ``total_ios`` are fio's; ``latency_mean_ns`` is from submission to
    completion (fio's ``lat``, else ``clat``). ``percentiles_ns`` maps percent texts
    (``"99.000000"``) to ns. ``iodepth`` is what one of ``jobs`` workers was asked for.
    ``printed_*`` are figures of the same report that say a thing twice, for UNITS, and how far
    from the true ones they may be as they were printed (``26.0k``). ``latency_min_ns`` is the
    quickest I/O, submission and all; ``submit_mean_ns`` how long submitting took (``slat``).

    ``device`` is what the file or directory was on (``md0``), ``members`` the disks below
    it, ``device_io`` what each of them did, the device first. ``target`` is the directory or
    device that was measured; ``expected`` are the devices that it should have been on
    (empty: unknown), ``expected_why`` where that is known from.

    ``other_direction_*`` is the other direction of a mixed job. ``sync_ios`` is how often fio
    called fsync or fdatasync, ``synced`` whether writes were made durable by any means,
    ``ramp_ms`` how long the job ran before fio began to count (the devices' counts include
    it), ``think_time_ms`` how long a worker was to wait after each I/O, ``paced_by`` the option
    by which fio held itself below ``iodepth`` (empty: none). Each is ``None`` where the job's
    options were not all seen. ``slices`` are equal intervals in order of time.
    ``runtime_asked_ms`` is ``None`` where the job is bounded by size. ``ended`` says in words
    how fio ended, if not by itself and in order. ``truncated`` is true where the report is
    not whole; ``full_suite`` where STEADY applies.
    """

    source: Source
    job: str
    direction: str
    rw: str = ""
    engine: str = ""
    fio_version: str = ""
    direct: bool | None = None
    block_size_bytes: int | None = None
    jobs: int | None = None
    iodepth: int | None = None
    iops: float | None = None
    bandwidth_bytes: float | None = None
    io_bytes: int | None = None
    total_ios: int | None = None
    runtime_ms: int | None = None
    runtime_asked_ms: int | None = None
    latency_mean_ns: float | None = None
    percentiles_ns: dict[str, int] | None = None
    latency_min_ns: int | None = None
    submit_mean_ns: float | None = None
    printed_iops: float | None = None
    printed_iops_error: float = 0.0
    printed_bandwidth_bytes: float | None = None
    printed_bandwidth_error_bytes: float = 0.0
    errors: int = 0
    ended: str = ""
    truncated: bool = False
    cpu_percent: float | None = None
    host_cpu_percent: float | None = None
    device: str = ""
    members: tuple[str, ...] = ()
    device_io: tuple[DeviceIo, ...] = ()
    target: str = ""
    expected: tuple[str, ...] = ()
    expected_why: str = ""
    other_direction_iops: float | None = None
    other_direction_latency_mean_ns: float | None = None
    sync_ios: int = 0
    synced: bool | None = False
    ramp_ms: int | None = 0
    think_time_ms: int = 0
    paced_by: str | None = ""
    slices: tuple[Slice, ...] = ()
    full_suite: bool = False
    machine_type: str = ""
    capability: Capability | None = None
    provisioned: Provisioned | None = None
    device_latencies: tuple[DeviceLatency, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """One imported report, one direction, with the verdicts on it.

    ``file`` is the file's name as it was given, ``line`` (from 1) where the report begins.
    """

    file: str
    line: int
    evidence: Evidence
    findings: tuple[Finding, ...] = ()

    @property
    def valid(self) -> bool:
        """No blocking finding: the number may be quoted and compared."""
        return not any(f.severity is Severity.BLOCK for f in self.findings)
