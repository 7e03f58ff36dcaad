"""Whose disk is it: which volume's name a disk carries, and on which machine that was made. Pure.

:func:`gather` sorts an inventory by that, once for each plan: a machine may have a thousand disks.

A disk carries a volume by an md superblock, by membership in a volume group, by a filesystem's
label on the whole disk, or by our mark alone. With anything besides it is not ours. What we
make says on which machine (docs/decisions/0014): the first eight bytes of an array's and of a
plain filesystem's UUID, a tag of a volume group.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from appliance.model.disks import (
    Array,
    Disk,
    Inventory,
    LogicalVolume,
    Machine,
    Mark,
    MarkState,
    MdMember,
    VolumeGroup,
)
from appliance.storage.formats import filesystem, lvm, md, serials

_UUID_DIGITS = 32
_HOST_DIGITS = 16
_HEX = frozenset("0123456789abcdef")

# array_state of an array that exists but does not run (Documentation/admin-guide/md.rst).
_NOT_RUNNING = frozenset({"clear", "inactive"})


class Form(StrEnum):
    """What a volume's part on a disk is. ``BARE``: nothing but the mark of a creation."""

    MD = "an md array"
    LVM = "an LVM volume group"
    PLAIN = "a filesystem on the whole disk"
    BARE = "a disk that was being made into it"


@dataclass(frozen=True, slots=True)
class Trace:
    """That a disk carries a volume.

    ``marked``: the mark of the making is on it. ``making``: and what was made is not finished, so
    nothing was stored since. ``leaving``: a removal of the volume released it and was killed before
    its signature went.
    """

    volume: str
    form: Form
    making: bool = False
    leaving: bool = False
    marked: bool = False


# A member of an array, with what its superblock says.
Member = tuple[Disk, MdMember]


@dataclass(frozen=True, slots=True)
class Carrier:
    """A disk with the trace of a volume."""

    disk: Disk
    trace: Trace


def trace(disk: Disk, names: Collection[str]) -> Trace | None:
    """Which volume ``disk`` carries; ``names`` are those whose label is ours on a plain disk."""
    mark = disk.mark
    marked = mark.volume if mark and mark.state is MarkState.MAKING else ""
    kinds = {signature.kind for signature in disk.signatures}
    held = _held(disk, kinds, names, marked)
    if held is None:
        # What is on it besides does not come from making the volume.
        if kinds or not marked or (mark is not None and mark.intact is False):
            return None
        return Trace(marked, Form.BARE, making=True, marked=True)
    volume, form = held
    if marked and marked != volume:
        # Our own mark contradicts what is there: it is not overwritten.
        return Trace(volume, form)
    # A disk that another volume gave up and that joined a running array may still say so.
    leaving = mark is not None and mark.volume == volume and mark.state is MarkState.RELEASED
    return Trace(volume, form, making=bool(marked), leaving=leaving, marked=bool(marked))


def _held(
    disk: Disk, kinds: set[str], names: Collection[str], marked: str
) -> tuple[str, Form] | None:
    if kinds == {md.SIGNATURE}:
        # Seen without root, udev has the array's name as the label.
        unread = disk.md_member is None and disk.blank is None
        name = disk.md_member.array_name if disk.md_member else ""
        volume = md.volume_of(next(iter(disk.signatures)).label if unread else name)
        return (volume, Form.MD) if volume else None
    if kinds == {lvm.SIGNATURE} and disk.lvm_member is not None:
        group = disk.lvm_member.group
        volume = lvm.volume_named(group) if group else marked
        return (volume, Form.LVM) if volume else None
    if filesystem.is_one(kinds):
        found = disk.filesystem
        label = found.label if found else next(iter(disk.signatures)).label
        if label and (label in names or label == marked):
            return label, Form.PLAIN
        if marked and found is not None and found.unfinished:
            return marked, Form.PLAIN
    return None


def group_tagged(group: VolumeGroup, volume: str) -> bool:
    """Whether the group's tag agrees with its name; both must."""
    return set(lvm.tags(volume, "")) <= set(group.tags)


def host_of(uuid: str) -> str:
    """The machine that a UUID of ours names (16 digits), empty if it is no UUID."""
    found = digits(uuid)
    return found[:_HOST_DIGITS] if len(found) == _UUID_DIGITS else ""


