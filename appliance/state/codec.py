"""Frozen dataclasses from JSON that may be hostile, damaged or of another version.

The dataclass is the schema: its annotations are the types, a field without a default must be
there, and :func:`bounded` adds what the annotation cannot say. An unknown key is ignored, so that
a document of a newer version can be read. The way back is :func:`dataclasses.asdict`.
"""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

_T = TypeVar("_T")
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
    assert is_dataclass(cls)  # noqa: S101 - a defect here, never the document's
    if not isinstance(document, dict):
        raise DecodeError(where, "not an object")
    values: dict[str, object] = {}
    for name, kind, own, required in _schema(cls):
        path = f"{where}.{name}" if where else name
        if name in document:
            values[name] = _value(kind, document[name], path, own or bounds)
        elif required:
            raise DecodeError(path, "missing")
    return cls(**values)


@cache
def _schema(cls: Any) -> Sequence[tuple[str, Any, Bounds | None, bool]]:  # noqa: ANN401 - a type
    """Name, type, own bounds and whether it must be there, of each field."""
    # Evaluating the hints takes longer than all the rest of a row.
    hints = get_type_hints(cls)
    return [
        (
            one.name,
            hints[one.name],
            one.metadata.get(_KEY),
            one.default is MISSING and one.default_factory is MISSING,
        )
        for one in fields(cls)
        if one.init
    ]


def _value(kind: Any, value: object, where: str, bounds: Bounds) -> object:  # noqa: ANN401 - a type hint
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        inner = next(one for one in get_args(kind) if one is not type(None))
        return None if value is None else _value(inner, value, where, bounds)
    if origin in {tuple, list}:
        return origin(_items(get_args(kind), value, where, bounds))
    if origin in {dict, Mapping}:
        return _mapping(get_args(kind)[1], value, where, bounds)
    if kind is Any or kind is object:
        return value
    if is_dataclass(kind) and isinstance(kind, type):
        return decode(kind, value, where, bounds)
    if issubclass(kind, StrEnum):
        return kind(_choice(value, where, tuple(kind)))
    if kind is str:
        return _text(value, where, bounds)
    if kind in {int, float}:
        return _number(kind, value, where, bounds)
    if not isinstance(value, kind):
        raise DecodeError(where, f"{_shown(value)} is not {_WORDS.get(kind, kind.__name__)}")
    return value


def _items(kinds: tuple[Any, ...], value: object, where: str, bounds: Bounds) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise DecodeError(where, "not a list")
    if len(kinds) == 1 or kinds[1] is Ellipsis:
        _at_most(len(value), bounds.max_items, "items", where)
        kinds = kinds[:1] * len(value)
    if len(value) != len(kinds):
        raise DecodeError(where, f"{len(value)} items, not {len(kinds)}")
    return [
        _value(kind, one, f"{where}[{at}]", bounds)
        for at, (kind, one) in enumerate(zip(kinds, value, strict=True))
    ]


def _mapping(kind: Any, value: object, where: str, bounds: Bounds) -> Mapping[str, object]:  # noqa: ANN401 - a type hint
    if not isinstance(value, dict):
        raise DecodeError(where, "not an object")
    _at_most(len(value), bounds.max_items, "keys", where)
    for key in value:
        _at_most(len(key), bounds.max_chars, "characters in a key", where)
        if bounds.keys and not re.fullmatch(bounds.keys, key, re.ASCII):
            raise DecodeError(where, f"key {_shown(key)} is not allowed")
    return {key: _value(kind, one, f"{where}.{_cut(key)}", bounds) for key, one in value.items()}


def _text(value: object, where: str, bounds: Bounds) -> str:
    if not isinstance(value, str):
        raise DecodeError(where, f"{_shown(value)} is not text")
    _at_most(len(value), bounds.max_chars, "characters", where)
    if bounds.choices:
        return _choice(value, where, bounds.choices)
    if bounds.pattern and not re.fullmatch(bounds.pattern, value, re.ASCII):
        raise DecodeError(where, f"{_shown(value)} is not allowed")
    return value


def _number(kind: type, value: object, where: str, bounds: Bounds) -> float:
    # bool is an int in Python, not in JSON.
    right = isinstance(value, int) or (kind is float and isinstance(value, float))
    if not right or isinstance(value, bool) or not isinstance(value, int | float):
        raise DecodeError(where, f"{_shown(value)} is not {_WORDS[kind]}")
    least, most = _EXTREMES[kind]
    least = least if bounds.least is None else bounds.least
    most = most if bounds.most is None else bounds.most
    # NaN compares false, so it is outside as well.
    if not least <= value <= most:
        raise DecodeError(where, f"{_shown(value)} is not between {least:g} and {most:g}")
    return float(value) if kind is float else value


def _choice(value: object, where: str, allowed: Sequence[str]) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    raise DecodeError(where, f"{_shown(value)} is not one of: {', '.join(allowed)}")


def _at_most(number: int, most: int | None, what: str, where: str) -> None:
    if most is not None and number > most:
        raise DecodeError(where, f"{number} {what}, at most {most} are allowed")


def _shown(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
