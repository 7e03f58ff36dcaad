"""LVM: names, command lines, and what ``lvm fullreport`` says. Pure.

Each call names the disks it may see (``--devices``): LVM then opens no other, knows no devices
file, and a foreign group elsewhere with our name cannot be meant (docs/decisions/0018).
Options are those of the lvm2 2.03.16 manual pages; what else a host's lvm.conf could change
about them is set on the command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from appliance.errors import OperatorError
from appliance.model.disks import LogicalVolume, LvmMember, VolumeGroup
from appliance.model.plans import VOLUME_NAME, Volume

# What signature probers call a physical volume.
SIGNATURE = "LVM2_member"
_PREFIX = "stripewright"
_VOLUME = re.compile(VOLUME_NAME, re.ASCII)
_HOST_TAG = re.compile(r"[0-9a-f]{16}", re.ASCII)
_DEVICE = re.compile(r"(.+)\(([0-9]+)\)", re.DOTALL)

# No copies of the metadata in /etc/lvm, which is read-only on the image and would be a state
# file; no cache of what other calls saw; no discard of what is given up; no system id, which
# would hide the group from another host instead of letting us say whose it is; nothing that
# needs a daemon, or the capability to raise its own priority.
_CONFIG = (
    "backup{backup=0 archive=0}"
    ' devices{hints="none" issue_discards=0}'
    ' global{system_id_source="none" use_lvmlockd=0 use_lvmpolld=0}'
    " activation{monitoring=0 process_priority=0}"
)
# The first extent begins here. LVM would align it to a reported optimal I/O size by
# itself; the metadata must reach over the place of our mark.
_DATA_ALIGNMENT_BYTES = 1024 * 1024
_DATA_ALIGNMENT = f"{_DATA_ALIGNMENT_BYTES // 1024}k"

_COLUMNS = {
    "vg": "vg_name,vg_uuid,vg_tags,vg_extent_size,vg_free,pv_count",
    "pv": "pv_name,pv_uuid,pv_size",
    "lv": "lv_name,lv_path,lv_size,lv_active",
    "seg": "lv_name,segtype,stripe_size,seg_start,devices",
    # It cannot be left out, so it is made small.
    "pvseg": "pv_name",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What is on the disks that were named, with their device paths where ids belong.

    :func:`with_ids` puts the ids there. ``members`` has each physical volume that was found,
    by its device path.
    """

    groups: tuple[VolumeGroup, ...] = ()
    members: Mapping[str, LvmMember] = field(default_factory=dict)


# --------------------------------------------------------------------------------- names


def group_name(volume: str) -> str:
    return f"{_PREFIX}-{volume}"


def volume_named(group: str) -> str:
    """The volume that a group's name means, empty if it is not ours."""
    volume = group.removeprefix(f"{_PREFIX}-")
    return volume if volume != group else ""


def volume_path(volume: str) -> str:
    """The node of the volume's logical volume while it is active."""
    return f"/dev/{group_name(volume)}/{volume}"


def mapped_note(group: str, volume: str) -> str:
    """How the kernel's holder of a disk is noted: device-mapper doubles dashes in names."""
    return f"LVM volume '{group.replace('-', '--')}-{volume.replace('-', '--')}'"


def tags(volume: str, host_tag: str) -> tuple[str, ...]:
    """What the group carries besides its name: volume and, if it has a tag, machine."""
    host = (f"{_PREFIX}-host:{host_tag}",) if host_tag else ()
    return (f"{_PREFIX}:{volume}", *host)


def volume_of(name: str, group_tags: Sequence[str]) -> str:
    """The volume that both name and tag of a group carry, empty if the group is not ours."""
    volume = volume_named(name)
    ours = _VOLUME.fullmatch(volume) and f"{_PREFIX}:{volume}" in group_tags
    return volume if ours else ""


def host_of(group_tags: Sequence[str]) -> str:
    """The machine that made the group, empty if none or more than one is named."""
    prefix = f"{_PREFIX}-host:"
    found = {tag.removeprefix(prefix) for tag in group_tags if tag.startswith(prefix)}
    host = found.pop() if len(found) == 1 else ""
    return host if _HOST_TAG.fullmatch(host) else ""


# -------------------------------------------------------------------------- command lines


