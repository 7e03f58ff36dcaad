"""One measurement, wherever it comes from: the one value that is judged, kept, shown and exported.

A run of ours and an imported report are both a :class:`Measurement`, so that one set
of rules (:mod:`appliance.bench.validity`), one report and one export serve both. ``None`` and empty
mean "not known": a rule stays silent where what it needs is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from appliance.model.runs import Counters


class Severity(StrEnum):
    BLOCK = "block"
    WARN = "warn"
    LABEL = "label"


@dataclass(frozen=True, slots=True)
class Finding:
    """One validity rule's judgement of one result. ``corrected`` is in ``unit``, if known."""

    code: str
    severity: Severity
    message: str
    measured: float | None = None
    limit: float | None = None
    corrected: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Slice:
    """One interval of a job's run time as the block layer saw it (all members together)."""

    seconds: float
    iops: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Provisioned:
    """How long a provisioned limit was exceeded during the job (NVMe log page 0xD0), in µs.

    ``volume_*`` is the volume's own limit, ``instance_*`` the machine's for network volumes.
    """

    volume_iops_us: int = 0
    volume_throughput_us: int = 0
    instance_iops_us: int = 0
    instance_throughput_us: int = 0


@dataclass(frozen=True, slots=True)
class DeviceLatency:
    """How long a disk itself took for the I/Os of one direction, as it counts them (log page
    0xD0): from their arrival at the device on, without any queue of this machine.

    ``bins`` are (least µs, most µs, I/Os) of all of them, ``by_size`` the same for those of at
    most so many bytes, and more than those before (empty where the disk does not tell them apart).
    """

    device: str
    ios: int
    time_us: int
    bins: tuple[tuple[int, int, int], ...] = ()
    by_size: tuple[tuple[int, tuple[tuple[int, int, int], ...]], ...] = ()

    @property
    def mean_us(self) -> float | None:
        return self.time_us / self.ios if self.ios else None

    def at_most_us(self, percent: float) -> int | None:
        """The end of the bin that holds this percentile; ``None`` without any I/O."""
        counted = sum(count for _, _, count in self.bins)
        seen = 0
        for _, most_us, count in self.bins:
            seen += count
            if count and seen * 100 >= counted * percent:
                return most_us
        return None


class Source(StrEnum):
    RUN = "run"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Times:
    """I/Os of one direction since the disk was attached, as :class:`DeviceLatency` has them."""

    ios: int
    time_us: int
    bins: tuple[tuple[int, int, int], ...] = ()
    by_size: tuple[tuple[int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Exceeded:
    """One reading of one disk: µs since the disk was attached, which only grow; ``times`` by
    direction, empty where the page is too short for them.
    """

    magic: int
    limits: Provisioned
    times: Mapping[str, Times] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeviceIo:
    """What one block device did while a job ran: a difference of counters, or fio's disk stats.

    ``*_ios`` are requests completed, ``*_merges`` those that were merged into others before,
    ``*_ticks_ms`` the sum of their times (ticks / ios is the await). ``*_bytes`` is ``None``
    where only requests are known (fio's text reports); ``in_flight`` and ``io_ms`` (the time with
    at least one I/O in flight) are known of our own counters alone.
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
    in_flight: int | None = None
    io_ms: int | None = None

    @classmethod
    def of(cls, difference: Counters) -> DeviceIo:
        """From a difference of counters, which do not count merges."""
        return cls(
            device=difference.device,
            read_ios=difference.read_ios,
            write_ios=difference.write_ios,
            read_ticks_ms=difference.read_ms,
            write_ticks_ms=difference.write_ms,
            read_bytes=difference.read_bytes,
            write_bytes=difference.write_bytes,
            in_flight=difference.in_flight,
            io_ms=difference.io_ms,
        )


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

    kind: str = ""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One job and direction: what was asked, what fio says, what the disks did, and the verdicts.

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
    not whole; ``full_suite`` where STEADY applies. ``file`` is the name of an imported file as it
    was given, ``line`` (from 1) where the report begins in it.
    """

    source: Source = Source.IMPORT
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
    findings: tuple[Finding, ...] = ()
    file: str = ""
    line: int = 0

    @property
    def valid(self) -> bool:
        """No blocking finding: the number may be quoted and compared."""
        return not any(f.severity is Severity.BLOCK for f in self.findings)

    @property
    def published_iops(self) -> float | None:
        return self.capability.iops if self.capability else None

    @property
    def published_bytes_per_s(self) -> float | None:
        return self.capability.bytes_per_s if self.capability else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult(Measurement):
    """A measurement by a run of ours, of which all of fio's figures are known.

    ``bins`` are the latency histogram (middle of fio's bin in ns -> count), which can be added up
    over runs, as percentiles cannot. ``device_bytes`` is the sum over the members for this
    direction, ``None`` when the devices are not known. ``member`` is the one disk that was
    measured instead of the whole stripe, empty for the stripe. ``pass_index`` counts the passes of
    a suite that measures every job several times, from 1. ``device`` and ``members`` of one that
    is read from the history are in its :class:`RunRecord`, and of its ``capability`` only the
    published figures and where they are from are kept.
    """

    source: Source = Source.RUN
    block_size_bytes: int
    iops: float
    bandwidth_bytes: float
    io_bytes: int
    total_ios: int
    latency_mean_ns: float
    percentiles_ns: dict[str, int]
    runtime_ms: int
    runtime_asked_ms: int
    jobs: int
    iodepth: int
    cpu_percent: float
    bins: dict[int, int]
    device_bytes: int | None
    member: str = ""
    pass_index: int = 1

    @property
    def coverage(self) -> float | None:
        """Block-layer bytes ÷ fio bytes, or ``None`` when the devices are not known."""
        if self.device_bytes is None or self.io_bytes == 0:
            return None
        return self.device_bytes / self.io_bytes

    @property
    def queue_depth_seen(self) -> float:
        """Mean number of I/Os in flight by Little's law: IOPS × mean latency."""
        return self.iops * self.latency_mean_ns / 1e9
