"""Inventory × Layout -> Plan, or a refusal that a person can act on. Pure.

What is on the disks decides, never a state file. First come the operator's orders; the rest is
planned for the disks as they will be then. Each volume goes through the same questions:

1. Is its name where it cannot be, or can its disks not be told apart? Then refuse.
2. Is its name on a disk of its own? Then that is the volume, whole or not at all
   (:mod:`appliance.storage.policy.existing`); what its marks call unfinished is begun again.
3. Are all the disks there that it should have, and blank? Then create
   (:mod:`appliance.storage.policy.create`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from appliance.model.disks import Inventory
from appliance.model.plans import Decision, Layout, Orders, Plan, Step, Volume, VolumePlan
from appliance.storage.formats import hwraid, md
from appliance.storage.policy import (
    create,
    disk_selection,
    existing,
    hardware,
    identity,
    removal,
    steps,
)
from appliance.storage.policy.digest import digest
from appliance.storage.policy.disk_selection import Case, Pool
from appliance.storage.policy.ownership import Evidence, gather
from appliance.storage.policy.steps import Outcome, list_disks, refuse

# The plan as a whole is what its most serious volume is.
_GRAVITY = (
    Decision.REFUSE,
    Decision.WAIT,
    Decision.REMOVE,
    Decision.RECREATE,
    Decision.GROW,
    Decision.CREATE,
    Decision.ASSEMBLE,
    Decision.NOTHING,
)
_NO_ORDERS = Orders()


def plan(
    inventory: Inventory,
    layout: Layout,
    *,
    waited: bool,
    settled: bool = True,
    orders: Orders = _NO_ORDERS,
) -> Plan:
    """Decide every order and every volume of ``layout`` from what ``inventory`` shows.

    ``waited`` says that the time a late disk is given has passed: what would be
    ``wait`` is then decided. ``settled`` says that no disk has come for a while, which is
    all that can be waited for where their number is not known; a preview takes it for
    granted, boot does not. Never raises, whatever the inventory holds.
    """
    names = {*layout.volume_names, *orders.remove}
    seen = gather(inventory, names)
    given_up = _given_up(seen, layout, orders, names)
    after = removal.afterwards(inventory, given_up)
    later = seen if after is inventory else gather(after, names)
    pools = disk_selection.allot(later, layout)
    twice = disk_selection.claimed_twice(layout)
    decided = [(one.name, one.outcome) for one in given_up]
    refused = {one.name for one in given_up if one.outcome.decision is Decision.REFUSE}
    for volume, pool in zip(layout.volumes, pools, strict=True):
        if volume.name in refused:
            continue
        if serials := twice.get(volume.name):
            outcome = refuse(
                f"volume '{volume.name}' names serials that another volume names, too:"
                f" {', '.join(serials)}",
                "give them to one volume",
            )
        else:
            outcome = _decide(
                Case(later, volume, pool, waited, settled or waited, grow=orders.grow)
            )
        decided.append((volume.name, outcome))
    outcomes = [outcome for _, outcome in decided]
    todo = _in_order([one.outcome for one in given_up], outcomes, orders)
    decisions = {outcome.decision for outcome in outcomes}
    return Plan(
        decision=next((one for one in _GRAVITY if one in decisions), Decision.NOTHING),
        digest=digest(seen, layout, orders, decided, todo),
        volumes=tuple(_summary(name, outcome) for name, outcome in decided),
        steps=todo,
    )


def _in_order(
    given_up: Sequence[Outcome], outcomes: Sequence[Outcome], orders: Orders
) -> tuple[Step, ...]:
    """All steps; a new layout is installed before anything is destroyed or made.

    But after what is removed was unmounted: that fails if it is in use, and then nothing has
    changed. Killed in between, the next boot mounts it again.
    """
    every = [step for outcome in outcomes for step in outcome.steps]
    if not orders.declare:
        return tuple(every)
    leaving = [step for outcome in given_up for step in outcome.steps if step.argv[0] == "umount"]
    rest = [step for step in every if step not in leaving]
    return (*leaving, steps.declare_step(orders.declare), *rest)


def _given_up(
    seen: Evidence, layout: Layout, orders: Orders, names: set[str]
) -> list[removal.GivenUp]:
    declared = set(layout.volume_names)
    orders_done = [
        removal.remove(seen, name, declared=name in declared)
        for name in dict.fromkeys(orders.remove)
    ]
    if not orders.erase:
        return orders_done
    selected = {disk.id: disk for pool in disk_selection.allot(seen, layout) for disk in pool.disks}
    ours = {hwraid.virtual_name(one.name) for one in layout.volumes if one.stripe == "hw-raid0"}
    for drive in seen.inventory.virtual_drives:
        disk = hardware.disk_of(seen, drive)
        if disk is not None and drive.name in ours:
            selected[disk.id] = disk
    return orders_done + [
        removal.erase(seen, serial, selected.values(), names & declared)
        for serial in dict.fromkeys(orders.erase)
    ]


def _summary(name: str, outcome: Outcome) -> VolumePlan:
    return VolumePlan(
        name=name,
        decision=outcome.decision,
        reason=outcome.reason,
        disks=tuple(disk.path for disk in outcome.disks),
        hint=outcome.hint,
        settles=outcome.settles,
        reading=outcome.reading,
    )


def _decide(case: Case) -> Outcome:
    seen, volume, pool = case.seen, case.volume, case.pool
    if volume.stripe == "hw-raid0":
        return hardware.decide(case)
    refusal = _twins(seen, pool) or _stranger(seen, volume, pool) or _anonymous(seen, volume, pool)
    if refusal:
        return refusal
    outcome = existing.decide(case) if pool.own else create.decide(case)
    return outcome if case.waited else _while_reading(volume, pool, outcome)


def _while_reading(volume: Volume, pool: Pool, outcome: Outcome) -> Outcome:
    """``outcome``, or to wait for as long as nothing but reading has to end."""
    against = [disk for disk, _ in pool.against]
    if not against or not all(identity.being_read(disk) for disk in against):
        return outcome
    if outcome.decision is Decision.WAIT and (not pool.own or volume.on_loss == "recreate"):
        return replace(outcome, settles=False, reading=True)
    if outcome.decision is Decision.REFUSE and set(outcome.disks) == set(against):
        return Outcome(Decision.WAIT, outcome.reason, outcome.disks, reading=True)
    return outcome


def _twins(seen: Evidence, pool: Pool) -> Outcome | None:
    if not seen.twins:
        return None
    theirs = [*pool.disks, *(one.disk for one in pool.strays)]
    twins = [disk for disk in theirs if disk.id in seen.twins]
    if not twins:
        return None
    return refuse(
        "disks that cannot be told apart (the same id, path, serial or LVM physical volume):"
        f" {list_disks(twins)}",
        "the same disk may be visible twice (multipath), or one is a copy of the other; make each"
        " appear once",
        twins,
    )


def _anonymous(seen: Evidence, volume: Volume, pool: Pool) -> Outcome | None:
    """Without a machine id nothing could show, now or later, that a volume is this machine's."""
    if not seen.machine.anonymous or not seen.privileged or volume.select.serials:
        return None
    own = [one.disk for one in pool.own]
    return refuse(
        f"this machine has no machine id, so nothing shows that volume '{volume.name}' is its own"
        + (f": {list_disks(own)}" if own else ""),
        "give it one (systemd-machine-id-setup) and reboot; or name the disks: select ="
        " { serials = [...] }",
        own,
    )


