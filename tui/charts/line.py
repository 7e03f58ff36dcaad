"""Lines over time, with what is normal shaded, epochs ruled off, and findings marked. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from tui import marks
from tui.charts.axes import Axis
from tui.charts.canvas import Canvas, clean, fit, glyph_of
from tui.charts.markers import Dots, Marker
from tui.charts.plot import Plot, VRule, make_plot

# Green as "good" is, and faint: it lies behind the lines.
BAND = "$band"
_SAMPLE_CELLS = 3
_LEGEND_GAP = 3
# Columns of dots that are drawn, and how many those and the gap after them take: one for each line
# of a stripe with its members, so that no two have the same sign where there are no colours.
_PATTERNS = ((1, 1), (4, 6), (1, 3), (2, 4), (1, 2), (2, 6), (1, 6))


@dataclass(frozen=True, slots=True)
class Series:
    """One line. ``points`` are (x, value) in ascending x; a value of ``None`` is a gap.

    So is a distance of more than ``gap`` between two points, in the unit of x. ``filled``
    draws all that is under the line.
    """

    name: str
    points: Sequence[tuple[float, float | None]]
    style: str = "$primary"
    gap: float = math.inf
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """Values from ``low`` to ``high`` are normal, from ``begin`` to ``end`` (or everywhere)."""

    low: float
    high: float
    label: str = ""
    begin: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A glyph at a point: a finding. Without a value it is at the upper edge.

    ``label`` says in words what it is, for the table and the legend of the screen.
    """

    at: float
    value: float | None
    glyph: str
    style: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """What is on a line chart; :func:`tui.charts.table.table_of` has it as numbers.

    Where many points share a column of dots, the line there reaches from the least to the
    greatest of them: no peak is lost. Of several lines the first is on top. A line that
    leaves the axis in x ends there; in y it goes on along the edge.
    """

    series: Sequence[Series]
    x: Axis
    y: Axis
    bands: Sequence[Band] = ()
    rules: Sequence[VRule] = ()
    marks: Sequence[Mark] = ()

    def lines(self, *, width: int, height: int, marker: Marker) -> list[Content]:
        """``height`` lines of ``width`` cells."""
        plot = make_plot(
            width,
            height,
            marker,
            x=self.x,
            y=self.y,
            times=(at for one in self.series for at, _ in one.points),
            values=_values(self.series, self.bands, self.x),
            rules=self.rules,
        )
        if plot.width < 1 or plot.height < 1:
            return plot.canvas.lines()
        for band in self.bands:
            _shade(band, plot)
        for number, one in reversed(list(enumerate(self.series))):
            dots = Dots(marker, plot.width, plot.height)
            _trace(one, plot, dots, _PATTERNS[number % len(_PATTERNS)])
            plot.canvas.dots(dots, plot.left, plot.top, number, one.style)
        for mark in self.marks:
            _mark(mark, plot)
        return plot.canvas.lines()

    def legend(self, *, width: int, marker: Marker) -> Content:
        """One line of ``width`` cells: a piece of each line with its name, and the band's label."""
        canvas, at = Canvas(width, 1), 0
        if not canvas.width:
            return Content("")
        for number, one in enumerate(self.series):
            dots = Dots(marker, _SAMPLE_CELLS, 1)
            drawn, period = _PATTERNS[number % len(_PATTERNS)]
            for column in range(dots.across):
                if column % period < drawn:
                    to = dots.down - 1 if one.filled else dots.down // 2
                    dots.span(column, dots.down // 2, to)
            if at + _SAMPLE_CELLS > width:
                break
            canvas.dots(dots, at, 0, number, one.style)
            at = _named(canvas, at + _SAMPLE_CELLS + 1, one.name, marker)
        label = next((band.label for band in self.bands if band.label), "")
        if label and at + _SAMPLE_CELLS <= width:
            canvas.fill(at, 0, at + _SAMPLE_CELLS - 1, marker.frame.band, BAND)
            _named(canvas, at + _SAMPLE_CELLS + 1, label, marker)
        return canvas.lines()[0]


def _named(canvas: Canvas, at: int, name: str, marker: Marker) -> int:
    """Write ``name`` as far as there is room; returns where the next piece begins."""
    words = clean(name)
    words = fit(words, min(cell_len(words), canvas.width - at), marker)
    canvas.text(at, 0, words, marks.MUTED)
    return at + cell_len(words) + _LEGEND_GAP


def _values(series: Sequence[Series], bands: Sequence[Band], x: Axis) -> Iterator[float]:
    """All values that the axis of values has to hold."""
    low = -math.inf if x.low is None else x.low
    high = math.inf if x.high is None else x.high
    for one in series:
        for at, value in one.points:
            if value is not None and low <= at <= high:
                yield value
    for band in bands:
        yield band.low
        yield band.high


def _shade(band: Band, plot: Plot) -> None:
    """Shade the cells whose middle is within the band: one line of them at least."""
    if not (math.isfinite(band.low) and math.isfinite(band.high)):
        return
    begin = plot.x.low if band.begin is None else max(plot.x.low, band.begin)
    end = plot.x.high if band.end is None else min(plot.x.high, band.end)
    first, last = plot.column(begin), plot.column(end)
    if first is None or last is None or plot.y.place(band.high) < 0 or plot.y.place(band.low) > 1:
        return
    above, below = (
        (1 - min(1.0, max(0.0, plot.y.place(value)))) * plot.height
        for value in (band.high, band.low)
    )
    rows = [row for row in range(plot.height) if above <= row + 0.5 <= below]
    for row in rows or [min(plot.height - 1, int((above + below) / 2))]:
        plot.canvas.fill(
            plot.left + first, plot.top + row, plot.left + last, plot.marker.frame.band, BAND
        )


def _mark(mark: Mark, plot: Plot) -> None:
    column = plot.column(mark.at) if math.isfinite(mark.at) else None
    if column is None:
        return
    row = 0 if mark.value is None or not math.isfinite(mark.value) else plot.row(mark.value)
    glyph = glyph_of(mark.glyph, plot.marker)
    plot.canvas.put(plot.left + column, plot.top + row, glyph, mark.style)


@dataclass(slots=True)
class _Column:
    """What of a line falls into one column of dots: its lines of dots, from above."""

    at: int
    first: int
    least: int
    greatest: int
    last: int

    def add(self, row: int) -> None:
        if row < self.least:
            self.least = row
        elif row > self.greatest:
            self.greatest = row
        self.last = row


def _trace(series: Series, plot: Plot, dots: Dots, pattern: tuple[int, int]) -> None:
    before: _Column | None = None
    for piece in _pieces(series, plot):
        for column in piece:
            _draw(before, column, dots, pattern, filled=series.filled)
            before = column
        before = None


def _pieces(series: Series, plot: Plot) -> Iterator[list[_Column]]:
    """The parts of a line between its gaps, by columns."""
    piece: list[_Column] = []
    previous = -math.inf
    # Ten years of runs are 14,600 points: what is the same for all is looked up once.
    place_x, place_y, last_x, last_y = plot.x.place, plot.y.place, plot.last_x, plot.last_y
    for at, value in series.points:
        place = place_x(at)
        known = value is not None and math.isfinite(value) and 0 <= place <= 1
        if piece and (not known or at - previous > series.gap):
            yield piece
            piece = []
        previous = at
        if not known or value is None:
            continue
        # Not round(): it takes a half to the even number, which makes steps of unequal length.
        dot, height = int(place * last_x + 0.5), place_y(value)
        row = 0 if height >= 1 else last_y if height <= 0 else int((1 - height) * last_y + 0.5)
        if piece and piece[-1].at == dot:
            piece[-1].add(row)
        else:
            piece.append(_Column(dot, row, row, row, row))
    if piece:
        yield piece


def _draw(
    before: _Column | None, column: _Column, dots: Dots, pattern: tuple[int, int], *, filled: bool
) -> None:
    """One column, and the way to it from the one before. Where a piece begins is always seen."""
    drawn, period = (1, 1) if filled or before is None else pattern
    floor = dots.down - 1
    if before is not None:
        steps, rise = column.at - before.at, column.first - before.last
        row = before.last
        for step in range(1, steps + 1):
            x, to = before.at + step, before.last + math.floor(rise * step / steps + 0.5)
            if x % period < drawn:
                # Touching corners are enough for a line: it stays one dot thin.
                dots.span(x, to, floor if filled else row + (to > row) - (to < row))
            row = to
    if column.at % period < drawn:
        dots.span(column.at, column.least, floor if filled else column.greatest)
