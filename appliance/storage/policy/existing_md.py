"""The decision for a volume that is an md array. Pure.

RAID0 is whole or lost. What a RAID10 can do without is in :mod:`appliance.storage.policy.loss`.
"""

from __future__ import annotations

from collections.abc import Sequence

from appliance.model.disks import Array, Disk
from appliance.model.plans import Decision, Volume
from appliance.storage.formats import md
from appliance.storage.policy import activate, exclusions, loss, ownership, steps
from appliance.storage.policy.disk_selection import Case
from appliance.storage.policy.ownership import Carrier, Evidence, Form, Member, runs
from appliance.storage.policy.steps import Outcome, call, list_disks, refuse

_BROKEN = frozenset({"broken", "failed"})
# md itself allows no more with a 1.2 superblock; a bigger number is damage or malice.
_MAX_MEMBERS = 1920
_DETACH = "detach the members that do not belong"


def decide(case: Case) -> Outcome:
    """At least one disk carries the volume by an md superblock and is not debris."""
    seen, volume, pool = case.seen, case.volume, case.pool
    name = volume.name
    kept = [one for one in pool.own if one.trace.form is Form.MD and not one.trace.making]
    disks = [one.disk for one in kept]
    if any(one.md_member is None for one in disks):
        return _seen_without_root(case, disks)
    uuids = sorted({one.md_member.array_uuid for one in disks if one.md_member})
    if len(uuids) > 1:
        return refuse(
            f"{len(uuids)} different arrays carry the name '{name}' ({', '.join(uuids)}):"
            f" {list_disks(disks)}",
            f"members of another machine's or of an older array are attached: {_DETACH}",
            disks,
        )
    found = _members(pool.own, uuids[0])
    if problem := _contradiction(name, found):
        return problem
    first = found[0][1]
    shape = (first.level, md.layout_of(volume) and first.layout)
    declared = (md.level_of(volume), md.layout_of(volume))
    if shape != declared or first.chunk_bytes not in {None, volume.chunk_bytes}:
        return refuse(
            f"the array of '{name}' is {_shape(first.level, first.layout, first.chunk_bytes or 0)},"
            f" the layout declares {_shape(*declared, volume.chunk_bytes)}",
            steps.redeclare(name),
            [disk for disk, _ in found],
        )
    array = _array_of(seen, first.array_uuid, found)
    debris = [
        one.disk
        for one in pool.own
        if one.trace.making and one.trace.form is not Form.BARE and not _is_in(one.disk, found)
    ]
    state = loss.judge(volume, found, array)
    if state.problem:
        return refuse(state.problem, state.hint, [disk for disk, _ in found])
    if state.lost:
        reason = _lost_words(name, found, state.lost)
        if state.behind_counts:
            return _behind(case, state, [disk for disk, _ in found], reason)
        return loss.decide(case, [disk for disk, _ in found], reason, had=first.member_count)
    if debris:
        return refuse(
            f"volume '{name}' is whole (array {first.array_uuid}), and it is half made on"
            f" {list_disks(debris)}",
            "decide which one to keep and detach the other",
            [*(disk for disk, _ in found), *debris],
        )
    return _whole(case, state, array)


def _behind(case: Case, state: loss.State, disks: Sequence[Disk], reason: str) -> Outcome:
    """The data is there, some of it older: that is not lost, and not decided here."""
    if not case.waited and state.missing and not state.all_here:
        return Outcome(Decision.WAIT, f"{reason}; waiting for the rest", tuple(disks))
    return refuse(
        f"the current members of volume '{case.volume.name}' are too few; was away and is behind:"
        f" {list_disks(state.stale)}; {reason}",
        "nothing was written, and the volume is never made again over them: whether to use the"
        " older members is for a person to decide ('mdadm --assemble --force' takes them as they"
        " are)",
        disks,
    )


def _members(own: Sequence[Carrier], uuid: str) -> list[Member]:
    """All members of that array, by slot, whether or not a mark is left on them; spares last."""
    found = [
        (one.disk, one.disk.md_member)
        for one in own
        if one.disk.md_member is not None
        and one.trace.form is Form.MD
        and one.disk.md_member.array_uuid == uuid
    ]
    return sorted(found, key=lambda pair: (pair[1].slot is None, pair[1].slot or 0, pair[0].id))


def _is_in(disk: Disk, found: Sequence[Member]) -> bool:
    return any(disk.id == one.id for one, _ in found)


