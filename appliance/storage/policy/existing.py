"""The decision for a volume whose name is already on disks. Pure.

A volume that exists is taken whole or not at all: parts that contradict each other, that are
used otherwise or that are not all there are never "repaired" by guessing. What is kept and
what is debris, the marks say; but a whole filesystem is never debris, as somebody may use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from appliance.model import Decision, Disk, Volume
from appliance.storage.policy import (
    create,
    exclusions,
    existing_lvm,
    existing_md,
    existing_plain,
    fresh,
    loss,
    ownership,
    redundancy,
    steps,
)
from appliance.storage.policy.disk_selection import Pool
from appliance.storage.policy.ownership import Carrier, Evidence, Form
from appliance.storage.policy.steps import Outcome, call, list_disks, refuse

_FREE = "free the disk from that use, then plan again or reboot"
# What a volume can be on its disks; a RAID0 of one disk is plain.
_FORMS = {
    "single": (Form.PLAIN,),
    "md-raid0": (Form.MD, Form.PLAIN),
    "md-raid10": (Form.MD,),
    "lvm-stripe": (Form.LVM,),
}


def decide(
    evidence: Evidence,
    volume: Volume,
    pool: Pool,
    *,
    waited: bool,
    settled: bool,
    grow: bool,
) -> Outcome:
    """What to do about ``volume``, of which ``pool.own`` carry something."""
    own = pool.own
    if problem := _in_the_way(evidence, own):
        return problem
    if leaving := _leaving(volume, own):
        return refuse(
            f"a removal of volume '{volume.name}' did not end: {list_disks(leaving)} is marked as"
            " released and still has its signature",
            f"confirm it again: stripewright plan --remove {volume.name}, without the volume in"
            " the layout",
            leaving,
        )
    if refusal := made_elsewhere(evidence, volume.name, own, named=bool(volume.select.serials)):
        return refusal
    if all(one.trace.making for one in own):
        if outcome := _mounted_by_hand(evidence, volume, own):
            return outcome
        if refusal := _not_only_ours(evidence, volume, own):
            return refusal
        made = create.kept(evidence, volume, own)
        if refusal := _not_what_was_made(volume, own, made):
            return refusal
        if not made and (had := create.unseen(evidence, volume, own)):
            return _beginning_lost(evidence, volume, pool, had, waited=waited)
        if not made and (problem := _written_since(evidence, own, waited=waited)):
            return problem
        if not made:
            return fresh.decide(evidence, volume, pool, waited=waited, settled=settled)
        own = create.as_finished(own, made)
        pool = replace(pool, own=own)
    kept = [one for one in own if not one.trace.making]
    forms = sorted({one.trace.form for one in kept})
    if len(forms) > 1:
        return refuse(
            f"more than one thing carries the name '{volume.name}', {' and '.join(forms)}:"
            f" {list_disks([one.disk for one in kept])}",
            "find out which one is right and detach or rename the other",
            [one.disk for one in kept],
        )
    if forms[0] not in _FORMS.get(volume.stripe, ()):
        return refuse(
            f"volume '{volume.name}' is {forms[0]} on {list_disks([one.disk for one in kept])},"
            f" the layout declares {volume.stripe}",
            "declare in the layout what is on the disks, or copy the data off and remove the"
            f" volume: stripewright plan --remove {volume.name}",
            [one.disk for one in kept],
        )
    if forms[0] is Form.MD:
        return existing_md.decide(evidence, volume, pool, waited=waited, grow=grow)
    if forms[0] is Form.LVM:
        return existing_lvm.decide(evidence, volume, pool, waited=waited, grow=grow)
    return existing_plain.decide(volume, pool, kept, grow=grow)


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
    return [] if redundancy.survives(volume, slots, rest[0].member_count) else leaving


def _in_the_way(evidence: Evidence, own: Sequence[Carrier]) -> Outcome | None:
    """A disk of the volume that somebody else uses, too."""
    against = []
    for carrier in own:
        disk = carrier.disk
        problem = exclusions.to_bringing_up(
            disk, evidence.holders(disk), mounted=carrier.trace.form is Form.PLAIN
        )
        if problem:
            against.append((disk, problem))
    if not against:
        return None
    return refuse(
        "; ".join(f"{call(disk)}: {problem}" for disk, problem in against),
        "nothing was written; "
        + "; ".join(dict.fromkeys(disk.hint or _FREE for disk, _ in against)),
        [disk for disk, _ in against],
    )


def made_elsewhere(
    evidence: Evidence, volume: str, own: Sequence[Carrier], *, named: bool
) -> Outcome | None:
    """A volume of another machine: a cloned image, or a disk that was attached from there."""
    here = evidence.machine.host_tag
    if not here or named or not evidence.privileged:
        return None
    foreign = []
    for carrier in own:
        member = carrier.disk.lvm_member
        group = evidence.group(volume, member.group_uuid if member else "")
        if ownership.host_of_carrier(carrier, group) != here:
            foreign.append(carrier.disk)
    if not foreign:
        return None
    return refuse(
        f"volume '{volume}' on {list_disks(foreign)} was made by another machine: it does not"
        f" carry this machine's tag {here}",
        "if these disks are meant, name them: select = { serials = [...] }; if their contents"
        " are not needed, order that: stripewright plan --erase SERIAL; else detach them",
        foreign,
    )


def _mounted_by_hand(evidence: Evidence, volume: Volume, own: Sequence[Carrier]) -> Outcome | None:
    """What is in use although every trace of the volume is marked as being made."""
    disks = [one.disk for one in own]
    mounted = {one for disk in disks for one in disk.mountpoints}
    mounted |= {one.mountpoint for one in evidence.arrays_on(disks) if one.mountpoint}
    group = evidence.group(volume.name)
    mounted |= {one.mountpoint for one in (group.volumes if group else ()) if one.mountpoint}
    if not mounted:
        return None
    # Somebody mounted it by hand: from then on it may hold data, whatever the marks say.
    if mounted == {volume.mount}:
        return Outcome(
            Decision.ASSEMBLE,
            f"volume '{volume.name}' is mounted at {volume.mount}, although its disks are marked"
            " as not finished: it was mounted by hand, and the marks go",
            tuple(disks),
            steps=(steps.unmark_step(volume.name, disks),),
        )
    return refuse(
        f"volume '{volume.name}' is mounted at {', '.join(sorted(mounted))}, although its disks are"
        f" marked as not finished: {list_disks(disks)}",
        f"it may hold data now: mount it at {volume.mount} and plan again, which clears the marks",
        disks,
    )


def _not_only_ours(evidence: Evidence, volume: Volume, own: Sequence[Carrier]) -> Outcome | None:
    """What stands on disks that are marked and was not made by us: other members, other volumes."""
    ids = {one.disk.id for one in own}
    group = evidence.group(volume.name)
    found = [
        f"{array.path} has {', '.join(sorted(set(array.members) - ids))} as a member, too"
        for array in evidence.arrays_on([one.disk for one in own])
        if set(array.members) - ids
    ]
    if group is not None and set(group.members) & ids:
        others = [one.name for one in group.volumes if one.name != volume.name]
        found += [f"{group.name} has a logical volume '{name}', too" for name in others]
        if strange := sorted(set(group.members) - ids):
            found.append(f"{group.name} has {', '.join(strange)} as a member, too")
    if not found:
        return None
    return refuse(
        f"volume '{volume.name}' was being made of {list_disks([one.disk for one in own])}, and"
        f" {'; '.join(found)}",
        f"nothing was written; {_give_up(volume.name)}",
        [one.disk for one in own],
    )


def _written_since(evidence: Evidence, own: Sequence[Carrier], *, waited: bool) -> Outcome | None:
    """Disks that hold more than the making writes: that is somebody's, and no mark says else."""
    against = [(one.disk, exclusions.to_making_again(one.disk)) for one in own]
    against = [(disk, problem) for disk, problem in against if problem]
    if not against:
        return None
    name = own[0].trace.volume
    reason = "; ".join(f"{call(disk)} {problem}" for disk, problem in against)
    if not waited and create.members(evidence, name, own) > len(own):
        # Only all of them together tell what mkfs.ext4 writes to each.
        disks = tuple(one.disk for one in own)
        return Outcome(Decision.WAIT, f"{reason}; waiting for the rest of its disks", disks)
    return refuse(
        reason,
        f"nothing was written; look at it read-only; {_give_up(name)}",
        [disk for disk, _ in against],
    )


