"""What an executor says about itself: volume facts, epoch fingerprint and the state document."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.errors import OperatorError, Refused
from appliance.model import Decision, Disk, Filesystem, Inventory, Layout, Plan, Volume, VolumePlan
from appliance.storage.formats import filesystem, lvm, md
from appliance.storage.policy import ownership, steps
from appliance.system.kernel import Kernel

# What a volume's entry has, with nothing known.
_NO_FACTS: Mapping[str, Any] = {
    "device": None,
    "level": None,
    "chunk_bytes": None,
    "sunit_bytes": None,
    "swidth_bytes": None,
    "size_bytes": None,
    "epoch_id": None,
    "filesystem": None,
    "data_disks": None,
    "uuid": "",
    "degraded": 0,
    "sync_action": "",
}


@dataclass(frozen=True, slots=True)
class _Up:
    """The one thing that a running volume is: an array, a logical volume, a drive or a disk."""

    device: str
    disks: tuple[Disk, ...]
    size_bytes: int
    filesystem: Filesystem | None
    level: str = ""
    chunk_bytes: int | None = None
    uuid: str = ""
    degraded: int = 0
    sync_action: str = ""
    mounts: tuple[str, ...] = ()
    options: str = ""


def volume_facts(inventory: Inventory, layout: Layout, plan: Plan) -> list[dict[str, Any]]:
    """What each volume that is up is made of; sizes in bytes, members in slot order.

    Up means mounted where it is declared, or, without a filesystem, that its device is there. A
    single disk without a filesystem carries nothing of ours: that it is the volume is the
    ``plan``'s word.
    """
    found = []
    disks = {disk.path: disk for disk in inventory.disks}
    raw = {
        one.name: disks[one.disks[0]]
        for one in plan.volumes
        if one.decision is Decision.NOTHING and len(one.disks) == 1 and one.disks[0] in disks
    }
    for volume in layout.volumes:
        up = _up(volume, inventory)
        if up is None and volume.filesystem == "none" and volume.name in raw:
            disk = raw[volume.name]
            up = _Up(steps.stable(disk), (disk,), disk.size_bytes, None, uuid=disk.id)
        if up is not None and (not volume.mount or volume.mount in up.mounts):
            found.append(_facts(volume, up))
    return found


def _facts(volume: Volume, up: _Up) -> dict[str, Any]:
    geometry = up.filesystem
    return {
        "name": volume.name,
        "device": _device(volume, up),
        "mount": volume.mount,
        "mount_options": up.options,
        "members": [{"path": d.path, "id": d.id, "serial": d.serial} for d in up.disks],
        "level": up.level,
        "chunk_bytes": up.chunk_bytes,
        "sunit_bytes": geometry.sunit_bytes if geometry else None,
        "swidth_bytes": geometry.swidth_bytes if geometry else None,
        "size_bytes": up.size_bytes,
        "filesystem": volume.filesystem,
        "data_disks": filesystem.data_members(volume, len(up.disks)),
        "uuid": up.uuid,
        "degraded": up.degraded,
        "sync_action": up.sync_action,
    }


def _up(volume: Volume, inventory: Inventory) -> _Up | None:
    by_id = {disk.id: disk for disk in inventory.disks}
    if volume.stripe == "lvm-stripe":
        return _logical(volume, inventory, by_id)
    if volume.stripe == "hw-raid0":
        return _virtual(volume, inventory)
    for array in inventory.arrays:
        if array.name == md.array_name(volume.name):
            return _Up(
                device=_array_node(volume, array.path),
                disks=tuple(by_id[one] for one in array.members if one in by_id),
                size_bytes=array.size_bytes,
                filesystem=array.filesystem,
                level=array.level,
                chunk_bytes=array.chunk_bytes,
                uuid=array.uuid,
                degraded=array.degraded,
                sync_action=array.sync_action,
                mounts=(array.mountpoint,),
                options=array.mount_options,
            )
    for disk in inventory.disks:
        found = ownership.trace(disk, (volume.name,))
        if found is None or (found.volume, found.form) != (volume.name, ownership.Form.PLAIN):
            continue
        if disk.filesystem:
            return _Up(
                steps.stable(disk),
                (disk,),
                disk.size_bytes,
                disk.filesystem,
                uuid=disk.filesystem.uuid,
                mounts=disk.mountpoints,
                options=disk.mount_options,
            )
    return None


def _logical(volume: Volume, inventory: Inventory, by_id: Mapping[str, Disk]) -> _Up | None:
    for group in inventory.groups:
        if group.name != lvm.group_name(volume.name):
            continue
        for one in group.volumes:
            if one.name == volume.name and one.active:
                ordered = [member for segment in one.segments for member in segment]
                return _Up(
                    device=one.path,
                    disks=tuple(by_id[m] for m in dict.fromkeys(ordered) if m in by_id),
                    size_bytes=one.size_bytes,
                    filesystem=one.filesystem,
                    level="lvm-stripe",
                    chunk_bytes=one.stripe_bytes,
                    uuid=group.uuid,
                    mounts=(one.mountpoint,),
                    options=one.mount_options,
                )
    return None


def _virtual(volume: Volume, inventory: Inventory) -> _Up | None:
    for drive in inventory.virtual_drives:
        disk = next((one for one in inventory.disks if one.path == drive.path), None)
        if drive.name == f"sw-{volume.name}" and disk is not None:
            return _Up(
                device=steps.stable(disk),
                disks=(disk,),
                size_bytes=drive.size_bytes,
                filesystem=disk.filesystem,
                level="hw-raid0",
                chunk_bytes=drive.strip_bytes,
                uuid=drive.wwid,
                mounts=disk.mountpoints,
                options=disk.mount_options,
            )
    return None


def _array_node(volume: Volume, path: str) -> str:
    by_name = md.array_path(volume.name)
    return by_name if Path(by_name).exists() else path


def _device(volume: Volume, up: _Up) -> str:
    link = paths.DEVICE_DIR / volume.name
    return str(link) if link.exists() else up.device


def each(text: Sequence[str]) -> str:
    """One value a volume, in declared order."""
    return "; ".join(text)


def fingerprint(
    inventory: Inventory, facts: Sequence[Mapping[str, Any]], *, fio_version: str
) -> dict[str, str]:
    """What makes results comparable: the same values, the same epoch."""
    return {
        "serials": each([",".join(m["serial"] for m in one["members"]) for one in facts]),
        "stripe": each([_stripe(one) for one in facts]),
        "filesystem": each(
            [
                f"{one['filesystem']} sunit={one['sunit_bytes']} swidth={one['swidth_bytes']}"
                if one["mount"]
                else "none"
                for one in facts
            ]
        ),
        "mount_options": each([one["mount_options"] for one in facts]),
        "kernel": inventory.machine.kernel,
        "fio": fio_version,
        "machine_type": inventory.machine.machine_type,
    }


def _stripe(fact: Mapping[str, Any]) -> str:
    level = fact["level"]
    if not level:
        return "single"
    kind = f"md-{level}" if level.startswith("raid") else level
    return f"{kind} chunk={fact['chunk_bytes']} members={len(fact['members'])}"


def state_document(
    inventory: Inventory,
    plan: Plan,
    layout: Layout,
    *,
    outcome: str,
    message: str,
    hint: str,
    facts: Sequence[Mapping[str, Any]],
    failed: Mapping[str, OperatorError],
) -> dict[str, Any]:
    """The head of state.json: the declared volumes, and those that a plan removes or could not.

    An entry's ``outcome`` is ``mounted``, ``up`` (no filesystem), ``refused``, ``failed``,
    ``waiting``, ``applying`` or ``down``.
    """
    by_name = {fact["name"]: fact for fact in facts}
    planned = {one.name: one for one in plan.volumes}
    disks = {disk.path: disk for disk in inventory.disks}
    entries = []
    for volume in layout.volumes:
        one = planned.get(volume.name) or VolumePlan(volume.name, Decision.NOTHING, "")
        members = [disks[path] for path in one.disks if path in disks]
        error = failed.get(volume.name)
        entries.append(
            {
                **_NO_FACTS,
                "mount": volume.mount,
                "stripe": volume.stripe,
                "members": [{"path": d.path, "id": d.id, "serial": d.serial} for d in members],
                **by_name.get(volume.name, {}),
                "name": volume.name,
                "decision": "refuse" if isinstance(error, Refused) else one.decision.value,
                "reason": error.message if error else one.reason,
                "hint": error.hint if error else one.hint,
                "outcome": _outcome(volume, one, outcome, error, by_name),
            }
        )
    return {
        "at": time.time(),
        "boot_id": inventory.machine.boot_id,
        "pid": os.getpid(),
        "layout_source": layout.source,
        "outcome": outcome,
        "message": message,
        "hint": hint,
        "volumes": entries,
    }


def _outcome(
    volume: Volume,
    one: VolumePlan,
    outcome: str,
    error: OperatorError | None,
    up: Mapping[str, Mapping[str, Any]],
) -> str:
    if error is not None:
        return "refused" if isinstance(error, Refused) else "failed"
    if volume.name in up:
        return "mounted" if volume.mount else "up"
    if one.decision is Decision.REFUSE:
        return "refused"
    if outcome in {"waiting", "applying"}:
        return outcome
    return "down"


def is_of_this_boot(path: Path, kernel: Kernel) -> bool:
    """Whether a state document of this very boot is at ``path``, with its volumes."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        boot_id = (kernel.proc_root / "sys/kernel/random/boot_id").read_text().strip()
        return bool(boot_id) and state["boot_id"] == boot_id
    except (OSError, ValueError, KeyError, TypeError):
        return False


def looking(layout: Layout) -> dict[str, Any]:
    """The state before the first look at a disk: it takes seconds, and longer on a sick one."""
    return _bare(layout.source, "waiting", "looking at the disks")


def failed_early(layout_source: str, error: OperatorError) -> dict[str, Any]:
    """The state when not even the layout could be used."""
    return _bare(layout_source, "failed", f"{error.message} ({error.hint})")


def _bare(layout_source: str, outcome: str, message: str) -> dict[str, Any]:
    return {
        "at": time.time(),
        "boot_id": "",
        "pid": os.getpid(),
        "layout_source": layout_source,
        "outcome": outcome,
        "message": message,
        "hint": "",
        "volumes": [],
        "mounted_at_monotonic_s": None,
    }
