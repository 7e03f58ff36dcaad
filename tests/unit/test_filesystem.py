from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import OperatorError
from appliance.model.plans import Volume
from appliance.storage.formats import filesystem
from appliance.storage.formats.ext4 import Ext4Options
from appliance.storage.formats.filesystem_kind import Geometry
from appliance.storage.formats.xfs import XfsOptions

_DATA = Path(__file__).parent / "data/storage"
_MIB = 1024 * 1024
_UUID = "0123456789ABCDEF:0011223344556677"
_DASHED = "01234567-89ab-cdef-0011-223344556677"


def _volume(kind: str = "xfs", **more: object) -> Volume:
    return Volume(name="scratch", mount="/mnt/scratch", filesystem=kind, **more)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------ mkfs


def test_mkfs_xfs_is_aligned_and_never_forced_by_itself() -> None:
    argv = filesystem.mkfs_argv(_volume(), "/dev/md/scratch", members=4)
    assert argv == (
        "mkfs.xfs", "-K", "-b", "size=4096", "-L", "scratch", "-d", "su=262144,sw=4",
        "/dev/md/scratch",
    )  # fmt: skip
    forced = filesystem.mkfs_argv(_volume(), "/dev/md/scratch", members=4, force=True)
    assert forced[1] == "-f"


def test_mkfs_xfs_of_a_plain_disk_leaves_the_last_mib_out() -> None:
    size = filesystem.plain_size(100 * _MIB + 512)
    argv = filesystem.mkfs_argv(_volume(), "/dev/x", members=1, size_bytes=size, uuid=_UUID)
    assert argv == (
        "mkfs.xfs", "-K", "-b", "size=4096", "-L", "scratch", "-m", f"uuid={_DASHED}",
        "-d", f"size={99 * _MIB},noalign", "/dev/x",
    )  # fmt: skip


def test_mkfs_xfs_with_options() -> None:
    options = XfsOptions(reflink=False, inode_size_bytes=1024, log_size_bytes=64 * _MIB)
    argv = filesystem.mkfs_argv(_volume(options=options), "/dev/x", members=2, uuid=_UUID)
    assert argv[6:] == (
        "-m", f"uuid={_DASHED},reflink=0", "-d", "su=262144,sw=2", "-i", "size=1024",
        "-l", f"size={64 * _MIB}", "/dev/x",
    )  # fmt: skip


def test_mkfs_ext4_is_aligned_and_writes_its_tables_at_once() -> None:
    argv = filesystem.mkfs_argv(_volume("ext4"), "/dev/md/scratch", members=4)
    assert argv == (
        "mkfs.ext4", "-b", "4096", "-L", "scratch",
        "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=64,stripe_width=256",
        "/dev/md/scratch",
    )  # fmt: skip
    assert filesystem.mkfs_device(argv) == "/dev/md/scratch"
    forced = filesystem.mkfs_argv(_volume("ext4"), "/dev/x", members=4, force=True)
    assert forced[1] == "-F"


def test_mkfs_ext4_of_a_plain_disk_leaves_the_last_mib_out() -> None:
    size = filesystem.plain_size(100 * _MIB + 512)
    options = Ext4Options(bytes_per_inode=65536, reserved_percent=0, journal_size_bytes=128 * _MIB)
    argv = filesystem.mkfs_argv(
        _volume("ext4", options=options), "/dev/x", members=1, size_bytes=size, uuid=_UUID
    )
    assert argv == (
        "mkfs.ext4", "-b", "4096", "-L", "scratch", "-U", _DASHED,
        "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=0,stripe_width=0",
        "-i", "65536", "-m", "0", "-J", "size=128", "/dev/x", "25344",
    )  # fmt: skip
    assert filesystem.mkfs_device(argv) == "/dev/x"


def test_no_filesystem_is_not_made() -> None:
    with pytest.raises(ValueError, match="no filesystem"):
        filesystem.mkfs_argv(Volume(name="x", mount="", filesystem="none"), "/dev/x", members=1)


