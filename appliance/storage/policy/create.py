"""The decision for a volume of which nothing is to be kept, and the steps that make it. Pure.

Either there is no trace of it, or all of it is marked as still being made. Everything it needs
must be blank and here, or nothing is written.

The order of the steps makes it safe to be killed anywhere: the marks first, so that what is found
later is compared with what making it writes (:mod:`appliance.storage.probe.halfmade`), and gone
when the volume is up. What holds more than that is never made again: the
filesystem may have been mounted by hand (docs/decisions/0024).
"""

from __future__ import annotations

from collections.abc import Sequence

from appliance.model.disks import Disk, Filesystem, MarkState
from appliance.model.plans import Decision, Step, Volume
from appliance.storage.formats import filesystem, lvm, md
from appliance.storage.policy import exclusions, ownership, steps
from appliance.storage.policy.disk_selection import Case, Pool
from appliance.storage.policy.ownership import Evidence, Form, runs
from appliance.storage.policy.steps import Outcome, call, count_disks, list_disks, refuse

_WHY_NOT = "see 'stripewright inventory' for why each disk is not used"


def decide(case: Case) -> Outcome:
    """Create it if every disk that it should have is here and free."""
    seen, volume, pool, waited = case.seen, case.volume, case.pool, case.waited
    if outcome := _raw_disk(volume, pool, settled=case.settled):
        return outcome
    begun = [one.disk for one in pool.own]
    usable = sorted([*begun, *pool.free], key=lambda disk: (disk not in begun, disk.id))
    counted = volume.select.count is not None and not volume.select.serials
    lacking = pool.wanted is None or len(usable) < pool.wanted
    if pool.against and (not counted or len(usable) + len(pool.against) >= (pool.wanted or 0)):
        return _refuse_against(seen, pool.against)
    if pool.undecided:
        return _undecided(volume, pool, waited=waited)
    if counted and not lacking:
        chosen, left = usable[: pool.wanted], usable[pool.wanted :]
    else:
        chosen, left = usable, []
    if refusal := _wrong_number(volume, pool, chosen):
        return refusal
    if dirty := [disk for disk in left if disk.signatures]:
        return refuse(
            f"'{volume.name}' was being made of more disks than it now counts: {list_disks(dirty)}",
            steps.give_up(volume.name),
            dirty,
        )
    # A disk that has not come may be the volume: with fewer than there should be, a stripe of the
    # right number is short, too.
    short = pool.wanted is not None and (lacking or bool(pool.late))
    reason = _reason(seen, pool, chosen, short=short)
    if not chosen or short or pool.late:
        if not waited:
            return Outcome(Decision.WAIT, f"{reason}; waiting for more", tuple(chosen))
        if not chosen:
            return _nothing_there(seen, volume, pool, reason)
    if short and volume.on_short != "accept":
        return _refuse_short(volume, pool, chosen, reason)
    if volume.stripe == "md-raid10" and len(chosen) == 1:
        return refuse(
            f"a RAID10 needs two disks or more; here: {list_disks(chosen)}",
            'declare stripe = "single" or select more disks',
            chosen,
        )
    if pool.open_ended and not (waited if counted else case.settled):
        # With a count nothing says that there are no more: the whole time is given.
        until = "as long as a disk may be late" if counted else "until no more come"
        return Outcome(
            Decision.WAIT, f"{reason}; waiting {until}", tuple(chosen), settles=not counted
        )
    # The order of slots does not depend on how far an earlier attempt came.
    chosen = sorted(chosen, key=lambda disk: disk.id)
    if short:
        reason += "; accepted by on_short"
    return Outcome(
        Decision.CREATE,
        reason + _state(volume, begun, chosen) + _beside(pool, left),
        tuple(chosen),
        steps=build(seen, volume, chosen, unmark=_left_marked(left)),
    )


def _left_marked(disks: Sequence[Disk]) -> list[Disk]:
    return [disk for disk in disks if disk.mark is not None and not disk.signatures]


def _refuse_against(seen: Evidence, against: Sequence[tuple[Disk, str]]) -> Outcome:
    """Foreign contents or use: with what can be done about each kind of it."""
    ways = [_way_on(seen, disk) for disk, _ in against]
    return refuse(
        steps.objections(against),
        f"nothing was written; {'; '.join(dict.fromkeys(ways))}",
        [disk for disk, _ in against],
    )


def _undecided(volume: Volume, pool: Pool, *, waited: bool) -> Outcome:
    """A disk that may be the volume, or a part of it: nothing new is made beside it."""
    disks = [disk for disk, _ in pool.undecided]
    reason = "; ".join(f"{call(disk)} {why}" for disk, why in pool.undecided)
    if not waited:
        return Outcome(Decision.WAIT, f"{reason}; waiting for it to be readable", tuple(disks))
    return refuse(
        f"{reason}; it may be a part of volume '{volume.name}'",
        "nothing was written; repair or detach it, or give up what it holds if it can be read:"
        f" {exclusions.erasing(disks)}",
        disks,
    )


