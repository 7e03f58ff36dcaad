"""A plot with its axes: where the parts of a chart are, rules with labels, and a grid. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from tui import marks
from tui.charts.axes import Axis, Scale, time_scale, value_scale
from tui.charts.canvas import Canvas, clean, fit, spelt
from tui.charts.markers import Marker

# Faint: what is behind the lines must not be louder than they are.
GRID = "$grid"
# Above the plot there are at most this many lines of labels.
_LABEL_LINES = 3
_LABEL_GAP = 2
# A label cut to less than this is meaningless.
_LEAST_LABEL = 5
# Lower and narrower than this a plot has no axis at that side.
_HEIGHT_FOR_TIMES, _HEIGHT_FOR_LINE, _WIDTH_FOR_VALUES = 4, 8, 20


@dataclass(frozen=True, slots=True)
class VRule:
    """A vertical line at ``at``, with a label above the plot: where an epoch begins."""

    at: float
    label: str = ""
    style: str = marks.MUTED


@dataclass(frozen=True, slots=True)
class Label:
    """A rule's label, where there is room for it: cell of the plot, line of labels, words."""

    x: int
    line: int
    words: str


@dataclass(frozen=True, slots=True)
class Plot:
    """The part of ``canvas`` in which the lines are: its left upper cell and its size in cells."""

    canvas: Canvas
    marker: Marker
    left: int
    top: int
    width: int
    height: int
    x: Scale
    y: Scale

    @property
    def last_x(self) -> int:
        """The last column of dots, which is the high end of the axis."""
        return self.width * self.marker.dots[0] - 1

    @property
    def last_y(self) -> int:
        """The lowest line of dots, which is the low end of the axis."""
        return self.height * self.marker.dots[1] - 1

    def dot_x(self, at: float) -> int | None:
        """Column of dots of a time, ``None`` where that is not within the axis."""
        place = self.x.place(at)
        return int(place * self.last_x + 0.5) if 0 <= place <= 1 else None

    def dot_y(self, value: float) -> int:
        """Line of dots of a value, from above; what is beyond the axis is put on its edge."""
        return int((1 - min(1.0, max(0.0, self.y.place(value)))) * self.last_y + 0.5)

    def column(self, at: float) -> int | None:
        """Cell of a time, from the left edge of the plot."""
        dot = self.dot_x(at)
        return None if dot is None else dot // self.marker.dots[0]

    def row(self, value: float) -> int:
        """Cell of a value, from the upper edge of the plot."""
        return self.dot_y(value) // self.marker.dots[1]


