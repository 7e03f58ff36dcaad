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
from typing import IO, TYPE_CHECKING

from appliance import text
from appliance.drift.detection.detector import Detector
from appliance.drift.detection.settling import Change
from appliance.errors import UsageError

if TYPE_CHECKING:
    from _csv import Reader

_BLOCK = 1 << 20
# No row of numbers is longer; a file without line ends must not be read into memory.
_LONGEST_LINE = 1 << 16
# Nanoseconds since 1970 have nineteen digits.
_LONGEST_SLOT = 40
_COLUMNS = "the first line names the columns: slot,value and, if there are several, epoch"
# Values farther from one are no measurement, and nearer to the ends of a double the detector's
# scales are not exact.
_SMALLEST = 1e-290
_LARGEST = 1e290
# How often progress is reported, in rows.
_TELL_EVERY = 1 << 16


@dataclass(frozen=True, slots=True)
class Replay:
    """What a file holds: ``rows`` with a value, ``empty`` without one, and the changes.

    ``epochs`` counts how often the column has another word than in the row before, the first
    row included; an empty word is one, too.
    """

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
        rows = csv.reader(_lines(stream), strict=True)
        try:
            return _replay(rows, tell)
        except csv.Error as error:
            raise UsageError(
                f"line {rows.line_num}: {_not_csv(str(error))}", "give a CSV file; " + _COLUMNS
            ) from None


def _not_csv(said: str) -> str:
    """What Python's reader says of a line (Modules/_csv.c), in words about the file."""
    known = {
        "field larger": f"a field is longer than {csv.field_size_limit()} characters;"
        " is a quotation mark never closed?",
        "new-line character": "a carriage return within the line; a line ends with LF or CR LF",
        "unexpected end": "a quotation mark is never closed",
        "expected after": "after a closing quotation mark there must be a comma",
    }
    return next((ours for theirs, ours in known.items() if theirs in said), "not CSV")


def _replay(rows: Reader, tell: Callable[[int], None] | None) -> Replay:
    header = next(rows, None)
    if header is None:
        raise UsageError("the file is empty", _COLUMNS)
    slot_at, value_at, epoch_at = _columns(header)
    width = max(slot_at, value_at, epoch_at) + 1
    detector = Detector()
    add = detector.add
    epoch: str | None = None
    last, epochs, count, empty = -math.inf, 0, 0, 0
    for row in rows:
        if len(row) < width:
            if not "".join(row).strip():
                continue
            raise UsageError(
                f"line {rows.line_num}: {len(row)} fields, and the header has {len(header)}",
                "one row a slot, with all columns of the header",
            )
        field = row[slot_at]
        if field.isdecimal() and field.isascii() and len(field) < _LONGEST_SLOT:
            slot = int(field)
        else:
            slot = _slot(field, rows.line_num)
        if epoch_at >= 0 and row[epoch_at] != epoch:
            epoch, last = row[epoch_at], -math.inf
            epochs += 1
        if slot <= last:
            raise UsageError(
                f"line {rows.line_num}: slot {slot} after slot {last}",
                "slots ascend, one row for each; a new epoch may start again",
            )
        last = slot
        try:
            value = float(row[value_at])
        except ValueError:
            _require_empty(row[value_at], rows.line_num)
            empty += 1
            continue
        if not _SMALLEST <= abs(value) <= _LARGEST or "_" in row[value_at]:
            _require_usable(value, row[value_at], rows.line_num)
        add(slot, value, epoch or "")
        count += 1
        if tell is not None and not count % _TELL_EVERY:
            tell(count)
    return Replay(detector, count, empty, max(epochs, 1))


def _columns(header: list[str]) -> tuple[int, int, int]:
    """Where slot, value and epoch stand; epoch -1 if there is none."""
    names = [name.strip().lower() for name in header]
    for name in ("slot", "value", "epoch"):
        if names.count(name) != 1 and (name != "epoch" or name in names):
            shown = _shown(",".join(header)[:60])
            how = "is there twice" if name in names else "is missing"
            raise UsageError(
                f"line 1: column {name} {how} in {shown}{_separated(header)}", _COLUMNS
            )
    return (
        names.index("slot"),
        names.index("value"),
        names.index("epoch") if "epoch" in names else -1,
    )


def _separated(header: list[str]) -> str:
    """What else a header may be separated by, as some spreadsheets do; empty if by commas."""
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and separator in header[0]:
            return f": it is separated by {name}, and commas are needed"
    return ""


def _slot(field: str, line: int) -> int:
    """A slot with a sign, or written as a whole float, as spreadsheets do after a gap."""
    try:
        number = float(field) if field.isascii() and "_" not in field else math.nan
    except ValueError:
        number = math.nan
    if number.is_integer() and abs(number) < 2**53:
        return int(number)
    raise UsageError(
        f"line {line}: slot {_shown(field[:40])} is not a whole number",
        "number the slots, for example 0, 1, 2",
    )


def _require_empty(field: str, line: int) -> None:
    if field.strip():
        raise UsageError(
            f"line {line}: value {_shown(field[:40])} is not a finite number",
            "a decimal number such as 412279.5, or nothing for a slot without a measurement",
        )


def _require_usable(value: float, field: str, line: int) -> None:
    """``value`` is zero; everything else that is told apart from a usual number is refused."""
    if "_" in field or not math.isfinite(value):
        _require_empty(field, line)
    # What is too small for a double is read as zero, and is not.
    if value or field.lower().partition("e")[0].strip(" +-0."):
        raise UsageError(
            f"line {line}: value {_shown(field[:40])} is too large or too small",
            f"values lie between {_SMALLEST:g} and {_LARGEST:g}, or are 0: use another unit",
        )


def _shown(field: str) -> str:
    """A part of the file in quotes, with what could steer a terminal escaped once."""
    return f"'{text.printable(field)}'"


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
    name = "standard input" if str(file) == "-" else text.printable(str(file))
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
