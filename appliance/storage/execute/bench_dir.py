"""The one directory on a volume in which benchmarks may write.

It is no step of the plan, because no program can make it safely: the owner of the top of
the volume could put a link, or another's directory renamed, in its place, and
``install -d -o`` would give that away. Here everything happens by descriptor: what was opened
is what is looked at and given to the service user. It is checked at each boot, and a volume
without it is mounted all the same.

Where systemd runs, a unit of its own makes it: the executor's may not give anything away.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import stat

from appliance import paths
from appliance.errors import OperatorError
from appliance.system import services

_MODE = 0o750
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HINT = (
    f"remove or rename {paths.BENCH_DIR_NAME} on the volume and reboot;"
    " until then nothing can be measured there"
)


def have(volume: str, mount: str, device_number: str) -> None:
    """Look at the directory of ``volume``, and have it made if it is not as it must be.

    ``device_number`` is the volume's, as ``major:minor``. Raises :class:`OperatorError`.
    """
    if not services.systemd_is_running():
        ensure(mount, device_number)
        return
    with contextlib.suppress(OperatorError):
        _look(mount, device_number)
        return
    # What went wrong there is seen here.
    with contextlib.suppress(OperatorError):
        services.start_and_wait(services.BENCHDIR_UNIT.format(volume=volume))
    _look(mount, device_number)


def _look(mount: str, device_number: str) -> None:
    where = f"{mount}/{paths.BENCH_DIR_NAME}"
    try:
        top = os.open(mount, _FOLDER | os.O_PATH)
        try:
            _must_be_on(os.fstat(top), where, device_number)
            status = os.stat(paths.BENCH_DIR_NAME, dir_fd=top, follow_symlinks=False)
        finally:
            os.close(top)
    except OSError as error:
        raise _unusable(where, error) from error
    _must_be_on(status, where, device_number)
    user = _service_user(where)
    if not stat.S_ISDIR(status.st_mode):
        raise _unusable(where, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    _must_be_the_users(status, where, user.pw_uid)


def ensure(mount: str, device_number: str) -> None:
    """Make the directory on what is mounted at ``mount``, or prove that it is as it must be.

    Raises :class:`OperatorError` for
    anything there that is not ours; that is then left as it is.
    """
    where = f"{mount}/{paths.BENCH_DIR_NAME}"
    user = _service_user(where)
    try:
        top = os.open(mount, _FOLDER)
        try:
            _ensure_in(top, where, device_number, user.pw_uid, user.pw_gid)
        finally:
            os.close(top)
    except OSError as error:
        raise _unusable(where, error) from error


def _service_user(where: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(paths.SERVICE_USER)
    except KeyError as error:
        raise OperatorError(
            f"{where} is not made: there is no user '{paths.SERVICE_USER}'",
            "systemd-sysusers makes that user at boot; see 'systemctl status systemd-sysusers'",
        ) from error


def _unusable(where: str, error: OSError) -> OperatorError:
    return OperatorError(f"{where} is not a directory that can be used: {error.strerror}", _HINT)


def _must_be_on(status: os.stat_result, where: str, device_number: str) -> None:
    if f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}" != device_number:
        raise OperatorError(f"{where} is not on the volume (device {device_number})", _HINT)


def _must_be_the_users(status: os.stat_result, where: str, uid: int) -> None:
    if status.st_uid != uid or stat.S_IMODE(status.st_mode) != _MODE:
        raise OperatorError(
            f"{where} belongs to user {status.st_uid} with mode"
            f" {stat.S_IMODE(status.st_mode):04o}, not to '{paths.SERVICE_USER}' with"
            f" {_MODE:04o}",
            _HINT,
        )


def _ensure_in(top: int, where: str, device_number: str, uid: int, gid: int) -> None:
    device = os.fstat(top).st_dev
    _must_be_on(os.fstat(top), where, device_number)
    with contextlib.suppress(FileExistsError):
        os.mkdir(paths.BENCH_DIR_NAME, 0o700, dir_fd=top)
    folder = os.open(paths.BENCH_DIR_NAME, _FOLDER, dir_fd=top)
    try:
        status = os.fstat(folder)
        if status.st_dev != device:
            raise OperatorError(f"something else is mounted at {where}", _HINT)
        # Root's and empty is what this function makes, also when it was killed half-way.
        # Anything else of root's has a content that is not for the service user.
        if status.st_uid == 0 and uid != 0 and not os.listdir(folder):  # noqa: PTH208 - a descriptor
            os.fchmod(folder, _MODE)
            os.fchown(folder, uid, gid)
            status = os.fstat(folder)
        _must_be_the_users(status, where, uid)
    finally:
        os.close(folder)
