"""Typed access to the tables of a TOML document, with errors that name the place. Pure.

Each reader fails with a :class:`UsageError` that says file, table, key, the line if it can be
found, what is wrong, and what is allowed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from appliance.errors import UsageError
from appliance.text import printable

UNITS = {
    "B": 1,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
    "us": 1,
    "ms": 1000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
}
_TIMES = frozenset({"us", "ms", "s", "min", "h"})
_AMOUNT = re.compile(r"([0-9]{1,12})([A-Za-z]+)(/s)?", re.ASCII)
_PRINTABLE = re.compile(r"[!-~](?:[ -~]*[!-~])?", re.ASCII)

_KEY_PARTS = 16
# Possessive, and from the beginning of a word: the time that this takes grows with the text alone.
_LONG_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    rf"{{{_KEY_PARTS}}}",
    re.ASCII,
)
# What is wrong may be as long as the document.
_SHOWN_CHARACTERS = 80


def shown(value: object) -> str:
    """``value`` of a document as it may stand in a message: printable, and not too long."""
    try:
        found = repr(value)
    except (ValueError, RecursionError):
        # A whole number of thousands of digits, which Python does not write out.
        found = "what is there"
    return _short(found)


def _short(words: str) -> str:
    words = printable(words)
    return words if len(words) <= _SHOWN_CHARACTERS else f"{words[:_SHOWN_CHARACTERS]}…"


class FieldError(UsageError):
    """A key of a document is wrong: ``place`` names its table and it (``volume[2].chunk``)."""

    def __init__(self, source: str, place: str, line: int | None, what: str, hint: str) -> None:
        where = f" (line {line})" if line else ""
        super().__init__(f"{source}: {place}{where}: {what}", hint)
        self.place = place
        self.what = what


@dataclass(frozen=True, slots=True)
class Document:
    """The file that errors name, and its text, in which lines are looked up."""

    source: str
    text: str

    def fail(self, place: str, what: str, hint: str, line: int | None = None) -> NoReturn:
        raise FieldError(self.source, _short(place), line, what, hint)

    def line_of(self, table: str, number: int, key: str) -> int | None:
        """The line of ``key`` in the ``number``-th ``[[table]]`` (or in ``[table]``).

        It is looked for in the text, because tomllib tells no places; a key that is written in
        an unusual way has no line in the message.
        """
        header = re.compile(rf"\s*\[\[?\s*{table}\s*\]")
        wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
        seen, inside = 0, False
        for at, line in enumerate(self.text.splitlines(), start=1):
            if line.lstrip().startswith("["):
                inside = False
                if header.match(line):
                    seen += 1
                    inside = seen == number
                    if inside and not key:
                        return at
            elif inside and wanted.match(line):
                return at
        return None

    def table(self, values: Mapping[str, object], name: str) -> Table:
        """The table ``[name]``; an empty one where it is not there."""
        found = values.get(name, {})
        if not isinstance(found, dict):
            self.fail(name, "not a table", f"write it as one [{name}] table")
        return Table(found, self, name)

    def tables(self, values: Mapping[str, object], name: str) -> list[Table]:
        """Each ``[[name]]``, in order."""
        found = values.get(name, [])
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            self.fail(name, "not a list of tables", f"write each as its own [[{name}]] table")
        return [Table(one, self, name, number) for number, one in enumerate(found, start=1)]


def parse_document(source: str, text: str, hint: str) -> tuple[Document, dict[str, Any]]:
    """The document that errors name, and what ``text`` holds; :class:`UsageError` if not TOML."""
    try:
        values = read_toml(text)
    except ValueError as error:
        raise UsageError(f"{source}: not valid TOML: {_short(str(error))}", hint) from error
    return Document(source, text), values


def read_toml(text: str) -> dict[str, Any]:
    """``text`` from an untrusted source. :class:`ValueError` for what is not TOML, nested more
    deeply than the parser can follow, or has numbers or keys that are too long for it.
    """
    # A key of thousands of parts takes seconds and gigabytes.
    if _LONG_KEY.search(text):
        raise ValueError(f"a key of more than {_KEY_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


@dataclass(frozen=True, slots=True)
class Table:
    """One table: ``name`` and ``number`` say which, ``within`` the key it is the value of."""

    values: Mapping[str, object]
    document: Document
    name: str
    number: int | None = None
    within: str = ""

    def fail(self, key: str, what: str, hint: str) -> NoReturn:
        index = "" if self.number is None else f"[{self.number}]"
        place = ".".join(part for part in (f"{self.name}{index}", self.within, key) if part)
        line = self.document.line_of(self.name, self.number or 1, self.within or key)
        line = line or self.document.line_of(self.name, self.number or 1, "")
        self.document.fail(place, what, hint, line)

    def only(self, allowed: Collection[str]) -> None:
        """Refuse any key that is not ``allowed``."""
        for key in self.values:
            if key not in allowed:
                self.fail(key, "unknown key", f"allowed: {', '.join(allowed)}")

    def text(self, key: str, default: str | None = None, *, pattern: str = "", hint: str) -> str:
        """A string; it must be there unless there is a ``default``."""
        if key not in self.values:
            if default is None:
                self.fail(key, "missing", hint)
            return default
        value = self.values[key]
        if not isinstance(value, str):
            self.fail(key, f"{shown(value)} is not text", f'write it as {key} = "...": {hint}')
        if pattern and not re.fullmatch(pattern, value, re.ASCII):
            self.fail(key, f"{shown(value)} is not allowed", hint)
        return value

    def words(self, key: str, hint: str) -> tuple[str, ...]:
        """A list of strings that can be printed, none of them twice; empty if it is not there."""
        if key not in self.values:
            return ()
        value = self.values[key]
        if not isinstance(value, list) or not value:
            self.fail(
                key, "not a list with something in it", f'write it as {key} = ["..."]: {hint}'
            )
        for one in value:
            if not isinstance(one, str) or not _PRINTABLE.fullmatch(one):
                self.fail(key, f"{shown(one)} is not printable text", hint)
        for at, one in enumerate(value):
            if one in value[:at]:
                self.fail(key, f"{shown(one)} is there twice", hint)
        return tuple(value)

    def printable(self, key: str, hint: str) -> str:
        """A string of printable ASCII, or an empty one where there is none."""
        value = self.text(key, "", hint=hint)
        if value and not _PRINTABLE.fullmatch(value):
            self.fail(key, f"{shown(value)} is not printable text", hint)
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        hint = f"allowed: {', '.join(allowed)}"
        value = self.text(key, default, hint=hint)
        if key in self.values and value not in allowed:
            self.fail(key, f"{shown(value)} is not supported", hint)
        return value

    def number_in(self, key: str, low: int, high: int) -> int | None:
        """A whole number, ``None`` if it is not there."""
        if key not in self.values:
            return None
        value = self.values[key]
        hint = f"a whole number from {low} to {high}"
        # bool is an int in Python, not in TOML.
        if type(value) is not int:
            self.fail(key, f"{shown(value)} is not a whole number", hint)
        if not low <= value <= high:
            self.fail(key, f"{value} is out of range", hint)
        return value

    def flag(self, key: str) -> bool | None:
        """True or false, ``None`` if it is not there."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            self.fail(
                key, f"{shown(value)} is neither true nor false", f"write {key} = true or false"
            )
        return value

    def amount(
        self, key: str, low: str, high: str, *, step: str = "", power: bool = False
    ) -> int | None:
        """A size, rate or time in the units of ``low`` and ``high``, in bytes or microseconds.

        ``step``: it must be a multiple of that; ``power``: a power of two. ``None`` if it is not
        there.
        """
        if key not in self.values:
            return None
        kind = "a power of two" if power else f"a multiple of {step}" if step else ""
        hint = ", ".join(part for part in (f'from "{low}" to "{high}"', kind) if part)
        text = self.text(key, hint=hint)
        value, rate, time = _amount(text)
        wanted = _amount(low)
        fits = (
            value >= 0
            and (rate, time) == wanted[1:]
            and wanted[0] <= value <= _amount(high)[0]
            and (not step or value % _amount(step)[0] == 0)
            and (not power or value & (value - 1) == 0)
        )
        if not fits:
            self.fail(key, f"{shown(text)} is not allowed", hint)
        return value

    def table(self, key: str, hint: str) -> Table | None:
        """An inline table, ``None`` if it is not there."""
        if key not in self.values:
            return None
        value = self.values[key]
        if not isinstance(value, dict):
            self.fail(key, "not a table", hint)
        return Table(value, self.document, self.name, self.number, within=key)


def _amount(text: str) -> tuple[int, bool, bool]:
    """(value, is it a rate, is it a time); the value is -1 for anything else."""
    found = _AMOUNT.fullmatch(text)
    if not found or found[2] not in UNITS:
        return -1, False, False
    time = found[2] in _TIMES
    return int(found[1]) * UNITS[found[2]], found[3] is not None, time
