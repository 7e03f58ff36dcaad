"""A latency histogram on a logarithmic axis, with percentiles as rules. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual.content import Content

from appliance.text import latency
from tui import marks
from tui.charts.area import area
from tui.charts.axes import Axis, Unit
from tui.charts.canvas import spelt
from tui.charts.markers import Dots, Marker
from tui.charts.plot import Plot, VRule, make_plot

# fio's bins: 64 for each doubling of the latency (stat.h, FIO_IO_U_PLAT_BITS = 6).
_BINS_PER_DOUBLING = 64


@dataclass(frozen=True, slots=True)
class Percentile:
    """A latency that is marked: ``p99`` at so many ns."""

    label: str
    value_ns: float
    style: str = marks.BUSY


def percentile_rules(
    percentiles_ns: Mapping[str, int], shown: Sequence[float] = (50.0, 99.0, 99.9)
) -> tuple[Percentile, ...]:
    """Those of fio's percentiles (``"99.000000"`` -> ns) that are ``shown``, as far as known."""
    known = {}
    for text, value_ns in percentiles_ns.items():
        try:
            known[float(text)] = value_ns
        except ValueError:
            continue
    return tuple(Percentile(f"p{one:g}", known[one]) for one in shown if one in known)


def histogram(
    bins: Mapping[int, int],
    *,
    width: int,
    height: int,
    marker: Marker,
    percentiles: Sequence[Percentile] = (),
    style: str = "$primary",
) -> list[Content]:
    """``height`` lines of ``width`` cells; ``bins`` are middle of fio's bin in ns -> count.

    The axis of values has per cent of all I/Os in a column. Every bin is shown: one slow I/O
    among a million still has a dot.
    """
    known = {ns: count for ns, count in bins.items() if ns > 0 and count > 0}
    x = Axis(Unit.LATENCY, log=True)
    times = [*known, *(one.value_ns for one in percentiles)]
    rules = [
        VRule(one.value_ns, f"{one.label} {spelt(latency(one.value_ns), marker)}", one.style)
        for one in percentiles
    ]
    y = Axis(Unit.PERCENT)
    # How much is in a column is known only once there are columns: the axes are made twice.
    draft = make_plot(width, height, marker, x=x, y=y, times=times, values=(), rules=rules)
    shares = _shares(known, draft)
    plot = make_plot(width, height, marker, x=x, y=y, times=times, values=shares, rules=rules)
    if plot.width > 0 and plot.height > 0:
        _draw(_shares(known, plot), plot, style)
    return plot.canvas.lines()


def _columns(plot: Plot) -> int:
    """Columns of a histogram: two a cell in braille, else one."""
    return plot.width * (2 if plot.marker is Marker.BRAILLE else 1)


def _shares(bins: Mapping[int, int], plot: Plot) -> list[float]:
    """Per cent of the I/Os in each column. A bin is spread evenly over the columns it reaches.

    Otherwise columns about as wide as a bin would hold one and two of them in turn, and a
    smooth hill would look like a comb.
    """
    columns = max(1, _columns(plot))
    shares = [0.0] * columns
    total = sum(bins.values())
    for ns, count in bins.items():
        half = max(0.5, (1 << int(ns).bit_length() - 1) / _BINS_PER_DOUBLING / 2)
        low, high = (
            min(float(columns), max(0.0, plot.x.place(at) * columns))
            for at in (ns - half, ns + half)
        )
        first, last = min(columns - 1, int(low)), min(columns - 1, int(high))
        if first == last:
            shares[first] += 100.0 * count / total
            continue
        for column in range(first, last + 1):
            reached = min(high, column + 1) - max(low, column)
            shares[column] += 100.0 * count / total * reached / (high - low)
    return shares


def _draw(shares: Sequence[float], plot: Plot, style: str) -> None:
    top = plot.y.high
    if plot.marker is not Marker.BRAILLE:
        rows = area(shares, height=plot.height, top=top, bars=plot.marker.frame.columns)
        for row, characters in enumerate(rows):
            for column, character in enumerate(characters):
                if character != " ":
                    plot.canvas.put(plot.left + column, plot.top + row, character, style)
        return
    dots = Dots(plot.marker, plot.width, plot.height)
    for column, share in enumerate(shares):
        if share > 0:
            dots.span(column, min(dots.down - 1, plot.dot_y(share)), dots.down - 1)
    plot.canvas.dots(dots, plot.left, plot.top, 0, style)
