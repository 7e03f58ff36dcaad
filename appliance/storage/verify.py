"""Reading back what a step made. A step that cannot be proved has failed.

Each check asks somebody else than the program that did the work: sysfs for an array,
the filesystem's own tool for its geometry, mountinfo for a mount.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from appliance.errors import OperatorError
from appliance.model import Step, Volume
from appliance.storage import filesystem, md, steps
from appliance.storage.kernel import Kernel
from appliance.system import process

_TOOL_TIMEOUT_SECONDS = 60
_HINT = "nothing was mounted over it; see 'journalctl -b -t stripewright' and look at it by hand"


def check(step: Step, volume: Volume, members: list[str], kernel: Kernel) -> None:
    """Verify ``step``; ``members`` are the device paths in slot order.

    Raises :class:`OperatorError` saying what is not as planned.
    """
    if step.check == steps.CHECK_ARRAY:
        check_array(volume, members, kernel)
    elif step.check == steps.CHECK_GEOMETRY:
        check_geometry(volume, step.argv[-1], len(members))
    elif step.check == steps.CHECK_MOUNT:
        check_mount(volume, step.argv[-2], kernel)


def check_array(volume: Volume, members: list[str], kernel: Kernel) -> None:
    """Level, chunk, state, name and every member in its slot."""
    path = md.array_path(volume.name)
    name = Path(path).resolve().name
    found = {
        "level": kernel.attribute(name, "md/level"),
        "chunk": kernel.attribute(name, "md/chunk_size"),
        "members": kernel.attribute(name, "md/raid_disks"),
    }
    wanted = {
        "level": "raid0",
        "chunk": str(volume.chunk_bytes),
        "members": str(len(members)),
    }
    wrong = [
        f"{key} is {found[key] or 'unknown'}, not {wanted[key]}"
        for key in wanted
        if found[key] != wanted[key]
    ]
    state = kernel.attribute(name, "md/array_state")
    if state not in {"clean", "active", "active-idle", "write-pending", "readonly", "read-auto"}:
        wrong.append(f"state is {state or 'unknown'}")
    for slot, member in enumerate(members):
        disk = Path(member).resolve().name
        seen = kernel.attribute(name, f"md/dev-{disk}/slot")
        if seen != str(slot):
            wrong.append(f"{member} is in slot {seen or 'none'}, not {slot}")
    detail = process.run(md.detail_argv(path), timeout_seconds=_TOOL_TIMEOUT_SECONDS)
    wrong += md.detail_differences(
        md.parse_export(detail.stdout),
        name=md.array_name(volume.name),
        level="raid0",
        members=len(members),
    )
    if wrong:
        raise OperatorError(f"{path} is not the array that was planned: {'; '.join(wrong)}", _HINT)


def check_geometry(volume: Volume, device: str, members: int) -> None:
    """Sunit is the chunk and swidth is chunk × members; on one disk there is neither."""
    done = process.run(filesystem.xfs_info_argv(device), timeout_seconds=_TOOL_TIMEOUT_SECONDS)
    found = filesystem.parse_xfs_info(done.stdout)
    wanted = (volume.chunk_bytes, volume.chunk_bytes * members) if members > 1 else (0, 0)
    if found != wanted:
        raise OperatorError(
            f"XFS on {device} has sunit {found[0]} and swidth {found[1]} bytes,"
            f" not {wanted[0]} and {wanted[1]}",
            _HINT,
        )


def check_mount(volume: Volume, device: str, kernel: Kernel) -> None:
    """The device is what is mounted there, with the options that were asked for."""
    on_top = kernel.mount_at(volume.mount)
    if on_top is None:
        raise OperatorError(f"nothing is mounted at {volume.mount}", _HINT)
    missing = set(filesystem.MOUNT_OPTIONS) - set(on_top.options.split(","))
    if on_top.device != kernel.device_number(device) or on_top.fstype != "xfs" or missing:
        raise OperatorError(
            f"at {volume.mount} is {on_top.fstype} of {on_top.source} with {on_top.options},"
            f" not {device} with {','.join(filesystem.MOUNT_OPTIONS)}",
            _HINT,
        )


def mountpoint_problem(volume: Volume, kernel: Kernel) -> str:
    """Why the volume must not be mounted where it should be, or an empty string.

    Mounting over files hides them, and over another mount hides that.
    """
    path = Path(volume.mount)
    if on_top := kernel.mount_at(volume.mount):
        return f"{path} is already a mount of {on_top.source}"
    real = Path(os.path.realpath(path))
    if real != path:
        return f"{path} is or is below a symbolic link (to {real})"
    for folder in (path, *path.parents):
        if problem := _not_only_roots(folder):
            return f"{folder} {problem}: whoever that is could put something else at {path}"
    if not path.exists():
        return ""
    if not path.is_dir():
        return f"{path} is not a directory"
    if any(path.iterdir()):
        return f"{path} is not empty; mounting over it would hide what is there"
    return ""


def _not_only_roots(folder: Path) -> str:
    """Who but root can change what is in ``folder``, or an empty string."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return ""
    if status.st_uid != 0:
        return f"belongs to user {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""
