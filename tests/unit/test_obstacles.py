from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.model.disks import DiskKind, LvmMember, Signature
from appliance.model.plans import Layout, OperatorRule
from appliance.storage.policy.identity import identify
from tests.unit.disks import disk


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"size_bytes": 0}, "has size zero"),
        ({"size_bytes": 8 * 1024 * 1024}, "is too small: 8 MiB, and it takes 16 MiB"),
        ({"read_only": True}, "is read-only"),
        ({"mountpoints": ("/data",)}, "is mounted at /data"),
        ({"swap": True}, "is used as swap"),
        ({"partitions": ("nvme1n1p1",)}, "has partitions: nvme1n1p1"),
        (
            {"partitions": ("nvme1n1p1",), "signatures": (Signature("gpt", 512),)},
            "has partitions: nvme1n1p1 (gpt table)",
        ),
        ({"holders": ("dm-0",)}, "is held by dm-0"),
        (
            {"holders": ("dm-0", "md7"), "holder_notes": ("LUKS 'secret'", "md array, raid1")},
            "is held by dm-0 (LUKS 'secret'), md7 (md array, raid1)",
        ),
        ({"busy": True}, "is opened exclusively by another program"),
        ({"claimed_by": "/etc/fstab line 3, /data"}, "is claimed by /etc/fstab line 3, /data"),
        (
            {"blank": False, "nonzero_offset_bytes": 0x1234},
            "no known signature, but data at 0x1234",
        ),
        ({"lvm_member": LvmMember("pv", "vg_home"), "signatures": (Signature("LVM2_member"),)},
         "holds an LVM physical volume, of the volume group 'vg_home'"),
    ],
)  # fmt: skip
def test_anything_in_the_way_is_named(facts: dict[str, object], reason: str) -> None:
    found = identify(disk(1, **facts))
    assert not found.claimable
    assert reason in found.reason
    assert found.hint


def test_who_has_a_disk_open_is_found_with_what_is_on_the_image() -> None:
    busy = disk(1, busy=True)
    said = f"as root: find /proc/[0-9]*/fd -lname {busy.path}; end what uses it"
    assert identify(busy).hint == said


@pytest.mark.parametrize(
    ("signatures", "reason"),
    [
        ((Signature("ext4", 0x438, "pg"),), "holds an ext4 signature at 0x438, label 'pg'"),
        ((Signature("xfs", 0, "theirs"),), "holds an xfs signature at 0x0, label 'theirs'"),
        ((Signature("btrfs", 0x10040),), "holds a btrfs signature at 0x10040"),
        ((Signature("zfs_member", 0x3FE1C00),), "holds a ZFS label at 0x3fe1c00"),
        ((Signature("crypto_LUKS", 0x4000),), "holds a LUKS header at 0x4000"),
        ((Signature("LVM2_member", 0x218),), "holds an LVM physical volume at 0x218"),
        ((Signature("swap", 0xFF6),), "holds swap space at 0xff6"),
        ((Signature("bcache", 0x1018),), "holds a bcache superblock at 0x1018"),
        ((Signature("VMFS", 0x200000),), "holds a VMFS datastore at 0x200000"),
        ((Signature("VMFS_volume_member", 2**20),), "holds a VMFS volume member at 0x100000"),
        ((Signature("iso9660", 0x8001),), "holds an ISO 9660 image at 0x8001"),
        (
            (Signature("ntfs", 3, "Temporary Storage"),),
            "holds an ntfs signature at 0x3, label 'Temporary Storage'",
        ),
        ((Signature("gpt", 0x200),), "has a gpt partition table at 0x200"),
        ((Signature("dos", 0x1FE),), "has a dos partition table (MBR) at 0x1fe"),
        ((Signature("PMBR", 0x1FE),), "has a protective MBR at 0x1fe"),
        ((Signature("PMBR", 0x1FE), Signature("gpt", 0x200)), "has a gpt partition table at 0x200"),
        (
            (Signature("gpt", 0x200), Signature("hybrid", 446), Signature("PMBR", 0x1FE)),
            "has a hybrid partition table (gpt, with MBR entries of its own) at 0x1be",
        ),
        ((Signature("damaged-gpt", 4096),), "the remains of a gpt partition table at 0x1000"),
        ((Signature("damaged-dos", 446),), "the remains of an MBR partition table at 0x1be"),
        ((Signature("gpt", 512), Signature("ext4", 0x438)), "holds an ext4 signature at 0x438"),
        ((Signature("ambivalent"),), "signatures that contradict each other"),
        ((Signature("linux_raid_member", 0x3FF0000),), "another md array, without a name"),
        ((Signature("unreadable"),), "cannot be read, so its contents are unknown"),
        ((Signature("drbd", 7),), "holds a drbd signature at 0x7"),
    ],
)
def test_any_signature_is_in_the_way(signatures: tuple[Signature, ...], reason: str) -> None:
    found = identify(disk(1, signatures=signatures, blank=False))
    assert not found.claimable
    assert reason in found.reason
    assert found.hint


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[@click=app.quit]X", "'[' (U+005B)"),
        ("AWS'1", "(U+0027)"),
        ('AWS"1', "(U+0022)"),
        ("../../etc", "'.' (U+002E)"),
        ("A/B", "'/' (U+002F)"),
        ("A\\B", "(U+005C)"),
        ("A$(reboot)", "'$' (U+0024)"),
        ("A%n", "'%' (U+0025)"),
        ("A,B", "',' (U+002C)"),
        ("A\x1b[2J", "the character (U+001B)"),
        ("A\nB", "the character (U+000A)"),
        ("A\0B", "the character (U+0000)"),
        ("Aé", "the character (U+00E9)"),
        ("A\u202eB", "the character (U+202E)"),
        ("A\ufffdB", "the character (U+FFFD)"),
        ("-rf", "'-' (U+002D)"),
    ],
)
def test_characters_that_mean_something_to_somebody(text: str, shown: str) -> None:
    found = identify(disk(1, serial=text))
    assert not found.claimable
    assert "its serial has the character" in found.reason
    assert shown in found.reason
    assert found.reason.isascii()
    assert found.reason.isprintable()
    rules = (OperatorRule(model=text, kind=DiskKind.INSTANCE_STORE),)
    named = identify(disk(1, model=text), layout=Layout(volumes=(), rules=rules))
    assert not named.claimable
    assert "its model has the character" in named.reason


@pytest.mark.parametrize(
    "model", ["PERC H730P Mini", "MZQLB3T8HALS-00007", "INTEL(R) SSD", "eui.0:1_2+3", "nvme_card"]
)
def test_what_drive_makers_use_is_plain(model: str) -> None:
    rules = (OperatorRule(model=model, kind=DiskKind.INSTANCE_STORE),)
    layout = Layout(volumes=(), rules=rules)
    assert identify(disk(1, model=model, serial=model), layout=layout).claimable


@given(st.text(max_size=20), st.text(max_size=20), st.integers(-1, 2**62))
def test_any_text_gets_a_verdict(serial: str, model: str, size: int) -> None:
    rules = (OperatorRule(model=model, kind=DiskKind.INSTANCE_STORE),)
    layout = Layout(volumes=(), rules=rules)
    found = identify(disk(1, serial=serial, model=model, size_bytes=size), layout=layout)
    assert found.reason
    if found.claimable:
        assert (serial + model).isascii()
        assert not set(serial + model) & set("/[]$%'\"\\,\n\x1b")
