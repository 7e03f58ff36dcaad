from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from appliance.errors import CommandFailed
from appliance.model import DiskKind
from appliance.storage import blockdev, devices
from appliance.storage.kernel import Kernel, parse_mountinfo, parse_swaps

_MOUNTINFO = (
    "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "30 22 9:127 / /mnt/scratch rw,nosuid,nodev,noatime - xfs /dev/md127 rw,sunit=512\n"
    r"31 22 8:17 / /mnt/with\040space\134 rw - ext4 /dev/sdb1 rw" + "\n"
    "not a line\n"
)


class FakeSysfs:
    """A machine as files: disks, partitions and arrays are a line each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.udev: dict[str, Mapping[str, str]] = {}
        (root / "sys/block").mkdir(parents=True)
        (root / "sys/dev/block").mkdir(parents=True)
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/mountinfo").write_text("")

    def put(self, path: str, text: str) -> None:
        file = self.root / "sys" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def disk(self, name: str, device: str, *, model: str = "", serial: str = "") -> Path:
        self.put(f"block/{name}/dev", device)
        self.put(f"block/{name}/size", "2048")
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

    def probe(self, *, privileged: bool = False) -> devices.Inventory:
        return devices.probe(
            kernel=self.kernel,
            properties=lambda name: self.udev.get(name, {}),
            privileged=privileged,
        )


@pytest.fixture
def sysfs(tmp_path: Path) -> FakeSysfs:
    fake = FakeSysfs(tmp_path)
    fake.disk("nvme0n1", "259:0", model="Amazon Elastic Block Store    ", serial="vol0f00")
    fake.partition("nvme0n1", "nvme0n1p2", "259:2")
    for number in (1, 2):
        fake.disk(
            f"nvme{number}n1",
            f"259:{number * 10}",
            model="Amazon EC2 NVMe Instance Storage        ",
            serial=f"AWS{number}      ",
        )
    (tmp_path / "proc/self/mountinfo").write_text(_MOUNTINFO)
    return fake


def test_mountinfo_and_swaps() -> None:
    mounts = parse_mountinfo(_MOUNTINFO)
    assert [mount.mountpoint for mount in mounts] == ["/", "/mnt/scratch", "/mnt/with space\\"]
    assert (mounts[1].device, mounts[1].fstype, mounts[1].source) == ("9:127", "xfs", "/dev/md127")
    assert parse_swaps("Filename Type\n/dev/sda2 partition 1 0 -2\n") == ("/dev/sda2",)
    assert parse_swaps("") == ()


def test_disks_are_told_apart_by_model_and_root(sysfs: FakeSysfs) -> None:
    found = {one.path.rpartition("/")[2]: one for one in sysfs.probe().disks}
    assert found["nvme0n1"].kind is DiskKind.SYSTEM
    assert found["nvme0n1"].partitions == ("nvme0n1p2",)
    assert found["nvme0n1"].mountpoints == ("/",)
    assert found["nvme1n1"].kind is DiskKind.INSTANCE_STORE
    assert found["nvme1n1"].model == "Amazon EC2 NVMe Instance Storage"
    assert (found["nvme1n1"].serial, found["nvme1n1"].size_bytes) == ("AWS1", 2048 * 512)
    assert found["nvme1n1"].blank is None


def test_loops_arrays_and_hidden_paths_are_no_disks(sysfs: FakeSysfs) -> None:
    for number, name in enumerate(("loop0", "ram1", "zram0", "dm-0", "sr0", "md127")):
        sysfs.disk(name, f"7:{number}")
    sysfs.disk("nvme3c1n1", "259:99")
    sysfs.put("block/nvme3c1n1/hidden", "1")
    names = {one.path.rpartition("/")[2] for one in sysfs.probe().disks}
    assert names == {"nvme0n1", "nvme1n1", "nvme2n1"}


def test_root_is_followed_through_md_to_every_disk(sysfs: FakeSysfs, tmp_path: Path) -> None:
    sysfs.array("md127", "9:127", ["nvme1n1", "nvme2n1"])
    (tmp_path / "proc/self/mountinfo").write_text("1 0 9:127 / / rw - ext4 /dev/md127 rw\n")
    kinds = {one.path.rpartition("/")[2]: one.kind for one in sysfs.probe().disks}
    assert kinds["nvme1n1"] is kinds["nvme2n1"] is DiskKind.SYSTEM


def test_an_array_of_ours_without_root(sysfs: FakeSysfs) -> None:
    sysfs.array("md127", "9:127", ["nvme2n1", "nvme1n1"])
    sysfs.udev["md127"] = {
        "MD_NAME": "stripewright:scratch", "MD_UUID": "1:2:3:4",
        "ID_FS_TYPE": "xfs", "ID_FS_LABEL": "scratch",
    }  # fmt: skip
    for name in ("nvme1n1", "nvme2n1"):
        sysfs.udev[name] = {
            "ID_FS_TYPE": "linux_raid_member", "ID_FS_LABEL": "stripewright:scratch",
        }  # fmt: skip
    seen = sysfs.probe()
    (array,) = seen.arrays
    by_path = {one.path.rpartition("/")[2]: one for one in seen.disks}
    assert array.members == (by_path["nvme2n1"].id, by_path["nvme1n1"].id)
    assert (array.chunk_bytes, array.mountpoint) == (262144, "/mnt/scratch")
    assert array.mount_options == "rw,nosuid,nodev,noatime"
    assert by_path["nvme1n1"].holders == ("md127",)
    assert by_path["nvme1n1"].claimable


def test_as_root_only_instance_storage_is_read(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def read(node: str, size_bytes: int) -> blockdev.Contents:
        opened.append(os.path.basename(node))  # noqa: PTH119
        return blockdev.Contents(signatures=(), nonzero_offset_bytes=None)

    monkeypatch.setattr(blockdev, "read_contents", read)
    monkeypatch.setattr(blockdev, "is_busy", lambda node: False)
    seen = sysfs.probe(privileged=True)
    assert sorted(opened) == ["nvme1n1", "nvme2n1"]
    assert [one.claimable for one in seen.disks] == [False, True, True]


def test_a_disk_that_cannot_be_read_is_not_claimable(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(node: str, size_bytes: int) -> blockdev.Contents:
        if node.endswith("nvme1n1"):
            raise OSError(5, "Input/output error")
        raise CommandFailed(["wipefs"], 1, "no")

    monkeypatch.setattr(blockdev, "read_contents", read)
    seen = sysfs.probe(privileged=True)
    assert not any(one.claimable for one in seen.disks)
    assert "cannot be read" in seen.disks[1].reason


def test_the_link_that_says_most_is_the_id(sysfs: FakeSysfs) -> None:
    by_id = "/dev/disk/by-id/"
    links = [
        f"{by_id}nvme-nvme.1d0f-4157", f"{by_id}nvme-Amazon_EC2_AWS1_1", "/dev/disk/by-path/x",
        f"{by_id}nvme-Amazon_EC2_AWS1", f"{by_id}nvme-eui.00",
    ]  # fmt: skip
    assert devices.best_link(links) == f"{by_id}nvme-Amazon_EC2_AWS1"
    assert devices.best_link([f"{by_id}wwn-0x1", f"{by_id}scsi-3"]) == f"{by_id}scsi-3"
    assert devices.best_link(["/dev/disk/by-path/x"]) == ""
    sysfs.udev["nvme1n1"] = {"DEVLINKS": " ".join(links)}
    found = {one.path.rpartition("/")[2]: one for one in sysfs.probe().disks}
    assert found["nvme1n1"].id == "nvme-Amazon_EC2_AWS1"
    assert found["nvme2n1"].id == "Amazon EC2 NVMe Instance Storage_AWS2"


def test_a_link_that_leads_elsewhere_is_not_used(sysfs: FakeSysfs) -> None:
    link = "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS1"
    sysfs.udev["nvme1n1"] = {"DEVLINKS": link}
    place = sysfs.root / link.removeprefix("/")
    place.parent.mkdir(parents=True)

    def stable_path() -> str:
        return next(one for one in sysfs.probe().disks if one.serial == "AWS1").stable_path

    assert stable_path() == ""
    place.symlink_to(sysfs.root / "dev/nvme2n1")
    assert stable_path() == ""
    place.unlink()
    place.symlink_to("../../nvme1n1")
    assert stable_path() == link


def test_the_last_look_sees_what_changed(sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = blockdev.Contents((), None)
    monkeypatch.setattr(blockdev, "read_contents", lambda *_: contents)
    monkeypatch.setattr(blockdev, "is_busy", lambda _: False)
    (before,) = (one for one in sysfs.probe(privileged=True).disks if one.serial == "AWS1")
    assert before.blank

    def look() -> str:
        return devices.look_again(before, sysfs.kernel, properties=lambda _: {})

    assert look() == ""
    contents = blockdev.Contents((), 4096)
    assert look() == "is no longer blank"
    contents = blockdev.Contents((), None)
    monkeypatch.setattr(blockdev, "is_busy", lambda _: True)
    assert look() == "is now in use"
    sysfs.put("block/nvme1n1/device/serial", "AWS7")
    assert "is now another disk" in look()
