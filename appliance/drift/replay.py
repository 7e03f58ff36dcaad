"""A series as a CSV file, slot by slot, however long it is.

Columns ``slot`` and ``value``, in any order and beside others; ``epoch`` where there is one.
Everything about the file is checked, because a wrong row would be a wrong finding.
"""

from __future__ import annotations

import csv
import math
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from appliance import text
from appliance.drift.detection.detector import Change, Detector
from appliance.errors import UsageError

_BLOCK = 1 << 20
# No row of numbers is longer; a file without line ends must not be read into memory.
_LONGEST_LINE = 1 << 16
_COLUMNS = "the first line names the columns: slot,value and, if there are several, epoch"
# How often somebody who waits is told, in rows.
_TELL_EVERY = 1 << 16


@dataclass(frozen=True, slots=True)
class Replay:
    """What a file holds: ``rows`` with a value, ``empty`` without one, and the changes."""

    detector: Detector
    rows: int
    empty: int
    epochs: int

    @property
    def changes(self) -> list[Change]:
        return self.detector.changes


def read(file: Path, tell: Callable[[int], None] | None = None) -> Replay:
    """Go through the series in ``file``; ``-`` is standard input. Memory is bounded.

    A row with an empty value is a slot without a valid measurement. ``tell`` is called now and
    then with the number of rows so far. :class:`UsageError` says which line cannot be read.
    """
    with _opened(file) as stream:
        return _replay(_Rows(stream), tell)


class _Rows:
    """The rows of a CSV stream, with the number of the line of each."""

    def __init__(self, stream: IO[str]) -> None:
        self._reader = csv.reader(_lines(stream), strict=True)

    @property
    def line(self) -> int:
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        try:
            yield from self._reader
        except csv.Error as error:
            raise UsageError(f"line {self.line}: {error}", "give a CSV file; " + _COLUMNS) from None


def _replay(rows: _Rows, tell: Callable[[int], None] | None) -> Replay:
    each = iter(rows)
    header = next(each, None)
    if header is None:
        raise UsageError("the file is empty", _COLUMNS)
    slot_at, value_at, epoch_at = _columns(header)
    width = max(slot_at, value_at, epoch_at) + 1
    detector = Detector()
    add, isfinite = detector.add, math.isfinite
    last, epoch, epochs, count, empty = -math.inf, "", 0, 0, 0
    for row in each:
        if len(row) < width:
            if not "".join(row).strip():
                continue
            raise UsageError(
                f"line {rows.line}: {len(row)} fields, and the header has {len(header)}",
                "one row a slot, with all columns of the header",
            )
        try:
            slot = int(row[slot_at])
        except ValueError:
            slot = _slot(row[slot_at], rows.line)
        if epoch_at >= 0 and row[epoch_at] != epoch:
            epoch, last = row[epoch_at], -math.inf
            epochs += 1
        if slot <= last:
            raise UsageError(
                f"line {rows.line}: slot {slot} after slot {last}",
                "slots ascend, one row for each; a new epoch may start again",
            )
        last = slot
        try:
            value = float(row[value_at])
        except ValueError:
            _require_empty(row[value_at], rows.line)
            empty += 1
            continue
        if not isfinite(value) or "_" in row[value_at]:
            _require_empty(row[value_at], rows.line)
        add(slot, value, epoch)
        count += 1
        if tell is not None and not count % _TELL_EVERY:
            tell(count)
    return Replay(detector, count, empty, max(epochs, 1))


def _columns(header: list[str]) -> tuple[int, int, int]:
    """Where slot, value and epoch stand; epoch -1 if there is none."""
    names = [name.strip().lower() for name in header]
    for name in ("slot", "value", "epoch"):
        if names.count(name) != 1 and (name != "epoch" or name in names):
            shown = text.printable(",".join(header)[:60])
            how = "is there twice" if name in names else "is missing"
            raise UsageError(f"line 1: column {name} {how} in {shown!r}", _COLUMNS)
    return (
        names.index("slot"),
        names.index("value"),
        names.index("epoch") if "epoch" in names else -1,
    )


def _slot(field: str, line: int) -> int:
    """A slot that is written as a whole float, as spreadsheets do after a gap."""
    try:
        number = float(field)
    except ValueError:
        number = math.nan
    if number.is_integer() and abs(number) < 2**53:
        return int(number)
    raise UsageError(
        f"line {line}: slot {text.printable(field[:40])!r} is not a whole number",
        "number the slots, for example 0, 1, 2",
    )


def _require_empty(field: str, line: int) -> None:
    if field.strip():
        raise UsageError(
            f"line {line}: value {text.printable(field[:40])!r} is not a finite number",
            "a decimal number such as 412279.5, or nothing for a slot without a measurement",
        )


def _lines(stream: IO[str]) -> Iterator[str]:
    """The lines of a text stream, read in blocks; none may be endless."""
    rest, number = "", 0
    while block := stream.read(_BLOCK):
        lines = (rest + block).split("\n")
        rest = lines.pop()
        if len(rest) > _LONGEST_LINE:
            raise UsageError(
                f"line {number + len(lines) + 1} is longer than {_LONGEST_LINE} characters",
                "that is no CSV of slots and values; " + _COLUMNS,
            )
        number += len(lines)
        yield from lines
    if rest:
        yield rest


@contextmanager
def _opened(file: Path) -> Iterator[IO[str]]:
    """The file as text, without its byte order mark; :class:`UsageError` if it cannot be read."""
    hint = "give a CSV file; " + _COLUMNS
    name = text.printable(str(file))
    try:
        if str(file) == "-":
            descriptor = os.dup(sys.stdin.fileno())
        else:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        why = os.strerror(error.errno or 0) if isinstance(error, OSError) else str(error)
        raise UsageError(f"{name}: {why}", hint) from None
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{name} is a directory", hint)
    with os.fdopen(descriptor, encoding="utf-8-sig", newline="") as stream:
        try:
            yield stream
        except UnicodeDecodeError:
            raise UsageError(f"{name} is not UTF-8 text", hint) from None
        except UsageError as error:
            raise UsageError(f"{name}: {error.message}", error.hint) from None
        except OSError as error:
            raise UsageError(f"{name}: {os.strerror(error.errno or 0)}", hint) from None
