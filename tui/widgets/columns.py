"""Columns: what stands in each, how wide it is, and rows drawn of them; pure.

One model for tables with a cursor (:mod:`tui.widgets.table`) and for lists in panels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from textual.content import Content

from tui import marks
from tui.marks import Glyphs, Mark
from tui.widgets.panel import Line, cell, clean

T = TypeVar("T")
# What stands in a cell: its text, and a style that is a theme variable or empty.
Cell = tuple[str, str]
_LEAST_CELLS = 4


@dataclass(frozen=True, slots=True)
class Column:
    """``cells`` wide; the one that ``grows`` takes what the others leave.

    ``get`` gives what stands there for an item, ``sort`` what it is sorted by if not by its text
    (``None`` is below everything).
    ``wide`` is the width from which on there is room for it. Without ``sorts`` the text has no
    order that means something.
    """

    name: str
    cells: int
    right: bool = False
    grows: bool = False
    # Not compared: these are made again with each drawing.
    get: Callable[[Any], Cell] | None = field(default=None, compare=False)
    sort: Callable[[Any], Any] | None = field(default=None, compare=False)
    wide: int = 0
    sorts: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """``key`` is the row's identity, ``also`` is more text that the filter finds. ``order`` is by
    column what is sorted by, if not the text.
    """

    key: str
    cells: tuple[Cell, ...]
    also: str = ""
    order: tuple[tuple[Any, ...], ...] = ()

    def matches(self, words: Sequence[str]) -> bool:
        """Whether every one of ``words`` (lower case) is somewhere in the row."""
        text = " ".join((*(text for text, _ in self.cells), self.also)).lower()
        return all(word in text for word in words)

    def rank(self, column: int) -> tuple[Any, ...]:
        """What the row is sorted by in ``column``: a text by the value it begins with, if any."""
        if self.order:
            return self.order[column]
        text = self.cells[column][0].lower()
        figure = _FIGURE.match(text)
        if figure is None:
            return 0, 0.0, text
        return 1, float(figure[1].replace(",", "")) * _SCALES.get(figure[2], 1.0), text


# In lower case, as they begin the text of a cell: 1.9k, 378 µs, 3.41 tib, -12 %.
_FIGURE = re.compile(r"(?:\S )?([-+]?\d[\d,]*(?:\.\d+)?) ?([a-zµ]*)")
_SCALES = {
    "k": 1e3, "m": 1e6, "g": 1e9,
    "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40, "pib": 2.0**50,
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "min": 60.0, "h": 3600.0, "d": 86400.0,
    "days": 86400.0,
}  # fmt: skip


def marked(mark: Mark) -> Cell:
    """``mark`` as what stands in a cell."""
    return mark.text, mark.style


def row(columns: Sequence[Column], item: object, *, key: str, also: str = "") -> Row:
    """The row of ``item``."""
    cells = tuple(("", "") if one.get is None else one.get(item) for one in columns)
    made = Row(key, cells, also)
    if all(one.sort is None for one in columns):
        return made
    order = tuple(
        made.rank(at) if one.sort is None else (one.sort(item) is not None, one.sort(item))
        for at, one in enumerate(columns)
    )
    return replace(made, order=order)


def fitted(columns: Iterable[Column], width: int, gap: int) -> dict[int, Column]:
    """By place those that there is room for; the one that grows is as wide as it can be.

    ``gap`` cells are between two.
    """
    shown = {at: one for at, one in enumerate(columns) if one.wide <= width}
    fixed = sum(one.cells for one in shown.values() if not one.grows) + gap * (len(shown) - 1)
    return {
        at: replace(one, cells=max(one.cells, _LEAST_CELLS, width - fixed)) if one.grows else one
        for at, one in shown.items()
    }


def lines(
    columns: Sequence[Column],
    items: Iterable[T],
    *,
    width: int,
    glyphs: Glyphs,
    gap: int = 2,
    heading: bool = True,
    chosen: T | None = None,
) -> list[Line]:
    """A line for each of ``items``, below one with the names of the columns.

    With ``chosen`` each begins with the sign of the cursor or a blank.
    """
    lead = 0 if chosen is None else 2
    shown = list(fitted(columns, width - lead, gap).values())
    last = shown[-1]
    room = width - lead - sum(one.cells for one in shown) - gap * (len(shown) - 1)
    names = (" " * gap).join(cell(one.name, one.cells, glyphs, right=one.right) for one in shown)
    drawn = [Content.styled(" " * lead + names.rstrip(), marks.MUTED)] if heading else []
    for item in items:
        parts: list[str | tuple[str, str]] = []
        if chosen is not None:
            parts.append((f"{glyphs.cursor} " if item == chosen else "  ", marks.TITLE))
        for one in shown:
            text, style = ("", "") if one.get is None else one.get(item)
            fit = cell(clean(text), one.cells, glyphs, right=one.right)
            # Where all is too wide, only the rows that are so are cut.
            if one is last and room < 0:
                fit = fit.rstrip()
            parts += [(fit, style), " " * gap]
        drawn.append(Content.assemble(*parts[:-1]))
    return drawn
