"""A volume that is not all there: what a RAID10 can do without, and what is done else. Pure.

RAID0 can lose nothing, RAID10 one copy of each chunk. Members of a RAID10 that were away have an
older count of updates. They are left out and caught up later, unless the part that was away could
have run on its own: then two versions of the data exist, and only a person can tell which is meant.

First it is waited for: disks come late. Then the layout's ``on_loss`` counts, and only
instance storage may be made again: its data is lost with the disk in any case. But it is lost only
when nothing that is still to come, and nothing that cannot be read, may be the rest of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from appliance.model.disks import Array, Disk, DiskKind
from appliance.model.plans import Decision, Volume
from appliance.storage.policy import create, exclusions, steps
from appliance.storage.policy.disk_selection import Case, Pool
from appliance.storage.policy.ownership import Member, runs
from appliance.storage.policy.steps import Outcome, call, list_disks, refuse

# The kernel and mdadm take a member that is one update behind for current.
_EVENTS_BEHIND = 1
_LOST_HINT = (
    "a stripe cannot be rebuilt: bring the lost disk back, or stop and start the machine (new"
    ' blank disks), or declare on_loss = "recreate" in the layout to make the volume again and'
    " lose its data (instance storage only)"
)


def decide(case: Case, survivors: Sequence[Disk], reason: str, *, had: int) -> Outcome:
    """``survivors`` are what is left of the ``had`` members; ``reason`` says what is lost."""
    seen, volume, pool = case.seen, case.volume, case.pool
    if running := create.is_up(seen, volume.name, survivors):
        return refuse(
            f"{reason}; {running} still runs",
            "read what can still be read, unmount it, stop it and reboot; a stripe without"
            " redundancy cannot be repaired",
            survivors,
        )
    if not case.waited:
        return Outcome(Decision.WAIT, f"{reason}; waiting for the rest", tuple(survivors))
    others = [*pool.free, *(disk for disk, _ in (*pool.against, *pool.undecided))]
    if others:
        reason += f"; other disks: {list_disks(others)}"
    if volume.on_loss != "recreate":
        hint = _LOST_HINT
        if pool.against or pool.undecided:
            hint += "; not usable for that: " + _objections(pool)
        return refuse(reason, hint, survivors)
    chosen = _chosen(volume, pool)
    if problem := _cannot(case, chosen, had):
        return refuse(
            f"{reason}; it cannot be made again: {problem}",
            f"nothing was written; {_LOST_HINT}",
            survivors,
        )
    return Outcome(
        Decision.RECREATE,
        f"{reason}; the data is gone, and on_loss = 'recreate' makes the volume again",
        tuple(chosen),
        steps=create.build(seen, volume, chosen),
    )


def _chosen(volume: Volume, pool: Pool) -> list[Disk]:
    """The volume's own disks, then free ones: as many as it counts, all if it does not."""
    own = [one.disk for one in pool.own]
    free = list(pool.free)
    if volume.select.count is not None and not volume.select.serials:
        free = free[: max(0, max(volume.select.count, 1) - len(own))]
    return sorted([*own, *free], key=lambda disk: disk.id)


def _cannot(case: Case, chosen: Sequence[Disk], had: int) -> str:
    """Why the volume cannot be made again of ``chosen``, or an empty string."""
    volume, pool = case.volume, case.pool
    network = [disk for disk in chosen if disk.kind is not DiskKind.INSTANCE_STORE]
    if network:
        return f"{list_disks(network)} is not instance storage, and nothing else is made again"
    if pool.undecided:
        # It may be what is missing.
        words = "; ".join(f"{call(disk)} {why}" for disk, why in pool.undecided)
        return f"{words}; it may be a part of the volume"
    if pool.against:
        return _objections(pool)
    group = case.seen.group(volume.name)
    extra = [one.name for one in group.volumes if one.name != volume.name] if group else []
    if extra:
        return f"its volume group also holds {', '.join(extra)}"
    wanted = had if pool.wanted is None else pool.wanted
    least = 1 if volume.stripe in {"single", "lvm-stripe"} else 2
    if len(chosen) < max(wanted, least):
        return f"{len(chosen)} of {max(wanted, least)} disks are here"
    if volume.stripe == "single" and len(chosen) > 1:
        return f"a single disk is declared, and {len(chosen)} are here"
    if pool.late and volume.on_short != "accept":
        # Enough are free, but none of them is the one that was lost.
        return f"{pool.late}; what is lost may be on a disk that has not come"
    return ""


