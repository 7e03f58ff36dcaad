"""Mounting and unmounting: by systemd where it runs, else by mount(8) as the step says.

The executor's units have a mount namespace of their own, from which nothing reaches the machine's
(docs/decisions/0040). The mount unit of the volume says the same as the step. It mounts only
while the executor allows it, and is started past all ordering: it is ordered after the boot unit,
which is what waits for it here.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from appliance import paths
from appliance.errors import OperatorError, Refused
from appliance.model import Volume
from appliance.storage.execute import mount_units
from appliance.storage.formats import ext4, filesystem, mount_unit
from appliance.storage.probe import blockdev
from appliance.system import process, services
from appliance.system.kernel import Kernel


def forbid() -> None:
    """Take back what an executor that was killed has allowed."""
    shutil.rmtree(paths.MAY_MOUNT_DIR, ignore_errors=True)


def mount(
    argv: Sequence[str], volume: Volume, kernel: Kernel, units: Path, *, timeout_seconds: float
) -> None:
    """Carry out the mount step ``argv``; ``units`` is where mount units go."""
    if volume.filesystem == "ext4":
        _replay(argv[-2], timeout_seconds)
    if not services.systemd_is_running():
        process.run(argv, timeout_seconds=timeout_seconds)
        return
    unit = mount_unit.MountUnit(
        volume=volume.name,
        device=stable_device(volume.name, argv[-2], kernel),
        mount=volume.mount,
        filesystem=volume.filesystem,
        options=filesystem.mount_options(volume),
    )
    name = mount_unit.unit_name(volume.mount)
    try:
        if mount_units.put(units, unit):
            services.reload_manager()
        _must_be_ours(name, argv[-2], volume, kernel)
        with _allowed(name):
            services.start_mount(name, timeout_seconds=timeout_seconds)
    except OSError as error:
        raise OperatorError(
            f"{name} cannot be written: {error.strerror}",
            "see 'df -h /'; the root filesystem may be full or read-only",
        ) from error


def _replay(device: str, timeout_seconds: float) -> None:
    """Replay ext4's journal, which mount would do, too.

    Too late: the kernel checks the group descriptors first (ext4_check_descriptors), and those of
    a filesystem that grew when the power went may be in the journal only. Where this fails, mount
    says why.
    """
    with contextlib.suppress(OSError):
        if ext4.needs_recovery(blockdev.read_at(device, 0, filesystem.SUPERBLOCK_SIZE_BYTES)):
            process.run(ext4.replay_argv(device), timeout_seconds=timeout_seconds, check=False)


def unmount(argv: Sequence[str], *, timeout_seconds: float) -> None:
    """Carry out the step ``umount MOUNTPOINT``; busy is an error, and what uses it stays."""
    if services.systemd_is_running():
        services.stop_mount(mount_unit.unit_name(argv[-1]), timeout_seconds=timeout_seconds)
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
