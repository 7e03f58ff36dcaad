"""What an operator gives up: volumes that are removed, foreign contents that are erased. Pure.

A removal clears our own signatures and nothing else, whatever state the volume is in, and goes
on where it was killed. The rest of a plan is made for the inventory as it will be then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from appliance.model.disks import (
    Disk,
    DiskKind,
    Inventory,
    Mark,
    MarkState,
    VirtualDrive,
    VolumeGroup,
)
from appliance.model.plans import Decision, Step
from appliance.storage.formats import hwraid, lvm, md, serials
from appliance.storage.policy import create, exclusions, hardware, ownership, steps
from appliance.storage.policy.existing import made_elsewhere
from appliance.storage.policy.ownership import Carrier, Evidence, Form, runs
from appliance.storage.policy.steps import Outcome, call, list_disks, refuse

_ERASED = "erased"


@dataclass(frozen=True, slots=True)
class GivenUp:
    """One order and what it comes to; ``by`` is the volume that gives its disks up."""

    name: str
    outcome: Outcome
    by: str

    @property
    def released(self) -> tuple[Disk, ...]:
        """The disks that are free afterwards."""
        released = any(step.check == steps.CHECK_RELEASED for step in self.outcome.steps)
        return self.outcome.disks if released else ()


def remove(seen: Evidence, volume: str, *, declared: bool) -> GivenUp:
    """Take ``volume`` down and release its disks."""
    return GivenUp(volume, _remove(seen, volume, declared=declared), volume)


def erase(seen: Evidence, serial: str, selected: Iterable[Disk], names: set[str]) -> GivenUp:
    """Give up what a disk holds; ``selected`` are the disks that the layout takes."""
    ids = {one.id for one in selected}
    return GivenUp(f"erase {serial}", _erase(seen, serial, ids, names), _ERASED)


# ------------------------------------------------------------------------------ volumes


def _remove(seen: Evidence, volume: str, *, declared: bool) -> Outcome:
    if declared:
        return refuse(
            f"volume '{volume}' is to be removed, but the layout declares it",
            "plan with a layout without it: otherwise the next boot makes it again",
        )
    for drive in seen.inventory.virtual_drives:
        if hwraid.volume_of(drive.name) == volume:
            return _virtual(seen, volume, drive)
    own = seen.carriers.get(volume, ())
    if not own:
        return Outcome(Decision.NOTHING, f"no disk carries a volume '{volume}'")
    if refusal := _cannot(seen, volume, own):
        return refusal
    ordered = [one.disk for one in sorted(own, key=_slot)]
    holds = f"member of '{volume}', its data is destroyed"
    release = [steps.release_step(volume, disk, holds) for disk in ordered]
    return Outcome(
        Decision.REMOVE,
        f"volume '{volume}' is taken down and {list_disks(ordered)} released, with what it holds",
        tuple(ordered),
        steps=(*_take_down(seen, volume, own), *release),
    )


def _slot(one: Carrier) -> tuple[int, str]:
    member = one.disk.md_member
    return (member.slot if member and member.slot is not None else 1 << 20, one.disk.id)


def _cannot(seen: Evidence, volume: str, own: Sequence[Carrier]) -> Outcome | None:
    disks = [one.disk for one in own]
    if twins := [disk for disk in disks if disk.id in seen.twins]:
        return refuse(
            f"disks that cannot be told apart: {list_disks(twins)}",
            "the same disk may be visible twice (multipath); make each appear once",
            twins,
        )
    against = [(disk, exclusions.to_use(disk, seen.holders(disk), mounted=True)) for disk in disks]
    if in_use := [(disk, why) for disk, why in against if why]:
        return refuse(
            steps.objections(in_use),
            "nothing was written; free the disk from that use, then plan again",
            [disk for disk, _ in in_use],
        )
    if refusal := made_elsewhere(seen, volume, own, named=False):
        return replace(
            refusal,
            hint="detach these disks; if they are meant, declare a volume that selects their"
            f" serials and order '{exclusions.erasing(disks)}'",
        )
    if refusal := _several(volume, own) or _not_the_group(seen, volume, own):
        return refusal
    group = seen.group(volume)
    others = [one.name for one in group.volumes if one.name != volume] if group else []
    if others:
        return refuse(
            f"the volume group of '{volume}' also holds {', '.join(others)}, which is not ours",
            "remove that yourself first",
            disks,
        )
    ids = {disk.id for disk in disks}
    strangers = sorted({one for array in seen.arrays_on(disks) for one in array.members} - ids)
    known = [one for one in strangers if one in seen.by_id]
    if known:
        return refuse(
            f"the array of '{volume}' also runs on {', '.join(known)}, which does not carry its"
            " name",
            "see 'mdadm --detail' of it, and stop it yourself",
            disks,
        )
    return None


def _several(volume: str, own: Sequence[Carrier]) -> Outcome | None:
    """More than one thing with that name, unfinished ones apart."""
    kept = [one for one in own if not one.trace.making]
    things = {(one.trace.form, _identity(one)) for one in kept}
    if len(things) < 2:
        return None
    forms = {form for form, _ in things}
    what = {Form.MD: "arrays", Form.LVM: "volume groups", Form.PLAIN: "filesystems"}
    kind = what.get(next(iter(forms)), "things") if len(forms) == 1 else "things"
    disks = [one.disk for one in kept]
    return refuse(
        f"{len(things)} different {kind} carry the name '{volume}': {list_disks(disks)}",
        "the plan cannot tell which is meant: detach the disks of one",
        disks,
    )


def _not_the_group(seen: Evidence, volume: str, own: Sequence[Carrier]) -> Outcome | None:
    """Groups with the volume's name that are not, or not alone, what its disks are in.

    A group is taken down by its name; whichever of two was read first would be.
    """
    groups = seen.groups_of(volume)
    disks = [one.disk for one in own]
    members = {disk.lvm_member.group_uuid for disk in disks if disk.lvm_member}
    named = "; ".join(f"{one.uuid} on {_members(seen, one)}" for one in groups)
    if len(groups) > 1:
        return refuse(
            f"{len(groups)} different volume groups carry the name '{volume}': {named}",
            "the plan cannot tell which is meant: detach the disks of one",
            disks,
        )
    if any(one.uuid not in members for one in groups):
        return refuse(
            f"a volume group has the name of volume '{volume}' and is on none of its disks:"
            f" {named}",
            "rename the group if it is not ours, or detach its disks",
            disks,
        )
    if not all(ownership.group_tagged(one, volume) for one in groups):
        return refuse(
            f"the volume group has the name of volume '{volume}', but not its tag: {named}",
            "rename the group if it is not ours",
            disks,
        )
    return None


def _members(seen: Evidence, group: VolumeGroup) -> str:
    known = [seen.by_id[one] for one in group.members if one in seen.by_id]
    return list_disks(known) or "disks that are not here"


def _identity(carrier: Carrier) -> str:
    """What the disks of one array or group have in common; a filesystem has its disk alone."""
    disk = carrier.disk
    if carrier.trace.form is Form.MD:
        if disk.md_member is not None:
            return disk.md_member.array_uuid
        return next((one.uuid for one in disk.signatures), "")
    return disk.lvm_member.group_uuid if disk.lvm_member else disk.id


def _take_down(seen: Evidence, volume: str, own: Sequence[Carrier]) -> tuple[Step, ...]:
    """Unmount, clear the filesystem's signature where it lies inside ours, stop."""
    disks = [one.disk for one in own]
    plan: list[Step] = []
    for disk in disks:
        plan += [steps.umount_step(volume, one) for one in disk.mountpoints]
    for array in seen.arrays_on(disks):
        if md.volume_of(array.name) not in {volume, ""}:
            continue
        if array.mountpoint:
            plan.append(steps.umount_step(volume, array.mountpoint))
        if runs(array) and array.filesystem is not None:
            plan.append(steps.wipe_filesystem_step(volume, array.path))
    group = seen.group(volume)
    for logical in group.volumes if group else ():
        if logical.mountpoint:
            plan.append(steps.umount_step(volume, logical.mountpoint))
        if logical.active and logical.filesystem is not None:
            plan.append(steps.wipe_filesystem_step(volume, logical.path))
    return (*plan, *create.clear_the_way(seen, volume, disks))


