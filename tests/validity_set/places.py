"""The guest's disks and what is built of them: memory disks that answer after 0.1 ms.

``scsi_debug`` answers with a timer, so that these disks have a latency of their own, as
drives have, and several I/Os in flight are faster than one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.lab.shell import sh
from tests.validity_set.record import MIB, Place

MOUNT = Path("/mnt/t")
LIMITED = Path("/run/cgroup/limited")
_TARGET = Path("/sys/kernel/config/target")
_DISK_MIB = 316  # mkfs.xfs wants 300
_LATENCY_NS = 100_000
_FILES = 4
_FILE_BYTES = 24 * MIB


def load() -> list[str]:
    """Four disks; their nodes."""
    sh("modprobe", "scsi_debug", "add_host=4", "num_tgts=1", "per_host_store=1",
       f"dev_size_mb={_DISK_MIB}", f"ndelay={_LATENCY_NS}", "max_queue=64",
       "inq_vendor=Google", "inq_product=EphemeralDisk")  # fmt: skip
    sh("modprobe", "-a", "sd_mod", "dm-delay", "dm-dust", "dm-flakey", "target_core_iblock")
    sh("udevadm", "settle")
    LIMITED.parent.mkdir(parents=True)
    sh("mount", "-t", "cgroup2", "none", str(LIMITED.parent))
    (LIMITED.parent / "cgroup.subtree_control").write_text("+io")
    LIMITED.mkdir()
    found = sorted(
        Path("/sys/bus/pseudo/drivers/scsi_debug").glob("adapter*/host*/target*/*/block/*")
    )
    return [f"/dev/{one.name}" for one in found]


def write_files(folder: Path, *, count: int = _FILES, size_bytes: int = _FILE_BYTES) -> None:
    """``data.0.0`` and so on, written in full."""
    for number in range(count):
        sh("dd", "if=/dev/urandom", f"of={folder}/data.{number}.0", "bs=1M",
           f"count={size_bytes // MIB}", "oflag=direct")  # fmt: skip


@contextlib.contextmanager
def mounted(device: str, filesystem: str) -> Iterator[Place]:
    """A new filesystem at /mnt/t with its files. ``ext4-lazy`` still writes its inode tables."""
    filesystem, _, lazy = filesystem.partition("-")
    options = ["-f"] if filesystem == "xfs" else ["-F", "-E", f"lazy_itable_init={int(bool(lazy))}"]
    sh(f"mkfs.{filesystem}", *options, "-q", device)
    MOUNT.mkdir(exist_ok=True)
    sh("mount", "-t", filesystem, device, str(MOUNT))
    try:
        write_files(MOUNT)
        yield Place(MOUNT, expected=(_name(device),))
    finally:
        sh("umount", str(MOUNT))


@contextlib.contextmanager
def raw(device: str) -> Iterator[Place]:
    sh("dd", "if=/dev/urandom", f"of={device}", "bs=1M", "oflag=direct", check=False)
    yield Place(Path("/run"), node=device, expected=(_name(device),))


@contextlib.contextmanager
def md(disks: list[str], chunk_kib: int) -> Iterator[str]:
    sh("mdadm", "--create", "/dev/md0", "--level=0", f"--chunk={chunk_kib}", "--run", "--force",
       f"--raid-devices={len(disks)}", *disks)  # fmt: skip
    sh("udevadm", "settle")
    try:
        yield "/dev/md0"
    finally:
        sh("mdadm", "--stop", "/dev/md0")
        sh("mdadm", "--zero-superblock", *disks)


@contextlib.contextmanager
def lvm(disks: list[str], *, stripes: int) -> Iterator[str]:
    # The disk below a delayed one holds the same signature, and LVM would find it twice.
    only = ",".join(f'"a|^{disk}$|"' for disk in disks)
    here = ("--config", f'devices{{global_filter=[{only},"r|.*|"]}}', "-y")
    sh("vgcreate", *here, "-f", "lab", *disks)
    sh("lvcreate", *here, "-W", "n", "-n", "vol", "-l", "100%FREE", "-i", str(stripes),
       *(("-I", "64k") if stripes > 1 else ()), "lab")  # fmt: skip
    sh("udevadm", "settle")
    try:
        yield "/dev/lab/vol"
    finally:
        sh("vgremove", *here, "-f", "lab")
        sh("pvremove", *here, "-f", *disks)


@contextlib.contextmanager
def mapped(name: str, table: str) -> Iterator[str]:
    """A device-mapper device of one line; its node."""
    sh("dmsetup", "create", name, "--table", table)
    sh("udevadm", "settle")
    try:
        yield f"/dev/mapper/{name}"
    finally:
        sh("dmsetup", "remove", "--retry", name)


@contextlib.contextmanager
def slow(disk: str, delay_ms: int) -> Iterator[str]:
    """A SCSI disk that answers ``delay_ms`` later: ``disk`` through dm-delay and LIO.

    dm-delay alone would be seen through: the lowest device below the stripe is the fast disk.
    """
    core = _TARGET / "core/iblock_0/slow"
    port = _TARGET / "loopback/naa.600140500000aa01/tpgt_1"
    with mapped("delayed", f"0 {_DISK_MIB * 2048} delay {disk} 0 {delay_ms}") as node:
        core.mkdir(parents=True)
        (core / "control").write_text(f"udev_path={node}")
        (core / "enable").write_text("1")
        (port / "lun/lun_0").mkdir(parents=True)
        (port / "nexus").write_text(port.parent.name)
        before = set(Path("/sys/block").iterdir())
        (port / "lun/lun_0/slow").symlink_to(core)
        sh("udevadm", "settle")
        found = set(Path("/sys/block").iterdir()) - before
        try:
            yield f"/dev/{found.pop().name}"
        finally:
            (port / "lun/lun_0/slow").unlink()
            for folder in (port / "lun/lun_0", port, port.parent, core):
                folder.rmdir()


def _name(device: str) -> str:
    """The kernel's name of a node or link."""
    return Path(device).resolve().name
