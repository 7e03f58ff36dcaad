"""What the devices did in each of the last seconds, kept small; pure.

A second of a stripe of 64 members is one array of 195 floats: five minutes are a quarter of a
megabyte, and each snapshot has them all for the price of the references.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from tui.snapshot import LiveDevice


class Figure(IntEnum):
    """What is kept of a device, by its place; reads and writes together."""

    BYTES_PER_S = 0
    IOPS = 1
    AWAIT_MS = 2


_FIGURES = len(Figure)


@dataclass(frozen=True, slots=True)
class Followed:
    """A device that is followed; as in :class:`LiveDevice`."""

    label: str
    device: str
    member: bool


# Compared by identity: each is made once, and what is worked out of it is remembered by that.
@dataclass(frozen=True, slots=True, eq=False)
class Second:
    """Figures of all devices at one moment ``at`` of the feed's clock.

    ``figures`` has :class:`Figure` after :class:`Figure` for each of ``devices``, in their
    order; NaN where there is none (an idle disk has no await).
    """

    at: float
    devices: tuple[Followed, ...]
    figures: array[float]


def second_of(live: Sequence[LiveDevice], at: float, before: Second | None) -> Second:
    """The second that ends with ``live``; its list of devices is that of ``before`` if it can."""
    devices = tuple(Followed(one.label, one.device, one.member) for one in live)
    if before is not None and before.devices == devices:
        devices = before.devices
    return Second(at, devices, array("f", _figures(live)))


def _figures(live: Sequence[LiveDevice]) -> Iterable[float]:
    for one in live:
        sample = one.sample
        if sample is None:
            yield from [math.nan] * _FIGURES
            continue
        iops = sample.read_iops + sample.write_iops
        yield sample.read_bytes_per_s + sample.write_bytes_per_s
        yield iops
        yield sample.await_ms if iops else math.nan


@dataclass(frozen=True, slots=True)
class Spread:
    """How far members are apart in one second; ``None`` where nothing is known of any."""

    least: float | None = None
    median: float | None = None
    most: float | None = None


def group(devices: tuple[Followed, ...], volume: Followed) -> tuple[Followed, ...]:
    """``volume`` and the members below it; nothing if it is not one of ``devices``."""
    if volume not in devices:
        return ()
    begin = devices.index(volume)
    end = begin + 1
    while end < len(devices) and devices[end].member:
        end += 1
    return devices[begin:end]


# A screen draws every second, and of five minutes one second is new.
@lru_cache(maxsize=1024)
def spread(second: Second, volume: Followed, figure: Figure) -> Spread:
    """Of the ``figure`` of all members of ``volume``."""
    members = len(group(second.devices, volume)) - 1
    if members < 1:
        return Spread()
    begin = _FIGURES * (second.devices.index(volume) + 1) + figure
    values = second.figures[begin : begin + _FIGURES * members : _FIGURES]
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return Spread()
    # Not by the module statistics: this one is loaded before the first paint.
    middle = (known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
    return Spread(known[0], middle, known[-1])


def points(
    seconds: Iterable[Second], device: Followed, figure: Figure
) -> list[tuple[float, float | None]]:
    """(time, figure) of ``device``, ascending; ``None`` where it is not known."""
    found: list[tuple[float, float | None]] = []
    known: tuple[Followed, ...] = ()
    place: int | None = None
    for second in seconds:
        if second.devices is not known:
            known = second.devices
            place = known.index(device) if device in known else None
        value = math.nan if place is None else second.figures[_FIGURES * place + figure]
        found.append((second.at, None if math.isnan(value) else value))
    return found
