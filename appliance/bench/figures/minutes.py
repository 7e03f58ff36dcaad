"""One-minute sums, as a cloud's own metrics show them. Pure.

CloudWatch's VolumeReadOps and VolumeWriteBytes are sums over a minute of the wall clock; a
figure of ours can be laid beside theirs only if it is made in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

from appliance.model import Sample

_MINUTE_NS = 60 * 10**9
_SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class Minute:
    """What one device did in one minute of the wall clock, which began at ``at`` (seconds
    since the epoch, UTC). ``seconds`` is how much of the minute was seen.
    """

    at: int
    seconds: float = 0.0
    read_ios: float = 0.0
    write_ios: float = 0.0
    read_bytes: float = 0.0
    write_bytes: float = 0.0


class Minutes:
    """Adds up the samples of one device. ``last`` is the last minute that has ended."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._before_ns: int | None = None
        self._present: Minute | None = None
        self.last: Minute | None = None

    def add(self, sample: Sample) -> None:
        """Samples of other devices are passed over. A sample is over the time since the one
        before; the part of it that lies in the minute before is counted there.
        """
        if sample.device != self._device:
            return
        began_ns = self._before_ns if self._before_ns is not None else sample.at_ns - _SECOND_NS
        self._before_ns = sample.at_ns
        while began_ns < sample.at_ns:
            minute = began_ns // _MINUTE_NS
            ends_ns = min(sample.at_ns, (minute + 1) * _MINUTE_NS)
            self._count(int(minute) * 60, (ends_ns - began_ns) / 1e9, sample)
            began_ns = ends_ns

    def _count(self, at: int, seconds: float, sample: Sample) -> None:
        present = self._present
        if present is None or present.at != at:
            self.last, present = present, Minute(at)
        self._present = Minute(
            at,
            present.seconds + seconds,
            present.read_ios + sample.read_iops * seconds,
            present.write_ios + sample.write_iops * seconds,
            present.read_bytes + sample.read_bytes_per_s * seconds,
            present.write_bytes + sample.write_bytes_per_s * seconds,
        )
