"""What foreign software leaves on a disk, as bytes at offsets: ``write(path, shape, …)``.

Just enough of each format that a prober (libblkid 2.41) takes it for the real thing, checksums
included. Where the guest has the real tool and its product is small, the scenarios run that
instead; this is for formats whose tools the image does not carry, and for damage.

Sources: util-linux libblkid/src/superblocks/*.c and partitions/*.c for what is checked, and the
specifications named at each shape.
"""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Callable
from pathlib import Path

from tests.lab import partition_tables as tables
from tests.lab.partition_tables import SECTOR, Patches

KIB = 1024
MIB = 1024 * 1024
_UUID = uuid.UUID("5f3c7a10-9a0e-4d55-8f0b-0f2f6f9f2a01").bytes


def _crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli), as btrfs uses it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _crc64_we(data: bytes) -> int:
    """CRC-64/WE, as bcache uses it."""
    crc = 0xFFFFFFFFFFFFFFFF
    for byte in data:
        crc ^= byte << 56
        for _ in range(8):
            top = crc >> 63
            crc = (crc << 1) & 0xFFFFFFFFFFFFFFFF
            if top:
                crc ^= 0x42F0E1EBA9EA3693
    return crc ^ 0xFFFFFFFFFFFFFFFF


def _xfs(_size: int, label: str) -> Patches:
    """Superblock version 4 of four allocation groups of 4096 blocks (xfs_format.h)."""
    block = bytearray(512)
    struct.pack_into(">4sIQ", block, 0, b"XFSB", 4096, 16384)
    block[32:48] = _UUID
    struct.pack_into(">QQ", block, 48, 4 * 4096 + 4, 128)  # log start, root inode
    # rextsize, agblocks, agcount, rbmblocks, logblocks, version, sector, inode, inodes a block
    struct.pack_into(">IIIIIHHHH", block, 80, 1, 4096, 4, 0, 1368, 0xB4A4, 512, 512, 8)
    block[108:120] = label.encode()[:12].ljust(12, b"\0")
    # logarithms: block, sector, inode, inodes a block, AG blocks, rt extents; in progress; max %
    struct.pack_into(">8B", block, 120, 12, 9, 9, 3, 12, 0, 0, 25)
    return [(0, bytes(block))]


