"""One-second samples made smaller: means over ten seconds, sums over a minute. Pure.

A sample stands for one second (the sampler works at 1 Hz). Windows begin at whole multiples
of their length since the epoch, as the one-minute sums in a cloud's own metrics do, so that
ten-second means add up to minutes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from appliance.model import Sample

MEAN_SECONDS = 10
_MINUTE = 60
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean rates of one device over a window that begins at ``at`` (seconds since the epoch).

    ``seconds`` is how many samples are in it. ``await_ms`` is per I/O: each second's await
    counts by the I/Os that were completed in it.
    """

    at: int
    seconds: int
    device: str
    read_iops: float
    write_iops: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    await_ms: float
    util: float


@dataclass(frozen=True, slots=True)
class MinuteSum:
    """What one device did in the minute that begins at ``at``, as a cloud's metrics show it."""

    at: int
    device: str
    read_ios: int
    write_ios: int
    read_bytes: int
    write_bytes: int


def second(sample: Sample) -> Mean:
    """One sample as the mean of its own second."""
    return Mean(
        at=sample.at_ns // _NS,
        seconds=1,
        device=sample.device,
        read_iops=sample.read_iops,
        write_iops=sample.write_iops,
        read_bytes_per_s=sample.read_bytes_per_s,
        write_bytes_per_s=sample.write_bytes_per_s,
        await_ms=sample.await_ms,
        util=sample.util,
    )


def means(samples: Iterable[Sample]) -> tuple[Mean, ...]:
    """Means over :data:`MEAN_SECONDS`, in order of time and device."""
    windows: dict[tuple[int, str], list[Sample]] = {}
    for sample in samples:
        at = sample.at_ns // _NS // MEAN_SECONDS * MEAN_SECONDS
        windows.setdefault((at, sample.device), []).append(sample)
    return tuple(_mean(at, device, windows[at, device]) for at, device in sorted(windows))


def _mean(at: int, device: str, samples: list[Sample]) -> Mean:
    count = len(samples)
    ios = sum(one.read_iops + one.write_iops for one in samples)
    waited = sum(one.await_ms * (one.read_iops + one.write_iops) for one in samples)
    return Mean(
        at=at,
        seconds=count,
        device=device,
        # A third decimal is beyond what one second can tell, and takes half of the room.
        read_iops=round(sum(one.read_iops for one in samples) / count, 2),
        write_iops=round(sum(one.write_iops for one in samples) / count, 2),
        read_bytes_per_s=round(sum(one.read_bytes_per_s for one in samples) / count),
        write_bytes_per_s=round(sum(one.write_bytes_per_s for one in samples) / count),
        await_ms=round(waited / ios, 4) if ios else 0.0,
        util=round(sum(one.util for one in samples) / count, 4),
    )


def minute_sums(points: Iterable[Mean]) -> tuple[MinuteSum, ...]:
    """The sums over each minute, in order of time and device."""
    minutes: dict[tuple[int, str], list[Mean]] = {}
    for point in points:
        minutes.setdefault((point.at // _MINUTE * _MINUTE, point.device), []).append(point)
    return tuple(
        MinuteSum(
            at=at,
            device=device,
            read_ios=round(sum(one.read_iops * one.seconds for one in minutes[at, device])),
            write_ios=round(sum(one.write_iops * one.seconds for one in minutes[at, device])),
            read_bytes=round(
                sum(one.read_bytes_per_s * one.seconds for one in minutes[at, device])
            ),
            write_bytes=round(
                sum(one.write_bytes_per_s * one.seconds for one in minutes[at, device])
            ),
        )
        for at, device in sorted(minutes)
    )


def rates(
    points: Iterable[Mean], *, device: str, direction: str, ended_at: float, seconds: float
) -> tuple[float, ...]:
    """Bytes a second of each second that lies wholly in a job that ended at ``ended_at``.

    A sample was taken within the second ``at`` and is over the second before that moment.
    Empty where the seconds have become longer means since.
    """
    began_at = ended_at - seconds
    return tuple(
        one.read_bytes_per_s if direction == "read" else one.write_bytes_per_s
        for one in points
        if one.device == device and one.seconds == 1 and began_at + 1 <= one.at <= ended_at - 1
    )


def pack(points: Iterable[Mean]) -> bytes:
    """Zlib-compressed JSON: device -> ``[[at, seconds, read_iops, …, util], …]``."""
    devices: dict[str, list[list[float]]] = {}
    for one in points:
        devices.setdefault(one.device, []).append(
            [
                one.at,
                one.seconds,
                one.read_iops,
                one.write_iops,
                one.read_bytes_per_s,
                one.write_bytes_per_s,
                one.await_ms,
                one.util,
            ]
        )
    return zlib.compress(json.dumps(devices, separators=(",", ":")).encode())


def unpack(packed: bytes) -> tuple[Mean, ...]:
    """The reverse of :func:`pack`, in order of time and device."""
    found = [
        Mean(int(at), int(seconds), device, *(float(value) for value in rates))
        for device, points in json.loads(zlib.decompress(packed)).items()
        for at, seconds, *rates in points
    ]
    return tuple(sorted(found, key=lambda one: (one.at, one.device)))
