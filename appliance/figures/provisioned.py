"""What disks count themselves, between two readings: exceeded limits, and latencies. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from appliance.model.measurement import DeviceLatency, Exceeded, Provisioned, Times

_WRAP = 1 << 32


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
    known = [one for one in passed if min(one) >= 0]
    return Provisioned(*map(max, zip(*known, strict=True))) if known else None


def _difference(before: Provisioned, after: Provisioned) -> list[int]:
    names = [field.name for field in fields(Provisioned)]
    return [getattr(after, name) - getattr(before, name) for name in names]


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
