"""Reading back what a step made. A step that cannot be proved has failed.

Each check asks another source than the program that did the work: the kernel and the members'
superblocks for an array, LVM's report for a group, the superblock on the device for a
filesystem's geometry, mountinfo for a mount, the disks themselves for our marks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import OperatorError
from appliance.model.disks import ARRAY_RUNS, Disk, MarkState
from appliance.model.plans import Step, Volume
from appliance.storage.execute import builtin_steps
from appliance.storage.formats import filesystem, lvm, md
from appliance.storage.formats.filesystem_kind import Geometry
from appliance.storage.policy import steps
from appliance.storage.probe import blockdev, events
from appliance.system import process
from appliance.system.kernel import Kernel, MdArray

_TOOL_TIMEOUT_SECONDS = 60
# e2fsck reads every bitmap: gigabytes, of the largest.
_CHECK_TIMEOUT_SECONDS = 1800
_MADE_AGAIN = (
    "it was not mounted, and the next boot or plan makes it again; if that fails, too, look at the"
    " disks: 'stripewright inventory', journalctl -k"
)
_HINT = "nothing was mounted over it; see 'journalctl -b -t stripewright' and look at it by hand"
# A grown filesystem may leave out a last group or allocation group that would be too small.
_ROUNDED_OFF_BYTES = 130 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class VerifyContext:
    """Where a step was run: ``disks`` are the volume's in slot order, as the plan has them.

    ``volume`` is ``None`` for one that is no longer declared.
    """

    volume: Volume | None
    disks: tuple[Disk, ...]
    kernel: Kernel
    bench: builtin_steps.StepContext

    def disk_of(self, device: str) -> Disk | None:
        """The disk that ``device`` is, if the filesystem has one to itself."""
        own = (disk for disk in self.disks if device in {disk.path, steps.stable(disk)})
        return next(own, None)

    def declared(self) -> Volume:
        if self.volume is None:
            raise OperatorError("the step belongs to no declared volume", _HINT)
        return self.volume


def check(step: Step, context: VerifyContext) -> None:
    """Verify ``step``. Raises :class:`OperatorError` saying what is not as planned."""
    checks: Mapping[str, Callable[[Step, VerifyContext], None]] = {
        steps.CHECK_ARRAY: check_array,
        steps.CHECK_GROUP: check_group,
        steps.CHECK_GEOMETRY: check_geometry,
        steps.CHECK_MOUNT: check_mount,
        steps.CHECK_MARKS: check_marks,
        steps.CHECK_UNMARKED: check_unmarked,
        steps.CHECK_RELEASED: check_released,
        steps.CHECK_GONE: check_gone,
        steps.CHECK_SIZE: check_size,
    }
    if step.check:
        checks[step.check](step, context)
    if step.argv[0] == "umount" and context.kernel.mount_at(step.argv[-1]):
        raise OperatorError(f"something is still mounted at {step.argv[-1]}", _HINT)


def wait_for_udev(step: Step) -> None:
    """Wait until udev has done what the steps after ``step`` need of it, and for nothing else.

    An array is called by its link: mdadm waits for it, but not for ever. A disk that was
    released is shown by what udev knows of it. What it finds on a new filesystem is not
    needed here.
    """
    argv = step.argv
    if argv[0] == "mdadm" and argv[1] in {"--create", "--assemble"}:
        if not Path(argv[2]).exists():
            events.refresh(argv[2])
    elif step.check == steps.CHECK_RELEASED:
        events.refresh(argv[-1])


# ----------------------------------------------------------------------- arrays and groups


def check_array(step: Step, context: VerifyContext) -> None:
    """Level, chunk, layout, state, name and every member in its slot; whole, unless the step
    was told to start it degraded or to give it a member that has to be caught up.
    """
    volume, kernel = context.declared(), context.kernel
    path = step.argv[2]
    name = Path(path).resolve().name
    created = step.argv[1] == "--create"
    known = [disk.md_member for disk in context.disks if disk.md_member]
    count = len(context.disks) if created or not known else known[0].member_count
    array = kernel.md(name)
    found = {
        "level": array.level,
        "chunk": str(array.chunk_bytes or ""),
        "members": str(array.raid_disks or ""),
    }
    wanted = {
        "level": md.level_of(volume),
        "chunk": str(volume.chunk_bytes),
        "members": str(count),
    }
    if layout := md.layout_of(volume):
        found["layout"] = md.layout_name(array.layout) if array.layout else ""
        wanted["layout"] = layout
    wrong = [
        f"{key} is {found[key] or 'unknown'}, not {wanted[key]}"
        for key in wanted
        if found[key] != wanted[key]
    ]
    if array.state not in ARRAY_RUNS:
        wrong.append(f"state is {array.state or 'unknown'}")
    wrong += _slots(step, context, array)
    if array.degraded and not ({"--run", "--add"} & set(step.argv) and not created):
        wrong.append(f"{array.degraded} members are missing")
    uuid = next((one[7:] for one in step.argv if one.startswith("--uuid=")), "")
    for disk in context.disks:
        if array.slots.get(Path(disk.path).resolve().name):
            wrong += _superblock(disk, volume, count, uuid)
    if wrong:
        raise OperatorError(f"{path} is not the array that was planned: {'; '.join(wrong)}", _HINT)


def _slots(step: Step, context: VerifyContext, array: MdArray) -> list[str]:
    """Members that are not where they should be.

    Of an assembly only the disks that it names: one that is stale or new is added by a later
    step. What is added has no place yet, and only has to be in the array.
    """
    created, added = step.argv[1] == "--create", "--add" in step.argv
    wrong = []
    for at, disk in enumerate(context.disks):
        named = steps.stable(disk) in step.argv
        if step.argv[1] == "--assemble" and not named:
            continue
        member = disk.md_member
        slot = at if created else (member.slot if member else None)
        name = Path(disk.path).resolve().name
        seen = array.slots.get(name, "")
        if slot is None or (added and named):
            if not seen:
                wrong.append(f"{disk.path} is no member")
        elif seen != str(slot):
            wrong.append(f"{disk.path} is in slot {seen or 'none'}, not {slot}")
    return wrong


def _superblock(disk: Disk, volume: Volume, count: int, uuid: str) -> list[str]:
    """What the superblock on a member, past every cache, has other than it should.

    ``uuid`` is compared by its digits, however they are grouped.
    """
    try:
        found = md.parse_superblock(blockdev.read_md_superblock(disk.path))
    except OSError as error:
        return [f"{disk.path} cannot be read: {error.strerror}"]
    if found is None:
        return [f"{disk.path} has no superblock"]
    wrong = []
    if found.array_name != md.array_name(volume.name):
        wrong.append(f"{disk.path} is of {found.array_name!r}")
    if (found.level, found.chunk_bytes) != (md.level_of(volume), volume.chunk_bytes):
        wrong.append(f"{disk.path} says {found.level} of {found.chunk_bytes} bytes")
    if found.member_count != count:
        wrong.append(f"{disk.path} says {found.member_count} members, not {count}")
    digits = uuid.replace(":", "").replace("-", "").lower()
    if digits and found.array_uuid.replace(":", "") != digits:
        wrong.append(f"{disk.path} has the uuid {found.array_uuid}, not {uuid}")
    return wrong


def check_group(step: Step, context: VerifyContext) -> None:
    """The group has its tags and its disks, the logical volume its stripes and stripe size."""
    volume = context.declared()
    # The disks that the step itself named, and no other: also those that it added.
    devices = step.argv[step.argv.index("--devices") + 1].split(",")
    argv = lvm.report_argv(devices)
    text = process.run(argv, timeout_seconds=_TOOL_TIMEOUT_SECONDS).stdout
    name = lvm.group_name(volume.name)
    group = next((one for one in lvm.parse_report(text).groups if one.name == name), None)
    if group is None:
        raise OperatorError(f"there is no volume group {name} on the disks", _HINT)
    wrong = []
    if missing := set(lvm.tags(volume.name, "")) - set(group.tags):
        wrong.append(f"it has no tag {', '.join(missing)}")
    members = {str(Path(path).resolve()) for path in group.members}
    planned = {str(Path(path).resolve()) for path in devices}
    if group.member_count != len(group.members) or not members <= planned:
        wrong.append(f"it is on {', '.join(sorted(members))}")
    made = next((one for one in group.volumes if one.name == volume.name), None)
    # vgcreate, vgextend and pvresize end with a group; the rest with a volume in it.
    if made is None and step.argv[0] not in {"vgcreate", "vgextend", "pvresize"}:
        wrong.append(f"it has no logical volume {volume.name}")
    elif made is not None:
        width = len(made.segments[0]) if made.segments else 0
        # On one disk there is nothing to stripe over, and LVM says so.
        if width < 1 or (width > 1 and made.stripe_bytes != volume.chunk_bytes):
            wrong.append(f"stripes of {made.stripe_bytes} bytes over {width} disks")
        if any(len(segment) != width for segment in made.segments):
            wrong.append("its segments are not equally wide")
        if step.argv[0] == "lvcreate" and width != len(devices):
            wrong.append(f"{width} stripes, not {len(devices)}")
        if step.argv[0] in {"lvcreate", "lvchange"} and not made.active:
            wrong.append("it is not active")
    if wrong:
        raise OperatorError(
            f"volume group {name} is not what was planned: {'; '.join(wrong)}", _HINT
        )


def check_gone(_: Step, context: VerifyContext) -> None:
    """No array and no logical volume holds the volume's disks any more."""
    held = [
        f"{disk.path} by {', '.join(holders)}"
        for disk in context.disks
        if (holders := context.kernel.holders(Path(disk.path).resolve().name))
    ]
    if held:
        raise OperatorError(f"still held: {'; '.join(held)}", _HINT)


