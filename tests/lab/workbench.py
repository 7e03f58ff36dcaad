"""What a scenario does to the guest: make disks, look at them, boot the appliance's storage.

The disks are scsi_debug's: memory of the guest, with the vendor and model of a Google local
SSD, so that the identity rules in appliance/data apply as they are.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from appliance.storage.executor import boot

MOUNT = Path("/mnt/scratch")
ELSEWHERE = Path("/run/elsewhere")
LAYOUT = Path("/etc/stripewright/layout.toml")
STATE = Path("/run/stripewright/state.json")
DB = Path("/var/lib/stripewright/history.db")
# XFS wants 300 MB and its log more than a small stripe's allocation groups give.
DISK_MIB = 160
DISK_COUNT = 4
MIB = 1024 * 1024
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# First on the search path of appliance.system.process: where a scenario puts a stand-in.
_STAND_INS = Path("/usr/local/sbin")
_BLKDISCARD = 0x1277  # include/uapi/linux/fs.h
# Page-aligned, as direct reads want it; made once, because the guest's page faults are slow.
_BUFFER = mmap.mmap(-1, 16 * MIB)
_ADD_HOST = Path("/sys/bus/pseudo/drivers/scsi_debug/add_host")


def sh(*argv: str, check: bool = True) -> str:
    """Run a program in the guest and return what it printed."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise AssertionError(f"{argv}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def load_disks() -> None:
    """Make the guest's instance storage; once, because loading the module takes seconds."""
    sh(
        "modprobe",
        "scsi_debug",
        f"add_host={DISK_COUNT}",
        "per_host_store=1",
        f"dev_size_mb={DISK_MIB}",
        "inq_vendor=Google",
        "inq_product=EphemeralDisk",
        # Discard clears the memory behind a disk at once; writing zeroes takes seconds.
        "lbpu=1",
        "lbprz=1",
        # Answer at once: with its usual one tick delay a mount took six seconds.
        "delay=0",
    )
    sh("udevadm", "settle")