def _way_on(seen: Evidence, disk: Disk) -> str:
    carried = seen.traces.get(disk.id)
    if carried is not None and disk.claimable:
        volume = carried.volume
        return (
            f"declare '{volume}' in the layout, or remove it: stripewright plan --remove {volume}"
        )
    return disk.hint or _WHY_NOT


def _raw_disk(volume: Volume, pool: Pool, *, settled: bool) -> Outcome | None:
    """A single disk without a filesystem is the volume: nothing to make, nothing to prove.

    By its kind or role a disk is it only if it may be claimed; named by its serial, whatever it
    holds.
    """
    others = [disk for disk, _ in (*pool.against, *pool.undecided)]
    found = [*(one.disk for one in pool.own), *pool.free, *others]
    plain = form_of(volume, pool.wanted or len(found)) is Form.PLAIN
    if volume.filesystem != "none" or not plain or len(found) != 1 or pool.late:
        return None
    disk = found[0]
    if disk.holds_root or disk.size_bytes <= 0 or pool.own:
        return None
    if others and not volume.select.serials:
        return None
    if volume.stripe != "single" and pool.wanted is None and not settled:
        return Outcome(
            Decision.WAIT,
            f"found {call(disk)} alone; it is not known how many there are, waiting until no more"
            " come",
            (disk,),
            settles=True,
        )
    return Outcome(
        Decision.NOTHING,
        f"{call(disk)} itself is volume '{volume.name}': no filesystem is declared, so its contents"
        " are left alone",
        (disk,),
    )


def _wrong_number(volume: Volume, pool: Pool, chosen: Sequence[Disk]) -> Outcome | None:
    wanted = max(len(chosen), pool.wanted or 0)
    if volume.stripe == "single" and wanted > 1:
        return refuse(
            f"volume '{volume.name}' is declared as a single disk, but its selector takes"
            f" {count_disks(wanted)}: {list_disks(chosen)}",
            "say which one: select by its serial or with count = 1, or declare a stripe",
            chosen,
        )
    return None


def _reason(seen: Evidence, pool: Pool, chosen: Sequence[Disk], *, short: bool) -> str:
    machine = seen.machine
    number = count_disks(len(chosen))
    if pool.late:
        return pool.late
    if short:
        return f"found {number} of the {pool.wanted} that are wanted"
    kinds = {disk.kind.value for disk in chosen}
    what = "of instance storage" if kinds <= {"instance-store"} else "of the volume's"
    expected = machine.expected_disks
    if pool.wanted is None:
        if not chosen:
            return "found 0 disks so far"
        why = "" if chosen[0].role else " (the machine type is unknown)"
        return (
            f"{number} {what}; it is not known how many there are{why}, so their number could not"
            " be checked, and the plan only waited until no more came"
        )
    if expected is not None and len(chosen) == expected == pool.wanted:
        return f"all {number} of instance storage that {machine.machine_type} has"
    if len(chosen) > pool.wanted:
        return (
            f"{number} {what}, more than the {pool.wanted} that {machine.machine_type} has for it"
        )
    return "the one disk that is wanted" if len(chosen) == 1 else f"all {number} that are wanted"


def _nothing_there(seen: Evidence, volume: Volume, pool: Pool, reason: str) -> Outcome:
    if pool.absent:
        return refuse(
            f"the disks of volume '{volume.name}' are {reason}",
            f"attach them, or correct the serials in the layout; {_WHY_NOT}",
        )
    if volume.select.role:
        return refuse(
            f"no disk has the role '{volume.select.role}'",
            f"give it to disks with a [[rule]] in the layout; {_WHY_NOT}",
        )
    if any(disk.kind.value == "instance-store" for disk in seen.disks):
        return refuse(
            f"no instance storage is left for volume '{volume.name}': other volumes use all of it",
            f"attach more disks or let the others count less; {_WHY_NOT}",
        )
    return refuse(
        f"no instance storage: {reason}" if pool.late else "no instance storage found",
        f"use a machine type with instance storage; {_WHY_NOT}",
    )


def _refuse_short(volume: Volume, pool: Pool, chosen: Sequence[Disk], reason: str) -> Outcome:
    if pool.absent:
        hint = "attach them, or correct the serials in the layout"
    elif volume.select.role:
        hint = "give more disks that role with a [[rule]] in the layout, or count less"
    else:
        hint = "stop and start the machine to get other disks"
    return refuse(
        f"{reason}; here: {list_disks(chosen)}",
        f'{hint}, or set on_short = "accept" in the layout to use what is there',
        chosen,
    )


