"""What the boot unit writes down of the surroundings, for later looks to be compared with.

A later look of the boot unit at the same boot (a disk has come) finds what somebody changed by
hand in between. That is not made the new normal: what was noted first stays, but for volumes that
a plan has changed, and for settings that the layout now declares otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance.model import Inventory, Layout, Tuning
from appliance.model import surroundings as names
from appliance.storage.probe import mounted, settings
from appliance.system.kernel import Kernel


def note(
    kernel: Kernel,
    inventory: Inventory,
    facts: Sequence[Mapping[str, Any]],
    layout: Layout,
    *,
    fio_version: str,
    cpu_latency: Path,
    changed: Collection[str],
    before: Mapping[str, Any],
) -> dict[str, Any]:
    """The ``surroundings`` of state.json.

    ``values`` as :mod:`appliance.model.surroundings` names them; ``built`` is what was there
    of arrays and groups; ``volumes`` has for each that is up its slots (ids of disks, ``None``
    for an empty one) and its mount; ``tuning`` is what the layout declared. ``before`` is the
    same of the last writing at this boot, empty if there was none; ``changed`` are the volumes
    that a plan has changed since.
    """
    members = {
        Path(one["path"]).name: one["serial"] or one["id"]
        for fact in facts
        for one in fact["members"]
    }
    tuning = asdict(layout.tuning)
    values = {
        names.KERNEL: inventory.machine.kernel,
        names.FIO: fio_version,
        names.MACHINE_TYPE: inventory.machine.machine_type,
        **settings.of_disks(kernel, members),
        **settings.of_processors(kernel, cpu_latency),
    }
    if before.get("tuning") == tuning:
        # What is declared has just been set again, whatever it was in between; and another fio
        # has opened its epoch.
        again = (names.CPU_LATENCY, names.FIO, *_declared(layout.tuning))
        values |= {
            key: value for key, value in before["values"].items() if not key.startswith(again)
        }
    arrays = {name: settings.udev_database(kernel, name) for name in kernel.arrays()}
    known = before.get("volumes", {})
    return {
        "tuning": tuning,
        "values": values,
        "built": before.get("built") or settings.built(kernel, arrays),
        "volumes": {
            fact["name"]: known[fact["name"]]
            if fact["name"] in known
            and fact["name"] not in changed
            and known[fact["name"]].get("uuid") == fact["uuid"]
            else _volume(kernel, fact)
            for fact in facts
        },
    }


def _declared(tuning: Tuning) -> tuple[str, ...]:
    """How the names of those values begin that the layout has set."""
    wanted = {
        names.SCHEDULER: tuning.scheduler,
        names.IO_TIMEOUT: tuning.io_timeout_seconds,
    }
    return tuple(key for key, value in wanted.items() if value is not None)


def _volume(kernel: Kernel, fact: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"uuid": fact["uuid"], "slots": _slots(kernel, fact), "mount": None}
    mount = kernel.mount_at(fact["mount"]) if fact["mount"] else None
    if mount is not None:
        usage = mounted.usages([fact["mount"]]).get(fact["mount"])
        found["mount"] = {
            "fstype": mount.fstype,
            "options": mount.options,
            "super_options": mount.super_options,
            "size_bytes": None if usage is None else usage.size_bytes,
        }
    return found


def _slots(kernel: Kernel, fact: Mapping[str, Any]) -> list[str | None]:
    """The ids of an array's disks by slot; empty for what is no array."""
    name = Path(fact["device"]).resolve().name
    count = kernel.attribute(name, "md/raid_disks").partition(" ")[0]
    slots: list[str | None] = [None] * (int(count) if count.isdecimal() else 0)
    for one in fact["members"]:
        slot = kernel.attribute(name, f"md/dev-{Path(one['path']).name}/slot")
        if slot.isdecimal() and int(slot) < len(slots):
            slots[int(slot)] = one["id"]
    return slots