# ---------------------------------------------------------------------------- filesystems


def check_geometry(step: Step, context: VerifyContext) -> None:
    """Sunit is the chunk and swidth is chunk × data members; on one disk there is neither. And
    the new filesystem has no fault.
    """
    volume = context.declared()
    members = len(context.disks)
    if volume.stripe == "hw-raid0":
        # The controller's drives are no disks of ours: the width is what mkfs was given.
        members = filesystem.KINDS[volume.filesystem].mkfs_members(step.argv, volume.chunk_bytes)
    device = filesystem.mkfs_device(step.argv)
    own = context.disk_of(device)
    size = filesystem.plain_size(own.size_bytes) if own else None
    found = _on_disk(volume, device)
    wrong = filesystem.geometry_differences(volume, found, members=members, size_bytes=size)
    if wrong:
        raise OperatorError(
            f"{volume.filesystem} on {device} is not as declared: {'; '.join(wrong)}", _HINT
        )
    # mkfs has ended, and its own last act was a flush. That all of it is there, only reading
    # it all shows.
    argv = filesystem.KINDS[volume.filesystem].check_argv(device)
    process.run(argv, timeout_seconds=_CHECK_TIMEOUT_SECONDS, hint=_MADE_AGAIN)


def _on_disk(volume: Volume, device: str) -> Geometry:
    """What the superblock says that is durable on ``device``."""
    try:
        start = blockdev.read_durable(device, 0, filesystem.SUPERBLOCK_SIZE_BYTES)
    except OSError as error:
        raise OperatorError(f"{device} cannot be read: {error.strerror}", _HINT) from error
    found = filesystem.parse_superblock(start)
    if found is None or found.kind != volume.filesystem or found.unfinished:
        raise OperatorError(f"{device} holds no finished {volume.filesystem}", _HINT)
    if found.label != volume.name:
        raise OperatorError(f"{device} has the label {found.label!r}", _HINT)
    return Geometry(found.sunit_bytes or 0, found.swidth_bytes or 0, found.size_bytes or 0)


