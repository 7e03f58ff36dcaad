from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import OperatorError
from appliance.storage import blockdev, filesystem

_DATA = Path(__file__).parent / "data/storage"


def test_mkfs_is_aligned_and_never_forced() -> None:
    argv = filesystem.mkfs_argv("scratch", "/dev/md/scratch", chunk_bytes=262144, members=4)
    assert argv == ("mkfs.xfs", "-K", "-L", "scratch", "-d", "su=262144,sw=4", "/dev/md/scratch")
    one = filesystem.mkfs_argv("scratch", "/dev/x", chunk_bytes=262144, members=1)
    assert one == ("mkfs.xfs", "-K", "-L", "scratch", "/dev/x")


def test_mount_argv() -> None:
    assert filesystem.mount_argv("/dev/md/scratch", "/mnt/scratch") == (
        "mount", "-t", "xfs", "-o", "nodev,nosuid,noatime", "/dev/md/scratch", "/mnt/scratch",
    )  # fmt: skip


@pytest.mark.parametrize("version", ["6.1", "6.13"])
def test_xfs_info_in_bytes(version: str) -> None:
    """Recorded for 256 KiB × 4; the log section's own sunit must not be taken."""
    text = (_DATA / f"xfs_info-{version}.txt").read_text()
    assert filesystem.parse_xfs_info(text) == (262144, 1048576)


def test_xfs_info_that_is_something_else() -> None:
    with pytest.raises(OperatorError, match="no data section"):
        filesystem.parse_xfs_info("log =internal bsize=4096 sunit=64 swidth=256 blks\n")


def test_a_recorded_xfs_superblock() -> None:
    found = filesystem.parse_xfs_superblock((_DATA / "xfs-superblock.bin").read_bytes())
    assert found is not None
    assert (found.kind, found.label) == ("xfs", "scratch")
    assert found.uuid == "9c4f34e5-dc29-413b-8e30-4f68d43168f5"
    assert (found.sunit_bytes, found.swidth_bytes) == (262144, 1048576)
    assert not found.unfinished


def test_mkfs_in_progress_is_seen() -> None:
    block = bytearray((_DATA / "xfs-superblock.bin").read_bytes())
    block[126] = 1
    found = filesystem.parse_xfs_superblock(bytes(block))
    assert found is not None
    assert found.unfinished


@given(st.binary(max_size=600))
def test_noise_is_no_superblock(noise: bytes) -> None:
    filesystem.parse_xfs_superblock(noise)
    filesystem.parse_xfs_superblock(b"XFSB" + noise)


def test_recorded_probers_agree_on_a_member() -> None:
    wipefs = blockdev.parse_wipefs((_DATA / "wipefs-md-member.json").read_text())
    blkid = blockdev.parse_blkid((_DATA / "blkid-md-member.txt").read_text())
    (found,) = blockdev.merge_signatures(wipefs, blkid)
    assert (found.kind, found.offset_bytes) == ("linux_raid_member", 0x1000)
    assert found.label == "stripewright:scratch"


def test_recorded_partition_table_and_blank_disk() -> None:
    wipefs = blockdev.parse_wipefs((_DATA / "wipefs-gpt.json").read_text())
    blkid = blockdev.parse_blkid((_DATA / "blkid-gpt.txt").read_text())
    found = blockdev.merge_signatures(wipefs, blkid)
    assert [(one.kind, one.offset_bytes) for one in found] == [
        ("PMBR", 0x1FE),
        ("gpt", 0x200),
        ("gpt", 0xFFFFE00),
    ]
    assert blockdev.parse_wipefs((_DATA / "wipefs-blank.json").read_text()) == ()
    assert blockdev.parse_wipefs("") == ()


def test_a_finding_of_either_prober_counts() -> None:
    ext4 = blockdev.parse_wipefs((_DATA / "wipefs-ext4.json").read_text())
    other = blockdev.parse_blkid("ID_FS_TYPE=zfs_member\n")
    assert {one.kind for one in blockdev.merge_signatures(ext4, other)} == {"ext4", "zfs_member"}


def test_a_label_cannot_forge_a_line() -> None:
    (found,) = blockdev.parse_blkid((_DATA / "blkid-ext4-hostile-label.txt").read_text())
    assert (found.kind, found.label) == ("ext4", "x=y_z")


def test_samples_cover_both_ends_and_stay_inside() -> None:
    size = 900 * 10**9
    samples = blockdev.sample_offsets(0, size)
    assert len(samples) == 64
    assert samples[0] == (0, 1024 * 1024)
    assert sum(samples[-1]) == size
    assert all(length == 4096 for _, length in samples[1:-1])


@given(st.integers(0, 2**40), st.integers(0, 2**45))
def test_samples_are_in_order_and_in_range(start: int, length: int) -> None:
    samples = blockdev.sample_offsets(start, start + length)
    assert all(start <= at and at + size <= start + length for at, size in samples)
    assert samples == sorted(samples)


@pytest.mark.parametrize(
    "at", [0, 5000, 1024 * 1024 - 1, 63 * 1024 * 1024 + 17, 64 * 1024 * 1024 - 1]
)
def test_a_byte_that_is_not_zero_is_found_at_either_end(tmp_path: Path, at: int) -> None:
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
        assert blockdev.first_nonzero(str(disk), 64 * 1024 * 1024) is None
        file.seek(at)
        file.write(b"\1")
    assert blockdev.first_nonzero(str(disk), 64 * 1024 * 1024) == at


def test_a_short_read_is_an_error_not_a_blank_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(4096))
    with pytest.raises(OSError, match="short read"):
        blockdev.first_nonzero(str(disk), 64 * 1024 * 1024)
