"""What one look saw, and what it is compared with. The judging is elsewhere.

*Then* is what the boot unit noted in state.json, of this boot, after the volumes came up; it is
rewritten after each confirmed plan, so what was wanted is not taken for drift. *Now* is what
the kernel says. *Seen* is what only root can see: root's scan leaves it
(:mod:`appliance.drift.looks.privileged_scan`), and the check, status and the screens read it here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from appliance.drift.looks.hostlook import MAX_SEEN_BYTES
from appliance.model.disks import (
    Disk,
    Filesystem,
    HardwareDrive,
    Machine,
    VirtualDrive,
    VolumeGroup,
)
from appliance.model.plans import Layout, Volume
from appliance.state import codec
from appliance.state.boot_state import BootMember, BootState, BootVolume, Surroundings
from appliance.storage.probe.nvme import Smart
from appliance.system import files
from appliance.system.kernel import MdArray, Mount

_NOTHING_DECLARED, _UNKNOWN_MACHINE = Layout(()), Machine()
# Root's unit looks every few minutes; after so long it does not any more.
STALE_SECONDS = 3600.0
# What can be said of a volume only with root's look.
ROOT_CODES = ("LVM-SEGMENTS", "HWRAID-STATE", "DISK-HEALTH", "FS-GEOMETRY")


def kernel_name(path: str) -> str:
    return path.rpartition("/")[2]


def name_of(disk: Disk) -> str:
    """What to call it: its serial, or its id if it has none."""
    return disk.serial or disk.id


@dataclass(frozen=True, slots=True)
class SlotNow:
    """What an array has in a slot; ``disk`` is ``None`` if that device is no longer here.

    ``state`` is md's word for it (``in_sync``, ``faulty,in_sync``, ``spare``).
    """

    slot: int
    kernel_name: str
    state: str
    disk: Disk | None


@dataclass(frozen=True, slots=True)
class ArrayNow:
    """An md array. ``number`` is ``major:minor``, ``name`` and ``uuid`` are udev's."""

    kernel_name: str
    number: str
    name: str
    uuid: str
    md: MdArray
    slots: tuple[SlotNow, ...]

    @property
    def holds(self) -> tuple[Disk, ...]:
        return tuple(one.disk for one in self.slots if one.disk is not None)