def _contradiction(name: str, found: Sequence[Member]) -> Outcome | None:
    size = found[0][1].member_count
    shapes = {(m.level, m.layout, m.member_count, m.chunk_bytes) for _, m in found}
    # A spare has no slot: that is a RAID10's, and nothing that a RAID0 could have.
    slots = [
        member.slot for _, member in found if member.slot is not None or member.level != "raid10"
    ]
    sane = 1 <= size <= _MAX_MEMBERS and all(s is not None and 0 <= s < size for s in slots)
    disks = [disk for disk, _ in found]
    if copies := _copies(name, found):
        return copies
    if not sane or len(shapes) > 1 or not slots:
        return _contradicting(name, disks)
    if any(member.reshaping for _, member in found):
        return refuse(
            f"the array of '{name}' was being reshaped, which is never done here:"
            f" {list_disks(disks)}",
            "nothing was written; see 'mdadm --examine' of each, and let mdadm finish it",
            disks,
        )
    if found[0][1].level != "raid10" and len(set(slots)) != len(slots):
        return _contradicting(name, disks)
    return None


def _copies(name: str, found: Sequence[Member]) -> Outcome | None:
    """Members with one device UUID: a disk and a copy of it, whichever of the two ran last."""
    same: dict[str, list[Member]] = {}
    for one in found:
        same.setdefault(one[1].member_uuid, []).append(one)
    twice = next((members for uuid, members in same.items() if uuid and len(members) > 1), None)
    if twice is None:
        return None
    newest = max(member.events or 0 for _, member in twice)
    counts = "; ".join(
        f"{call(disk)} with {member.events or 0} updates"
        + (" (the newer)" if (member.events or 0) == newest else "")
        for disk, member in twice
    )
    return refuse(
        f"one member of '{name}' (device UUID {twice[0][1].member_uuid}) is here more than once, so"
        f" that all but one are copies: {counts}",
        "nothing was written. Detach what is not to be used, or give up what it holds: "
        + exclusions.erasing([disk for disk, _ in twice], one=True),
        [disk for disk, _ in twice],
    )


def _contradicting(name: str, disks: Sequence[Disk]) -> Outcome:
    return refuse(
        f"the members of '{name}' contradict each other about level, size or slot:"
        f" {list_disks(disks)}",
        "a disk may be a copy of another: compare 'mdadm --examine' of each and detach what does"
        " not belong",
        disks,
    )


def _shape(level: str, layout: str, chunk_bytes: int) -> str:
    return f"{level}{f' {layout}' if layout else ''} with chunk {chunk_bytes // 1024}KiB"


def _lost_words(name: str, found: Sequence[Member], lost: Sequence[int]) -> str:
    size = found[0][1].member_count
    here = [(disk, member) for disk, member in found if member.slot is not None]
    return (
        f"the array of volume '{name}' ({found[0][1].array_uuid}) has {len(here)} of {size}"
        f" members; lost: slot{'s' if len(lost) > 1 else ''}"
        f" {', '.join(str(slot) for slot in lost)}; here: "
        + ", ".join(f"slot {member.slot} {call(disk)}" for disk, member in here)
    )


def _array_of(seen: Evidence, uuid: str, found: Sequence[Member]) -> Array | None:
    on_them = seen.arrays_on([disk for disk, _ in found])
    return next((one for one in on_them if one.uuid == uuid), next(iter(on_them), None))