def _objections(pool: Pool) -> str:
    return steps.objections((*pool.against, *pool.undecided))


# ------------------------------------------------------------------------------ RAID10


@dataclass(frozen=True, slots=True)
class State:
    """The members of one array, judged.

    ``members`` are those to be used, by slot; ``missing`` the slots without one; ``lost`` the
    same if the array cannot run without them. ``stale`` were away, ``spares`` have no
    slot yet; ``behind_counts`` says that nothing would be lost if the stale ones were taken as
    they are, ``all_here`` that every slot has a member; ``apart`` says that the stale ones may
    have run without the others. ``problem`` is why nothing must be done.
    """

    members: tuple[Member, ...]
    missing: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    stale: tuple[Disk, ...] = ()
    spares: tuple[Disk, ...] = ()
    apart: bool = False
    behind_counts: bool = False
    all_here: bool = False
    words: str = ""
    problem: str = ""
    hint: str = ""


def judge(volume: Volume, found: Sequence[Member], array: Array | None) -> State:
    """Which of ``found`` (by slot, spares last) make up the array now."""
    size = found[0][1].member_count
    slotted = [(disk, member) for disk, member in found if member.slot is not None]
    if volume.stripe != "md-raid10":
        here = {member.slot for _, member in slotted}
        missing = tuple(slot for slot in range(size) if slot not in here)
        return State(tuple(slotted), missing, missing)
    if array is not None and runs(array):
        return _running(volume, found, array, size)
    return _resting(volume, found, slotted, size)


def survives(volume: Volume, good: Collection[int], size: int) -> bool:
    """Whether a RAID10 with these slots has a copy of every chunk.

    Near over an even number: slots 2i and 2i+1 hold the same. Near over an odd number, far and
    offset: each chunk is on two neighbours, the last and the first slot being neighbours, too.
    Half of the slots are needed by either. ``size`` is what a superblock says: up to 2**32 - 1.
    """
    if 2 * len(good) < size:
        return False
    gone = [slot for slot in range(size) if slot not in good]
    if volume.raid10_layout == "near2" and size % 2 == 0:
        return not any(slot ^ 1 in gone for slot in gone)
    return not any((slot + 1) % size in gone for slot in gone) and len(gone) < size


def _running(volume: Volume, found: Sequence[Member], array: Array, size: int) -> State:
    """The kernel knows which members take part."""
    by_id = {disk.id: (disk, member) for disk, member in found}
    members = tuple(by_id[one] for one in array.members if one in by_id)
    ids = {disk.id for disk, _ in members}
    rest = [(disk, member) for disk, member in found if disk.id not in ids]
    stale = tuple(disk for disk, member in rest if member.slot is not None)
    slots = {member.slot for _, member in members}
    free = [slot for slot in range(size) if slot not in slots]
    missing = tuple(free[: max(0, size - len(members))])
    apart = _apart(volume, rest, members, size)
    words = f"{array.path} of volume '{volume.name}' runs with {len(members)} of {size} members"
    return State(
        members or tuple(found),
        missing,
        stale=stale,
        spares=tuple(disk for disk, member in rest if member.slot is None),
        apart=apart,
        words=words + _stale_words(stale, apart=apart),
    )


