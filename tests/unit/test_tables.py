"""What wipefs and blkid 2.38 said of each of these was tried; ``known`` is that."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.model.disks import Signature
from appliance.storage.formats import partition_tables

SIZE = 64 * 1024 * 1024
_EFI = b"EFI PART\0\0\1\0"


def head(*parts: tuple[int, bytes]) -> bytes:
    block = bytearray(8192)
    for at, data in parts:
        block[at : at + len(data)] = data
    return bytes(block)


def tail(at_from_end: int) -> bytes:
    block = bytearray(4096)
    block[4096 - at_from_end : 4096 - at_from_end + len(_EFI)] = _EFI
    return bytes(block)


def entry(kind: int, number: int = 0, *, start: int = 2048, flag: int = 0) -> tuple[int, bytes]:
    raw = struct.pack("<B3sB3sII", flag, b"\0\2\0", kind, b"\xff\xff\xff", start, 10_000)
    return 446 + 16 * number, raw


_BOOT = (510, b"\x55\xaa")
_NO_TAIL = bytes(4096)


@pytest.mark.parametrize(
    ("start", "end", "known", "found"),
    [
        # Neither prober reports these at all.
        (head((512, _EFI)), _NO_TAIL, (), [("damaged-gpt", 512)]),
        (head((4096, _EFI)), _NO_TAIL, (), [("damaged-gpt", 4096)]),
        (head(), tail(512), (), [("damaged-gpt", SIZE - 512)]),
        (head(), tail(4096), (), [("damaged-gpt", SIZE - 4096)]),
        (head(entry(0x83, flag=0x12), _BOOT), _NO_TAIL, (), [("damaged-dos", 446)]),
        # A protective MBR that protects a table for the other sector size.
        (
            head(entry(0xEE), _BOOT, (4096, _EFI)),
            _NO_TAIL,
            ("PMBR",),
            [("damaged-gpt", 4096)],
        ),
        # Reported as gpt only.
        (
            head(entry(0xEE), entry(0x83, 1), _BOOT, (512, _EFI)),
            _NO_TAIL,
            ("PMBR", "gpt"),
            [("hybrid", 446)],
        ),
        # Reported well enough, or nothing.
        (head(entry(0xEE), _BOOT, (512, _EFI)), _NO_TAIL, ("PMBR", "gpt"), []),
        (head(entry(0xEE), _BOOT), _NO_TAIL, ("PMBR",), []),
        (head(entry(0x83), _BOOT), _NO_TAIL, ("dos",), []),
        (head(entry(0x83)), _NO_TAIL, (), []),
        (head(entry(0x83, start=2**31), _BOOT), _NO_TAIL, (), []),
        # Boot sectors of filesystems have the same last two bytes, and files hold tables.
        (head(entry(0x83), _BOOT), tail(512), ("vfat",), []),
        (head(), tail(512), ("linux_raid_member",), []),
        (head(), _NO_TAIL, (), []),
    ],
)
def test_remains(
    start: bytes, end: bytes, known: tuple[str, ...], found: list[tuple[str, int]]
) -> None:
    seen = partition_tables.remains(start, end, SIZE, [Signature(kind) for kind in known])
    assert [(one.kind, one.offset_bytes) for one in seen] == found


@given(st.binary(max_size=9000), st.binary(max_size=5000), st.integers(0, 2**60))
def test_nothing_raises(start: bytes, end: bytes, size: int) -> None:
    partition_tables.remains(start, end, size, ())
