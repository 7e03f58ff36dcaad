"""Layouts to start from, made for the disks that are there. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from appliance.model.disks import Disk, DiskKind, Inventory
from appliance.model.plans import Layout, Selector, Volume
from appliance.storage.policy.layout_draft import Draft


@dataclass(frozen=True, slots=True)
class Preset:
    """``why_not`` says why it cannot be had here, and is empty if it can."""

    key: str
    name: str
    about: str
    volumes: tuple[Volume, ...]
    why_not: str = ""


def own_disks(inventory: Inventory | None) -> tuple[Disk, ...]:
    """The instance storage: what volumes take that name no role and no serials."""
    disks = () if inventory is None else inventory.disks
    return tuple(one for one in disks if one.kind is DiskKind.INSTANCE_STORE and not one.role)


def presets(inventory: Inventory | None) -> tuple[Preset, ...]:
    """All of them, in the order in which they are offered."""
    count = len(own_disks(inventory))
    half = Selector(count=max(1, count // 2))
    few = "" if count >= 2 else f"it needs two disks of instance storage; {count} found"
    none = "" if count else "no instance storage was found here"
    rest = count - max(1, count // 2)
    return (
        Preset(
            "one", "one stripe of all disks",
            "md RAID0, 256 KiB chunks, XFS: fastest overall; one lost disk loses everything",
            (_volume("scratch"),), none,
        ),
        Preset(
            "halves", "two volumes of half the disks each",
            f"data has {half.count} of {count}, logs {rest}: one can fail without the other",
            (_volume("data", select=half), _volume("logs")), few,
        ),
        Preset(
            "log", "data and a log disk of its own",
            f"data is a stripe of {max(0, count - 1)}, log one plain disk: sequential writes only",
            (_volume("data"), _volume("log", select=Selector(count=1), stripe="single")), few,
        ),
        Preset(
            "ext4", "one stripe of all disks with ext4",
            "as the first, for software that supports only ext4; mkfs takes longer",
            (_volume("scratch", filesystem="ext4"),), none,
        ),
        Preset(
            "raid10", "mirrored stripe of all disks",
            "md RAID10, two copies of everything: half the capacity, a lost disk loses nothing",
            (_volume("mirror", stripe="md-raid10"),), few,
        ),
        Preset(
            "lvm", "LVM stripe of all disks",
            "LVM in place of md, 64 KiB chunks, XFS: for sites that use LVM",
            (_volume("scratch", stripe="lvm-stripe", chunk_bytes=64 * 1024),), few,
        ),
    )  # fmt: skip


def _volume(name: str, **changes: object) -> Volume:
    return Volume(name=name, mount=f"/mnt/{name}", **changes)  # type: ignore[arg-type]


def draft_from(preset: Preset, base: Layout, carried: Collection[str] = ()) -> Draft:
    """What has to be changed in ``base`` for the volumes of ``preset`` and no others.

    Volumes of ``base`` that differ from the preset are removed. As one plan cannot recreate a
    volume under its name, the new one then gets another name and mount point.
    """
    draft = Draft()
    taken = {*base.volume_names, *carried}
    kept = {volume.name for volume in preset.volumes if volume in base.volumes}
    for name in base.volume_names:
        if name not in kept:
            draft = draft.without(base, name)
    for volume in preset.volumes:
        if volume.name in kept:
            continue
        name = _free(volume.name, taken)
        taken.add(name)
        draft = draft.with_volume(base, replace(volume, name=name, mount=f"/mnt/{name}"))
    return draft


def _free(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name}{number}" for number in range(2, 100))
    return next(one for one in (name, *numbered) if one not in taken)
