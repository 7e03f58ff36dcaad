"""What is recorded of the surroundings of a run, as text; what cannot be read is left out.

Caches, discard and idle states change what a number means, and nobody knows a month later
how they were set.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from appliance import paths
from appliance.bench.block_devices import Devices
from appliance.system.kernel import parse_mountinfo, read_text

# Attributes of /sys/class/block/DEVICE/queue (Documentation/ABI/stable/sysfs-block).
_QUEUE = (
    "write_cache",
    "scheduler",
    "rotational",
    "nr_requests",
    "nomerges",
    "max_sectors_kb",
    "logical_block_size",
    "discard_granularity",
    "discard_max_bytes",
)
_CHOSEN = re.compile(r"\[([^\]]+)\]")
_MEMORY = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)


def read_conditions(
    devices: Devices,
    device_number: int | None,
    *,
    sys_root: Path = Path("/sys"),
    proc_root: Path = Path("/proc"),
    cpu_latency_file: Path = paths.CPU_LATENCY_FILE,
) -> dict[str, str]:
    """Name -> value: the disks' queues, how the target is mounted, processors and memory.

    A value that is the same on all members stands once, else as ``name value, name value``.
    ``device_number`` is that of the target's filesystem, ``None`` for a raw device.
    """
    found = {
        name: _of_members(sys_root / "class/block", devices.members, f"queue/{name}")
        for name in _QUEUE
    }
    if device_number is not None:
        found["mount_discard"] = _mount_discard(device_number, proc_root)
    cpu = sys_root / "devices/system/cpu"
    memory = _MEMORY.search(read_text(proc_root / "meminfo"))
    found |= {
        "cpu_governor": _governors(cpu),
        "cpu_idle_driver": read_text(cpu / "cpuidle/current_driver"),
        "cpu_idle_states": _idle_states(cpu / "cpu0/cpuidle"),
        "max_cstate": read_text(sys_root / "module/intel_idle/parameters/max_cstate"),
        "cpu_latency_us": read_text(cpu_latency_file).strip(),
        "memory_bytes": str(int(memory[1]) * 1024) if memory else "",
    }
    return {name: value for name, value in found.items() if value}


def _of_members(sys_block: Path, members: Sequence[str], attribute: str) -> str:
    values = {member: _chosen(_whole_disk(sys_block / member) / attribute) for member in members}
    if len(set(values.values())) <= 1:
        return next(iter(values.values()), "")
    return ", ".join(f"{member} {value or 'unknown'}" for member, value in values.items())


def _whole_disk(device: Path) -> Path:
    """A partition has no queue of its own: that of its disk."""
    return device.resolve().parent if (device / "partition").exists() else device


def _chosen(path: Path) -> str:
    """The value; of a choice (``[none] mq-deadline``) the chosen one."""
    text = read_text(path).strip()
    chosen = _CHOSEN.search(text)
    return chosen[1] if chosen else text


def _mount_discard(device_number: int, proc_root: Path) -> str:
    """Whether deleted files are discarded at once; empty if the mount is not found."""
    wanted = f"{os.major(device_number)}:{os.minor(device_number)}"
    for mount in parse_mountinfo(read_text(proc_root / "self/mountinfo")):
        if mount.device == wanted:
            options = mount.super_options.split(",") + mount.options.split(",")
            return "yes" if "discard" in options or "discard=async" in options else "no"
    return ""


def _governors(cpu: Path) -> str:
    found = {read_text(path) for path in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(found - {""}))


def _idle_states(folder: Path) -> str:
    """The idle states that may be entered: their names in the order of depth."""
    states = sorted(folder.glob("state[0-9]*"), key=lambda state: int(state.name[5:]))
    return " ".join(
        read_text(state / "name") for state in states if read_text(state / "disable") == "0"
    )
