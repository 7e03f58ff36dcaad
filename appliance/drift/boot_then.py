"""state.json and seen.json as values. Pure.

Both are root's, but they may be of an older version, of another boot, or half of what they
should be: whatever cannot be read is said and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from appliance.drift.observation import (
    FilesystemNow,
    Health,
    Member,
    MountThen,
    Seen,
    VolumeThen,
)
from appliance.errors import OperatorError
from appliance.model import Inventory, Machine, VolumeGroup
from appliance.storage.policy.documents import inventory_from_json

_BUSY = {"waiting": "the boot unit is still at work", "applying": "a plan is being carried out"}
_UP = frozenset({"mounted", "up"})


@dataclass(frozen=True, slots=True)
class Then:
    """What the boot unit left. Without ``judged``, nothing can be compared; ``notes`` say why."""

    judged: bool
    volumes: tuple[VolumeThen, ...] = ()
    groups: tuple[VolumeGroup, ...] = ()
    built: Mapping[str, str] | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    blind: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def read_then(state: object, boot_id: str, *, at_work: bool) -> Then:
    """The boot unit's state document, if it is of the boot ``boot_id`` and settled.

    ``at_work``: whoever wrote it is still there. If he was killed in the middle, nobody will
    ever settle it, and the volumes that were up are judged by what he wrote.
    """
    if not isinstance(state, dict):
        return _nothing("the boot unit has left no state at this boot")
    outcome = str(state.get("outcome", ""))
    if not state.get("boot_id") and outcome in _BUSY:
        ended = "the boot unit has ended before it had looked at the disks"
        return _nothing(f"nothing was judged: {_BUSY[outcome] if at_work else ended}")
    if not boot_id or state.get("boot_id") != boot_id:
        return _nothing("the boot unit's state is not of this boot")
    if outcome == "applying" and at_work:
        return _nothing(f"nothing was judged: {_BUSY[outcome]}")
    if not isinstance(state.get("volumes"), list):
        return _nothing("the boot unit's state has no volumes in it")
    noted = _mapping(state.get("surroundings"))
    inventory = _inventory(state.get("inventory"))
    volumes, blind, notes = [], [], []
    if outcome in _BUSY and not at_work:
        notes.append("work on the volumes ended before it was done")
    for entry in _mappings(state["volumes"]):
        name = str(entry.get("name", ""))
        try:
            if entry.get("outcome") in _UP:
                volumes.append(_volume(entry, _mapping(noted.get("volumes")), inventory))
                continue
            what = f"volume '{name}' is {entry.get('outcome', 'not up')}"
        except (TypeError, ValueError, KeyError) as error:
            what = f"the state says nonsense of volume '{name}' ({type(error).__name__})"
        blind.append(("*", name))
        notes.append(f"{what}; it was not judged")
    if outcome == "waiting" and at_work:
        blind.append(("DISK-COUNT", ""))
        notes.append("the boot unit still waits for disks; they were not counted")
    built = noted.get("built")
    return Then(
        judged=True,
        volumes=tuple(volumes),
        groups=inventory.groups,
        built=_texts(built) if isinstance(built, dict) else None,
        values=_texts(_mapping(noted.get("values"))),
        blind=tuple(blind),
        notes=tuple(notes),
    )


def _nothing(why: str) -> Then:
    return Then(judged=False, notes=(why,))


def _inventory(document: object) -> Inventory:
    try:
        return inventory_from_json(document)
    except OperatorError:
        return Inventory(Machine(), ())


def _volume(entry: Mapping[str, Any], noted: Mapping[str, Any], inventory: Inventory) -> VolumeThen:
    more = _mapping(noted.get(entry["name"]))
    slots = more.get("slots") or [one["id"] for one in entry["members"]]
    by_id = {one["id"]: one for one in entry["members"]}
    mounted = more.get("mount")
    return VolumeThen(
        name=str(entry["name"]),
        stripe=str(entry.get("stripe") or ""),
        level=str(entry.get("level") or ""),
        chunk_bytes=int(entry.get("chunk_bytes") or 0),
        members=tuple(
            Member(at, str(one), str(by_id[one]["serial"]), str(by_id[one]["path"]))
            for at, one in enumerate(slots)
            if one in by_id
        ),
        slot_count=len(slots),
        device=str(entry.get("device") or ""),
        mount=str(entry.get("mount") or ""),
        filesystem=str(entry.get("filesystem") or "none"),
        sunit_bytes=entry.get("sunit_bytes"),
        swidth_bytes=entry.get("swidth_bytes"),
        uuid=str(entry.get("uuid") or ""),
        degraded=int(entry.get("degraded") or 0),
        mounted=_mount(mounted) if isinstance(mounted, dict) else None,
        filesystem_uuid=_filesystem_uuid(entry, inventory),
    )


def _mount(mounted: Mapping[str, Any]) -> MountThen:
    size = mounted.get("size_bytes")
    return MountThen(
        fstype=str(mounted.get("fstype") or ""),
        options=str(mounted.get("options") or ""),
        super_options=str(mounted.get("super_options") or ""),
        size_bytes=size if isinstance(size, int) else None,
    )


def _filesystem_uuid(entry: Mapping[str, Any], inventory: Inventory) -> str:
    """The uuid of what the boot unit read on the volume's device."""
    mount = entry.get("mount")
    logical = (one for group in inventory.groups for one in group.volumes)
    found = [
        *(one.filesystem for one in inventory.arrays if one.mountpoint == mount),
        *(one.filesystem for one in logical if one.mountpoint == mount),
        *(one.filesystem for one in inventory.disks if mount in one.mountpoints),
    ]
    return next((one.uuid for one in found if one), "") if mount else ""


