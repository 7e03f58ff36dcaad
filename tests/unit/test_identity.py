from __future__ import annotations

from dataclasses import replace

import pytest

from appliance.data import disk_rules
from appliance.model.disks import (
    Disk,
    DiskKind,
    LogicalVolume,
    LvmMember,
    Machine,
    Mark,
    MarkState,
    Scan,
    Signature,
    VolumeGroup,
)
from appliance.model.plans import Layout, OperatorRule, Selector, Volume
from appliance.storage.policy.identity import (
    classify,
    identify,
    identify_all,
    may_be_read,
    operator_rule,
    owner,
)
from tests.unit.disks import array, disk, held, member, plain

EBS = "Amazon Elastic Block Store"
MAKING = Mark(MarkState.MAKING, "scratch", "", 524288, "ab")
RELEASED = Mark(MarkState.RELEASED, "scratch", "", 524288, "cd", intact=True)


@pytest.mark.parametrize(
    ("transport", "vendor", "model", "kind"),
    [
        ("nvme", "", "Amazon EC2 NVMe Instance Storage", DiskKind.INSTANCE_STORE),
        ("nvme", "", "Amazon EC2 NVMe Instance Storage        ", DiskKind.INSTANCE_STORE),
        ("nvme", "", " Amazon EC2 NVMe Instance Storage", DiskKind.UNKNOWN),
        ("nvme", "", "amazon ec2 nvme instance storage", DiskKind.UNKNOWN),
        ("nvme", "", "Amazon EC2 NVMe Instance Storage 2", DiskKind.UNKNOWN),
        ("scsi", "", "Amazon EC2 NVMe Instance Storage", DiskKind.UNKNOWN),
        ("nvme", "", "Amazon Elastic Block Store", DiskKind.NETWORK),
        ("nvme", "", "Microsoft NVMe Direct Disk", DiskKind.INSTANCE_STORE),
        ("nvme", "", "Microsoft NVMe Direct Disk v2", DiskKind.INSTANCE_STORE),
        ("nvme", "", "Microsoft NVMe Direct Disk v3", DiskKind.UNKNOWN),
        ("nvme", "", "MSFT NVMe Accelerator v1.0", DiskKind.NETWORK),
        ("scsi", "Msft", "Virtual Disk", DiskKind.NETWORK),
        ("nvme", "", "nvme_card", DiskKind.INSTANCE_STORE),
        ("nvme", "", "nvme_card7", DiskKind.INSTANCE_STORE),
        ("nvme", "", "nvme_card12", DiskKind.INSTANCE_STORE),
        ("nvme", "", "nvme_card-pd", DiskKind.NETWORK),
        ("nvme", "", "nvme_cardX", DiskKind.UNKNOWN),
        ("nvme", "", "nvme_card١", DiskKind.UNKNOWN),
        ("nvme", "", "nvme_card1\n", DiskKind.UNKNOWN),
        ("scsi", "Google", "EphemeralDisk", DiskKind.INSTANCE_STORE),
        ("scsi", "Google", "PersistentDisk", DiskKind.NETWORK),
        ("scsi", "ATA", "EphemeralDisk", DiskKind.UNKNOWN),
        ("nvme", "", "QEMU NVMe Ctrl", DiskKind.UNKNOWN),
        ("virtio", "", "", DiskKind.UNKNOWN),
    ],
)
def test_kind_is_by_exact_model(transport: str, vendor: str, model: str, kind: DiskKind) -> None:
    assert classify(disk(1, transport=transport, vendor=vendor, model=model)) is kind


def test_every_rule_has_a_source_and_one_way_to_match() -> None:
    for rule in disk_rules():
        assert rule.source
        assert bool(rule.model) != bool(rule.model_pattern)


def test_the_disk_under_root_is_system_whatever_its_model() -> None:
    found = identify(disk(0, holds_root=True))
    assert (found.kind, found.claimable) == (DiskKind.SYSTEM, False)
    assert "running system" in found.reason


