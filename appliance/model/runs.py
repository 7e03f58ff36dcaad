"""What is asked of the benchmarks, and how a run of them went: Suite -> RunRecord, EpochRecord."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


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
    """Block-layer counters of one device (Documentation/block/stat.rst), sectors as bytes.

    ``other_ios`` are discards and flushes, as far as the kernel counts them.
    """

    device: str
    read_ios: int
    read_bytes: int
    read_ms: int
    write_ios: int
    write_bytes: int
    write_ms: int
    in_flight: int
    io_ms: int
    other_ios: int = 0


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
