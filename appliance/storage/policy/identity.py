"""What each disk is, whose it is, and whether it may be used, with a sentence that says why. Pure.

A disk is claimable when three things hold: it is known as instance storage (by its exact model,
by the provider's metadata, or by an operator's rule) or is a network volume that the layout names;
nothing speaks against it (:mod:`appliance.storage.policy.exclusions`); and it is either blank, or
carries the name of one of our volumes, or was released by one. What is not recognised
is left alone; there is no rule by elimination.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from appliance.clouds.provider import provider
from appliance.data import DiskRule, InstanceType, disk_rule, instance_type
from appliance.model.disks import Array, Disk, DiskKind, Machine, MarkState, VolumeGroup
from appliance.model.plans import Layout, OperatorRule
from appliance.storage.formats import lvm, md, serials
from appliance.storage.policy import exclusions, ownership
from appliance.storage.policy.layout import DEFAULT_LAYOUT

_UNKNOWN = Machine()
# The type's size against the disk's own: the provider's GB may be GiB, and is rounded.
_SIZE_TOLERANCE = 0.1


# ------------------------------------------------------------------------------ what it is


def data_rule(disk: Disk) -> DiskRule | None:
    """The rule of :mod:`appliance.data` that recognises the disk."""
    return disk_rule(
        transport=disk.transport,
        vendor=disk.vendor,
        model=disk.model,
        cloud_name=disk.cloud_name,
    )


def operator_rule(disk: Disk, rules: Collection[OperatorRule]) -> OperatorRule | None:
    """The first of the layout's rules that is about this disk: every field set must be equal."""
    for rule in rules:
        named = bool(rule.serials or rule.model or rule.cloud_name)
        if (
            named
            and (not rule.serials or serials.plain(disk.serial) in map(serials.plain, rule.serials))
            and rule.vendor in {"", disk.vendor}
            and rule.model in {"", disk.model}
            and rule.cloud_name in {"", disk.cloud_name}
        ):
            return rule
    return None


def classify(
    disk: Disk, rules: Collection[OperatorRule] = (), machine: Machine = _UNKNOWN
) -> DiskKind:
    """What kind of disk this is; what the system runs from is that first, whatever a rule says.

    An operator's rule decides only where neither model nor metadata do.
    """
    if disk.holds_root:
        return DiskKind.SYSTEM
    known = data_rule(disk)
    if known and known.kind is not DiskKind.UNKNOWN:
        return known.kind
    if _is_ephemeral(disk, machine):
        return DiskKind.INSTANCE_STORE
    rule = operator_rule(disk, rules)
    return rule.kind if rule and rule.kind else DiskKind.UNKNOWN


def _is_ephemeral(disk: Disk, machine: Machine) -> bool:
    """Whether the provider's metadata gives this Xen disk as instance storage of this type.

    The size has to be right, too: the names are what an image asked for, not what it got.
    """
    name = disk.path.rpartition("/")[2]
    sold = instance_type(machine.machine_type)
    if disk.transport != "xen" or name not in machine.ephemeral_names:
        return False
    return sold is not None and has_size(disk, sold)


def has_size(disk: Disk, sold: InstanceType) -> bool:
    """Whether the disk has the size of those that a machine type is sold with."""
    if sold.disk_size_bytes is None:
        return False
    ratio = disk.size_bytes / sold.disk_size_bytes
    return 1 - _SIZE_TOLERANCE <= ratio <= 1 + _SIZE_TOLERANCE


def named_by(disk: Disk, layout: Layout) -> bool:
    """Whether the layout names this very disk: by its serial, or by a rule that gives a role."""
    named = {serials.plain(one) for volume in layout.volumes for one in volume.select.serials}
    return serials.plain(disk.serial) in named or bool(_role(disk, layout))


def _role(disk: Disk, layout: Layout) -> str:
    rule = operator_rule(disk, layout.rules)
    return rule.role if rule and rule.role else disk.role


def may_be_read(disk: Disk, layout: Layout, machine: Machine = _UNKNOWN) -> bool:
    """Whether the disk could be used, so that it may be opened at all."""
    kind = classify(disk, layout.rules, machine)
    return kind is DiskKind.INSTANCE_STORE or (kind is DiskKind.NETWORK and named_by(disk, layout))


def persists(disk: Disk, layout: Layout, machine: Machine = _UNKNOWN) -> bool:
    """Whether the disk may hold stored data: samples cannot show that it is blank."""
    return disk.seen_before or classify(disk, layout.rules, machine) is not DiskKind.INSTANCE_STORE


def being_read(disk: Disk) -> bool:
    """Whether ``disk`` is read in full and that has not ended; all so far was zero."""
    return disk.blank is None and disk.scan is not None


# ------------------------------------------------------------------------------ whose it is


def owner(disk: Disk, volume_names: Collection[str]) -> str:
    """The volume that this disk carries (:mod:`appliance.storage.policy.ownership`), else empty."""
    found = ownership.trace(disk, volume_names)
    return found.volume if found else ""


