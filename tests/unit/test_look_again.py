from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.model.disks import Disk, Filesystem, Mark, MarkState, MdMember, Scan, Signature
from appliance.storage.execute import recheck
from appliance.storage.formats import lvm
from appliance.storage.probe import blockdev, built, devices, halfmade
from tests.unit.fakesysfs import FakeSysfs, three_disks


@pytest.fixture
def sysfs(tmp_path: Path) -> FakeSysfs:
    return three_disks(tmp_path)


class Look:
    """``nvme1n1`` as it was seen, and what is to be read from it now."""

    def __init__(self, sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch) -> None:
        self.contents = blockdev.Contents((), None, scan=Scan(1 << 30, 0, 0))
        self.busy = False
        self.member: MdMember | None = None
        self.intact = True
        self._sysfs = sysfs
        monkeypatch.setattr(
            blockdev, "read_contents", lambda wanted: [self.contents for _ in wanted]
        )
        monkeypatch.setattr(blockdev, "is_busy", lambda _: self.busy)
        monkeypatch.setattr(halfmade, "look", lambda found, *_: [self._judged(d) for d in found])
        monkeypatch.setattr(devices, "_member", lambda _: self.member)
        monkeypatch.setattr(
            built, "filesystem", lambda _, found: Filesystem("xfs", found[0].label, "u")
            if found and found[0].kind == "xfs" else None,
        )  # fmt: skip

    def _judged(self, disk: Disk) -> Disk:
        if disk.mark is None or disk.mark.state is MarkState.RELEASED:
            return disk
        return replace(disk, mark=replace(disk.mark, intact=self.intact))

    def seen(self) -> Disk:
        (found,) = (d for d in self._sysfs.probe(privileged=True).disks if d.serial == "AWS1")
        return found

    def again(self, before: Disk, volume: str = "") -> str:
        found = recheck.look_again([before], self._sysfs.kernel, volume=volume)
        return found[1] if found else ""


@pytest.fixture
def look(sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch) -> Look:
    return Look(sysfs, monkeypatch)


_MAKING = Mark(MarkState.MAKING, "scratch", "", 524288, "ab")
_RELEASED = Mark(MarkState.RELEASED, "scratch", "", 524288, "cd", intact=True)


def test_the_last_look_at_a_blank_disk(sysfs: FakeSysfs, look: Look) -> None:
    before = look.seen()
    assert before.blank
    assert look.again(before) == ""
    look.contents = blockdev.Contents((), 4096)
    assert look.again(before) == "is no longer blank"
    look.contents = blockdev.Contents((Signature("ext4", 0x438),), 1024)
    assert look.again(before) == "is no longer blank"
    look.contents = blockdev.Contents((), None, scan=Scan(1 << 30, 0, 0))
    look.busy = True
    assert look.again(before) == "is now in use"
    sysfs.put("block/nvme1n1/device/serial", "AWS7")
    assert "is now another disk" in look.again(before)


@pytest.mark.parametrize("field", ["model", "wwid", "slot"])
def test_another_disk_with_the_same_serial(look: Look, field: str) -> None:
    before = look.seen()
    assert "another disk" in look.again(replace(before, **{field: "another"}))


