"""Is the md array still the one that came up: state, members and their order, chunk, level. Pure.

What follows from another fact is not told: of an array that is gone nobody needs to hear that it
has no members, nor of one made anew with another chunk that it has another uuid.
"""

from __future__ import annotations

from appliance.drift.facts import fact
from appliance.drift.observation import ArrayNow, DiskNow, Observation, SlotNow
from appliance.drift.stripes import PLAN, Stripe, gone, missing
from appliance.model import Fact, Volume
from appliance.state.boot_state import BootMember, BootVolume
from appliance.storage.formats import md
from appliance.text import size

# Documentation/admin-guide/md.rst, array_state. "broken" is RAID0 and linear that have lost a
# member; the rest of the array goes on with I/O.
_RUNS = frozenset({"clean", "active", "active-idle", "write-pending", "read-auto"})
_RESTS = frozenset({"", "clear", "inactive"})
# "No resync can happen, no superblocks get written": all is there, and writes fail.
_READS_ONLY = "readonly"


def judge(seen: Observation, volume: BootVolume) -> Stripe:
    """The array of one volume that was up."""
    declared = next((one for one in seen.layout.volumes if one.name == volume.name), None)
    array = _find(seen, volume)
    lost = [gone(volume, one) for one in volume.members if seen.disk(one) is None]
    if array is None or array.state in _RESTS:
        state = (
            "there is no such array" if array is None else f"it is {array.state or 'not running'}"
        )
        absent = missing(volume, f"md array {volume.uuid}", state)
        return Stripe((absent, *lost), "", made_anew=True, array=array)
    anew = bool(array.uuid) and _digits(array.uuid) != _digits(volume.uuid)
    shape = [*_shape(volume, array, declared), *_order(seen, volume, array)]
    if anew and not shape:
        shape = [
            missing(
                volume,
                f"md array {volume.uuid}",
                f"array {array.uuid} ({array.name or array.kernel_name}) on the same disks",
            )
        ]
    facts = [*_state(volume, array), *_members(seen, volume, array), *shape]
    return Stripe(tuple(facts), array.number, made_anew=anew, array=array)


def _find(seen: Observation, volume: BootVolume) -> ArrayNow | None:
    """The volume's array; failing that, what has its name, or is made of its disks."""
    wanted = _digits(volume.uuid)
    name = md.array_name(volume.name)
    fitting = (
        *(one for one in seen.arrays if wanted and _digits(one.uuid) == wanted),
        *(one for one in seen.arrays if one.name == name),
        *(one for one in seen.arrays if _shares_disks(seen, volume, one)),
    )
    return next(iter(fitting), None)


def _shares_disks(seen: Observation, volume: BootVolume, array: ArrayNow) -> bool:
    ours = {disk.id for one in volume.members if (disk := seen.disk(one))}
    return any(disk.id in ours for disk in array.holds)


def _digits(uuid: str) -> str:
    return uuid.replace(":", "").replace("-", "").lower()


def _state(volume: BootVolume, array: ArrayNow) -> list[Fact]:
    """What md says of the array as a whole."""
    lacking = _lacking(volume, array)
    names = ", ".join(one.name for one in lacking)
    member = lacking[0].name if len(lacking) == 1 else ""
    facts = _read_only(volume, array) if array.state == _READS_ONLY else []
    if array.state not in _RUNS and not facts:
        what = f"array {array.kernel_name} is {array.state}"
        lost = f"; lost: {names}" if names else ""
        return [
            fact(
                "ARRAY-BROKEN",
                volume.name,
                f"volume {volume.name}: {what}: I/O to it fails{lost}",
                expected="array_state clean or active",
                observed=f"array_state {array.state}",
                identity=f"{array.uuid} {array.state}",
                next_step=f"stop what uses {volume.mount or volume.device}; journalctl -k -b;"
                f" {PLAN}",
                volume=volume.name,
                member=member,
                evidence={"array": array.kernel_name, "array_state": array.state, "lost": names},
            )
        ]
    if array.degraded == 0:
        return facts
    count = f"{array.degraded} of {array.slot_count} members"
    doing = f" ({array.sync})" if array.sync else ""
    return [
        *facts,
        fact(
            "ARRAY-DEGRADED",
            volume.name,
            f"volume {volume.name} lacks {count}{f': {names}' if names else ''}{doing}",
            expected=f"{array.slot_count} members in sync",
            observed=f"{array.degraded} missing or not in sync",
            identity=f"{array.uuid} lacks {array.degraded}",
            next_step="cat /proc/mdstat" if array.sync else PLAN,
            volume=volume.name,
            member=member,
            evidence={
                "array": array.kernel_name,
                "degraded": array.degraded,
                "degraded_at_boot": volume.degraded,
                "lost": names,
                "sync": array.sync,
            },
        ),
    ]


