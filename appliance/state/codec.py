"""Frozen dataclasses from JSON that may be hostile, damaged or of another version.

The dataclass is the schema: its annotations are the types, a field without a default must be
there, and :func:`bounded` adds what the annotation cannot say. An unknown key is ignored, so that
a document of a newer version can be read. The way back is :func:`dataclasses.asdict`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

_T = TypeVar("_T")
Decoder = Callable[[Any], Any]
_KEY = "bounds"
_SHOWN_CHARS = 60
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_EXTREMES: Mapping[type, tuple[float, float]] = {
    # The largest that disks hold: NVMe's SMART counters have 128 bits, the product of two fields of
    # a superblock has up to 128 as well, and a hostile disk must not make a document unreadable.
    int: (-(2**127), 2**128 - 1),
    float: (-sys.float_info.max, sys.float_info.max),
}


class DecodeError(ValueError):
    """``where`` is the field (``disks[0].kind``), ``problem`` what is wrong with it."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}" if where else problem)
        self.where = where
        self.problem = problem

    def inside(self, part: str) -> DecodeError:
        """The same, seen from what has it in its field or item ``part``."""
        between = "." if part and self.where and not self.where.startswith("[") else ""
        return DecodeError(f"{part}{between}{self.where}", self.problem)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a field may hold: it, and whatever is in it that has no bounds of its own.

    ``least`` and ``most`` are for numbers; by default any whole number of 128 bits and any finite
    fraction will do. ``pattern`` and ``keys`` must match a text and a key in full.
    """

    least: float | None = None
    most: float | None = None
    max_chars: int | None = None
    max_items: int | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    keys: str = ""


_ANY = Bounds()


def bounded(*, default: Any = MISSING, **bounds: Any) -> Any:  # noqa: ANN401 - as dataclasses.field
    """A field with :class:`Bounds`, and maybe a default (a callable makes one for each value)."""
    metadata = {_KEY: Bounds(**bounds)}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def parse(cls: type[_T], raw: bytes | str, bounds: Bounds = _ANY) -> _T:
    """:func:`decode` of JSON text; :class:`DecodeError` also for what is not JSON."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DecodeError("", f"not JSON: {error}") from error
    return decode(cls, document, bounds=bounds)


def decode(cls: type[_T], document: object, where: str = "", bounds: Bounds = _ANY) -> _T:
    """``document`` as a ``cls``; ``bounds`` hold for fields that have none of their own.

    Raises :class:`DecodeError` naming the field that is missing or wrong and what is allowed.
    """
    try:
        found: _T = decoder(cast("Any", cls), bounds)(document)
    except DecodeError as error:
        raise error.inside(where) from None
    return found


def find(cls: type[_T], document: object) -> _T | None:
    """As :func:`decode`, or ``None`` for what is not one: a part without which the rest is good."""
    with contextlib.suppress(DecodeError):
        return decode(cls, document)
    return None