# -------------------------------------------------------------------------- root's own look


def read_seen(document: object, boot_id: str) -> Seen | None:
    """Root's look, ``None`` if there is none of this boot."""
    if not isinstance(document, dict) or document.get("boot_id") != boot_id:
        return None
    lists = ("groups", "hardware_drives", "virtual_drives")
    told = {key: document[key] for key in lists if isinstance(document.get(key), list)}
    built = _inventory({"disks": [], **told})
    at = document.get("at")
    rows = (_mapping(document.get("health")), _mapping(document.get("filesystems")))
    return Seen(
        at=float(at) if isinstance(at, int | float) else 0.0,
        groups=built.groups if "groups" in told else None,
        hardware_drives=built.hardware_drives,
        virtual_drives=built.virtual_drives if "virtual_drives" in told else None,
        health=_each(rows[0], _health),
        filesystems=_each(rows[1], _filesystem),
        silent=frozenset(key for one in rows for key, row in one.items() if row is None),
    )


def _each(rows: Mapping[str, Any], read: Any) -> dict[str, Any]:  # noqa: ANN401 - either of two below
    found = {}
    for key, row in rows.items():
        try:
            found[str(key)] = read(row)
        except (TypeError, ValueError, KeyError):
            continue
    return found


def _health(row: Mapping[str, Any]) -> Health:
    return Health(
        warning=int(row["critical_warning"]),
        spare_percent=int(row["available_spare"]),
        spare_threshold_percent=int(row["available_spare_threshold"]),
        used_percent=int(row["percentage_used"]),
        media_errors=int(row["media_errors"]),
        first_media_errors=int(row["first_media_errors"]),
    )


def _filesystem(row: Mapping[str, Any]) -> FilesystemNow:
    return FilesystemNow(
        kind=str(row["kind"]),
        uuid=str(row["uuid"]),
        sunit_bytes=int(row["sunit_bytes"]),
        swidth_bytes=int(row["swidth_bytes"]),
    )


# -------------------------------------------------------------------------------- common


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(rows: list[object]) -> list[Mapping[str, Any]]:
    return [one for one in rows if isinstance(one, dict)]


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in values.items() if isinstance(value, str)}
