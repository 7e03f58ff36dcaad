"""What a plan is made of: decisions with their reason, and steps with their argv. Pure.

One function for each kind of step; which steps make a plan is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance import text
from appliance.model.disks import Disk
from appliance.model.plans import Decision, Destruction, Step, Volume
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

Argv = tuple[str, ...]
Lost = tuple[Destruction, ...]


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


def give_up(volume: str) -> str:
    """The way on for a volume that is not needed and cannot be used."""
    return (
        f"if nothing of it is needed: stripewright plan --remove {volume}, without the volume in"
        " the layout"
    )


def redeclare(volume: str) -> str:
    """The way on for a volume that is not what the layout says."""
    return (
        "declare in the layout what is there, or copy the data off and remove the volume:"
        f" stripewright plan --remove {volume}"
    )


# ------------------------------------------------------------------------------ words


def call(disk: Disk) -> str:
    """A disk as an operator knows it: kernel name and serial."""
    return f"{disk.path} (serial {disk.serial or 'none'})"


def list_disks(disks: Sequence[Disk]) -> str:
    return ", ".join(call(disk) for disk in disks)


def objections(against: Sequence[tuple[Disk, str]]) -> str:
    """Disks, each with what speaks against it."""
    return "; ".join(f"{call(disk)}: {why}" for disk, why in against)


def count_disks(number: int) -> str:
    return "1 disk" if number == 1 else f"{number} disks"


def stable(disk: Disk) -> str:
    """The path that goes into an argv: it names the same disk after a reboot, if udev made one."""
    return disk.stable_path or disk.path


def paths(disks: Sequence[Disk]) -> list[str]:
    return [stable(disk) for disk in disks]


def destruction(disk: Disk, holds: str) -> Destruction:
    return Destruction(disk.path, disk.id, disk.serial, disk.size_bytes, holds)


def _step(argv: Argv, why: str, volume: str, check: str = "", destroys: Lost = ()) -> Step:
    return Step(argv, why, destroys, check, volume)


def _chore(name: str, *words: str) -> Argv:
    return (*_CHORE, name, *words)


# ------------------------------------------------------------------------------ our chores


def declare_step(sha256: str) -> Step:
    return _step(_chore("declare", sha256), "install the layout that this plan was made for", "")


def mark_step(
    volume: Volume, disks: Sequence[Disk], destroys: Lost, *, end: bool, filesystem_uuid: str = ""
) -> Step:
    """The first write of every creation: it says on each disk that nothing is stored there, as
    long as it does not hold the filesystem with that UUID.
    """
    uuid = (f"uuid={filesystem_uuid}",) if filesystem_uuid else ()
    return _step(
        _chore("mark", volume.name, "end" if end else "front", *uuid, *paths(disks)),
        f"mark {count_disks(len(disks))}: '{volume.name}' is being made, nothing is stored yet",
        volume.name,
        CHECK_MARKS,
        destroys,
    )


def unmark_step(volume: str, disks: Sequence[Disk]) -> Step:
    why = "clear the in-progress marks: the volume is made, and may hold data from here on"
    return _step(_chore("unmark", volume, *paths(disks)), why, volume, CHECK_UNMARKED)


def release_step(volume: str, disk: Disk, holds: str) -> Step:
    why = f"mark the disk as released from '{volume}', then clear our own signature"
    lost = (destruction(disk, holds),)
    return _step(_chore("release", volume, stable(disk)), why, volume, CHECK_RELEASED, lost)


def release_foreign_step(disk: Disk, holds: str) -> Step:
    why = "mark the disk as released, so that it may be used"
    lost = (destruction(disk, holds),)
    return _step(_chore("release-foreign", stable(disk)), why, "", CHECK_RELEASED, lost)


# ------------------------------------------------------------------------------ arrays


def create_step(
    volume: Volume, disks: Sequence[Disk], destroys: Lost, *, uuid: str, force: bool
) -> Step:
    """Make the array. mdadm has to be told not to ask only where it finds what is ours."""
    uuid = md.format_uuid(bytes.fromhex(uuid)) if uuid else ""
    argv = md.create_argv(volume, paths(disks), uuid=uuid, force=force)
    chunks = text.size(volume.chunk_bytes)
    why = f"stripe {count_disks(len(disks))} with {chunks} chunks ({md.level_of(volume)})"
    return _step(argv, why, volume.name, CHECK_ARRAY, destroys)


def assemble_step(
    volume: Volume,
    uuid: str,
    disks: Sequence[Disk],
    *,
    degraded: bool = False,
    resized: bool = False,
) -> Step:
    update = "devicesize" if resized else ""
    argv = md.assemble_argv(volume.name, uuid, paths(disks), degraded=degraded, update=update)
    what = "with the members that are left" if degraded else f"from its {len(disks)} members"
    why = f"assemble the stripe {what} by its uuid"
    why += ", with all of the enlarged disks" if resized else ""
    return _step(argv, why, volume.name, CHECK_ARRAY)


def shrink_step(volume: str, disks: Sequence[Disk], used_bytes: int) -> Step:
    why = "undo the growth of the array, which had not reached every member's superblock"
    return _step(_chore("shrink", volume, str(used_bytes), *paths(disks)), why, volume)


def stop_step(volume: str, path: str) -> Step:
    why = "stop the array, so that its disks are free"
    return _step(md.stop_argv(path), why, volume, CHECK_GONE)


def add_steps(volume: Volume, path: str, added: Sequence[tuple[Disk, str]]) -> tuple[Step, ...]:
    """``added`` are disks, each with what it holds.

    mdadm leaves a mark where it is, and one that says "released" would contradict the member. It
    goes first: killed in between, the disk is a spare that is not blank, and is left alone.
    """

    def step(chore: bool, which: Sequence[tuple[Disk, str]], why: str) -> Step:
        names = paths([disk for disk, _ in which])
        argv = _chore("unmark", volume.name, *names) if chore else md.add_argv(path, names)
        lost = tuple(destruction(disk, holds) for disk, holds in which)
        return _step(argv, why, volume.name, CHECK_UNMARKED if chore else CHECK_ARRAY, lost)

    marked = [one for one in added if one[0].mark is not None]
    why = f"give the degraded array {count_disks(len(added))} to rebuild on"
    add = step(False, added, why)
    if not marked:
        return (add,)
    return (step(True, marked, "clear the released mark: the disk joins the array"), add)


def grow_array_step(volume: Volume, path: str) -> Step:
    why = "let the array use all of the enlarged disks"
    return _step(md.grow_size_argv(path), why, volume.name, CHECK_SIZE)


# ------------------------------------------------------------------------------ LVM


def create_group_steps(
    volume: Volume, disks: Sequence[Disk], destroys: Lost, *, host_tag: str, force: bool
) -> tuple[Step, ...]:
    names, chunks = paths(disks), text.size(volume.chunk_bytes)
    return (
        _step(
            lvm.create_group_argv(volume, names, host_tag=host_tag, force=force),
            f"a volume group of {count_disks(len(disks))}, tagged with volume and machine",
            volume.name,
            destroys=destroys,
        ),
        _step(
            lvm.create_volume_argv(volume, names, force=force),
            f"one volume over all of it, striped in {chunks} chunks",
            volume.name,
            CHECK_GROUP,
        ),
    )


def activate_step(volume: Volume, disks: Sequence[Disk]) -> Step:
    why = f"activate the logical volume on its {len(disks)} disks"
    return _step(lvm.activate_argv(volume.name, paths(disks)), why, volume.name, CHECK_GROUP)


def deactivate_step(volume: str, disks: Sequence[Disk]) -> Step:
    why = "deactivate the logical volume, so that its disks are free"
    return _step(lvm.deactivate_argv(volume, paths(disks)), why, volume, CHECK_GONE)


def resize_disks_step(volume: Volume, members: Sequence[Disk], bigger: Sequence[Disk]) -> Step:
    why = f"tell the group that {count_disks(len(bigger))} became bigger"
    return _step(lvm.resize_disks_argv(paths(members)), why, volume.name)


def extend_group_steps(
    volume: Volume, members: Sequence[Disk], added: Sequence[Disk]
) -> tuple[Step, ...]:
    """Take blank disks into the group; marked while the group's word for it may be half written."""
    lost = tuple(destruction(disk, "blank or released") for disk in added)
    force = any(disk.mark or disk.blank is False for disk in added)
    argv = lvm.extend_group_argv(volume.name, paths(members), paths(added), force=force)
    why = f"add {count_disks(len(added))} to the group"
    return (
        mark_step(volume, added, lost, end=False),
        _step(argv, why, volume.name, CHECK_GROUP, lost),
        unmark_step(volume.name, added),
    )


