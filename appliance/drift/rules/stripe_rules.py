"""Is a volume's stripe still the one that came up: md arrays, logical volumes, drives. Pure.

What follows from another fact is no fact of its own: of an array that is gone not that it has no
members, of one recreated with another chunk not that it has another UUID.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from appliance.drift.codes import fact
from appliance.drift.looks.observation import ArrayNow, Observation, kernel_name, name_of
from appliance.model.disks import ARRAY_RUNS, ARRAY_WRITABLE, LogicalVolume, VolumeGroup
from appliance.model.findings import Fact
from appliance.state import live_state
from appliance.state.boot_state import BootMember, BootVolume
from appliance.storage.formats import hwraid, lvm, md
from appliance.text import size

_RESTS = frozenset({"", "clear", "inactive"})
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
    return fact("ARRAY-MISSING", expected, observed, volume=volume.name)


def _gone(volume: BootVolume, member: BootMember, *, unnoticed: bool = False) -> Fact:
    """A disk of the volume has left the machine; ``unnoticed``: its array goes on as if not."""
    where = f"slot {member.slot}" if volume.level else "the only one"
    return fact(
        "MEMBER-MISSING",
        f"disk {member.name} in {where}",
        "no such disk on this machine",
        subject=member.name,
        volume=volume.name,
        member=member.name,
        evidence={"slot": member.slot, "was": member.path, "id": member.id},
        where=where,
        kernel_name=member.kernel_name,
        late="; the array has not noticed yet, the next I/O to it fails" if unnoticed else "",
    )


def _all_gone(seen: Observation, volume: BootVolume) -> list[Fact]:
    return [_gone(volume, one) for one in volume.members if seen.disk(one) is None]


def _only(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ""


# ------------------------------------------------------------------------------- md arrays


def _array(seen: Observation, volume: BootVolume) -> Stripe:
    array = _find(seen, volume)
    if array is None or array.md.state in _RESTS:
        state = array and f"it is {array.md.state or 'not running'}"
        absent = _missing(volume, f"md array {volume.uuid}", state or "there is no such array")
        return Stripe((absent, *_all_gone(seen, volume)), "", recreated=True, array=array)
    recreated = bool(array.uuid) and _digits(array.uuid) != _digits(volume.uuid)
    shape = [*_shape(seen, volume, array), *_order(seen, volume, array)]
    if recreated and not shape:
        found = f"array {array.uuid} ({array.name or array.kernel_name}) on the same disks"
        shape = [_missing(volume, f"md array {volume.uuid}", found)]
    facts = (*_state(volume, array), *_members(seen, volume, array), *shape)
    return Stripe(facts, array.number, recreated=recreated, array=array)


def _find(seen: Observation, volume: BootVolume) -> ArrayNow | None:
    """The volume's array; failing that, what has its name, or is made of its disks."""
    wanted, name, ours = _digits(volume.uuid), md.array_name(volume.name), _here(seen, volume)
    fitting = (
        *(one for one in seen.arrays if wanted and _digits(one.uuid) == wanted),
        *(one for one in seen.arrays if one.name == name),
        *(one for one in seen.arrays if any(disk.id in ours for disk in one.holds)),
    )
    return next(iter(fitting), None)


def _digits(uuid: str) -> str:
    return uuid.replace(":", "").replace("-", "").lower()


def _here(seen: Observation, volume: BootVolume) -> set[str]:
    """The ids of the volume's disks that are on this machine."""
    return {disk.id for one in volume.members if (disk := seen.disk(one))}


def _state(volume: BootVolume, array: ArrayNow) -> Iterator[Fact]:
    """What md says of the array as a whole."""
    held = {one.slot: one for one in array.slots}
    lost = [
        member.name
        for member in volume.members
        # The array does not have it, or has failed it.
        if (now := held.get(member.slot)) is None or now.disk is None or "faulty" in now.state
    ]
    names, state, degraded = ", ".join(lost), array.md.state, array.md.degraded
    of_state = {"array": array.kernel_name, "array_state": state}
    # RAID0 and linear that have lost a member are "broken"; the rest of the array goes on with I/O.
    runs = state in ARRAY_RUNS
    if not runs:
        yield fact(
            "ARRAY-BROKEN",
            "array_state clean or active",
            f"array_state {state}",
            identity=f"{array.uuid} {state}",
            volume=volume.name,
            member=_only(lost),
            evidence={**of_state, "lost": names},
            lost_members=f"; lost: {names}" if names else "",
            place=volume.mount or volume.device,
        )
    elif state not in ARRAY_WRITABLE:
        # "No resync can happen, no superblocks get written": all is there, and writes fail.
        yield fact(
            "ARRAY-READONLY",
            "array_state clean or active",
            f"array_state {state}",
            identity=f"{array.uuid} {state}",
            volume=volume.name,
            evidence=of_state,
        )
    if runs and degraded:
        sync = "" if array.md.sync_action == "frozen" else live_state.sync_words(array.md)
        yield fact(
            "ARRAY-DEGRADED",
            f"{array.md.raid_disks} members in sync",
            f"{degraded} missing or not in sync",
            identity=f"{array.uuid} lacks {degraded}",
            volume=volume.name,
            member=_only(lost),
            evidence={
                "array": array.kernel_name,
                "degraded": degraded,
                "degraded_at_boot": volume.degraded,
                "lost": names,
                "sync": sync,
            },
            slots=array.md.raid_disks,
            lost_members=f": {names}" if names else "",
            syncing=f" ({sync})" if sync else "",
        )


