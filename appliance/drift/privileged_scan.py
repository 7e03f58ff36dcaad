"""Root's part of a look: what of drift only root can see, left for everybody in seen.json.

It reads and changes nothing, and opens only disks of declared volumes, and those that may hold
our groups. A dead disk may never answer: whatever asks one is given up after a while.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.bench import log_page
from appliance.drift import hostlook
from appliance.drift.observation import Health, read_then
from appliance.drift.observe import Sources
from appliance.errors import OperatorError
from appliance.model.disks import Disk
from appliance.model.plans import Layout
from appliance.state import boot_state
from appliance.storage.formats import hwraid, lvm
from appliance.storage.policy import identity
from appliance.storage.policy.layout import load_layout
from appliance.storage.probe import blockdev, built, nvme, settings
from appliance.storage.probe.devices import Probe
from appliance.system import child, files, liveness, process
from appliance.system.kernel import read_text

_DISK_SECONDS = 5.0
_REPORT_SECONDS = 30.0
_LVM = "LVM2_member"


def look(sources: Sources | None = None) -> None:
    """Replace seen.json. Raises :class:`OSError` if it cannot be written, and nothing else:
    what does not answer, or goes meanwhile, is ``None`` there.
    """
    sources = sources or Sources()
    boot_id = read_text(sources.kernel.proc_root / "sys/kernel/random/boot_id").strip()
    state = boot_state.find(sources.state)
    at_work = state is not None and sources.kernel.has_process(state.pid)
    then = read_then(state, boot_id, at_work=at_work)
    before = _document(sources.seen)
    nodes = {one.id: one.path for volume in then.volumes for one in volume.members}
    formatted = {one.name: one.device for one in then.volumes if one.filesystem not in {"", "none"}}
    controllers = _controllers()
    files.replace_json(
        sources.seen,
        {
            "boot_id": boot_id,
            "at": time.time(),
            "groups": _groups(sources),
            "hardware_drives": controllers["drives"],
            "virtual_drives": controllers["virtual_drives"],
            "health": _health(nodes, before if before.get("boot_id") == boot_id else {}),
            "filesystems": _filesystems(formatted),
            "exceeded": _exceeded(nodes.values()),
            "host": _host(before, boot_id),
        },
    )


def _document(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# ------------------------------------------------------------------------------ the host


def _host(before: Mapping[str, Any], boot_id: str) -> dict[str, Any]:
    """How far the clock was set since this boot's first look, and what ended the last boot."""
    began = liveness.up_since(time.time())
    host = before.get("host") if before.get("boot_id") == boot_id else None
    first = host.get("began_at") if isinstance(host, dict) else None
    if not isinstance(first, int | float):
        first = began
    return {
        "began_at": first,
        "set_seconds": None if began is None or first is None else began - first,
        "last_boot": hostlook.last_boot(paths.ENDED_FILE, paths.CRASH_RECORDS, boot_id),
    }


# -------------------------------------------------------------------- LVM and controllers


def _groups(sources: Sources) -> list[dict[str, Any]] | None:
    """The groups on disks that may be read, ``None`` if LVM does not say."""
    try:
        labelled = _labelled(sources)
    except OSError:
        # A disk has gone while it was looked at: those that are left hold still, or nobody knows.
        try:
            labelled = _labelled(sources)
        except OSError:
            return None
    if not labelled:
        return []
    ids = {path: disk.id for disk in labelled for path in (disk.path, disk.stable_path) if path}
    try:
        return list(
            child.call(
                lambda: _report([disk.path for disk in labelled], ids),
                timeout_seconds=_REPORT_SECONDS,
            )
        )
    except child.NoAnswer:
        return None


def _labelled(sources: Sources) -> list[Disk]:
    """The disks that may be read and are said to hold a part of a group."""
    kernel = sources.kernel
    try:
        layout = load_layout(sources.layout)
    except OperatorError:
        layout = Layout(())
    # Not as root: only what udev and sysfs have is needed to know which disks to ask.
    probe = Probe.of(kernel, lambda name: settings.udev_database(kernel, name), False, layout)
    disks = [probe.disk(name) for name in kernel.disks()]
    return [
        disk
        for disk in disks
        if any(one.kind == _LVM for one in disk.signatures)
        and identity.may_be_read(disk, layout, probe.machine)
    ]


def _report(paths: list[str], ids: Mapping[str, str]) -> list[dict[str, Any]]:
    # A missing member makes it exit with 5 after a whole report.
    done = process.run(lvm.report_argv(paths), timeout_seconds=_REPORT_SECONDS, check=False)
    groups = (lvm.with_ids(group, ids) for group in lvm.parse_report(done.stdout).groups)
    return [asdict(group) for group in groups]


def _controllers() -> dict[str, Any]:
    """What RAID controllers say, with ``None`` in place of the lists if they do not."""
    if process.find_program(hwraid.PROGRAM) is None:
        return asdict(built.Controllers())
    try:
        return dict(child.call(_from_controllers, timeout_seconds=2 * _REPORT_SECONDS))
    except child.NoAnswer:
        return {"drives": None, "virtual_drives": None}


def _from_controllers() -> dict[str, Any]:
    found = built.controllers()
    # With no controller at all it would not be installed.
    return asdict(found) if found.virtual_drives else {"drives": None, "virtual_drives": None}


# --------------------------------------------------------------------- disks and superblocks


def _health(nodes: Mapping[str, str], before: Mapping[str, Any]) -> dict[str, Any]:
    """The SMART log of each disk that has one, ``None`` for one that does not answer in time.
    ``nodes`` are paths by id.
    """
    nvme_ids = [one for one, path in nodes.items() if Path(path).name.startswith("nvme")]
    found = _each(nvme_ids, lambda one: _smart(nodes[one]))
    logs = {
        one: asdict(Health(**log, first_media_errors=_first(before, one, log["media_errors"])))
        for one, log in found.items()
        if log is not None
    }
    return {**dict.fromkeys(set(nvme_ids) - set(found)), **logs}


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


def _smart(node: str) -> dict[str, Any] | None:
    found = nvme.smart(node)
    return None if found is None else asdict(found)


def _first(before: Mapping[str, Any], disk_id: str, now: int) -> int:
    """The errors that were there at the first look of this boot."""
    try:
        return int(before["health"][disk_id]["first_media_errors"])
    except (KeyError, TypeError, ValueError):
        return now


def _filesystems(devices: Mapping[str, str]) -> dict[str, Any]:
    """What the superblocks say, by volume; ``None`` where one cannot be read."""
    found = _each(list(devices), lambda name: _superblock(devices[name]))
    return {name: found.get(name) for name in devices}


def _superblock(device: str) -> dict[str, Any] | None:
    try:
        found = blockdev.read_filesystem(os.path.realpath(device))
    except OSError:
        return None
    return None if found is None else asdict(found)
