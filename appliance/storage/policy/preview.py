"""What a layout would come to, while it is being typed. Pure; the planner itself decides.

It goes by the inventory that the boot unit left, so it is an estimate: the plan that is confirmed
reads the disks again. A disk that boot had no reason to open, because only this layout names it,
is taken as blank and listed as unread.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from appliance.model.disks import Disk, Inventory
from appliance.model.plans import Decision, Destruction, Layout, Orders, Volume, VolumePlan
from appliance.storage.formats import filesystem, hwraid, lvm, md
from appliance.storage.policy import create, identity, planner
from appliance.storage.policy.ownership import Form

_STAYS = {Decision.ASSEMBLE, Decision.GROW, Decision.NOTHING}
_MADE = {Decision.CREATE, Decision.RECREATE, *_STAYS}
_TAKES = {Decision.WAIT, *_MADE}


@dataclass(frozen=True, slots=True)
class PreviewDisk:
    """A disk, and in ``reason`` why it is or is not used."""

    path: str
    serial: str
    size_bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class VolumePreview:
    """What becomes of one volume.

    ``capacity_bytes`` is the device's, before what a filesystem takes for itself, ``None`` where
    there is none or it shows only when it is made. ``chunk_bytes`` is ``None`` for one disk,
    ``sunit_bytes`` and ``swidth_bytes`` also without a filesystem. ``unread`` are paths of disks
    that are only taken as blank.
    """

    name: str
    decision: Decision
    reason: str
    hint: str
    disks: tuple[PreviewDisk, ...]
    capacity_bytes: int | None = None
    chunk_bytes: int | None = None
    sunit_bytes: int | None = None
    swidth_bytes: int | None = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """``volumes``: removed ones first, then those of the layout in its order. ``unused`` are the
    disks that no volume has, ``destroys`` is what the steps would overwrite, each disk once.
    """

    decision: Decision
    volumes: tuple[VolumePreview, ...]
    unused: tuple[PreviewDisk, ...]
    destroys: tuple[Destruction, ...]


def preview(layout: Layout, inventory: Inventory, remove: Sequence[str] = ()) -> Preview:
    """What ``layout`` comes to on the disks of ``inventory`` once the volumes ``remove`` are gone.

    Those are taken out of the layout first. Never raises.
    """
    declared = tuple(one for one in layout.volumes if one.name not in remove)
    layout = replace(layout, volumes=declared)
    found, unread = _identified(inventory, layout)
    orders = Orders(remove=tuple(dict.fromkeys(remove)), grow=True)
    made = planner.plan(found, layout, waited=True, orders=orders)
    released = {
        path: f"released from volume '{one.name}' by this plan"
        for one in made.volumes
        for path in one.disks
        if one.decision is Decision.REMOVE
    }
    disks = {
        disk.path: replace(disk, reason=released.get(disk.path, disk.reason))
        for disk in found.disks
    }
    volumes = {one.name: one for one in declared}
    taken = {path for one in made.volumes if one.decision in _TAKES for path in one.disks}
    # What a disk holds now is what its first step overwrites.
    lost: dict[str, Destruction] = {}
    for one in (one for step in made.steps for one in step.destroys):
        lost.setdefault(one.id, one)
    return Preview(
        decision=made.decision,
        volumes=tuple(
            _volume(volumes.get(one.name), one, found, disks, unread) for one in made.volumes
        ),
        unused=tuple(_shown(disk) for path, disk in disks.items() if path not in taken),
        destroys=tuple(lost.values()),
    )


def _identified(inventory: Inventory, layout: Layout) -> tuple[Inventory, set[str]]:
    """The disks as ``layout`` sees them; which of them were not read, by path."""
    # What the layout of then said of them.
    bare = [replace(one, role="", reason="", hint="") for one in inventory.disks]
    found = identity.identify_all(
        bare, inventory.arrays, inventory.groups, layout, inventory.machine
    )
    unread = {
        disk.path
        for disk, before in zip(found, inventory.disks, strict=True)
        if disk.claimable and not before.claimable and disk.blank is None and not disk.signatures
    }
    disks = tuple(replace(one, blank=True) if one.path in unread else one for one in found)
    return replace(inventory, disks=disks), unread


def _shown(disk: Disk) -> PreviewDisk:
    return PreviewDisk(disk.path, disk.serial, disk.size_bytes, disk.reason)


def _volume(
    volume: Volume | None,
    made: VolumePlan,
    inventory: Inventory,
    disks: dict[str, Disk],
    unread: Collection[str],
) -> VolumePreview:
    chosen = [disks[path] for path in made.disks]
    bare = VolumePreview(
        name=made.name,
        decision=made.decision,
        reason=made.reason,
        hint=made.hint,
        disks=tuple(map(_shown, chosen)),
        unread=tuple(disk.path for disk in chosen if disk.path in unread),
    )
    if volume is None or made.decision not in _MADE:
        return bare
    if volume.stripe == "hw-raid0":
        capacity, members = _hardware(volume, inventory)
    else:
        capacity, members = _capacity(volume, made.decision, chosen, inventory)
    stripe = filesystem.alignment(volume, members)
    if stripe is None:
        return replace(bare, capacity_bytes=capacity)
    chunk, data = stripe
    aligned = volume.filesystem != "none"
    return replace(
        bare,
        capacity_bytes=capacity,
        chunk_bytes=chunk,
        sunit_bytes=chunk if aligned else None,
        swidth_bytes=chunk * data if aligned else None,
    )


# -------------------------------------------------------------------------------- capacity


def _capacity(
    volume: Volume, decision: Decision, disks: Sequence[Disk], inventory: Inventory
) -> tuple[int | None, int]:
    """(capacity, members): what runs if that stays as it is, else what is made of ``disks``."""
    count = len(disks)
    if not disks:
        return None, 0
    form = create.form_of(volume, count)
    if form is Form.PLAIN:
        size = disks[0].size_bytes
        return size if volume.filesystem == "none" else filesystem.plain_size(size), count
    if form is Form.LVM:
        return _group(volume, decision, disks, inventory)
    name = md.array_name(volume.name)
    running = [one for one in inventory.arrays if one.name == name]
    if running and decision is Decision.NOTHING:
        return running[0].size_bytes, running[0].member_count
    if decision not in _STAYS:
        # mdadm takes the offset of the first disk for all.
        offset = md.data_offset_bytes(disks[0].size_bytes, volume.chunk_bytes)
        return md.capacity_bytes(volume, [one.size_bytes - offset for one in disks]), count
    areas = [_area(disk, grow=decision is Decision.GROW) for disk in disks]
    members = [one.md_member.member_count for one in disks if one.md_member is not None]
    # One that is missing would have as much as the smallest.
    areas += [min(areas)] * (max(members, default=count) - count)
    return md.capacity_bytes(volume, areas), len(areas)


def _area(disk: Disk, *, grow: bool) -> int:
    """What an array has of a disk that is its member."""
    member = disk.md_member
    if member is not None and member.device_bytes and not grow:
        return member.device_bytes
    return disk.size_bytes - ((member.data_offset_bytes if member else None) or 0)


def _group(
    volume: Volume, decision: Decision, disks: Sequence[Disk], inventory: Inventory
) -> tuple[int | None, int]:
    """(capacity, stripes); one that grows by more disks is as wide as before."""
    name = lvm.group_name(volume.name)
    found = [
        one
        for group in inventory.groups
        if group.name == name and decision in _STAYS
        for one in group.volumes
        if one.name == volume.name and one.segments
    ]
    width = len(found[0].segments[0]) if found else len(disks)
    if found and decision is not Decision.GROW:
        return found[0].size_bytes, width
    # How LVM stripes over what was added to unequal disks shows when it did.
    if decision is Decision.GROW and len({disk.size_bytes for disk in disks}) > 1:
        return None, width
    return lvm.capacity_bytes(volume, [disk.size_bytes for disk in disks]), width


def _hardware(volume: Volume, inventory: Inventory) -> tuple[int | None, int]:
    """(capacity, drives) of a virtual drive; how large a new one is, its controller decides."""
    name = hwraid.virtual_name(volume.name)
    for drive in inventory.virtual_drives:
        if drive.name == name:
            return drive.size_bytes, len(drive.drives)
    return None, len(volume.select.serials)
