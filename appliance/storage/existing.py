"""The decision for a volume whose name is already on disks. Pure.

A volume that exists is taken whole or not at all: members that contradict each other,
that are used otherwise or that are not all there are never "repaired" by guessing. The
one thing that is finished here is our own work that was interrupted before anything
could be stored, and only when the disks themselves prove that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from appliance.model import (
    Array,
    Decision,
    Disk,
    Filesystem,
    Inventory,
    MdMember,
    Step,
    Volume,
)
from appliance.storage import md, steps
from appliance.storage.steps import Outcome, call, list_disks, refuse

# array_state of an array that exists but does not run (Documentation/admin-guide/md.rst).
_NOT_RUNNING = {"clear", "inactive"}
_BROKEN = {"broken", "failed"}
# md itself allows no more with a 1.2 superblock; a bigger number is damage or malice.
_MAX_MEMBERS = 1920
_LOOK = "nothing was written; look at it read-only"


def decide_plain(volume: Volume, candidates: Sequence[Disk], disk: Disk, against: str) -> Outcome:
    """One whole disk carries the volume as a filesystem, without md."""
    if len(candidates) > 1:
        return refuse(
            f"{call(disk)} alone carries volume '{volume.name}', but there are"
            f" {len(candidates)} disks of instance storage",
            "copy what is needed off the volume, clear that disk yourself and reboot",
            [disk],
        )
    if against:
        return refuse(f"{call(disk)}: {against}", "free the disk from that use", [disk])
    if volume.mount in disk.mountpoints:
        return Outcome(Decision.NOTHING, f"{call(disk)} is mounted at {volume.mount}", (disk,))
    if disk.mountpoints:
        return refuse(
            f"{call(disk)} is mounted at {', '.join(disk.mountpoints)}, not at {volume.mount}",
            "unmount it there and reboot",
            [disk],
        )
    unfinished = disk.filesystem is not None and disk.filesystem.unfinished
    device = steps.stable(disk)
    remake = (steps.mkfs_step(volume, device, members=1, unfinished=True),) if unfinished else ()
    return Outcome(
        Decision.ASSEMBLE,
        f"{call(disk)} carries volume '{volume.name}'" + (_UNFINISHED if unfinished else ""),
        (disk,),
        steps=(*remake, steps.mount_step(volume, device)),
    )


_UNFINISHED = "; its mkfs was interrupted before anything could be stored"


def decide_array(
    volume: Volume,
    inventory: Inventory,
    candidates: Sequence[Disk],
    members: Sequence[tuple[Disk, MdMember]],
    *,
    against: Mapping[str, str],
    waited: bool,
) -> Outcome:
    """Members of arrays with the volume's name are here, each free to be used.

    ``against`` says of every other candidate that is not free, by id, why.
    """
    disks = [disk for disk, _ in members]
    name = volume.name
    uuids = sorted({member.array_uuid for _, member in members})
    if len(uuids) > 1:
        if volume.on_loss == "recreate" and _all_incomplete(members):
            return _several_lost(
                volume, inventory, candidates, members, against=against, waited=waited
            )
        return refuse(
            f"{len(uuids)} different arrays carry the name '{name}' ({', '.join(uuids)}):"
            f" {list_disks(disks)}",
            "members of another machine's or of an older array are attached: detach those that"
            " do not belong",
            disks,
        )
    size = members[0][1].member_count
    slots = [member.slot for _, member in members]
    shapes = {(m.level, m.member_count, m.chunk_bytes) for _, m in members}
    sane = 1 <= size <= _MAX_MEMBERS and all(s is not None and 0 <= s < size for s in slots)
    if not sane or len(shapes) > 1 or len(set(slots)) != len(slots):
        return refuse(
            f"the members of '{name}' contradict each other about level, size or slot:"
            f" {list_disks(disks)}",
            "a disk may be a copy of another: compare 'mdadm --examine' of each and detach what"
            " does not belong",
            disks,
        )
    ordered = sorted(members, key=lambda pair: pair[1].slot or 0)
    missing = sorted(set(range(size)) - {slot for slot in slots if slot is not None})
    if missing:
        return _incomplete(
            volume, inventory, candidates, ordered, missing, against=against, waited=waited
        )
    first = ordered[0][1]
    if first.level != "raid0" or first.chunk_bytes not in {None, volume.chunk_bytes}:
        return refuse(
            f"the array of '{name}' is {first.level} with chunk {(first.chunk_bytes or 0) // 1024}"
            f"KiB, the layout declares raid0 with chunk {volume.chunk_bytes // 1024}KiB",
            "declare in the layout what is on the disks, or copy the data off and clear the disks",
            disks,
        )
    return _complete(volume, inventory, ordered)


def decide_running(
    volume: Volume, inventory: Inventory, array: Array, ordered: Sequence[Disk]
) -> Outcome:
    """An array of ours is assembled; ``ordered`` are its members in slot order."""
    reason = (
        f"all {len(ordered)} members of volume '{volume.name}' are here and assembled"
        f" (array {array.uuid})"
    )
    if array.state in _BROKEN:
        return refuse(
            f"{array.path} of volume '{volume.name}' is {array.state}: the kernel lost a member"
            " while it ran",
            "read what can still be read, then reboot; a RAID0 cannot be repaired",
            ordered,
        )
    if array.members != tuple(disk.id for disk in ordered):
        return refuse(
            f"{array.path} does not run with the members that carry the name '{volume.name}'",
            f"compare 'mdadm --detail {array.path}' with 'mdadm --examine' of each disk",
            ordered,
        )
    if (array.level, array.chunk_bytes) != ("raid0", volume.chunk_bytes):
        return refuse(
            f"{array.path} is {array.level} with chunk {array.chunk_bytes // 1024}KiB, the layout"
            f" declares raid0 with chunk {volume.chunk_bytes // 1024}KiB",
            "declare in the layout what is there, or copy the data off and clear the disks",
            ordered,
        )
    if problem := _filesystem_problem(volume, array.filesystem, len(ordered)):
        return refuse(f"{array.path}: {problem}", _LOOK, ordered)
    if array.mountpoint == volume.mount:
        return Outcome(Decision.NOTHING, f"{reason}, mounted at {array.mountpoint}", tuple(ordered))
    if array.mountpoint:
        return refuse(
            f"{array.path} is mounted at {array.mountpoint}, not at {volume.mount}",
            "unmount it there and reboot",
            ordered,
        )
    if array.filesystem is None and inventory.privileged and not array.blank:
        return refuse(f"{array.path} holds data, but no filesystem", _LOOK, ordered)
    return _finish(
        volume, inventory, ordered, device=array.path, found=array.filesystem, reason=reason
    )


def _complete(
    volume: Volume, inventory: Inventory, ordered: Sequence[tuple[Disk, MdMember]]
) -> Outcome:
    disks = [disk for disk, _ in ordered]
    first = ordered[0][1]
    array = _array_of(inventory, first.array_uuid, disks)
    if array and array.state not in _NOT_RUNNING:
        return decide_running(volume, inventory, array, disks)
    if problem := _filesystem_problem(volume, first.filesystem, len(disks)):
        return refuse(f"the stripe of '{volume.name}' {problem}", _LOOK, disks)
    zero = all(member.data_zero for _, member in ordered)
    if first.filesystem is None and inventory.privileged and not zero:
        return refuse(f"the stripe of '{volume.name}' holds data, but no filesystem", _LOOK, disks)
    start = (steps.stop_step(volume, array.path),) if array else ()
    return _finish(
        volume,
        inventory,
        disks,
        device=md.array_path(volume.name),
        found=first.filesystem,
        reason=(
            f"all {len(disks)} members of volume '{volume.name}' are here"
            f" (array {first.array_uuid})"
        ),
        before=(*start, steps.assemble_step(volume, first.array_uuid, disks)),
    )


def _finish(
    volume: Volume,
    inventory: Inventory,
    disks: Sequence[Disk],
    *,
    device: str,
    found: Filesystem | None,
    reason: str,
    before: tuple[Step, ...] = (),
) -> Outcome:
    """Mount; and make the filesystem first where our own work was interrupted before it."""
    unfinished = found is not None and found.unfinished
    # Without root nobody could look: the preview then assumes what is usual.
    never_made = found is None and inventory.privileged
    remake: tuple[Step, ...] = ()
    if never_made or unfinished:
        remake = (steps.mkfs_step(volume, device, members=len(disks), unfinished=unfinished),)
        reason += _UNFINISHED if unfinished else "; it never got its filesystem, nothing was stored"
    return Outcome(
        Decision.ASSEMBLE,
        reason,
        tuple(disks),
        steps=(*before, *remake, steps.mount_step(volume, device)),
    )


def _filesystem_problem(volume: Volume, found: Filesystem | None, members: int) -> str:
    if found is None or found.unfinished:
        return ""
    if (found.kind, found.label) != ("xfs", volume.name):
        return f"holds {found.kind} labelled '{found.label}', not xfs labelled '{volume.name}'"
    wanted = (volume.chunk_bytes, volume.chunk_bytes * members)
    if found.sunit_bytes is not None and (found.sunit_bytes, found.swidth_bytes) != wanted:
        return (
            f"holds an XFS with sunit {found.sunit_bytes} and swidth {found.swidth_bytes} bytes;"
            f" chunk and members make {wanted[0]} and {wanted[1]}"
        )
    return ""


def _incomplete(
    volume: Volume,
    inventory: Inventory,
    candidates: Sequence[Disk],
    ordered: Sequence[tuple[Disk, MdMember]],
    missing: Sequence[int],
    *,
    against: Mapping[str, str],
    waited: bool,
) -> Outcome:
    size = ordered[0][1].member_count
    survivors = [disk for disk, _ in ordered]
    others = [disk for disk in candidates if disk.id not in {d.id for d in survivors}]
    lost = ", ".join(str(slot) for slot in missing)
    reason = (
        f"the array of volume '{volume.name}' ({ordered[0][1].array_uuid}) has"
        f" {len(survivors)} of {size} members; lost: slot{'s' if len(missing) > 1 else ''} {lost};"
        f" here: " + ", ".join(f"slot {member.slot} {call(disk)}" for disk, member in ordered)
    )
    array = _array_of(inventory, ordered[0][1].array_uuid, survivors)
    if array and array.state not in _NOT_RUNNING:
        return refuse(
            f"{reason}; {array.path} still runs ({array.state})",
            "read what can still be read, unmount it, stop it with 'mdadm --stop' and reboot"
            "; a RAID0 cannot be repaired",
            survivors,
        )
    stop = (steps.stop_step(volume, array.path),) if array else ()
    unusable = [disk for disk in others if disk.id in against]
    enough = len(candidates) >= (inventory.machine.expected_disks or size)
    if _never_written(ordered) and not unusable and len(candidates) == size and enough:
        # mdadm writes the superblocks in slot order; killed in between, it leaves this.
        holds = "a superblock of ours and nothing else, or blank"
        return Outcome(
            Decision.CREATE,
            f"{reason}; it was interrupted while it was made and nothing was stored",
            tuple(candidates),
            steps=(*stop, *_build(volume, candidates, holds)),
        )
    if not waited:
        return Outcome(Decision.WAIT, f"{reason}; waiting for the rest", tuple(survivors))
    if others:
        reason += f"; other disks: {list_disks(others)}"
    if volume.on_loss == "recreate" and not unusable and enough and len(candidates) > 1:
        return _recreate(volume, candidates, ordered, reason, stop)
    hint = (
        "a RAID0 cannot be rebuilt: bring the lost disk back, or stop and start the machine"
        ' (new blank disks), or declare on_loss = "recreate" in the layout to make the volume'
        " anew and lose its data"
    )
    if unusable:
        hint += "; not usable for that: " + "; ".join(
            f"{call(d)}: {against[d.id]}" for d in unusable
        )
    return refuse(reason, hint, survivors)


def _all_incomplete(members: Sequence[tuple[Disk, MdMember]]) -> bool:
    """Whether each array that the members belong to lacks at least one of its slots."""
    return all(
        len({one.slot for _, one in members if one.array_uuid == member.array_uuid})
        < member.member_count
        for _, member in members
    )


def _several_lost(
    volume: Volume,
    inventory: Inventory,
    candidates: Sequence[Disk],
    members: Sequence[tuple[Disk, MdMember]],
    *,
    against: Mapping[str, str],
    waited: bool,
) -> Outcome:
    """Parts of several arrays with the volume's name, none whole; on_loss is ``recreate``.

    This is what a recreation leaves that was killed while mdadm wrote the new superblocks
    over the old: it is finished by beginning it again.
    """
    disks = [disk for disk, _ in members]
    reason = f"parts of lost arrays carry the name '{volume.name}': {list_disks(disks)}"
    if not waited:
        return Outcome(Decision.WAIT, f"{reason}; waiting for the rest", tuple(disks))
    ids = {disk.id for disk in disks}
    held = [array for array in inventory.arrays if ids & set(array.members)]
    unusable = [disk for disk in candidates if disk.id in against]
    wanted = inventory.machine.expected_disks or max(one.member_count for _, one in members)
    running = [array.path for array in held if array.state not in _NOT_RUNNING]
    if running or unusable or len(candidates) < max(wanted, 2):
        return refuse(
            f"{reason}; they cannot be made anew: "
            + (
                f"{', '.join(running)} still runs"
                if running
                else "; ".join(f"{call(disk)}: {against[disk.id]}" for disk in unusable)
                or f"{len(candidates)} of {wanted} disks are here"
            ),
            "bring the missing disks back, or free those that are in use, and reboot",
            disks,
        )
    stop = tuple(steps.stop_step(volume, array.path) for array in held)
    return _recreate(volume, candidates, members, reason, stop)


def _recreate(
    volume: Volume,
    candidates: Sequence[Disk],
    members: Sequence[tuple[Disk, MdMember]],
    reason: str,
    stop: tuple[Step, ...],
) -> Outcome:
    zero = tuple(
        steps.zero_start_step(volume, disk, member.data_offset_bytes)
        for disk, member in members
        if member.data_offset_bytes is not None
    )
    return Outcome(
        Decision.RECREATE,
        f"{reason}; the data is gone, and on_loss declares to make the volume anew",
        tuple(candidates),
        steps=(
            *stop,
            *zero,
            *_build(volume, candidates, "a member of the lost stripe, or blank"),
        ),
    )


def _array_of(inventory: Inventory, uuid: str, disks: Sequence[Disk]) -> Array | None:
    ids = {disk.id for disk in disks}
    found = (one for one in inventory.arrays if one.uuid == uuid or ids & set(one.members))
    return next(found, None)


def _build(volume: Volume, candidates: Sequence[Disk], holds: str) -> tuple[Step, ...]:
    device = md.array_path(volume.name)
    destroys = tuple(steps.destruction(disk, holds) for disk in candidates)
    return (
        steps.create_step(volume, candidates, destroys),
        steps.mkfs_step(volume, device, members=len(candidates)),
        steps.mount_step(volume, device),
    )


def _never_written(ordered: Sequence[tuple[Disk, MdMember]]) -> bool:
    """Slot 0, where a filesystem starts, is here, and all that is here reads as zero."""
    return ordered[0][1].slot == 0 and all(
        member.data_zero is True and member.filesystem is None for _, member in ordered
    )
