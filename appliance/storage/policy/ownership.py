"""Whose disk is it: which volume's name a disk carries, and on which machine that was made. Pure.

A disk carries a volume by an md superblock, by membership in a volume group, by a filesystem's
label on the whole disk, or by our mark alone. With anything besides it is nobody's. What we
make says on which machine (docs/decisions/0014): the first eight bytes of an array's and of a
plain filesystem's UUID, a tag of a volume group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from appliance.model import Disk, Mark, MarkState, VolumeGroup
from appliance.storage.formats import filesystem, lvm, md

_GROUP_PREFIX = "stripewright-"
_VOLUME_TAG = "stripewright:"
_UUID_DIGITS = 32
_HOST_DIGITS = 16
_HEX = frozenset("0123456789abcdef")

MD = "linux_raid_member"
LVM = "LVM2_member"


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
        # What is on it besides cannot be of the making.
        if kinds or not marked or (mark is not None and mark.intact is False):
            return None
        return Trace(marked, Form.BARE, making=True, marked=True)
    volume, form = held
    if marked and marked != volume:
        # Our own mark contradicts what is there: somebody's, and nobody's to overwrite.
        return Trace(volume, form)
    # A disk that another volume gave up and that joined a running array may still say so.
    leaving = mark is not None and mark.volume == volume and mark.state is MarkState.RELEASED
    return Trace(volume, form, making=bool(marked), leaving=leaving, marked=bool(marked))


def _held(
    disk: Disk, kinds: set[str], names: Collection[str], marked: str
) -> tuple[str, Form] | None:
    if kinds == {MD}:
        # Seen without root, udev has the array's name as the label.
        unread = disk.md_member is None and disk.blank is None
        name = disk.md_member.array_name if disk.md_member else ""
        volume = md.volume_of(next(iter(disk.signatures)).label if unread else name)
        return (volume, Form.MD) if volume else None
    if kinds == {LVM} and disk.lvm_member is not None:
        group = disk.lvm_member.group
        volume = group_volume(group) if group else marked
        return (volume, Form.LVM) if volume else None
    if filesystem.is_one(kinds):
        found = disk.filesystem
        label = found.label if found else next(iter(disk.signatures)).label
        if label and (label in names or label == marked):
            return label, Form.PLAIN
        if marked and found is not None and found.unfinished:
            return marked, Form.PLAIN
    return None


def group_name(volume: str) -> str:
    return _GROUP_PREFIX + volume


def group_volume(group: str) -> str:
    """The volume that a group's name means, empty if it is not ours."""
    return group.removeprefix(_GROUP_PREFIX) if group.startswith(_GROUP_PREFIX) else ""


def group_tagged(group: VolumeGroup, volume: str) -> bool:
    """Whether the group's tag agrees with its name; both must."""
    return f"{_VOLUME_TAG}{volume}" in group.tags


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
