"""Ordinary operation: checks five minutes apart by the guest's clock, between everything that
people and programs do on a healthy machine. Two hours in which all of it is done, or a day.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from appliance import paths
from tests.lab.drift import measured
from tests.lab.drift.watched import MOUNT, Watched, fio, in_child, stat
from tests.lab.rack import MIB
from tests.lab.shell import sh

_INTERVAL_SECONDS = 300
_CHECKS_A_DAY = 288
_SUITE_EVERY = 36
# At the most so many checks from one of the rarer things to the next.
_SPARSE = 8
_CHECK = ("python3", "-m", "appliance.cli.main", "drift", "check")
_WORK = MOUNT / "work"
_LOG = MOUNT / "app.log"
_ELSEWHERE = Path("/mnt/elsewhere")


def _write(_: Watched) -> None:
    _WORK.mkdir(exist_ok=True)
    with (_WORK / f"{time.time_ns()}").open("wb") as file:
        file.write(os.urandom(256 * 1024))
        os.fsync(file.fileno())


def _delete(_: Watched) -> None:
    shutil.rmtree(_WORK, ignore_errors=True)


def _snapshot(_: Watched) -> None:
    (MOUNT / "table").write_bytes(b"t" * MIB)
    sh("cp", "--reflink=always", str(MOUNT / "table"), str(MOUNT / "table.snapshot"))


def _rotate(_: Watched) -> None:
    with _LOG.open("a") as log:
        log.write("a line\n" * 1000)
    _LOG.replace(MOUNT / "app.log.1")
    sh("gzip", "--force", str(MOUNT / "app.log.1"))


def _deleted_and_open(_: Watched) -> None:
    file = (MOUNT / "held").open("w")
    (MOUNT / "held").unlink()
    file.close()


def _sync_and_trim(_: Watched) -> None:
    sh("sync")
    sh("fstrim", str(MOUNT))


def _freeze(machine: Watched) -> None:
    """As a backup does for the moment of a snapshot; the check comes in between."""
    sh("xfs_freeze", "-f", str(MOUNT))
    try:
        machine.expect()
    finally:
        sh("xfs_freeze", "-u", str(MOUNT))


def _remount(_: Watched) -> None:
    sh("mount", "-o", "remount", str(MOUNT))


def _mount_elsewhere(machine: Watched) -> None:
    _ELSEWHERE.mkdir(exist_ok=True)
    sh("mount", "-t", "tmpfs", "tmpfs", str(_ELSEWHERE))
    machine.expect()
    sh("umount", str(_ELSEWHERE))


def _bind(machine: Watched) -> None:
    _ELSEWHERE.mkdir(exist_ok=True)
    sh("mount", "--bind", str(MOUNT), str(_ELSEWHERE))
    machine.expect()
    sh("umount", str(_ELSEWHERE))


def _below(machine: Watched) -> None:
    """Something mounted in a directory of the volume, as containers do."""
    (MOUNT / "below").mkdir(exist_ok=True)
    sh("mount", "-t", "tmpfs", "tmpfs", str(MOUNT / "below"))
    machine.expect()
    sh("umount", str(MOUNT / "below"))


def _loop_device(machine: Watched) -> None:
    image = MOUNT / "image"
    with image.open("wb") as file:
        file.truncate(16 * MIB)
    sh("mkfs.ext4", "-q", "-F", str(image))
    _ELSEWHERE.mkdir(exist_ok=True)
    sh("mount", "-o", "loop", str(image), str(_ELSEWHERE))
    machine.expect()
    sh("umount", str(_ELSEWHERE))
    image.unlink()


def _swap(machine: Watched) -> None:
    file = MOUNT / "swap"
    file.write_bytes(bytes(4 * MIB))
    file.chmod(0o600)
    sh("mkswap", str(file))
    sh("swapon", str(file))
    machine.expect()
    sh("swapoff", str(file))
    file.unlink()


def _namespace(machine: Watched) -> None:
    """A service with mounts of its own: it hides the volume from itself only."""
    hidden = subprocess.Popen(
        ("unshare", "-m", "sh", "-c", f"mount -t tmpfs tmpfs {MOUNT} && sleep 60"),
        process_group=0,
    )
    time.sleep(0.2)
    machine.expect()
    os.killpg(hidden.pid, 9)
    hidden.wait()


def _attach_a_volume(machine: Watched) -> None:
    """A network volume comes, is used, and goes."""
    if "ebs" not in machine.rack.disks:
        machine.add("ebs", kind="network", size_bytes=32 * MIB)
        sh("mkfs.ext4", "-q", machine.path("ebs"))
    else:
        machine.disk("ebs").plug()
        machine.rack.settle()
    _ELSEWHERE.mkdir(exist_ok=True)
    sh("mount", machine.path("ebs"), str(_ELSEWHERE))
    machine.expect()
    sh("umount", str(_ELSEWHERE))
    machine.disk("ebs").pull()
    sh("udevadm", "settle")


def _look_around(machine: Watched) -> None:
    sh("blkid")
    sh("lsblk")
    sh("mdadm", "--detail", f"/dev/{machine.device}")
    sh("mdadm", "--examine", machine.path("d1"))
    sh("udevadm", "trigger", "--subsystem-match=block", "--action=change")
    sh("udevadm", "settle")


def _boot_unit(machine: Watched) -> None:
    machine.boot()


def _under_load(machine: Watched) -> None:
    busy = subprocess.Popen(
        fio(20), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
    )
    time.sleep(0.3)
    machine.expect()
    os.killpg(busy.pid, 9)
    busy.wait()


def _clock(_: Watched) -> None:
    """A time server puts the clock right, forward or back."""
    measured.pass_time(-2.0)


def _nothing(_: Watched) -> None:
    pass


_OFTEN: tuple[Callable[[Watched], None], ...] = (
    _write, _nothing, _rotate, _write, _delete, _snapshot, _sync_and_trim, _look_around,
    _deleted_and_open,
)  # fmt: skip
_AT_TIMES: tuple[Callable[[Watched], None], ...] = (
    _freeze, _remount, _mount_elsewhere, _bind, _below, _loop_device, _swap, _namespace,
    _attach_a_volume, _boot_unit, _under_load, _clock,
)  # fmt: skip


def two_hours_of_ordinary_operation(machine: Watched) -> None:
    """Each of what is done at times is done once."""
    _ordinary_operation(machine, _CHECKS_A_DAY // 12)


def a_day_of_ordinary_operation(machine: Watched) -> None:
    _ordinary_operation(machine, _CHECKS_A_DAY)


def _ordinary_operation(machine: Watched, checks: int) -> None:
    assert checks >= len(_AT_TIMES) + len(_OFTEN)
    every = min(_SPARSE, checks // len(_AT_TIMES))
    measured.make(machine)
    machine.expect()
    for name in measured.DISKS:
        measured.delay(machine, name, 0)
    for number in range(checks):
        measured.pass_time(_INTERVAL_SECONDS)
        if number % _SUITE_EVERY == 10:
            measured.run_suite()
        at_times, which = divmod(number, every)
        if which == 0:
            _AT_TIMES[at_times % len(_AT_TIMES)](machine)
        else:
            _OFTEN[number % len(_OFTEN)](machine)
        machine.expect()
    assert machine.kept() == [], machine.kept()


def what_a_check_costs(machine: Watched) -> None:
    """Nothing is written to the stripe, and little time is taken."""
    machine.add("d1", "d2", "d3")
    machine.declare(measured.LAYOUT)
    machine.boot()
    machine.expect()
    sh("sync")
    sh("xfs_freeze", "-f", str(MOUNT))  # XFS writes its log now and then by itself
    sh("xfs_freeze", "-u", str(MOUNT))
    sh("sync")
    time.sleep(1.0)
    watched = [machine.device, *(machine.kernel_name(name) for name in ("d1", "d2", "d3"))]
    before = {name: stat(name) for name in watched}
    for _ in range(5):
        machine.expect()
    # The command as its unit starts it: a Python of its own, with everything that it imports.
    for _ in range(3):
        program = in_child(
            lambda: os.execvp("python3", _CHECK),  # noqa: S606 - as systemd does
            user=paths.SERVICE_USER,
        )
        assert program.exit == 0, program
        assert "no drift found" in program.out, program
        machine.programs.append(program)
    # Writes completed, and discards.
    for name, was in before.items():
        now = stat(name)
        assert (now[4], now[11:12]) == (was[4], was[11:12]), f"{name}: {was} -> {now}"