@cache
def decoder(kind: Any, bounds: Bounds = _ANY) -> Decoder:  # noqa: ANN401 - a type hint
    """What makes of a JSON value one of type ``kind``: made once, for hints are slow to read."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        kinds = tuple(one for one in inner if one is not type(None))
        decode = decoder(kinds[0], bounds) if len(kinds) == 1 else _of_types(*kinds)
        return (
            decode
            if len(kinds) == len(inner)
            else lambda value: None if value is None else decode(value)
        )
    if origin is tuple and inner[-1] is not Ellipsis:
        return _pair([decoder(one, bounds) for one in inner])
    if origin in {tuple, list}:
        return _items(origin, decoder(inner[0], bounds), bounds)
    if origin in {dict, Mapping}:
        return _mapping(decoder(inner[1], bounds), bounds)
    if kind is Any or kind is object:
        return lambda value: value
    if is_dataclass(kind):
        return _object(kind, bounds)
    if issubclass(kind, StrEnum):
        allowed = tuple(kind)
        return lambda value: kind(_choice(value, allowed))
    if kind is str:
        return _text(bounds)
    if kind in {int, float}:
        return _number(kind, bounds)
    return _of_types(kind)


def _object(cls: Any, bounds: Bounds) -> Decoder:  # noqa: ANN401 - a type
    hints = get_type_hints(cls)
    schema = [
        (
            one.name,
            decoder(hints[one.name], one.metadata.get(_KEY) or bounds),
            one.default is MISSING and one.default_factory is MISSING,
        )
        for one in fields(cls)
        if one.init
    ]

    def decode(document: object) -> object:
        if not isinstance(document, dict):
            raise DecodeError("", "not an object")
        values = {}
        for name, of_field, required in schema:
            if name in document:
                try:
                    values[name] = of_field(document[name])
                except DecodeError as error:
                    raise error.inside(name) from None
            elif required:
                raise DecodeError(name, "missing")
        return cls(**values)

    return decode


def _items(kind: Any, of_item: Decoder, bounds: Bounds) -> Decoder:  # noqa: ANN401 - tuple or list
    def decode(value: object) -> object:
        items = _listed(value)
        _at_most(len(items), bounds.max_items, "items")
        return kind(_each(items, itertools.repeat(of_item)))

    return decode


def _pair(of_items: Sequence[Decoder]) -> Decoder:
    def decode(value: object) -> object:
        items = _listed(value)
        if len(items) != len(of_items):
            raise DecodeError("", f"{len(items)} items, not {len(of_items)}")
        return tuple(_each(items, of_items))

    return decode


def _listed(value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise DecodeError("", "not a list")
    return value


def _each(items: Sequence[object], decoders: Iterable[Decoder]) -> list[object]:
    found: list[object] = []
    try:
        for one, decode in zip(items, decoders, strict=False):
            found.append(decode(one))
    except DecodeError as error:
        raise error.inside(f"[{len(found)}]") from None
    return found


def _mapping(of_value: Decoder, bounds: Bounds) -> Decoder:
    allowed = re.compile(bounds.keys, re.ASCII) if bounds.keys else None

    def decode(value: object) -> object:
        if not isinstance(value, dict):
            raise DecodeError("", "not an object")
        _at_most(len(value), bounds.max_items, "keys")
        if bounds.max_chars is not None or allowed:
            for key in value:
                _at_most(len(key), bounds.max_chars, "characters in a key")
                if allowed and not allowed.fullmatch(key):
                    raise DecodeError("", f"key {_shown(key)} is not allowed")
        found = {}
        for key, one in value.items():
            try:
                found[key] = of_value(one)
            except DecodeError as error:
                raise error.inside(_cut(key)) from None
        return found

    return decode


def _text(bounds: Bounds) -> Decoder:
    pattern = re.compile(bounds.pattern, re.ASCII) if bounds.pattern else None

    def decode(value: object) -> str:
        if not isinstance(value, str):
            raise DecodeError("", f"{_shown(value)} is not text")
        _at_most(len(value), bounds.max_chars, "characters")
        if bounds.choices:
            return _choice(value, bounds.choices)
        if pattern and not pattern.fullmatch(value):
            raise DecodeError("", f"{_shown(value)} is not allowed")
        return value

    return decode


def _number(kind: type, bounds: Bounds) -> Decoder:
    least, most = _EXTREMES[kind]
    least = least if bounds.least is None else bounds.least
    most = most if bounds.most is None else bounds.most

    def decode(value: object) -> float:
        # bool is an int in Python, not in JSON.
        right = type(value) is kind or (isinstance(value, int) and not isinstance(value, bool))
        if not right or not isinstance(value, int | float):
            raise DecodeError("", f"{_shown(value)} is not {_WORDS[kind]}")
        # NaN compares false, so it is outside as well, unless there is no outside.
        if not (least <= value <= most or (value != value and most == math.inf)):  # noqa: PLR0124
            raise DecodeError("", f"{_shown(value)} is not between {least:g} and {most:g}")
        # Unbounded, a number stays as it was written, also one that is too large for a float.
        return float(value) if kind is float and most != math.inf else value

    return decode


def _of_types(*kinds: type) -> Decoder:
    words = " or ".join(_WORDS.get(kind, kind.__name__) for kind in kinds)

    def decode(value: object) -> object:
        if not isinstance(value, kinds):
            raise DecodeError("", f"{_shown(value)} is not {words}")
        return value

    return decode


def _choice(value: object, allowed: Sequence[str]) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    raise DecodeError("", f"{_shown(value)} is not one of: {', '.join(allowed)}")


def _at_most(number: int, most: int | None, what: str) -> None:
    if most is not None and number > most:
        raise DecodeError("", f"{number} {what}, at most {most} are allowed")


def _shown(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
