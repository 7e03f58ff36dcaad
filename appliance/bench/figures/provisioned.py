"""The counters of EC2's disks that say how long a provisioned limit was exceeded. Pure.

NVMe log page 0xD0, little-endian, as nvme-cli (plugins/amzn/amzn-nvme.c) and amazon-ec2-utils
(ebsnvme) publish it: magic, version, then 64-bit counters that only grow, times in µs. EBS
volumes and local disks have different magic numbers, and a local disk keeps its own limits
where an EBS volume keeps the machine's.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from appliance.model import Provisioned

LOG_PAGE_ID = 0xD0
PAGE_BYTES = 4096

_MAGIC_EBS = 0x3C23B510
_MAGIC_LOCAL = 0xEC2C0D7E
_MAGIC_OFFSET = 0
# exceeded µs: the volume's IOPS and throughput, then the machine's (or the local disk's).
_EXCEEDED_OFFSET = 56
_MIN_BYTES = _EXCEEDED_OFFSET + 4 * 8


@dataclass(frozen=True, slots=True)
class Exceeded:
    """One reading of one disk: µs since the disk was attached, which only grow."""

    magic: int
    limits: Provisioned


def decode(page: bytes) -> Exceeded | None:
    """The counters in a log page, ``None`` if it is too short or another vendor's page."""
    if len(page) < _MIN_BYTES:
        return None
    (magic,) = struct.unpack_from("<I", page, _MAGIC_OFFSET)
    first, second, third, fourth = struct.unpack_from("<4Q", page, _EXCEEDED_OFFSET)
    if magic == _MAGIC_EBS:
        return Exceeded(magic, Provisioned(first, second, third, fourth))
    if magic == _MAGIC_LOCAL:
        return Exceeded(magic, Provisioned(third, fourth))
    return None


def since(before: Mapping[str, Exceeded], after: Mapping[str, Exceeded]) -> Provisioned | None:
    """What was exceeded between two readings of the same disks, by disk name.

    Of several disks the longest: they wait at the same time. ``None`` if no disk was read
    twice. A disk whose counters went back is another one, or was attached anew.
    """
    passed = [
        _difference(before[disk].limits, now.limits)
        for disk, now in after.items()
        if disk in before and before[disk].magic == now.magic
    ]
    known = [one for one in passed if one is not None]
    if not known:
        return None
    return Provisioned(
        volume_iops_us=max(one.volume_iops_us for one in known),
        volume_throughput_us=max(one.volume_throughput_us for one in known),
        instance_iops_us=max(one.instance_iops_us for one in known),
        instance_throughput_us=max(one.instance_throughput_us for one in known),
    )


def _difference(before: Provisioned, after: Provisioned) -> Provisioned | None:
    passed = Provisioned(
        volume_iops_us=after.volume_iops_us - before.volume_iops_us,
        volume_throughput_us=after.volume_throughput_us - before.volume_throughput_us,
        instance_iops_us=after.instance_iops_us - before.instance_iops_us,
        instance_throughput_us=after.instance_throughput_us - before.instance_throughput_us,
    )
    went_back = min(
        passed.volume_iops_us,
        passed.volume_throughput_us,
        passed.instance_iops_us,
        passed.instance_throughput_us,
    )
    return passed if went_back >= 0 else None
