"""The decision for a volume whose name is already on disks: on one disk, or an LVM group. Pure.

A volume that exists is taken whole or not at all: parts that contradict each other, that are
used otherwise or that are not all there are never "repaired" by guessing. What is kept and
what is debris, the marks say (:mod:`appliance.storage.policy.unfinished`). md arrays are in
:mod:`appliance.storage.policy.existing_md`.
"""

from __future__ import annotations

from collections.abc import Sequence

from appliance.model.disks import Disk, LogicalVolume, VolumeGroup
from appliance.model.plans import Decision, Volume
from appliance.storage.formats import lvm
from appliance.storage.policy import (
    activate,
    exclusions,
    existing_md,
    loss,
    ownership,
    steps,
    unfinished,
)
from appliance.storage.policy.disk_selection import Case
from appliance.storage.policy.ownership import Carrier, Evidence, Form
from appliance.storage.policy.steps import Outcome, call, list_disks, refuse

_FREE = "free the disk from that use, then plan again or reboot"
_LOOK = "nothing was written; see 'vgs -o +tags' and 'lvs -o +devices' with --devices"
# What a volume can be on its disks; a RAID0 of one disk is plain.
_FORMS = {
    "single": (Form.PLAIN,),
    "md-raid0": (Form.MD, Form.PLAIN),
    "md-raid10": (Form.MD,),
    "lvm-stripe": (Form.LVM,),
}


def decide(case: Case) -> Outcome:
    """What to do about a volume of which ``case.pool.own`` carry something."""
    seen, volume, own = case.seen, case.volume, case.pool.own
    if problem := _in_the_way(seen, own):
        return problem
    if leaving := _leaving(volume, own):
        return refuse(
            f"a removal of volume '{volume.name}' did not end: {list_disks(leaving)} is marked as"
            " released and still has its signature",
            f"confirm it again: stripewright plan --remove {volume.name}, without the volume in"
            " the layout",
            leaving,
        )
    if refusal := made_elsewhere(seen, volume.name, own, named=bool(volume.select.serials)):
        return refusal
    if all(one.trace.making for one in own):
        found = unfinished.judge(case)
        if isinstance(found, Outcome):
            return found
        case, own = found, found.pool.own
    kept = [one for one in own if not one.trace.making]
    forms = sorted({one.trace.form for one in kept})
    if len(forms) > 1:
        return refuse(
            f"more than one thing carries the name '{volume.name}', {' and '.join(forms)}:"
            f" {list_disks([one.disk for one in kept])}",
            "decide which one to keep and detach or rename the other",
            [one.disk for one in kept],
        )
    if forms[0] not in _FORMS.get(volume.stripe, ()):
        return refuse(
            f"volume '{volume.name}' is {forms[0]} on {list_disks([one.disk for one in kept])},"
            f" the layout declares {volume.stripe}",
            steps.redeclare(volume.name),
            [one.disk for one in kept],
        )
    if forms[0] is Form.MD:
        return existing_md.decide(case)
    return _group(case) if forms[0] is Form.LVM else _plain(case, kept)


def _leaving(volume: Volume, own: Sequence[Carrier]) -> list[Disk]:
    """The disks on which a removal of the volume stopped half way.

    A RAID10 that has all it needs without them was never taken apart: its mark is from an older
    volume of that name, and was left when the disk was added.
    """
    leaving = [one.disk for one in own if one.trace.leaving]
    rest = [
        one.disk.md_member
        for one in own
        if one.disk.md_member is not None and not one.trace.leaving and not one.trace.making
    ]
    if volume.stripe != "md-raid10" or not rest or len({one.array_uuid for one in rest}) > 1:
        return leaving
    slots = {one.slot for one in rest if one.slot is not None}
    return [] if loss.survives(volume, slots, rest[0].member_count) else leaving


def _in_the_way(seen: Evidence, own: Sequence[Carrier]) -> Outcome | None:
    """A disk of the volume that has another user, too."""
    against = []
    for carrier in own:
        disk = carrier.disk
        problem = exclusions.to_bringing_up(
            disk, seen.holders(disk), mounted=carrier.trace.form is Form.PLAIN
        )
        if problem:
            against.append((disk, problem))
    if not against:
        return None
    return refuse(
        steps.objections(against),
        "nothing was written; "
        + "; ".join(dict.fromkeys(disk.hint or _FREE for disk, _ in against)),
        [disk for disk, _ in against],
    )


def made_elsewhere(
    seen: Evidence, volume: str, own: Sequence[Carrier], *, named: bool
) -> Outcome | None:
    """A volume of another machine: a cloned image, or a disk that was attached from there."""
    here = seen.machine.host_tag
    if not here or named or not seen.privileged:
        return None
    foreign = []
    for carrier in own:
        member = carrier.disk.lvm_member
        group = seen.group(volume, member.group_uuid if member else "")
        if ownership.host_of_carrier(carrier, group) != here:
            foreign.append(carrier.disk)
    if not foreign:
        return None
    return refuse(
        f"volume '{volume}' on {list_disks(foreign)} was made by another machine: it does not"
        f" carry this machine's tag {here}",
        "if these disks are meant, name them: select = { serials = [...] }; if their contents"
        f" are not needed, order that: {exclusions.erasing(foreign)}; else detach them",
        foreign,
    )


