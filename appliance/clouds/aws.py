"""EC2: the machine, its disks, what is published for them, and their own counters. Pure."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from appliance.clouds.provider import (
    Attached,
    Dmi,
    LogPage,
    Metadata,
    NetworkLimits,
    Provider,
    page_text,
    plain_name,
)
from appliance.data import DiskRule, csv_rows, instance_type
from appliance.model.disks import DiskKind

if TYPE_CHECKING:
    from appliance.model.measurement import Exceeded, Times

_EPHEMERAL = re.compile(r"ephemeral([0-9]{1,2})", re.ASCII)
_DEVICE = re.compile(r"(?:/dev/)?(?:sd|xvd)([a-z]{1,2})", re.ASCII)
# Identify Controller, bytes 3072 and on (amazon-ec2-utils, ebsnvme-id: 32 bytes of name).
_NAME = slice(3072, 3072 + 32)
_VENDOR_ID = 0x1D0F
_PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class _EbsLimits:
    instance_type: str
    baseline_iops: int
    max_iops: int
    baseline_mbit_s: int
    max_mbit_s: int
    source: str


@cache
def ebs_limits() -> dict[str, NetworkLimits]:
    """What a machine may do on all its EBS volumes, by machine type."""
    return {
        row.instance_type: NetworkLimits(
            row.baseline_iops,
            row.max_iops,
            row.baseline_mbit_s * 125_000,
            row.max_mbit_s * 125_000,
            row.source,
        )
        for row in csv_rows("aws_ebs_limits.csv", _EbsLimits)
    }


# -------------------------------------------------------------------------- the machine


def _is_here(dmi: Dmi) -> bool:
    """Older hosts call themselves ``Xen`` and are told by ``4.11.amazon``."""
    return dmi.vendor == "Amazon EC2" or dmi.product_version.endswith(".amazon")


def _told_type(dmi: Dmi, told: Metadata) -> object:
    return None if dmi.vendor == "Amazon EC2" else told.get("instance-type")


def ephemeral_names(machine_type: str, told: Metadata) -> tuple[str, ...]:
    """The kernel names of pre-Nitro instance storage, in the order of their numbers.

    The block-device-mapping says ``ephemeral0: sdb``; the kernel calls that ``xvdb``. It is what
    the image asked for, also on a type that has no such disk (a t2 shows two), where an EBS
    volume can have that name; so only as many count as the type is sold with.
    """
    mapping = told.get("block-device-mapping")
    sold = instance_type(machine_type)
    if sold is None or sold.transport != "xen" or not isinstance(mapping, dict):
        return ()
    found = {}
    for key, value in mapping.items():
        number = _EPHEMERAL.fullmatch(str(key))
        device = _DEVICE.fullmatch(value) if isinstance(value, str) else None
        if number and device and int(number.group(1)) < (sold.disk_count or 0):
            found[int(number.group(1))] = f"xvd{device.group(1)}"
    return tuple(found[number] for number in sorted(found))


# -------------------------------------------------------------------------------- disks


def controller_name(page: bytes) -> str:
    """``sdf`` or ``xvdf`` from the Identify Controller page of an EBS volume."""
    if len(page) < _PAGE_BYTES or struct.unpack_from("<H", page)[0] != _VENDOR_ID:
        return ""
    return plain_name(page_text(page[_NAME]).strip(" ").removeprefix("/dev/"))


def _disk_name(disk: Attached) -> str:
    return controller_name(disk.controller_page())


def _describe(rule: DiskRule, serial: str) -> str:
    # The NVMe serial is the volume id without its dash (amazon-ec2-utils, ebsnvme).
    if rule.kind is DiskKind.NETWORK and serial.startswith("vol"):
        return f"EBS volume vol-{serial.removeprefix('vol').lstrip('-')}"
    return ""


# --------------------------------------------------------------- the disks' own counters

# NVMe log page 0xD0, little-endian, as nvme-cli (plugins/amzn/amzn-nvme.c) and amazon-ec2-utils
# (ebsnvme) publish it: magic, version, 64-bit counters that only grow (times in µs), one
# histogram for reads and one for writes. EBS volumes and local disks have different magic numbers,
# and a local disk keeps its own limits where an EBS volume keeps the machine's. With version 1 a
# local disk has a second half: the same histograms by the size of the I/O.
_LOG_PAGE_ID = 0xD0
_LONG_PAGE_BYTES = 8192
_MAGIC_EBS = 0x3C23B510
_MAGIC_LOCAL = 0xEC2C0D7E
_VERSION_BY_SIZE = 1
_DIRECTIONS = ("read", "write")
# I/Os, bytes and µs, each of reads and then of writes.
_TOTALS = struct.Struct("<6Q")
_TOTALS_OFFSET = 8
# exceeded µs: the volume's IOPS and throughput, then the machine's (or the local disk's).
_EXCEEDED_OFFSET = 56
_MIN_BYTES = _EXCEEDED_OFFSET + 4 * 8
# The number of bins, then 64 of them: least µs, most µs, I/Os (32 bits), reserved.
_HISTOGRAM_OFFSETS = {"read": 512, "write": 512 + 8 + 64 * 24}
_BIN = struct.Struct("<QQII")
_MOST_BINS = 64
_SIZES_OFFSET = 3600
_MOST_SIZES = 8
# By size: counts (64 bits) of reads and of writes, in the bins of the histogram above.
_COUNTS_OFFSET = 4096
_MOST_COUNTS = 32


def decode(page: bytes) -> Exceeded | None:
    """The counters in a log page, ``None`` if it is too short or another vendor's page."""
    from appliance.model.measurement import Exceeded, Provisioned

    if len(page) < _MIN_BYTES:
        return None
    magic, version = struct.unpack_from("<II", page)
    first, second, third, fourth = struct.unpack_from("<4Q", page, _EXCEEDED_OFFSET)
    if magic == _MAGIC_EBS:
        return Exceeded(magic, Provisioned(first, second, third, fourth), _times(page, 0))
    if magic == _MAGIC_LOCAL:
        return Exceeded(magic, Provisioned(third, fourth), _times(page, version))
    return None