def make_plot(
    width: int,
    height: int,
    marker: Marker,
    *,
    x: Axis,
    y: Axis,
    times: Iterable[float],
    values: Iterable[float],
    rules: Sequence[VRule] = (),
) -> Plot:
    """An empty plot with axes, grid and rules on a canvas of ``width`` × ``height`` cells.

    Where there is little room, first the lines of the axes go, then their words.
    """
    canvas = Canvas(width, height)
    width, height = canvas.width, canvas.height
    below = 0 if height < _HEIGHT_FOR_TIMES else 1 if height < _HEIGHT_FOR_LINE else 2
    rows = height - below
    y_scale = value_scale(y, values, max(2, (rows + 2) // 3))
    words = max((cell_len(tick.label) for tick in y_scale.ticks), default=0)
    left = words + 1 if width >= max(_WIDTH_FOR_VALUES, 2 * words) and height > 1 else 0
    room = width - left
    x_scale = _x_scale(x, times, room)
    # Labels are laid out before it is known how high the plot is: they need its width alone.
    plot = Plot(canvas, marker, left, 0, room, rows, x_scale, y_scale)
    labels = _place(plot, rules, min(_LABEL_LINES, rows // 4))
    top = max((label.line + 1 for label in labels), default=0)
    plot = Plot(canvas, marker, left, top, room, rows - top, x_scale, y_scale)
    if plot.width > 0 and plot.height > 0:
        _draw_axes(plot, has_line=below > 1, has_times=below > 0)
        _draw_rules(plot, rules, labels)
    return plot


def _x_scale(axis: Axis, times: Iterable[float], room: int) -> Scale:
    if axis.log:
        # A label of a power of ten takes about this much room.
        return value_scale(axis, times, max(2, room // 10))
    return time_scale(axis, times, room)


def _draw_axes(plot: Plot, *, has_line: bool, has_times: bool) -> None:
    canvas, frame = plot.canvas, plot.marker.frame
    rows = {plot.row(tick.at): tick.label for tick in reversed(plot.y.ticks)}
    columns = {
        column: spelt(tick.label, plot.marker)
        for tick in plot.x.ticks
        if (column := plot.column(tick.at)) is not None
    }
    for row in rows:
        for column in columns:
            if 0 < column < plot.width - 1:
                canvas.put(plot.left + column, plot.top + row, frame.grid, GRID)
    if plot.left:
        for row in range(plot.height):
            label = rows.get(row)
            edge = frame.down if label is None else frame.tick_y
            canvas.put(plot.left - 1, plot.top + row, edge, marks.RULE)
            if label is not None:
                words = fit(spelt(label, plot.marker), plot.left - 1, plot.marker, right=True)
                canvas.text(0, plot.top + row, words, marks.MUTED)
    below = plot.top + plot.height
    if has_line:
        canvas.fill(plot.left, below, canvas.width - 1, frame.across, marks.RULE)
        canvas.put(plot.left - 1, below, frame.corner, marks.RULE)
        for column in columns:
            canvas.put(plot.left + column, below, frame.tick_x, marks.RULE)
    if has_times:
        _write_times(plot, columns, below + has_line)


def _write_times(plot: Plot, columns: dict[int, str], line: int) -> None:
    free = 0
    for column, label in sorted(columns.items()):
        length = cell_len(label)
        begin = plot.left + column - length // 2
        begin = min(max(0, begin), plot.canvas.width - length)
        if begin >= free:
            plot.canvas.text(begin, line, label, marks.MUTED)
            free = begin + length + 1


def _place(plot: Plot, rules: Sequence[VRule], lines: int) -> list[Label]:
    """Labels from the left, each on the first line where it fits, or cut where most room is.

    At the right edge a label stands left of its rule.
    """
    placed: list[Label] = []
    free = [0] * lines
    for column, label in sorted(_labelled(plot, rules).items()):
        words, length = label, cell_len(label)
        begin = max(0, min(column, plot.width - length))
        line = next((line for line, at in enumerate(free) if at <= begin), None)
        if line is None and lines:
            line = min(range(lines), key=free.__getitem__)
            begin = max(begin, free[line])
            words = fit(words, min(length, plot.width - begin), plot.marker)
        if line is None or cell_len(words) < min(length, _LEAST_LABEL):
            continue
        placed.append(Label(begin, line, words))
        free[line] = begin + cell_len(words) + _LABEL_GAP
    return placed


def _labelled(plot: Plot, rules: Sequence[VRule]) -> dict[int, str]:
    """Labels by column; of rules in one column the last one's."""
    found = {}
    for rule in rules:
        column = plot.column(rule.at) if math.isfinite(rule.at) else None
        if column is not None and rule.label:
            words = clean(rule.label)
            found[column] = fit(words, min(cell_len(words), plot.width), plot.marker)
    return found


def _draw_rules(plot: Plot, rules: Sequence[VRule], labels: Sequence[Label]) -> None:
    styles = {}
    for rule in rules:
        column = plot.column(rule.at) if math.isfinite(rule.at) else None
        if column is not None:
            styles[column] = rule.style
            for row in range(plot.height):
                canvas_row = plot.top + row
                plot.canvas.put(plot.left + column, canvas_row, plot.marker.frame.rule, rule.style)
    for label in labels:
        style = next((style for column, style in styles.items() if column == label.x), marks.MUTED)
        plot.canvas.text(plot.left + label.x, label.line, label.words, style)