def host_of_carrier(carrier: Carrier, group: VolumeGroup | None) -> str:
    """The machine on which what the disk carries was made, empty if it does not say."""
    disk = carrier.disk
    mark = disk.mark.host_tag if disk.mark else ""
    match carrier.trace.form:
        case Form.MD:
            if disk.md_member is not None:
                return host_of(disk.md_member.array_uuid)
            return host_of(next((one.uuid for one in disk.signatures), ""))
        case Form.LVM:
            member = disk.lvm_member
            if member is None or not member.group:
                return mark
            return lvm.host_of(group.tags if group else member.tags)
        case Form.PLAIN:
            uuid = disk.filesystem.uuid if disk.filesystem else ""
            found = host_of(uuid or next((one.uuid for one in disk.signatures), ""))
            # Half a filesystem may not have got its UUID yet; the mark says who was at work.
            return mark if carrier.trace.making else found
        case _:
            return mark


def new_uuid(host_tag: str, volume: str, disks: Collection[Disk]) -> str:
    """The UUID for what is about to be made of ``disks``: 32 digits, empty without host tag.

    It follows from what is there alone, so that planning twice gives the same; and it is another
    one whenever the disks were marked, made or released in between.
    """
    found = host_tag + _digest(volume, disks)
    return found[:_UUID_DIGITS] if _is_tag(host_tag) else ""


def new_filesystem_uuid(host_tag: str, volume: str, disks: Collection[Disk]) -> str:
    """As :func:`new_uuid`, for the filesystem, which has one without a host tag, too: it tells
    under the marks of the making whether mkfs has ended.
    """
    found = (host_tag if _is_tag(host_tag) else "") + _digest(volume, disks, "filesystem")
    return found[:_UUID_DIGITS]


def _is_tag(host_tag: str) -> bool:
    return len(host_tag) == _HOST_DIGITS and set(host_tag) <= _HEX


def _digest(volume: str, disks: Collection[Disk], *what: str) -> str:
    parts = [
        *what,
        volume,
        *sorted(disk.serial or disk.id for disk in disks),
        *sorted(disk.mark.nonce for disk in disks if disk.mark),
        *sorted(disk.md_member.array_uuid for disk in disks if disk.md_member),
        *sorted(disk.lvm_member.pv_uuid for disk in disks if disk.lvm_member),
        *sorted(disk.filesystem.uuid for disk in disks if disk.filesystem),
    ]
    # Text from disks may hold lone surrogates; and its parts must not run into each other.
    raw = b"\0".join(part.encode("utf-8", "surrogatepass").hex().encode() for part in parts)
    return hashlib.sha256(raw).hexdigest()


def released(mark: Mark | None) -> bool:
    return mark is not None and mark.state is MarkState.RELEASED


def digits(uuid: str) -> str:
    """A UUID however it is written, as digits alone; empty if it is none."""
    text = uuid.lower().replace(":", "").replace("-", "")
    return text if set(text) <= _HEX else ""


# ------------------------------------------------------------------------- the inventory


def twins(disks: Sequence[Disk]) -> Iterator[tuple[Disk, Disk, str]]:
    """Disks that cannot be told apart: each with another one, and what they have in common.

    Commands name a disk by its path or link, orders and layouts by its serial, records by its id;
    and of two with the UUID of one LVM physical volume LVM takes either.
    """
    found: dict[tuple[str, str], list[Disk]] = {}
    for disk in disks:
        for name in dict.fromkeys(_names(disk)):
            found.setdefault(name, []).append(disk)
    for (what, value), same in found.items():
        if value and len(same) > 1:
            yield from ((one, same[1] if at == 0 else same[0], what) for at, one in enumerate(same))


