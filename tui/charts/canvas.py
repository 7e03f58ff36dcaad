"""Cells with a character and a style each, and texts in them: what every chart is drawn on."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content, Span

from appliance.text import printable
from tui.charts.markers import Dots, Marker

# Longer text than this from outside is cut before it is looked at.
_LONGEST_TEXT = 400


def clean(text: str) -> str:
    """Text from outside, made harmless and short."""
    return printable(text[:_LONGEST_TEXT])


def fit(text: str, width: int, marker: Marker, *, right: bool = False) -> str:
    """``text`` in exactly ``width`` cells: filled up, or cut with an ellipsis."""
    if width <= 0:
        return ""
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + marker.frame.ellipsis
    padding = " " * (width - length)
    return padding + text if right else text + padding


def spelt(text: str, marker: Marker) -> str:
    """A figure, with the micro sign as ``u`` where only ASCII can be shown."""
    return text.replace("µ", "u") if marker is Marker.ASCII else text


def glyph_of(text: str, marker: Marker) -> str:
    """A mark's glyph as one cell: anything else than one printable cell becomes a point."""
    shown = clean(text)
    return shown if cell_len(shown) == 1 else marker.frame.point


_SAME = re.compile(rb"(.)\1*", re.DOTALL)


class Canvas:
    """``width`` × ``height`` cells. What is put outside is not drawn.

    Styles are of characters, not of backgrounds: what is blank has none of its own.

    A text takes as many cells as a terminal gives it: it stands whole in its first cell, and
    the others of its cells hold nothing. So wide characters never move what is to the
    right of them.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = max(0, width), max(0, height)
        self._cells = [[" "] * self.width for _ in range(self.height)]
        self._styles = [bytearray(self.width) for _ in range(self.height)]
        self._names = [""]
        self._numbers = {"": 0}

    def put(self, x: int, y: int, character: str, style: str) -> None:
        """Draw one character of one cell."""
        if 0 <= x < self.width and 0 <= y < self.height:
            self._cells[y][x] = character
            self._styles[y][x] = self._number(style)

    def fill(self, x: int, y: int, to: int, character: str, style: str) -> None:
        """Draw the same character in the cells ``x`` to ``to`` of a line, both included."""
        x, to = max(0, x), min(self.width - 1, to)
        if x <= to and 0 <= y < self.height:
            length = to - x + 1
            self._cells[y][x : to + 1] = [character] * length
            self._styles[y][x : to + 1] = bytes((self._number(style),)) * length

    def text(self, x: int, y: int, text: str, style: str) -> None:
        """Write ``text`` from ``x`` on; a text that does not fit as a whole is left out."""
        length = cell_len(text)
        if length and x >= 0 and x + length <= self.width and 0 <= y < self.height:
            self._cells[y][x : x + length] = [text, *[""] * (length - 1)]
            self._styles[y][x : x + length] = bytes((self._number(style),)) * length

    def dots(self, dots: Dots, x: int, y: int, line: int, style: str) -> None:
        """Lay the ``line``-th line of a chart over what is there, its cell (0, 0) at (x, y).

        Where it meets another line both lines' dots are shown, in this one's style.
        """
        number = bytes((self._number(style),))
        before, character = _BITS[dots.marker], dots.marker.character
        for row, column, bits in dots.runs():
            begin, end = x + column, x + column + len(bits)
            cells = self._cells[y + row]
            cells[begin:end] = [
                character(one | before.get(cell, 0), line)
                for one, cell in zip(bits, cells[begin:end], strict=True)
            ]
            self._styles[y + row][begin:end] = number * len(bits)

    def lines(self) -> list[Content]:
        """Lines from above, each of exactly ``width`` cells."""
        # Everything that is put here is clean already: Content need not look for control codes.
        return [
            Content("".join(cells), list(self._spans(cells, styles)), self.width, False)
            for cells, styles in zip(self._cells, self._styles, strict=True)
        ]

    def _spans(self, cells: Sequence[str], styles: bytearray) -> Iterator[Span]:
        """Styles by characters, of which a text of wide ones has fewer than cells.

        What is blank takes the style before it, so that a broken line is one span and not many:
        each costs time in Textual and bytes on the way to the terminal.
        """
        begin = end = 0
        style = 0
        for same in _SAME.finditer(styles):
            text = "".join(cells[same.start() : same.end()])
            number = same.group()[0]
            if number != style and not text.isspace():
                if style and begin < end:
                    yield Span(begin, end, self._names[style])
                begin, style = end, number
            end += len(text)
        if style and begin < end:
            yield Span(begin, end, self._names[style])

    def _number(self, style: str) -> int:
        """Styles as small numbers; beyond 255 of them there is no style."""
        number = self._numbers.get(style)
        if number is None:
            number = len(self._names) if len(self._names) < 256 else 0
            self._numbers[style] = number
            if number:
                self._names.append(style)
        return number


# The dots of a cell by the character that shows them.
_BITS = {
    marker: {marker.character(bits, 0): bits for bits in range(1 << math.prod(marker.dots))}
    for marker in Marker
}
