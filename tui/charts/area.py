"""A small area chart of the last minutes, drawn with characters."""

from __future__ import annotations

from collections.abc import Sequence


def columns(
    points: Sequence[tuple[float, float]], *, now: float, seconds: float, width: int
) -> list[float | None]:
    """Mean value for each of ``width`` equal spans of the ``seconds`` before ``now``.

    ``points`` are (time, value) in ascending time. A span without a point is ``None``, so
    that a gap in the feed shows as a gap; but where points are sparser than columns,
    the columns between two neighbouring points repeat the later one.
    """
    sums = [0.0] * width
    counts = [0] * width
    last = None
    for at, value in points:
        index = min(width - 1, int((at - (now - seconds)) / seconds * width))
        if index < 0 or at > now:
            continue
        sums[index] += value
        counts[index] += 1
        if last is not None and index - last > 1 and index - last <= _sparse(width, seconds):
            for between in range(last + 1, index):
                sums[between], counts[between] = value, 1
        last = index
    return [total / count if count else None for total, count in zip(sums, counts, strict=True)]


def _sparse(width: int, seconds: float) -> int:
    """Columns that two points a second or two apart may be from each other."""
    return int(2.5 * width / seconds) + 1


def scale(peak: float, *, binary: bool) -> float:
    """Least round number not below ``peak``: 1, 2 or 5 times a power of ten (or of two)."""
    if peak <= 0:
        return 0.0
    unit = 1.0
    if binary:
        while peak >= unit * 1024:
            unit *= 1024
    step = unit
    while True:
        for factor in (1, 2, 5):
            if peak <= step * factor:
                return step * factor
        step *= 10


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