def _names(disk: Disk) -> Iterator[tuple[str, str]]:
    yield "serial", serials.plain(disk.serial)
    yield "id", disk.id
    yield "path", disk.path
    yield "path", disk.stable_path
    for signature in disk.signatures:
        if signature.kind == lvm.SIGNATURE:
            yield "LVM physical volume", signature.uuid


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen, by disk id and by volume name."""

    inventory: Inventory
    disks: tuple[Disk, ...]
    by_id: dict[str, Disk]
    traces: dict[str, Trace]
    carriers: dict[str, tuple[Carrier, ...]]
    twins: frozenset[str] = frozenset()
    arrays_of: dict[str, tuple[Array, ...]] = field(default_factory=dict)
    groups: dict[str, tuple[VolumeGroup, ...]] = field(default_factory=dict)

    @property
    def machine(self) -> Machine:
        return self.inventory.machine

    @property
    def privileged(self) -> bool:
        return self.inventory.privileged

    def arrays_on(self, disks: Iterable[Disk]) -> tuple[Array, ...]:
        """The arrays that the kernel has on any of ``disks``, each once."""
        found = {id(one): one for disk in disks for one in self.arrays_of.get(disk.id, ())}
        return tuple(sorted(found.values(), key=lambda one: (one.uuid, one.path)))

    def group(self, volume: str, uuid: str = "") -> VolumeGroup | None:
        """The volume's group, by uuid where one is given."""
        found = self.groups_of(volume)
        return next((one for one in found if not uuid or one.uuid == uuid), None)

    def groups_of(self, volume: str) -> tuple[VolumeGroup, ...]:
        """All groups with the volume's name."""
        return self.groups.get(lvm.group_name(volume), ())

    def holders(self, disk: Disk) -> frozenset[str]:
        """The kernel names of what is ours on ``disk``: our array, our logical volumes."""
        found = self.traces.get(disk.id)
        if found is None:
            return frozenset()
        if found.form is Form.LVM:
            return self._mapped(disk, found.volume)
        return frozenset(
            array.path.rpartition("/")[2]
            for array in self.arrays_of.get(disk.id, ())
            if md.volume_of(array.name) == found.volume or not array.name
        )

    def _mapped(self, disk: Disk, volume: str) -> frozenset[str]:
        """Kernel names (dm-0) say nothing: as many are ours as are active on this disk.

        An extension that was killed may have loaded its table and not written the group: then
        our volume holds a disk on which it has no segment, and only its own name tells.
        """
        group = self.group(volume)
        ours = [
            one
            for one in (group.volumes if group else ())
            if one.active and any(disk.id in segment for segment in one.segments)
        ]
        mapped = [name for name in disk.holders if name.startswith("dm-")]
        known = {one.path.rpartition("/")[2] for one in ours}
        if group is not None and disk.id in group.members:
            own = {lvm.mapped_note(group.name, one.name) for one in group.volumes if one.active}
            notes = zip(disk.holders, disk.holder_notes, strict=False)
            known |= {name for name, note in notes if note in own}
        return frozenset(mapped) if len(mapped) <= len(ours) else frozenset(known)


def gather(inventory: Inventory, names: Collection[str]) -> Evidence:
    """Sort ``inventory``; ``names`` are the volumes whose label is ours on a plain disk."""
    disks = tuple(sorted(inventory.disks, key=_stable_order))
    by_id = {disk.id: disk for disk in disks}
    seen = [(disk, trace(disk, names)) for disk in disks]
    carriers: defaultdict[str, list[Carrier]] = defaultdict(list)
    for disk, found in seen:
        if found is not None:
            carriers[found.volume].append(Carrier(disk, found))
    arrays_of: defaultdict[str, list[Array]] = defaultdict(list)
    for array in inventory.arrays:
        for member in set(array.members):
            arrays_of[member].append(array)
    groups: defaultdict[str, list[VolumeGroup]] = defaultdict(list)
    for group in inventory.groups:
        groups[group.name].append(group)
    return Evidence(
        inventory=inventory,
        disks=disks,
        by_id=by_id,
        traces={disk.id: found for disk, found in seen if found is not None},
        carriers={name: tuple(found) for name, found in carriers.items()},
        twins=frozenset(one.id for one, _, _ in twins(disks)),
        arrays_of={name: tuple(found) for name, found in arrays_of.items()},
        groups={name: tuple(found) for name, found in groups.items()},
    )


def runs(array: Array) -> bool:
    return array.state not in _NOT_RUNNING


def volume_in(group: VolumeGroup, name: str) -> LogicalVolume | None:
    return next((one for one in group.volumes if one.name == name), None)


def _stable_order(disk: Disk) -> tuple[str, str, int, str]:
    return (disk.id, disk.serial, disk.size_bytes, disk.path)
