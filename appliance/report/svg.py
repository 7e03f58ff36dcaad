"""The parts that every chart is made of: scales, round ticks, texts that fit, marks. Pure.

Coordinates are CSS pixels of the drawing's own width; a page shows it at about that size,
so that its letters stay readable. Colours are classes of the page's style: a drawing
follows the page into the dark and onto paper.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.report.markup import Markup, clipped, tag, together

# Widths of the two forms of a drawing: a desktop's or a page of paper, and a phone's.
WIDE, NARROW = 848, 340
FONT_PX = 12
# A little more than the advances of DejaVu Sans at 12 px, the widest of the usual system fonts.
_LETTERS = {
    **dict.fromkeys("mwMW@%&…—", 12.2),
    **dict.fromkeys("ijlI.,:;|!'` ", 4.6),
    **dict.fromkeys("tfr-()[]/", 5.1),
    "s": 6.4,
}
_UPPER_PX, _OTHER_PX, _FOREIGN_PX, _FULL_PX = 9.4, 7.7, 9.6, 13.0
_BOLD = 1.14
_BINARY = ("B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s")
_TIME_STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200)


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map of ``0 … top`` to pixels ``begin … end``."""

    top: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        return self.begin + (self.end - self.begin) * (value / self.top if self.top else 0.0)


@dataclass(frozen=True, slots=True)
class LogScale:
    """A logarithmic map of ``low … high`` to pixels; what is outside is put on the edge."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        share = math.log(inside / self.low) / math.log(self.high / self.low)
        return self.begin + (self.end - self.begin) * share


def round_ticks(highest: float, most: int) -> tuple[float, ...]:
    """Zero and round steps (1, 2, 2.5, 5 × 10^n) up to the first that is not below ``highest``."""
    if not math.isfinite(highest) or highest <= 0:
        return (0.0, 1.0)
    rough = highest / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in (1, 2, 2.5, 5, 10) if nice * power >= rough * 0.999)
    count = max(1, math.ceil(highest / step - 1e-9))
    return tuple(step * index for index in range(count + 1))


def rate_ticks(highest: float, most: int) -> tuple[tuple[tuple[float, str], ...], str]:
    """Ticks of bytes a second as (value, number) and the unit of the numbers."""
    power = 0
    while highest >= 1024 ** (power + 1) and power < len(_BINARY) - 1:
        power += 1
    unit = 1024.0**power
    return tuple((tick * unit, number(tick)) for tick in round_ticks(highest / unit, most)), (
        _BINARY[power]
    )


def time_ticks(end_s: float, most: int) -> tuple[tuple[float, str], ...]:
    """Round times from 0 within ``end_s`` as (seconds, words)."""
    step = next((one for one in _TIME_STEPS if end_s / one <= most), 86_400)
    return tuple((at, time_words(at)) for at in range(0, int(end_s) + 1, step))


def time_words(seconds: float) -> str:
    """``0``, ``30 s``, ``1:30 min``, ``2 h``: short enough for an axis."""
    if seconds == 0:
        return "0"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes}:{rest:02d} min" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d} h" if minutes else f"{hours} h"


def number(value: float) -> str:
    """A number of an axis without superfluous zeros: ``0``, ``0.5``, ``1,200``."""
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"


def decades(low: float, high: float) -> tuple[float, ...]:
    """Powers of ten around ``low … high``, two at least."""
    first = math.floor(math.log10(low) + 1e-9)
    last = max(first + 1, math.ceil(math.log10(high) - 1e-9))
    return tuple(10.0**power for power in range(first, last + 1))


def width_of(text: str, *, bold: bool = False) -> float:
    """About how many pixels ``text`` takes at :data:`FONT_PX`, rather too many than too few."""
    return sum(_advance(char) for char in text) * (_BOLD if bold else 1)


def _advance(char: str) -> float:
    if char in _LETTERS:
        return _LETTERS[char]
    if unicodedata.east_asian_width(char) in "WF":
        return _FULL_PX
    if not char.isascii():
        return _FOREIGN_PX
    return _UPPER_PX if char.isupper() else _OTHER_PX


def fitting(text: str, room_px: float, *, bold: bool = False) -> str:
    """``text`` made printable, and cut with an ellipsis where it is too long for ``room_px``."""
    shown = clipped(text)
    if width_of(shown, bold=bold) <= room_px:
        return shown
    kept = ""
    for char in shown:
        if width_of(f"{kept}{char}…", bold=bold) > room_px:
            break
        kept += char
    return f"{kept}…" if kept else ""


def label(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "t") -> Markup:
    """A text; ``kind`` is its class."""
    return tag(
        "text",
        text,
        x=x,
        y=y,
        class_=kind,
        text_anchor=None if anchor == "start" else anchor,
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def rect(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    return tag("rect", x=x, y=y, width=max(0.0, width), height=max(0.0, height), class_=kind)


def path(points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> Markup:
    """A line through ``points``; a single one becomes a dot of the line's width."""
    steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    if len(points) == 1:
        steps += f" {points[0][0] + 0.1:.1f},{points[0][1]:.1f}"
    return tag("path", d=Markup(f"M{steps}{'Z' if closed else ''}"), class_=kind)


def mark(shape: str, x: float, y: float, kind: str, size: float = 4.0) -> Markup:
    """A mark that is told apart by its form: ``dot``, ``diamond``, ``triangle`` or ``cross``."""
    if shape == "dot":
        return tag("circle", cx=x, cy=y, r=size, class_=kind)
    s = size
    forms = {
        "diamond": f"M{x:.1f},{y - s:.1f} l{s},{s} l{-s},{s} l{-s},{-s}Z",
        "triangle": f"M{x:.1f},{y - s:.1f} l{s},{1.8 * s:.1f} l{-2 * s},0Z",
        "cross": f"M{x - s:.1f},{y - s:.1f} l{2 * s},{2 * s} m0,{-2 * s} l{-2 * s},{2 * s}",
    }
    return tag("path", d=forms[shape], class_=kind)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near ``wanted`` (ascending) and at least ``gap`` apart, within the limits."""
    placed: list[float] = []
    for y in wanted:
        placed.append(max(y, placed[-1] + gap if placed else low))
    limit = high
    for index in range(len(placed) - 1, -1, -1):
        placed[index] = min(placed[index], limit)
        limit = placed[index] - gap
    return placed


def drawing(
    width: float, height: float, name: str, describes: str, *parts: str, kind: str = ""
) -> Markup:
    """A whole SVG: ``name`` is its title, ``describes`` says in words what it shows.

    No ``id`` is needed: the title is found through the accessible name rules, and a page may
    have the same drawing twice (for desktops and for phones).
    """
    return tag(
        "svg",
        tag("title", name),
        tag("desc", describes),
        together(parts),
        viewbox=f"0 0 {width:g} {height:g}",
        role="img",
        class_=f"chart {kind}".strip(),
        width=width,
        height=height,
        xmlns="http://www.w3.org/2000/svg",
    )
