"""Inventories from JSON documents. Pure but for one file.

The way there is :func:`dataclasses.asdict`, as it is for plans. The keys are a contract: scripts,
the TUI and ``plan --inventory`` read them; sizes and offsets are in bytes. Decoding is
strict about types and names the field that is wrong; a key that is not known is left
alone, so that a document from a newer version, or one with notes in it, can be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from appliance.clouds.provider import disk_count
from appliance.errors import UsageError
from appliance.model.disks import Disk, Inventory, Machine
from appliance.model.plans import Layout
from appliance.state import codec
from appliance.storage.policy import identity
from appliance.storage.policy.layout import DEFAULT_LAYOUT

_T = TypeVar("_T")
_MAX_FILE_BYTES = 16 * 1024 * 1024
_HINT = "write one with 'stripewright inventory --json'"
# What a disk must say about itself; the rest has a meaning when it is left out.
_DISK_DEFAULTS: Mapping[str, object] = {"id": "", "model": "", "serial": ""}


def load_inventory(path: Path, layout: Layout = DEFAULT_LAYOUT) -> Inventory:
    """Read an inventory document. Raises :class:`UsageError` for anything else."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: not a regular file", _HINT)
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", _HINT) from error
    if len(raw) > _MAX_FILE_BYTES:
        raise UsageError(f"{path}: larger than any inventory", _HINT)
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}", _HINT) from error
    try:
        return inventory_from_json(document, layout)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from error


def inventory_from_json(document: object, layout: Layout = DEFAULT_LAYOUT) -> Inventory:
    """The inventory that ``document`` describes.

    A disk without ``kind`` or ``claimable`` is identified from its other facts and by the rules
    of ``layout``, and a machine without ``expected_disks`` is looked up by its type.
    Raises :class:`UsageError` naming the field that is missing or wrong.
    """
    top = _mapping(document, "the document")
    if "disks" not in top:
        raise UsageError("disks: missing", _HINT)
    rows = top["disks"]
    if not isinstance(rows, list):
        raise UsageError("disks: not a list", _HINT)
    machine_row = _mapping(top.get("machine", {}), "machine")
    machine = _decode(Machine, machine_row, "machine")
    if "expected_disks" not in machine_row:
        machine = replace(machine, expected_disks=disk_count(machine.machine_type))
    seen = [_mapping(row, f"disks[{at}]") for at, row in enumerate(rows)]
    disks = []
    for at, row in enumerate(seen):
        disk = _decode(Disk, {**_DISK_DEFAULTS, **row}, f"disks[{at}]")
        disks.append(replace(disk, id=disk.id or disk.serial or disk.path))
    rest = {key: value for key, value in top.items() if key not in {"machine", "disks"}}
    bare = _decode(Inventory, {**rest, "machine": {}, "disks": []}, "")
    if not all(_is_stated(row) for row in seen):
        identified = identity.identify_all(
            [replace(disk, transport=disk.transport or _transport(disk.path)) for disk in disks],
            bare.arrays,
            bare.groups,
            layout,
            machine,
        )
        disks = list(map(_as_stated, disks, seen, identified))
    return replace(bare, machine=machine, disks=tuple(disks))


def _is_stated(row: Mapping[str, object]) -> bool:
    return "claimable" in row and "kind" in row


def _transport(path: str) -> str:
    """The bus, where the document does not say it: by the kernel's name."""
    return "nvme" if "/nvme" in path else "xen" if "/xvd" in path else "scsi"


def _as_stated(disk: Disk, row: Mapping[str, object], found: Disk) -> Disk:
    """``disk`` with what its ``row`` leaves open taken from ``found``."""
    if _is_stated(row):
        return disk
    kind = disk.kind if "kind" in row else found.kind
    # A kind that was stated and is not what the facts say is never a reason to claim.
    claimable = found.claimable and kind is found.kind
    return replace(
        disk,
        kind=kind,
        role=disk.role or found.role,
        claimable=disk.claimable if "claimable" in row else claimable,
        reason=disk.reason or found.reason,
        hint=disk.hint or found.hint,
    )


def _decode(cls: type[_T], document: object, where: str) -> _T:
    try:
        return codec.decode(cls, document, where)
    except codec.DecodeError as error:
        raise UsageError(str(error), _HINT) from error


def _mapping(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: not an object", _HINT)
    return value
