"""Inventory × Layout -> Plan, or a refusal that a person can act on. Pure.

What is on the disks decides, never a state file. Each volume goes through the same
questions in the same order:

1. Is the volume's name on a disk? Then that is the volume, whole or not at all.
2. Does anything speak against an instance-storage disk? Then refuse and write nothing.
3. Are all the disks there that the machine type is sold with? Then create.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace

from appliance.model import (
    Decision,
    Disk,
    Inventory,
    Layout,
    Plan,
    Step,
    Volume,
    VolumePlan,
)
from appliance.storage import existing, identity, md, steps
from appliance.storage.steps import Outcome, call, count_disks, list_disks, refuse

# The plan as a whole is what its most serious volume is.
_GRAVITY = (
    Decision.REFUSE,
    Decision.WAIT,
    Decision.RECREATE,
    Decision.CREATE,
    Decision.ASSEMBLE,
    Decision.NOTHING,
)
_CLEAR_HINT = (
    "nothing was written. If the contents are needed, copy them elsewhere; if they are not,"
    " clear the disk yourself ('wipefs --no-act DISK' shows what is there); then reboot"
)


def plan(inventory: Inventory, layout: Layout, *, waited: bool, settled: bool = True) -> Plan:
    """Decide every volume of ``layout`` from what ``inventory`` shows.

    ``waited`` says that the time a late disk is given has passed: what would be
    ``wait`` is then decided. ``settled`` says that no disk has come for a while, which is
    all that can be waited for where the machine type does not tell their number; a preview
    takes it for granted, boot does not. Never raises, whatever the inventory holds.
    """
    outcomes = [
        _decide(volume, inventory, waited=waited, settled=settled or waited)
        for volume in layout.volumes
    ]
    volumes = tuple(
        VolumePlan(
            name=volume.name,
            decision=outcome.decision,
            reason=outcome.reason,
            disks=tuple(disk.path for disk in outcome.disks),
            hint=outcome.hint,
            settles=outcome.settles,
        )
        for volume, outcome in zip(layout.volumes, outcomes, strict=True)
    )
    decisions = {outcome.decision for outcome in outcomes}
    return Plan(
        decision=next((one for one in _GRAVITY if one in decisions), Decision.NOTHING),
        digest=_digest(inventory, layout, outcomes),
        volumes=volumes,
        steps=tuple(step for outcome in outcomes for step in outcome.steps),
    )


def _decide(volume: Volume, inventory: Inventory, *, waited: bool, settled: bool) -> Outcome:
    candidates = sorted(
        (disk for disk in inventory.disks if disk.kind is volume.select_kind),
        key=lambda disk: (disk.id, disk.path),
    )
    named = [d for d in inventory.disks if identity.owner(d, (volume.name,)) == volume.name]
    refusal = _twins(candidates) or _stranger(volume, inventory, named)
    if refusal:
        return refusal
    named = [disk for disk in candidates if disk in named]
    members = [(disk, disk.md_member) for disk in named if disk.md_member]
    plain = [disk for disk in named if {s.kind for s in disk.signatures} == {"xfs"}]
    if plain and len(named) > 1:
        return refuse(
            f"more than one array or filesystem carries the name '{volume.name}':"
            f" {list_disks(named)}",
            "find out which one is right and detach or rename the other",
            named,
        )
    if plain:
        return existing.decide_plain(
            volume, candidates, plain[0], _against(plain[0], volume, inventory)
        )
    if refusal := _refuse_against(named, volume, inventory):
        return refusal
    if members:
        against = {d.id: why for d in candidates if (why := _against(d, volume, inventory))}
        return _with_unused(
            existing.decide_array(
                volume, inventory, candidates, members, against=against, waited=waited
            ),
            candidates,
        )
    if named:
        return _seen_without_root(volume, inventory, named)
    return _fresh(volume, inventory, candidates, waited=waited, settled=settled)


def _with_unused(outcome: Outcome, candidates: Sequence[Disk]) -> Outcome:
    """Blank disks beside a whole volume are no part of it, and somebody pays for them."""
    used = {disk.id for disk in outcome.disks}
    unused = [disk for disk in candidates if disk.blank and disk.id not in used]
    if not unused or outcome.decision not in {Decision.NOTHING, Decision.ASSEMBLE}:
        return outcome
    more = f"; blank and not used: {list_disks(unused)}"
    return replace(outcome, reason=outcome.reason + more)


def _twins(candidates: Sequence[Disk]) -> Outcome | None:
    for what, values in (
        ("id", [disk.id for disk in candidates]),
        ("path", [disk.path for disk in candidates]),
    ):
        counts = Counter(values)
        twins = [d for d, value in zip(candidates, values, strict=True) if counts[value] > 1]
        if twins:
            return refuse(
                f"disks that cannot be told apart, the same {what}: {list_disks(twins)}",
                "the same disk may be visible twice (multipath); make each appear once",
                twins,
            )
    return None


def _stranger(volume: Volume, inventory: Inventory, named: Sequence[Disk]) -> Outcome | None:
    """Our name where it cannot be ours: on other kinds of disks, or on a foreign array."""
    strangers = [disk for disk in named if disk.kind is not volume.select_kind]
    if strangers:
        return refuse(
            f"the name of volume '{volume.name}' is on {list_disks(strangers)}, which is no"
            " instance storage",
            "an image or snapshot of a member may be attached: detach it, or give the volume"
            " another name in the layout",
            strangers,
        )
    ids = {disk.id for disk in named}
    for array in inventory.arrays:
        ours = md.volume_of(array.name) == volume.name
        if ours and not ids & set(array.members):
            return refuse(
                f"{array.path} runs as '{array.name}', but not on instance storage with that name",
                f"see 'mdadm --detail {array.path}'; stop it, or give the volume another name",
            )
        if not ours and array.name.rpartition(":")[2] == volume.name and not ids:
            return refuse(
                f"{array.path} runs as '{array.name}', a foreign array that takes the place of"
                f" {md.array_path(volume.name)}",
                f"see 'mdadm --detail {array.path}'; stop it, or give the volume another name",
            )
    return None


def _against(disk: Disk, volume: Volume, inventory: Inventory) -> str:
    """Why this disk must not be named in a plan, or an empty string.

    The inventory's own verdict counts, and so do its facts: a document from elsewhere
    may say "claimable" of a disk that it also shows with a signature.
    """
    against = identity.objection(disk, inventory.arrays, (volume.name,))
    if against:
        return against
    ours = identity.owner(disk, (volume.name,))
    stray = identity.owner(disk, ())
    if stray and ours != volume.name:
        return f"belongs to volume '{stray}', which is not in the layout"
    if not disk.claimable:
        return disk.reason or "is not claimable"
    if inventory.privileged and not ours and disk.blank is not True:
        return "was not read, so nobody knows that it is blank"
    return ""


def _refuse_against(disks: Sequence[Disk], volume: Volume, inventory: Inventory) -> Outcome | None:
    found = [(disk, reason) for disk in disks if (reason := _against(disk, volume, inventory))]
    if not found:
        return None
    return refuse(
        "; ".join(f"{call(disk)}: {reason}" for disk, reason in found),
        _CLEAR_HINT,
        [disk for disk, _ in found],
    )


def _seen_without_root(volume: Volume, inventory: Inventory, named: Sequence[Disk]) -> Outcome:
    """Members known only by udev's label: say what is there, as far as it can be seen."""
    ids = {disk.id for disk in named}
    array = next((one for one in inventory.arrays if ids & set(one.members)), None)
    if array is None:
        disks = sorted(named, key=lambda disk: disk.id)
        uuids = {signature.uuid for disk in disks for signature in disk.signatures}
        if len(uuids) > 1:
            return refuse(
                f"{len(uuids)} different arrays carry the name '{volume.name}':"
                f" {list_disks(disks)}",
                "detach the members that do not belong",
                disks,
            )
        device = md.array_path(volume.name)
        return Outcome(
            Decision.ASSEMBLE,
            f"{count_disks(len(disks))} of volume '{volume.name}' seen; without root it cannot be"
            " told whether that is all",
            tuple(disks),
            steps=(
                steps.assemble_step(volume, next(iter(uuids), ""), disks),
                steps.mount_step(volume, device),
            ),
        )
    by_id = {disk.id: disk for disk in named}
    ordered = [by_id[member] for member in array.members if member in by_id]
    return existing.decide_running(volume, inventory, array, ordered)


