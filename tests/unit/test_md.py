from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.model.disks import MdMember
from appliance.model.plans import Volume
from appliance.storage.formats import md

_DATA = Path(__file__).parent / "data/storage"
_SCRATCH = Volume(name="scratch", mount="/mnt/scratch")


def _superblock(which: str = "1.2") -> bytes:
    return (_DATA / f"md-superblock-{which}.bin").read_bytes()


def _member(which: str) -> MdMember:
    found = md.parse_superblock(_superblock(which))
    assert found is not None
    return found


# -------------------------------------------------------------------------- command lines


def test_create_argv() -> None:
    assert md.create_argv(_SCRATCH, ["/dev/a", "/dev/b"]) == (
        "mdadm", "--create", "/dev/md/scratch", "--metadata=1.2", "--homehost=stripewright",
        "--name=scratch", "--level=0", "--chunk=256K", "--raid-devices=2", "/dev/a", "/dev/b",
    )  # fmt: skip
    # mdadm asks before it writes over a superblock, and only there it is told not to.
    assert md.create_argv(_SCRATCH, ["/dev/a"], force=True)[3] == "--run"
    assert "--uuid=00ff" in md.create_argv(_SCRATCH, ["/dev/a"], uuid="00ff")


@pytest.mark.parametrize(
    ("layout", "option", "read_back"),
    [("near2", "n2", "near=2"), ("far2", "f2", "far=2"), ("offset2", "o2", "offset=2")],
)
def test_raid10_has_its_layout_and_a_bitmap(layout: str, option: str, read_back: str) -> None:
    volume = Volume(name="l", mount="/mnt/l", stripe="md-raid10", raid10_layout=layout)
    argv = md.create_argv(volume, ["/dev/a", "/dev/b", "/dev/c"])
    assert argv[6:9] == ("--level=10", f"--layout={option}", "--bitmap=internal")
    assert md.layout_of(volume) == read_back
    assert (md.level_of(volume), md.level_of(_SCRATCH)) == ("raid10", "raid0")
    assert md.layout_of(_SCRATCH) == ""
    assert md.can_resize(read_back) == (layout != "far2")


def test_assemble_argv_is_by_uuid_and_never_forced() -> None:
    argv = md.assemble_argv("scratch", "1:2:3:4", ["/dev/a", "/dev/b"])
    assert argv == (
        "mdadm", "--assemble", "/dev/md/scratch", "--homehost=stripewright", "--uuid=1:2:3:4",
        "/dev/a", "/dev/b",
    )  # fmt: skip
    argv = md.assemble_argv("logs", "1:2:3:4", ["/dev/a"], degraded=True, update="devicesize")
    assert argv == (
        "mdadm", "--assemble", "/dev/md/logs", "--run", "--homehost=stripewright",
        "--uuid=1:2:3:4", "--update=devicesize", "/dev/a",
    )  # fmt: skip


def test_the_other_commands() -> None:
    assert md.stop_argv("/dev/md/x") == ("mdadm", "--stop", "/dev/md/x")
    assert md.add_argv("/dev/md/x", ["/dev/a"]) == (
        "mdadm", "--manage", "/dev/md/x", "--add", "/dev/a",
    )  # fmt: skip
    assert md.grow_size_argv("/dev/md/x") == ("mdadm", "--grow", "/dev/md/x", "--size=max")


# ---------------------------------------------------------------------- what it will have

MIB = 1024 * 1024


@pytest.mark.parametrize("which", ["near2", "far2"])
def test_the_data_begin_where_mdadm_let_them_begin(which: str) -> None:
    """The recorded members are of 200 MiB."""
    found = _member(which)
    assert found.chunk_bytes is not None
    offset = md.data_offset_bytes(200 * MIB, found.chunk_bytes)
    assert offset == found.data_offset_bytes
    assert 200 * MIB - offset == found.device_bytes


