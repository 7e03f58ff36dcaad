"""One-second samples made smaller: means over ten seconds. Pure.

A sample stands for one second (the sampler works at 1 Hz). Windows begin at whole multiples
of their length since the epoch, so that they add up to minutes
(:mod:`appliance.figures.minutes`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable

from appliance.model import Mean, Sample

MEAN_SECONDS = 10
_NS = 1_000_000_000


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
