"""What the benchmarks are made of and what comes of them: Suite -> Run -> JobResult -> Finding."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


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
class Job:
    """One fio job of a suite; every field is typed so that no free text reaches fio.

    ``engine`` is empty where the best one that works is taken. ``read_percent`` is the share
    of reads of a mixed job. ``think_time_ms`` is how long a worker waits after each I/O.
    """

    name: str
    rw: str
    block_size_bytes: int
    iodepth: int
    jobs: int
    runtime_seconds: float
    engine: str = ""
    read_percent: int | None = None
    think_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class Suite:
    """A named list of jobs. ``content_hash`` identifies what was asked, for comparison.

    ``passes`` is how often every job is measured. ``files`` and ``file_size_bytes`` are what
    the jobs share; zero leaves them to the workers and to the byte budget. ``steady``: STEADY
    applies. ``precondition``: a raw device is brought to its steady state before writes are
    measured.
    """

    name: str
    summary: str
    jobs: tuple[Job, ...]
    content_hash: str
    passes: int = 1
    files: int = 0
    file_size_bytes: int = 0
    steady: bool = False
    precondition: bool = False


@dataclass(frozen=True, slots=True)
class Counters:
    """Block-layer counters of one device (Documentation/block/stat.rst), sectors as bytes."""

    device: str
    read_ios: int
    read_bytes: int
    read_ms: int
    write_ios: int
    write_bytes: int
    write_ms: int
    in_flight: int
    io_ms: int


@dataclass(frozen=True, slots=True)
class Sample:
    """Rates of one device over one sampling interval, from two :class:`Counters`."""

    at_ns: int
    device: str
    read_iops: float
    write_iops: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    await_ms: float
    util: float


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean rates of one device over a window that begins at ``at`` (seconds since the epoch).

    ``seconds`` is how many samples are in it. ``await_ms`` is per I/O: each second's await
    counts by the I/Os that were completed in it.
    """

    at: int
    seconds: int
    device: str
    read_iops: float
    write_iops: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    await_ms: float
    util: float


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


@dataclass(frozen=True, slots=True)
class JobResult:
    """What fio reported for one job and direction, and what the block layer saw meanwhile.

    Latency is from submission to completion. ``percentiles_ns`` maps fio's percentile text
    (``"99.000000"``) to nanoseconds; ``bins`` are the latency histogram (middle of fio's
    bin in ns -> count), which can be added up over runs, as percentiles cannot.
    ``device_bytes`` is the sum over the members for this direction, ``None`` when the
    devices are not known. ``published_iops`` is the machine type's limit, if one is known.
    ``rw`` is the access pattern asked for (``randread``), empty where it was not recorded.
    ``host_cpu_percent`` is the busy share of all processors of the machine during the job,
    waiting for I/O not counted; ``None`` where it was not measured. ``published_bytes_per_s``
    is the published bandwidth; ``published_basis`` and ``published_source`` say in words how
    the published figures come about and where they are from. ``member`` is the one disk that
    was measured instead of the whole stripe, empty for the stripe. ``pass_index`` counts the
    passes of a suite that measures every job several times, from 1. ``device_latencies`` are
    those of the members that count them, in this direction.
    """

    job: str
    direction: str
    engine: str
    block_size_bytes: int
    iops: float
    bandwidth_bytes: float
    io_bytes: int
    total_ios: int
    latency_mean_ns: float
    percentiles_ns: dict[str, int]
    bins: dict[int, int]
    runtime_ms: int
    runtime_asked_ms: int
    jobs: int
    iodepth: int
    errors: int
    cpu_percent: float
    device_bytes: int | None
    device_deltas: tuple[Counters, ...]
    findings: tuple[Finding, ...] = ()
    published_iops: float | None = None
    rw: str = ""
    host_cpu_percent: float | None = None
    published_bytes_per_s: float | None = None
    published_basis: str = ""
    published_source: str = ""
    member: str = ""
    pass_index: int = 1
    provisioned: Provisioned | None = None
    device_latencies: tuple[DeviceLatency, ...] = ()

    @property
    def valid(self) -> bool:
        """No blocking finding: the number may be quoted and compared."""
        return not any(f.severity is Severity.BLOCK for f in self.findings)

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


class RunState(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    ABORTED = "aborted"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a suite as history keeps it. Times are seconds since the epoch (UTC).

    ``phase`` is ``check``, ``prepare`` or the name of the job being measured. ``notes`` is
    what limits the whole run's meaning (a target whose block devices are not known).
    ``target_kind`` is ``filesystem``, ``raw-read`` or ``raw-write``. ``conditions`` is what was
    recorded of the surroundings (write cache, discard, scheduler, preconditioning), as text.
    """

    id: int
    suite: str
    state: RunState
    epoch_id: int | None
    target: str
    engine: str
    fio_version: str
    started_at: float
    ended_at: float | None
    phase: str
    job_index: int
    job_count: int
    phase_started_at: float
    phase_seconds: float
    reason: str
    pid: int
    device: str = ""
    members: tuple[str, ...] = ()
    machine_type: str = ""
    time_factor: float = 1.0
    notes: tuple[str, ...] = ()
    target_kind: str = "filesystem"
    conditions: dict[str, str] = field(default_factory=dict)

    @property
    def scaled(self) -> str:
        """A warning in words if the run times were not the suite's own, else empty."""
        if self.time_factor == 1:
            return ""
        return f"run times were scaled by {self.time_factor:g}: not to be quoted or compared"


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """A span in which results can be compared; a changed fingerprint opens the next."""

    id: int
    opened_at: float
    fingerprint: dict[str, str]
    changed: dict[str, tuple[str, str]]