def _state(volume: Volume, begun: Sequence[Disk], chosen: Sequence[Disk]) -> str:
    if begun:
        marked = [disk for disk in begun if disk.mark is not None]
        where = f" at 0x{marked[0].mark.offset_bytes:x}" if marked and marked[0].mark else ""
        return (
            f"; making '{volume.name}' was interrupted and starts over: the mark{where}"
            f" of {list_disks(begun)} says that nothing was stored since"
        )
    released = [disk for disk in chosen if disk.mark is not None]
    if released:
        return f"; blank, or released and unchanged since: {list_disks(released)}"
    if not all(disk.blank for disk in chosen):
        return ", not read without root"
    scanned = [(disk.scan, disk.size_bytes) for disk in chosen if disk.scan is not None]
    if not scanned:
        return ", blank"
    # Of several the one that could hide most.
    worst, size_bytes = max(scanned, key=lambda one: one[0].unseen_bytes)
    return f", blank ({worst.words(size_bytes)})"


def _beside(pool: Pool, left: Sequence[Disk]) -> str:
    unused = [*left, *pool.spare]
    return f"; not used: {list_disks(unused)}" if unused else ""


# ------------------------------------------------------------------------------ the steps


def form_of(volume: Volume, members: int) -> Form:
    """What the volume is made as on so many disks; a RAID0 of one is plain."""
    if volume.stripe == "lvm-stripe":
        return Form.LVM
    if volume.stripe == "md-raid10" or (volume.stripe == "md-raid0" and members > 1):
        return Form.MD
    return Form.PLAIN


def build(
    seen: Evidence,
    volume: Volume,
    disks: Sequence[Disk],
    *,
    unmark: Sequence[Disk] = (),
) -> tuple[Step, ...]:
    """Make ``volume`` on ``disks``, in this order of slots.

    ``unmark`` are other disks whose mark of an earlier attempt is to go, too.
    """
    form = form_of(volume, len(disks))
    # A disk that was not read (no root) is shown as it is if the volume can be made at all.
    force = any(disk.mark or disk.blank is False for disk in disks)
    destroys = tuple(steps.destruction(disk, _holds(disk)) for disk in disks)
    host_tag = seen.machine.host_tag
    new_uuid = ""
    # Without root the tag and the marks are not known, and so the UUID is not, either.
    if volume.filesystem != "none" and seen.privileged:
        new_uuid = filesystem_uuid(host_tag, volume.name, disks)
    make = (
        *clear_the_way(seen, volume.name, disks),
        steps.mark_step(volume, disks, destroys, end=form is Form.PLAIN, filesystem_uuid=new_uuid),
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


def clear_the_way(seen: Evidence, volume: str, disks: Sequence[Disk]) -> tuple[Step, ...]:
    """Stop what runs of ``volume`` on ``disks``: the debris of what was being made."""
    ours = [one for one in seen.arrays_on(disks) if md.volume_of(one.name) in {volume, ""}]
    stops = [steps.stop_step(volume, array.path) for array in ours]
    group = seen.group(volume)
    if group and any(one.active for one in group.volumes):
        members = [seen.by_id[one] for one in group.members if one in seen.by_id]
        stops.append(steps.deactivate_step(volume, members or disks))
    return tuple(stops)


def is_up(seen: Evidence, volume: str, disks: Sequence[Disk]) -> str:
    """The path under which the volume runs on ``disks``, empty if it does not."""
    for array in seen.arrays_on(disks):
        if runs(array) and md.volume_of(array.name) in {volume, ""}:
            return array.path
    group = seen.group(volume)
    return next((one.path for one in group.volumes if one.active), "") if group else ""


def _wipe(volume: Volume, disks: Sequence[Disk], form: Form) -> tuple[Step, ...]:
    """Signatures of an earlier attempt that the maker does not replace by its own.

    mdadm writes over its superblock and mkfs over its filesystem; LVM takes no disk that is in
    a group, and no maker clears what another tool left.
    """
    replaced = {Form.MD: {md.SIGNATURE}, Form.PLAIN: {*filesystem.KINDS}}.get(form, set())
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
    found = filesystem_of(disk)
    if mark is not None and found is not None and not found.unfinished:
        return f"volume '{mark.volume}', the mark of its making was not cleared"
    if mark is not None:
        return f"volume '{mark.volume}' half made, nothing stored"
    kinds = {signature.kind for signature in disk.signatures}
    if kinds:
        return "a member of the lost volume, its data given up"
    return "not read without root" if disk.blank is None else "blank"


def filesystem_of(disk: Disk) -> Filesystem | None:
    return disk.md_member.filesystem if disk.md_member else disk.filesystem
