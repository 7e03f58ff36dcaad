"""Is a volume's stripe still the one that came up: md arrays, logical volumes, drives. Pure.

What follows from another fact is not told: of an array that is gone not that it has no members,
of one recreated with another chunk not that it has another UUID.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.drift.codes import fact
from appliance.drift.observation import (
    ArrayNow,
    Observation,
    kernel_name,
    name_of,
)
from appliance.model.disks import Disk, LogicalVolume, VolumeGroup
from appliance.model.findings import Fact
from appliance.model.plans import Volume
from appliance.state.boot_state import BootMember, BootVolume
from appliance.storage.formats import hwraid, lvm, md
from appliance.text import size

# Documentation/admin-guide/md.rst, array_state. "broken" is RAID0 and linear that have lost a
# member; the rest of the array goes on with I/O.
_RUNS = frozenset({"clean", "active", "active-idle", "write-pending", "read-auto"})
_RESTS = frozenset({"", "clear", "inactive"})
# "No resync can happen, no superblocks get written": all is there, and writes fail.
_READS_ONLY = "readonly"
# storcli's word for a drive that does its part in a virtual drive.
_DRIVE_ONLINE = "Onln"


@dataclass(frozen=True, slots=True)
class Stripe:
    """What is said of one volume's stripe. ``number`` is the ``major:minor`` of its device now,
    empty if there is none; ``recreated``: it is no longer the one that came up, so that what was
    on it is of no interest. ``array`` is the md array in its place.
    """

    facts: tuple[Fact, ...]
    number: str
    recreated: bool = False
    array: ArrayNow | None = None


def judge(seen: Observation, volume: BootVolume) -> Stripe:
    """The stripe of one volume that was up."""
    if volume.level == "lvm-stripe":
        return _logical(seen, volume)
    if volume.level.startswith("raid"):
        return _array(seen, volume)
    return _drive(seen, volume)


def _missing(volume: BootVolume, expected: str, observed: str) -> Fact:
    """The volume's array, group or drive is not there any more."""
    return fact(
        "ARRAY-MISSING", volume.name, expected=expected, observed=observed, volume=volume.name
    )


def _gone(volume: BootVolume, member: BootMember, *, unnoticed: bool = False) -> Fact:
    """A disk of the volume has left the machine; ``unnoticed``: its array goes on as if not."""
    where = f"slot {member.slot}" if volume.level else "the only one"
    return fact(
        "MEMBER-MISSING",
        member.name,
        expected=f"disk {member.name} in {where}",
        observed="no such disk on this machine",
        volume=volume.name,
        member=member.name,
        evidence={"slot": member.slot, "was": member.path, "id": member.id},
        where=where,
        kernel_name=member.kernel_name,
        late="; the array has not noticed yet, the next I/O to it fails" if unnoticed else "",
    )


def _all_gone(seen: Observation, volume: BootVolume) -> list[Fact]:
    return [_gone(volume, one) for one in volume.members if seen.disk(one) is None]


# ------------------------------------------------------------------------------- md arrays


def _array(seen: Observation, volume: BootVolume) -> Stripe:
    """The array of one volume that was up."""
    array = _find(seen, volume)
    if array is None or array.state in _RESTS:
        state = (
            "there is no such array" if array is None else f"it is {array.state or 'not running'}"
        )
        absent = _missing(volume, f"md array {volume.uuid}", state)
        return Stripe((absent, *_all_gone(seen, volume)), "", recreated=True, array=array)
    recreated = bool(array.uuid) and _digits(array.uuid) != _digits(volume.uuid)
    shape = [*_shape(volume, array, seen.declared(volume)), *_order(seen, volume, array)]
    if recreated and not shape:
        found = f"array {array.uuid} ({array.name or array.kernel_name}) on the same disks"
        shape = [_missing(volume, f"md array {volume.uuid}", found)]
    facts = [*_state(volume, array), *_members(seen, volume, array), *shape]
    return Stripe(tuple(facts), array.number, recreated=recreated, array=array)


def _find(seen: Observation, volume: BootVolume) -> ArrayNow | None:
    """The volume's array; failing that, what has its name, or is made of its disks."""
    wanted, name = _digits(volume.uuid), md.array_name(volume.name)
    ours = {disk.id for one in volume.members if (disk := seen.disk(one))}
    fitting = (
        *(one for one in seen.arrays if wanted and _digits(one.uuid) == wanted),
        *(one for one in seen.arrays if one.name == name),
        *(one for one in seen.arrays if any(disk.id in ours for disk in one.holds)),
    )
    return next(iter(fitting), None)