def _members(seen: Observation, volume: BootVolume, array: ArrayNow) -> Iterator[Fact]:
    """Each member that has left the machine, with nothing in its place. One that is here, and
    that the array has failed, makes it degraded.
    """
    same = array.md.raid_disks == volume.slot_count
    taken = {one.slot for one in array.slots if same and one.disk is not None}
    unnoticed = array.md.state in ARRAY_RUNS and not array.md.degraded
    for member in volume.members:
        if member.slot not in taken and seen.disk(member) is None:
            yield _gone(volume, member, unnoticed=unnoticed)


def _shape(seen: Observation, volume: BootVolume, array: ArrayNow) -> Iterator[Fact]:
    """Level, chunk and number of members, against what came up and what is declared."""
    declared, now = seen.declared(volume), array.md
    level, chunk = volume.level, volume.chunk_bytes or 0
    if declared is not None and declared.stripe.startswith("md-"):
        level = md.level_of(declared) if now.level == level else level
        chunk = declared.chunk_bytes if now.chunk_bytes == chunk else chunk
    for code, expected, observed in (
        ("STRIPE-LEVEL", f"level {level}", f"level {now.level}"),
        ("STRIPE-CHUNK", f"chunk {size(chunk)}", f"chunk {size(now.chunk_bytes)}"),
    ):
        if expected != observed:
            evidence = {
                "array": array.kernel_name,
                "uuid": array.uuid,
                "uuid_at_boot": volume.uuid,
            }
            yield fact(code, expected, observed, volume=volume.name, evidence=evidence)
    if now.raid_disks != volume.slot_count:
        held = {disk.id for disk in array.holds}
        out = [one.name for one in volume.members if one.id not in held]
        names = ", ".join(out)
        yield fact(
            "MEMBER-COUNT",
            f"{volume.slot_count} members",
            f"{now.raid_disks} members",
            volume=volume.name,
            member=_only(out),
            evidence={"array": array.kernel_name, "without": names},
            why=f"; without {names}" if names else "",
        )


def _order(seen: Observation, volume: BootVolume, array: ArrayNow) -> Iterator[Fact]:
    """Other disks in the members' places, or the same in another order."""
    if array.md.raid_disks != volume.slot_count:
        return
    ours, moved = _here(seen, volume), False
    held = {one.slot: one.disk for one in array.slots}
    for member in volume.members:
        disk, own = held.get(member.slot), seen.disk(member)
        if disk is None or (own is not None and disk.id == own.id):
            continue
        if disk.id in ours:
            moved = True
            continue
        name = name_of(disk)
        yield fact(
            "MEMBER-SWAPPED",
            f"disk {member.name} in slot {member.slot}",
            f"disk {name} ({kernel_name(disk.path)}) in slot {member.slot}",
            subject=name,
            volume=volume.name,
            member=name,
            evidence={"slot": member.slot, "was": member.name, "is": name},
            array=array.kernel_name,
        )
    if moved:
        yield fact(
            "MEMBER-ORDER",
            ", ".join(one.name for one in volume.members),
            ", ".join(name_of(one.disk) if one.disk else "none" for one in array.slots),
            volume=volume.name,
            evidence={"array": array.kernel_name},
        )


# ------------------------------------------------------------- logical volumes and drives


def _logical(seen: Observation, volume: BootVolume) -> Stripe:
    """A logical volume and its disks."""
    note = lvm.mapped_note(lvm.group_name(volume.name), volume.name)
    number = seen.mapped.get(note)
    lost = _all_gone(seen, volume)
    if number is None:
        absent = _missing(volume, note, "it is not active")
        return Stripe((absent, *lost), "", recreated=True)
    # With a disk gone, how the stripes lie says no more.
    return Stripe(tuple(lost or _segments(seen, volume)), number)


def _segments(seen: Observation, volume: BootVolume) -> Iterator[Fact]:
    """How the stripes lie, as LVM itself says it to root."""
    then = _of_groups(seen.groups_then, volume)
    now = _of_groups(seen.seen.groups or () if seen.seen else (), volume)
    if then and now and (before := _words(then, volume)) != (after := _words(now, volume)):
        group = lvm.group_name(volume.name)
        yield fact("LVM-SEGMENTS", before, after, volume=volume.name, group=group)


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


def _drive(seen: Observation, volume: BootVolume) -> Stripe:
    """A single disk, or a RAID controller's virtual drive, which is one for the kernel."""
    facts = tuple(_hardware(seen, volume)) if volume.level == "hw-raid0" else ()
    if not volume.members:
        return Stripe(facts, "")
    disk = seen.disk(volume.members[0])
    if disk is None:
        return Stripe((*facts, _gone(volume, volume.members[0])), "", recreated=True)
    return Stripe(facts, seen.numbers.get(disk.path, ""))


def _hardware(seen: Observation, volume: BootVolume) -> Iterator[Fact]:
    drives = (seen.seen and seen.seen.virtual_drives) or ()
    for drive in (one for one in drives if hwraid.volume_of(one.name) == volume.name):
        bad = [
            (one.serial or one.place, one.state)
            for one in (seen.seen and seen.seen.hardware_drives) or ()
            if one.controller == drive.controller
            and one.place in drive.drives
            and one.state != _DRIVE_ONLINE
        ]
        if drive.state == hwraid.OPTIMAL and not bad:
            continue
        names = ", ".join(f"{name} is {state}" for name, state in bad)
        yield fact(
            "HWRAID-STATE",
            f"virtual drive {hwraid.OPTIMAL}, each drive {_DRIVE_ONLINE}",
            f"virtual drive {drive.state}{f'; {names}' if names else ''}",
            volume=volume.name,
            member=_only([name for name, _ in bad]),
            evidence={"state": drive.state, "drives": names},
            where=f"/c{drive.controller}/v{drive.number}",
            bad_drives=f": drive {names}" if names else "",
        )
