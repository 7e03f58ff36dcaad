"""The frozen values that flow between the rooms; standard library only.

Follow them to follow the program::

    Disk -> Inventory -> Plan -> Applied          (appliance.storage)
    Suite -> Run -> JobResult -> Finding          (appliance.bench, appliance.history)

Sizes are bytes, times are nanoseconds or seconds as the name says, and text that
comes from a disk (model, serial, label) is hostile: it is carried as it is and made
harmless where it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# --------------------------------------------------------------------------- disks


class DiskKind(StrEnum):
    """What a disk is, by its exact model; never by its name or by elimination."""

    INSTANCE_STORE = "instance-store"
    NETWORK = "network"
    SYSTEM = "system"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Signature:
    """Something that a prober recognised on a disk.

    ``kind`` is blkid's name (``xfs``, ``linux_raid_member``, ``gpt`` …);
    ``offset_bytes`` is ``None`` where the source does not tell (the udev database).
    """

    kind: str
    offset_bytes: int | None = None
    label: str = ""
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class MdMember:
    """What the md superblock of one member says, and what its data area shows.

    ``array_name`` is the whole name with its homehost part (``stripewright:scratch``);
    ``slot`` is the member's position in the array, ``None`` for a spare. ``filesystem`` is
    what the array starts with, read through slot 0; ``data_zero`` says whether every sampled
    part of the member's data area read as zero (``None``: not read).
    """

    array_name: str
    array_uuid: str
    member_uuid: str
    level: str
    member_count: int
    chunk_bytes: int | None
    slot: int | None
    data_offset_bytes: int | None = None
    data_zero: bool | None = None
    filesystem: Filesystem | None = None


@dataclass(frozen=True, slots=True)
class Disk:
    """One whole disk as the probe saw it, and what identity made of it.

    ``id`` is stable across boots and kernel names (``nvme-MODEL_SERIAL`` or the wwid);
    ``blank`` is ``True`` only when no prober found a signature and every sampled region
    read as zero, ``None`` when it could not be read (no root). ``stable_path`` is a link
    that survives renaming (``/dev/disk/by-id/…``), empty where udev made none.
    """

    path: str
    id: str
    model: str
    serial: str
    size_bytes: int
    vendor: str = ""
    transport: str = ""
    kind: DiskKind = DiskKind.UNKNOWN
    role: str = ""
    claimable: bool = False
    reason: str = ""
    signatures: tuple[Signature, ...] = ()
    partitions: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    mountpoints: tuple[str, ...] = ()
    swap: bool = False
    read_only: bool = False
    busy: bool = False
    holds_root: bool = False
    blank: bool | None = None
    nonzero_offset_bytes: int | None = None
    md_member: MdMember | None = None
    stable_path: str = ""
    filesystem: Filesystem | None = None


@dataclass(frozen=True, slots=True)
class Filesystem:
    """A filesystem and its stripe geometry, in bytes (0: none set), as read back.

    ``unfinished``: its superblock says that mkfs has not ended, so it was never mounted.
    """

    kind: str
    label: str
    uuid: str
    sunit_bytes: int | None = None
    swidth_bytes: int | None = None
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    """An md array that the kernel knows. ``members`` are disk ids in slot order.

    ``blank`` is as for :class:`Disk`: no signature and every sampled region zero.
    """

    path: str
    name: str
    uuid: str
    level: str
    chunk_bytes: int
    member_count: int
    members: tuple[str, ...]
    state: str
    size_bytes: int
    filesystem: Filesystem | None = None
    mountpoint: str = ""
    mount_options: str = ""
    blank: bool | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine itself, from DMI and the kernel.

    ``expected_disks`` is how many instance-storage disks its type is sold with, or
    ``None`` when the type is not in the data (then no count is enforced).
    """

    provider: str = "unknown"
    machine_type: str = ""
    vendor: str = ""
    kernel: str = ""
    cpu_count: int = 0
    boot_id: str = ""
    expected_disks: int | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything the planner may know. ``privileged`` says whether disks were read directly."""

    machine: Machine
    disks: tuple[Disk, ...]
    arrays: tuple[Array, ...] = ()
    privileged: bool = False


# -------------------------------------------------------------------- layout and plan


@dataclass(frozen=True, slots=True)
class Volume:
    """One declared volume. In this version: md RAID0 (one disk: plain) with XFS."""

    name: str
    mount: str
    chunk_bytes: int = 256 * 1024
    stripe: str = "md-raid0"
    filesystem: str = "xfs"
    select_kind: DiskKind = DiskKind.INSTANCE_STORE
    on_short: str = "refuse"
    on_loss: str = "refuse"
    wait_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Layout:
    """What the operator declared; ``source`` is the file, or ``built-in default``."""

    volumes: tuple[Volume, ...]
    source: str = "built-in default"

    @property
    def volume_names(self) -> tuple[str, ...]:
        """The names that make a disk with such a label ours."""
        return tuple(volume.name for volume in self.volumes)


class Decision(StrEnum):
    CREATE = "create"
    ASSEMBLE = "assemble"
    NOTHING = "nothing"
    GROW = "grow"
    RECREATE = "recreate"
    WAIT = "wait"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Destruction:
    """What a step overwrites, in the words the preview shows."""

    path: str
    id: str
    serial: str
    size_bytes: int
    holds: str


@dataclass(frozen=True, slots=True)
class Step:
    """One program run. ``check`` names the verification that must hold afterwards,
    ``volume`` the volume that the step is for.
    """

    argv: tuple[str, ...]
    why: str
    destroys: tuple[Destruction, ...] = ()
    check: str = ""
    volume: str = ""


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """``settles``: it waits only until no new disk has come for a while, because nobody
    knows how many there should be.
    """

    name: str
    decision: Decision
    reason: str
    disks: tuple[str, ...] = ()
    hint: str = ""
    settles: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done. The preview renders this object and the executor runs it."""

    decision: Decision
    digest: str
    volumes: tuple[VolumePlan, ...]
    steps: tuple[Step, ...]


# ------------------------------------------------------------------------ benchmarks


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
    """One fio job of a suite; every field is typed so that no free text reaches fio."""

    name: str
    rw: str
    block_size_bytes: int
    iodepth: int
    jobs: int
    runtime_seconds: float


@dataclass(frozen=True, slots=True)
class Suite:
    """A named list of jobs. ``content_hash`` identifies what was asked, for comparison."""

    name: str
    summary: str
    jobs: tuple[Job, ...]
    content_hash: str


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
class JobResult:
    """What fio reported for one job and direction, and what the block layer saw meanwhile.

    Latency is from submission to completion. ``percentiles_ns`` maps fio's percentile text
    (``"99.000000"``) to nanoseconds; ``bins`` are the latency histogram (middle of fio's
    bin in ns -> count), which can be added up over runs, as percentiles cannot.
    ``device_bytes`` is the sum over the members for this direction, ``None`` when the
    devices are not known. ``published_iops`` is the machine type's limit, if one is known.
    ``rw`` is the access pattern asked for (``randread``), empty where it was not recorded.
    ``host_cpu_percent`` is the busy share of all processors of the machine during the job,
    waiting for I/O not counted; ``None`` where it was not measured.
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