def extend_volume_step(volume: Volume, members: Sequence[Disk], stripes: int) -> Step:
    argv = lvm.extend_volume_argv(volume, paths(members), stripes=stripes)
    why = f"give the volume what is free, {stripes} stripes wide as before"
    return _step(argv, why, volume.name, CHECK_SIZE)


# ------------------------------------------------------------------------------ filesystems


def mkfs_step(
    volume: Volume,
    device: str,
    *,
    members: int,
    size_bytes: int | None = None,
    uuid: str = "",
    force: bool = False,
    destroys: Lost = (),
) -> Step:
    """Make the filesystem; ``size_bytes`` where it has a disk to itself."""
    argv = filesystem.mkfs_argv(
        volume, device, members=members, size_bytes=size_bytes, uuid=uuid, force=force
    )
    why = f"{volume.filesystem} on the whole disk"
    if (stripe := filesystem.alignment(volume, members)) is not None:
        chunk, width = text.size(stripe[0]), text.size(stripe[0] * stripe[1])
        why = f"{volume.filesystem} aligned to {chunk} chunks and {width} stripes"
    return _step(argv, why, volume.name, CHECK_GEOMETRY, destroys)


def mount_step(volume: Volume, device: str) -> Step:
    argv = filesystem.mount_argv(volume, device)
    return _step(argv, f"mount volume '{volume.name}'", volume.name, CHECK_MOUNT)


def umount_step(volume: str, mountpoint: str) -> Step:
    return _step(("umount", mountpoint), f"unmount {mountpoint}", volume)


def wipe_filesystem_step(volume: str, device: str) -> Step:
    why = f"clear the signature of the filesystem of '{volume}'"
    return _step(filesystem.wipe_argv(device), why, volume)


def wipe_disk_step(disk: Disk, holds: str, volume: str = "") -> Step:
    argv, lost = filesystem.wipe_argv(stable(disk)), (destruction(disk, holds),)
    return _step(argv, "clear the signatures on the disk", volume, destroys=lost)


def grow_filesystem_step(volume: Volume, device: str, *, size_bytes: int | None = None) -> Step:
    kind = filesystem.KINDS[volume.filesystem]
    argv = kind.grow_argv(device, volume.mount, size_bytes)
    why = f"grow the {volume.filesystem} over the new room, while it is mounted"
    return _step(argv, why, volume.name, CHECK_SIZE)
