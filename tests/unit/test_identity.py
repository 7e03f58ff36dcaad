from __future__ import annotations

import pytest

from appliance.data import disk_rules, instance_type, instance_types
from appliance.model import DiskKind, Signature
from appliance.storage.identity import classify, identify, owner
from tests.unit.disks import array, disk, held, member, plain


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


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"size_bytes": 0}, "has size zero"),
        ({"read_only": True}, "is read-only"),
        ({"mountpoints": ("/data",)}, "is mounted at /data"),
        ({"swap": True}, "is used as swap"),
        ({"partitions": ("nvme1n1p1",)}, "has partitions: nvme1n1p1"),
        ({"holders": ("dm-0",)}, "is held by dm-0"),
        ({"busy": True}, "is opened exclusively by another program"),
        (
            {"blank": False, "nonzero_offset_bytes": 0x1234},
            "no known signature, but data at 0x1234",
        ),
        (
            {"signatures": (Signature("ext4", 0x438, "pg"),)},
            "holds an ext4 signature at 0x438, label 'pg'",
        ),
        ({"signatures": (Signature("gpt", 0x200),)}, "has a gpt partition table at 0x200"),
        ({"signatures": (Signature("LVM2_member", 0x218),)}, "holds a LVM2_member signature"),
        ({"signatures": (Signature("xfs", 0, "theirs"),)}, "holds an xfs signature at 0x0, label"),
        ({"signatures": (Signature("unreadable"),)}, "cannot be read"),
    ],
)
def test_anything_in_the_way_is_named(facts: dict[str, object], reason: str) -> None:
    found = identify(disk(1, **facts))
    assert not found.claimable
    assert reason in found.reason


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
    assert not identify(plain(), (), ("data",)).claimable


def test_without_root_udevs_label_is_all_there_is() -> None:
    seen = (Signature("linux_raid_member", None, "stripewright:scratch", "u"),)
    assert owner(disk(1, blank=None, signatures=seen), ()) == "scratch"
    assert (
        identify(disk(1, blank=None)).reason == "EC2 instance store, contents not read (needs root)"
    )


def test_instance_types_have_counts_limits_and_sources() -> None:
    found = instance_type("i3.16xlarge")
    assert found is not None
    assert (found.disk_count, found.disk_size_gb) == (8, 1900)
    assert (found.read_iops_total, found.read_iops_per_disk) == (3_300_000, 412_500)
    assert instance_type("t3.micro") is None
    for row in instance_types().values():
        assert row.disk_count > 0
        assert row.source
        if row.read_iops_total and row.read_iops_per_disk:
            # Totals are what is published; the share of one disk is rounded.
            assert (
                abs(row.read_iops_per_disk * row.disk_count - row.read_iops_total) <= row.disk_count
            )