def test_a_disk_that_is_written_to_while_it_is_looked_at(
    sysfs: FakeSysfs, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = look.seen()

    def written(found: list[Disk], *_: object) -> list[Disk]:
        sysfs.put("block/nvme1n1/stat", " ".join(["0"] * 6 + ["8"] + ["0"] * 10))
        return found

    monkeypatch.setattr(halfmade, "look", written)
    assert look.again(before) == "was written to while it was looked at"


def test_a_link_that_now_leads_elsewhere(sysfs: FakeSysfs, look: Look) -> None:
    link = "/dev/disk/by-id/nvme-x_AWS1"
    sysfs.udev("nvme1n1", link)
    place = sysfs.root / link.removeprefix("/")
    place.parent.mkdir(parents=True)
    place.symlink_to("../../nvme1n1")
    before = look.seen()
    assert look.again(before) == ""
    place.unlink()
    place.symlink_to("../../nvme2n1")
    assert look.again(before) == f"is no longer what {link} leads to"


def test_a_disk_that_cannot_be_read_any_more(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    before = look.seen()

    error = OSError(5, "Input/output error")
    monkeypatch.setattr(blockdev, "read_contents", lambda _: [error])
    assert look.again(before) == "can no longer be read"


def test_a_mark_that_the_plan_has_put_there_is_no_change(look: Look) -> None:
    before = look.seen()
    look.contents = blockdev.Contents((), 4096, _MAKING)
    assert look.again(before, "scratch") == ""
    assert look.again(before) == ""
    assert look.again(before, "data") == "is no longer blank"
    look.intact = False
    assert look.again(before, "scratch") == "is no longer blank"
    look.intact = True
    # The volume's own half-made filesystem is what making leaves; another's is not.
    look.contents = blockdev.Contents((Signature("xfs", 0, "scratch"),), 0, _MAKING)
    assert look.again(before, "scratch") == ""
    look.contents = blockdev.Contents((Signature("xfs", 0, "theirs"),), 0, _MAKING)
    assert look.again(before, "scratch") == "is no longer blank"


def test_a_released_disk_counts_as_blank(look: Look) -> None:
    before = look.seen()
    look.contents = blockdev.Contents((), 0x200000, _RELEASED)
    assert look.again(before) == ""
    assert look.again(look.seen()) == ""
    released = look.seen()
    look.contents = blockdev.Contents((), 0x300000, replace(_RELEASED, intact=False))
    assert look.again(released) == "has been written to"
    assert look.again(before) == "is no longer blank"


def test_a_member_has_to_stay_the_same_member(look: Look) -> None:
    raid = Signature("linux_raid_member", 4096, "stripewright:scratch", "u")
    look.contents = blockdev.Contents((raid,), 4096)
    look.member = MdMember("stripewright:scratch", "1:2:3:4", "5:6:7:8", "raid0", 2, 4096, 0)
    before = look.seen()
    assert look.again(before) == ""
    look.member = replace(look.member, slot=1)
    assert look.again(before) == "no longer has the superblock that it had"
    look.contents = blockdev.Contents((raid, Signature("ext4", 0x438)), 1024)
    assert look.again(before) == "has a signature that it had not"
    # A step before this one has cleared it.
    look.contents = blockdev.Contents((), 1024 * 1024, _RELEASED)
    look.member = None
    assert look.again(before) == ""


def test_a_physical_volume_has_to_stay_in_its_group(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = Signature("LVM2_member", 0x218, "", "pv")
    look.contents = blockdev.Contents((label,), 512)
    member = built.LvmMember("pv", "stripewright-data", "vg")
    members = {"now": member}

    def groups(_: object, disks: list[Disk], __: object) -> lvm.Report:
        return lvm.Report((), {one.path: members["now"] for one in disks})

    monkeypatch.setattr(built, "read_groups", groups)
    before = look.seen()
    assert before.lvm_member == member
    assert look.again(before) == ""
    members["now"] = replace(member, group="other", group_uuid="vg2")
    assert look.again(before) == "is no longer in the volume group that it was in"
    # What the plan itself made of a disk that was blank.
    blank = replace(before, signatures=(), blank=True, lvm_member=None)
    assert look.again(blank, "data") == "is no longer blank"
    look.contents = blockdev.Contents((label,), 512, replace(_MAKING, volume="data"))
    assert look.again(blank, "data") == "is no longer blank"
    members["now"] = member
    assert look.again(blank, "data") == ""


def test_contents_that_an_operator_gives_up_are_those_that_were_seen(look: Look) -> None:
    ext4 = Signature("ext4", 0x438, "pg", "u-1")
    look.contents = blockdev.Contents((ext4,), 1024)
    before = look.seen()
    assert look.again(before) == ""
    look.contents = blockdev.Contents((replace(ext4, uuid="u-2"),), 1024)
    assert look.again(before) == "has a signature that it had not"
    # wipefs was the step before.
    look.contents = blockdev.Contents((), 0x200000)
    assert look.again(before) == ""
    raw = look.seen()
    assert look.again(raw) == ""
    look.contents = blockdev.Contents((), 0x1000)
    assert look.again(raw) == "has been written to"


# ----------------------------------------------------------------- later writes of a plan


def test_before_later_writes_the_own_mark_is_what_is_looked_for(
    look: Look, sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Mark] = [_MAKING]
    monkeypatch.setattr(blockdev, "read_marks", lambda *_: tuple(found))
    before = look.seen()

    def again(volume: str = "scratch") -> str:
        seen = recheck.look_at_making([before], sysfs.kernel, volume=volume)
        return seen[1] if seen else ""

    assert again() == ""
    assert again("data") == "no longer says that 'data' is made of it"
    look.busy = True
    assert again() == "is now in use"
    look.busy = False
    found.clear()
    assert again() == "no longer says that 'scratch' is made of it"
    found[:] = [_MAKING, _RELEASED]
    assert again() == "no longer says that 'scratch' is made of it"
    found[:] = [_MAKING]
    sysfs.put("block/nvme1n1/holders/dm-3", "")
    assert again() == "is now in use"

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(blockdev, "is_busy", fail)
    assert again() == "can no longer be read"
    sysfs.put("block/nvme1n1/device/serial", "AWS7")
    monkeypatch.setattr(blockdev, "is_busy", lambda _: False)
    assert "is now another disk" in again()