def _digits(uuid: str) -> str:
    return uuid.replace(":", "").replace("-", "").lower()


def _state(volume: BootVolume, array: ArrayNow) -> list[Fact]:
    """What md says of the array as a whole."""
    lacking = _lacking(volume, array)
    names = ", ".join(one.name for one in lacking)
    member = lacking[0].name if len(lacking) == 1 else ""
    of_state = {"array": array.kernel_name, "array_state": array.state}
    if array.state not in {*_RUNS, _READS_ONLY}:
        return [
            fact(
                "ARRAY-BROKEN",
                volume.name,
                expected="array_state clean or active",
                observed=f"array_state {array.state}",
                identity=f"{array.uuid} {array.state}",
                volume=volume.name,
                member=member,
                evidence={**of_state, "lost": names},
                lost_members=f"; lost: {names}" if names else "",
                place=volume.mount or volume.device,
            )
        ]
    facts = []
    if array.state == _READS_ONLY:
        facts.append(
            fact(
                "ARRAY-READONLY",
                volume.name,
                expected="array_state clean or active",
                observed=f"array_state {array.state}",
                identity=f"{array.uuid} {array.state}",
                volume=volume.name,
                evidence=of_state,
            )
        )
    if array.degraded:
        facts.append(
            fact(
                "ARRAY-DEGRADED",
                volume.name,
                expected=f"{array.slot_count} members in sync",
                observed=f"{array.degraded} missing or not in sync",
                identity=f"{array.uuid} lacks {array.degraded}",
                volume=volume.name,
                member=member,
                evidence={
                    "array": array.kernel_name,
                    "degraded": array.degraded,
                    "degraded_at_boot": volume.degraded,
                    "lost": names,
                    "sync": array.sync,
                },
                slots=array.slot_count,
                lost_members=f": {names}" if names else "",
                syncing=f" ({array.sync})" if array.sync else "",
            )
        )
    return facts


def _lacking(volume: BootVolume, array: ArrayNow) -> list[BootMember]:
    """The members that the array does not have, or has failed."""
    held = {one.slot: one for one in array.slots}
    return [
        member
        for member in volume.members
        if (now := held.get(member.slot)) is None or now.disk is None or "faulty" in now.state
    ]


