"""What EC2's disks count themselves: exceeded limits, and how long their I/Os took. Pure.

NVMe log page 0xD0, little-endian, as nvme-cli (plugins/amzn/amzn-nvme.c) and amazon-ec2-utils
(ebsnvme) publish it: magic, version, 64-bit counters that only grow (times in µs), one histogram
for reads and one for writes. EBS volumes and local disks have different magic numbers, and a local
disk keeps its own limits where an EBS volume keeps the machine's. With version 1 a local disk has a
second half: the same histograms by the size of the I/O.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from appliance.model import DeviceLatency, Provisioned

LOG_PAGE_ID = 0xD0
PAGE_BYTES = 4096
# What a local disk has.
LONG_PAGE_BYTES = 8192

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
_WRAP = 1 << 32


@dataclass(frozen=True, slots=True)
class Times:
    """I/Os of one direction since the disk was attached, as :class:`DeviceLatency` has them."""

    ios: int
    time_us: int
    bins: tuple[tuple[int, int, int], ...] = ()
    by_size: tuple[tuple[int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Exceeded:
    """One reading of one disk: µs since the disk was attached, which only grow; ``times`` by
    direction, empty where the page is too short for them.
    """

    magic: int
    limits: Provisioned
    times: Mapping[str, Times] = field(default_factory=dict)


def decode(page: bytes) -> Exceeded | None:
    """The counters in a log page, ``None`` if it is too short or another vendor's page."""
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
    if len(page) < PAGE_BYTES:
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
    if len(page) < LONG_PAGE_BYTES:
        return ()
    sizes_count, *sizes = struct.unpack_from(f"<I{_MOST_SIZES}I", page, _SIZES_OFFSET)
    found = []
    for number, size_bytes in enumerate(sizes[: min(sizes_count, _MOST_SIZES)]):
        offset = _COUNTS_OFFSET + (2 * number + at) * _MOST_COUNTS * 8
        counts = struct.unpack_from(f"<{_MOST_COUNTS}Q", page, offset)
        found.append((size_bytes, counts[: min(bins, _MOST_COUNTS)]))
    return tuple(found)


# ----------------------------------------------------------------------------- two readings


def since(before: Mapping[str, Exceeded], after: Mapping[str, Exceeded]) -> Provisioned | None:
    """What was exceeded between two readings of the same disks, by disk name.

    Of several disks the longest: they wait at the same time. ``None`` if no disk was read
    twice. A disk whose counters went back is another one, or was attached again.
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


def latencies_since(
    before: Mapping[str, Exceeded], after: Mapping[str, Exceeded], direction: str
) -> tuple[DeviceLatency, ...]:
    """What each disk did between two readings in ``direction``, in the order of ``after``; those
    that did nothing, were read once, or began to count again are left out.
    """
    found = []
    for disk, now in after.items():
        then = before.get(disk)
        if then is None or then.magic != now.magic or not then.times or not now.times:
            continue
        earlier, later = then.times.get(direction), now.times.get(direction)
        latency = _latency(disk, earlier, later) if earlier and later else None
        if latency is not None:
            found.append(latency)
    return tuple(found)


def _latency(disk: str, then: Times, now: Times) -> DeviceLatency | None:
    ios, time_us = now.ios - then.ios, now.time_us - then.time_us
    bounds = [(least, most) for least, most, _ in now.bins]
    if ios <= 0 or time_us < 0 or bounds != [(least, most) for least, most, _ in then.bins]:
        return None
    # These counters have 32 bits, and go round in an hour at a million I/Os a second.
    counts = [
        (later - earlier) % _WRAP
        for (_, _, later), (_, _, earlier) in zip(now.bins, then.bins, strict=True)
    ]
    by_size = []
    for (size_bytes, later_counts), (_, earlier_counts) in zip(
        now.by_size, then.by_size, strict=False
    ):
        passed = [b - a for a, b in zip(earlier_counts, later_counts, strict=False)]
        if min(passed, default=0) >= 0 and any(passed):
            by_size.append((size_bytes, _histogram(bounds, passed)))
    return DeviceLatency(disk, ios, time_us, _histogram(bounds, counts), tuple(by_size))


def _histogram(
    bounds: Iterable[tuple[int, int]], counts: Iterable[int]
) -> tuple[tuple[int, int, int], ...]:
    """Without the bins that have nothing."""
    rows = zip(bounds, counts, strict=False)
    return tuple((least, most, count) for (least, most), count in rows if count)


def in_words(latencies: Iterable[DeviceLatency]) -> str:
    """How long each disk itself took, without any queue of this machine; empty if none counts."""
    return ", ".join(
        f"{one.device} mean {one.mean_us:,.0f} µs, p99 at most {one.at_most_us(99.0):,} µs"
        for one in latencies
        if one.mean_us is not None and one.at_most_us(99.0) is not None
    )
