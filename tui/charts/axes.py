"""Axes: what range they cover, where their ticks are, and what is written there. Pure."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """What the values of an axis are; the last three are times."""

    NUMBER = "number"
    COUNT = "count"
    SIZE = "bytes"
    BANDWIDTH = "bytes/s"
    LATENCY = "ns"
    PERCENT = "per cent"
    AGO = "seconds, before the end of the axis"
    ELAPSED = "seconds, from zero"
    CALENDAR = "seconds since the epoch, shown in UTC"

    @property
    def is_time(self) -> bool:
        return self in {Unit.AGO, Unit.ELAPSED, Unit.CALENDAR}


_LEAST_TOP = {Unit.BANDWIDTH: 2.0**20, Unit.COUNT: 10.0, Unit.LATENCY: 1e6}
# Figures beyond this are no measurements, and their differences overflow.
_LARGEST, _LEAST = 1e30, 1e-12


@dataclass(frozen=True, slots=True)
class Axis:
    """What is asked of an axis. An end that is ``None`` is taken from the data.

    Ends from the data are made round where the axis shows values; where it shows times, the
    axis ends where the data end. ``zero`` lets the axis begin at zero, however far the
    data are from it; without it small changes are seen. ``log`` leaves out what is not above zero.
    """

    unit: Unit
    low: float | None = None
    high: float | None = None
    log: bool = False
    zero: bool = True


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis with its ends: ``low`` below ``high``, both above zero where it is ``log``."""

    unit: Unit
    low: float
    high: float
    log: bool
    ticks: tuple[Tick, ...] = ()

    def place(self, value: float) -> float:
        """Where ``value`` is: 0 at the low end, 1 at the high end, and beyond."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return -math.inf
        # Not of the ratio: that of the least numbers to a large one is zero.
        return (math.log(value) - math.log(self.low)) / math.log(self.high / self.low)


def value_scale(axis: Axis, values: Iterable[float], most: int) -> Scale:
    """The scale for ``values``, with about ``most`` ticks (at least two where there is room)."""
    known = [value for value in values if _is_usable(value) and (value > 0 or not axis.log)]
    if axis.log:
        return _log_scale(axis, known, most)
    low, high = min(known, default=0.0), max(known, default=0.0)
    if axis.zero:
        low, high = min(0.0, low), max(0.0, high)
    if low == high == 0.0:
        # An idle device needs no axis of single bytes.
        high = _LEAST_TOP.get(axis.unit, 0.0)
    low = axis.low if axis.low is not None and _is_usable(axis.low) else low
    high = axis.high if axis.high is not None and _is_usable(axis.high) else high
    low, high = _apart(low, high)
    step = _step((high - low) / max(1, most - 1), binary=_divisor(axis.unit, high, low))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    low = first * step if axis.low is None else low
    high = last * step if axis.high is None else high
    ticks = [at for at in (n * step for n in range(first, last + 1)) if low <= at <= high]
    return Scale(
        axis.unit,
        low,
        high,
        log=False,
        ticks=tuple(Tick(at, value_label(axis.unit, at, step, max(-low, high))) for at in ticks),
    )


def time_scale(axis: Axis, values: Iterable[float], room: int) -> Scale:
    """The scale for the times (or numbers) ``values`` with as many ticks as ``room`` cells hold."""
    known = [value for value in values if _is_usable(value)]
    low, high = axis.low, axis.high
    low = min(known, default=0.0) if low is None or not _is_usable(low) else low
    high = max(known, default=low + 1.0) if high is None or not _is_usable(high) else high
    low, high = _apart(low, high)
    return Scale(
        axis.unit, low, high, log=False, ticks=tuple(_time_ticks(axis.unit, low, high, room))
    )


_DECIMAL = ("", "k", "M", "G")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_NAMES: dict[Unit, tuple[str, ...]] = {
    Unit.LATENCY: ("ns", "µs", "ms", "s"),
    Unit.BANDWIDTH: _BINARY,
    Unit.SIZE: _BINARY,
    Unit.PERCENT: ("%",),
}


def value_label(unit: Unit, value: float, step: float, largest: float) -> str:
    """A tick's words: all ticks of an axis have the unit of the largest, and equal decimals."""
    if value == 0:
        return "0"
    names = _NAMES.get(unit, _DECIMAL)
    base = 1024.0 if names is _BINARY else 1000.0
    power = 0
    while largest >= base and power < len(names) - 1:
        largest, step, value, power = largest / base, step / base, value / base, power + 1
    decimals = max(0, min(9, math.ceil(-math.log10(step) - 1e-9))) if step > 0 else 0
    name = names[power] + ("/s" if unit is Unit.BANDWIDTH else "")
    gap = "" if names is _DECIMAL else " "
    return f"{value:.{decimals}f}{gap}{name}"


def _is_usable(value: float) -> bool:
    """Whether an axis can hold ``value``; it cannot hold what is not a number."""
    return abs(value) <= _LARGEST


def _apart(low: float, high: float) -> tuple[float, float]:
    """``low`` and ``high``, a little around them where they are (nearly) the same."""
    largest = max(abs(low), abs(high))
    if high - low > largest * 1e-9 and high - low > _LEAST:
        return low, high
    if largest < _LEAST:
        return 0.0, 1.0
    return low - largest * 0.01, low + largest * 0.01


def _divisor(unit: Unit, high: float, low: float) -> float:
    """The binary unit in which bytes are written, so that ticks are round in it; else 1."""
    divisor, largest = 1.0, max(abs(high), abs(low))
    while unit in {Unit.BANDWIDTH, Unit.SIZE} and largest >= divisor * 1024:
        divisor *= 1024
    return divisor


