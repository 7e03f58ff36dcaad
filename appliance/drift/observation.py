"""What one look saw, and what it is compared with. Values only; the judging is elsewhere.

*Then* is what the boot unit noted in state.json, of this boot, after the volumes came up; it is
written anew after each confirmed plan, so what was wanted is not taken for drift. *Now* is what
the kernel says. *Seen* is what only root can see, from the last look of root's own unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from appliance.model import DiskKind, HardwareDrive, Layout, Machine, VirtualDrive, VolumeGroup
from appliance.state.boot_state import BootMember, BootVolume
from appliance.system.kernel import Mount

# What can be said of a volume only with root's look.
ROOT_CODES = ("LVM-SEGMENTS", "HWRAID-STATE", "DISK-HEALTH", "FS-GEOMETRY")


@dataclass(frozen=True, slots=True)
class DiskNow:
    """A disk that is here. ``alive`` is false for one that the kernel has given up."""

    kernel_name: str
    id: str
    serial: str
    model: str
    kind: DiskKind
    number: str
    alive: bool = True


@dataclass(frozen=True, slots=True)
class SlotNow:
    """What an array has in a slot; ``disk`` is ``None`` if that device is no longer here.

    ``state`` is md's word for it (``in_sync``, ``faulty,in_sync``, ``spare``).
    """

    slot: int
    kernel_name: str
    state: str
    disk: DiskNow | None


@dataclass(frozen=True, slots=True)
class ArrayNow:
    """An md array. ``number`` is ``major:minor``, ``state`` md's ``array_state``."""

    kernel_name: str
    number: str
    name: str
    uuid: str
    level: str
    chunk_bytes: int
    slot_count: int
    slots: tuple[SlotNow, ...]
    state: str
    degraded: int
    sync: str

    @property
    def holds(self) -> tuple[DiskNow, ...]:
        return tuple(one.disk for one in self.slots if one.disk is not None)


@dataclass(frozen=True, slots=True)
class MappedNow:
    """A device-mapper device; ``what`` is as :meth:`Kernel.holder_note` calls it."""

    kernel_name: str
    number: str
    what: str


@dataclass(frozen=True, slots=True)
class FilesystemNow:
    """What a superblock says, as root read it. Sizes in bytes."""

    kind: str
    uuid: str
    sunit_bytes: int
    swidth_bytes: int


@dataclass(frozen=True, slots=True)
class Health:
    """What a disk says of itself (NVMe SMART log). ``warning`` are the bits of its critical
    warning; ``first_media_errors`` is the count at the first look of this boot.
    """

    warning: int
    spare_percent: int
    spare_threshold_percent: int
    used_percent: int
    media_errors: int
    first_media_errors: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What root's own look left; ``health`` is by disk id, ``filesystems`` by volume.

    ``silent`` are the disks and volumes of these that did not answer. ``groups`` and
    ``virtual_drives`` are ``None`` if LVM, or a controller, did not.
    """

    at: float
    groups: tuple[VolumeGroup, ...] | None = None
    hardware_drives: tuple[HardwareDrive, ...] = ()
    virtual_drives: tuple[VirtualDrive, ...] | None = ()
    health: Mapping[str, Health] = field(default_factory=dict)
    filesystems: Mapping[str, FilesystemNow] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer:
    """How a mounted filesystem answers: its size, or the error's number, or (all ``None``) not
    in time.
    """

    size_bytes: int | None = None
    errno: int | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """One look.

    ``volumes`` are those that were up and are judged; ``groups_then`` are the LVM groups as the
    boot unit read them. ``nodes`` has for each volume where its link in /dev/stripewright leads
    (``major:minor``, empty: there is none). ``answers`` are by mount point. ``surroundings_then``
    and ``surroundings_now`` have the same names (:mod:`appliance.model.surroundings`);
    ``surroundings`` is what history keeps of this boot. ``blind`` names what could not be judged,
    as (code, volume), where ``*`` is every code and an empty volume is all of them; ``notes`` say
    it in words.
    """

    boot_id: str
    at: float
    layout: Layout
    machine: Machine
    volumes: tuple[BootVolume, ...] = ()
    disks: tuple[DiskNow, ...] = ()
    arrays: tuple[ArrayNow, ...] = ()
    mapped: tuple[MappedNow, ...] = ()
    mounts: tuple[Mount, ...] = ()
    nodes: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, Answer] = field(default_factory=dict)
    groups_then: tuple[VolumeGroup, ...] = ()
    built_then: Mapping[str, str] | None = None
    built_now: Mapping[str, str] = field(default_factory=dict)
    seen: Seen | None = None
    surroundings_then: Mapping[str, str] = field(default_factory=dict)
    surroundings_now: Mapping[str, str] = field(default_factory=dict)
    surroundings: Mapping[str, str] = field(default_factory=dict)
    blind: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def disk(self, member: BootMember) -> DiskNow | None:
        """The disk that ``member`` was, if it is here and alive."""
        return next((one for one in self.disks if one.alive and is_same(member, one)), None)


def is_same(member: BootMember, disk: DiskNow) -> bool:
    """By id; by serial where udev has forgotten the links that the id is made of."""
    return member.id == disk.id or bool(member.serial and member.serial == disk.serial)
