"""Where a run happens: the declared volume it is on, and the fingerprint of its surroundings.

On the appliance the boot unit opened the epoch of a volume, and a run in that volume
belongs to it. Anywhere else the run's own surroundings make the fingerprint.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from appliance import paths
from appliance.bench.block_devices import Devices, disk_folder
from appliance.errors import OperatorError, UsageError
from appliance.state import boot_state
from appliance.state.boot_state import BootVolume
from appliance.storage.formats import serials
from appliance.system.kernel import Mount, chosen, parse_mountinfo, read_md, read_text


def mounted_volumes(state_file: Path = paths.STATE_FILE) -> tuple[BootVolume, ...]:
    """The volumes that the boot unit mounted, in declared order; none without its state."""
    state = boot_state.find(state_file)
    volumes = state.volumes if state else ()
    return tuple(one for one in volumes if one.outcome == "mounted" and one.mount)


def default_target(state_file: Path = paths.STATE_FILE) -> Path:
    """The private directory of the first mounted volume; :class:`OperatorError` if none is."""
    for volume in mounted_volumes(state_file):
        return Path(volume.mount, paths.BENCH_DIR_NAME)
    raise OperatorError(
        "no volume of this machine is mounted, so there is nothing to measure",
        "see why: stripewright status; or measure any directory: --target DIR",
    )


def target_on(volume: str, state_file: Path = paths.STATE_FILE) -> Path:
    """The private directory of the mounted volume ``volume``; :class:`UsageError` if none is."""
    mounted = mounted_volumes(state_file)
    for one in mounted:
        if one.name == volume:
            return Path(one.mount, paths.BENCH_DIR_NAME)
    names = ", ".join(one.name for one in mounted)
    raise UsageError(
        f"no volume called {volume!r} is mounted",
        f"mounted: {names or 'none'}; see why: stripewright status",
    )


def declared_epoch(target: Path, state_file: Path = paths.STATE_FILE) -> int | None:
    """The epoch of the volume that ``target`` is in, ``None`` outside of all volumes.

    The path is not enough: another filesystem may be mounted below the volume, and the
    volume itself may have been unmounted since.
    """
    real = Path(os.path.realpath(target))
    for volume in mounted_volumes(state_file):
        if real.is_relative_to(volume.mount) and _same_filesystem(real, Path(volume.mount)):
            return volume.epoch_id
    return None


def declared_disks(target: Path, state_file: Path = paths.STATE_FILE) -> tuple[str, ...]:
    """Kernel names of the disks of the volume whose mount point ``target`` is below, whether
    or not the volume is mounted there now; none outside of all volumes.
    """
    real = Path(os.path.realpath(target))
    for volume in mounted_volumes(state_file):
        if real.is_relative_to(volume.mount):
            return tuple(Path(one.path).resolve().name for one in volume.members)
    return ()


def _same_filesystem(one: Path, other: Path) -> bool:
    try:
        return one.stat().st_dev == other.stat().st_dev
    except OSError:
        return False


def fingerprint(
    devices: Devices,
    *,
    device_number: int,
    fio_version: str,
    machine_type: str,
    sys_block: Path = Path("/sys/class/block"),
    mountinfo: Path = Path("/proc/self/mountinfo"),
) -> dict[str, str]:
    """What must be the same for two results to be compared, as text."""
    mount = _mount(device_number, mountinfo)
    return {
        "serials": ",".join(_serial(sys_block / member) for member in devices.members),
        "stripe": _stripe(sys_block / devices.device, len(devices.members)),
        "filesystem": mount.fstype if mount else "",
        "mount_options": mount.options if mount else "",
        "kernel": os.uname().release,
        "fio": fio_version,
        "machine_type": machine_type,
    }


def _mount(device_number: int, mountinfo: Path) -> Mount | None:
    wanted = f"{os.major(device_number)}:{os.minor(device_number)}"
    mounts = parse_mountinfo(read_text(mountinfo))
    return next((mount for mount in mounts if mount.device == wanted), None)


def _stripe(device: Path, member_count: int) -> str:
    md = device / "md"
    if not md.is_dir():
        return f"single members={member_count}"
    array = read_md(md)
    return f"md-{array.level} chunk={array.chunk_bytes} members={member_count}"


def _serial(device: Path) -> str:
    """A disk's serial where sysfs has it: below its device (NVMe, SCSI), virtio on the disk."""
    device = disk_folder(device)
    found = read_text(device / "device" / "serial") or read_text(device / "serial")
    return serials.unpadded(found)


# -------------------------------------------------------------------------------------- conditions


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
        found["mount_discard"] = _mount_discard(_mount(device_number, proc_root / "self/mountinfo"))
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
    values = {
        member: chosen(read_text(disk_folder(sys_block / member) / attribute)) for member in members
    }
    if len(set(values.values())) <= 1:
        return next(iter(values.values()), "")
    return ", ".join(f"{member} {value or 'unknown'}" for member, value in values.items())


def _mount_discard(mount: Mount | None) -> str:
    """Whether deleted files are discarded at once; empty if the mount is not found."""
    if mount is None:
        return ""
    options = mount.super_options.split(",") + mount.options.split(",")
    return "yes" if "discard" in options or "discard=async" in options else "no"


def _governors(cpu: Path) -> str:
    found = {read_text(path) for path in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(found - {""}))


def _idle_states(folder: Path) -> str:
    """The idle states that may be entered: their names in the order of depth."""
    states = sorted(folder.glob("state[0-9]*"), key=lambda state: int(state.name[5:]))
    return " ".join(
        read_text(state / "name") for state in states if read_text(state / "disable") == "0"
    )
