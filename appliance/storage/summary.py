"""What boot says about itself: volume facts, epoch fingerprint and the state document."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.errors import OperatorError
from appliance.model import Array, Decision, Disk, Inventory, Layout, Plan, Volume
from appliance.storage import identity, md, steps
from appliance.storage.kernel import Kernel


def volume_facts(inventory: Inventory, layout: Layout, kernel: Kernel) -> list[dict[str, Any]]:
    """What each mounted volume is made of; sizes in bytes, members in slot order."""
    return [_facts(volume, inventory, kernel) for volume in layout.volumes]


def _facts(volume: Volume, inventory: Inventory, kernel: Kernel) -> dict[str, Any]:
    name = md.array_name(volume.name)
    array = next((one for one in inventory.arrays if one.name == name), None)
    by_id = {disk.id: disk for disk in inventory.disks}
    if array:
        disks = [by_id[member] for member in array.members if member in by_id]
    else:
        own = (volume.name,)
        disks = [one for one in inventory.disks if identity.owner(one, own) == volume.name]
    found = array.filesystem if array else disks[0].filesystem
    mount = kernel.mount_at(volume.mount)
    return {
        "name": volume.name,
        "device": _device(volume, array, disks),
        "mount": volume.mount,
        "mount_options": mount.options if mount else "",
        "members": [{"path": d.path, "id": d.id, "serial": d.serial} for d in disks],
        "level": array.level if array else "",
        "chunk_bytes": array.chunk_bytes if array else None,
        "sunit_bytes": found.sunit_bytes if found else None,
        "swidth_bytes": found.swidth_bytes if found else None,
        "size_bytes": array.size_bytes if array else disks[0].size_bytes,
    }


def _device(volume: Volume, array: Array | None, disks: Sequence[Disk]) -> str:
    link = paths.DEVICE_DIR / volume.name
    if link.exists():
        return str(link)
    if array is None:
        return steps.stable(disks[0])
    by_name = md.array_path(volume.name)
    return by_name if Path(by_name).exists() else array.path


def fingerprint(
    inventory: Inventory, facts: Sequence[Mapping[str, Any]], *, fio_version: str
) -> dict[str, str]:
    """What makes results comparable: the same values, the same epoch."""

    def each(text: list[str]) -> str:
        return "; ".join(text)

    return {
        "serials": each([",".join(m["serial"] for m in one["members"]) for one in facts]),
        "stripe": each(
            [
                f"md-{one['level']} chunk={one['chunk_bytes']} members={len(one['members'])}"
                if one["level"]
                else "single"
                for one in facts
            ]
        ),
        "filesystem": each(
            [f"xfs sunit={one['sunit_bytes']} swidth={one['swidth_bytes']}" for one in facts]
        ),
        "mount_options": each([one["mount_options"] for one in facts]),
        "kernel": inventory.machine.kernel,
        "fio": fio_version,
        "machine_type": inventory.machine.machine_type,
    }


def refused_plan(plan: Plan, error: OperatorError) -> Plan:
    """``plan`` as it stands after the executor refused to begin with it."""
    return replace(
        plan,
        decision=Decision.REFUSE,
        steps=(),
        volumes=tuple(
            replace(one, decision=Decision.REFUSE, reason=error.message, hint=error.hint)
            for one in plan.volumes
        ),
    )


def state_document(
    inventory: Inventory,
    plan: Plan,
    layout: Layout,
    *,
    outcome: str,
    message: str,
    hint: str,
    facts: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The head of state.json; ``facts`` are there only for volumes that are mounted."""
    by_name = {fact["name"]: fact for fact in facts}
    mounts = {volume.name: volume.mount for volume in layout.volumes}
    disks = {disk.path: disk for disk in inventory.disks}
    volumes = []
    for one in plan.volumes:
        members = [disks[path] for path in one.disks if path in disks]
        planned: dict[str, Any] = {
            "device": None,
            "mount": mounts[one.name],
            "members": [{"path": d.path, "id": d.id, "serial": d.serial} for d in members],
            "level": None,
            "chunk_bytes": None,
            "sunit_bytes": None,
            "swidth_bytes": None,
            "size_bytes": None,
            "epoch_id": None,
        }
        ended = "refused" if one.decision is Decision.REFUSE else outcome
        volumes.append(
            {
                **planned,
                **by_name.get(one.name, {}),
                "name": one.name,
                "decision": one.decision.value,
                "reason": message if outcome == "failed" else one.reason,
                "hint": hint or one.hint,
                "outcome": "mounted" if one.name in by_name else ended,
            }
        )
    return {
        "at": time.time(),
        "boot_id": inventory.machine.boot_id,
        "layout_source": layout.source,
        "outcome": outcome,
        "message": message,
        "volumes": volumes,
    }


def looking(layout: Layout) -> dict[str, Any]:
    """The state before the first look at a disk: it takes seconds, and longer on a sick one."""
    return {
        "at": time.time(),
        "boot_id": "",
        "layout_source": layout.source,
        "outcome": "waiting",
        "message": "looking at the disks",
        "volumes": [],
        "mounted_at_monotonic_s": None,
    }


def failed_early(layout_source: str, error: OperatorError) -> dict[str, Any]:
    """The state when not even the layout could be used."""
    return {
        "at": time.time(),
        "boot_id": "",
        "layout_source": layout_source,
        "outcome": "failed",
        "message": f"{error.message} ({error.hint})",
        "volumes": [],
        "mounted_at_monotonic_s": None,
    }
