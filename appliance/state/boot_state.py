"""What the boot unit (root) leaves in ``/run/stripewright/state.json``: what it saw and decided.

Everybody reads it through :func:`load`. It was true when it was written; what can be checked
without privilege is read again where it is shown.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.errors import OperatorError
from appliance.model.disks import Inventory
from appliance.model.plans import Plan, Tuning
from appliance.state import codec
from appliance.system import files

_MAX_BYTES = 16 * 1024 * 1024
_HINT = "see 'stripewright status'"
# What is not there before the first look.
_PARTS = frozenset({"surroundings", "inventory", "plan"})


@dataclass(frozen=True, slots=True)
class BootMember:
    """A disk of a volume. ``slot`` counts from 0 in stripe order, -1 if it was in none."""

    path: str
    id: str = ""
    serial: str = ""
    slot: int = -1

    @property
    def kernel_name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def name(self) -> str:
        """What to call it: its serial, or its id if it has none."""
        return self.serial or self.id


@dataclass(frozen=True, slots=True)
class BootMount:
    """A mount as the kernel showed it; ``size_bytes`` is what the filesystem covers."""

    fstype: str = ""
    options: str = ""
    super_options: str = ""
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class VolumeNote:
    """What was first noted at this boot of the volume with ``uuid``. ``slots`` are the ids of an
    array's disks by slot, ``None`` for an empty one; empty for what is no array.
    """

    uuid: str = ""
    slots: tuple[str | None, ...] = ()
    mount: BootMount | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What later looks are compared with.

    ``values`` are named by :mod:`appliance.model.surroundings`; ``built`` is what was there of
    arrays and groups, ``tuning`` what the layout declared.
    """

    tuning: Tuning | None = None
    values: Mapping[str, str] = codec.bounded(default=dict)
    built: Mapping[str, str] | None = None
    volumes: Mapping[str, VolumeNote] = codec.bounded(default=dict)


@dataclass(frozen=True, slots=True)
class BootVolume:
    """A declared volume. ``outcome`` is ``mounted``, ``up`` (no filesystem), ``refused``,
    ``failed``, ``waiting``, ``applying`` or ``down``.

    ``level`` and ``chunk_bytes`` are those of its array, group or virtual drive, and empty for a
    single disk; members are in stripe order. ``noted`` and ``filesystem_uuid`` stand elsewhere in
    the document, as do the members' slots.
    """

    name: str
    device: str = ""
    level: str = ""
    chunk_bytes: int | None = None
    sunit_bytes: int | None = None
    swidth_bytes: int | None = None
    size_bytes: int | None = None
    epoch_id: int | None = None
    filesystem: str = ""
    data_disks: int | None = None
    uuid: str = ""
    degraded: int = 0
    sync_action: str = ""
    mount: str = ""
    mount_options: str = ""
    stripe: str = ""
    members: tuple[BootMember, ...] = ()
    decision: str = ""
    reason: str = ""
    hint: str = ""
    outcome: str = ""
    noted: VolumeNote = VolumeNote()
    filesystem_uuid: str = ""

    @property
    def is_up(self) -> bool:
        return self.outcome in {"mounted", "up"}

    @property
    def slot_count(self) -> int:
        """How many slots the array has; those without a member were empty."""
        return len(self.noted.slots or self.members)

    @property
    def mounted(self) -> BootMount | None:
        return self.noted.mount

    def entry(self) -> dict[str, Any]:
        """The volume as state.json has it."""
        row = asdict(self)
        del row["noted"], row["filesystem_uuid"]
        for member in row["members"]:
            del member["slot"]
        return row if self.device else {**row, "device": None, "level": None, "filesystem": None}


@dataclass(frozen=True, slots=True)
class BootState:
    """``outcome`` is ``waiting``, ``applying``, ``mounted``, ``nothing``, ``refused`` or
    ``failed``; ``at`` when it was written, by the process ``pid``. Without a ``boot_id`` no disk
    had been looked at. ``inventory``, ``plan`` and ``surroundings`` are ``None`` before there are
    any, and if they are of another version.
    """

    volumes: tuple[BootVolume, ...]
    at: float | None = None
    boot_id: str = ""
    pid: int | None = None
    layout_source: str = ""
    outcome: str = ""
    message: str = ""
    hint: str = ""
    surroundings: Surroundings | None = None
    inventory: Inventory | None = None
    plan: Plan | None = None
    mounted_at_monotonic_s: float | None = None

    def volume(self, name: str) -> BootVolume | None:
        return next((one for one in self.volumes if one.name == name), None)

    def document(self) -> dict[str, Any]:
        """The content of state.json."""
        found = asdict(replace(self, volumes=()))
        found["volumes"] = [one.entry() for one in self.volumes]
        return {key: one for key, one in found.items() if one is not None or key not in _PARTS}


def load(path: Path = paths.STATE_FILE) -> BootState:
    """The state at ``path``. :class:`OperatorError` if there is none, or it cannot be read."""
    try:
        return _parsed(files.read_bounded(path, _MAX_BYTES))
    except FileNotFoundError as error:
        raise OperatorError("the boot unit has not run on this machine", _HINT) from error
    except OSError as error:
        raise OperatorError(f"{path} cannot be read: {error.strerror}", _HINT) from error
    except codec.DecodeError as error:
        raise OperatorError(f"{path} cannot be read: {error}", _HINT) from error


def find(path: Path = paths.STATE_FILE) -> BootState | None:
    """The state at ``path``, ``None`` if there is none that can be read."""
    with contextlib.suppress(OperatorError):
        return load(path)
    return None


# A screen asks every second, and the boot unit hardly ever writes another one.
@lru_cache(maxsize=1)
def _parsed(raw: bytes) -> BootState:
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise codec.DecodeError("", f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise codec.DecodeError("", "not a state document")
    # What a volume does not have is null there.
    if isinstance(rows := document.get("volumes"), list):
        document["volumes"] = [
            {key: one for key, one in row.items() if one is not None}
            if isinstance(row, dict)
            else row
            for row in rows
        ]
    head = {key: value for key, value in document.items() if key not in _PARTS}
    state = replace(
        codec.decode(BootState, head),
        # Another version may have written these.
        surroundings=codec.find(Surroundings, document.get("surroundings")),
        inventory=codec.find(Inventory, document.get("inventory")),
        plan=codec.find(Plan, document.get("plan")),
    )
    return _joined(state)


def _joined(state: BootState) -> BootState:
    """``state`` with what its volumes have elsewhere in the document."""
    notes = state.surroundings.volumes if state.surroundings else {}
    volumes = []
    for volume in state.volumes:
        note = notes.get(volume.name, VolumeNote())
        slots = note.slots or tuple(one.id for one in volume.members)
        volumes.append(
            replace(
                volume,
                noted=note,
                filesystem_uuid=_filesystem_uuid(volume.mount, state.inventory),
                members=tuple(
                    replace(one, slot=slots.index(one.id) if one.id in slots else -1)
                    for one in volume.members
                ),
            )
        )
    return replace(state, volumes=tuple(volumes))


def _filesystem_uuid(mount: str, inventory: Inventory | None) -> str:
    """The uuid of what the boot unit read on the device that is mounted at ``mount``."""
    if inventory is None or not mount:
        return ""
    logical = (one for group in inventory.groups for one in group.volumes)
    found = [
        *(one.filesystem for one in inventory.arrays if one.mountpoint == mount),
        *(one.filesystem for one in logical if one.mountpoint == mount),
        *(one.filesystem for one in inventory.disks if mount in one.mountpoints),
    ]
    return next((one.uuid for one in found if one), "")