def _members(seen: Observation, volume: BootVolume, array: ArrayNow) -> list[Fact]:
    """Each member that has left the machine, with nothing in its place. One that is here, and
    that the array has failed, makes it degraded.
    """
    taken = {one.slot for one in array.slots if one.disk is not None}
    if array.slot_count != volume.slot_count:
        taken = set()
    unnoticed = array.state in {*_RUNS, _READS_ONLY} and not array.degraded
    return [
        _gone(volume, member, unnoticed=unnoticed)
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
    for code, expected, observed in (
        ("STRIPE-LEVEL", f"level {level}", f"level {array.level}"),
        ("STRIPE-CHUNK", f"chunk {size(chunk)}", f"chunk {size(array.chunk_bytes)}"),
    ):
        if expected != observed:
            facts.append(
                fact(
                    code,
                    volume.name,
                    expected=expected,
                    observed=observed,
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
                expected=f"{volume.slot_count} members",
                observed=f"{array.slot_count} members",
                volume=volume.name,
                member=out[0].name if len(out) == 1 else "",
                evidence={"array": array.kernel_name, "without": names},
                why=f"; without {names}" if names else "",
            )
        )
    return facts


def _order(seen: Observation, volume: BootVolume, array: ArrayNow) -> list[Fact]:
    """Other disks in the members' places, or the same in another order."""
    if array.slot_count != volume.slot_count:
        return []
    ours = {disk.id for one in volume.members if (disk := seen.disk(one))}
    held: dict[int, Disk | None] = {one.slot: one.disk for one in array.slots}
    facts, moved = [], False
    for member in volume.members:
        disk, own = held.get(member.slot), seen.disk(member)
        if disk is None or (own is not None and disk.id == own.id):
            continue
        if disk.id in ours:
            moved = True
            continue
        name = name_of(disk)
        facts.append(
            fact(
                "MEMBER-SWAPPED",
                name,
                expected=f"disk {member.name} in slot {member.slot}",
                observed=f"disk {name} ({kernel_name(disk.path)}) in slot {member.slot}",
                volume=volume.name,
                member=name,
                evidence={"slot": member.slot, "was": member.name, "is": name},
                array=array.kernel_name,
            )
        )
    if moved:
        facts.append(
            fact(
                "MEMBER-ORDER",
                volume.name,
                expected=", ".join(one.name for one in volume.members),
                observed=", ".join(
                    name_of(one.disk) if one.disk else "none" for one in array.slots
                ),
                volume=volume.name,
                evidence={"array": array.kernel_name},
            )
        )
    return facts


# ------------------------------------------------------------------------ logical volumes


def _logical(seen: Observation, volume: BootVolume) -> Stripe:
    """A logical volume and its disks."""
    note = lvm.mapped_note(lvm.group_name(volume.name), volume.name)
    number = seen.mapped.get(note)
    lost = _all_gone(seen, volume)
    if number is None:
        absent = _missing(volume, note, "it is not active")
        return Stripe((absent, *lost), "", recreated=True)
    # With a disk gone, how the stripes lie says no more.
    return Stripe((*lost, *([] if lost else _segments(seen, volume))), number)


def _segments(seen: Observation, volume: BootVolume) -> list[Fact]:
    """How the stripes lie, as LVM itself says it to root."""
    then = _of_groups(seen.groups_then, volume)
    now = _of_groups(seen.seen.groups, volume) if seen.seen and seen.seen.groups else None
    if then is None or now is None or (before := _words(then, volume)) == _words(now, volume):
        return []
    return [
        fact(
            "LVM-SEGMENTS",
            volume.name,
            expected=before,
            observed=_words(now, volume),
            volume=volume.name,
            group=lvm.group_name(volume.name),
        )
    ]


def _of_groups(groups: Sequence[VolumeGroup], volume: BootVolume) -> LogicalVolume | None:
    name = lvm.group_name(volume.name)
    made = (one for group in groups if group.name == name for one in group.volumes)
    return next((one for one in made if one.name == volume.name), None)


def _words(logical: LogicalVolume, volume: BootVolume) -> str:
    names = {one.id: one.name for one in volume.members}
    segments = "; ".join(
        " ".join(names.get(one, one) for one in segment) for segment in logical.segments
    )
    return f"{size(logical.size_bytes)} in stripes of {size(logical.stripe_bytes)} over {segments}"


# --------------------------------------------------------------------------------- drives


def _drive(seen: Observation, volume: BootVolume) -> Stripe:
    """A single disk, or a RAID controller's virtual drive, which is one for the kernel."""
    facts = _hardware(seen, volume) if volume.level == "hw-raid0" else []
    if not volume.members:
        return Stripe(tuple(facts), "")
    disk = seen.disk(volume.members[0])
    if disk is None:
        return Stripe((*facts, _gone(volume, volume.members[0])), "", recreated=True)
    return Stripe(tuple(facts), seen.numbers.get(disk.path, ""))


def _hardware(seen: Observation, volume: BootVolume) -> list[Fact]:
    facts: list[Fact] = []
    if seen.seen is None:
        return facts
    for drive in seen.seen.virtual_drives or ():
        if hwraid.volume_of(drive.name) != volume.name:
            continue
        bad = [
            one
            for one in seen.seen.hardware_drives or ()
            if one.controller == drive.controller
            and one.place in drive.drives
            and one.state != _DRIVE_ONLINE
        ]
        if drive.state == hwraid.OPTIMAL and not bad:
            continue
        names = ", ".join(f"{one.serial or one.place} is {one.state}" for one in bad)
        facts.append(
            fact(
                "HWRAID-STATE",
                volume.name,
                expected=f"virtual drive {hwraid.OPTIMAL}, each drive {_DRIVE_ONLINE}",
                observed=f"virtual drive {drive.state}{f'; {names}' if names else ''}",
                volume=volume.name,
                member=(bad[0].serial or bad[0].place) if len(bad) == 1 else "",
                evidence={"state": drive.state, "drives": names},
                where=f"/c{drive.controller}/v{drive.number}",
                bad_drives=f": drive {names}" if names else "",
            )
        )
    return facts
