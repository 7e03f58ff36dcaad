"""What a chart's dots are made of: braille, quarter blocks, or ASCII.

A character cell is divided into dots: 2 × 4 in braille, 2 × 2 in quarter blocks, 1 × 2 in
ASCII (``'`` above, ``.`` below). :class:`Dots` collects the dots of one line; several lines
are laid over each other by :mod:`tui.charts.canvas`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tui.marks import ASCII as ASCII_GLYPHS
from tui.marks import Glyphs


class Marker(StrEnum):
    """How the lines of a chart are drawn."""

    BRAILLE = "braille"
    BLOCK = "block"
    ASCII = "ascii"

    @classmethod
    def usual(cls, glyphs: Glyphs) -> Marker:
        """The finest that a terminal with these glyphs can show."""
        return cls.ASCII if glyphs is ASCII_GLYPHS else cls.BRAILLE

    @classmethod
    def chosen(cls, word: str, glyphs: Glyphs) -> Marker:
        """The one that is remembered as ``word``, if this terminal can show it."""
        usual = cls.usual(glyphs)
        return cls(word) if word and usual is not Marker.ASCII else usual

    def next(self, glyphs: Glyphs) -> Marker:
        """The one to switch to; a terminal that shows only ASCII has no choice."""
        if glyphs is ASCII_GLYPHS:
            return Marker.ASCII
        order = tuple(Marker)
        return order[(order.index(self) + 1) % len(order)]

    @property
    def dots(self) -> tuple[int, int]:
        """Dots of a cell: how many beside each other, how many above each other."""
        return _FORMS[self].dots

    @property
    def frame(self) -> Frame:
        """The characters for what is around the lines."""
        return _ASCII_FRAME if self is Marker.ASCII else _UNICODE_FRAME

    def character(self, bits: int, line: int) -> str:
        """The character for the dots of a cell, of the ``line``-th line of the chart."""
        if self is Marker.ASCII and line > 0:
            return letter(line)
        return _FORMS[self].characters[bits]


@dataclass(frozen=True, slots=True)
class Frame:
    """Axes, grid, band and rules; ``columns`` and ``eighths`` are fillings from empty to full."""

    across: str
    down: str
    corner: str
    tick_x: str
    tick_y: str
    grid: str
    band: str
    rule: str
    point: str
    ellipsis: str
    columns: str
    eighths: str


_UNICODE_FRAME = Frame(
    across="─", down="│", corner="└", tick_x="┬", tick_y="┤", grid="·", band="░", rule="│",
    point="●", ellipsis="…", columns=" ▁▂▃▄▅▆▇█", eighths=" ▏▎▍▌▋▊▉█",
)  # fmt: skip
_ASCII_FRAME = Frame(
    across="-", down="|", corner="+", tick_x="+", tick_y="+", grid=" ", band="~", rule="|",
    point="o", ellipsis="~", columns=" .:#", eighths=" -=#",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Form:
    """``bit[y][x]`` is the bit of a dot, ``characters[bits]`` what shows a cell."""

    dots: tuple[int, int]
    bit: tuple[tuple[int, ...], ...]
    characters: str


# Unicode's order of braille dots, chapter 21.1: the lower two were added to the six of old.
_FORMS = {
    Marker.BRAILLE: _Form(
        (2, 4),
        ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80)),
        "".join(chr(0x2800 + bits) for bits in range(256)),
    ),
    Marker.BLOCK: _Form((2, 2), ((1, 2), (4, 8)), " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"),
    Marker.ASCII: _Form((1, 2), ((1,), (2,)), " '.:"),
}
_RUNS = re.compile(rb"[^\0]+")


def letter(line: int) -> str:
    """What the ``line``-th line is drawn with in ASCII, where colour and form are all there is."""
    return chr(ord("a") + (line - 1) % 26)


@dataclass(slots=True)
class Dots:
    """The dots of one line in ``width`` × ``height`` cells; (0, 0) is above on the left.

    ``across`` and ``down`` are the size in dots.
    """

    marker: Marker
    width: int
    height: int
    across: int = field(init=False)
    down: int = field(init=False)
    _rows: list[bytearray] = field(init=False)
    _masks: tuple[tuple[tuple[int, ...], ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        per_x, per_y = self.marker.dots
        self.across, self.down = self.width * per_x, self.height * per_y
        self._rows = [bytearray(self.width) for _ in range(self.height)]
        self._masks = _MASKS[self.marker]

    def span(self, x: int, y: int, to: int) -> None:
        """Set the dots of column ``x`` from ``y`` to ``to`` (both included), as far as inside."""
        if y > to:
            y, to = to, y
        if not 0 <= x < self.across or to < 0 or y >= self.down:
            return
        per_x, per_y = len(self._masks), len(self._masks[0])
        column, part = divmod(x, per_x)
        masks = self._masks[part]
        first, above = divmod(max(0, y), per_y)
        last, below = divmod(min(self.down - 1, to), per_y)
        if first == last:
            self._rows[first][column] |= masks[above][below]
            return
        self._rows[first][column] |= masks[above][per_y - 1]
        for row in range(first + 1, last):
            self._rows[row][column] |= masks[0][per_y - 1]
        self._rows[last][column] |= masks[0][below]

    def runs(self) -> Iterator[tuple[int, int, bytes]]:
        """Cells with dots that are next to each other: row, first column, bits of each."""
        for row, cells in enumerate(self._rows):
            for found in _RUNS.finditer(cells):
                yield row, found.start(), found.group()


def _masks(form: _Form) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """``masks[x][y][to]``: the bits of a cell's column ``x`` from dot ``y`` to dot ``to``."""
    across, down = form.dots
    return tuple(
        tuple(
            tuple(sum(form.bit[dot][x] for dot in range(y, to + 1)) for to in range(down))
            for y in range(down)
        )
        for x in range(across)
    )


_MASKS = {marker: _masks(form) for marker, form in _FORMS.items()}
