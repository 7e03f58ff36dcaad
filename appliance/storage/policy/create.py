"""The steps that make a volume out of disks that hold nothing of anybody. Pure.

The order is what makes it safe to be killed anywhere: the marks first, so that what is found
later is compared with what the making writes (:mod:`appliance.storage.probe.halfmade`), and gone
when the volume is up. What holds more than that is never made again: somebody may have mounted
the filesystem by hand (docs/decisions/0024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from appliance.model import Disk, Filesystem, MarkState, Step, Volume
from appliance.storage.formats import filesystem, lvm, md
from appliance.storage.policy import ownership, steps
from appliance.storage.policy.ownership import Carrier, Evidence, Form, runs


def form_of(volume: Volume, members: int) -> Form:
    """What the volume is made as on so many disks; a RAID0 of one is plain."""
    if volume.stripe == "lvm-stripe":
        return Form.LVM
    if volume.stripe == "md-raid10" or (volume.stripe == "md-raid0" and members > 1):
        return Form.MD
    return Form.PLAIN


def build(
    evidence: Evidence,
    volume: Volume,
    disks: Sequence[Disk],
    *,
    unmark: Sequence[Disk] = (),
) -> tuple[Step, ...]:
    """Make ``volume`` on ``disks``, in this order of slots.

    ``unmark`` are other disks whose mark of an earlier attempt is to go, too.
    """
    form = form_of(volume, len(disks))
    # A disk that nobody read (no root) is shown as what it is if the volume can be made at all.
    force = any(disk.mark or disk.blank is False for disk in disks)
    destroys = tuple(steps.destruction(disk, _holds(disk)) for disk in disks)
    host_tag = evidence.machine.host_tag
    new_uuid = ""
    # Without root the tag and the marks are not known, and so the UUID is not, either.
    if volume.filesystem != "none" and evidence.privileged:
        new_uuid = filesystem_uuid(host_tag, volume.name, disks)
    make = (
        *clear_the_way(evidence, volume.name, disks),
        steps.mark_step(
            volume,
            disks,
            end=form is Form.PLAIN,
            destroys=destroys,
            filesystem_uuid=new_uuid,
        ),
        *_wipe(volume, disks, form),
    )
    size_bytes = None
    if form is Form.MD:
        device = md.array_path(volume.name)
        uuid = ownership.new_uuid(host_tag, volume.name, disks)
        make += (steps.create_step(volume, disks, destroys, uuid=uuid, force=force),)
    elif form is Form.LVM:
        device = lvm.volume_path(volume.name)
        make += steps.create_group_steps(volume, disks, destroys, host_tag=host_tag, force=force)
    else:
        device = steps.stable(disks[0])
        size_bytes = filesystem.plain_size(disks[0].size_bytes)
    unmark_step = steps.unmark_step(volume.name, [*disks, *unmark])
    if volume.filesystem == "none":
        return (*make, unmark_step)
    return (
        *make,
        steps.mkfs_step(
            volume,
            device,
            members=len(disks),
            size_bytes=size_bytes,
            uuid=new_uuid,
            force=force,
            destroys=destroys if form is Form.PLAIN else (),
        ),
        steps.mount_step(volume, device),
        unmark_step,
    )


def filesystem_uuid(host_tag: str, volume: str, disks: Sequence[Disk]) -> str:
    """The UUID for the filesystem on ``disks``: the one that it would have got by an earlier
    attempt, as by that is known what the attempt has left, or a new one.
    """
    marks = [one.mark for one in disks if one.mark is not None]
    begun = {
        mark.filesystem_uuid
        for mark in marks
        if (mark.state, mark.volume) == (MarkState.MAKING, volume) and mark.filesystem_uuid
    }
    if len(begun) == 1:
        return begun.pop()
    return ownership.new_filesystem_uuid(host_tag, volume, disks)


def clear_the_way(evidence: Evidence, volume: str, disks: Sequence[Disk]) -> tuple[Step, ...]:
    """Stop what runs of ``volume`` on ``disks``: the debris of what was being made."""
    ours = [one for one in evidence.arrays_on(disks) if md.volume_of(one.name) in {volume, ""}]
    stops = [steps.stop_step(volume, array.path) for array in ours]
    group = evidence.group(volume)
    if group and any(one.active for one in group.volumes):
        members = [evidence.by_id[one] for one in group.members if one in evidence.by_id]
        stops.append(steps.deactivate_step(volume, members or disks))
    return tuple(stops)


def is_up(evidence: Evidence, volume: str, disks: Sequence[Disk]) -> str:
    """The path under which the volume runs on ``disks``, empty if it does not."""
    for array in evidence.arrays_on(disks):
        if runs(array) and md.volume_of(array.name) in {volume, ""}:
            return array.path
    group = evidence.group(volume)
    return next((one.path for one in group.volumes if one.active), "") if group else ""


@dataclass(frozen=True, slots=True)
class Whole:
    """What was made to its end, on which disks (ids); ``filesystem`` if it has one."""

    filesystem: Filesystem | None
    ids: frozenset[str]


def kept(evidence: Evidence, volume: Volume, own: Sequence[Carrier]) -> list[Whole]:
    """What is whole on ``own``, all of which are marked as being made, and may hold something.

    A filesystem that was never mounted is none of it: power may have gone before all of it had
    reached the disks. Nor is one that was there before, and shines through. Both are known when
    all its disks are here.
    """
    if volume.filesystem == "none":
        return _ended(evidence, volume.name, own)
    found = _whole(evidence, volume.name, [one.disk for one in own])
    here = len(own) >= members(evidence, volume.name, own)
    unused = here and all(one.disk.mark and one.disk.mark.intact for one in own)
    return [] if unused else found


def _whole(evidence: Evidence, volume: str, disks: Sequence[Disk]) -> list[Whole]:
    """The whole filesystems on ``disks``, all of which are marked as being made.

    What runs is asked, not its members: they are read past what it has written.
    """
    arrays = [one for one in evidence.arrays_on(disks) if runs(one)]
    found = [(one.filesystem, frozenset(one.members)) for one in arrays]
    for group in evidence.groups.get(lvm.group_name(volume), ()):
        found += [(one.filesystem, frozenset(group.members)) for one in group.volumes]
    up = frozenset[str]().union(*(one.members for one in arrays))
    found += [(_filesystem(one), _together(one, disks)) for one in disks if one.id not in up]
    return [Whole(one, ids) for one, ids in found if one is not None and not one.unfinished]


def _ended(evidence: Evidence, volume: str, own: Sequence[Carrier]) -> list[Whole]:
    """What was made of ``own`` for a volume without a filesystem: a whole array, or a group with
    its logical volume. From then on it may hold anything.
    """
    disks = [one.disk for one in own]
    ids = frozenset(one.id for one in disks)
    for group in evidence.groups.get(lvm.group_name(volume), ()):
        whole = set(group.members) == ids and len(ids) == group.member_count
        if whole and any(one.name == volume for one in group.volumes):
            return [Whole(None, ids)]
    members = [one.md_member for one in disks if one.md_member is not None]
    arrays = {(one.array_uuid, one.member_count) for one in members}
    slots = {one.slot for one in members}
    if len(arrays) != 1 or len(members) < len(disks) or None in slots:
        return []
    # Counted and not listed: a superblock may claim four thousand million members.
    return [Whole(None, ids)] if len(slots) == arrays.pop()[1] else []


def _together(disk: Disk, disks: Sequence[Disk]) -> frozenset[str]:
    """The disks of the array that ``disk`` is a member of; itself if it is none."""
    if disk.md_member is None:
        return frozenset({disk.id})
    uuid = disk.md_member.array_uuid
    return frozenset(one.id for one in disks if one.md_member and one.md_member.array_uuid == uuid)


def members(evidence: Evidence, volume: str, own: Sequence[Carrier]) -> int:
    """How many disks the array or group has that is on ``own``, 0 if there is neither."""
    had = [one.disk.md_member.member_count for one in own if one.disk.md_member is not None]
    had += [one.member_count for one in evidence.groups.get(lvm.group_name(volume), ())]
    return max(had, default=0)


def unseen(evidence: Evidence, volume: Volume, own: Sequence[Carrier]) -> int:
    """How many disks it was being made of, if without those that are not here it is not known
    whether that had ended; else 0.

    A filesystem begins on the first disk. Without a filesystem each of them counts.
    """
    disks = [one.disk.md_member for one in own if one.disk.md_member is not None]
    had = [0]
    if volume.filesystem == "none":
        had.append(members(evidence, volume.name, own))
    if all(one.slot != 0 for one in disks):
        had += [one.member_count for one in disks]
    ids = {one.disk.id for one in own}
    for group in evidence.groups.get(lvm.group_name(volume.name), ()):
        begins = [one.segments[0][0] for one in group.volumes if one.segments and one.segments[0]]
        if set(begins) - ids or not group.volumes:
            had.append(group.member_count)
    # With as many disks here as it had, the first one was only got to by a later attempt.
    return max(had) if max(had) > len(own) else 0


def is_ours(found: Whole, own: Sequence[Carrier]) -> bool:
    """Whether it is the filesystem that the marks on its disks name."""
    uuid = ownership.digits(found.filesystem.uuid) if found.filesystem else ""
    marks = {one.disk.mark.filesystem_uuid for one in own if _lies_on(one, found) and one.disk.mark}
    return bool(uuid) and uuid in marks


def as_finished(own: Sequence[Carrier], made: Sequence[Whole]) -> tuple[Carrier, ...]:
    """``own``, with what ``made`` lies on as the whole volume that it is."""
    return tuple(
        replace(one, trace=replace(one.trace, making=False))
        if any(_lies_on(one, found) for found in made)
        else one
        for one in own
    )


def _lies_on(carrier: Carrier, found: Whole) -> bool:
    return carrier.disk.id in found.ids and carrier.trace.form is not Form.BARE


def _filesystem(disk: Disk) -> Filesystem | None:
    return disk.md_member.filesystem if disk.md_member else disk.filesystem


def _wipe(volume: Volume, disks: Sequence[Disk], form: Form) -> tuple[Step, ...]:
    """Signatures of an earlier attempt that the maker does not replace by its own.

    mdadm writes over its superblock and mkfs over its filesystem; LVM takes no disk that is in
    a group, and nobody takes away what another tool left.
    """
    replaced = {Form.MD: {ownership.MD}, Form.PLAIN: {*filesystem.names()}}.get(form, set())
    return tuple(
        steps.wipe_disk_step(disk, _holds(disk), volume.name)
        for disk in disks
        if {signature.kind for signature in disk.signatures} - replaced
    )


def _holds(disk: Disk) -> str:
    """What a disk that may be used holds, in the words of the preview."""
    mark = disk.mark
    if mark is not None and mark.state is MarkState.RELEASED and not disk.signatures:
        return f"released from volume '{mark.volume}'"
    found = _filesystem(disk)
    if mark is not None and found is not None and not found.unfinished:
        return f"volume '{mark.volume}', the mark of its making was not cleared"
    if mark is not None:
        return f"volume '{mark.volume}' half made, nothing stored"
    kinds = {signature.kind for signature in disk.signatures}
    if kinds:
        return "a member of the lost volume, its data given up"
    return "not read without root" if disk.blank is None else "blank"