def _times(page: bytes, version: int) -> dict[str, Times]:
    from appliance.model.measurement import Times

    if len(page) < _PAGE_BYTES:
        return {}
    totals = _TOTALS.unpack_from(page, _TOTALS_OFFSET)
    found = {}
    for at, direction in enumerate(_DIRECTIONS):
        bins = _bins(page, _HISTOGRAM_OFFSETS[direction])
        sizes = _by_size(page, at, len(bins)) if version == _VERSION_BY_SIZE else ()
        found[direction] = Times(totals[at], totals[4 + at], bins, sizes)
    return found


def _bins(page: bytes, offset: int) -> tuple[tuple[int, int, int], ...]:
    (count,) = struct.unpack_from("<Q", page, offset)
    rows = _BIN.iter_unpack(page[offset + 8 : offset + 8 + min(count, _MOST_BINS) * _BIN.size])
    return tuple((least, most, ios) for least, most, ios, _ in rows)


def _by_size(page: bytes, at: int, bins: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    if len(page) < _LONG_PAGE_BYTES:
        return ()
    sizes_count, *sizes = struct.unpack_from(f"<I{_MOST_SIZES}I", page, _SIZES_OFFSET)
    found = []
    for number, size_bytes in enumerate(sizes[: min(sizes_count, _MOST_SIZES)]):
        offset = _COUNTS_OFFSET + (2 * number + at) * _MOST_COUNTS * 8
        counts = struct.unpack_from(f"<{_MOST_COUNTS}Q", page, offset)
        found.append((size_bytes, counts[: min(bins, _MOST_COUNTS)]))
    return tuple(found)


PROVIDER = Provider(
    name="aws",
    datasource="Ec2",
    is_here=_is_here,
    disk_name=_disk_name,
    machine_type_pattern=(
        r"(?:[a-z]{1,3}\d{1,2}[a-z]{0,4}(?:-[a-z0-9]{2,8})?|u-\d{1,2}tb\d)\."
        r"(?:nano|micro|small|medium|large|\d{0,3}xlarge|metal(?:-\d{1,3}xl)?)"
    ),
    is_type=lambda name: name in ebs_limits(),
    network=lambda machine_type: ebs_limits().get(machine_type),
    told_type=_told_type,
    told_disks=ephemeral_names,
    told_disk="EC2 instance store (by the block device mapping)",
    describe=_describe,
    log_page=LogPage(
        _LOG_PAGE_ID,
        lambda kind: (
            (_LONG_PAGE_BYTES, _PAGE_BYTES) if kind is DiskKind.INSTANCE_STORE else (_PAGE_BYTES,)
        ),
        decode,
    ),
)
