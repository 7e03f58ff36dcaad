"""What a plan is made of: decisions with their reason, and steps with their argv. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance import paths, text
from appliance.model import Decision, Destruction, Disk, Step, Volume
from appliance.storage import filesystem, md

# What has to be verified after a step; the executor knows how.
CHECK_ARRAY = "array"
CHECK_GEOMETRY = "geometry"
CHECK_MOUNT = "mount"
CHECK_BENCH_DIR = "bench-dir"

# Enough to hold every superblock that could be found at the start of an old stripe.
_START_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided for one volume; ``disks`` are those the decision is about."""

    decision: Decision
    reason: str
    disks: tuple[Disk, ...] = ()
    hint: str = ""
    steps: tuple[Step, ...] = ()


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
    return Step(
        argv=md.create_argv(volume.name, volume.chunk_bytes, [stable(disk) for disk in disks]),
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


def mkfs_steps(
    volume: Volume,
    device: str,
    *,
    members: int,
    destroys: tuple[Destruction, ...] = (),
    unfinished: bool = False,
) -> tuple[Step, ...]:
    """Make the filesystem; ``unfinished`` first takes away what an interrupted mkfs left."""
    width = text.size(volume.chunk_bytes * members)
    make = Step(
        argv=filesystem.mkfs_argv(
            volume.name, device, chunk_bytes=volume.chunk_bytes, members=members
        ),
        why=f"XFS aligned to {text.size(volume.chunk_bytes)} chunks and {width} stripes"
        if members > 1
        else "XFS on the whole disk",
        destroys=destroys,
        check=CHECK_GEOMETRY,
        volume=volume.name,
    )
    if not unfinished:
        return (make,)
    clear = Step(
        argv=filesystem.clear_argv(device),
        why="the superblock says that mkfs never ended, so nothing was ever stored",
        volume=volume.name,
    )
    return (clear, make)


def mount_steps(volume: Volume, device: str) -> tuple[Step, ...]:
    return (
        Step(
            argv=filesystem.mount_argv(device, volume.mount),
            why=f"mount volume '{volume.name}'",
            check=CHECK_MOUNT,
            volume=volume.name,
        ),
        bench_dir_step(volume),
    )


def bench_dir_step(volume: Volume) -> Step:
    return Step(
        argv=filesystem.bench_dir_argv(
            f"{volume.mount}/{paths.BENCH_DIR_NAME}", paths.SERVICE_USER
        ),
        why="the one directory in which benchmarks may write",
        check=CHECK_BENCH_DIR,
        volume=volume.name,
    )