def test_a_blank_instance_disk_is_claimable_and_says_why() -> None:
    found = identify(disk(1))
    assert found.claimable
    assert found.reason == "EC2 instance store, blank"


def test_a_network_volume_that_was_not_read_to_its_end_is_not_claimable() -> None:
    layout = Layout((), rules=(OperatorRule(serials=("vol0ab12cd34",), role="data"),))
    model = "Amazon Elastic Block Store"
    half = Scan(9 * 10**9, 0, 891 * 10**9)
    found = identify(
        disk(2, model=model, serial="vol0ab12cd34", blank=None, scan=half), layout=layout
    )
    assert not found.claimable
    assert "read in full: only the first 1.0 % read, all zero" in found.reason
    assert "plan --erase" in found.hint


def test_ebs_is_named_by_its_volume_id() -> None:
    found = identify(disk(2, model="Amazon Elastic Block Store", serial="vol0ab12cd34"))
    assert found.reason == "EBS volume vol-0ab12cd34, no role given"


def test_our_member_is_claimable_also_while_our_array_holds_it() -> None:
    one = member(0)
    assert identify(one).reason == "EC2 instance store, slot 0 of 4 of our volume 'scratch'"
    (running,) = held(one)
    assert identify(running, (array(running),)).claimable
    assert not identify(running, ()).claimable
    foreign = array(running, name="elsewhere:scratch")
    assert not identify(running, (foreign,)).claimable


def test_members_of_other_arrays_are_foreign() -> None:
    found = identify(member(0, name="host9:scratch"))
    assert not found.claimable
    assert "member of another md array, 'host9:scratch'" in found.reason


def test_a_second_signature_makes_a_member_nobodys() -> None:
    both = (Signature("linux_raid_member", 4096), Signature("ext4", 0x438))
    assert owner(member(0, signatures=both), ("scratch",)) == ""
    assert not identify(member(0, signatures=both)).claimable


def test_a_raid_signature_without_believable_superblock_is_foreign() -> None:
    found = identify(member(0, md_member=None))
    assert not found.claimable


def test_a_plain_filesystem_is_ours_by_its_label_only() -> None:
    assert identify(plain()).claimable
    other = Layout(volumes=(Volume(name="data", mount="/mnt/data"),))
    assert not identify(plain(), layout=other).claimable


def test_without_root_udevs_label_is_all_there_is() -> None:
    seen = (Signature("linux_raid_member", None, "stripewright:scratch", "u"),)
    assert owner(disk(1, blank=None, signatures=seen), ()) == "scratch"
    assert (
        identify(disk(1, blank=None)).reason == "EC2 instance store, contents not read (needs root)"
    )


def test_two_of_one_serial_are_both_refused() -> None:
    first, second, third = identify_all([disk(1, serial="S"), disk(2, serial="S"), disk(3)])
    assert "has the same serial as /dev/nvme2n1" in first.reason
    assert "has the same serial as /dev/nvme1n1" in second.reason
    assert [one.claimable for one in (first, second, third)] == [False, False, True]
    same_id = identify_all([disk(1), replace(disk(2), id=disk(1).id)])
    assert all("has the same id as" in one.reason for one in same_id)
    bare = [disk(n, serial="", id=f"id{n}", stable_path="") for n in (1, 2)]
    none = identify_all(bare)
    assert all(one.claimable for one in none)


# ---------------------------------------------------------------------------- marks


def test_a_disk_on_which_a_volume_is_being_made() -> None:
    bare = disk(1, mark=MAKING)
    assert owner(bare, ()) == "scratch"
    assert identify(bare).reason == (
        "EC2 instance store, volume 'scratch' was being made of it and is not finished"
    )
    written = member(0, mark=replace(MAKING, intact=False))
    assert identify(written).reason.endswith("not finished, and holds what that does not write")
    dirty = disk(1, mark=MAKING, blank=False, nonzero_offset_bytes=4096)
    assert identify(dirty).claimable
    theirs = disk(1, mark=MAKING, blank=False, signatures=(Signature("ext4", 0x438, "pg"),))
    assert owner(theirs, ("scratch",)) == ""
    assert not identify(theirs).claimable


