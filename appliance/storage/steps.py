"""What a plan is made of: decisions with their reason, and steps with their argv. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance import text
from appliance.model import Decision, Destruction, Disk, Step, Volume
from appliance.storage import filesystem, md

# What has to be verified after a step; the executor knows how.
CHECK_ARRAY = "array"
CHECK_GEOMETRY = "geometry"
CHECK_MOUNT = "mount"

# Enough to hold every superblock that could be found at the start of an old stripe.
_START_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided for one volume; ``disks`` are those the decision is about.

    ``settles`` is as for :class:`appliance.model.VolumePlan`.
    """

    decision: Decision
    reason: str
    disks: tuple[Disk, ...] = ()
    hint: str = ""
    steps: tuple[Step, ...] = ()
    settles: bool = False


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


def destruction(disk: Disk, holds: str) -> Destruction:
    return Destruction(
        path=disk.path, id=disk.id, serial=disk.serial, size_bytes=disk.size_bytes, holds=holds
    )


# ------------------------------------------------------------------------------ steps


def create_step(volume: Volume, disks: Sequence[Disk], destroys: tuple[Destruction, ...]) -> Step:
    """Make the array. mdadm has to be told not to ask only where it finds what is ours."""
    return Step(
        argv=md.create_argv(
            volume.name,
            volume.chunk_bytes,
            [stable(disk) for disk in disks],
            over_members=any(disk.md_member for disk in disks),
        ),
        why=f"stripe {count_disks(len(disks))} with {text.size(volume.chunk_bytes)} chunks",
        destroys=destroys,
        check=CHECK_ARRAY,
        volume=volume.name,
    )


def assemble_step(volume: Volume, uuid: str, disks: Sequence[Disk]) -> Step:
    return Step(
        argv=md.assemble_argv(volume.name, uuid, [stable(disk) for disk in disks]),
        why=f"assemble the stripe from its {len(disks)} members by its uuid",
        check=CHECK_ARRAY,
        volume=volume.name,
    )


def stop_step(volume: Volume, path: str) -> Step:
    return Step(
        argv=md.stop_argv(path),
        why="let go of the members that a start-up which did not end still holds",
        volume=volume.name,
    )


def zero_start_step(volume: Volume, disk: Disk, offset_bytes: int) -> Step:
    return Step(
        argv=(
            "blkdiscard",
            "--zeroout",
            "--offset",
            str(offset_bytes),
            "--length",
            str(_START_BYTES),
            stable(disk),
        ),
        why="no remains of the lost stripe may look like a filesystem in the new one",
        destroys=(destruction(disk, "a member of the lost stripe"),),
        volume=volume.name,
    )


def mkfs_step(
    volume: Volume,
    device: str,
    *,
    members: int,
    destroys: tuple[Destruction, ...] = (),
    unfinished: bool = False,
) -> Step:
    """Make the filesystem; ``unfinished``: over what an interrupted mkfs of ours left."""
    width = text.size(volume.chunk_bytes * members)
    why = (
        f"XFS aligned to {text.size(volume.chunk_bytes)} chunks and {width} stripes"
        if members > 1
        else "XFS on the whole disk"
    )
    if unfinished:
        why += "; over one whose superblock says that mkfs never ended, so nothing was stored"
    return Step(
        argv=filesystem.mkfs_argv(
            volume.name,
            device,
            chunk_bytes=volume.chunk_bytes,
            members=members,
            over_unfinished=unfinished,
        ),
        why=why,
        destroys=destroys,
        check=CHECK_GEOMETRY,
        volume=volume.name,
    )


def mount_step(volume: Volume, device: str) -> Step:
    return Step(
        argv=filesystem.mount_argv(device, volume.mount),
        why=f"mount volume '{volume.name}'",
        check=CHECK_MOUNT,
        volume=volume.name,
    )
