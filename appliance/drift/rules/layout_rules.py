"""Layout drift: what was declared, and came up, against what is there now. Pure.

One cause, one fact: of a volume whose stripe is gone or was recreated nothing more is said, and
the machine's disks are not counted again where a member that is missing says it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from appliance.drift.codes import fact
from appliance.drift.looks.observation import Observation, name_of
from appliance.drift.rules import mount_rules, stripe_rules
from appliance.model.disks import DiskKind
from appliance.model.findings import DriftSeverity, Fact
from appliance.storage.formats import lvm, md

# Stripes that cannot do without any of their members.
_NO_MIRROR = frozenset({"", "raid0", "lvm-stripe", "hw-raid0"})


def judge(seen: Observation) -> tuple[Fact, ...]:
    """Everything that is not as it should be. Volumes that could not be looked at are left out
    (:attr:`Observation.blind`).
    """
    facts: list[Fact] = []
    replaced = []
    for volume in seen.volumes:
        stripe = stripe_rules.judge(seen, volume)
        facts += stripe.facts
        if stripe.array is not None:
            replaced.append(stripe.array.kernel_name)
        if not stripe.recreated and stripe.number:
            codes = {one.code for one in stripe.facts}
            lost = "ARRAY-BROKEN" in codes or (
                "MEMBER-MISSING" in codes and volume.level in _NO_MIRROR
            )
            facts += mount_rules.judge(seen, volume, stripe.number, lost_a_disk=lost)
    counted = _disk_count(seen, facts)
    told = {one.volume for one in facts if one.code == "MEMBER-COUNT"}
    facts += counted or _declared_count(seen, told)
    facts += _appeared(seen, replaced)
    return tuple(facts)


def _disk_count(seen: Observation, facts: Sequence[Fact]) -> list[Fact]:
    """The local disks that the machine's type is sold with."""
    expected = seen.machine.expected_disks
    if expected is None or ("DISK-COUNT", "") in seen.blind:
        return []
    local = [name_of(disk) for disk in seen.disks if disk.kind is DiskKind.INSTANCE_STORE]
    gone = {one.member for one in facts if one.code == "MEMBER-MISSING"} - set(local)
    if expected in {len(local), len(local) + len(gone)}:
        return []
    return [
        fact(
            "DISK-COUNT",
            f"{expected} local disks",
            f"{len(local)} local disks",
            subject=seen.machine.machine_type,
            # More of them do no harm.
            severity=DriftSeverity.NOTICE if len(local) > expected else None,
            evidence={"serials": ", ".join(local)},
            count=len(local),
        )
    ]


def _declared_count(seen: Observation, told: Iterable[str]) -> Iterator[Fact]:
    """The members that the layout counts or names. A controller's drives are no disks here."""
    for volume in seen.volumes:
        wanted = seen.declared(volume)
        if wanted is None or wanted.stripe == "hw-raid0" or volume.name in told:
            continue
        count, members = wanted.select.count or len(wanted.select.serials), volume.slot_count
        if count and members and count != members:
            yield fact(
                "MEMBER-COUNT",
                f"{count} members",
                f"{members} members",
                volume=volume.name,
                why=" as the layout declares",
            )


def _appeared(seen: Observation, replaced: Sequence[str]) -> Iterator[Fact]:
    """Arrays and groups that are neither declared nor were there when the volumes came up."""
    if seen.built_then is None:
        return
    now = {_key(key): name for key, name in seen.built_now.items()}
    if seen.seen is not None and seen.seen.groups is not None:
        now |= {_key(f"vg:{one.uuid}"): one.name for one in seen.seen.groups}
    known = {_key(one) for one in seen.built_then}
    known |= {_key(f"vg:{one.uuid}") for one in seen.groups_then}
    known |= {_key(f"{kind}:{one.uuid}") for one in seen.volumes for kind in ("md", "vg")}
    held = {}
    for array in seen.arrays:
        # Without udev's word it goes by its kernel name.
        keys = {_key(f"md:{array.uuid}"), _key(f"md:{array.kernel_name}")}
        held.update(dict.fromkeys(keys, ", ".join(map(name_of, array.holds))))
        if array.kernel_name in replaced or _key(f"md:{array.kernel_name}") in known:
            known |= keys
    ours = {of(name) for name in seen.layout.volume_names for of in (md.array_name, lvm.group_name)}
    for key, name in now.items():
        if key in known or name in ours:
            continue
        kind, _, uuid = key.partition(":")
        what, evidence = "volume group", {}
        look = f"stripewright inventory; as root: vgs -o +devices {shlex.quote(name)}"
        if kind == "md":
            what, evidence = "md array", {"disks": held.get(key, "")}
            look = "cat /proc/mdstat; as root: mdadm --detail --scan"
        yield fact(
            "ARRAY-APPEARED",
            f"no {what} but those of the declared volumes",
            f"{what} {name} {uuid}",
            subject=name or uuid,
            identity=key,
            evidence=evidence,
            what=what,
            look=look,
        )


def _key(key: str) -> str:
    """``md:UUID`` or ``vg:UUID`` in one form: udev, md and LVM group the digits as they like."""
    kind, _, uuid = key.partition(":")
    return f"{kind}:{uuid.replace(':', '').replace('-', '')}"
