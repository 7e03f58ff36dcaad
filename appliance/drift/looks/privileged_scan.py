"""Root's part of a look: what of drift only root can see, left for everybody in seen.json.

It reads and changes nothing, and opens only disks of declared volumes, and those that may hold
our groups. A dead disk may never answer: whatever asks one is given up after a while.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.bench import log_page
from appliance.drift.looks import hostlook
from appliance.drift.looks.hostlook import HostSeen
from appliance.drift.looks.observation import Health, Seen, read_seen
from appliance.drift.looks.observe import Sources, of_boot_unit
from appliance.errors import OperatorError
from appliance.model.disks import Disk, Filesystem
from appliance.model.plans import Layout
from appliance.storage.formats import hwraid
from appliance.storage.policy import identity
from appliance.storage.policy.layout import load_layout
from appliance.storage.probe import blockdev, built, nvme
from appliance.storage.probe.devices import Probe
from appliance.storage.probe.nvme import Smart
from appliance.system import child, files, liveness, process

_DISK_SECONDS = 5.0
_REPORT_SECONDS = 30.0


def look(sources: Sources | None = None) -> None:
    """Replace seen.json. Raises :class:`OSError` if it cannot be written, and nothing else:
    what does not answer, or goes meanwhile, is ``None`` there.
    """
    sources = sources or Sources()
    then = of_boot_unit(sources)
    boot_id = liveness.boot_id(sources.kernel.proc_root)
    nodes = {one.id: one.path for volume in then.volumes for one in volume.members}
    formatted = {one.name: one.device for one in then.volumes if one.filesystem not in {"", "none"}}
    files.replace_json(
        sources.seen,
        {
            "boot_id": boot_id,
            "at": time.time(),
            "groups": _groups(sources),
            **_controllers(),
            "health": _health(nodes, read_seen(sources.seen, boot_id)),
            "filesystems": _filesystems(formatted),
            "exceeded": _exceeded(nodes.values()),
            "host": asdict(_host(sources.seen, boot_id)),
        },
    )


def _host(seen: Path, boot_id: str) -> HostSeen:
    """How far the clock was set since this boot's first look, and what ended the last boot."""
    began = liveness.up_since(time.time())
    first = hostlook.read_seen(seen, boot_id).began_at
    first = began if first is None else first
    return HostSeen(
        began_at=first,
        set_seconds=None if began is None or first is None else began - first,
        last_boot=hostlook.last_boot(paths.ENDED_FILE, paths.CRASH_RECORDS, boot_id),
    )


def _groups(sources: Sources) -> list[dict[str, Any]] | None:
    """The groups on disks that may be read, ``None`` if LVM does not say."""
    labelled = None
    # A disk may go while it is looked at: the others answer at the second try, or none does.
    for _ in range(2):
        with contextlib.suppress(OSError):
            labelled = _labelled(sources)
            break
    if not labelled:
        return None if labelled is None else []
    with contextlib.suppress(child.NoAnswer):
        return list(child.call(lambda: _report(labelled), timeout_seconds=_REPORT_SECONDS))
    return None


def _labelled(sources: Sources) -> list[Disk]:
    """The disks that may be read and are said to hold a part of a group."""
    kernel = sources.kernel
    try:
        layout = load_layout(sources.layout)
    except OperatorError:
        layout = Layout(())
    # Not as root: only what udev and sysfs have is needed to know which disks to ask.
    probe = Probe.of(kernel, False, layout)
    disks = [probe.disk(name) for name in kernel.disks()]
    return [
        disk
        for disk in disks
        if built.is_labelled(disk) and identity.may_be_read(disk, layout, probe.machine)
    ]


def _report(labelled: list[Disk]) -> list[dict[str, Any]]:
    report = built.report_of(labelled, timeout_seconds=_REPORT_SECONDS)
    return [asdict(group) for group in report.groups]


def _controllers() -> dict[str, Any]:
    """What RAID controllers say, with ``None`` in place of the lists if they do not."""
    if process.find_program(hwraid.PROGRAM) is None:
        return {"hardware_drives": [], "virtual_drives": []}
    found = None
    with contextlib.suppress(child.NoAnswer):
        found = child.call(lambda: asdict(built.controllers()), timeout_seconds=2 * _REPORT_SECONDS)
    # With no controller at all it would not be installed.
    if not found or not found["virtual_drives"]:
        return {"hardware_drives": None, "virtual_drives": None}
    return {"hardware_drives": found["drives"], "virtual_drives": found["virtual_drives"]}


def _health(nodes: Mapping[str, str], before: Seen | None) -> dict[str, Any]:
    """The SMART log of each disk that has one, ``None`` for one that does not answer in time.
    ``nodes`` are paths by id, ``before`` is an earlier look of this boot.
    """
    nvme_ids = [one for one, path in nodes.items() if Path(path).name.startswith("nvme")]
    found = _each(nvme_ids, lambda one: _as_dict(nvme.smart(nodes[one])))
    known = before.health if before else {}
    health: dict[str, Any] = dict.fromkeys(set(nvme_ids) - set(found))
    for one, log in found.items():
        if log is not None:
            first = known.get(one)
            errors = first.first_media_errors if first else log["media_errors"]
            health[one] = asdict(Health(**log, first_media_errors=errors))
    return health


def _exceeded(paths: Iterable[str]) -> dict[str, Any]:
    """EC2's counters of exceeded limits, by kernel name, and from when on they were read: runs
    set two readings side by side, and can make none themselves.
    """
    began = time.monotonic()
    names = [Path(path).name for path in paths]
    found = _each(names, lambda name: log_page.to_json(log_page.read_exceeded([name])))
    disks = {name: one for answer in found.values() for name, one in answer.items()}
    return {"at_monotonic_s": began, "disks": disks}


def _each(keys: list[str], work: Callable[[str], Any]) -> dict[str, Any]:
    """``work`` of each key that answers; of none if no process can be had to ask."""
    try:
        return child.each(keys, work, timeout_seconds=_DISK_SECONDS)
    except child.NotAsked:
        return {}


def _as_dict(found: Smart | Filesystem | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def _filesystems(devices: Mapping[str, str]) -> dict[str, Any]:
    """What the superblocks say, by volume; ``None`` where one cannot be read."""
    found = _each(list(devices), lambda name: _superblock(devices[name]))
    return {name: found.get(name) for name in devices}


def _superblock(device: str) -> dict[str, Any] | None:
    with contextlib.suppress(OSError):
        return _as_dict(blockdev.read_filesystem(os.path.realpath(device)))
    return None