@pytest.mark.parametrize(
    ("disk_bytes", "chunk_kib", "offset_mib"),
    [
        (1024 * MIB, 256, 2),
        (1024 * MIB, 4096, 9),
        (100 * 1024 * MIB, 256, 65),
        # 264192 sectors, as mdadm --examine prints of every large disk.
        (1_900_000_000_000, 512, 129),
        (1_900_000_000_000, 4, 129),
    ],
)
def test_mdadm_leaves_room_by_the_size_of_the_disk(
    disk_bytes: int, chunk_kib: int, offset_mib: int
) -> None:
    assert md.data_offset_bytes(disk_bytes, chunk_kib * 1024) == offset_mib * MIB


@pytest.mark.parametrize(
    ("stripe", "layout", "chunks"),
    [
        ("md-raid0", "near2", 7 + 5 + 5),
        ("md-raid10", "near2", 5 * 3 // 2),
        ("md-raid10", "far2", 5 // 2 * 3),
        ("md-raid10", "offset2", 5 // 2 * 3),
    ],
)
def test_an_array_is_as_large_as_the_kernel_makes_it(stripe: str, layout: str, chunks: int) -> None:
    volume = Volume("a", "/mnt/a", 64 * 1024, stripe, raid10_layout=layout)
    areas = [7 * 64 * 1024 + 1, 5 * 64 * 1024, 6 * 64 * 1024 - 1]
    assert md.capacity_bytes(volume, areas) == chunks * 64 * 1024
    assert md.capacity_bytes(volume, [-1, -1]) == 0


# ----------------------------------------------------------------------------- superblocks


def test_a_recorded_superblock() -> None:
    """Slot 0 of four, made by mdadm 4.4; fields as ``mdadm --examine`` prints them."""
    found = _member("1.2")
    assert found.array_name == "stripewright:scratch"
    assert found.array_uuid == "8f3aff54:cb72c56c:6d0a5fe1:cbc332e8"
    assert found.member_uuid == "695b56a0:de98eebc:489a97b0:8c67951b"
    assert (found.level, found.member_count, found.slot) == ("raid0", 4, 0)
    assert (found.chunk_bytes, found.data_offset_bytes) == (256 * 1024, 2048 * 512)
    assert (found.layout, found.active_slots) == ("", (0, 1, 2, 3))
    assert not found.recovering
    assert not found.reshaping


@pytest.mark.parametrize(
    ("which", "layout", "events"), [("near2", "near=2", 8), ("far2", "far=2", 7)]
)
def test_a_recorded_raid10(which: str, layout: str, events: int) -> None:
    """Slot 1 of four, made in a guest with the uuid 0123456789abcdef0011223344556677."""
    found = _member(which)
    assert found.array_uuid == "01234567:89abcdef:00112233:44556677"
    assert (found.level, found.layout, found.slot) == ("raid10", layout, 1)
    assert (found.events, found.device_bytes) == (events, 407552 * 512)
    assert found.used_bytes is not None
    assert _member("offset2").layout == "offset=2"


def test_a_superblock_with_another_size() -> None:
    block = _superblock("near2")
    changed = md.with_used_bytes(block, 64 << 20)
    assert md.parse_superblock(changed) == replace(_member("near2"), used_bytes=64 << 20)
    # The field and the sum, and nothing else.
    assert {at // 8 * 8 for at in range(len(block)) if block[at] != changed[at]} == {80, 216}


def test_a_member_that_was_away_and_one_that_is_rebuilt() -> None:
    """Recorded: of four members one was left out, the rest written to; then it came back."""
    left, stale, rebuilt = _member("left"), _member("stale"), _member("recovering")
    assert (left.slot, left.active_slots) == (0, (0, 1, 2))
    assert (stale.slot, stale.active_slots) == (3, (0, 1, 2, 3))
    assert stale.events is not None
    assert left.events is not None
    assert stale.events < left.events
    assert (rebuilt.slot, rebuilt.recovering, stale.recovering) == (3, True, False)


def test_an_array_in_the_middle_of_a_reshape_says_so() -> None:
    block = bytearray(_superblock("near2"))
    block[8] |= 4
    found = md.parse_superblock(_resummed(block))
    assert found is not None
    assert found.reshaping


def test_only_raid10_has_a_layout_of_copies() -> None:
    block = bytearray(_superblock())
    struct.pack_into("<I", block, 76, 0x102)
    found = md.parse_superblock(_resummed(block))
    assert found is not None
    assert (found.level, found.layout) == ("raid0", "")


@pytest.mark.parametrize("offset", [0, 4, 16, 40, 72, 92, 128, 144, 160, 200, 216, 256, 258])
def test_a_damaged_superblock_is_not_believed(offset: int) -> None:
    block = bytearray(_superblock())
    block[offset] ^= 0x01
    assert md.parse_superblock(bytes(block)) is None


@pytest.mark.parametrize("sector", [0, 16])
def test_another_version_is_not_ours(sector: int) -> None:
    """1.1 is at the start of a disk and 1.0 at its end; both say where they belong."""
    block = bytearray(_superblock())
    struct.pack_into("<Q", block, 144, sector)
    assert md.parse_superblock(_resummed(block)) is None


def test_a_name_may_hold_any_byte() -> None:
    block = bytearray(_superblock())
    block[32:64] = b"x\nDevice Role : 9\xff\x1b[31m".ljust(32, b"\0")
    found = md.parse_superblock(_resummed(block))
    assert found is not None
    assert found.array_name == "x\nDevice Role : 9\\xff\x1b[31m"
    assert found.slot == 0
    assert md.volume_of(found.array_name) == ""


@pytest.mark.parametrize("role", [0xFFFF, 0xFFFE, 0xFFFD])
def test_spare_faulty_and_journal_have_no_slot(role: int) -> None:
    block = bytearray(_superblock())
    struct.pack_into("<H", block, 256, role)
    found = md.parse_superblock(_resummed(block))
    assert found is not None
    assert found.slot is None
    assert found.active_slots == (1, 2, 3)


@given(st.binary(max_size=600))
def test_noise_is_no_superblock(noise: bytes) -> None:
    assert md.parse_superblock(noise) is None


@given(st.binary(min_size=64, max_size=64), st.integers(0, 255), st.booleans())
def test_noise_with_the_right_magic_never_raises(noise: bytes, at: int, resum: bool) -> None:
    block = bytearray(_superblock())
    block[at : at + 64] = noise
    if resum:
        struct.pack_into("<I", block, 220, 384)
        md.parse_superblock(_resummed(block))
    md.parse_superblock(bytes(block))


@pytest.mark.parametrize(
    ("word", "name"),
    [
        (0x102, "near=2"),
        (0x201, "far=2"),
        (0x10201, "offset=2"),
        (0x202, "near=2, far=2"),
        # RAID0 has words of its own, and no layout is none.
        *((0, ""), (1, ""), (2, "")),
    ],
)
def test_layout_words(word: int, name: str) -> None:
    assert md.layout_name(word) == name


def test_ours_is_the_homehost_and_a_name() -> None:
    assert md.volume_of("stripewright:scratch") == "scratch"
    assert md.volume_of("scratch") == ""
    assert md.volume_of("other:scratch") == ""


def _resummed(block: bytearray) -> bytes:
    """The superblock with a right checksum again, summed here in another way than there."""
    (max_dev,) = struct.unpack_from("<I", block, 220)
    block[216:220] = bytes(4)
    used = bytes(block[: 256 + 2 * max_dev])
    total = 0
    for at in range(0, len(used), 4):
        total += int.from_bytes(used[at : at + 4], "little")
    struct.pack_into("<I", block, 216, (total % 2**32 + total // 2**32) % 2**32)
    return bytes(block)
