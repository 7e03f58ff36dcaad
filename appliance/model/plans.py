"""What is declared and what will be done about it: Layout -> Plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from appliance.model.disks import DiskKind

# How long late disks are given where the layout does not say.
PATIENCE_SECONDS = 60.0
# What a volume may be called: an XFS label holds 12 characters.
VOLUME_NAME = r"[a-z][a-z0-9-]{0,11}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Which disks a volume takes: by exactly one of kind, role and serials.

    ``count``, with kind or role: so many of them, ``None``: all that no other volume counts.
    """

    kind: DiskKind | None = DiskKind.INSTANCE_STORE
    role: str = ""
    serials: tuple[str, ...] = ()
    count: int | None = None


@dataclass(frozen=True, slots=True)
class FilesystemOptions:
    """What a volume may set of its mkfs; each kind of filesystem has its own
    (:mod:`appliance.storage.formats.filesystem_kind`).
    """


@dataclass(frozen=True, slots=True)
class Volume:
    """One declared volume.

    ``stripe`` is ``single``, ``md-raid0``, ``md-raid10``, ``lvm-stripe`` or ``hw-raid0``;
    ``filesystem`` is the name of a kind or ``none`` (then ``mount`` is empty), ``options`` are for
    its mkfs (``None``: its own). A ``md-raid0`` of one disk is plain, as ``single`` is.
    ``mount_options`` come on top of nodev,nosuid,noatime.
    ``initialise_rate_bytes`` bounds the reading of a volume restored from a snapshot (a second).
    ``wait_seconds`` is how long late disks are given; ``None``: :data:`PATIENCE_SECONDS`, or less
    where the number of disks is not known and no more come.
    """

    name: str
    mount: str
    chunk_bytes: int = 256 * 1024
    stripe: str = "md-raid0"
    filesystem: str = "xfs"
    select: Selector = field(default_factory=Selector)
    on_short: str = "refuse"
    on_loss: str = "refuse"
    wait_seconds: float | None = None
    raid10_layout: str = "near2"
    lvm_extent_bytes: int = 4 * 1024 * 1024
    mount_options: tuple[str, ...] = ()
    options: FilesystemOptions | None = None
    initialise_rate_bytes: int | None = None

    @property
    def patience_seconds(self) -> float:
        return PATIENCE_SECONDS if self.wait_seconds is None else self.wait_seconds


@dataclass(frozen=True, slots=True)
class OperatorRule:
    """The operator's word on certain disks; every field that is set must match exactly.

    It gives them a ``role``, and may say what ``kind`` they are where the data does not know.
    """

    serials: tuple[str, ...] = ()
    vendor: str = ""
    model: str = ""
    cloud_name: str = ""
    role: str = ""
    kind: DiskKind | None = None


@dataclass(frozen=True, slots=True)
class Tuning:
    """Kernel settings that the layout declares; ``None``: left as they are.

    ``cpu_latency_us`` holds while a suite runs (PM QoS), the rest while the volumes are up.
    ``rebuild_min_bytes`` is md's ``speed_limit_min``, a second and member.
    """

    scheduler: str | None = None
    io_timeout_seconds: int | None = None
    cpu_latency_us: int | None = None
    rebuild_min_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """What the operator declared; ``source`` is the file, or ``built-in default``.

    ``scan_seconds``: how long each disk is read to find it blank.
    """

    volumes: tuple[Volume, ...]
    source: str = "built-in default"
    rules: tuple[OperatorRule, ...] = ()
    tuning: Tuning = field(default_factory=Tuning)
    scan_seconds: float = 2.0

    @property
    def volume_names(self) -> tuple[str, ...]:
        """The names that make a disk with such a label ours."""
        return tuple(volume.name for volume in self.volumes)


@dataclass(frozen=True, slots=True)
class Orders:
    """What an operator asks for beyond the layout; boot has none of it.

    ``remove`` names volumes to be taken down and their disks released, ``erase`` serials of
    disks whose foreign contents are given up, ``grow`` lets volumes take what room there is.
    ``declare`` is the SHA-256 of the layout text that is to be installed before anything is
    destroyed or made, empty if it is the installed one.
    """

    remove: tuple[str, ...] = ()
    erase: tuple[str, ...] = ()
    grow: bool = False
    declare: str = ""


class Decision(StrEnum):
    CREATE = "create"
    ASSEMBLE = "assemble"
    NOTHING = "nothing"
    GROW = "grow"
    RECREATE = "recreate"
    REMOVE = "remove"
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
    ``volume`` the volume that the step is for. Where ``argv[0]`` is ``stripewright`` it is a
    built-in step, done without starting a process.
    """

    argv: tuple[str, ...]
    why: str
    destroys: tuple[Destruction, ...] = ()
    check: str = ""
    volume: str = ""


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """``settles``: it waits only until no new disk has come for a while, because it is
    not known how many there should be. ``reading``: it waits until its disks are read in full.
    """

    name: str
    decision: Decision
    reason: str
    disks: tuple[str, ...] = ()
    hint: str = ""
    settles: bool = False
    reading: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done. The preview renders this object and the executor runs it."""

    decision: Decision
    digest: str
    volumes: tuple[VolumePlan, ...]
    steps: tuple[Step, ...]
