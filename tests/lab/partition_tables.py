"""Partition tables as bytes, whole and damaged, for :mod:`tests.lab.shapes`."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Sequence

SECTOR = 512

# Offset in bytes, and what stands there.
Patches = Sequence[tuple[int, bytes]]
_DISK_GUID = uuid.UUID("5f3c7a10-9a0e-4d55-8f0b-0f2f6f9f2a01").bytes


def _mbr_entry(kind: int, start: int, sectors: int) -> bytes:
    return bytes([0, 0, 2, 0, kind, 0xFE, 0xFF, 0xFF]) + struct.pack("<II", start, sectors)


def _mbr_sector(*entries: bytes) -> bytes:
    return bytes(440) + b"\x12\x34\x56\x78\0\0" + b"".join(entries).ljust(64, b"\0") + b"\x55\xaa"


def mbr(size: int, _label: str) -> Patches:
    return [(0, _mbr_sector(_mbr_entry(0x83, 2048, size // SECTOR - 4096)))]


def mbr_empty(_size: int, _label: str) -> Patches:
    """A table without a partition in it (``fdisk`` and ``o``)."""
    return [(0, _mbr_sector())]


def protective(size: int, _label: str) -> Patches:
    return [(0, _mbr_sector(_mbr_entry(0xEE, 1, size // SECTOR - 1)))]


def _gpt_halves(size: int, partition: bool = True) -> tuple[Patches, Patches]:
    """Primary and backup: header and entries (UEFI specification, 5.3)."""
    last = size // SECTOR - 1
    entries = bytearray(128 * 128)
    if partition:
        linux = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4").bytes_le
        struct.pack_into("<16s16sQQQ", entries, 0, linux, _DISK_GUID, 2048, last - 2048, 0)
        entries[56 : 56 + 8] = "data".encode("utf-16-le")
    sum_of_entries = zlib.crc32(entries)

    def header(mine: int, other: int, table: int) -> bytes:
        head = bytearray(
            struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, 0, 0, mine, other, 34,
                        last - 33, _DISK_GUID, table, 128, 128, sum_of_entries)
        )  # fmt: skip
        struct.pack_into("<I", head, 16, zlib.crc32(head))
        return bytes(head.ljust(SECTOR, b"\0"))

    primary = [(SECTOR, header(1, last, 2)), (2 * SECTOR, bytes(entries))]
    backup = [((last - 32) * SECTOR, bytes(entries)), (last * SECTOR, header(last, 1, last - 32))]
    return primary, backup


def gpt(size: int, label: str) -> Patches:
    primary, backup = _gpt_halves(size)
    return [*protective(size, label), *primary, *backup]


def gpt_empty(size: int, label: str) -> Patches:
    primary, backup = _gpt_halves(size, partition=False)
    return [*protective(size, label), *primary, *backup]


def gpt_backup(size: int, _label: str) -> Patches:
    """What is left when the first megabyte was overwritten with zeroes."""
    return _gpt_halves(size)[1]


def gpt_primary(size: int, label: str) -> Patches:
    return [*protective(size, label), *_gpt_halves(size)[0]]


def gpt_bad_sum(size: int, label: str) -> Patches:
    """Both headers are there and neither checksum fits."""
    found = []
    for offset, data in gpt(size, label):
        found.append((offset, data.replace(b"EFI PART\0\0\1\0", b"EFI PART\0\0\1\1")))
    return found


def gpt_hybrid(size: int, _label: str) -> Patches:
    primary, backup = _gpt_halves(size)
    sector = _mbr_sector(_mbr_entry(0xEE, 1, 2047), _mbr_entry(0x83, 2048, size // SECTOR - 4096))
    return [(0, sector), *primary, *backup]
