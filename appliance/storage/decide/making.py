"""The steps that make a volume out of disks that hold nothing of anybody. Pure.

The order is what makes it safe to be killed anywhere: the marks first, so that whatever is
found later is known to be debris; the marks gone after the filesystem was proved and before
the first mount, so that no marked disk ever holds data.
"""

from __future__ import annotations

from collections.abc import Sequence

from appliance.model import Disk, Filesystem, MarkState, Step, Volume
from appliance.storage import filesystem, lvm, md
from appliance.storage.decide import ownership, steps
from appliance.storage.decide.evidence import Evidence, runs
from appliance.storage.decide.ownership import Form


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
    uuid = ownership.new_uuid(evidence.machine.host_tag, volume.name, disks)
    make = (
        *clear_the_way(evidence, volume.name, disks),
        steps.mark_step(volume, disks, end=form is Form.PLAIN, destroys=destroys),
        *_wipe(volume, disks, form),
    )
    size_bytes = None
    if form is Form.MD:
        device = md.array_path(volume.name)
        make += (steps.create_step(volume, disks, destroys, uuid=uuid, force=force),)
        uuid = ""
    elif form is Form.LVM:
        device = lvm.volume_path(volume.name)
        make += steps.create_group_steps(
            volume, disks, destroys, host_tag=evidence.machine.host_tag, force=force
        )
        uuid = ""
    else:
        device = steps.stable(disks[0])
        size_bytes = filesystem.plain_size(disks[0].size_bytes)
    if volume.filesystem == "none":
        return (*make, steps.unmark_step(volume.name, [*disks, *unmark]))
    return (
        *make,
        steps.mkfs_step(
            volume,
            device,
            members=len(disks),
            size_bytes=size_bytes,
            uuid=uuid,
            force=force,
            destroys=destroys if form is Form.PLAIN else (),
        ),
        steps.unmark_step(volume.name, [*disks, *unmark]),
        steps.mount_step(volume, device),
    )


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


def is_finished(evidence: Evidence, volume: str, disks: Sequence[Disk]) -> bool:
    """Whether what was being made on ``disks`` holds a filesystem that is complete."""
    group = evidence.group(volume)
    found = [
        *(_filesystem(disk) for disk in disks),
        *(array.filesystem for array in evidence.arrays_on(disks)),
        *(one.filesystem for one in (group.volumes if group else ())),
    ]
    return any(one is not None and not one.unfinished for one in found)


def _filesystem(disk: Disk) -> Filesystem | None:
    return disk.md_member.filesystem if disk.md_member else disk.filesystem


def _wipe(volume: Volume, disks: Sequence[Disk], form: Form) -> tuple[Step, ...]:
    """Signatures of an earlier attempt that the maker does not replace by its own.

    mdadm writes over its superblock and mkfs over its filesystem; LVM takes no disk that is in
    a group, and nobody takes away what another tool left.
    """
    replaced = {Form.MD: {ownership.MD}, Form.PLAIN: ownership.FILESYSTEMS}.get(form, set())
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
