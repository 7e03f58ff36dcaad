"""What a plan stands on, as one number. Pure.

SHA-256 over the facts relied on, the orders, the layout and the steps, with the kernel's names
taken out. Two looks at the same disks give the same digest whatever the kernel calls
them; a swapped disk, a new signature, a write to a disk that is to be overwritten, or another
layout gives another. What changes by itself while a volume is in use (update counts, a resync's
progress, what users write) is no fact that a plan relies on (docs/decisions/0038).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter

from appliance.model.disks import Array, Disk, Filesystem, VolumeGroup
from appliance.model.plans import Layout, Orders, Step, Volume
from appliance.storage.formats import filesystem, serials
from appliance.storage.policy.ownership import Evidence, runs
from appliance.storage.policy.steps import Outcome

# Attributes that are in the digest as they are.
_DISK = (
    "id", "model", "serial", "wwid", "slot", "vendor", "kind", "role", "claimable", "mountpoints",
    "swap", "read_only", "busy", "holds_root", "blank", "cloud_name", "claimed_by",
)  # fmt: skip
_ARRAY = ("name", "uuid", "level", "layout", "members", "member_count", "mountpoint")
_GROUP = ("name", "uuid", "tags", "members", "member_count", "member_bytes")
_MEMBER = attrgetter(
    "array_name", "array_uuid", "member_uuid", "level", "member_count", "chunk_bytes", "slot",
    "data_offset_bytes", "layout", "device_bytes", "reshaping",
)  # fmt: skip
_LVM = attrgetter("pv_uuid", "group", "group_uuid", "tags")
_FILESYSTEM = attrgetter(
    "kind", "label", "uuid", "sunit_bytes", "swidth_bytes", "unfinished", "size_bytes"
)
_MARK = attrgetter(
    "state", "volume", "host_tag", "offset_bytes", "nonce", "intact", "filesystem_uuid"
)
_LOGICAL = attrgetter("name", "size_bytes", "stripe_bytes", "segments", "active", "mountpoint")


def digest(
    seen: Evidence,
    layout: Layout,
    orders: Orders,
    decided: Sequence[tuple[str, Outcome]],
    steps: Sequence[Step],
) -> str:
    names = _neutral_names(seen)
    used = {disk.id for _, outcome in decided for disk in outcome.disks}
    kinds = {volume.select.kind for volume in layout.volumes}
    roles = {volume.select.role for volume in layout.volumes} - {""}
    named = {serials.plain(one) for volume in layout.volumes for one in volume.select.serials}
    relied_on = [
        disk
        for disk in seen.disks
        if disk.kind in kinds
        or disk.role in roles
        or serials.plain(disk.serial) in named
        or disk.id in used
        or disk.id in seen.traces
    ]
    ids = {disk.id for disk in relied_on}
    lost = {one.id for step in steps for one in step.destroys}
    inventory = seen.inventory
    facts = {
        "expected_disks": seen.machine.expected_disks,
        "host_tag": seen.machine.host_tag,
        "disks": _sorted([_disk(disk, lost=disk.id in lost) for disk in relied_on]),
        "arrays": _sorted([_array(one) for one in inventory.arrays if ids & set(one.members)]),
        "groups": _sorted([_group(one) for one in inventory.groups if ids & set(one.members)]),
        "drives": [asdict(one) for one in inventory.hardware_drives],
        "virtual_drives": [{**asdict(one), "path": ""} for one in inventory.virtual_drives],
        "volumes": [_volume(volume) for volume in layout.volumes],
        "orders": asdict(orders),
        "decisions": [
            (name, outcome.decision, [disk.id for disk in outcome.disks])
            for name, outcome in decided
        ],
        "steps": [_step(step, names) for step in steps],
    }
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _volume(volume: Volume) -> dict[str, object]:
    """Each kind of filesystem has its options, whether or not the volume has that kind."""
    row = asdict(volume)
    del row["options"]
    for kind in filesystem.KINDS.values():
        row[kind.name] = asdict(filesystem.options_of(volume, kind))
    return row


def _sorted(rows: list[dict[str, object]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def _neutral_names(seen: Evidence) -> Mapping[str, str]:
    """Kernel paths and links, each with what it stands for; of twins the first in order."""
    names: dict[str, str] = {}
    for disk in seen.disks:
        names.setdefault(disk.path, f"disk {disk.id}")
        if disk.stable_path:
            names.setdefault(disk.stable_path, f"disk {disk.id}")
    for array in sorted(seen.inventory.arrays, key=lambda one: (one.uuid, one.name)):
        names.setdefault(array.path, f"array {array.uuid}")
    return names


def _step(step: Step, names: Mapping[str, str]) -> dict[str, object]:
    return {
        "argv": [
            # LVM gets its disks as one word.
            ",".join(names.get(part, part) for part in word.split(","))
            for word in step.argv
        ],
        "destroys": [(one.id, one.serial, one.size_bytes, one.holds) for one in step.destroys],
        "check": step.check,
        "volume": step.volume,
    }


def _disk(disk: Disk, *, lost: bool) -> dict[str, object]:
    in_use = bool(disk.holders or disk.mountpoints)
    return {
        **{name: getattr(disk, name) for name in _DISK},
        "size": disk.size_bytes,
        "signatures": [
            (one.kind, one.offset_bytes, one.label, one.uuid) for one in disk.signatures
        ],
        "partitioned": bool(disk.partitions),
        "held": bool(disk.holders),
        # What is written through a volume moves the first byte that is not zero.
        "nonzero": None if in_use else disk.nonzero_offset_bytes,
        "md": disk.md_member and (*_MEMBER(disk.md_member), _filesystem(disk.md_member.filesystem)),
        "lvm": disk.lvm_member and _LVM(disk.lvm_member),
        "filesystem": _filesystem(disk.filesystem),
        "mark": disk.mark and _MARK(disk.mark),
        **({"contents": disk.contents_digest} if lost and disk.contents_digest else {}),
    }


def _filesystem(one: Filesystem | None) -> object:
    return one and _FILESYSTEM(one)


def _array(one: Array) -> dict[str, object]:
    return {
        **{name: getattr(one, name) for name in _ARRAY},
        "chunk": one.chunk_bytes,
        "runs": runs(one),
        "degraded": bool(one.degraded),
        "size": one.size_bytes,
        "filesystem": _filesystem(one.filesystem),
    }


def _group(one: VolumeGroup) -> dict[str, object]:
    return {
        **{name: getattr(one, name) for name in _GROUP},
        "free": one.free_bytes,
        "volumes": [(*_LOGICAL(each), _filesystem(each.filesystem)) for each in one.volumes],
    }
