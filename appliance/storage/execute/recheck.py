"""The last look at a disk before it is written to: whether it is what the plan was made for.

It comes right before the write, however long ago the plan was made, and is the reason why
nothing else has to be looked at a second time. A mount is a write, too: it replays a log.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from appliance.model.disks import Disk, Inventory, MarkState, MdMember
from appliance.model.plans import Layout, Volume
from appliance.storage.formats import filesystem, hwraid
from appliance.storage.policy import activate, exclusions, identity
from appliance.storage.policy.layout import DEFAULT_LAYOUT
from appliance.storage.probe import blockdev, built, devices, halfmade
from appliance.system.kernel import Kernel


def look_again(
    disks: Sequence[Disk],
    kernel: Kernel,
    *,
    volume: str = "",
    layout: Layout = DEFAULT_LAYOUT,
) -> tuple[Disk, str] | None:
    """The first of ``disks`` that is no longer as it was seen, and in what: the last look before
    the first write to them.

    Each ``path`` is read again, at other random places, and opened exclusively. The disk has to be
    not in use, be the same disk, and hold what it held or less. What the plan has put there
    since, a mark that ``volume`` (or, if empty, any volume) is being made, is no change:
    whatever was seen before it was given up with it. One with a ``contents_digest`` has to hold
    exactly that.
    """
    seen = devices.Probe.of(kernel, True, layout)
    before = [_writes(disk, kernel) for disk in disks]
    present = [seen.disk(Path(disk.path).name) for disk in disks]
    now = devices.try_read(present, partial(seen.scan, elsewhere=True))
    groups = built.read_groups(kernel, now, seen.mounted)
    now = [replace(one, lvm_member=groups.members.get(one.path)) for one in now]
    now = halfmade.look(now, (), groups.groups, layout, kernel)
    for then, here, writes in zip(disks, now, before, strict=True):
        if (
            problem := _another(then, here)
            or _changed_use(then, here)
            or _changed(then, here, volume)
            or _written(then, here, kernel)
        ):
            return then, problem
        if _writes(then, kernel) != writes:
            return then, "was written to while it was looked at"
    return None


def look_at_making(
    disks: Sequence[Disk], kernel: Kernel, *, volume: str
) -> tuple[Disk, str] | None:
    """As :func:`look_again`, before a later write of the same plan: by now its own mark says
    that ``volume`` is being made of the disk. That it still does, on the same disk, which
    is not in use, is all that there is to know.
    """
    seen = devices.Probe.of(kernel, True, DEFAULT_LAYOUT)
    for then in disks:
        now = seen.disk(Path(then.path).name)
        try:
            busy = blockdev.is_busy(now.path)
            found = blockdev.read_marks(now.path, now.size_bytes, now.serial)
        except OSError:
            return then, "can no longer be read"
        problem = _another(then, now) or _changed_use(then, replace(now, busy=busy))
        if not problem and [(m.state, m.volume) for m in found] != [(MarkState.MAKING, volume)]:
            problem = f"no longer says that '{volume}' is made of it"
        if problem:
            return then, problem
    return None


def look_before_mount(volume: Volume, device: str, *, members: int) -> str:
    """What speaks against mounting ``device`` as ``volume``, or an empty string.

    Of a logical volume that was asleep, or an array whose first member is missing, the
    inside could not be read when the plan was made. ``members`` is how many its stripe is wide.
    """
    try:
        start = blockdev.read_durable(device, 0, filesystem.SUPERBLOCK_SIZE_BYTES)
    except OSError as error:
        return f"{device} cannot be read ({error.strerror})"
    found = filesystem.parse_superblock(start)
    if found is None:
        wanted = f"{volume.filesystem} labelled '{volume.name}'"
        known = " nor ".join(one.title for one in filesystem.KINDS.values())
        return f"{device} holds neither {known}, and should hold {wanted}"
    problem = activate.filesystem_problem(volume, found, members)
    return f"{device} {problem}" if problem else ""


def stripe_members(
    volume: Volume, disks: Sequence[Disk], inventory: Inventory, *, made: bool
) -> int:
    """How many members wide the stripe is that a filesystem on ``volume`` has to be aligned to.

    ``disks`` are the plan's, in slot order; ``made``: by this plan, whatever was seen on them.
    """
    if volume.stripe == "hw-raid0":
        # The controller's drives are no disks of ours.
        name = hwraid.virtual_name(volume.name)
        drives = (len(one.drives) for one in inventory.virtual_drives if one.name == name)
        return next(drives, len(disks))
    if made:
        return len(disks)
    # Neither members that are missing nor disks that are added change the width.
    counts = [disk.md_member.member_count for disk in disks if disk.md_member]
    groups = {disk.lvm_member.group_uuid for disk in disks if disk.lvm_member}
    counts += [
        len(logical.segments[0])
        for group in inventory.groups
        if group.uuid in groups
        for logical in group.volumes
        if logical.name == volume.name and logical.segments
    ]
    return counts[0] if counts else len(disks)


def _writes(disk: Disk, kernel: Kernel) -> str:
    """:meth:`Kernel.writes` when all that was written has reached the disk."""
    with contextlib.suppress(OSError):
        blockdev.flush(disk.path)
    return kernel.writes(Path(disk.path).name)


def _another(then: Disk, now: Disk) -> str:
    if _told_by_device(now) != _told_by_device(then):
        return f"is now another disk ({now.id})"
    if now.stable_path != then.stable_path:
        return f"is no longer what {then.stable_path or 'its link'} leads to"
    return ""


def _told_by_device(disk: Disk) -> tuple[object, ...]:
    return (disk.id, disk.serial, disk.size_bytes, disk.model, disk.wwid, disk.slot)


def _changed_use(then: Disk, now: Disk) -> str:
    if exclusions.UNREADABLE in now.signatures:
        return "can no longer be read"
    # Partitions that were shown with the plan are a part of what an erasure gives up.
    if now.busy or now.mountpoints or now.holders or now.swap:
        return "is now in use"
    if set(now.partitions) - set(then.partitions):
        return "is now in use: it has partitions that it had not"
    return ""


def _changed(then: Disk, now: Disk, volume: str) -> str:
    if now.mark is not None and now.mark.state is MarkState.MAKING:
        maker = now.mark.volume
        if volume in {"", maker} and identity.owner(now, (maker,)) == maker:
            return "" if now.mark.intact or not volume else "holds what its making does not write"
    return _changed_contents(then, now)


def _written(then: Disk, now: Disk, kernel: Kernel) -> str:
    if not then.contents_digest:
        return ""
    try:
        same = devices.contents_digest(now, kernel) == then.contents_digest
    except OSError:
        return "can no longer be read"
    return "" if same else "has been written to"


def _changed_contents(then: Disk, now: Disk) -> str:
    new = {(one.kind, one.uuid) for one in now.signatures}
    if new - {(one.kind, one.uuid) for one in then.signatures}:
        return "has a signature that it had not" if then.signatures else "is no longer blank"
    if then.md_member is not None and now.signatures:
        member = now.md_member
        if member is None or _md_identity(member) != _md_identity(then.md_member):
            return "no longer has the superblock that it had"
    if then.lvm_member is not None and now.signatures and then.lvm_member != now.lvm_member:
        return "is no longer in the volume group that it was in"
    if then.signatures or now.blank:
        return ""
    released = now.mark is not None and now.mark.state is MarkState.RELEASED and now.mark.intact
    if released or (
        then.blank is not True and now.nonzero_offset_bytes == then.nonzero_offset_bytes
    ):
        return ""
    return "is no longer blank" if then.blank else "has been written to"


def _md_identity(member: MdMember) -> tuple[object, ...]:
    return (member.array_uuid, member.member_uuid, member.slot)