def test_a_released_disk_counts_as_blank_while_nobody_wrote() -> None:
    facts = {"blank": False, "nonzero_offset_bytes": 0x200000}
    found = identify(disk(1, mark=RELEASED, **facts))
    assert found.claimable
    assert found.reason == "EC2 instance store, released from volume 'scratch' and unchanged since"
    for intact in (False, None):
        written = identify(disk(1, mark=replace(RELEASED, intact=intact), **facts))
        assert not written.claimable
        assert "has been written to since at 0x200000" in written.reason
    signed = identify(disk(1, mark=RELEASED, signatures=(Signature("ext4", 0x438),), **facts))
    assert not signed.claimable
    zero = identify(disk(1, mark=replace(RELEASED, intact=False)))
    assert zero.reason == "EC2 instance store, blank"


def test_a_release_that_did_not_end() -> None:
    found = identify(plain(mark=RELEASED))
    assert found.claimable
    assert "its release from volume 'scratch' has not ended" in found.reason


# ---------------------------------------------------------------------------- LVM


def lvm(number: int, **facts: object) -> Disk:
    made = {
        "blank": False,
        "signatures": (Signature("LVM2_member", 0x218),),
        "lvm_member": LvmMember("pv", "stripewright-data", "vg", ("stripewright:data",)),
        "holders": ("dm-0",),
        "holder_notes": ("LVM volume 'stripewright--data-data'",),
        **facts,
    }
    return disk(number, **made)


def test_a_group_of_ours_is_no_foreign_holder() -> None:
    volume = LogicalVolume("data", "/dev/stripewright-data/data", 9, 4096, (), active=True)
    group = VolumeGroup("stripewright-data", "vg", (), (), 1, 4, 0, (volume,))
    assert owner(lvm(1), ()) == "data"
    assert identify(lvm(1), (), (group,)).claimable
    # Without root there are no groups, and device-mapper's name has to do.
    assert identify(lvm(1)).claimable
    other = identify(lvm(1, holder_notes=("LVM volume 'stripewright--data-snap'",)), (), (group,))
    assert "is held by dm-0 (LVM volume 'stripewright--data-snap')" in other.reason
    luks = identify(lvm(1, holder_notes=("LUKS 'stripewright--data-data'",)), (), (group,))
    assert not luks.claimable


# ---------------------------------------------------------------------------- rules


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        (OperatorRule(serials=("vol0a", "x"), role="data"), True),
        (OperatorRule(serials=("vol0b",), role="data"), False),
        (OperatorRule(model=EBS, role="data"), True),
        (OperatorRule(cloud_name="sdf", model=EBS, role="data"), True),
        (OperatorRule(cloud_name="sdg", model=EBS, role="data"), False),
        (OperatorRule(cloud_name="sdf", vendor="Msft", role="data"), False),
        (OperatorRule(role="data"), False),
        (OperatorRule(vendor="", role="data"), False),
    ],
)
def test_a_rule_needs_everything_that_it_says(rule: OperatorRule, fits: bool) -> None:
    ebs = disk(2, model=EBS, serial="vol0a", cloud_name="sdf")
    assert (operator_rule(ebs, (rule,)) is rule) is fits


def test_the_first_rule_that_fits_gives_the_role() -> None:
    rules = (OperatorRule(serials=("vol0a",), role="logs"), OperatorRule(model=EBS, role="data"))
    layout = Layout(volumes=(), rules=rules)
    first = identify(disk(2, model=EBS, serial="vol0a"), layout=layout)
    second = identify(disk(3, model=EBS, serial="vol0b"), layout=layout)
    assert [(one.role, one.claimable) for one in (first, second)] == [
        ("logs", True), ("data", True),
    ]  # fmt: skip
    assert second.reason == "EBS volume vol-0b, blank"


