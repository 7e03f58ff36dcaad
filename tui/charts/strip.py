"""Charts of one line: a sparkline, and a row of a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from textual.content import Content

from tui import marks
from tui.marks import Glyphs

# From little to much, for what has UTF-8 and what has not.
_HEAT, _HEAT_ASCII = "░▒▓█", ".:*#"
# A sparkline spans at least this share of its greatest value: noise is no cliff.
_LEAST_SPAN = 0.1


def sparkline(
    values: Sequence[float | None], cells: int, glyphs: Glyphs, *, from_zero: bool = False
) -> str:
    """``values`` from left to right in ``cells`` characters, right-aligned; ``None`` is a gap.

    Heights go from the least value, or from 0, to the greatest. Of more values than cells the
    means are drawn.
    """
    drawn = _means(values, cells) if len(values) > cells else list(values)
    known = [value for value in drawn if value is not None]
    if not known or cells < 1:
        return " " * max(0, cells)
    high = max(known)
    low = 0.0 if from_zero else min(*known, high - abs(high) * _LEAST_SPAN)
    steps = len(glyphs.bars) - 1
    text = "".join(
        " " if value is None else glyphs.bars[_step(value, low, high, steps)] for value in drawn
    )
    return text.rjust(cells)


def _step(value: float, low: float, high: float, steps: int) -> int:
    """From 1 to ``steps``: what is known is never drawn as a gap."""
    share = (value - low) / (high - low) if high > low else 0.0
    return max(1, min(steps, 1 + int(share * steps)))


def _means(values: Sequence[float | None], cells: int) -> list[float | None]:
    means: list[float | None] = []
    for cell in range(cells):
        part = values[cell * len(values) // cells : (cell + 1) * len(values) // cells]
        known = [value for value in part if value is not None]
        means.append(sum(known) / len(known) if known else None)
    return means


def heat_row(levels: Sequence[int | None], glyphs: Glyphs, styles: Sequence[str]) -> Content:
    """A cell for each of ``levels``: 0 (little) to 3 (much) in its one of four ``styles``; ``None``
    is left empty.
    """
    shades = _HEAT_ASCII if glyphs is marks.ASCII else _HEAT
    parts: list[tuple[str, str]] = []
    for level, run in groupby(levels):
        cells = len(list(run))
        parts.append((" " * cells, "") if level is None else (shades[level] * cells, styles[level]))
    return Content.assemble(*parts)
