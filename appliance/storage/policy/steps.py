"""What a plan is made of: decisions with their reason, and steps with their argv. Pure.

One function for each kind of step; which steps make a plan is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance import text
from appliance.model import Decision, Destruction, Disk, Step, Volume
from appliance.storage.formats import filesystem, lvm, md

# What has to be verified after a step; the executor knows how.
CHECK_ARRAY = "array"
CHECK_GROUP = "group"
CHECK_GEOMETRY = "geometry"
CHECK_MOUNT = "mount"
CHECK_MARKS = "marks"
CHECK_UNMARKED = "unmarked"
CHECK_RELEASED = "released"
CHECK_GONE = "gone"
CHECK_SIZE = "size"

_CHORE = ("stripewright", "chore")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided for one volume; ``disks`` are those the decision is about.

    ``settles`` and ``reading`` are as for :class:`appliance.model.VolumePlan`.
    """

    decision: Decision
    reason: str
    disks: tuple[Disk, ...] = ()
    hint: str = ""
    steps: tuple[Step, ...] = ()
    settles: bool = False
    reading: bool = False


def refuse(reason: str, hint: str, disks: Sequence[Disk] = ()) -> Outcome:
    return Outcome(Decision.REFUSE, reason, tuple(disks), hint)


# ------------------------------------------------------------------------------ words


def call(disk: Disk) -> str:
    """A disk as an operator knows it: kernel name and serial."""
    return f"{disk.path} (serial {disk.serial or 'none'})"


def list_disks(disks: Sequence[Disk]) -> str:
    return ", ".join(call(disk) for disk in disks)


def count_disks(number: int) -> str:
    return "1 disk" if number == 1 else f"{number} disks"


def stable(disk: Disk) -> str:
    """The path that goes into an argv: it names the same disk after a reboot, if udev made one."""
    return disk.stable_path or disk.path


def paths(disks: Sequence[Disk]) -> list[str]:
    return [stable(disk) for disk in disks]


def destruction(disk: Disk, holds: str) -> Destruction:
    return Destruction(
        path=disk.path, id=disk.id, serial=disk.serial, size_bytes=disk.size_bytes, holds=holds
    )


# ------------------------------------------------------------------------------ our chores


def declare_step(sha256: str) -> Step:
    return Step(
        argv=(*_CHORE, "declare", sha256),
        why="install the layout that this plan was made for",
    )


def mark_step(
    volume: Volume,
    disks: Sequence[Disk],
    *,
    end: bool,
    destroys: tuple[Destruction, ...],
    filesystem_uuid: str = "",
) -> Step:
    """The first write of every creation: it says on each disk that nothing is stored there, as
    long as it does not hold the filesystem with that UUID.
    """
    place = "end" if end else "front"
    uuid = (f"uuid={filesystem_uuid}",) if filesystem_uuid else ()
    return Step(
        argv=(*_CHORE, "mark", volume.name, place, *uuid, *paths(disks)),
        why=f"mark {count_disks(len(disks))}: '{volume.name}' is being made, nothing is stored yet",
        destroys=destroys,
        check=CHECK_MARKS,
        volume=volume.name,
    )


def unmark_step(volume: str, disks: Sequence[Disk]) -> Step:
    return Step(
        argv=(*_CHORE, "unmark", volume, *paths(disks)),
        why="the volume is made, and may hold data now: the marks of its making go",
        check=CHECK_UNMARKED,
        volume=volume,
    )


def release_step(volume: str, disk: Disk, holds: str) -> Step:
    return Step(
        argv=(*_CHORE, "release", volume, stable(disk)),
        why=f"mark the disk as released from '{volume}', then clear our own signature",
        destroys=(destruction(disk, holds),),
        check=CHECK_RELEASED,
        volume=volume,
    )


def release_foreign_step(disk: Disk, holds: str) -> Step:
    return Step(
        argv=(*_CHORE, "release-foreign", stable(disk)),
        why="mark the disk as given up, so that it may be used",
        destroys=(destruction(disk, holds),),
        check=CHECK_RELEASED,
    )