# ------------------------------------------------------------------------------ one disk


def _plain(case: Case, kept: Sequence[Carrier]) -> Outcome:
    """``kept`` are the disks with the volume's label and no mark of its making."""
    volume, pool = case.volume, case.pool
    disks = [one.disk for one in kept]
    if len(disks) > 1:
        return refuse(
            f"more than one filesystem carries the name '{volume.name}': {list_disks(disks)}",
            "decide which one to keep and detach or rename the other",
            disks,
        )
    disk = disks[0]
    debris = [one.disk for one in pool.own if one.trace.making and one.disk.signatures]
    if debris:
        return refuse(
            f"{call(disk)} carries volume '{volume.name}', and it is half made on"
            f" {list_disks(debris)}",
            "decide which one to keep and detach the other",
            [disk, *debris],
        )
    if volume.filesystem == "none":
        return Outcome(
            Decision.NOTHING,
            f"{call(disk)} itself is volume '{volume.name}': no filesystem is declared, so its"
            " contents are left alone",
            (disk,),
        )
    others = [one for one in pool.disks if one.id != disk.id]
    counted = pool.wanted if volume.select.count is not None or volume.select.serials else None
    several = counted > 1 if counted is not None else bool(others)
    if several:
        number = counted if counted is not None else len(pool.disks)
        return refuse(
            f"{call(disk)} alone carries volume '{volume.name}', but there are {number} disks for"
            f" it: {list_disks(pool.disks)}",
            "select this one alone (by its serial, or with count = 1), or copy what is needed off"
            f" the volume and remove it: stripewright plan --remove {volume.name}",
            [disk],
        )
    return activate.finish(
        case,
        activate.Built(
            disks=(disk,),
            device=steps.stable(disk),
            filesystem=disk.filesystem,
            # Its label was read, so there is a filesystem; what udev has of it is no superblock.
            known=False,
            members=1,
            count=1,
            reason=f"{call(disk)} carries volume '{volume.name}'",
            up=True,
            mountpoints=disk.mountpoints,
            marked=tuple(one.disk for one in pool.own if one.trace.marked),
        ),
        activate.plain(case, disk),
    )


# ------------------------------------------------------------------------------ LVM


def _group(case: Case) -> Outcome:
    """At least one disk is in the volume's group and is not debris."""
    seen, volume, pool = case.seen, case.volume, case.pool
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
        if any(one.kind == lvm.SIGNATURE for one in disk.signatures)
    ]
    if unknown:
        disks = [disk for disk, _ in unknown]
        return refuse(
            f"{'; '.join(f'{call(disk)} {why}' for disk, why in unknown)}; it may be a copy"
            f" of a disk of volume '{name}' ({list_disks(kept)})",
            f"{_LOOK}; detach it, or give up what it holds if it can be read:"
            f" {exclusions.erasing(disks)}",
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
        reason = (
            f"the volume group of '{name}' has {len(members)} of {found.member_count} disks; lost:"
            f" {gone}; here: {list_disks(members)}"
        )
        return loss.decide(case, members or kept, reason, had=found.member_count)
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
            "decide which one to keep and detach the other",
            [*members, *debris],
        )
    logical = ownership.volume_in(found, name)
    if logical is None:
        return refuse(
            f"{found.name} on {list_disks(members)} has no logical volume '{name}', and no"
            " in-progress mark",
            f"{_LOOK}; {steps.give_up(name)}",
            members,
        )
    if problem := _not_as_declared(volume, logical):
        return refuse(
            f"{found.name}/{name} {problem}",
            steps.redeclare(name),
            members,
        )
    return _whole_group(case, members, found, logical)


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


def _whole_group(
    case: Case, members: Sequence[Disk], found: VolumeGroup, logical: LogicalVolume
) -> Outcome:
    volume, pool = case.volume, case.pool
    ids = {disk.id for disk in members}
    marked = [one.disk for one in pool.own if one.trace.marked]
    begun = [disk for disk in marked if disk.id not in ids]
    # What an extension was killed over is still as good as blank; by order it goes on.
    free = [*begun, *pool.free]
    grown = activate.group(case, members, found, logical, free)
    state = "and active" if logical.active else "to be activated"
    return activate.finish(
        case,
        activate.Built(
            disks=tuple(members),
            device=logical.path if logical.active else lvm.volume_path(volume.name),
            filesystem=logical.filesystem,
            known=case.seen.privileged and logical.active,
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
