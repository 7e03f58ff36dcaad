"""One-minute sums, as a cloud's own metrics show them. Pure.

CloudWatch's VolumeReadOps and VolumeWriteBytes are sums over a minute of the wall clock; a
figure of ours can be laid beside theirs only if it is made in the same way. A second counts in
the minute in which it was sampled: what is told while a suite runs is then what its history
says later, where nothing finer than that second is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from appliance.model import Mean

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


def to_json(minute: Minute) -> dict[str, str | int]:
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


def empty(point: Mean) -> Minute:
    """The minute that ``point`` belongs to, without it."""
    return Minute(point.at // _MINUTE * _MINUTE, point.device)


def sums(points: Iterable[Mean]) -> tuple[Minute, ...]:
    """The sums over each minute, in order of time and device."""
    found: dict[tuple[int, str], Minute] = {}
    for point in points:
        before = empty(point)
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
        present = empty(point)
        if self._present is not None and self._present.at == present.at:
            present = self._present
        else:
            self.last = self._present
        self._present = present.plus(point)
