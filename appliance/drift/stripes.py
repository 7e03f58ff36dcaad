"""What is said of a volume's stripe, and of those that are no md arrays: LVM's segments, drives of
RAID controllers, single disks. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.drift.facts import fact
from appliance.drift.observation import ArrayNow, Observation
from appliance.model import Fact, LogicalVolume, VolumeGroup
from appliance.state.boot_state import BootMember, BootVolume
from appliance.storage.formats import hwraid, lvm
from appliance.text import size

# storcli's word for a drive that does its part in a virtual drive.
_DRIVE_ONLINE = "Onln"
PLAN = "stripewright plan"


@dataclass(frozen=True, slots=True)
class Stripe:
    """What is said of one volume's stripe. ``number`` is the ``major:minor`` of its device now,
    empty if there is none; ``made_anew``: it is no longer the one that came up, so that what was
    on it is of no interest. ``array`` is the md array in its place.
    """

    facts: tuple[Fact, ...]
    number: str
    made_anew: bool = False
    array: ArrayNow | None = None


def missing(volume: BootVolume, expected: str, observed: str) -> Fact:
    """The volume's array, group or drive is not there any more."""
    return fact(
        "ARRAY-MISSING",
        volume.name,
        f"volume {volume.name} was up and is gone: {observed}",
        expected=expected,
        observed=observed,
        next_step=PLAN,
        volume=volume.name,
    )


def gone(volume: BootVolume, member: BootMember, *, unnoticed: bool = False) -> Fact:
    """A disk of the volume has left the machine; ``unnoticed``: its array goes on as if not."""
    where = f"slot {member.slot}" if volume.level else "the only one"
    late = "; the array has not noticed yet, the next I/O to it fails" if unnoticed else ""
    return fact(
        "MEMBER-MISSING",
        member.name,
        f"disk {member.name} of volume {volume.name} ({where}, {member.kernel_name}) is gone{late}",
        expected=f"disk {member.name} in {where}",
        observed="no such disk on this machine",
        next_step=f"lsblk -o NAME,SERIAL; journalctl -k -b | grep {member.kernel_name}; {PLAN}",
        volume=volume.name,
        member=member.name,
        evidence={"slot": member.slot, "was": member.path, "id": member.id},
    )


# -------------------------------------------------------- logical volumes, drives, plain disks


def logical(seen: Observation, volume: BootVolume) -> Stripe:
    """A logical volume and its disks."""
    note = lvm.mapped_note(lvm.group_name(volume.name), volume.name)
    device = next((one for one in seen.mapped if one.what == note), None)
    lost = [gone(volume, one) for one in volume.members if seen.disk(one) is None]
    if device is None:
        absent = missing(volume, note, "it is not active")
        return Stripe((absent, *lost), "", made_anew=True)
    return Stripe((*lost, *_segments(seen, volume, absent=bool(lost))), device.number)


def _segments(seen: Observation, volume: BootVolume, *, absent: bool) -> list[Fact]:
    """How the stripes lie, as LVM itself says it to root. With a disk gone, that is all there
    is to say.
    """
    then = _of_groups(seen.groups_then, volume)
    now = _of_groups(seen.seen.groups, volume) if seen.seen and seen.seen.groups else None
    if then is None or now is None or absent:
        return []
    expected, observed = _words(then, volume), _words(now, volume)
    if expected == observed:
        return []
    return [
        fact(
            "LVM-SEGMENTS",
            volume.name,
            f"the stripes of volume {volume.name} lie otherwise: {observed}",
            expected=expected,
            observed=observed,
            next_step=f"{PLAN}; as root: lvs --segments -o +devices {lvm.group_name(volume.name)}",
            volume=volume.name,
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


def drive(seen: Observation, volume: BootVolume) -> Stripe:
    """A single disk, or a RAID controller's virtual drive, which is one for the kernel."""
    facts = list(_hardware(seen, volume)) if volume.level == "hw-raid0" else []
    if not volume.members:
        return Stripe(tuple(facts), "")
    disk = seen.disk(volume.members[0])
    if disk is None:
        facts.append(gone(volume, volume.members[0]))
        return Stripe(tuple(facts), "", made_anew=True)
    return Stripe(tuple(facts), disk.number)


def _hardware(seen: Observation, volume: BootVolume) -> list[Fact]:
    facts: list[Fact] = []
    if seen.seen is None:
        return facts
    for drive in seen.seen.virtual_drives or ():
        if hwraid.volume_of(drive.name) != volume.name:
            continue
        bad = [
            one
            for one in seen.seen.hardware_drives
            if (one.controller, one.state != _DRIVE_ONLINE) == (drive.controller, True)
            and one.place in drive.drives
        ]
        where = f"/c{drive.controller}/v{drive.number}"
        if drive.state == hwraid.OPTIMAL and not bad:
            continue
        names = ", ".join(f"{one.serial or one.place} is {one.state}" for one in bad)
        facts.append(
            fact(
                "HWRAID-STATE",
                volume.name,
                f"virtual drive {where} of volume {volume.name} is {drive.state}"
                f"{f': drive {names}' if names else ''}",
                expected=f"virtual drive {hwraid.OPTIMAL}, each drive {_DRIVE_ONLINE}",
                observed=f"virtual drive {drive.state}{f'; {names}' if names else ''}",
                next_step=f"{PLAN}; as root: {hwraid.PROGRAM} {where} show all",
                volume=volume.name,
                member=(bad[0].serial or bad[0].place) if len(bad) == 1 else "",
                evidence={"state": drive.state, "drives": names},
            )
        )
    return facts