def _call(command: Sequence[str], devices: Sequence[str], *, force: bool = False) -> list[str]:
    yes = ["--yes"] if force else []
    return [*command, *yes, "--devices", ",".join(devices), "--config", _CONFIG]


def create_group_argv(
    volume: Volume, disks: Sequence[str], *, host_tag: str = "", force: bool = False
) -> tuple[str, ...]:
    """Make the group of all ``disks``. LVM is the last one to refuse what has a signature.

    It then asks, and without a terminal that is a no; ``force`` tells it not to ask. The group
    comes up by our decision alone (``--setautoactivation n``).
    """
    return (
        *_call(["vgcreate"], disks, force=force),
        "--setautoactivation",
        "n",
        "--dataalignment",
        _DATA_ALIGNMENT,
        "--physicalextentsize",
        f"{volume.lvm_extent_bytes // 1024}k",
        *(part for tag in tags(volume.name, host_tag) for part in ("--addtag", tag)),
        group_name(volume.name),
        *disks,
    )


def create_volume_argv(
    volume: Volume, disks: Sequence[str], *, force: bool = False
) -> tuple[str, ...]:
    """Make the logical volume, one chunk on each disk in turn, of all the room there is.

    It starts active, its first 4 KiB zeroed. Where a signature shines through it LVM asks, as
    above; ``force`` has it cleared.
    """
    return (
        *_call(["lvcreate"], disks, force=force),
        "--wipesignatures",
        "y",
        "--zero",
        "y",
        "--type",
        "striped",
        *_stripes(volume, len(disks)),
        "--extents",
        "100%FREE",
        "--name",
        volume.name,
        group_name(volume.name),
    )


