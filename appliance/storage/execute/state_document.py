"""What an executor says about itself: the state, the epoch's fingerprint, and what it notes of the
surroundings for later looks to be compared with.

A later look of the boot unit at the same boot (a disk has come) finds what was changed by hand in
between. That is not made the new normal: what was noted first stays, but for volumes that a plan
has changed, and for settings that the layout now declares otherwise.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.errors import OperatorError, Refused
from appliance.model import surroundings as names
from appliance.model.disks import Disk, Filesystem, Inventory
from appliance.model.plans import Decision, Layout, Plan, Tuning, Volume, VolumePlan
from appliance.state import boot_state
from appliance.state.boot_state import (
    BootMember,
    BootMount,
    BootState,
    BootVolume,
    Surroundings,
    VolumeNote,
)
from appliance.storage.formats import filesystem, hwraid, lvm, md
from appliance.storage.policy import ownership, steps
from appliance.storage.probe import mounted, settings
from appliance.system import liveness
from appliance.system.kernel import Kernel


def volumes_up(inventory: Inventory, layout: Layout, plan: Plan) -> list[BootVolume]:
    """What each volume that is up is made of; sizes in bytes, members in slot order.

    Up means mounted where it is declared, or, without a filesystem, that its device is there. A
    single disk without a filesystem carries nothing of ours: that it is the volume is the
    ``plan``'s word.
    """
    disks = {disk.path: disk for disk in inventory.disks}
    raw = {
        one.name: disks[one.disks[0]]
        for one in plan.volumes
        if one.decision is Decision.NOTHING and len(one.disks) == 1 and one.disks[0] in disks
    }
    found = []
    for volume in layout.volumes:
        up = _find(volume, inventory)
        if up is None and volume.filesystem == "none" and (disk := raw.get(volume.name)):
            up = _up(volume, steps.stable(disk), [disk], uuid=disk.id, size_bytes=disk.size_bytes)
        if up is not None:
            found.append(up)
    return found


def _find(volume: Volume, inventory: Inventory) -> BootVolume | None:
    """The one thing that a running volume is: an array, a logical volume, a drive or a disk."""
    by_id = {disk.id: disk for disk in inventory.disks}
    if volume.stripe == "lvm-stripe":
        return _logical(volume, inventory, by_id)
    if volume.stripe == "hw-raid0":
        return _virtual(volume, inventory)
    for array in inventory.arrays:
        if array.name == md.array_name(volume.name):
            by_name = md.array_path(volume.name)
            return _up(
                volume,
                by_name if Path(by_name).exists() else array.path,
                [by_id[one] for one in array.members if one in by_id],
                array.filesystem,
                mounts=[array.mountpoint],
                mount_options=array.mount_options,
                size_bytes=array.size_bytes,
                level=array.level,
                chunk_bytes=array.chunk_bytes,
                uuid=array.uuid,
                degraded=array.degraded,
                sync_action=array.sync_action,
            )
    for disk in inventory.disks:
        found = ownership.trace(disk, (volume.name,))
        if found is None or (found.volume, found.form) != (volume.name, ownership.Form.PLAIN):
            continue
        if disk.filesystem:
            return _on_disk(volume, disk, size_bytes=disk.size_bytes, uuid=disk.filesystem.uuid)
    return None


def _logical(volume: Volume, inventory: Inventory, by_id: Mapping[str, Disk]) -> BootVolume | None:
    for group in inventory.groups:
        if group.name != lvm.group_name(volume.name):
            continue
        for one in group.volumes:
            if one.name == volume.name and one.active:
                ordered = dict.fromkeys(member for part in one.segments for member in part)
                return _up(
                    volume,
                    one.path,
                    [by_id[member] for member in ordered if member in by_id],
                    one.filesystem,
                    mounts=[one.mountpoint],
                    mount_options=one.mount_options,
                    size_bytes=one.size_bytes,
                    level="lvm-stripe",
                    chunk_bytes=one.stripe_bytes,
                    uuid=group.uuid,
                )
    return None


def _virtual(volume: Volume, inventory: Inventory) -> BootVolume | None:
    for drive in inventory.virtual_drives:
        disk = next((one for one in inventory.disks if hwraid.is_disk_of(drive, one)), None)
        if drive.name == hwraid.virtual_name(volume.name) and disk is not None:
            return _on_disk(
                volume,
                disk,
                size_bytes=drive.size_bytes,
                level="hw-raid0",
                chunk_bytes=drive.strip_bytes,
                uuid=drive.wwid,
            )
    return None


def _on_disk(volume: Volume, disk: Disk, **facts: Any) -> BootVolume | None:  # noqa: ANN401 - fields
    return _up(
        volume,
        steps.stable(disk),
        [disk],
        disk.filesystem,
        mounts=disk.mountpoints,
        mount_options=disk.mount_options,
        **facts,
    )


def _up(
    volume: Volume,
    device: str,
    disks: Sequence[Disk],
    held: Filesystem | None = None,
    *,
    mounts: Sequence[str] = (),
    **facts: Any,  # noqa: ANN401 - the other fields of a BootVolume
) -> BootVolume | None:
    """The volume on ``device``, ``None`` if that is not mounted where it is declared."""
    if volume.mount and volume.mount not in mounts:
        return None
    link = paths.DEVICE_DIR / volume.name
    return BootVolume(
        name=volume.name,
        device=str(link) if link.exists() else device,
        mount=volume.mount,
        members=_members(disks),
        sunit_bytes=held.sunit_bytes if held else None,
        swidth_bytes=held.swidth_bytes if held else None,
        filesystem=volume.filesystem,
        data_disks=filesystem.data_members(volume, len(disks)),
        **facts,
    )


def _members(disks: Sequence[Disk]) -> tuple[BootMember, ...]:
    return tuple(BootMember(one.path, one.id, one.serial) for one in disks)


def each(text: Sequence[str]) -> str:
    """One value a volume, in declared order."""
    return "; ".join(text)


def fingerprint(
    inventory: Inventory, volumes: Sequence[BootVolume], *, fio_version: str
) -> dict[str, str]:
    """What makes results comparable: the same values, the same epoch."""
    return {
        "serials": each([",".join(m.serial for m in one.members) for one in volumes]),
        "stripe": each([_stripe(one) for one in volumes]),
        "filesystem": each(
            [
                f"{one.filesystem} sunit={one.sunit_bytes} swidth={one.swidth_bytes}"
                if one.mount
                else "none"
                for one in volumes
            ]
        ),
        "mount_options": each([one.mount_options for one in volumes]),
        "kernel": inventory.machine.kernel,
        "fio": fio_version,
        "machine_type": inventory.machine.machine_type,
    }


def _stripe(volume: BootVolume) -> str:
    level = volume.level
    if not level:
        return "single"
    kind = f"md-{level}" if level.startswith("raid") else level
    return f"{kind} chunk={volume.chunk_bytes} members={len(volume.members)}"


# ----------------------------------------------------------------------------- the state


def state_of(
    inventory: Inventory,
    plan: Plan,
    layout: Layout,
    *,
    outcome: str,
    message: str,
    hint: str,
    up: Sequence[BootVolume],
    failed: Mapping[str, OperatorError],
    surroundings: Surroundings,
) -> BootState:
    """Of each declared volume what is ``up`` of it, what was
    planned for it, and its own outcome.
    """
    by_name = {one.name: one for one in up}
    planned = {one.name: one for one in plan.volumes}
    disks = {disk.path: disk for disk in inventory.disks}
    entries = []
    for volume in layout.volumes:
        one = planned.get(volume.name) or VolumePlan(volume.name, Decision.NOTHING, "")
        error = failed.get(volume.name)
        found = by_name.get(volume.name) or BootVolume(
            volume.name,
            mount=volume.mount,
            members=_members([disks[path] for path in one.disks if path in disks]),
        )
        entries.append(
            replace(
                found,
                stripe=volume.stripe,
                decision="refuse" if isinstance(error, Refused) else one.decision.value,
                reason=error.message if error else one.reason,
                hint=error.hint if error else one.hint,
                outcome=_outcome(volume, one, outcome, error, is_up=volume.name in by_name),
            )
        )
    return BootState(
        volumes=tuple(entries),
        at=time.time(),
        boot_id=inventory.machine.boot_id,
        pid=os.getpid(),
        layout_source=layout.source,
        outcome=outcome,
        message=message,
        hint=hint,
        surroundings=surroundings,
        inventory=inventory,
        plan=plan,
        mounted_at_monotonic_s=time.clock_gettime(time.CLOCK_MONOTONIC)
        if outcome in {"mounted", "nothing"}
        else None,
    )


def _outcome(
    volume: Volume, one: VolumePlan, outcome: str, error: OperatorError | None, *, is_up: bool
) -> str:
    if error is not None:
        return "refused" if isinstance(error, Refused) else "failed"
    if is_up:
        return "mounted" if volume.mount else "up"
    if one.decision is Decision.REFUSE:
        return "refused"
    if outcome in {"waiting", "applying"}:
        return outcome
    return "down"


def of_this_boot(path: Path, kernel: Kernel) -> BootState | None:
    """The state at ``path``, if it was written at this very boot after a look at the disks."""
    state = boot_state.find(path)
    boot_id = liveness.boot_id(kernel.proc_root)
    return state if state is not None and boot_id and state.boot_id == boot_id else None


def looking(layout: Layout) -> BootState:
    """The state before the first look at a disk: it takes seconds, and longer on a sick one."""
    return _bare(layout.source, "waiting", "looking at the disks")


def failed_early(layout_source: str, error: OperatorError) -> BootState:
    """The state when not even the layout could be used."""
    return _bare(layout_source, "failed", f"{error.message} ({error.hint})")


def _bare(layout_source: str, outcome: str, message: str) -> BootState:
    return BootState(
        volumes=(),
        at=time.time(),
        pid=os.getpid(),
        layout_source=layout_source,
        outcome=outcome,
        message=message,
    )


# ---------------------------------------------------------------------- the surroundings


def surroundings(
    kernel: Kernel,
    inventory: Inventory,
    up: Sequence[BootVolume],
    layout: Layout,
    *,
    fio_version: str,
    cpu_latency: Path,
    changed: Collection[str],
    before: Surroundings | None,
) -> Surroundings:
    """What later looks are compared with.

    ``before`` is the same of the last writing at this boot, ``None`` if there was none;
    ``changed`` are the volumes that a plan has changed since.
    """
    before = before or Surroundings()
    members = {one.kernel_name: one.name for volume in up for one in volume.members}
    values = {
        names.KERNEL: inventory.machine.kernel,
        names.FIO: fio_version,
        names.MACHINE_TYPE: inventory.machine.machine_type,
        **settings.of_disks(kernel, members),
        **settings.of_processors(kernel, cpu_latency),
    }
    if before.tuning == layout.tuning:
        # What is declared has just been set again, whatever it was in between; and another fio
        # has opened its epoch.
        again = (names.CPU_LATENCY, names.FIO, *_declared(layout.tuning))
        values |= {key: value for key, value in before.values.items() if not key.startswith(again)}
    known = {
        one.name: note
        for one in up
        if (note := before.volumes.get(one.name)) and note.uuid == one.uuid
    }
    return Surroundings(
        tuning=layout.tuning,
        values=values,
        built=before.built or settings.built(kernel),
        volumes={
            one.name: known[one.name]
            if one.name in known and one.name not in changed
            else _note(kernel, one)
            for one in up
        },
    )


def _declared(tuning: Tuning) -> tuple[str, ...]:
    """How the names of those values begin that the layout has set."""
    wanted = {
        names.SCHEDULER: tuning.scheduler,
        names.IO_TIMEOUT: tuning.io_timeout_seconds,
    }
    return tuple(key for key, value in wanted.items() if value is not None)


def _note(kernel: Kernel, volume: BootVolume) -> VolumeNote:
    found = kernel.mount_at(volume.mount) if volume.mount else None
    mount = None
    if found is not None:
        usage = mounted.usages([volume.mount]).get(volume.mount)
        size_bytes = None if usage is None else usage.size_bytes
        mount = BootMount(found.fstype, found.options, found.super_options, size_bytes)
    return VolumeNote(volume.uuid, _slots(kernel, volume), mount)


def _slots(kernel: Kernel, volume: BootVolume) -> tuple[str | None, ...]:
    """The ids of an array's disks by slot; empty for what is no array."""
    array = kernel.md(Path(volume.device).resolve().name)
    slots: list[str | None] = [None] * array.raid_disks
    for one in volume.members:
        slot = array.slots.get(one.kernel_name, "")
        if slot.isdecimal() and int(slot) < len(slots):
            slots[int(slot)] = one.id
    return tuple(slots)