def _give_up(volume: str) -> str:
    return (
        f"if nothing of it is needed: stripewright plan --remove {volume}, without the volume in"
        " the layout"
    )


def _beginning_lost(
    evidence: Evidence, volume: Volume, pool: Pool, had: int, *, waited: bool
) -> Outcome:
    disks = [one.disk for one in pool.own]
    return loss.decide(
        evidence,
        volume,
        pool,
        disks,
        f"volume '{volume.name}' was being made of {had} disks, and the one that it begins with is"
        f" not here, so nobody can tell whether that had ended; here: {list_disks(disks)}",
        had=had,
        waited=waited,
    )


def _not_what_was_made(
    volume: Volume, own: Sequence[Carrier], found: Sequence[create.Whole]
) -> Outcome | None:
    """A whole filesystem under marks of the making that is not the one they name."""
    if volume.filesystem == "none":
        return None
    strange = [one for one in found if not create.is_ours(one, own)]
    if not strange:
        return None
    disks = [one.disk for one in own if any(one.disk.id in which.ids for which in strange)]
    words = "; ".join(
        f"{held.kind} labelled '{held.label}' ({held.uuid})"
        for held in (one.filesystem for one in strange)
        if held is not None
    )
    way = _give_up(volume.name)
    if volume.mount:
        way = (
            f"to keep it, mount it at {volume.mount} and plan again, which clears the marks; {way}"
        )
    return refuse(
        f"volume '{volume.name}' was being made of {list_disks(disks)}, and holds {words}, which is"
        " not the filesystem that the marks name",
        f"nothing was written; it may hold data, so look at it read-only; {way}",
        disks,
    )
