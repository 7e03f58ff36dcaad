"""A machine as files: what the kernel shows of disks, partitions, arrays and mounts."""

from __future__ import annotations

from pathlib import Path

from appliance.model.disks import Disk, Inventory
from appliance.model.plans import Layout
from appliance.storage.probe import devices
from appliance.system.kernel import Kernel

MOUNTINFO = (
    "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "30 22 9:127 / /mnt/scratch rw,nosuid,nodev,noatime - xfs /dev/md127 rw,sunit=512\n"
    r"31 22 8:17 / /mnt/with\040space\134 rw - ext4 /dev/sdb1 rw" + "\n"
    "not a line\n"
)


class FakeSysfs:
    """A machine as files: disks, partitions and arrays are a line each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "sys/block").mkdir(parents=True)
        (root / "sys/dev/block").mkdir(parents=True)
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/mountinfo").write_text("")

    def udev(self, name: str, *links: str, **facts: str) -> None:
        """What udev's database has of the device ``name``."""
        number = (self.root / "sys/block" / name / "dev").read_text().strip()
        lines = [f"S:{one.removeprefix('/dev/')}" for one in links]
        lines += [f"E:{key}={facts[key]}" for key in facts]
        file = self.root / "run/udev/data" / f"b{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(["I:1", *lines]) + "\n")

    def put(self, path: str, text: str) -> None:
        file = self.root / "sys" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def disk(self, name: str, device: str, *, model: str = "", serial: str = "") -> Path:
        self.put(f"block/{name}/dev", device)
        self.put(f"block/{name}/size", "65536")
        self.put(f"block/{name}/ro", "0")
        if model:
            self.put(f"block/{name}/device/model", model)
        if serial:
            self.put(f"block/{name}/device/serial", serial)
        folder = self.root / "sys/block" / name
        (self.root / "sys/dev/block" / device).symlink_to(folder)
        return folder

    def partition(self, disk: str, name: str, device: str) -> None:
        self.put(f"block/{disk}/{name}/partition", "1")
        self.put(f"block/{disk}/{name}/dev", device)
        (self.root / "sys/dev/block" / device).symlink_to(self.root / "sys/block" / disk / name)

    def array(self, name: str, device: str, members: list[str]) -> None:
        folder = self.disk(name, device)
        for attribute, value in {
            "level": "raid0", "chunk_size": "262144", "raid_disks": str(len(members)),
            "array_state": "clean",
        }.items():  # fmt: skip
            self.put(f"block/{name}/md/{attribute}", value)
        (folder / "slaves").mkdir()
        for slot, member in enumerate(members):
            self.put(f"block/{name}/md/dev-{member}/slot", str(slot))
            self.put(f"block/{member}/holders/{name}", "")
            (folder / "slaves" / member).symlink_to(self.root / "sys/block" / member)

    @property
    def kernel(self) -> Kernel:
        return Kernel(self.root / "sys", self.root / "proc", self.root / "dev")

    def mapped(self, name: str, disks: list[str], *, dm: tuple[str, str]) -> None:
        """A device-mapper device: ``dm`` is its uuid and its name."""
        self.disk(name, f"253:{name.removeprefix('dm-')}")
        for attribute, value in zip(("uuid", "name"), dm, strict=True):
            self.put(f"block/{name}/dm/{attribute}", value)
        for disk in disks:
            self.put(f"block/{disk}/holders/{name}", "")

    def mounts(self, *lines: str) -> None:
        (self.root / "proc/self/mountinfo").write_text("\n".join(lines) + "\n")

    def probe(self, *, privileged: bool = False, layout: Layout | None = None) -> Inventory:
        return devices.probe(layout=layout, kernel=self.kernel, privileged=privileged)


def three_disks(root: Path) -> FakeSysfs:
    """The root disk on EBS, and two disks of EC2 instance storage."""
    fake = FakeSysfs(root)
    fake.disk("nvme0n1", "259:0", model="Amazon Elastic Block Store    ", serial="vol0f00")
    fake.partition("nvme0n1", "nvme0n1p2", "259:2")
    for number in (1, 2):
        fake.disk(
            f"nvme{number}n1",
            f"259:{number * 10}",
            model="Amazon EC2 NVMe Instance Storage        ",
            serial=f"AWS{number}      ",
        )
    (root / "proc/self/mountinfo").write_text(MOUNTINFO)
    return fake


def by_name(seen: Inventory) -> dict[str, Disk]:
    return {one.path.rpartition("/")[2]: one for one in seen.disks}