def _own_holders(
    disk: Disk, ours: str, arrays: Sequence[Array], groups: Sequence[VolumeGroup]
) -> set[str]:
    """The kernel names of those holders that are the running volume ``ours`` itself."""
    own = {
        array.path.rpartition("/")[2]
        for array in arrays
        if disk.id in array.members and array.name in {md.array_name(ours), ""}
    }
    # Without root there are no groups; then device-mapper's own word has to do.
    group = lvm.group_name(ours)
    volumes = {one.name for found in groups if found.name == group for one in found.volumes}
    mapped = {lvm.mapped_note(group, volume) for volume in volumes or {ours}}
    notes = dict(zip(disk.holders, disk.holder_notes, strict=False))
    return own | {name for name, note in notes.items() if note in mapped}


# ------------------------------------------------------------------------------ may it be used


def identify_all(
    disks: Sequence[Disk],
    arrays: Sequence[Array] = (),
    groups: Sequence[VolumeGroup] = (),
    layout: Layout = DEFAULT_LAYOUT,
    machine: Machine = _UNKNOWN,
) -> tuple[Disk, ...]:
    """Every disk identified; two that cannot be told apart are both refused."""
    same: dict[str, str] = {}
    for disk, other, what in ownership.twins(disks):
        same.setdefault(disk.path, f"{what} as {other.path}")
    return tuple(
        identify(disk, arrays, groups, layout, machine=machine, same=same.get(disk.path, ""))
        for disk in disks
    )


def identify(
    disk: Disk,
    arrays: Sequence[Array] = (),
    groups: Sequence[VolumeGroup] = (),
    layout: Layout = DEFAULT_LAYOUT,
    *,
    machine: Machine = _UNKNOWN,
    same: str = "",
) -> Disk:
    """``disk`` with ``kind``, ``role``, ``claimable`` and ``reason`` from its other facts.

    ``same``: what it has in common with a twin (:func:`ownership.twins`).
    """
    kind = classify(disk, layout.rules, machine)
    what = _what(disk, kind, machine)
    role = "" if kind is DiskKind.SYSTEM else _role(disk, layout)
    seen = replace(disk, kind=kind, role=role, claimable=False)
    if kind is DiskKind.SYSTEM:
        runs = "the running system is on this disk"
        return replace(seen, reason=runs if disk.holds_root else f"{what}: the system's")
    if kind is DiskKind.UNKNOWN:
        reason, hint = _unknown(seen)
        return replace(seen, reason=reason, hint=hint)
    if kind is DiskKind.NETWORK and not named_by(disk, layout):
        hint = "to use it, name its serial in a volume's select, or give it a role by a [[rule]]"
        return replace(seen, reason=f"{what}, no role given", hint=hint)
    ours = owner(disk, layout.volume_names)
    own = _own_holders(disk, ours, arrays, groups) if ours else set()
    against, hint = exclusions.find(disk, ours=ours, own_holders=own)
    if not against and same:
        against = f"has the same {same}, so the two cannot be told apart"
        hint = "the same disk may be visible twice (multipath); make each appear once"
    if against:
        return replace(seen, reason=against, hint=hint)
    return replace(seen, claimable=True, reason=_claim(disk, what, ours))


def _claim(disk: Disk, what: str, ours: str) -> str:
    mark = disk.mark
    if mark is not None and mark.state is MarkState.MAKING and ours:
        more = ", and holds what that does not write" if mark.intact is False else ""
        return f"{what}, volume '{ours}' was being made of it and is not finished{more}"
    if mark is not None and mark.state is MarkState.RELEASED and ours:
        return f"{what}, its release from volume '{mark.volume}' has not ended"
    if disk.blank:
        return f"{what}, blank" + (f" ({disk.scan.words(disk.size_bytes)})" if disk.scan else "")
    if mark is not None and mark.state is MarkState.RELEASED:
        return f"{what}, released from volume '{mark.volume}' and unchanged since"
    if not ours:
        return f"{what}, contents not read (needs root)"
    member = disk.md_member
    if member is None or member.slot is None:
        return f"{what}, carries our volume '{ours}'"
    return f"{what}, slot {member.slot} of {member.member_count} of our volume '{ours}'"


def _what(disk: Disk, kind: DiskKind, machine: Machine) -> str:
    rule = data_rule(disk)
    cloud = provider(rule.provider) if rule else None
    if rule and cloud and (what := cloud.describe(rule, disk.serial)):
        return what
    if rule and rule.kind is kind:
        return rule.what
    if _is_ephemeral(disk, machine):
        here = provider(machine.provider)
        return here.told_disk if here else "instance storage"
    return "instance storage" if kind is DiskKind.INSTANCE_STORE else "network volume"


def _unknown(disk: Disk) -> tuple[str, str]:
    hint = 'a [[rule]] of the layout with its serial and kind = "instance-store" can claim it'
    rule = data_rule(disk)
    if rule:
        return f"{rule.what}, left alone", hint
    if disk.transport == "xen":
        return (
            "Xen disk without a model, and the provider's metadata does not give it as instance"
            " storage of this machine type",
            f'a [[rule]] with cloud_name = "{disk.cloud_name}" and kind can say what it is',
        )
    name = " ".join(part for part in (disk.vendor.rstrip(), disk.model.rstrip()) if part)
    what = f"model '{name}' is not known" if name else "it names no model that is known"
    return f"{what} as any provider's instance storage", hint