@dataclass(frozen=True, slots=True)
class Health(Smart):
    """A disk's SMART log, and its media errors at the first scan of this boot."""

    first_media_errors: int = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the privileged scan left (seen.json); ``health`` is by disk id, ``filesystems`` by
    volume, ``None`` for what did not answer. ``groups`` and ``virtual_drives`` are ``None`` if
    LVM, or a controller, did not.
    """

    at: float = 0.0
    groups: tuple[VolumeGroup, ...] | None = None
    hardware_drives: tuple[HardwareDrive, ...] | None = ()
    virtual_drives: tuple[VirtualDrive, ...] | None = ()
    health: Mapping[str, Health | None] = field(default_factory=dict)
    filesystems: Mapping[str, Filesystem | None] = field(default_factory=dict)
    boot_id: str = ""


def last_scan(path: Path, boot_id: str) -> tuple[Seen | None, str]:
    """The privileged scan at ``path``, if it is recent and of this boot, or why there is none."""
    seen = read_seen(path, boot_id)
    if seen is None:
        return None, "no privileged scan in this boot"
    # A look that lies ahead is of a clock that was put back since: of no known age.
    age_seconds = abs(time.time() - seen.at)
    if age_seconds > STALE_SECONDS:
        return None, f"no privileged scan for {age_seconds / 3600:.0f} h"
    return seen, ""


def read_seen(path: Path, boot_id: str) -> Seen | None:
    """What root saw in this boot. A disk or filesystem that cannot be read did not answer."""
    try:
        document = json.loads(files.read_bounded(path, MAX_SEEN_BYTES))
        health, filesystems = document.get("health", {}), document.get("filesystems", {})
        seen = replace(
            codec.decode(Seen, {**document, "health": {}, "filesystems": {}}),
            health={key: codec.find(Health, one) for key, one in health.items()},
            filesystems={key: codec.find(Filesystem, one) for key, one in filesystems.items()},
        )
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return seen if seen.boot_id == boot_id else None


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
    boot unit read them. ``disks`` are those that the kernel has not given up, ``numbers`` the
    ``major:minor`` of each by its path; ``mapped`` has those of device-mapper devices by what they
    are (:meth:`Kernel.holder_note`). ``nodes`` has for each volume where its link in
    /dev/stripewright leads (``major:minor``, empty: there is none). ``answers`` are by mount
    point. ``surroundings_then`` and ``surroundings_now`` have the same names
    (:mod:`appliance.model.surroundings`);
    ``surroundings`` is what history keeps of this boot. ``blind`` names what could not be judged,
    as (code, volume), where ``*`` is every code and an empty volume is all of them; ``notes`` say
    it in words.
    """

    boot_id: str = ""
    layout: Layout = _NOTHING_DECLARED
    machine: Machine = _UNKNOWN_MACHINE
    volumes: tuple[BootVolume, ...] = ()
    disks: tuple[Disk, ...] = ()
    arrays: tuple[ArrayNow, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)
    mapped: Mapping[str, str] = field(default_factory=dict)
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

    @property
    def is_blind(self) -> bool:
        """Whether nothing can be compared; ``notes`` say why."""
        return ("*", "") in self.blind

    def disk(self, member: BootMember) -> Disk | None:
        """The disk that ``member`` was, if it is here."""
        return next((one for one in self.disks if is_same(member, one)), None)

    def declared(self, volume: BootVolume) -> Volume | None:
        """The volume as the layout declares it now."""
        return next((one for one in self.layout.volumes if one.name == volume.name), None)


def is_same(member: BootMember, disk: Disk) -> bool:
    """By id; by serial where udev has forgotten the links that the id is made of."""
    return member.id == disk.id or bool(member.serial and member.serial == disk.serial)


_BUSY = {"waiting": "the boot unit is still at work", "applying": "a plan is being carried out"}


def left_by_boot(state: BootState | None, boot_id: str, *, at_work: bool) -> Observation:
    """What an observation has of the boot unit: of the boot ``boot_id``, and settled.

    ``at_work``: the process that wrote it is still there. If it was killed in the middle, the
    state stays as it is, and the volumes that were up are judged by it.
    """
    why = ""
    if state is None:
        why = "the boot unit has left no readable state in this boot"
    elif not state.boot_id and state.outcome in _BUSY:
        ended = "the boot unit ended before it had examined the disks"
        why = f"nothing was judged: {_BUSY[state.outcome] if at_work else ended}"
    elif not boot_id or state.boot_id != boot_id:
        why = "the boot unit's state is from another boot"
    elif state.outcome == "applying" and at_work:
        why = f"nothing was judged: {_BUSY[state.outcome]}"
    if state is None or why:
        return Observation(boot_id, blind=(("*", ""),), notes=(why,))
    volumes, blind, notes = [], [], []
    if state.outcome in _BUSY and not at_work:
        notes.append("work on the volumes was interrupted")
    for volume in state.volumes:
        if volume.is_up:
            in_a_slot = tuple(one for one in volume.members if one.slot >= 0)
            volumes.append(replace(volume, members=in_a_slot))
        else:
            blind.append(("*", volume.name))
            notes.append(f"volume '{volume.name}' is {volume.outcome}; it was not judged")
    if state.outcome == "waiting" and at_work:
        blind.append(("DISK-COUNT", ""))
        notes.append("the boot unit is still waiting for disks; they were not counted")
    noted = state.surroundings or Surroundings()
    return Observation(
        boot_id,
        volumes=tuple(volumes),
        groups_then=state.inventory.groups if state.inventory else (),
        built_then=noted.built,
        surroundings_then=noted.values,
        blind=tuple(blind),
        notes=tuple(notes),
    )
