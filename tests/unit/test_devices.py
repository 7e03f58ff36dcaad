from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import CommandFailed
from appliance.model.disks import DiskKind, MdMember, Scan, Signature
from appliance.model.plans import Layout, OperatorRule
from appliance.storage.probe import blockdev, devices
from appliance.system.kernel import parse_mountinfo, parse_swaps
from tests.unit.fakesysfs import MOUNTINFO, FakeSysfs, by_name, three_disks


@pytest.fixture
def sysfs(tmp_path: Path) -> FakeSysfs:
    return three_disks(tmp_path)


def test_mountinfo_and_swaps() -> None:
    mounts = parse_mountinfo(MOUNTINFO)
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
    assert (found["nvme1n1"].serial, found["nvme1n1"].size_bytes) == ("AWS1", 65536 * 512)
    assert found["nvme1n1"].blank is None


def test_what_fills_a_serial_up_is_no_part_of_it(sysfs: FakeSysfs) -> None:
    """Linux shows SCSI serials itself since, as the disk pads them (SPC: VPD page 80h)."""
    sysfs.put("block/nvme1n1/device/serial", "  AWS1  \0")
    assert "AWS1" in [disk.serial for disk in sysfs.probe().disks]
    # Within it, it is refused as any strange character is.
    sysfs.put("block/nvme1n1/device/serial", "AW\0S1")
    assert "AW\0S1" in [disk.serial for disk in sysfs.probe().disks]


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
    names = {"MD_NAME": "stripewright:scratch", "MD_UUID": "1:2:3:4"}
    sysfs.udev("md127", **names, ID_FS_TYPE="xfs", ID_FS_LABEL="scratch")
    for name in ("nvme1n1", "nvme2n1"):
        sysfs.udev(name, ID_FS_TYPE="linux_raid_member", ID_FS_LABEL="stripewright:scratch")
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

    def read(wanted: Sequence[blockdev.Device]) -> list[blockdev.Contents]:
        opened.extend(os.path.basename(one.node) for one in wanted)  # noqa: PTH119
        return [blockdev.Contents((), None, scan=Scan(1 << 30, 0, 0)) for _ in wanted]

    monkeypatch.setattr(blockdev, "read_contents", read)
    monkeypatch.setattr(blockdev, "is_busy", lambda node: False)
    sysfs.disk("nvme3n1", "259:30", model="Amazon Elastic Block Store", serial="vol0a")
    sysfs.disk("nvme4n1", "259:40", model="QEMU NVMe Ctrl", serial="q1")
    seen = sysfs.probe(privileged=True)
    assert sorted(opened) == ["nvme1n1", "nvme2n1"]
    assert [one.claimable for one in seen.disks] == [False, True, True, False, False]
    opened.clear()
    rules = (
        OperatorRule(serials=("vol0a", "vol0f00"), role="logs"),
        OperatorRule(model="QEMU NVMe Ctrl", kind=DiskKind.INSTANCE_STORE),
    )
    seen = sysfs.probe(privileged=True, layout=Layout((), rules=rules))
    assert sorted(opened) == ["nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1"]
    assert [one.role for one in seen.disks] == ["", "", "", "logs", ""]
    assert [one.claimable for one in seen.disks] == [False, True, True, True, True]


def test_a_disk_that_cannot_be_read_is_not_claimable(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = [OSError(5, "Input/output error"), CommandFailed(["wipefs"], 1, "no")]
    monkeypatch.setattr(blockdev, "read_contents", lambda wanted: errors[: len(wanted)])
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
    sysfs.udev("nvme1n1", *links)
    found = {one.path.rpartition("/")[2]: one for one in sysfs.probe().disks}
    assert found["nvme1n1"].id == "nvme-Amazon_EC2_AWS1"
    assert found["nvme2n1"].id == "Amazon EC2 NVMe Instance Storage_AWS2"


def test_a_link_that_leads_elsewhere_is_not_used(sysfs: FakeSysfs) -> None:
    link = "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS1"
    sysfs.udev("nvme1n1", link)
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


# ------------------------------------------------------------------ members that run


def test_a_member_that_runs_is_read_without_the_probers(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = MdMember("stripewright:scratch", "1:2:3:4", "5:6:7:8", "raid0", 2, 4096, 1)
    member = replace(member, array_uuid="8f3aff54:cb72c56c:6d0a5fe1:cbc332e8")
    asked: list[str] = []

    def read(wanted: Sequence[blockdev.Device]) -> list[blockdev.Contents]:
        asked.extend(one.node for one in wanted)
        return [blockdev.Contents((), None, scan=Scan(1 << 30, 0, 0)) for _ in wanted]

    found: list[MdMember | None] = [member]
    monkeypatch.setattr(blockdev, "read_contents", read)
    monkeypatch.setattr(blockdev, "read_marks", lambda *_: ())
    monkeypatch.setattr(blockdev, "is_busy", lambda _: True)
    monkeypatch.setattr(devices, "_member", lambda _: found[0])
    sysfs.array("md127", "9:127", ["nvme2n1", "nvme1n1"])
    sysfs.put("block/md127/size", "0")
    disks = by_name(sysfs.probe(privileged=True))
    assert asked == []
    assert disks["nvme1n1"].signatures == (
        Signature(
            "linux_raid_member", 4096, "stripewright:scratch",
            "8f3aff54-cb72-c56c-6d0a-5fe1cbc332e8",
        ),
    )  # fmt: skip
    one = disks["nvme1n1"]
    assert (one.busy, one.blank, one.md_member) == (True, False, member)
    # What is not ours, does not run or has another user as well is looked at as any other disk.
    for change in (
        lambda: found.__setitem__(0, replace(member, array_name="theirs:scratch")),
        lambda: found.__setitem__(0, None),
        lambda: sysfs.put("block/md127/md/array_state", "inactive"),
        lambda: sysfs.put("block/nvme1n1/holders/dm-0", ""),
    ):
        asked.clear()
        change()
        sysfs.probe(privileged=True)
        assert "nvme1n1" in " ".join(asked)
        found[0] = member
        sysfs.put("block/md127/md/array_state", "clean")