def _read_only(volume: BootVolume, array: ArrayNow) -> list[Fact]:
    return [
        fact(
            "ARRAY-READONLY",
            volume.name,
            f"volume {volume.name}: array {array.kernel_name} is readonly: it can be read,"
            " writes to it fail",
            expected="array_state clean or active",
            observed=f"array_state {array.state}",
            identity=f"{array.uuid} {array.state}",
            next_step="cat /proc/mdstat; journalctl -k -b; if somebody has set it so, as root:"
            f" mdadm --readwrite /dev/{array.kernel_name}",
            volume=volume.name,
            evidence={"array": array.kernel_name, "array_state": array.state},
        )
    ]


def _lacking(volume: BootVolume, array: ArrayNow) -> list[BootMember]:
    """The members that the array does not have, or has given up."""
    held = {one.slot: one for one in array.slots}
    return [
        member
        for member in volume.members
        if (now := held.get(member.slot)) is None or now.disk is None or "faulty" in now.state
    ]


def _members(seen: Observation, volume: BootVolume, array: ArrayNow) -> list[Fact]:
    """Each member that has left the machine, with nothing in its place. One that is here, and
    that the array has given up, makes it degraded.
    """
    taken = {one.slot for one in array.slots if one.disk is not None}
    if array.slot_count != volume.slot_count:
        taken = set()
    unnoticed = array.state in {*_RUNS, _READS_ONLY} and not array.degraded
    return [
        gone(volume, member, unnoticed=unnoticed)
        for member in volume.members
        if member.slot not in taken and seen.disk(member) is None
    ]


def _shape(volume: BootVolume, array: ArrayNow, declared: Volume | None) -> list[Fact]:
    """Level, chunk and number of members, against what came up and what is declared."""
    facts = []
    level, chunk = volume.level, volume.chunk_bytes or 0
    if declared is not None and declared.stripe.startswith("md-"):
        level = md.level_of(declared) if array.level == level else level
        chunk = declared.chunk_bytes if array.chunk_bytes == chunk else chunk
    for code, what, expected, observed in (
        ("STRIPE-LEVEL", "level", level, array.level),
        ("STRIPE-CHUNK", "chunk", size(chunk), size(array.chunk_bytes)),
    ):
        if expected != observed:
            facts.append(
                fact(
                    code,
                    volume.name,
                    f"the stripe of volume {volume.name} has {what} {observed}, not {expected}",
                    expected=f"{what} {expected}",
                    observed=f"{what} {observed}",
                    next_step=PLAN,
                    volume=volume.name,
                    evidence={
                        "array": array.kernel_name,
                        "uuid": array.uuid,
                        "uuid_at_boot": volume.uuid,
                    },
                )
            )
    if array.slot_count != volume.slot_count:
        held = {disk.id for disk in array.holds}
        out = [one for one in volume.members if one.id not in held]
        names = ", ".join(one.name for one in out)
        facts.append(
            fact(
                "MEMBER-COUNT",
                volume.name,
                f"volume {volume.name} has {array.slot_count} members, not {volume.slot_count}"
                f"{f'; without {names}' if names else ''}",
                expected=f"{volume.slot_count} members",
                observed=f"{array.slot_count} members",
                next_step=PLAN,
                volume=volume.name,
                member=out[0].name if len(out) == 1 else "",
                evidence={"array": array.kernel_name, "without": names},
            )
        )
    return facts


def _order(seen: Observation, volume: BootVolume, array: ArrayNow) -> list[Fact]:
    """Other disks in the members' places, or the same in another order."""
    if array.slot_count != volume.slot_count:
        return []
    ours = {disk.id for one in volume.members if (disk := seen.disk(one))}
    held = {one.slot: one for one in array.slots}
    facts, moved = [], False
    for member in volume.members:
        disk = _disk_in(held.get(member.slot))
        own = seen.disk(member)
        if disk is None or (own is not None and disk.id == own.id):
            continue
        if disk.id in ours:
            moved = True
            continue
        name = disk.serial or disk.id
        facts.append(
            fact(
                "MEMBER-SWAPPED",
                name,
                f"slot {member.slot} of volume {volume.name} holds disk {name}, not {member.name}",
                expected=f"disk {member.name} in slot {member.slot}",
                observed=f"disk {name} ({disk.kernel_name}) in slot {member.slot}",
                next_step=f"cat /proc/mdstat; {PLAN}; as root: mdadm --detail"
                f" /dev/{array.kernel_name}",
                volume=volume.name,
                member=name,
                evidence={"slot": member.slot, "was": member.name, "is": name},
            )
        )
    if moved:
        before = ", ".join(one.name for one in volume.members)
        now = ", ".join(_name_in(one) for one in array.slots)
        facts.append(
            fact(
                "MEMBER-ORDER",
                volume.name,
                f"the members of volume {volume.name} are in another order: {now}",
                expected=before,
                observed=now,
                next_step=f"cat /proc/mdstat; {PLAN}; as root: mdadm --detail"
                f" /dev/{array.kernel_name}",
                volume=volume.name,
                evidence={"array": array.kernel_name},
            )
        )
    return facts


def _disk_in(slot: SlotNow | None) -> DiskNow | None:
    return None if slot is None else slot.disk


def _name_in(slot: SlotNow) -> str:
    return (slot.disk.serial or slot.disk.id) if slot.disk else "none"