def _stranger(seen: Evidence, volume: Volume, pool: Pool) -> Outcome | None:
    """Our name where it cannot be ours: on disks that are not selected, on a foreign array."""
    if pool.strays:
        disks = [one.disk for one in pool.strays]
        where = "no instance storage" if volume.select.kind and not volume.select.role else ""
        return refuse(
            f"the name of volume '{volume.name}' is on {list_disks(disks)}, which is"
            f" {where or 'not selected by the layout'}",
            "an image or snapshot of a member may be attached: detach it, or give the volume"
            " another name in the layout",
            disks,
        )
    ids = {one.disk.id for one in pool.own}
    for array in seen.inventory.arrays:
        ours = md.volume_of(array.name) == volume.name
        if ours and not ids & set(array.members):
            return refuse(
                f"{array.path} runs as '{array.name}', but not on disks of the volume with that"
                " name",
                f"see 'mdadm --detail {array.path}'; stop it, or give the volume another name",
            )
        if not ours and array.name.rpartition(":")[2] == volume.name and not ids:
            return refuse(
                f"{array.path} runs as '{array.name}', a foreign array in the place of"
                f" {md.array_path(volume.name)}",
                f"see 'mdadm --detail {array.path}'; stop it, or give the volume another name",
            )
    for group in seen.groups_of(volume.name):
        if not ids & set(group.members):
            return refuse(
                f"a volume group {group.name} is on other disks: {', '.join(group.members)}",
                "detach them, or give the volume another name",
            )
    return None
