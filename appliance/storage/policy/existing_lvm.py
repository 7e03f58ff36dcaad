"""The decision for a volume that is an LVM volume group. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.model import Disk, LogicalVolume, Volume, VolumeGroup
from appliance.storage.formats import lvm
from appliance.storage.policy import activate, growth, loss, ownership, steps
from appliance.storage.policy.disk_selection import Pool
from appliance.storage.policy.ownership import Evidence, Form
from appliance.storage.policy.steps import Outcome, call, list_disks, refuse

_LOOK = "nothing was written; see 'vgs -o +tags' and 'lvs -o +devices' with --devices"


def decide(seen: Evidence, volume: Volume, pool: Pool, *, waited: bool, grow: bool) -> Outcome:
    """At least one disk is in the volume's group and is not debris."""
    name = volume.name
    kept = [one.disk for one in pool.own if one.trace.form is Form.LVM and not one.trace.making]
    uuids = sorted({one.lvm_member.group_uuid for one in kept if one.lvm_member})
    if len(uuids) > 1:
        return refuse(
            f"{len(uuids)} different volume groups carry the name '{name}' ({', '.join(uuids)}):"
            f" {list_disks(kept)}",
            "disks of another machine's or of an older group are attached: detach those that do"
            " not belong",
            kept,
        )
    found = seen.group(name, uuids[0])
    if found is None:
        return refuse(
            f"the volume group {lvm.group_name(name)} of {list_disks(kept)} cannot be read",
            _LOOK,
            kept,
        )
    unknown = [
        (disk, why)
        for disk, why in pool.undecided
        if any(one.kind == ownership.LVM for one in disk.signatures)
    ]
    if unknown:
        disks = [disk for disk, _ in unknown]
        return refuse(
            f"{'; '.join(f'{call(disk)} {why}' for disk, why in unknown)}; it may be a copy"
            f" of a disk of volume '{name}' ({list_disks(kept)})",
            f"{_LOOK}; detach it, or give up what it holds if it can be read: stripewright plan"
            " --erase SERIAL",
            [*kept, *disks],
        )
    if not ownership.group_tagged(found, name):
        return refuse(
            f"{found.name} has the name of volume '{name}', but not its tag: {list_disks(kept)}",
            f"{_LOOK}; rename the group if it is not ours",
            kept,
        )
    by_id = {one.disk.id: one.disk for one in pool.own}
    members = [by_id[one] for one in found.members if one in by_id]
    if set(found.members) - set(by_id):
        return refuse(
            f"{found.name} has disks that the layout does not select for '{name}':"
            f" {', '.join(sorted(set(found.members) - set(by_id)))}",
            "select them, too, or detach what does not belong",
            members,
        )
    if len(members) < found.member_count:
        gone = found.member_count - len(members)
        return loss.decide(
            seen,
            volume,
            pool,
            members or kept,
            f"the volume group of '{name}' has {len(members)} of {found.member_count} disks; lost:"
            f" {gone}; here: {list_disks(members)}",
            had=found.member_count,
            waited=waited,
        )
    ids = {disk.id for disk in members}
    debris = [
        one.disk
        for one in pool.own
        if one.trace.making
        and one.trace.form is not Form.BARE
        and one.disk.id not in ids
        # An orphan is what a killed extension leaves: the next one takes it.
        and not (one.disk.lvm_member is not None and not one.disk.lvm_member.group)
    ]
    if debris:
        return refuse(
            f"volume '{name}' is whole ({found.uuid}), and it is half made on {list_disks(debris)}",
            "find out which one is right and detach the other",
            [*members, *debris],
        )
    logical = ownership.volume_in(found, name)
    if logical is None:
        return refuse(
            f"{found.name} on {list_disks(members)} has no logical volume '{name}', and no mark"
            " says that it was being made",
            f"{_LOOK}; if nothing of it is needed: stripewright plan --remove {name}, without the"
            " volume in the layout",
            members,
        )
    if problem := _not_as_declared(volume, logical):
        return refuse(
            f"{found.name}/{name} {problem}",
            "declare in the layout what is there, or copy the data off and remove the volume:"
            f" stripewright plan --remove {name}",
            members,
        )
    return _whole(seen, volume, pool, members=members, found=found, logical=logical, grow=grow)


def _not_as_declared(volume: Volume, logical: LogicalVolume) -> str:
    widths = {len(segment) for segment in logical.segments}
    if not logical.segments or len(widths) != 1 or 0 in widths:
        return "is not striped as we make it"
    width = widths.pop()
    if width > 1 and logical.stripe_bytes != volume.chunk_bytes:
        return (
            f"is striped in chunks of {logical.stripe_bytes // 1024}KiB, the layout declares"
            f" {volume.chunk_bytes // 1024}KiB"
        )
    return ""


def _whole(
    seen: Evidence,
    volume: Volume,
    pool: Pool,
    *,
    members: Sequence[Disk],
    found: VolumeGroup,
    logical: LogicalVolume,
    grow: bool,
) -> Outcome:
    ids = {disk.id for disk in members}
    marked = [one.disk for one in pool.own if one.trace.marked]
    begun = [disk for disk in marked if disk.id not in ids]
    # What an extension was killed over is still as good as blank; by order it goes on.
    free = [*begun, *pool.free]
    grown = growth.group(volume, members, found, logical, free, grow=grow)
    state = "and active" if logical.active else "to be activated"
    return activate.finish(
        volume,
        pool,
        activate.Built(
            disks=tuple(members),
            device=logical.path if logical.active else lvm.volume_path(volume.name),
            filesystem=logical.filesystem,
            known=seen.privileged and logical.active,
            members=len(logical.segments[0]),
            count=len(members),
            reason=f"all {len(members)} disks of volume '{volume.name}' are here, {state}"
            f" (group {found.uuid})",
            up=logical.active,
            mountpoints=(logical.mountpoint,) if logical.mountpoint else (),
            before=(steps.activate_step(volume, members),),
            marked=tuple(
                disk
                for disk in marked
                if disk.id in ids or (not disk.signatures and disk not in grown.disks)
            ),
        ),
        grown,
    )
