"""Drift of logical volumes, drives behind a controller, and plain disks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.drift.looks.observation import (
    Answer,
    Observation,
    Seen,
)
from appliance.drift.rules import layout_rules
from appliance.model.disks import (
    Disk,
    DiskKind,
    Filesystem,
    HardwareDrive,
    LogicalVolume,
    VirtualDrive,
    VolumeGroup,
)
from appliance.model.disks import Machine as MachineSeen
from appliance.model.plans import Layout, Volume
from appliance.state.boot_state import BootMember, BootMount, BootVolume, VolumeNote
from appliance.system.kernel import Mount
from tests.unit.drift_machine import STORE, UUID, Machine, booted, only


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return booted(tmp_path)


def disk(number: int, *, kind: DiskKind = DiskKind.NETWORK) -> Disk:
    return Disk(f"/dev/sd{number}", f"id{number}", STORE, f"S{number}", 2**30, kind=kind)


def seen_on(volume: BootVolume, disks: Sequence[Disk], **more: object) -> Observation:
    mount = Mount("253:0", volume.mount, "ext4", "/dev/dm-0", "rw,nosuid,nodev,noatime", "rw", 40)
    declared = Volume(volume.name, volume.mount, stripe=volume.stripe, filesystem="ext4")
    observation = Observation(
        "boot", Layout((declared,)), MachineSeen(), (volume,), tuple(disks), mounts=(mount,),
        numbers={one.path: f"8:{one.path[-1]}" for one in disks},
        mapped={"LVM volume 'stripewright--data-data'": "253:0"},
        seen=Seen(0.0, ()),
    )  # fmt: skip
    return replace(observation, **more)  # type: ignore[arg-type]


LVM = BootVolume(
    "data",
    stripe="lvm-stripe",
    level="lvm-stripe",
    chunk_bytes=262144,
    members=tuple(BootMember(f"/dev/sd{at}", f"id{at}", f"S{at}", at) for at in (1, 2)),
    device="/dev/stripewright-data/data",
    mount="/mnt/data",
    filesystem="ext4",
    sunit_bytes=262144,
    swidth_bytes=524288,
    uuid="gu",
    noted=VolumeNote(mount=BootMount("ext4", "rw,nosuid,nodev,noatime", "rw")),
    filesystem_uuid="u",
)


def group(*segments: tuple[str, ...], stripe: int = 262144, name: str = "data") -> VolumeGroup:
    made = LogicalVolume(name, f"/dev/x/{name}", 2**30, stripe, segments, active=True)
    return VolumeGroup(f"stripewright-{name}", "gu", (), ("id1", "id2"), 2, 2**22, 0, (made,))


def test_the_stripes_of_a_logical_volume() -> None:
    then = (group(("id1", "id2")),)
    disks = (disk(1), disk(2))
    assert layout_rules.judge(seen_on(LVM, disks, groups_then=then, seen=Seen(0.0, then))) == ()
    assert layout_rules.judge(seen_on(LVM, disks, groups_then=then, seen=None)) == ()
    for now in (group(("id2", "id1")), group(("id1", "id2"), stripe=65536), group(("id1",))):
        facts = layout_rules.judge(seen_on(LVM, disks, groups_then=then, seen=Seen(0.0, (now,))))
        found = only(facts, "LVM-SEGMENTS")
        assert found.expected == "1 GiB in stripes of 256 KiB over S1 S2"
        assert found.next_step.startswith("stripewright plan; as root: lvs ")


def test_a_volume_of_its_name_in_another_group_is_not_its_own() -> None:
    ours = group(("id1", "id2"))
    theirs = replace(group(("id9",)), name="theirs")
    root = Seen(0.0, (theirs, ours))
    known = {"stripewright-data": "", "theirs": ""}
    observation = seen_on(LVM, (disk(1), disk(2)), groups_then=(ours,), seen=root)
    assert layout_rules.judge(replace(observation, built_then=None, built_now=known)) == ()


def test_a_logical_volume_without_a_disk_or_not_active() -> None:
    facts = layout_rules.judge(seen_on(LVM, (disk(1),)))
    assert only(facts, "MEMBER-MISSING").member == "S2"
    # Its segments say "missing" by then, which is the same again.
    then, now = (group(("id1", "id2")),), (group(("id1", "missing")),)
    facts = layout_rules.judge(seen_on(LVM, (disk(1),), groups_then=then, seen=Seen(0.0, now)))
    only(facts, "MEMBER-MISSING")
    assert only(layout_rules.judge(seen_on(LVM, (disk(1), disk(2)), mapped={})), "ARRAY-MISSING")


def test_the_geometry_of_ext4_is_roots_to_see() -> None:
    filesystems = {"data": Filesystem("ext4", "", "u", 65536, 524288)}
    facts = layout_rules.judge(
        seen_on(LVM, (disk(1), disk(2)), seen=Seen(0.0, (), filesystems=filesystems))
    )
    assert "sunit 64 KiB" in only(facts, "FS-GEOMETRY").observed
    # Of an ext4 whose UUID nobody wrote down none is another one.
    root = Seen(0.0, (), filesystems={"data": Filesystem("ext4", "", "u", 262144, 524288)})
    unknown = replace(LVM, filesystem_uuid="")
    assert layout_rules.judge(seen_on(unknown, (disk(1), disk(2)), seen=root)) == ()


def test_a_group_that_root_sees_and_nobody_declared() -> None:
    theirs = replace(group(("id1",)), name="theirs", uuid="other")
    observation = seen_on(LVM, (disk(1), disk(2)), built_then={}, seen=Seen(0.0, (theirs,)))
    assert only(layout_rules.judge(observation), "ARRAY-APPEARED").subject == "theirs"


HARD = replace(
    LVM, name="hard", stripe="hw-raid0", level="hw-raid0",
    members=(BootMember("/dev/sd1", "id1", "S1", 0),), mount="", filesystem="none",
)  # fmt: skip


def test_a_drive_behind_a_controller() -> None:
    virtual = VirtualDrive(0, 1, "sw-hard", "raid0", 262144, 2**30, "Optl", "", ("252:0", "252:1"))
    drives = tuple(HardwareDrive(0, f"252:{at}", "m", f"D{at}", 2**30, "Onln") for at in (0, 1, 2))
    other = replace(virtual, number=2, name="sw-other", state="OfLn", drives=("252:2",))
    root = Seen(0.0, (), (*drives[:2], replace(drives[2], state="UBad")), (other, virtual))
    assert layout_rules.judge(seen_on(HARD, (disk(1),), seen=root)) == ()
    bad = replace(
        root,
        hardware_drives=(drives[0], replace(drives[1], state="Failed")),
        virtual_drives=(replace(virtual, state="OfLn"),),
    )
    assert layout_rules.judge(seen_on(HARD, (disk(1),), seen=None)) == ()
    found = only(layout_rules.judge(seen_on(HARD, (disk(1),), seen=bad)), "HWRAID-STATE")
    assert found.member == "D1"
    assert "virtual drive OfLn; D1 is Failed" in found.observed
    assert found.next_step.startswith("stripewright plan; as root: storcli64 ")


def test_drives_of_another_controller_and_a_bad_one_in_an_optimal_virtual_drive() -> None:
    virtual = VirtualDrive(0, 1, "sw-hard", "raid0", 262144, 2**30, "Optl", "", ("252:0", "252:1"))
    good = tuple(HardwareDrive(0, f"252:{at}", "m", f"D{at}", 2**30, "Onln") for at in (0, 1))
    theirs = HardwareDrive(1, "252:0", "m", "E0", 2**30, "Failed")
    root = Seen(0.0, (), (*good, theirs), (virtual,))
    assert layout_rules.judge(seen_on(HARD, (disk(1),), seen=root)) == ()
    one = replace(root, hardware_drives=(replace(good[0], state="Rbld"), good[1]))
    found = only(layout_rules.judge(seen_on(HARD, (disk(1),), seen=one)), "HWRAID-STATE")
    assert (found.observed, found.member) == ("virtual drive Optl; D0 is Rbld", "D0")
    both = replace(root, hardware_drives=tuple(replace(drive, state="Failed") for drive in good))
    # None of them is the one that it is about.
    found = only(layout_rules.judge(seen_on(HARD, (disk(1),), seen=both)), "HWRAID-STATE")
    assert found.member == ""


def test_the_one_disk_of_a_plain_volume() -> None:
    plain = replace(HARD, name="plain", stripe="single", level="")
    assert only(layout_rules.judge(seen_on(plain, ())), "MEMBER-MISSING").member == "S1"
    assert layout_rules.judge(seen_on(plain, (disk(1),))) == ()


def test_a_filesystem_that_does_not_answer() -> None:
    plain = replace(LVM, name="plain", stripe="single", level="", members=HARD.members)
    mount = Mount("8:1", "/mnt/data", "ext4", "/dev/sd1", "rw,nosuid,nodev,noatime", "rw", 40)
    observation = seen_on(plain, (disk(1),), mounts=(mount,), answers={"/mnt/data": Answer()})
    assert only(layout_rules.judge(observation), "FS-FAILED").observed == "it does not answer"
    fine = replace(observation, answers={"/mnt/data": Answer(size_bytes=5)})
    assert layout_rules.judge(fine) == ()


def test_the_uuid_of_the_fixture_is_the_volumes(machine: Machine) -> None:
    assert machine.look().volumes[0].uuid == UUID