def capacity_bytes(volume: Volume, disks: Sequence[int]) -> int:
    """The size of a new logical volume over disks of these sizes: whole extents behind LVM's own
    area, as many of each disk as the smallest has.
    """
    extents = [max(0, size - _DATA_ALIGNMENT_BYTES) // volume.lvm_extent_bytes for size in disks]
    return min(extents) * len(extents) * volume.lvm_extent_bytes


def _stripes(volume: Volume, count: int) -> tuple[str, ...]:
    return ("--stripes", str(count), "--stripesize", f"{volume.chunk_bytes // 1024}k")


def activate_argv(volume: str, disks: Sequence[str]) -> tuple[str, ...]:
    """Bring up the volume's own logical volume and nothing else, only if no disk is missing."""
    return (
        *_call(["lvchange"], disks),
        "--activate",
        "y",
        "--activationmode",
        "complete",
        f"{group_name(volume)}/{volume}",
    )


def deactivate_argv(volume: str, disks: Sequence[str]) -> tuple[str, ...]:
    """Let go of the disks; right also for a group that has no logical volume yet."""
    return (*_call(["vgchange"], disks), "--activate", "n", group_name(volume))


def resize_disks_argv(disks: Sequence[str]) -> tuple[str, ...]:
    """Let the group know that its disks became bigger; ``disks`` are all of its disks."""
    return (*_call(["pvresize"], disks), *disks)


def extend_group_argv(
    volume: str, disks: Sequence[str], added: Sequence[str], *, force: bool = False
) -> tuple[str, ...]:
    """Take the blank disks ``added`` into the group, whose disks are ``disks``."""
    return (
        *_call(["vgextend"], [*disks, *added], force=force),
        "--dataalignment",
        _DATA_ALIGNMENT,
        group_name(volume),
        *added,
    )


def extend_volume_argv(volume: Volume, disks: Sequence[str], *, stripes: int) -> tuple[str, ...]:
    """Give the logical volume the group's free room, striped as the rest is; ``disks`` are all of
    the group.
    """
    return (
        *_call(["lvextend"], disks),
        *_stripes(volume, stripes),
        "--extents",
        "+100%FREE",
        f"{group_name(volume.name)}/{volume.name}",
    )


def report_argv(devices: Sequence[str]) -> tuple[str, ...]:
    """Everything about the groups on ``devices``, read under one lock. Changes nothing.

    Groups of another system id and shared ones are shown too: a disk that holds one is not blank.
    """
    columns = [
        part
        for report, names in _COLUMNS.items()
        for part in ("--configreport", report, "--options", names)
    ]
    return (
        *_call(["lvm", "fullreport"], devices),
        "--foreign",
        "--shared",
        "--reportformat",
        "json",
        "--units",
        "b",
        "--nosuffix",
        *columns,
    )


# ------------------------------------------------------------------------- what was found


def parse_report(text: str) -> Report:
    """What :func:`report_argv` printed. Raises :class:`OperatorError` for anything else."""
    try:
        parts = json.loads(text)["report"]
        groups: list[VolumeGroup] = []
        members: dict[str, LvmMember] = {}
        for part in parts:
            group = _group(part)
            if group is not None:
                groups.append(group)
            members |= _members(part, group)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise OperatorError(
            f"lvm fullreport printed something unexpected ({type(error).__name__}: {error})",
            "run 'lvm fullreport --reportformat json' by hand and report what it prints",
        ) from error
    return Report(tuple(groups), members)


def with_ids(group: VolumeGroup, ids: Mapping[str, str]) -> VolumeGroup:
    """``group`` with the disks' ids for their device paths; a path without an id stays."""

    def named(paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(ids.get(path, path) for path in paths)

    return replace(
        group,
        members=named(group.members),
        volumes=tuple(
            replace(volume, segments=tuple(named(segment) for segment in volume.segments))
            for volume in group.volumes
        ),
    )


def _rows(part: object, name: str) -> list[dict[str, str]]:
    """One table of a group's report, every cell as text (newer versions print numbers)."""
    if not isinstance(part, dict):
        raise TypeError("a report is no object")
    return [{key: str(cell) for key, cell in row.items()} for row in part.get(name, [])]


def _group(part: object) -> VolumeGroup | None:
    """The group that a report is about, ``None`` for the report of what is in no group."""
    rows = _rows(part, "vg")
    if not rows or not rows[0]["vg_name"]:
        return None
    row = rows[0]
    present = [one for one in _rows(part, "pv") if _is_path(one["pv_name"])]
    return VolumeGroup(
        name=row["vg_name"],
        uuid=row["vg_uuid"],
        tags=_list(row["vg_tags"]),
        members=tuple(one["pv_name"] for one in present),
        member_count=_number(row["pv_count"]),
        extent_bytes=_number(row["vg_extent_size"]),
        free_bytes=_number(row["vg_free"]),
        volumes=tuple(
            _volume(one, _rows(part, "seg"), extent_bytes=_number(row["vg_extent_size"]))
            for one in _rows(part, "lv")
        ),
        member_bytes=tuple(_number(one["pv_size"]) for one in present),
    )


def _volume(
    row: dict[str, str], segments: Sequence[dict[str, str]], *, extent_bytes: int
) -> LogicalVolume:
    own = sorted(
        (one for one in segments if one["lv_name"] == row["lv_name"]),
        key=lambda one: _number(one["seg_start"]),
    )
    # Only plain stripes have disks of which anything can be said; any other kind has none.
    plain = all(one["segtype"] in {"striped", "linear"} for one in own)
    stripes = {_number(one["stripe_size"]) for one in own}
    placed = [_devices(one["devices"]) for one in own] if plain else []
    return LogicalVolume(
        name=row["lv_name"],
        path=row["lv_path"],
        size_bytes=_number(row["lv_size"]),
        stripe_bytes=stripes.pop() if plain and len(stripes) == 1 else 0,
        segments=tuple(tuple(device for device, _ in one) for one in placed),
        active=row["lv_active"] == "active",
        start_bytes=placed[0][0][1] * extent_bytes if placed and placed[0] else None,
    )


def _members(part: object, group: VolumeGroup | None) -> dict[str, LvmMember]:
    return {
        row["pv_name"]: LvmMember(
            pv_uuid=row["pv_uuid"],
            group=group.name if group else "",
            group_uuid=group.uuid if group else "",
            tags=group.tags if group else (),
        )
        for row in _rows(part, "pv")
        if _is_path(row["pv_name"])
    }


def _is_path(name: str) -> bool:
    # A missing one is called "[unknown]".
    return name.startswith("/")


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _devices(text: str) -> tuple[tuple[str, int], ...]:
    """``/dev/sdb(0),/dev/sdc(0)``: each device with its first extent."""
    found = [_DEVICE.fullmatch(one) for one in _list(text)]
    return tuple((one.group(1), int(one.group(2))) for one in found if one)


def _number(text: str) -> int:
    # int() also takes signs, blanks and underscores.
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{text[:40]!r} is no number")
    return int(text)