class Lab:
    """The guest as one scenario sees it: blank disks, no layout, no history."""

    def __init__(self) -> None:
        self._disks: list[str] = []

    # ---- disks

    @property
    def disks(self) -> list[str]:
        """Device paths in the order of their serials, which is the order of slots."""
        return list(self._disks)

    def find_disks(self) -> None:
        sh("udevadm", "settle")
        found = []
        for folder in Path("/sys/block").glob("sd*"):
            if (folder / "device/model").read_text().strip() == "EphemeralDisk":
                # scsi_debug's serials count up with the host number.
                host = int((folder / "device").resolve().name.partition(":")[0])
                found.append((host, f"/dev/{folder.name}"))
        self._disks = [path for _, path in sorted(found)]

    def blank(self, *disks: str) -> None:
        """Clear every byte of ``disks``, as a provider does."""
        for disk in disks:
            with open(disk, "r+b", buffering=0) as file:  # noqa: PTH123 - a device
                fcntl.ioctl(file, _BLKDISCARD, struct.pack("QQ", 0, DISK_MIB * MIB))
        sh("udevadm", "settle")

    def checksums(self) -> dict[str, str]:
        """SHA-256 of every byte of every disk."""
        return {disk: checksum(disk) for disk in self._disks}

    def write(self, disk: str, offset_bytes: int, data: bytes) -> None:
        descriptor = os.open(disk, os.O_WRONLY)
        try:
            os.pwrite(descriptor, data, offset_bytes)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sh("udevadm", "settle")

    def unplug(self, *disks: str) -> None:
        """Take disks away from the kernel; what is stored on them stays."""
        for disk in disks:
            Path(f"/sys/block/{Path(disk).name}/device/delete").write_text("1")
        self.find_disks()

    def replug(self) -> None:
        """Bring back every unplugged disk, with its contents and serial."""
        for host in Path("/sys/class/scsi_host").glob("host*"):
            (host / "scan").write_text("- - -")
        self.find_disks()

    @contextlib.contextmanager
    def other_disks(self) -> Any:
        """Blank disks with other serials in the place of the present ones, as after stop/start."""
        self.unplug(*self._disks)
        _ADD_HOST.write_text(str(DISK_COUNT))
        self.find_disks()
        try:
            yield
        finally:
            self.release()
            self.unplug(*self._disks)
            _ADD_HOST.write_text(str(-DISK_COUNT))
            self.replug()

    # ---- before and after

    def set_up(self) -> None:
        if len(self._disks) != DISK_COUNT:
            self.replug()
        assert len(self._disks) == DISK_COUNT, self._disks
        self.blank(*self._disks)

    def release(self) -> None:
        """Let go of everything that a scenario built, as a shutdown does."""
        for mount in (MOUNT, ELSEWHERE):
            while mount.is_mount():
                sh("umount", str(mount))
        sh("mdadm", "--stop", "--scan", check=False)
        sh("udevadm", "settle")

    def clean_up(self) -> None:
        self.release()
        sh("dmsetup", "remove_all", check=False)
        for path in (LAYOUT, STATE, *DB.parent.glob("history.db*"), *_STAND_INS.glob("*")):
            path.unlink(missing_ok=True)
        shutil.rmtree(MOUNT, ignore_errors=True)

    # ---- the appliance

    def declare(self, **keys: str) -> None:
        """Write a layout: the default volume with a short wait and other values for ``keys``."""
        declared = {"name": "scratch", "mount": str(MOUNT), "wait": "1s", **keys}
        LAYOUT.parent.mkdir(parents=True, exist_ok=True)
        lines = [f'{key} = "{value}"' for key, value in declared.items()]
        LAYOUT.write_text("\n".join(["[[volume]]", *lines, ""]))

    def boot(self) -> dict[str, Any]:
        """Do what the boot unit does; return the state it left, with its exit code."""
        if not LAYOUT.exists():
            self.declare()
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = boot(LAYOUT)
        state: dict[str, Any] = json.loads(STATE.read_text())
        return {**state, "exit": code, "said": said.getvalue()}

    def expect(self, outcome: str, decision: str, exit_code: int) -> dict[str, Any]:
        """Boot, and insist on what came of it."""
        state = self.boot()
        seen = (state["outcome"], state["volumes"][0]["decision"], state["exit"])
        assert seen == (outcome, decision, exit_code), (seen, state["message"], state["said"])
        return state

    def mounted(self, decision: str) -> dict[str, Any]:
        return self.expect("mounted", decision, 0)

    def refused(self, *fragments: str) -> dict[str, Any]:
        """Boot, insist on a refusal that says all of ``fragments`` and changes no byte."""
        before = self.checksums()
        state = self.expect("refused", "refuse", 3)
        reason = state["volumes"][0]["reason"]
        for fragment in fragments:
            assert fragment in reason, (fragment, reason)
        assert state["volumes"][0]["hint"]
        assert self.checksums() == before, "a refusal changed a disk"
        return state

    def start(self) -> subprocess.Popen[bytes]:
        """The boot unit's program as a process of its own."""
        if not LAYOUT.exists():
            self.declare()
        return subprocess.Popen(
            [sys.executable, "-m", "tests.lab.boot_once"], stderr=subprocess.DEVNULL
        )

    def killed(self, program: str, *, subcommand: str = "", after: bool) -> None:
        """Boot and have it killed (SIGKILL) before or after it runs ``program``."""
        real = shutil.which(program, path=_PATH)
        run = f'{real} "$@"'
        act = f"{run}; kill -9 $PPID" if after else "kill -9 $PPID; exit 1"
        stand_in = _STAND_INS / program
        stand_in.parent.mkdir(parents=True, exist_ok=True)
        stand_in.write_text(
            f'#!/bin/sh\ncase "{subcommand}" in ""|"$1") {act} ;; *) {run} ;; esac\n'
        )
        stand_in.chmod(0o755)
        status = self.start().wait()
        stand_in.unlink()
        assert status == -signal.SIGKILL, f"not killed at {program}: {status}"


def checksum(path: str) -> str:
    """SHA-256 of what is on the disk itself: read past the page cache."""
    digest = hashlib.sha256()
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        while count := os.readv(descriptor, [_BUFFER]):
            digest.update(memoryview(_BUFFER)[:count])
    finally:
        os.close(descriptor)
    return digest.hexdigest()