def _fresh(
    volume: Volume,
    inventory: Inventory,
    candidates: Sequence[Disk],
    *,
    waited: bool,
    settled: bool,
) -> Outcome:
    """Nothing of ours on any disk: all blank and all there, or not at all."""
    if against := _refuse_against(candidates, volume, inventory):
        return against
    machine = inventory.machine
    expected, found = machine.expected_disks, len(candidates)
    if found == 0 or (expected is not None and found < expected):
        sold = f"{machine.machine_type} has {expected}" if expected else "none was found so far"
        reason = f"found {count_disks(found)} of instance storage, {sold}"
        if not waited:
            return Outcome(Decision.WAIT, f"{reason}; waiting for more", tuple(candidates))
        if found == 0:
            return refuse(
                f"no instance storage: {reason}" if expected else "no instance storage found",
                "use a machine type with instance storage; 'stripewright inventory' says of each"
                " disk why it is not used",
            )
        if volume.on_short != "accept":
            return refuse(
                f"{reason}; here: {list_disks(candidates)}",
                "stop and start the machine to get other disks, or declare"
                ' on_short = "accept" in the layout to stripe what is there',
                candidates,
            )
        return _create(volume, candidates, f"{reason}; accepted by on_short")
    if expected is None and not settled:
        return Outcome(
            Decision.WAIT,
            f"found {count_disks(found)} of instance storage; the machine type"
            f" {machine.machine_type or '(unknown)'} does not tell how many there are, so waiting"
            " until no more come",
            tuple(candidates),
            settles=True,
        )
    if expected is None:
        reason = f"{count_disks(found)} of instance storage; the machine type is not in the data,"
        reason += " so their number could not be checked"
    elif found > expected:
        reason = f"{count_disks(found)} of instance storage, more than the {expected} that"
        reason += f" {machine.machine_type} has"
    else:
        reason = f"all {count_disks(found)} of instance storage that {machine.machine_type} has"
    return _create(volume, candidates, reason)


