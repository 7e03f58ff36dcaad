"""Which devices a report was on, and on which it should have been. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from appliance.clouds.provider import disk_count
from appliance.figures.quantities import disk_of
from appliance.fio_import import storage_stated as stated
from appliance.fio_import.context import Surroundings
from appliance.fio_import.draft import Report, Section
from appliance.fio_import.options import Options
from appliance.model.disks import DiskKind
from appliance.model.measurement import DeviceIo

# A diary of more directories than this is not kept track of.
_MOST_PLACES = 4096
# Of clones × devices; of more it is not known on which they were.
_MOST_SHARES = 4096


@dataclass(frozen=True, slots=True)
class Devices:
    """The device, the disks below it, and what each did for one job (the device first).

    ``seen`` is true where the report itself has the devices' figures.
    """

    device: str = ""
    members: tuple[str, ...] = ()
    io: tuple[DeviceIo, ...] = ()
    seen: bool = False


@dataclass(frozen=True, slots=True)
class Expected:
    """Devices that the job should have been on, and where that is known from."""

    devices: tuple[str, ...] = ()
    why: str = ""


def target_of(options: Options) -> str:
    """The directory or the device that was measured, empty if it is not known."""
    name = options.get("filename").split(":")[0]
    if name.startswith("/dev/"):
        return options.get("filename")
    if directory := options.get("directory"):
        return posixpath.normpath(directory.split(":")[0])
    return posixpath.dirname(posixpath.normpath(name)) if name.startswith("/") else ""


def devices_of(report: Report, surroundings: Surroundings, target: str) -> Devices:
    """From the report's own figures; else from what the text says is mounted there."""
    if len(report.sections) * len(report.devices) > _MOST_SHARES:
        return Devices()
    arrays = surroundings.storage.arrays
    if not report.devices:
        device = _stated(surroundings, target)
        # What an array is made of has to be said; a disk is its own member.
        alone = (device,) if stated.family(device) else ()
        return Devices(device, arrays.get(device, alone))
    seen = _without_paths(report.devices)
    summed = report.above if len(seen) > 1 else ()
    above = [name for name in seen if stated.is_array(name) or name in summed]
    members = tuple(name for name in seen if name not in above)
    device = next(iter(above or seen)) if above or len(seen) == 1 else ""
    if above:
        members = members or arrays.get(device, ())
    order = sorted(seen, key=lambda name: name != device)
    return Devices(device, members, tuple(seen[name] for name in order), seen=True)


def _without_paths(reported: Mapping[str, DeviceIo]) -> dict[str, DeviceIo]:
    """Disks by the name of their namespace: native NVMe multipath counts on its paths
    (``nvme0c0n1`` of ``nvme0n1``), or on both, which is the same I/O twice.
    """
    seen: dict[str, DeviceIo] = {}
    for name, io in reported.items():
        disk = stated.namespace(name)
        known = seen.get(disk)
        if known is None or known.read_ios + known.write_ios < io.read_ios + io.write_ios:
            seen[disk] = replace(io, device=disk)
    return seen


def _stated(surroundings: Surroundings, target: str) -> str:
    """The device of the target, as far as the text says."""
    if target.startswith("/dev/"):
        return "" if ":" in target else disk_of(target)
    mounts, directory = surroundings.storage.mounts, target
    while directory and directory not in mounts:
        # Whatever is not under a mount that was seen may be anywhere.
        directory = posixpath.dirname(directory).rstrip("/")
    return mounts[directory] if directory else ""


def share(
    io: tuple[DeviceIo, ...], section: Section, totals: Mapping[str, int]
) -> tuple[DeviceIo, ...]:
    """What the devices did for one of several clones of a job (``numjobs`` without
    ``group_reporting``): they did alike, so that each has its share of all by I/Os.
    """
    shares = {
        direction: section.total_ios.get(direction, 0) / total if total else 0.0
        for direction, total in totals.items()
    }
    return tuple(_scaled(one, shares) for one in io)


def totals(sections: Sequence[Section]) -> dict[str, int]:
    """I/Os of all clones of one job by direction; empty if these are different jobs."""
    if len({(section.name, section.group) for section in sections}) != 1:
        return {}
    return {
        direction: sum(section.total_ios.get(direction, 0) for section in sections)
        for direction in ("read", "write")
    }


def _scaled(one: DeviceIo, shares: Mapping[str, float]) -> DeviceIo:
    scaled: dict[str, int] = {}
    for field in fields(one):
        direction, _, _ = field.name.partition("_")
        value = getattr(one, field.name)
        if direction in shares and isinstance(value, int):
            scaled[field.name] = round(value * shares[direction])
    return replace(one, **scaled)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Known:
    layout: int
    stated: str
    device: str
    members: tuple[str, ...]
    line: int


class Places:
    """Remembers on which disk the first report of each directory was."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}

    def expected(
        self, devices: Devices, surroundings: Surroundings, target: str, line: int
    ) -> Expected:
        """What the report at ``line`` should have been on; reports come in order."""
        if not devices.seen or not target:
            return Expected()
        if target.startswith("/dev/"):
            return _as_named(devices, target)
        key = (surroundings.host, target)
        device, members = devices.device, devices.members
        now = _Known(surroundings.layout, _stated(surroundings, target), device, members, line)
        first = self._known.get(key)
        if (
            first is None
            or (first.layout, first.stated) != (now.layout, now.stated)
            # An array on the same directory is a new layout, and so is a disk of the last one's.
            or stated.is_array(device)
            or len(members) != 1
            or (stated.is_array(first.device) and device in first.members)
        ):
            if len(self._known) < _MOST_PLACES:
                self._known[key] = now
            return Expected()
        why = f"the first report on {target}, line {first.line}, was on {first.device}"
        return Expected((first.device or first.members[0],), why)


def _as_named(devices: Devices, target: str) -> Expected:
    """The disks that fio was told, if they are named as the kernel names those that it saw."""
    named = tuple(disk_of(path) for path in target.split(":"))
    families = {stated.family(name) for name in (*named, *devices.members)}
    if len(families) != 1 or "" in families or stated.is_array(devices.device):
        return Expected()
    return Expected(named, f"fio was told {target}")


def kind_of(devices: Devices, surroundings: Surroundings, machine_type: str) -> DiskKind:
    """Instance storage or network volumes, as far as the text proves it.

    Where the system is on a Xen disk (``xvda``), network volumes are too, and NVMe disks are
    the instance's own. Elsewhere both are NVMe and only words tell; a machine type that is
    sold with disks is taken to be measured on them, unless it is the first (the system's).
    """
    members = devices.members
    if not members and surroundings.kind == "network" and surroundings.volume_count:
        return DiskKind.NETWORK
    if not members or surroundings.storage.root_device in members:
        return DiskKind.UNKNOWN
    said = {surroundings.storage.disks.get(name, DiskKind.UNKNOWN) for name in members}
    if len(said) == 1 and DiskKind.UNKNOWN not in said:
        return said.pop()
    families = {stated.family(name) for name in members}
    if families == {"nvme"} and stated.family(surroundings.storage.root_device) == "xvd":
        return DiskKind.INSTANCE_STORE
    if surroundings.kind == "network":
        return DiskKind.NETWORK
    if surroundings.kind == "instance-store":
        return DiskKind.INSTANCE_STORE
    count = disk_count(machine_type)
    own = families == {"nvme"} and ("nvme0n1" not in members or machine_type.startswith("i3."))
    return DiskKind.INSTANCE_STORE if own and count else DiskKind.UNKNOWN
