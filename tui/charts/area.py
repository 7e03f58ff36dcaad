"""Areas made of one filled column a cell. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def area(values: Sequence[float | None], *, height: int, top: float, bars: str) -> list[str]:
    """Rows, highest first, of an area chart in which ``top`` is the full height.

    ``bars`` are the fillings of one character from empty to full. What is above zero
    always shows at least the lowest filling, so that little is not nothing; ``None`` is
    empty.
    """
    levels = len(bars) - 1
    heights = [_level(value, height * levels, top) for value in values]
    rows = []
    for row in range(height - 1, -1, -1):
        base = row * levels
        rows.append("".join(bars[min(levels, max(0, level - base))] for level in heights))
    return rows


def _level(value: float | None, steps: int, top: float) -> int:
    if value is None or value <= 0 or top <= 0:
        return 0
    return max(1, min(steps, round(value / top * steps)))