def _step(rough: float, *, binary: float) -> float:
    """Least of 1, 2, 5 times a power of ten (of a binary unit) that is not below ``rough``."""
    rough = max(rough / binary, 1e-300)
    power = 10.0 ** math.floor(math.log10(rough))
    nice = next((one for one in (1, 2, 5) if one * power >= rough * 0.999), 10)
    return nice * power * binary


def _log_scale(axis: Axis, known: list[float], most: int) -> Scale:
    low = axis.low if axis.low and _LEAST <= axis.low <= _LARGEST else None
    high = axis.high if axis.high and _LEAST <= axis.high <= _LARGEST else None
    start = low or max(_LEAST, min(known, default=high / 10 if high else 1.0))
    end = high or max(known, default=start * 10)
    if not start * 1.000001 < end:
        start, end = start / 2, start * 2
    rounds = list(_rounds(start, end))
    low = rounds[0] if low is None else start
    high = rounds[-1] if high is None else end
    inside = [at for at in rounds if low * 0.999 <= at <= high * 1.001]
    decades = [at for at in inside if _is_decade(at)]
    for chosen in (inside, decades, decades[::2], decades[::3], decades[::4]):
        if len(chosen) <= max(2, most):
            inside = chosen
            break
    return Scale(
        axis.unit,
        low,
        high,
        log=True,
        ticks=tuple(Tick(at, value_label(axis.unit, at, at, at)) for at in inside),
    )


def _rounds(low: float, high: float) -> Iterator[float]:
    """1, 2 and 5 times powers of ten: from the last not above ``low`` to the first not below."""
    power = math.floor(math.log10(low) + 1e-9)
    steps = [one * 10.0**at for at in range(power, power + 40) for one in (1, 2, 5)]
    begin = max(index for index, at in enumerate(steps[:4]) if at <= low * 1.000001)
    for at in steps[begin:]:
        yield at
        if at >= high * 0.999999:
            return


def _is_decade(value: float) -> bool:
    power = math.log10(value)
    return abs(power - round(power)) < 1e-6


_SECOND_STEPS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200,
    86_400, 172_800, 604_800, 1_209_600,
)  # fmt: skip
_DAY, _WEEK = 86_400, 604_800
_MONTH = 30.44 * _DAY
_MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
# Between two labels there is this much room, and a label itself takes that much.
_LABEL_GAP, _LABEL_CELLS = 3, 8


def _time_ticks(unit: Unit, low: float, high: float, room: int) -> Iterator[Tick]:
    most = max(1, room // (_LABEL_GAP + _LABEL_CELLS))
    rough = (high - low) / most
    if not unit.is_time:
        step = max(1.0, _step(rough, binary=1.0))
        for number in range(math.ceil(low / step), math.floor(high / step) + 1):
            yield Tick(number * step, f"{number * step:.0f}")
        return
    if unit is Unit.CALENDAR and rough > _SECOND_STEPS[-1]:
        yield from _month_ticks(low, high, rough)
        return
    step = next((one for one in _SECOND_STEPS if one >= rough), math.ceil(rough / _DAY) * _DAY)
    origin = high if unit is Unit.AGO else 0.0
    if unit is Unit.CALENDAR and step % _WEEK == 0:
        origin = 4 * _DAY  # weeks begin on Mondays, and the epoch began on a Thursday
    for number in range(
        math.ceil((low - origin) / step - 1e-9), math.floor((high - origin) / step + 1e-9) + 1
    ):
        at = origin + number * step
        yield Tick(at, time_label(unit, at, step, high))


def _month_ticks(low: float, high: float, rough: float) -> Iterator[Tick]:
    step = next((one for one in _MONTH_STEPS if one * _MONTH >= rough), _MONTH_STEPS[-1])
    begin = _utc(low)
    month = 0 if begin is None else (begin.year * 12 + begin.month - 1) // step * step
    while begin is not None and 12 <= month < 9999 * 12:
        at = datetime.datetime(month // 12, month % 12 + 1, 1, tzinfo=datetime.UTC)
        if at.timestamp() > high:
            return
        if at.timestamp() >= low:
            yield Tick(at.timestamp(), f"{at:%Y}" if step >= 12 else f"{at:%Y-%m}")
        month += step


def time_label(unit: Unit, at: float, step: float, end: float) -> str:
    """A time on an axis with ticks every ``step`` seconds: ``-5 min``, ``1:30``, ``14:00Z``."""
    if unit is Unit.AGO:
        before = end - at
        return "now" if before < step / 2 else f"-{_span(before, step)}"
    if unit is Unit.ELAPSED:
        return "0" if at == 0 else _span(at, step)
    moment = _utc(at)
    if moment is None:
        return "?"
    if step >= _DAY or (moment.hour, moment.minute, moment.second) == (0, 0, 0):
        return f"{moment:%m-%d}"
    return f"{moment:%H:%M}Z" if step >= 60 else f"{moment:%H:%M:%S}"


def _utc(at: float) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromtimestamp(at, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _span(seconds: float, step: float) -> str:
    """A span as short as an axis needs: ``30 s``, ``1:30 min``, ``2 h``, ``2:30 h``."""
    whole = round(seconds)
    if whole < 60 or step < 1:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" if whole % 60 == 0 else f"{whole // 60}:{whole % 60:02d} min"
    if whole < 2 * _DAY:
        minutes = whole % 3600 // 60
        return f"{whole // 3600}:{minutes:02d} h" if minutes else f"{whole // 3600} h"
    return f"{whole / _DAY:.0f} d"
