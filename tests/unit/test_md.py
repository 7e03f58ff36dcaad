from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.storage import md

_DATA = Path(__file__).parent / "data/storage"


def _superblock() -> bytes:
    return (_DATA / "md-superblock-1.2.bin").read_bytes()


def test_create_argv() -> None:
    assert md.create_argv("scratch", 262144, ["/dev/a", "/dev/b"]) == (
        "mdadm", "--create", "/dev/md/scratch", "--metadata=1.2", "--homehost=stripewright",
        "--name=scratch", "--level=0", "--chunk=256K", "--raid-devices=2", "/dev/a", "/dev/b",
    )  # fmt: skip
    # mdadm asks before it writes over a superblock, and only there it is told not to.
    assert md.create_argv("scratch", 262144, ["/dev/a"], over_members=True)[3] == "--run"


def test_assemble_argv_is_by_uuid_and_never_forced() -> None:
    argv = md.assemble_argv("scratch", "1:2:3:4", ["/dev/a", "/dev/b"])
    assert argv == (
        "mdadm", "--assemble", "/dev/md/scratch", "--homehost=stripewright", "--uuid=1:2:3:4",
        "/dev/a", "/dev/b",
    )  # fmt: skip


def test_a_recorded_superblock() -> None:
    """Slot 0 of four, made by mdadm 4.4; fields as ``mdadm --examine`` prints them."""
    found = md.parse_superblock(_superblock())
    assert found is not None
    assert found.array_name == "stripewright:scratch"
    assert found.array_uuid == "8f3aff54:cb72c56c:6d0a5fe1:cbc332e8"
    assert found.member_uuid == "695b56a0:de98eebc:489a97b0:8c67951b"
    assert (found.level, found.member_count, found.slot) == ("raid0", 4, 0)
    assert (found.chunk_bytes, found.data_offset_bytes) == (256 * 1024, 2048 * 512)


@pytest.mark.parametrize("offset", [0, 4, 16, 40, 72, 92, 128, 144, 160, 216, 256, 258])
def test_a_damaged_superblock_is_not_believed(offset: int) -> None:
    block = bytearray(_superblock())
    block[offset] ^= 0x01
    assert md.parse_superblock(bytes(block)) is None


def test_a_name_may_hold_any_byte() -> None:
    block = bytearray(_superblock())
    block[32:64] = b"x\nDevice Role : 9\xff\x1b[31m".ljust(32, b"\0")
    found = md.parse_superblock(_resummed(block))
    assert found is not None
    assert found.array_name == "x\nDevice Role : 9\\xff\x1b[31m"
    assert found.slot == 0
    assert md.volume_of(found.array_name) == ""


def test_a_spare_has_no_slot() -> None:
    block = bytearray(_superblock())
    struct.pack_into("<H", block, 256, 0xFFFF)
    found = md.parse_superblock(_resummed(block))
    assert found is not None
    assert found.slot is None


@given(st.binary(max_size=600))
def test_noise_is_no_superblock(noise: bytes) -> None:
    assert md.parse_superblock(noise) is None


@given(st.binary(min_size=256, max_size=256), st.integers(0, 255))
def test_noise_with_the_right_magic_never_raises(noise: bytes, at: int) -> None:
    block = bytearray(_superblock())
    block[at : at + 64] = noise[:64]
    md.parse_superblock(bytes(block))


def test_ours_is_the_homehost_and_a_name() -> None:
    assert md.volume_of("stripewright:scratch") == "scratch"
    assert md.volume_of("scratch") == ""
    assert md.volume_of("other:scratch") == ""


def test_detail_export_is_compared_field_by_field() -> None:
    facts = md.parse_export((_DATA / "mdadm-detail-export.txt").read_text())
    assert facts["MD_NAME"] == "stripewright:scratch"
    right = md.detail_differences(facts, name="stripewright:scratch", level="raid0", members=4)
    assert right == []
    wrong = md.detail_differences(facts, name="stripewright:data", level="raid10", members=3)
    assert wrong == [
        "MD_NAME is stripewright:scratch, not stripewright:data",
        "MD_LEVEL is raid0, not raid10",
        "MD_DEVICES is 4, not 3",
    ]


def test_a_repeated_key_does_not_replace_the_first() -> None:
    assert md.parse_export("MD_NAME=a\nMD_NAME=b\nnoise\n") == {"MD_NAME": "a"}


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
