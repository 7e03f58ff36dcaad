"""Figures as fio and people write them -> SI numbers. Pure; never raises on any text.

fio up to 2.16 prints ``KB`` for 1024 bytes; later versions print ``KiB`` for 1024 and ``kB``
for 1000 (fio's own HOWTO, ``kb_base``). Which of the two a line means is told by its form
(``iops=`` or ``IOPS=``), not by a version that may not be in the paste.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# No counter of a disk or of fio has more digits; a longer one is damage or malice.
_MAX_DIGITS = 18
_MAX_NUMBER = 1e18
# Of a run of some seconds; what fio divides by is not exactly what it prints.
_CLOCK = 0.002

NUMBER = r"\d[\d,]{0,24}(?:\.\d{0,12})?"
_DECIMAL_COMMA = re.compile(r"\d{1,18},(?:\d{1,2}|\d{4,12})", re.ASCII)
_AMOUNT = re.compile(rf"\s*({NUMBER})\s*([A-Za-z]{{0,6}})", re.ASCII)
_TIME_NS = {"ns": 1, "nsec": 1, "us": 1_000, "usec": 1_000, "ms": 1_000_000, "msec": 1_000_000}
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_DURATION_MS = {
    "": 1000,
    "s": 1000,
    "ms": 1,
    "msec": 1,
    "us": 0.001,
    "usec": 0.001,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


def number(text: str) -> float | None:
    """A plain number, with or without thousands separators; ``None`` if it is none.

    A single comma that does not separate three digits is a decimal one (``656,41``).
    """
    plain = text.rstrip(",")
    if "," in plain:
        decimal = _DECIMAL_COMMA.fullmatch(plain) is not None
        plain = plain.replace(",", "." if decimal else "")
    if not plain or len(plain) > _MAX_DIGITS + 14:
        return None
    try:
        value = float(plain)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value < _MAX_NUMBER else None


def whole(text: str) -> int | None:
    """A count: decimal ASCII digits with or without thousands separators."""
    plain = text.replace(",", "")
    if not plain.isascii() or not plain.isdecimal() or len(plain) > _MAX_DIGITS:
        return None
    return int(plain)


def real(value: object) -> float | None:
    """A JSON value as a number that a measurement can have, else ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return number(value) if isinstance(value, str) else None
    # Compared before it is converted: an int may be too large for a float.
    return float(value) if 0 <= value < _MAX_NUMBER else None


def size(text: str, kilo: int) -> float | None:
    """Bytes of ``283GiB``, ``103145MB``, ``1690 MB/s``, ``12.5Mbit/s``; ``kB`` is ``kilo``."""
    match = _AMOUNT.match(text)
    value = number(match[1]) if match else None
    if match is None or value is None:
        return None
    unit = match[2].lower()
    bits = unit.endswith("bit") or (match[2].endswith("b") and len(unit) > 1)
    stem = unit.removesuffix("bit") if unit.endswith("bit") else unit.removesuffix("b")
    base = 1024 if stem.endswith("i") and len(stem) > 1 else kilo
    power = _POWERS.get(stem.removesuffix("i") if base == 1024 else stem)
    if power is None:
        return None
    return float(value * base**power / (8 if bits else 1))


def count(text: str) -> float | None:
    """I/Os of ``412k``, ``1.2M`` (thousands) or ``581387``."""
    match = _AMOUNT.match(text)
    value = number(match[1]) if match else None
    if match is None or value is None:
        return None
    power = _POWERS.get(match[2][:1].lower(), 0)
    # 32.3k is 32300, not what the nearest binary fraction of 32.3 makes of it.
    return round(float(value * 1000**power), 3)


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure as it was printed, and the least and most that print so."""

    value: float
    low: float
    high: float

    @classmethod
    def exact(cls, value: float | None) -> Printed | None:
        """A figure that was written in full (JSON)."""
        return None if value is None else cls(value, value, value)

    @property
    def error(self) -> float:
        """How far the true figure may be from :attr:`value`."""
        return max(self.high - self.value, self.value - self.low)

    def holds(self, figure: float) -> bool:
        """Whether ``figure`` prints so: fio takes its clock's milliseconds as they fall."""
        return self.low * (1 - _CLOCK) <= figure <= self.high * (1 + _CLOCK)

    def narrowed(self, other: Printed | None) -> Printed:
        """The same figure printed twice (MiB/s and MB/s); as it is where the two disagree."""
        if other is None:
            return self
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low > high:
            return self
        return Printed(self.value if low <= self.value <= high else (low + high) / 2, low, high)


def printed_size(text: str, kilo: int, *, cut: bool = False) -> Printed | None:
    """Bytes, and what prints so; see :func:`size` and :func:`printed_count`."""
    return _printed(text, size(text, kilo), cut=cut)


def printed_count(text: str, *, cut: bool = False) -> Printed | None:
    """I/Os, and what prints so (``26.0k``).

    fio rounds or truncates to the last digit. Until 3.25 it lost what rounding up carries
    (``26.0k`` for 26,991): with ``cut`` a decimal 0 may stand for nearly the next number.
    """
    return _printed(text, count(text), cut=cut)


def _printed(text: str, value: float | None, *, cut: bool) -> Printed | None:
    match = _AMOUNT.match(text)
    shown = number(match[1]) if match else None
    if match is None or value is None or shown is None:
        return None
    scale = value / shown if shown else 1.0
    _, _, decimals = match[1].replace(",", "").partition(".")
    step = scale / 10 ** len(decimals)
    carry = scale if cut and decimals and not decimals.strip("0") else step
    return Printed(value, max(0.0, value - step), value + carry)


def time_ns(text: str, unit: str) -> float | None:
    """Nanoseconds of a figure (``1805.8k``) under a heading like ``(usec)``."""
    value = number(text) if text[-1:].isdecimal() else count(text)
    factor = _TIME_NS.get(unit)
    return None if value is None or factor is None else value * factor


def option_size(text: str) -> int | None:
    """Bytes of a fio option: ``4k``, ``64K``, ``4Mi``, ``1024``, ``10g`` (all in 1024).

    A range or a split (``4k-16k``) has no one size. With ``kb_base=1000`` this would be
    another number; no text was seen to use that for block sizes.
    """
    match = _AMOUNT.fullmatch(text.split(",", maxsplit=1)[0].strip())
    value = number(match[1]) if match else None
    if match is None or not value:
        return None
    unit = match[2].lower().removesuffix("b")
    power = _POWERS.get(unit.removesuffix("i"))
    amount = None if power is None else value * 1024**power
    return int(amount) if amount is not None and amount == int(amount) < _MAX_NUMBER else None


def duration_ms(text: str) -> int | None:
    """Milliseconds of a fio option that is a time: ``180`` (seconds), ``3m``, ``500ms``."""
    match = _AMOUNT.fullmatch(text.strip())
    value = number(match[1]) if match else None
    factor = _DURATION_MS.get(match[2].lower()) if match else None
    if value is None or factor is None or value * factor >= _MAX_NUMBER:
        return None
    return int(value * factor)