def _ext4(size: int, label: str) -> Patches:
    """Superblock with the features that make blkid say ext4 (ext4.h)."""
    block = bytearray(1024)
    struct.pack_into("<IIIII", block, 0, 1024, size // KIB, 0, 100, 100)
    struct.pack_into("<IIIII", block, 20, 1, 0, 0, 8192, 8192)
    struct.pack_into("<HH", block, 0x38, 0xEF53, 1)
    struct.pack_into("<I", block, 0x4C, 1)
    struct.pack_into("<III", block, 0x5C, 0x3C, 0x2C2 & ~0x80, 0x6B & ~0x2)
    block[0x68:0x78] = _UUID
    block[0x78:0x88] = label.encode()[:16].ljust(16, b"\0")
    return [(1024, bytes(block))]


def _btrfs(size: int, label: str) -> Patches:
    """Superblock at 64 KiB (btrfs on-disk format, struct btrfs_super_block)."""
    block = bytearray(4096)
    block[0x20:0x30] = _UUID
    struct.pack_into("<QQ8s", block, 0x30, 64 * KIB, 1, b"_BHRfS_M")
    struct.pack_into("<Q", block, 0x70, size)
    struct.pack_into("<Q", block, 0x88, 1)  # devices
    struct.pack_into("<II", block, 0x90, 4096, 16384)
    name = label.encode()[:255]
    block[0x12B : 0x12B + len(name)] = name
    struct.pack_into("<I", block, 0, _crc32c(bytes(block[32:])))
    return [(64 * KIB, bytes(block))]


def _xdr_pair(name: str, value: int | str) -> bytes:
    """A name and a value as nvlists are stored (RFC 4506; ZFS's nvpair.c)."""

    def text(content: str) -> bytes:
        raw = content.encode()
        return struct.pack(">I", len(raw)) + raw + bytes(-len(raw) % 4)

    if isinstance(value, int):
        body = text(name) + struct.pack(">IIQ", 8, 1, value)  # DATA_TYPE_UINT64
    else:
        body = text(name) + struct.pack(">II", 9, 1) + text(value)  # DATA_TYPE_STRING
    return struct.pack(">II", len(body) + 8, len(body) + 24) + body


def _zfs(size: int, label: str) -> Patches:
    """The four labels: name/value pairs and uberblocks (ZFS On-Disk Specification, 1.2-1.3)."""
    starts = [0, 256 * KIB, size // (256 * KIB) * 256 * KIB - 512 * KIB]
    starts.append(starts[2] + 256 * KIB)
    pairs: dict[str, int | str] = {
        "version": 5000,
        "name": label or "tank",
        "state": 0,
        "txg": 4,
        "pool_guid": 0x1122334455667788,
        "top_guid": 0x2233445566778899,
        "guid": 0x2233445566778899,
        "vdev_children": 1,
    }
    # XDR, little-endian host; version 0, unique names; ends with an empty pair.
    listed = b"\x01\x01\0\0" + struct.pack(">II", 0, 1)
    listed += b"".join(_xdr_pair(*pair) for pair in pairs.items()) + bytes(8)
    uberblock = struct.pack("<QQQQQ", 0x00BAB10C, 5000, 4, 99, 1_700_000_000).ljust(KIB, b"\0")
    found = []
    for start in starts:
        found += [(start + 16 * KIB, listed), (start + 128 * KIB, uberblock * 8)]
    return found


def _luks1(_size: int, _label: str) -> Patches:
    """Header of LUKS1 (LUKS On-Disk Format Specification 1.2.3)."""
    header = struct.pack(">6sH32s32s32sII", b"LUKS\xba\xbe", 1, b"aes", b"xts-plain64", b"sha256",
                         4096, 64)  # fmt: skip
    header = header.ljust(168, b"\0") + str(uuid.UUID(bytes=_UUID)).encode()
    return [(0, header.ljust(592, b"\0"))]


def _luks2(_size: int, label: str) -> Patches:
    """Both binary headers of LUKS2 (LUKS2 On-Disk Format Specification 1.1)."""
    found = []
    for offset, magic in ((0, b"LUKS\xba\xbe"), (16 * KIB, b"SKUL\xba\xbe")):
        header = struct.pack(
            ">6sHQQ48s32s64s40s48sQ", magic, 2, 16 * KIB, 3, label.encode(), b"sha256", b"salt",
            str(uuid.UUID(bytes=_UUID)).encode(), b"", offset,
        )  # fmt: skip
        found.append((offset, header.ljust(4096, b"\0")))
    return found


def _lvm_pv(size: int, _label: str) -> Patches:
    """LVM2 label in sector 1 (lvm2 lib/format_text/layout.h, lib/label/label.h)."""
    body = b"LVM2 001" + b"a" * 32 + struct.pack("<Q", size)
    body += struct.pack("<QQQQ", MIB, 0, 0, 0) + struct.pack("<QQQQ", 4096, MIB - 4096, 0, 0)
    sector = bytearray(struct.pack("<8sQII", b"LABELONE", 1, 0, 32) + body).ljust(512, b"\0")
    # crc of everything behind itself: CRC-32 with LVM's own start value and no final xor.
    struct.pack_into("<I", sector, 16, _lvm_crc(bytes(sector[20:])))
    return [(512, bytes(sector))]


def _lvm_crc(data: bytes) -> int:
    crc = 0xF597A6CF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0xEDB88320 if crc & 1 else 0)
    return crc


def _md_v1(offset: Callable[[int], int], minor: int) -> Callable[[int, str], Patches]:
    def write(size: int, label: str) -> Patches:
        """Superblock version 1 (linux/raid/md_p.h, struct mdp_superblock_1)."""
        at = offset(size)
        block = bytearray(512)
        struct.pack_into("<IIII", block, 0, 0xA92B4EFC, 1, 0, 0)
        block[16:32] = _UUID
        block[32:64] = (label or "db7:data").encode()[:32].ljust(32, b"\0")
        struct.pack_into("<QiIQII", block, 64, 0, 0, 0, 0, 512, 2)  # ctime level layout size chunk
        # data offset and size, super offset
        data = 0 if minor == 0 else 2048
        struct.pack_into("<QQQQI", block, 128, data, size // SECTOR - 2048, at // SECTOR, 0, 0)
        block[168:184] = _UUID[::-1]
        struct.pack_into("<I", block, 220, 2)  # as many roles as follow
        struct.pack_into("<HH", block, 256, 0, 1)
        total = sum(struct.unpack_from("<65I", block))
        struct.pack_into("<I", block, 216, (total & 0xFFFFFFFF) + (total >> 32) & 0xFFFFFFFF)
        return [(at, bytes(block))]

    return write


def _md_v0(size: int, _label: str) -> Patches:
    """Superblock version 0.90 (linux/raid/md_p.h, struct mdp_superblock_s)."""
    block = bytearray(4096)
    struct.pack_into("<IIIII", block, 0, 0xA92B4EFC, 0, 90, 0, 0)
    block[20:24] = _UUID[:4]
    struct.pack_into("<IIIIII", block, 24, 1_600_000_000, 0, size // KIB - 128, 2, 2, 0)
    block[52:64] = _UUID[4:16]
    return [(size // (64 * KIB) * 64 * KIB - 64 * KIB, bytes(block))]


def _swap(size: int, label: str) -> Patches:
    """mkswap's header (linux/swap.h, union swap_header)."""
    page = bytearray(4096)
    struct.pack_into("<III", page, 1024, 1, size // 4096 - 1, 0)
    page[1036:1052] = _UUID
    page[1052:1068] = label.encode()[:16].ljust(16, b"\0")
    page[4086:4096] = b"SWAPSPACE2"
    return [(0, bytes(page))]


def _bcache(_size: int, label: str) -> Patches:
    """Superblock of a backing device at 4 KiB (linux/drivers/md/bcache/bcache_ondisk.h)."""
    block = bytearray(4096)
    struct.pack_into("<QQ", block, 8, 8, 1)  # where it is in sectors, version: backing device
    block[24:40] = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
    block[40:56] = _UUID
    block[56:72] = _UUID[::-1]
    block[72:104] = label.encode()[:32].ljust(32, b"\0")
    # Start of the data and size of a block in sectors, of a bucket, caches in the set.
    struct.pack_into("<QHHHH", block, 184, 16, 1, 1024, 1, 0)
    # What is summed ends with the last journal bucket in use; there is none.
    struct.pack_into("<Q", block, 0, _crc64_we(bytes(block[8:208])))
    return [(4096, bytes(block))]


def _vmfs(_size: int, label: str) -> Patches:
    """The volume's header at 1 MiB and the filesystem's at 2 MiB (libblkid vmfs.c)."""
    volume = bytearray(1024)
    struct.pack_into("<II", volume, 0, 0xC001D00D, 4)
    volume[130 : 130 + 16] = _UUID
    system = bytearray(512)
    struct.pack_into("<IIB", system, 0, 0x2FABF15E, 5, 1)
    system[9:25] = _UUID
    system[29 : 29 + len(label)] = label.encode()
    return [(1 * MIB, bytes(volume)), (2 * MIB, bytes(system))]


def _iso9660(_size: int, label: str) -> Patches:
    """Primary volume descriptor and terminator (ECMA-119, 8.4)."""
    first = bytearray(2048)
    first[0:7] = b"\x01CD001\x01"
    first[8:40] = b"LINUX".ljust(32)
    first[40:72] = (label or "CDROM").upper().encode()[:32].ljust(32)
    struct.pack_into("<I", first, 80, 100)
    struct.pack_into("<H", first, 128, 2048)
    return [(32 * KIB, bytes(first)), (34 * KIB, b"\xffCD001\x01".ljust(2048, b"\0"))]


def _ntfs(size: int, label: str) -> Patches:
    """Boot sector and the MFT records 0 to 3; as Azure formats its resource disk."""
    boot = bytearray(512)
    boot[0:11] = b"\xebR\x90NTFS    "
    struct.pack_into("<HB", boot, 11, 512, 8)
    boot[21] = 0xF8
    struct.pack_into("<QQQ", boot, 40, size // SECTOR - 1, 4, 8)  # sectors, MFT, its mirror
    struct.pack_into("<b3xb3xQ", boot, 64, -10, 1, 0x1234567890ABCDEF)
    boot[510:512] = b"\x55\xaa"
    name = (label or "Temporary Storage").encode("utf-16-le")
    record = bytearray(KIB)
    record[0:4] = b"FILE"
    struct.pack_into("<HHHH", record, 4, 48, 3, 0, 0)
    struct.pack_into("<HHHHII", record, 16, 1, 1, 56, 1, 56 + 24 + len(name), KIB)
    # A resident attribute $VOLUME_NAME.
    struct.pack_into("<IIBBHHHIHH", record, 56, 0x60, 24 + (len(name) + 7) // 8 * 8, 0, 0, 24, 0, 1,
                     len(name), 24, 0)  # fmt: skip
    record[80 : 80 + len(name)] = name
    first = bytearray(KIB)
    first[0:4] = b"FILE"
    return [(0, bytes(boot)), (4 * 4096, bytes(first)), (4 * 4096 + 3 * KIB, bytes(record))]


def _vfat(size: int, label: str) -> Patches:
    """Boot sector of FAT16 (Microsoft FAT specification 1.03)."""
    boot = bytearray(512)
    boot[0:11] = b"\xeb<\x90mkfs.fat"
    struct.pack_into("<HBHBHHBHHHII", boot, 11, 512, 4, 4, 2, 512, 0, 0xF8, 200, 32, 2, 0,
                     size // SECTOR)  # fmt: skip
    boot[38] = 0x29
    boot[43:54] = (label or "NO NAME").upper().encode()[:11].ljust(11)
    boot[54:62] = b"FAT16   "
    boot[510:512] = b"\x55\xaa"
    return [(0, bytes(boot)), (2048, b"\xf8\xff\xff\xff")]


SHAPES: dict[str, Callable[[int, str], Patches]] = {
    "xfs": _xfs,
    "ext4": _ext4,
    "btrfs": _btrfs,
    "zfs": _zfs,
    "luks1": _luks1,
    "luks2": _luks2,
    "lvm-pv": _lvm_pv,
    "md-0.90": _md_v0,
    "md-1.0": _md_v1(lambda size: (size // SECTOR - 16) // 8 * 8 * SECTOR, 0),
    "md-1.1": _md_v1(lambda _size: 0, 1),
    "md-1.2": _md_v1(lambda _size: 4096, 2),
    "swap": _swap,
    "bcache": _bcache,
    "vmfs": _vmfs,
    "iso9660": _iso9660,
    "ntfs": _ntfs,
    "vfat": _vfat,
    "mbr": tables.mbr,
    "mbr-empty": tables.mbr_empty,
    "protective-mbr": tables.protective,
    "gpt": tables.gpt,
    "gpt-empty": tables.gpt_empty,
    "gpt-backup-only": tables.gpt_backup,
    "gpt-primary-only": tables.gpt_primary,
    "gpt-bad-sum": tables.gpt_bad_sum,
    "gpt-hybrid": tables.gpt_hybrid,
}


def write(path: Path, shape: str, size_bytes: int, label: str = "") -> None:
    """Write ``shape`` on the disk or file ``path`` and have it stored before returning."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        for offset, data in SHAPES[shape](size_bytes, label):
            os.pwrite(descriptor, data, offset)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