@pytest.mark.parametrize(
    ("stripe", "layout", "members", "width"),
    [
        ("md-raid0", "near2", 3, 3),
        ("lvm-stripe", "near2", 2, 2),
        ("hw-raid0", "near2", 4, 4),
        ("md-raid10", "near2", 2, 1),
        ("md-raid10", "near2", 4, 2),
        ("md-raid10", "near2", 5, 5),
        ("md-raid10", "far2", 4, 4),
        ("md-raid10", "offset2", 4, 4),
    ],
)
def test_the_width_counts_members_that_hold_data(
    stripe: str, layout: str, members: int, width: int
) -> None:
    volume = _volume(stripe=stripe, raid10_layout=layout, chunk_bytes=65536)
    assert filesystem.data_members(volume, members) == width
    assert f"su=65536,sw={width}" in filesystem.mkfs_argv(volume, "/dev/x", members=members)
    right = Geometry(65536, 65536 * width, 0)
    assert filesystem.geometry_differences(volume, right, members=members) == []
    (wrong,) = filesystem.geometry_differences(
        volume, Geometry(65536, 65536 * (width + 1), 0), members=members
    )
    assert f"not 65536 and {65536 * width}" in wrong


@pytest.mark.parametrize("kind", ["xfs", "ext4"])
def test_a_plain_disk_has_no_stripe_and_not_all_of_the_disk(kind: str) -> None:
    def differences(found: Geometry) -> list[str]:
        return filesystem.geometry_differences(
            _volume(kind), found, members=1, size_bytes=99 * _MIB
        )

    assert differences(Geometry(0, 0, 99 * _MIB)) == []
    assert differences(Geometry(0, 0, 98 * _MIB)) == []
    assert "covers" in differences(Geometry(0, 0, 99 * _MIB + 4096))[0]
    assert "sunit 4096" in differences(Geometry(4096, 4096, 99 * _MIB))[0]


# --------------------------------------------------------------------- mount, grow and wipe


def test_mount_argv() -> None:
    assert filesystem.mount_argv(_volume(), "/dev/md/scratch") == (
        "mount", "-t", "xfs", "-o", "nodev,nosuid,noatime", "/dev/md/scratch", "/mnt/scratch",
    )  # fmt: skip
    volume = _volume("ext4", mount_options=("discard", "commit=30"))
    assert filesystem.mount_argv(volume, "/dev/x")[1:5] == (
        "-t", "ext4", "-o", "nodev,nosuid,noatime,discard,commit=30",
    )  # fmt: skip


def test_grow_argv_says_how_far_on_a_plain_disk() -> None:
    size = filesystem.plain_size(100 * _MIB)
    xfs, ext4 = (kind.grow_argv for kind in filesystem.KINDS.values())
    assert xfs("/dev/x", "/mnt/a", None) == ("xfs_growfs", "-d", "/mnt/a")
    assert ext4("/dev/x", "/mnt/a", None) == ("resize2fs", "/dev/x")
    assert xfs("/dev/x", "/mnt/a", size) == ("xfs_growfs", "-D", "25344", "/mnt/a")
    assert ext4("/dev/x", "/mnt/a", size) == ("resize2fs", "/dev/x", "25344")


def test_wipe_argv() -> None:
    assert filesystem.wipe_argv("/dev/x") == ("wipefs", "--all", "/dev/x")


# ----------------------------------------------------------------------------- superblocks


def test_a_recorded_xfs_superblock() -> None:
    found = filesystem.parse_superblock((_DATA / "xfs-superblock.bin").read_bytes())
    assert found is not None
    assert (found.kind, found.label) == ("xfs", "scratch")
    assert found.uuid == "9c4f34e5-dc29-413b-8e30-4f68d43168f5"
    assert (found.sunit_bytes, found.swidth_bytes) == (262144, 1048576)
    assert found.size_bytes == 261120 * 4096
    assert not found.unfinished


def test_mkfs_in_progress_is_seen() -> None:
    block = bytearray((_DATA / "xfs-superblock.bin").read_bytes())
    block[126] = 1
    found = filesystem.parse_superblock(bytes(block))
    assert found is not None
    assert found.unfinished


def test_a_recorded_ext4_superblock() -> None:
    """mke2fs 1.47.0 with stride=64,stripe_width=128; dumpe2fs says the same of it below."""
    found = filesystem.parse_superblock((_DATA / "ext4-superblock.bin").read_bytes())
    assert found is not None
    assert (found.kind, found.label) == ("ext4", "logs")
    assert found.uuid == "6cdc686b-2896-4695-9dc1-fb9fa5e77285"
    assert (found.sunit_bytes, found.swidth_bytes) == (262144, 524288)
    assert found.size_bytes == 102400 * 4096