def _create(volume: Volume, disks: Sequence[Disk], reason: str) -> Outcome:
    reason += ", blank" if all(disk.blank for disk in disks) else ", not read without root"
    destroys = tuple(steps.destruction(disk, "blank") for disk in disks)
    if len(disks) == 1:
        device = steps.stable(disks[0])
        made: tuple[Step, ...] = (steps.mkfs_step(volume, device, members=1, destroys=destroys),)
    else:
        device = md.array_path(volume.name)
        made = (
            steps.create_step(volume, disks, destroys),
            steps.mkfs_step(volume, device, members=len(disks)),
        )
    return Outcome(
        Decision.CREATE,
        reason,
        tuple(disks),
        steps=(*made, steps.mount_step(volume, device)),
    )


# ------------------------------------------------------------------------------ digest


def _digest(inventory: Inventory, layout: Layout, outcomes: Sequence[Outcome]) -> str:
    """SHA-256 over the facts relied on and the steps, with kernel names taken out.

    A disk counts by its id and everything else that was seen of it, in the order of ids; its
    path is replaced by its id wherever it stands. Two looks at the same disks give the
    same digest whatever the kernel calls them; a swapped disk, a new signature or
    another layout gives another.
    """
    names = {disk.path: disk.id for disk in inventory.disks}
    names |= {disk.stable_path: disk.id for disk in inventory.disks if disk.stable_path}
    names |= {array.path: array.uuid for array in inventory.arrays}

    def neutral(value: object) -> object:
        if isinstance(value, str):
            return names.get(value, value)
        if isinstance(value, dict):
            return {key: neutral(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [neutral(item) for item in value]
        return value

    kinds = {volume.select_kind for volume in layout.volumes}
    facts = {
        "expected_disks": inventory.machine.expected_disks,
        "disks": sorted(
            (_facts(disk) for disk in inventory.disks if disk.kind in kinds),
            key=lambda one: json.dumps(one, sort_keys=True),
        ),
        "volumes": [asdict(volume) for volume in layout.volumes],
        "decisions": [outcome.decision for outcome in outcomes],
        "steps": [neutral(asdict(step)) for outcome in outcomes for step in outcome.steps],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _facts(disk: Disk) -> dict[str, object]:
    facts = asdict(disk)
    # Names that the kernel gives anew at each boot, and sentences that may contain them.
    for name in ("path", "stable_path", "reason", "holders", "partitions"):
        facts.pop(name)
    return {**facts, "held": bool(disk.holders), "partitioned": bool(disk.partitions)}