def _geometry(volume: Volume, device: str) -> Geometry:
    """What the filesystem's own tool says, also where the superblock on the disk is behind."""
    argv = filesystem.KINDS[volume.filesystem].info_argv(device, volume.mount)
    done = process.run(argv, timeout_seconds=_TOOL_TIMEOUT_SECONDS)
    return filesystem.parse_info(volume.filesystem, done.stdout)


def check_size(step: Step, context: VerifyContext) -> None:
    """After growing, the filesystem covers its device but for what is rounded off.

    What is below it was grown by steps whose effect the next of them needs.
    """
    if not filesystem.is_grower(step.argv[0]):
        return
    volume, kernel = context.declared(), context.kernel
    mount = kernel.mount_at(volume.mount)
    device = "" if mount is None else mount.source
    name = Path(device).resolve().name
    room = kernel.size_bytes(name)
    if any(Path(disk.path).resolve().name == name for disk in context.disks):
        room = filesystem.plain_size(room)
    size = _geometry(volume, device).size_bytes
    if not 0 <= room - size <= _ROUNDED_OFF_BYTES:
        raise OperatorError(
            f"{volume.filesystem} at {volume.mount} covers {size} of {room} bytes", _HINT
        )


def check_mount(step: Step, context: VerifyContext) -> None:
    """The device is what is mounted there, with the options that were asked for."""
    volume, device = context.declared(), step.argv[-2]
    on_top = context.kernel.mount_at(volume.mount)
    if on_top is None:
        raise OperatorError(f"nothing is mounted at {volume.mount}", _HINT)
    shown = f"{on_top.options},{on_top.super_options}"
    missing = set(filesystem.mount_options(volume)) - set(shown.split(","))
    name = Path(device).resolve().name
    if context.kernel.attribute(name, "queue/discard_max_bytes") == "0":
        # XFS leaves it out where the device does not discard (fs/xfs/xfs_super.c), and says so in
        # the kernel log. That is no reason to keep the volume down; drift reports it.
        missing.discard("discard")
    same = on_top.device == context.kernel.device_number(device)
    if not same or on_top.fstype != volume.filesystem or missing:
        raise OperatorError(
            f"at {volume.mount} is {on_top.fstype} of {on_top.source} with {shown},"
            f" not {volume.filesystem} of {device}"
            f" with {','.join(filesystem.mount_options(volume))}",
            _HINT,
        )


