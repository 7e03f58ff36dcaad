"""One-second samples made smaller: means over ten seconds. Pure.

A sample stands for one second (the sampler works at 1 Hz). Windows begin at whole multiples
of their length since the epoch, so that they add up to minutes
(:mod:`appliance.figures.sampling`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import attrgetter

from appliance.model.measurement import Slice
from appliance.model.runs import Mean, Sample

MEAN_SECONDS = 10
_NS = 1_000_000_000
# Of a sample and of a mean, in the order of their fields.
_rates = attrgetter(
    *("read_iops", "write_iops", "read_bytes_per_s", "write_bytes_per_s", "await_ms", "util")
)


def second(sample: Sample) -> Mean:
    """One sample as the mean of its own second."""
    return Mean(sample.at_ns // _NS, 1, sample.device, *_rates(sample))


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


def of_job(
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
        devices.setdefault(one.device, []).append([one.at, one.seconds, *_rates(one)])
    return zlib.compress(json.dumps(devices, separators=(",", ":")).encode())


def unpack(packed: bytes) -> tuple[Mean, ...]:
    """The reverse of :func:`pack`, in order of time and device."""
    found = [
        Mean(int(at), int(seconds), device, *(float(value) for value in rates))
        for device, points in json.loads(zlib.decompress(packed)).items()
        for at, seconds, *rates in points
    ]
    return tuple(sorted(found, key=lambda one: (one.at, one.device)))


# --------------------------------------------------------------------------------- one-minute sums


_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Minute:
    """What one device did in one minute of the wall clock, which began at ``at`` (seconds
    since the epoch, UTC). ``seconds`` is how much of the minute was seen.
    """

    at: int
    device: str
    seconds: int = 0
    read_ios: float = 0.0
    write_ios: float = 0.0
    read_bytes: float = 0.0
    write_bytes: float = 0.0

    def plus(self, point: Mean) -> Minute:
        """The minute with ``point`` counted in."""
        return Minute(
            self.at,
            self.device,
            self.seconds + point.seconds,
            self.read_ios + point.read_iops * point.seconds,
            self.write_ios + point.write_iops * point.seconds,
            self.read_bytes + point.read_bytes_per_s * point.seconds,
            self.write_bytes + point.write_bytes_per_s * point.seconds,
        )


def minute_to_json(minute: Minute) -> dict[str, str | int]:
    """The keys that outside programs read; I/Os and bytes are whole numbers."""
    return {
        "at": minute.at,
        "device": minute.device,
        "seconds": minute.seconds,
        "read_ios": round(minute.read_ios),
        "write_ios": round(minute.write_ios),
        "read_bytes": round(minute.read_bytes),
        "write_bytes": round(minute.write_bytes),
    }


def _minute_of(point: Mean) -> Minute:
    """The minute that ``point`` belongs to, without it."""
    return Minute(point.at // _MINUTE * _MINUTE, point.device)


def minute_sums(points: Iterable[Mean]) -> tuple[Minute, ...]:
    """The minute_sums over each minute, in order of time and device."""
    found: dict[tuple[int, str], Minute] = {}
    for point in points:
        before = _minute_of(point)
        key = (before.at, before.device)
        found[key] = found.get(key, before).plus(point)
    return tuple(found[key] for key in sorted(found))


class Minutes:
    """The same for one device as its seconds come in. ``last`` is the last one that has ended."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._present: Minute | None = None
        self.last: Minute | None = None

    def add(self, point: Mean) -> None:
        """Points of other devices are passed over."""
        if point.device != self._device:
            return
        present = _minute_of(point)
        if self._present is not None and self._present.at == present.at:
            present = self._present
        else:
            self.last = self._present
        self._present = present.plus(point)


# --------------------------------------------------------------------------------- slices of a job


# Enough to see a trend over the last five of them, and each long enough to be more than noise.
SLICES = 10
# fio starts its workers after we look and ends them before: what lies there is no full rate.
_EDGE_NS = 1_500_000_000


def slices_of(
    samples: Iterable[Sample],
    *,
    members: Collection[str],
    direction: str,
    began_ns: int,
    ended_ns: int,
) -> tuple[Slice, ...]:
    """At the most :data:`SLICES` slices of a job that ran from ``began_ns`` to ``ended_ns``
    (wall clock, ns since the epoch), all ``members`` together, in one direction.

    The first and last samples, in which fio starts and ends, are left out, and seconds of
    which a member's sample is missing. Empty if less than one whole second is left.
    """
    seconds: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.device in members and began_ns + _EDGE_NS <= sample.at_ns <= ended_ns - _EDGE_NS:
            seconds.setdefault(sample.at_ns, []).append(sample)
    whole = [seconds[at] for at in sorted(seconds) if len(seconds[at]) == len(members)]
    each = max(1, -(-len(whole) // SLICES))
    # What does not fill a slice is left out at the beginning: STEADY looks at the end.
    whole = whole[len(whole) % each :]
    return tuple(
        _one_slice(whole[at : at + each], read=direction == "read")
        for at in range(0, len(whole), each)
    )


def _one_slice(seconds: list[list[Sample]], *, read: bool) -> Slice:
    """The mean over ``seconds``, each with one sample a member."""
    iops = sum(s.read_iops if read else s.write_iops for second in seconds for s in second)
    rate = sum(
        s.read_bytes_per_s if read else s.write_bytes_per_s for second in seconds for s in second
    )
    return Slice(
        seconds=float(len(seconds)), iops=iops / len(seconds), bytes_per_s=rate / len(seconds)
    )