def test_ext4_beyond_16_tib_and_its_older_kin() -> None:
    block = bytearray((_DATA / "ext4-superblock.bin").read_bytes())
    struct.pack_into("<I", block, 1024 + 0x150, 2)
    found = filesystem.parse_superblock(bytes(block))
    assert found is not None
    assert found.size_bytes == (2 * 2**32 + 102400) * 4096
    for features, kind in (((4, 0), "ext3"), ((0, 0), "ext2")):
        struct.pack_into("<II", block, 1024 + 0x5C, *features)
        found = filesystem.parse_superblock(bytes(block))
        assert found is not None
        # Without the feature the upper half of the size means nothing.
        assert (found.kind, found.size_bytes) == (kind, 102400 * 4096)


@pytest.mark.parametrize(("at", "byte"), [(0x38, 0), (0x18, 7), (0x60, 8)])
def test_what_is_no_ext4(at: int, byte: int) -> None:
    """Another magic, a block size that the format has not, a journal device."""
    block = bytearray((_DATA / "ext4-superblock.bin").read_bytes())
    block[1024 + at] = byte
    assert filesystem.parse_superblock(bytes(block)) is None


@given(st.binary(max_size=5000))
def test_noise_never_raises(noise: bytes) -> None:
    filesystem.parse_superblock(noise)
    filesystem.parse_superblock(b"XFSB" + noise)
    block = bytearray((bytes(1024) + noise).ljust(2048, b"\0"))
    block[1024 + 0x38 : 1024 + 0x3A] = b"\x53\xef"
    filesystem.parse_superblock(bytes(block))


# ---------------------------------------------------------------------- the tools' own word


@pytest.mark.parametrize(("version", "blocks"), [("6.1", 261632), ("6.13", 261120)])
def test_xfs_info_in_bytes(version: str, blocks: int) -> None:
    """Recorded for 256 KiB × 4; the log section's own sunit must not be taken."""
    text = (_DATA / f"xfs_info-{version}.txt").read_text()
    assert filesystem.parse_info("xfs", text) == Geometry(262144, 1048576, blocks * 4096)


def test_dumpe2fs_in_bytes() -> None:
    text = (_DATA / "dumpe2fs-1.47.txt").read_text()
    assert filesystem.parse_info("ext4", text) == Geometry(262144, 524288, 102400 * 4096)
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("RAID"))
    assert filesystem.parse_info("ext4", plain) == Geometry(0, 0, 102400 * 4096)


def test_a_label_cannot_forge_a_line_of_dumpe2fs() -> None:
    text = (_DATA / "dumpe2fs-1.47.txt").read_text()
    forged = text.replace("logs\n", "logs\nRAID stride:              16\n")
    with pytest.raises(OperatorError, match="'RAID stride' twice"):
        filesystem.parse_info("ext4", forged)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("xfs", "log =internal log bsize=4096 sunit=64 swidth=256 blks\n", "no data section"),
        ("xfs", "", "no data section"),
        ("ext4", "Block count:              5\n", "no block count and block size"),
        ("ext4", "", "no block count and block size"),
        ("xfs", f"data = bsize={'9' * 5000} blocks=1 sunit=1 swidth=1 blks\nx", "no number"),
    ],
)
def test_reports_that_are_something_else(kind: str, text: str, message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        filesystem.parse_info(kind, text)


@given(st.sampled_from(["xfs", "ext4"]), st.text(max_size=300))
def test_any_report_is_a_geometry_or_an_operator_error(kind: str, text: str) -> None:
    for candidate in (
        text,
        f"data = bsize=4096 blocks=1, sunit={text}\nlog",
        f"Block count: {text}",
    ):
        try:
            filesystem.parse_info(kind, candidate)
        except OperatorError as error:
            assert error.hint


def test_tools_that_are_asked() -> None:
    xfs, ext4 = (kind.info_argv for kind in filesystem.KINDS.values())
    assert xfs("/dev/x", "") == ("xfs_info", "/dev/x")
    assert xfs("/dev/x", "/mnt/a") == ("xfs_info", "/mnt/a")
    assert ext4("/dev/x", "/mnt/a") == ("dumpe2fs", "-h", "/dev/x")