def _virtual(seen: Evidence, volume: str, drive: VirtualDrive) -> Outcome:
    disk = hardware.disk_of(seen, drive)
    what = f"virtual drive {drive.name} (/c{drive.controller}/v{drive.number})"
    if disk is not None and (problem := exclusions.to_use(disk, mounted=True)):
        return refuse(f"{call(disk)}: {problem}", "free the disk from that use", [disk])
    plan: list[Step] = []
    if disk is not None:
        plan += [steps.umount_step(volume, one) for one in disk.mountpoints]
        if disk.signatures:
            plan.append(steps.wipe_disk_step(disk, f"volume '{volume}', given up", volume))
    plan.append(
        Step(
            argv=hwraid.delete_argv(drive.controller, drive.number),
            why="delete the virtual drive, so that its drives are free",
            volume=volume,
        )
    )
    return Outcome(
        Decision.REMOVE,
        f"{what} is deleted, with what it holds",
        () if disk is None else (disk,),
        steps=tuple(plan),
    )


# ------------------------------------------------------------------------------ contents


def _erase(seen: Evidence, serial: str, selected: set[str], names: set[str]) -> Outcome:
    found = [one for one in seen.disks if serial and serials.shared([one.serial], [serial])]
    if len(found) != 1:
        what = "no disk has" if not found else f"{len(found)} disks have"
        return refuse(
            f"{what} the serial '{serial}'", "'stripewright inventory' lists the serials", found
        )
    disk = found[0]
    trace = seen.traces.get(disk.id)
    if disk.id not in selected:
        return refuse(
            f"{call(disk)} is not selected by the layout",
            "declare a volume that takes it: what is erased is what will be used",
            [disk],
        )
    if disk.id in seen.twins:
        return refuse(
            f"{call(disk)} cannot be told from another", "make each disk appear once", [disk]
        )
    if trace is not None and not _may_go(seen, disk, trace.volume):
        return _carries(disk, trace.volume, declared=trace.volume in names)
    if problem := exclusions.to_erasing(disk):
        return refuse(f"{call(disk)}: {problem}", "free the disk from that use", [disk])
    unread = disk.blank is None and disk.scan is not None
    if trace is None and not exclusions.to_contents(disk) and not unread:
        return Outcome(Decision.NOTHING, f"{call(disk)} holds nothing to erase", (disk,))
    holds = _contents(disk)
    wipe = (steps.wipe_disk_step(disk, holds),) if disk.signatures or disk.partitions else ()
    return Outcome(
        Decision.REMOVE,
        f"{call(disk)} holds {holds}: given up by order",
        (disk,),
        steps=(*wipe, steps.release_foreign_step(disk, holds)),
    )