def test_a_serial_in_a_volume_names_a_network_disk() -> None:
    volume = Volume(name="data", mount="/mnt/data", select=Selector(None, "", ("vol0a",)))
    layout = Layout(volumes=(volume,))
    named, other = disk(2, model=EBS, serial="vol0a"), disk(3, model=EBS, serial="vol0b")
    assert identify(named, layout=layout).claimable
    assert not identify(other, layout=layout).claimable
    assert [may_be_read(one, layout) for one in (named, other, disk(1))] == [True, False, True]


@pytest.mark.parametrize("written", ["vol0a", "vol-0a"])
@pytest.mark.parametrize("shown", ["vol0a", "vol-0a"])
def test_a_serial_is_the_same_with_the_dash_of_a_volume_id(written: str, shown: str) -> None:
    ebs = disk(2, model=EBS, serial=shown)
    volume = Volume(name="data", mount="/mnt/data", select=Selector(None, "", (written,)))
    by_volume = Layout(volumes=(volume,))
    by_rule = Layout(volumes=(), rules=(OperatorRule(serials=(written,), role="data"),))
    for layout in (by_volume, by_rule):
        assert may_be_read(ebs, layout)
        assert identify(ebs, layout=layout).claimable
    assert identify(ebs, layout=by_rule).role == "data"


def test_no_rule_makes_a_system_disk_anything() -> None:
    rules = (OperatorRule(serials=("S",), role="data", kind=DiskKind.INSTANCE_STORE),)
    layout = Layout(volumes=(), rules=rules)
    for system in (
        disk(0, serial="S", holds_root=True),
        disk(0, serial="S", transport="scsi", vendor="Msft", model="Virtual Disk", cloud_name="os"),
        disk(0, serial="S", model="MSFT NVMe Accelerator v1.0", cloud_name="os"),
    ):
        found = identify(system, layout=layout)
        assert (found.kind, found.role, found.claimable) == (DiskKind.SYSTEM, "", False)
        assert not may_be_read(system, layout)


def test_a_rule_says_what_the_data_does_not_know_and_nothing_else() -> None:
    rules = (OperatorRule(model=EBS, kind=DiskKind.INSTANCE_STORE),)
    assert classify(disk(2, model=EBS), rules) is DiskKind.NETWORK
    rules = (OperatorRule(model="QEMU NVMe Ctrl", kind=DiskKind.INSTANCE_STORE),)
    assert classify(disk(2, model="QEMU NVMe Ctrl"), rules) is DiskKind.INSTANCE_STORE
    resource = disk(1, transport="scsi", vendor="Msft", model="Virtual Disk", cloud_name="resource")
    assert classify(resource) is DiskKind.UNKNOWN
    assert "Azure resource disk" in identify(resource).reason
    rules = (OperatorRule(cloud_name="resource", kind=DiskKind.INSTANCE_STORE),)
    assert classify(resource, rules) is DiskKind.INSTANCE_STORE


# ---------------------------------------------------------------------------- Xen


def xen(name: str, gib: float) -> Disk:
    size = int(gib * 2**30)
    return Disk(f"/dev/{name}", name, "", "", size, transport="xen", blank=True, cloud_name=name)


def test_xen_disks_by_the_providers_metadata() -> None:
    machine = Machine(provider="aws", machine_type="c3.xlarge", ephemeral_names=("xvdb",))
    assert classify(xen("xvdb", 40), machine=machine) is DiskKind.INSTANCE_STORE
    assert identify(xen("xvdb", 40), machine=machine).claimable
    # An EBS volume under a name that the image wished for something else.
    assert classify(xen("xvdb", 100), machine=machine) is DiskKind.UNKNOWN
    other = identify(xen("xvdf", 40), machine=machine)
    assert not other.claimable
    assert 'cloud_name = "xvdf"' in other.hint
    assert classify(xen("xvdb", 40)) is DiskKind.UNKNOWN
    rules = (OperatorRule(cloud_name="xvdf", role="data", kind=DiskKind.NETWORK),)
    ruled = identify(xen("xvdf", 40), layout=Layout((), rules=rules), machine=machine)
    assert (ruled.kind, ruled.role, ruled.claimable) == (DiskKind.NETWORK, "data", True)
