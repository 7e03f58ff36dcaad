"""What a volume is worth whose every disk is marked as still being made. Pure.

It may have been made to its end and used since: a whole filesystem is never debris. It may be what
the making writes and no more, which is made again. Anything between is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from appliance.model.disks import Disk, Filesystem
from appliance.model.plans import Decision, Volume
from appliance.storage.policy import create, exclusions, loss, ownership, steps
from appliance.storage.policy.disk_selection import Case
from appliance.storage.policy.ownership import Carrier, Evidence, Form, runs
from appliance.storage.policy.steps import Outcome, call, list_disks, refuse


@dataclass(frozen=True, slots=True)
class Whole:
    """What was made to its end, on which disks (ids); ``filesystem`` if it has one."""

    filesystem: Filesystem | None
    ids: frozenset[str]


def judge(case: Case) -> Outcome | Case:
    """The decision, or the case with what was made to its end as the volume that it is."""
    seen, volume, own = case.seen, case.volume, case.pool.own
    if outcome := _mounted_by_hand(seen, volume, own):
        return outcome
    if refusal := _not_only_ours(seen, volume, own):
        return refusal
    made = kept(seen, volume, own)
    if refusal := _not_what_was_made(volume, own, made):
        return refusal
    if made:
        return replace(case, pool=replace(case.pool, own=as_finished(own, made)))
    if had := unseen(seen, volume, own):
        return _beginning_lost(case, had)
    return _written_since(case) or create.decide(case)


def _mounted_by_hand(seen: Evidence, volume: Volume, own: Sequence[Carrier]) -> Outcome | None:
    """What is in use although every trace of the volume is marked as being made."""
    disks = [one.disk for one in own]
    mounted = {one for disk in disks for one in disk.mountpoints}
    mounted |= {one.mountpoint for one in seen.arrays_on(disks) if one.mountpoint}
    group = seen.group(volume.name)
    mounted |= {one.mountpoint for one in (group.volumes if group else ()) if one.mountpoint}
    if not mounted:
        return None
    # It was mounted by hand: from then on it may hold data, whatever the marks say.
    if mounted == {volume.mount}:
        return Outcome(
            Decision.ASSEMBLE,
            f"volume '{volume.name}' is mounted at {volume.mount}, although its disks are marked"
            " as not finished: it was mounted by hand, so its marks are cleared",
            tuple(disks),
            steps=(steps.unmark_step(volume.name, disks),),
        )
    return refuse(
        f"volume '{volume.name}' is mounted at {', '.join(sorted(mounted))}, although its disks are"
        f" marked as not finished: {list_disks(disks)}",
        f"it may hold data now: mount it at {volume.mount} and plan again, which clears the marks",
        disks,
    )


def _not_only_ours(seen: Evidence, volume: Volume, own: Sequence[Carrier]) -> Outcome | None:
    """What stands on disks that are marked and was not made by us: other members, other volumes."""
    ids = {one.disk.id for one in own}
    group = seen.group(volume.name)
    found = [
        f"{array.path} has {', '.join(sorted(set(array.members) - ids))} as a member, too"
        for array in seen.arrays_on([one.disk for one in own])
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
        f"nothing was written; {steps.give_up(volume.name)}",
        [one.disk for one in own],
    )


def _written_since(case: Case) -> Outcome | None:
    """Disks that hold more than the making writes: that is data, and no mark says otherwise."""
    own = case.pool.own
    against = [(one.disk, exclusions.to_making_again(one.disk)) for one in own]
    against = [(disk, problem) for disk, problem in against if problem]
    if not against:
        return None
    name = own[0].trace.volume
    reason = "; ".join(f"{call(disk)} {problem}" for disk, problem in against)
    if not case.waited and members(case.seen, name, own) > len(own):
        # Only all of them together tell what mkfs.ext4 writes to each.
        disks = tuple(one.disk for one in own)
        return Outcome(Decision.WAIT, f"{reason}; waiting for the rest of its disks", disks)
    return refuse(
        reason,
        f"nothing was written; look at it read-only; {steps.give_up(name)}",
        [disk for disk, _ in against],
    )


def _beginning_lost(case: Case, had: int) -> Outcome:
    disks = [one.disk for one in case.pool.own]
    reason = (
        f"volume '{case.volume.name}' was being made of {had} disks, and the one that it begins"
        f" with is not here, so it is not known whether that had ended; here: {list_disks(disks)}"
    )
    return loss.decide(case, disks, reason, had=had)


def _not_what_was_made(
    volume: Volume, own: Sequence[Carrier], found: Sequence[Whole]
) -> Outcome | None:
    """A whole filesystem under marks of the making that is not the one they name."""
    if volume.filesystem == "none":
        return None
    strange = [one for one in found if not is_ours(one, own)]
    if not strange:
        return None
    disks = [one.disk for one in own if any(one.disk.id in which.ids for which in strange)]
    words = "; ".join(
        f"{held.kind} labelled '{held.label}' ({held.uuid})"
        for held in (one.filesystem for one in strange)
        if held is not None
    )
    way = steps.give_up(volume.name)
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


# --------------------------------------------------------------------- what was made


def kept(seen: Evidence, volume: Volume, own: Sequence[Carrier]) -> list[Whole]:
    """What is whole on ``own``, all of which are marked as being made, and may hold something.

    A filesystem that was never mounted is none of it: power may have gone before all of it had
    reached the disks. Nor is one that was there before, and shines through. Both are known when
    all its disks are here.
    """
    if volume.filesystem == "none":
        return _ended(seen, volume.name, own)
    found = _whole(seen, volume.name, [one.disk for one in own])
    here = len(own) >= members(seen, volume.name, own)
    unused = here and all(one.disk.mark and one.disk.mark.intact for one in own)
    return [] if unused else found


def _whole(seen: Evidence, volume: str, disks: Sequence[Disk]) -> list[Whole]:
    """The whole filesystems on ``disks``, all of which are marked as being made.

    What runs is asked, not its members: they are read past what it has written.
    """
    arrays = [one for one in seen.arrays_on(disks) if runs(one)]
    found = [(one.filesystem, frozenset(one.members)) for one in arrays]
    for group in seen.groups_of(volume):
        found += [(one.filesystem, frozenset(group.members)) for one in group.volumes]
    up = frozenset[str]().union(*(one.members for one in arrays))
    found += [
        (create.filesystem_of(one), _together(one, disks)) for one in disks if one.id not in up
    ]
    return [Whole(one, ids) for one, ids in found if one is not None and not one.unfinished]


def _ended(seen: Evidence, volume: str, own: Sequence[Carrier]) -> list[Whole]:
    """What was made of ``own`` for a volume without a filesystem: a whole array, or a group with
    its logical volume. From then on it may hold anything.
    """
    disks = [one.disk for one in own]
    ids = frozenset(one.id for one in disks)
    for group in seen.groups_of(volume):
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


def members(seen: Evidence, volume: str, own: Sequence[Carrier]) -> int:
    """How many disks the array or group has that is on ``own``, 0 if there is neither."""
    had = [one.disk.md_member.member_count for one in own if one.disk.md_member is not None]
    had += [one.member_count for one in seen.groups_of(volume)]
    return max(had, default=0)


def unseen(seen: Evidence, volume: Volume, own: Sequence[Carrier]) -> int:
    """How many disks it was being made of, if without those that are not here it is not known
    whether that had ended; else 0.

    A filesystem begins on the first disk. Without a filesystem each of them counts.
    """
    disks = [one.disk.md_member for one in own if one.disk.md_member is not None]
    had = [0]
    if volume.filesystem == "none":
        had.append(members(seen, volume.name, own))
    if all(one.slot != 0 for one in disks):
        had += [one.member_count for one in disks]
    ids = {one.disk.id for one in own}
    for group in seen.groups_of(volume.name):
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