def _resting(
    volume: Volume, found: Sequence[Member], slotted: Sequence[Member], size: int
) -> State:
    newest = max(member.events or 0 for _, member in slotted)
    fresh = tuple(
        (disk, member)
        for disk, member in slotted
        if (member.events or 0) + _EVENTS_BEHIND >= newest
    )
    behind = [(disk, member) for disk, member in slotted if (disk, member) not in fresh]
    stale = tuple(disk for disk, _ in behind)
    slots = [member.slot for _, member in fresh if member.slot is not None]
    if len(set(slots)) != len(slots):
        return State(
            fresh,
            problem=f"the members of '{volume.name}' contradict each other, two have the same slot:"
            f" {list_disks([disk for disk, _ in fresh])}",
            hint="a disk may be a copy of another: detach what does not belong",
        )
    apart = _apart(volume, behind, fresh, size)
    if apart or _disagree(fresh):
        halves = list_disks(stale) if stale else "each member"
        return State(
            fresh,
            problem=f"the array of volume '{volume.name}' may have run in two parts, each without"
            f" the other: {list_disks([disk for disk, _ in fresh])}; and {halves}, with fewer"
            " updates",
            hint="nothing was written. Two versions of the data may exist: detach the disks of"
            " one part, plan again or reboot, and look at the other; then decide which stays",
        )
    missing = tuple(slot for slot in range(size) if slot not in slots)
    good = {member.slot for _, member in fresh if member.slot is not None and not member.recovering}
    lost = () if survives(volume, good, size) else missing or tuple(range(size))
    older = {member.slot for _, member in behind if member.slot is not None}
    here = ", ".join(f"slot {member.slot} {call(disk)}" for disk, member in fresh)
    return State(
        fresh,
        missing,
        lost,
        stale=stale,
        spares=tuple(disk for disk, member in found if member.slot is None),
        behind_counts=bool(lost and older) and survives(volume, good | older, size),
        all_here=len({*slots, *older}) == size,
        words=f"volume '{volume.name}' (array {fresh[0][1].array_uuid}) has {len(fresh)} of {size}"
        f" members, and can do without the rest; here: {here}" + _stale_words(stale, apart=False),
    )


def _apart(volume: Volume, behind: Sequence[Member], fresh: Sequence[Member], size: int) -> bool:
    """Whether the members that were away could run on their own, and may have.

    Each superblock says which slots took part when it was last written. If those of the stale
    ones still count on the others, they have never run without them.
    """
    slots = {member.slot for _, member in behind if member.slot is not None}
    if not slots or not survives(volume, slots, size):
        return False
    others = {member.slot for _, member in fresh if member.slot is not None}
    return any(
        member.active_slots is None or not others <= set(member.active_slots)
        for _, member in behind
        if member.slot is not None
    )


def _disagree(fresh: Sequence[Member]) -> bool:
    """Whether a member with the newest count holds another such member for failed."""
    slots = {member.slot for _, member in fresh if member.slot is not None}
    return any(
        member.active_slots is not None and not slots <= set(member.active_slots)
        for _, member in fresh
        if not member.recovering
    ) and not any(member.recovering for _, member in fresh)


def _stale_words(stale: Sequence[Disk], *, apart: bool) -> str:
    if not stale:
        return ""
    words = f"; was away and is behind: {list_disks(stale)}"
    if not apart:
        words += " (it is added again by a confirmed plan: stripewright plan)"
    if apart:
        words += " (it may have run on its own and is left alone; if it is not needed, order"
        words += f" '{exclusions.erasing(stale)}')"
    return words


def replacements(
    state: State, running: Array | None, pool: Pool, *, confirmed: bool
) -> list[tuple[Disk, str]]:
    """Disks to rebuild on, each with what it holds: those that were away, then blank ones.

    Superblocks do not tell a member that was away from one that was failed on purpose, whose
    contents are kept as a backup: they are overwritten only by a confirmed plan.
    """
    need = len(state.missing) - (0 if running else len(state.spares))
    returning = list(state.stale) if confirmed and not state.apart else []
    left_out = list(state.spares) if running else []
    choice = [
        *((disk, "a member that was away and is behind") for disk in returning),
        *((disk, "a spare that the array no longer knows") for disk in left_out),
        *((disk, "blank or released") for disk in pool.free),
    ]
    return choice[: max(0, need)]
