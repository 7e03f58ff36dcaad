"""Layout drift: what was declared, and came up, against what is there now. Pure.

One cause, one fact: of a volume whose stripe is gone or was made anew nothing more is told, and
the machine's disks are not counted again where a member that is missing says it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from appliance.drift import arrays, mount_rules, stripes
from appliance.drift.facts import fact
from appliance.drift.observation import Observation
from appliance.model import DiskKind, DriftSeverity, Fact
from appliance.state.boot_state import BootVolume
from appliance.storage.formats import lvm, md

# Stripes that cannot do without any of their members.
_NO_MIRROR = frozenset({"", "raid0", "lvm-stripe", "hw-raid0"})


def judge(seen: Observation) -> tuple[Fact, ...]:
    """Everything that is not as it should be. Volumes that could not be looked at are left out
    (:attr:`Observation.blind`).
    """
    facts: list[Fact] = []
    found = {volume.name: _stripe(seen, volume) for volume in seen.volumes}
    for volume in seen.volumes:
        stripe = found[volume.name]
        facts += stripe.facts
        if not stripe.made_anew and stripe.number:
            codes = {one.code for one in stripe.facts}
            lost = "ARRAY-BROKEN" in codes or (
                "MEMBER-MISSING" in codes and volume.level in _NO_MIRROR
            )
            facts += mount_rules.judge(seen, volume, stripe.number, lost_a_disk=lost)
    counted = _disk_count(seen, facts)
    facts += counted
    if not counted:
        facts += _declared_count(seen, {one.volume for one in facts if one.code == "MEMBER-COUNT"})
    replaced = [one.array.kernel_name for one in found.values() if one.array is not None]
    facts += _appeared(seen, replaced)
    return tuple(facts)


def _stripe(seen: Observation, volume: BootVolume) -> stripes.Stripe:
    if volume.level == "lvm-stripe":
        return stripes.logical(seen, volume)
    if volume.level.startswith("raid"):
        return arrays.judge(seen, volume)
    return stripes.drive(seen, volume)


def _disk_count(seen: Observation, facts: Sequence[Fact]) -> list[Fact]:
    """The local disks that the machine's type is sold with."""
    expected = seen.machine.expected_disks
    if expected is None or ("DISK-COUNT", "") in seen.blind:
        return []
    local = [disk for disk in seen.disks if disk.alive and disk.kind is DiskKind.INSTANCE_STORE]
    gone = {one.member for one in facts if one.code == "MEMBER-MISSING"}
    gone -= {disk.serial or disk.id for disk in local}
    if len(local) == expected or len(local) + len(gone) == expected:
        return []
    return [
        fact(
            "DISK-COUNT",
            seen.machine.machine_type,
            f"{len(local)} local disks are here; {seen.machine.machine_type} has {expected}",
            expected=f"{expected} local disks",
            observed=f"{len(local)} local disks",
            next_step="stripewright inventory",
            # More of them do no harm.
            severity=DriftSeverity.NOTICE if len(local) > expected else None,
            evidence={"serials": ", ".join(disk.serial or disk.id for disk in local)},
        )
    ]


def _declared_count(seen: Observation, told: Iterable[str]) -> list[Fact]:
    """The members that the layout counts or names. A controller's drives are no disks here."""
    declared = {one.name: one for one in seen.layout.volumes if one.stripe != "hw-raid0"}
    facts = []
    for volume in seen.volumes:
        wanted = declared.get(volume.name)
        if wanted is None or volume.name in told:
            continue
        count = wanted.select.count or len(wanted.select.serials)
        members = volume.slot_count
        if count and members and count != members:
            facts.append(
                fact(
                    "MEMBER-COUNT",
                    volume.name,
                    f"volume {volume.name} has {members} members; the layout declares {count}",
                    expected=f"{count} members",
                    observed=f"{members} members",
                    next_step="stripewright plan",
                    volume=volume.name,
                )
            )
    return facts


def _appeared(seen: Observation, replaced: Sequence[str]) -> list[Fact]:
    """Arrays and groups that are neither declared nor were there when the volumes came up."""
    if seen.built_then is None:
        return []
    now = {_key(key): name for key, name in seen.built_now.items()}
    if seen.seen is not None and seen.seen.groups is not None:
        now |= {_key(f"vg:{one.uuid}"): one.name for one in seen.seen.groups}
    known = {_key(one) for one in seen.built_then}
    known |= {_key(f"vg:{one.uuid}") for one in seen.groups_then}
    known |= {_key(f"{kind}:{one.uuid}") for one in seen.volumes for kind in ("md", "vg")}
    for array in seen.arrays:
        # Without udev's word it went by its kernel name.
        if array.kernel_name in replaced or _key(f"md:{array.kernel_name}") in known:
            known |= {_key(f"md:{array.uuid}"), _key(f"md:{array.kernel_name}")}
    ours = {md.array_name(name) for name in seen.layout.volume_names}
    ours |= {lvm.group_name(name) for name in seen.layout.volume_names}
    facts = []
    for key, name in now.items():
        if key in known or name in ours:
            continue
        kind, _, uuid = key.partition(":")
        what = "md array" if kind == "md" else "volume group"
        facts.append(
            fact(
                "ARRAY-APPEARED",
                name or uuid,
                f"{what} {name or uuid} has appeared; nobody declared it",
                expected=f"no {what} but those of the declared volumes",
                observed=f"{what} {name} {uuid}",
                identity=key,
                next_step="cat /proc/mdstat; as root: mdadm --detail --scan"
                if kind == "md"
                else f"stripewright inventory; as root: vgs -o +devices {shlex.quote(name)}",
                evidence={"disks": _disks_of(seen, key)} if kind == "md" else {},
            )
        )
    return facts


def _key(key: str) -> str:
    """``md:UUID`` or ``vg:UUID`` in one form: udev, md and LVM group the digits as they like."""
    kind, _, uuid = key.partition(":")
    return f"{kind}:{uuid.replace(':', '').replace('-', '')}"


def _disks_of(seen: Observation, key: str) -> str:
    """The disks of the array with ``key`` (:func:`_key`)."""
    held = (
        one.holds
        for one in seen.arrays
        if key in {_key(f"md:{one.uuid}"), _key(f"md:{one.kernel_name}")}
    )
    return ", ".join(disk.serial or disk.id for disks in held for disk in disks)
