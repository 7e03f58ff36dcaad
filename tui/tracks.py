"""What the devices did in each of the last seconds, kept small, and which member is slow; pure.

A second of a stripe of 64 members is one array of 585 floats: five minutes are 0.7 megabytes,
and each snapshot has them all for the price of the references.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from tui.snapshot import TREND_SECONDS, LiveDevice

# A member's await is that of so many seconds: one burst does not accuse it, and one that has
# become slow is named within a few seconds.
WAIT_SECONDS = 15.0
SLOW_FACTOR = 2.0
# With fewer seconds at work, or fewer I/Os in them, an await is chance.
_LEAST_SECONDS, _LEAST_IOS = 5, 100
# The kernel counts the time of reads and of writes in whole ms each: of 100 I/Os up to 20 µs at
# either side of a comparison, 40 µs in all. Less apart than this is no difference.
_LEAST_APART_MS = 0.05
# Of a second with I/O in flight throughout (its end may be a little off).
BUSY = 0.95
# A member that completes nothing for so long hangs.
_HUNG_SECONDS = 5.0


class Figure(IntEnum):
    """What is kept of a device, by its place; the first two are reads and writes together."""

    BYTES_PER_S = 0
    IOPS = 1
    AWAIT_MS = 2
    READ_BYTES_PER_S = 3
    WRITE_BYTES_PER_S = 4
    READ_IOPS = 5
    WRITE_IOPS = 6
    BUSY = 7
    OTHER_IOS = 8


_FIGURES = len(Figure)


@dataclass(frozen=True, slots=True)
class Followed:
    """A device that is followed; as in :class:`tui.snapshot.LiveDevice`."""

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
    """In the order of :class:`Figure`."""
    for one in live:
        sample = one.sample
        if sample is None:
            yield from [math.nan] * _FIGURES
            continue
        iops = sample.read_iops + sample.write_iops
        yield sample.read_bytes_per_s + sample.write_bytes_per_s
        yield iops
        yield sample.await_ms if iops else math.nan
        yield from (sample.read_bytes_per_s, sample.write_bytes_per_s)
        yield from (sample.read_iops, sample.write_iops, sample.util, one.other_ios)


@dataclass(frozen=True, slots=True)
class Spread:
    """How far members are apart in one second; ``None`` where nothing is known of any."""

    least: float | None = None
    median: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """How long I/O waits at ``member``: ``await_ms`` is the mean of all its I/Os in the last
    :data:`WAIT_SECONDS`, ``factor`` how many times the median of its siblings that is. Of one
    that has completed nothing for ``stalled_seconds`` it is that time, and the factor is infinite.
    """

    member: Followed
    await_ms: float
    factor: float
    is_slow: bool
    stalled_seconds: float = 0.0


def waits(seconds: Sequence[Second], volume: Followed) -> tuple[Wait, ...]:
    """The members of ``volume`` that can be compared, the slowest first; pure.

    The rule for a slow member: over the last 15 s its I/Os waited at least twice as long as the
    median of its siblings' did, and at least 50 µs longer, which is what the kernel's counters can
    tell apart (in ms, over 100 I/Os). A stripe spreads its I/O evenly, so members that are equally
    good wait equally long, however busy they are; the median of the *others* holds with two
    members, and while some others are slow, too. Of a member that did fewer than 100 I/Os, or was
    at work in fewer than 5 of the seconds, nothing is said: idle is not slow. One without a sibling
    at work is compared with nothing.

    A member is slow as well that had I/O in flight throughout the last 5 s or more and completed
    none, no discard or flush either; so is the one disk of a volume, and so are all at once.
    """
    if not seconds:
        return ()
    last = seconds[-1]
    both = group(last.devices, volume)
    members = both[1:] or both
    stalled = {one: for_s for one in members if (for_s := _stalled_seconds(seconds, one))}
    recent = [
        one
        for one in seconds[-math.ceil(WAIT_SECONDS) :]
        if one.devices is last.devices and one.at > last.at - WAIT_SECONDS
    ]
    awaits = {
        one: mean
        for one in members
        if one not in stalled and (mean := _mean_await(recent, one)) is not None
    }
    found = [Wait(one, 1000 * for_s, math.inf, True, for_s) for one, for_s in stalled.items()]
    if len(awaits) > 1:
        for member, await_ms in awaits.items():
            usual = _median(sorted(value for one, value in awaits.items() if one != member))
            factor = await_ms / usual if usual > 0 else 0.0
            slow = factor >= SLOW_FACTOR and await_ms - usual >= _LEAST_APART_MS
            found.append(Wait(member, await_ms, factor, slow))
    return tuple(sorted(found, key=lambda one: (-one.stalled_seconds, -one.await_ms)))


def _stalled_seconds(seconds: Sequence[Second], member: Followed) -> float:
    """For how long up to now it has had I/O in flight and completed none; 0 if not for long."""
    devices = seconds[-1].devices
    place = _FIGURES * devices.index(member)
    since = seconds[-1].at
    for second in reversed(seconds):
        # Of the earliest it is not known when it began.
        since = second.at
        if (
            second.devices is not devices
            or second.figures[place + Figure.IOPS]
            or second.figures[place + Figure.OTHER_IOS]
            or not second.figures[place + Figure.BUSY] >= BUSY
        ):
            break
    hung = seconds[-1].at - since
    return hung if hung >= _HUNG_SECONDS else 0.0


def _mean_await(seconds: Sequence[Second], member: Followed) -> float | None:
    """Of all I/Os in ``seconds``, ``None`` where they are too few; one second is as the other."""
    place = _FIGURES * seconds[-1].devices.index(member)
    ios = waited = 0.0
    at_work = 0
    for second in seconds:
        await_ms = second.figures[place + Figure.AWAIT_MS]
        if not math.isnan(await_ms):
            at_work += 1
            ios += second.figures[place + Figure.IOPS]
            waited += second.figures[place + Figure.IOPS] * await_ms
    return waited / ios if at_work >= _LEAST_SECONDS and ios >= _LEAST_IOS else None


def volumes(seconds: Sequence[Second]) -> tuple[Followed, ...]:
    """The volumes that have figures now."""
    return tuple(one for one in seconds[-1].devices if not one.member) if seconds else ()


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
    return Spread(known[0], _median(known), known[-1]) if known else Spread()


def _median(ascending: Sequence[float]) -> float:
    # Not by the module statistics: this one is loaded before the first paint.
    return (ascending[(len(ascending) - 1) // 2] + ascending[len(ascending) // 2]) / 2


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


def columns(
    seconds: Iterable[Second], device: Followed, figure: Figure, *, cells: int, now: float
) -> list[float | None]:
    """The last minutes of ``device`` in ``cells`` equal spans of time that end with ``now``: the
    mean of each, ``None`` where nothing is known. Spans stand still in time, so that what is
    drawn of them moves when a span ends and not every second.
    """
    span = TREND_SECONDS / cells
    begin = math.floor(now / span) - cells + 1
    sums, counts = [0.0] * cells, [0] * cells
    for at, value in points(seconds, device, figure):
        column = math.floor(at / span) - begin
        if value is not None and 0 <= column < cells:
            sums[column] += value
            counts[column] += 1
    return [total / number if number else None for total, number in zip(sums, counts, strict=True)]
