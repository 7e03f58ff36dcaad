"""Plain text for people: sizes, rates, times, and hostile strings made visible; and what a document
has of a value.
"""

from __future__ import annotations

import datetime
import math
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Any

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DECIMAL = ("", "k", "M", "G")
_BOTH_DIRECTIONS = frozenset({"rw", "readwrite", "randrw"})
# What every terminal shows, and a mail, and a ticket.
WIDTH = 80
# Categories of Unicode whose characters steer, or are not to be seen.
_UNSHOWN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# A last column narrower than this is not folded: a word a line is harder to read than a long line.
_LEAST_FOLDED = 12


def printable(text: str) -> str:
    r"""``text`` with everything that could steer a terminal shown as ``\x1b``-like escapes.

    Control, format (bidirectional overrides), surrogate and private characters and Unicode's
    own ends of lines are escaped; markup such as ``[red]`` is left alone, because nothing here
    interprets it.
    """
    # Nearly always: Python calls all of those and some blanks not printable (str.isprintable).
    if text.isprintable():
        return text
    return "".join(
        char
        if unicodedata.category(char) not in _UNSHOWN
        else char.encode("unicode_escape", "surrogatepass").decode("ascii")
        for char in text
    )


def bounded(text: str, most: int) -> str:
    """``text`` made :func:`printable`, and cut with an ellipsis to ``most`` characters."""
    line = printable(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def size(size_bytes: float) -> str:
    """Bytes in binary units with three significant figures: ``3.49 TiB``."""
    value, unit = float(size_bytes), 0
    while abs(value) >= 1024 and unit < len(_BINARY) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if value == int(value) or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {_BINARY[unit]}"


def bandwidth(bytes_per_second: float) -> str:
    """Bytes a second, in binary units: ``1.95 GiB/s``."""
    return f"{size(bytes_per_second)}/s"


def count(value: float) -> str:
    """A count or rate in decimal units with three or four significant figures: ``412.3k``."""
    unit = 0
    while abs(value) >= 1000 and unit < len(_DECIMAL) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f}" if unit == 0 else f"{value:.1f}{_DECIMAL[unit]}"


def latency(latency_ns: float) -> str:
    """Nanoseconds in the unit that suits: ``83.4 µs``, ``1.20 ms``."""
    if latency_ns < 1_000_000:
        return f"{latency_ns / 1_000:.1f} µs"
    if latency_ns < 1_000_000_000:
        return f"{latency_ns / 1_000_000:.2f} ms"
    return f"{latency_ns / 1_000_000_000:.2f} s"


def workload(
    rw: str,
    *,
    block_size_bytes: int | None,
    iodepth: int | None,
    jobs: int | None,
    direction: str = "",
) -> str:
    """What was asked of the disks, as every screen, table and report writes it:
    ``randread 4 KiB QD 32 × 8`` is fio's pattern, the block size, and the iodepth of each of 8
    jobs. ``?`` is what is not known. ``direction`` is said where ``rw`` leaves it open.
    """
    pattern = rw or direction or "?"
    if direction and rw in _BOTH_DIRECTIONS:
        pattern += f" {direction}"
    block = size(block_size_bytes) if block_size_bytes else "?"
    beside = f" × {jobs}" if jobs and jobs > 1 else ""
    return f"{pattern} {block} QD {iodepth or '?'}{beside}"


def duration(seconds: float) -> str:
    """Seconds as ``42 s``, ``3 min 05 s`` or ``2 h 10 min``; ``?`` for what is no number."""
    if not math.isfinite(seconds):
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def moment(at: float | None) -> str:
    """Seconds since the epoch as UTC to the second, or ``-``; ``?`` for what is in no calendar,
    as a damaged history may have it.
    """
    if at is None:
        return "-"
    try:
        then = datetime.datetime.fromtimestamp(at, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return "?"
    return then.strftime("%Y-%m-%d %H:%M:%SZ")


def wrapped(line: str, *, indent: str) -> list[str]:
    """``line`` made :func:`printable`, in lines of 80 columns, those after the first indented."""
    return textwrap.wrap(
        printable(line),
        WIDTH,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def table(rows: Sequence[tuple[str, ...]], *, fold: bool = False) -> str:
    """Rows (the first is the heading) in aligned columns, each cell made :func:`printable`.

    With ``fold`` the last column goes on below itself where it does not end at column 80.
    """
    clean = [tuple(printable(cell) for cell in row) for row in rows]
    widths = [max(len(row[column]) for row in clean) for column in range(len(clean[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in clean
    ]
    last = sum(widths[:-1]) + 2 * len(widths[:-1])
    if not fold or last > WIDTH - _LEAST_FOLDED:
        return "\n".join(lines)
    below = "\n" + " " * last
    return "\n".join(
        (line[:last] + below.join(_folded(line[last:], WIDTH - last))).rstrip() for line in lines
    )


def _folded(cell: str, width: int) -> list[str]:
    return textwrap.wrap(cell, width, break_on_hyphens=False, break_long_words=False) or [""]


def fields(one: object, names: str) -> dict[str, Any]:
    """The attributes ``names``, separated by blanks, for a document."""
    return {name: getattr(one, name) for name in names.split()}