# ---------------------------------------------------------------------------------- marks


def check_marks(step: Step, context: VerifyContext) -> None:
    """Every disk of ``chore mark …`` says that the volume is being made, and of which UUID."""
    wanted = builtin_steps.Marking.of(step.argv[3:])
    says = (MarkState.MAKING, wanted.volume, wanted.filesystem_uuid)
    for disk in map(context.bench.disk, wanted.disks):
        found = blockdev.read_marks(disk.path, disk.size_bytes, disk.serial)
        if [(m.state, m.volume, m.filesystem_uuid) for m in found] != [says]:
            raise OperatorError(f"{disk.path} does not have its mark", _HINT)


def check_unmarked(step: Step, context: VerifyContext) -> None:
    """No disk of ``chore unmark VOLUME DISK…`` says so any more."""
    for disk in map(context.bench.disk, step.argv[4:]):
        if blockdev.read_marks(disk.path, disk.size_bytes, disk.serial):
            raise OperatorError(f"{disk.path} still has its mark", _HINT)


def check_released(step: Step, context: VerifyContext) -> None:
    """The disks have a released mark that fits their contents, and no signature."""
    words = step.argv[4:] if step.argv[2] == "release" else step.argv[3:]
    for disk in map(context.bench.disk, words):
        found = blockdev.read_disk(disk.path, disk.size_bytes, disk.serial)
        mark = found.mark
        if mark is None or mark.state is not MarkState.RELEASED or not mark.intact:
            raise OperatorError(f"{disk.path} does not say that it was released", _HINT)
        if found.signatures:
            kinds = ", ".join(sorted({one.kind for one in found.signatures}))
            raise OperatorError(f"{disk.path} still has {kinds}", _HINT)


# --------------------------------------------------------------------------- mount points


def mountpoint_problem(volume: Volume, kernel: Kernel, *, leaving: Collection[str] = ()) -> str:
    """Why the volume must not be mounted where it should be, or an empty string.

    Mounting over files hides them, and over another mount hides that. What is mounted at
    ``leaving`` will be unmounted before; what is then below it is looked at again.
    """
    path = Path(volume.mount)
    on_top = kernel.mount_at(volume.mount)
    if on_top and volume.mount not in leaving:
        return f"{path} is already a mount of {on_top.source}"
    real = Path(os.path.realpath(path))
    if real != path:
        return f"{path} is or is below a symbolic link (to {real})"
    folders = path.parents if on_top else (path, *path.parents)
    for folder in reversed(folders):
        if problem := _not_only_roots(folder):
            return f"{folder} {problem}"
    if on_top:
        return ""
    try:
        if path.exists():
            if not path.is_dir():
                return f"{path} is not a directory"
            if any(path.iterdir()):
                return f"{path} is not empty; mounting over it would hide what is there"
            return ""
    except OSError as error:
        return f"{path} cannot be looked at ({error.strerror})"
    for folder in path.parents[:-1]:
        if mount := kernel.mount_at(str(folder)):
            return (
                f"{path} is not there, and would be made on {mount.source}, which is mounted at"
                f" {folder} and is none of our volumes"
            )
    return ""


def _not_only_roots(folder: Path) -> str:
    """Who but root can change what is in ``folder``, or an empty string."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be looked at ({error.strerror})"
    if not stat.S_ISDIR(status.st_mode):
        return "is not a directory"
    if status.st_uid != 0:
        return f"belongs to user {status.st_uid}, who could put something else there"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        return f"can be written by others (mode {mode:04o}), who could put something else there"
    return ""
