"""Mounting and unmounting: by systemd where it runs, else by mount(8) as the step says.

The executor's units have a mount namespace of their own, from which nothing reaches the machine's
(docs/decisions/0040). The mount unit of the volume says the same as the step. It mounts only
while the executor allows it, and is started past all ordering: it is ordered after the boot unit,
which is what waits for it here.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from appliance import paths
from appliance.errors import OperatorError, Refused
from appliance.model.plans import Volume
from appliance.storage.formats import filesystem
from appliance.storage.formats.mount_unit import (
    OURS,
    device_text,
    escaped,
    unit_name,
    unit_text,
)
from appliance.storage.probe import blockdev
from appliance.system import files, process, services
from appliance.system.kernel import Kernel


def forbid() -> None:
    """Take back what an executor that was killed has allowed."""
    for file in paths.MAY_MOUNT_DIR.glob("*"):
        # Only root writes there; what cannot be removed must not keep volumes from coming up.
        with contextlib.suppress(OSError):
            file.unlink()


def mount(
    argv: Sequence[str], volume: Volume, kernel: Kernel, units: Path, *, timeout_seconds: float
) -> None:
    """Carry out the mount step ``argv``; ``units`` is where mount units go."""
    _replay(volume, argv[-2], timeout_seconds)
    if not services.systemd_is_running():
        process.run(argv, timeout_seconds=timeout_seconds)
        return
    name = unit_name(volume.mount)
    wanted = {name: unit_text(volume, stable_device(volume.name, argv[-2], kernel))}
    try:
        if _write(units, wanted, _present(units, "*.mount")):
            services.reload_manager()
        _must_be_ours(name, argv[-2], volume, kernel)
        with _allowed(name):
            services.start_mount(name, timeout_seconds=timeout_seconds)
    except OSError as error:
        raise OperatorError(
            f"{name} cannot be written: {error.strerror}",
            "see 'df -h /'; the root filesystem may be full or read-only",
        ) from error


def _replay(volume: Volume, device: str, timeout_seconds: float) -> None:
    """Replay the journal where mount would come too late; where this fails, mount says why."""
    kind = filesystem.KINDS[volume.filesystem]
    with contextlib.suppress(OSError):
        if kind.needs_replay(blockdev.read_at(device, 0, filesystem.SUPERBLOCK_SIZE_BYTES)):
            process.run(kind.replay_argv(device), timeout_seconds=timeout_seconds, check=False)


def unmount(argv: Sequence[str], *, timeout_seconds: float) -> None:
    """Carry out the step ``umount MOUNTPOINT``; busy is an error, and what uses it stays."""
    if services.systemd_is_running():
        services.stop_mount(unit_name(argv[-1]), timeout_seconds=timeout_seconds)
    else:
        process.run(argv, timeout_seconds=timeout_seconds)


def stable_device(volume: str, device: str, kernel: Kernel) -> str:
    """Our own link to ``device``, if it is one by now: it has the same name at the next boot."""
    link = paths.DEVICE_DIR / volume
    number = kernel.device_number(str(link))
    return str(link) if number and number == kernel.device_number(device) else device


def _must_be_ours(name: str, device: str, volume: Volume, kernel: Kernel) -> None:
    """An administrator's unit or drop-in for this path may say something else."""
    what, kind = services.mount_of(name)
    same = kernel.device_number(what) == kernel.device_number(device)
    if not same or kind != volume.filesystem:
        raise Refused(
            f"{name} would mount {what or 'nothing'} ({kind or 'no type'}),"
            f" not {volume.filesystem} of {device}",
            f"see 'systemctl cat {name}', and take out what is not Stripewright's",
        )


@contextlib.contextmanager
def _allowed(name: str) -> Iterator[None]:
    """While this lasts, the mount unit ``name`` may be started."""
    file = paths.MAY_MOUNT_DIR / name
    file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    file.touch()
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


# ---------------------------------------------------------------------------------- mount units


_WHAT = re.compile(r"^What=(.*)$", re.MULTILINE)
# Before the fstab generator's 50-device-timeout.conf, so that a time that is given there holds.
_DROP_IN = "40-stripewright.conf"
_LONGEST_NAME = 255


def sync_units(folder: Path, volumes: Sequence[Volume], devices: Mapping[str, str]) -> list[str]:
    """Write the units of those of the declared ``volumes`` that are up, and remove ours of volumes
    that are no longer declared.

    ``devices`` are those of the volumes that are up, by name; the unit of any other stays as it is.
    Returns the names of the files that changed. Raises :class:`OSError`.
    """
    mounted = {unit_name(volume.mount): volume for volume in volumes if volume.mount}
    wanted = {
        name: unit_text(volume, devices[volume.name])
        for name, volume in mounted.items()
        if volume.name in devices
    }
    present = _present(folder, "*.mount")
    changed = _write(folder, wanted, present)
    for name in sorted(set(present) - set(mounted)):
        (folder / name).unlink(missing_ok=True)
        changed.append(name)
    waits = {name: volume.patience_seconds for name, volume in mounted.items()}
    return changed + _sync_devices(folder, waits)


def _sync_devices(folder: Path, waits: Mapping[str, float]) -> list[str]:
    """A drop-in for the disk of each of our units, also of those that stayed as they were.

    ``waits`` are seconds by the unit's name.
    """
    units = _present(folder, "*.mount")
    wanted = {}
    for unit, wait_seconds in waits.items():
        found = _WHAT.search(units.get(unit, ""))
        device = found.group(1).replace("%%", "%") if found else ""
        name = f"{escaped(device)}.device.d"
        # Only by a name that another disk cannot get; what is built of disks has its own drop-in.
        if device.startswith("/dev/disk/") and len(name) <= _LONGEST_NAME:
            wanted[f"{name}/{_DROP_IN}"] = device_text(wait_seconds)
    present = _present(folder, f"dev-disk-*.device.d/{_DROP_IN}")
    changed = _write(folder, wanted, present)
    for name in sorted(set(present) - set(wanted)):
        (folder / name).unlink(missing_ok=True)
        # It may hold drop-ins that are not ours.
        with contextlib.suppress(OSError):
            (folder / name).parent.rmdir()
        changed.append(name)
    return changed


def _write(folder: Path, wanted: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    """Write what is ``wanted`` and not there; what is there and not ours stays."""
    changed = []
    for name, text in wanted.items():
        path = folder / name
        if present.get(name) == text or (name not in present and path.exists()):
            continue
        files.replace_text(path, text, durable=True)
        changed.append(name)
    return changed


def _present(folder: Path, pattern: str) -> Mapping[str, str]:
    """Name -> text of the files in ``folder`` that are ours."""
    found = {}
    for path in folder.glob(pattern):
        if path.is_symlink() or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if text.startswith(OURS):
            found[str(path.relative_to(folder))] = text
    return found