# ------------------------------------------------------------------------------ arrays


def create_step(
    volume: Volume,
    disks: Sequence[Disk],
    destroys: tuple[Destruction, ...],
    *,
    uuid: str,
    force: bool,
) -> Step:
    """Make the array. mdadm has to be told not to ask only where it finds what is ours."""
    chunks = text.size(volume.chunk_bytes)
    return Step(
        argv=md.create_argv(
            volume,
            paths(disks),
            uuid=md.format_uuid(bytes.fromhex(uuid)) if uuid else "",
            force=force,
        ),
        why=f"stripe {count_disks(len(disks))} with {chunks} chunks ({md.level_of(volume)})",
        destroys=destroys,
        check=CHECK_ARRAY,
        volume=volume.name,
    )


def assemble_step(
    volume: Volume,
    uuid: str,
    disks: Sequence[Disk],
    *,
    degraded: bool = False,
    resized: bool = False,
) -> Step:
    what = "with the members that are left" if degraded else f"from its {len(disks)} members"
    return Step(
        argv=md.assemble_argv(
            volume.name,
            uuid,
            paths(disks),
            degraded=degraded,
            update="devicesize" if resized else "",
        ),
        why=f"assemble the stripe {what} by its uuid"
        + (", with all of the enlarged disks" if resized else ""),
        check=CHECK_ARRAY,
        volume=volume.name,
    )


def shrink_step(volume: str, disks: Sequence[Disk], used_bytes: int) -> Step:
    return Step(
        argv=(*_CHORE, "shrink", volume, str(used_bytes), *paths(disks)),
        why="undo the growth of the array, which had not reached every member's superblock",
        volume=volume,
    )


def stop_step(volume: str, path: str) -> Step:
    return Step(
        argv=md.stop_argv(path),
        why="stop the array, so that its disks are free",
        check=CHECK_GONE,
        volume=volume,
    )


def add_steps(volume: Volume, path: str, added: Sequence[tuple[Disk, str]]) -> tuple[Step, ...]:
    """``added`` are disks, each with what it holds.

    mdadm leaves a mark where it is, and one that says "released" would contradict the member. It
    goes first: killed in between, the disk is a spare that is not blank, and is left alone.
    """
    add = Step(
        argv=md.add_argv(path, paths([disk for disk, _ in added])),
        why=f"give the degraded array {count_disks(len(added))} to rebuild on",
        destroys=tuple(destruction(disk, holds) for disk, holds in added),
        check=CHECK_ARRAY,
        volume=volume.name,
    )
    marked = [(disk, holds) for disk, holds in added if disk.mark is not None]
    if not marked:
        return (add,)
    unmark = Step(
        argv=(*_CHORE, "unmark", volume.name, *paths([disk for disk, _ in marked])),
        why="the disk becomes a part of the array: its mark of having been given up goes",
        destroys=tuple(destruction(disk, holds) for disk, holds in marked),
        check=CHECK_UNMARKED,
        volume=volume.name,
    )
    return (unmark, add)


def grow_array_step(volume: Volume, path: str) -> Step:
    return Step(
        argv=md.grow_size_argv(path),
        why="let the array use all of the enlarged disks",
        check=CHECK_SIZE,
        volume=volume.name,
    )


# ------------------------------------------------------------------------------ LVM


def create_group_steps(
    volume: Volume,
    disks: Sequence[Disk],
    destroys: tuple[Destruction, ...],
    *,
    host_tag: str,
    force: bool,
) -> tuple[Step, ...]:
    names = paths(disks)
    chunks = text.size(volume.chunk_bytes)
    return (
        Step(
            argv=lvm.create_group_argv(volume, names, host_tag=host_tag, force=force),
            why=f"a volume group of {count_disks(len(disks))}, tagged with volume and machine",
            destroys=destroys,
            volume=volume.name,
        ),
        Step(
            argv=lvm.create_volume_argv(volume, names, force=force),
            why=f"one volume over all of it, striped in {chunks} chunks",
            check=CHECK_GROUP,
            volume=volume.name,
        ),
    )


