"""Which disks may be used, and a sentence for each that says why. Pure.

A disk is claimable when three things hold: its exact model is known as instance storage,
nothing speaks against it, and it is either blank or carries the name of one of our
volumes. What is not recognised is left alone; there is no rule by elimination.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from appliance.data import disk_rule
from appliance.model import Array, Disk, DiskKind, Signature
from appliance.storage import md

DEFAULT_VOLUME_NAMES = ("scratch",)
# Stands for what a disk may hold when it could not be read; so nothing may be written to it.
UNREADABLE = Signature(kind="unreadable")
_PARTITION_TABLES = {"gpt", "dos", "pmbr", "mac", "sun", "bsd", "sgi", "minix-pt", "atari"}


def classify(disk: Disk) -> DiskKind:
    """What kind of disk this is, by exact model; a disk that the system runs from is that first."""
    if disk.holds_root:
        return DiskKind.SYSTEM
    rule = disk_rule(transport=disk.transport, vendor=disk.vendor, model=disk.model)
    return rule.kind if rule else DiskKind.UNKNOWN


def owner(disk: Disk, volume_names: Collection[str]) -> str:
    """The volume whose name this disk carries, or an empty string.

    That is an md superblock named ``stripewright:<volume>``, or, without any md, a whole-disk
    XFS whose label is one of ``volume_names``. A disk that carries anything besides is nobody's.
    """
    kinds = {signature.kind for signature in disk.signatures}
    if disk.md_member is not None:
        return md.volume_of(disk.md_member.array_name) if kinds <= {"linux_raid_member"} else ""
    if kinds == {"linux_raid_member"} and disk.blank is None:
        # Seen without root: udev has the array's name as the label.
        return md.volume_of(disk.signatures[0].label)
    if kinds == {"xfs"}:
        label = disk.filesystem.label if disk.filesystem else disk.signatures[0].label
        return label if label in volume_names else ""
    return ""


def objection(disk: Disk, arrays: Sequence[Array], volume_names: Collection[str]) -> str:
    """The first thing that speaks against using an instance-storage disk, or an empty string."""
    ours = owner(disk, volume_names)
    own_holders = {
        array.path.rpartition("/")[2]
        for array in arrays
        if ours and disk.id in array.members and array.name in {md.array_name(ours), ""}
    }
    foreign_holders = [name for name in disk.holders if name not in own_holders]
    plain_of_ours = bool(ours) and all(found.kind == "xfs" for found in disk.signatures)
    if disk.size_bytes <= 0:
        return "has size zero"
    if disk.read_only:
        return "is read-only"
    if disk.mountpoints and not plain_of_ours:
        return f"is mounted at {', '.join(disk.mountpoints)}"
    if disk.swap:
        return "is used as swap"
    if disk.partitions:
        return f"has partitions: {', '.join(disk.partitions)}"
    if foreign_holders:
        return f"is held by {', '.join(foreign_holders)}"
    if disk.signatures and not ours:
        return _describe_signature(disk)
    if disk.busy and not own_holders and not disk.mountpoints:
        return "is opened exclusively by another program"
    if not ours and disk.blank is False:
        where = "" if disk.nonzero_offset_bytes is None else f" at 0x{disk.nonzero_offset_bytes:x}"
        return f"is not blank: no known signature, but data{where}"
    return ""


def identify(
    disk: Disk, arrays: Sequence[Array] = (), volume_names: Collection[str] = DEFAULT_VOLUME_NAMES
) -> Disk:
    """``disk`` with ``kind``, ``claimable`` and ``reason`` filled in from its other facts."""
    kind = classify(disk)
    if kind is DiskKind.SYSTEM:
        return replace(
            disk, kind=kind, claimable=False, reason="the running system is on this disk"
        )
    if kind is DiskKind.UNKNOWN:
        name = " ".join(part for part in (disk.vendor.rstrip(), disk.model.rstrip()) if part)
        what = f"model '{name}' is not known" if name else "it names no model that is known"
        return replace(
            disk,
            kind=kind,
            claimable=False,
            reason=f"{what} as any provider's instance storage",
        )
    if kind is DiskKind.NETWORK:
        return replace(disk, kind=kind, claimable=False, reason=_network_reason(disk))
    against = objection(disk, arrays, volume_names)
    if against:
        return replace(disk, kind=kind, claimable=False, reason=against)
    return replace(disk, kind=kind, claimable=True, reason=_claim(disk, volume_names))


def _claim(disk: Disk, volume_names: Collection[str]) -> str:
    rule = disk_rule(transport=disk.transport, vendor=disk.vendor, model=disk.model)
    what = rule.what if rule else "instance storage"
    ours = owner(disk, volume_names)
    if not ours:
        return f"{what}, blank" if disk.blank else f"{what}, contents not read (needs root)"
    member = disk.md_member
    if member is None or member.slot is None:
        return f"{what}, carries our volume '{ours}'"
    return f"{what}, slot {member.slot} of {member.member_count} of our volume '{ours}'"


def _describe_signature(disk: Disk) -> str:
    if UNREADABLE in disk.signatures:
        return "cannot be read, so nobody knows what it holds"
    # A table and what it holds are both reported; the filesystem or member says more.
    first = min(disk.signatures, key=lambda found: found.kind.lower() in _PARTITION_TABLES)
    if first.kind.lower() in _PARTITION_TABLES:
        return f"has a {first.kind} partition table{_where(first)}"
    if first.kind == "linux_raid_member":
        name = disk.md_member.array_name if disk.md_member else first.label
        known = f"'{name}'" if name else "without a name that can be believed"
        return f"is a member of another md array, {known}{_where(first)}"
    article = "an" if first.kind[:1].lower() in "aeioux" else "a"
    label = f", label '{first.label}'" if first.label else ""
    return f"holds {article} {first.kind} signature{_where(first)}{label}"


def _where(signature: Signature) -> str:
    return "" if signature.offset_bytes is None else f" at 0x{signature.offset_bytes:x}"


def _network_reason(disk: Disk) -> str:
    rule = disk_rule(transport=disk.transport, vendor=disk.vendor, model=disk.model)
    if rule and rule.provider == "aws" and disk.serial.startswith("vol"):
        # The NVMe serial is the volume id without its dash (amazon-ec2-utils, ebsnvme).
        return f"EBS volume vol-{disk.serial.removeprefix('vol').lstrip('-')}, no role given"
    return f"{rule.what if rule else 'network volume'}, no role given"