def _whole(case: Case, state: loss.State, array: Array | None) -> Outcome:
    """Nothing is lost; a RAID10 may still lack members."""
    volume, pool = case.volume, case.pool
    disks = [disk for disk, _ in state.members]
    first = state.members[0][1]
    running = array if array is not None and runs(array) else None
    if running is not None and (refusal := _running(volume, running, disks)):
        return refusal
    if state.missing and running is None and not case.waited:
        return Outcome(Decision.WAIT, f"{state.words}; waiting for the rest", tuple(disks))
    name = volume.name
    reason = (
        state.words
        if state.missing
        else f"all {len(disks)} members of volume '{name}' are here"
        + (" and assembled" if running else "")
        + f" (array {first.array_uuid})"
    )
    device = running.path if running else md.array_path(name)
    replacing = loss.replacements(state, running, pool, confirmed=case.grow)
    rebuild = steps.add_steps(volume, device, replacing) if replacing else ()
    added = [disk for disk, _ in replacing]
    if added:
        reason += f"; the place is taken by {list_disks(added)}"
    stop = (steps.stop_step(name, array.path),) if array is not None and running is None else ()
    small, grown = _grown(state.members) if running is None else (0, [])
    if grown and state.missing:
        return refuse(
            f"the growth of volume '{name}' was cut off before it reached every member, and"
            f" {state.words}",
            "attach all of its members",
            disks,
        )
    shrink = (steps.shrink_step(name, grown, small),) if grown else ()
    assemble = steps.assemble_step(
        volume,
        first.array_uuid,
        [*disks, *state.spares],
        degraded=bool(state.missing),
    )
    slot0 = first.filesystem if first.slot == 0 else None
    return activate.finish(
        case,
        activate.Built(
            disks=(*disks, *added),
            device=device,
            filesystem=running.filesystem if running else slot0,
            known=case.seen.privileged and (running is not None or first.slot == 0),
            members=first.member_count,
            count=first.member_count,
            reason=reason,
            up=running is not None,
            mountpoints=(running.mountpoint,) if running and running.mountpoint else (),
            before=(*stop, *shrink, assemble),
            rebuild=rebuild,
            marked=tuple(
                one.disk
                for one in pool.own
                if one.trace.marked
                or (ownership.released(one.disk.mark) and _is_in(one.disk, state.members))
            ),
        ),
        activate.array(
            case,
            state.members,
            running,
            running.filesystem if running else slot0,
        )
        if not state.missing
        else activate.NONE,
    )


def _grown(members: Sequence[Member]) -> tuple[int, list[Disk]]:
    """How much of each member the array uses, and the members that say it is more.

    md writes one superblock after the other, so a power cut while an array grows leaves both, and
    mdadm takes such members for those of two arrays. What lies behind the smaller size is not in
    use yet: the filesystem grows when every superblock has been written.
    """
    used = {disk.id: member.used_bytes or 0 for disk, member in members}
    small = min(used.values())
    return small, [disk for disk, _ in members if small < used[disk.id]] if small else []


def _running(volume: Volume, array: Array, disks: Sequence[Disk]) -> Outcome | None:
    """What is wrong with an array that runs."""
    if array.state in _BROKEN:
        return refuse(
            f"{array.path} of volume '{volume.name}' is {array.state}: the kernel lost a member"
            " while it ran",
            "read what can still be read, then reboot; a RAID0 cannot be repaired",
            disks,
        )
    ids = [disk.id for disk in disks]
    # A disk that was pulled out may still be listed under its kernel name: RAID10 survives that.
    redundant = volume.stripe == "md-raid10"
    ordered = [one for one in array.members if not redundant or one in ids]
    if ordered != ids:
        return refuse(
            f"{array.path} does not run with the members that carry the name '{volume.name}'",
            f"compare 'mdadm --detail {array.path}' with 'mdadm --examine' of each disk",
            disks,
        )
    level = md.level_of(volume)
    if (array.level, array.chunk_bytes) != (level, volume.chunk_bytes):
        return refuse(
            f"{array.path} is {_shape(array.level, array.layout, array.chunk_bytes)}, the layout"
            f" declares {_shape(level, md.layout_of(volume), volume.chunk_bytes)}",
            steps.redeclare(volume.name),
            disks,
        )
    return None


def _seen_without_root(case: Case, disks: Sequence[Disk]) -> Outcome:
    """Members known only by udev's label: say what is there, as far as it can be seen."""
    volume = case.volume
    uuids = {signature.uuid for disk in disks for signature in disk.signatures}
    if len(uuids) > 1:
        return refuse(
            f"{len(uuids)} different arrays carry the name '{volume.name}': {list_disks(disks)}",
            _DETACH,
            disks,
        )
    array = next((one for one in case.seen.arrays_on(disks) if runs(one)), None)
    by_id = {disk.id: disk for disk in disks}
    ordered = [by_id[one] for one in array.members if one in by_id] if array else list(disks)
    if array is not None and (refusal := _running(volume, array, ordered)):
        return refusal
    device = array.path if array else md.array_path(volume.name)
    reason = f"{steps.count_disks(len(disks))} of volume '{volume.name}' seen"
    return activate.finish(
        case,
        activate.Built(
            disks=tuple(ordered),
            device=device,
            filesystem=array.filesystem if array else None,
            known=False,
            members=len(ordered),
            count=len(ordered),
            reason=f"{reason} and assembled"
            if array
            else f"{reason}; without root it cannot be told whether that is all",
            up=array is not None,
            mountpoints=(array.mountpoint,) if array and array.mountpoint else (),
            before=(steps.assemble_step(volume, next(iter(uuids), ""), ordered),),
        ),
    )