def activate_step(volume: Volume, disks: Sequence[Disk]) -> Step:
    return Step(
        argv=lvm.activate_argv(volume.name, paths(disks)),
        why=f"bring up the logical volume from its {len(disks)} disks",
        check=CHECK_GROUP,
        volume=volume.name,
    )


def deactivate_step(volume: str, disks: Sequence[Disk]) -> Step:
    return Step(
        argv=lvm.deactivate_argv(volume, paths(disks)),
        why="bring the logical volume down, so that its disks are free",
        check=CHECK_GONE,
        volume=volume,
    )


def resize_disks_step(volume: Volume, members: Sequence[Disk], bigger: Sequence[Disk]) -> Step:
    return Step(
        argv=lvm.resize_disks_argv(paths(members)),
        why=f"tell the group that {count_disks(len(bigger))} became bigger",
        volume=volume.name,
    )


def extend_group_steps(
    volume: Volume, members: Sequence[Disk], added: Sequence[Disk]
) -> tuple[Step, ...]:
    """Take blank disks into the group; marked while the group's word for it may be half written."""
    destroys = tuple(destruction(disk, "blank or released") for disk in added)
    force = any(disk.mark or disk.blank is False for disk in added)
    return (
        mark_step(volume, added, end=False, destroys=destroys),
        Step(
            argv=lvm.extend_group_argv(volume.name, paths(members), paths(added), force=force),
            why=f"{count_disks(len(added))} more for the group",
            destroys=destroys,
            check=CHECK_GROUP,
            volume=volume.name,
        ),
        unmark_step(volume.name, added),
    )


def extend_volume_step(volume: Volume, members: Sequence[Disk], stripes: int) -> Step:
    return Step(
        argv=lvm.extend_volume_argv(volume, paths(members), stripes=stripes),
        why=f"give the volume what is free, {stripes} stripes wide as before",
        check=CHECK_SIZE,
        volume=volume.name,
    )


# ------------------------------------------------------------------------------ filesystems


def mkfs_step(
    volume: Volume,
    device: str,
    *,
    members: int,
    size_bytes: int | None = None,
    uuid: str = "",
    force: bool = False,
    destroys: tuple[Destruction, ...] = (),
) -> Step:
    """Make the filesystem; ``size_bytes`` where it has a disk to itself."""
    kind = volume.filesystem
    stripe = filesystem.alignment(volume, members)
    why = f"{kind} on the whole disk"
    if stripe is not None:
        chunk, width = text.size(stripe[0]), text.size(stripe[0] * stripe[1])
        why = f"{kind} aligned to {chunk} chunks and {width} stripes"
    return Step(
        argv=filesystem.mkfs_argv(
            volume, device, members=members, size_bytes=size_bytes, uuid=uuid, force=force
        ),
        why=why,
        destroys=destroys,
        check=CHECK_GEOMETRY,
        volume=volume.name,
    )


def mount_step(volume: Volume, device: str) -> Step:
    return Step(
        argv=filesystem.mount_argv(volume, device),
        why=f"mount volume '{volume.name}'",
        check=CHECK_MOUNT,
        volume=volume.name,
    )


def umount_step(volume: str, mountpoint: str) -> Step:
    return Step(argv=("umount", mountpoint), why=f"take {mountpoint} out of use", volume=volume)


def wipe_filesystem_step(volume: str, device: str) -> Step:
    return Step(
        argv=filesystem.wipe_argv(device),
        why=f"clear the signature of the filesystem of '{volume}'",
        volume=volume,
    )


def wipe_disk_step(disk: Disk, holds: str, volume: str = "") -> Step:
    return Step(
        argv=filesystem.wipe_argv(stable(disk)),
        why="clear the signatures on the disk",
        destroys=(destruction(disk, holds),),
        volume=volume,
    )


def grow_filesystem_step(volume: Volume, device: str, *, size_bytes: int | None = None) -> Step:
    return Step(
        argv=filesystem.grow_argv(volume, device, size_bytes=size_bytes),
        why=f"grow the {volume.filesystem} over the new room, while it is mounted",
        check=CHECK_SIZE,
        volume=volume.name,
    )
