"""Inventory and plan as JSON documents, and back again. Pure but for one file.

The keys are a contract: scripts, the TUI and ``plan --inventory`` read them. Decoding is
strict about types and names the field that is wrong; a key that is not known is left
alone, so that a document from a newer version, or one with notes in it, can be read.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from appliance.data import disk_count
from appliance.errors import UsageError
from appliance.model import (
    Decision,
    Destruction,
    Disk,
    Inventory,
    Layout,
    Machine,
    Plan,
    Step,
    VolumePlan,
)
from appliance.storage.policy import identity
from appliance.storage.policy.layout import DEFAULT_LAYOUT

_T = TypeVar("_T")
_MAX_FILE_BYTES = 16 * 1024 * 1024
_HINT = "write one with 'stripewright inventory --json'"
# What a disk must say about itself; the rest has a meaning when it is left out.
_DISK_DEFAULTS: Mapping[str, object] = {"id": "", "model": "", "serial": ""}


def disk_to_json(disk: Disk) -> dict[str, Any]:
    return asdict(disk)


def machine_to_json(machine: Machine) -> dict[str, Any]:
    return asdict(machine)


def inventory_to_json(inventory: Inventory) -> dict[str, Any]:
    """``{"machine", "disks", "arrays", "groups", "privileged", …}``; sizes and offsets in bytes."""
    return asdict(inventory)


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """``{"decision", "digest", "volumes", "steps"}``: the object that would be executed."""
    return asdict(plan)


def plan_from_json(document: Mapping[str, Any]) -> Plan:
    """A plan out of root's own document, as :func:`plan_to_json` wrote it there."""
    return Plan(
        decision=Decision(document["decision"]),
        digest=document["digest"],
        volumes=tuple(
            VolumePlan(
                **{**one, "decision": Decision(one["decision"]), "disks": tuple(one["disks"])}
            )
            for one in document["volumes"]
        ),
        steps=tuple(
            Step(
                **{
                    **one,
                    "argv": tuple(one["argv"]),
                    "destroys": tuple(Destruction(**lost) for lost in one["destroys"]),
                }
            )
            for one in document["steps"]
        ),
    )


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

    A disk without ``kind`` or ``claimable`` is identified anew from its other facts and by the
    rules of ``layout``, and a machine without ``expected_disks`` is looked up by its type.
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


def _mapping(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: not an object", _HINT)
    return value


@cache
def _hints(cls: type[object]) -> Mapping[str, Any]:
    # Evaluating them takes longer than all the rest of a row.
    return get_type_hints(cls)


def _decode(cls: type[_T], row: Mapping[str, object], where: str) -> _T:
    assert is_dataclass(cls)  # noqa: S101 - a defect here, never the document's
    hints = _hints(cls)
    values: dict[str, object] = {}
    for field in fields(cls):
        path = f"{where}.{field.name}".lstrip(".")
        if field.name in row:
            values[field.name] = _value(hints[field.name], row[field.name], path)
        elif field.default is MISSING:
            raise UsageError(f"{path}: missing", _HINT)
    return cls(**values)


def _value(kind: Any, value: object, where: str) -> object:  # noqa: ANN401 - a type hint is Any
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        inner = [one for one in get_args(kind) if one is not type(None)]
        return None if value is None else _value(inner[0], value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise UsageError(f"{where}: not a list", _HINT)
        item = get_args(kind)[0]
        return tuple(_value(item, one, f"{where}[{at}]") for at, one in enumerate(value))
    if is_dataclass(kind) and isinstance(kind, type):
        return _decode(kind, _mapping(value, where), where)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        if isinstance(value, str) and value in {one.value for one in kind}:
            return kind(value)
        allowed = ", ".join(one.value for one in kind)
        raise UsageError(f"{where}: {value!r} is not one of: {allowed}", _HINT)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    # bool is an int in Python, not in JSON.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        wanted = {"str": "text", "int": "a whole number", "bool": "true or false"}
        raise UsageError(
            f"{where}: {value!r} is not {wanted.get(kind.__name__, kind.__name__)}", _HINT
        )
    return value