def _may_go(seen: Evidence, disk: Disk, volume: str) -> bool:
    """Whether a disk with a volume's name is none of ours, or one that its array left behind."""
    here = seen.machine.host_tag
    carrier = Carrier(disk, seen.traces[disk.id])
    member = disk.lvm_member
    group = seen.group(volume, member.group_uuid if member else "")
    if here and ownership.host_of_carrier(carrier, group) != here:
        return True
    if disk.md_member is None or carrier.trace.form is not Form.MD or carrier.trace.making:
        return False
    uuid = disk.md_member.array_uuid
    up = [one for one in seen.inventory.arrays if one.uuid == uuid and runs(one)]
    return bool(up) and not any(disk.id in one.members for one in up)


def _carries(disk: Disk, volume: str, *, declared: bool) -> Outcome:
    if declared:
        return Outcome(
            Decision.NOTHING, f"{call(disk)} is used by volume '{volume}' as declared", (disk,)
        )
    return refuse(
        f"{call(disk)} belongs to volume '{volume}', which is not in the layout",
        f"remove the volume: stripewright plan --remove {volume}",
        [disk],
    )


def _contents(disk: Disk) -> str:
    kinds = sorted({one.kind for one in disk.signatures})
    labels = sorted({one.label for one in disk.signatures if one.label})
    if kinds:
        named = f" labelled {', '.join(repr(one) for one in labels)}" if labels else ""
        return f"{', '.join(kinds)}{named}"
    if disk.partitions:
        return "partitions"
    return "what was not read of it" if disk.blank is None else "data without a known signature"


def afterwards(inventory: Inventory, orders: Sequence[GivenUp]) -> Inventory:
    """The inventory as it will be when the orders were carried out."""
    by = {disk.id: order.by for order in orders for disk in order.released}
    gone = {order.by for order in orders if order.released}
    if not by:
        return inventory
    tag = inventory.machine.host_tag
    return replace(
        inventory,
        disks=tuple(
            _released(disk, by[disk.id], tag) if disk.id in by else disk for disk in inventory.disks
        ),
        arrays=tuple(one for one in inventory.arrays if not set(one.members) & set(by)),
        groups=tuple(one for one in inventory.groups if lvm.volume_named(one.name) not in gone),
    )


def _released(disk: Disk, volume: str, host_tag: str) -> Disk:
    return replace(
        disk,
        signatures=(),
        partitions=(),
        holders=(),
        holder_notes=(),
        mountpoints=(),
        busy=False,
        blank=False,
        nonzero_offset_bytes=None,
        md_member=None,
        lvm_member=None,
        filesystem=None,
        # Which volume may take it, the selectors decide.
        claimable=disk.kind not in {DiskKind.UNKNOWN, DiskKind.SYSTEM},
        reason=f"released from volume '{volume}' by this plan",
        mark=Mark(
            state=MarkState.RELEASED,
            volume=volume,
            host_tag=host_tag,
            offset_bytes=0,
            nonce=disk.mark.nonce if disk.mark else "",
            intact=True,
        ),
    )
