"""state.json and seen.json as values. Pure.

Both are root's, but they may be of an older version, of another boot, or half of what they
should be: whatever cannot be read is said and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from appliance.drift.observation import FilesystemNow, Health, Seen
from appliance.errors import OperatorError
from appliance.model import Inventory, Machine, VolumeGroup
from appliance.state.boot_state import BootState, BootVolume, Surroundings
from appliance.storage.policy.documents import inventory_from_json

_BUSY = {"waiting": "the boot unit is still at work", "applying": "a plan is being carried out"}


@dataclass(frozen=True, slots=True)
class Then:
    """What the boot unit left. Without ``judged``, nothing can be compared; ``notes`` say why."""

    judged: bool
    volumes: tuple[BootVolume, ...] = ()
    groups: tuple[VolumeGroup, ...] = ()
    built: Mapping[str, str] | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    blind: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def read_then(state: BootState | None, boot_id: str, *, at_work: bool) -> Then:
    """The boot unit's state, if it is of the boot ``boot_id`` and settled.

    ``at_work``: the process that wrote it is still there. If it was killed in the middle, the
    state stays as it is, and the volumes that were up are judged by it.
    """
    if state is None:
        return _nothing("the boot unit has left no readable state at this boot")
    if not state.boot_id and state.outcome in _BUSY:
        ended = "the boot unit has ended before it had looked at the disks"
        return _nothing(f"nothing was judged: {_BUSY[state.outcome] if at_work else ended}")
    if not boot_id or state.boot_id != boot_id:
        return _nothing("the boot unit's state is not of this boot")
    if state.outcome == "applying" and at_work:
        return _nothing(f"nothing was judged: {_BUSY[state.outcome]}")
    volumes, blind, notes = [], [], []
    if state.outcome in _BUSY and not at_work:
        notes.append("work on the volumes ended before it was done")
    for volume in state.volumes:
        if volume.is_up:
            in_a_slot = tuple(one for one in volume.members if one.slot >= 0)
            volumes.append(replace(volume, members=in_a_slot))
        else:
            blind.append(("*", volume.name))
            notes.append(f"volume '{volume.name}' is {volume.outcome}; it was not judged")
    if state.outcome == "waiting" and at_work:
        blind.append(("DISK-COUNT", ""))
        notes.append("the boot unit still waits for disks; they were not counted")
    noted = state.surroundings or Surroundings()
    return Then(
        judged=True,
        volumes=tuple(volumes),
        groups=state.inventory.groups if state.inventory else (),
        built=noted.built,
        values=noted.values,
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
