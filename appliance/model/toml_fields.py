"""Tables of a TOML document as lists of fields, each read, rendered and shown from one line. Pure.

:func:`read` and :func:`rows` are each other's inverse over the same list; a form takes the texts
of the same kinds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appliance.model.toml_table import UNITS, Table, shown
from appliance.text import printable

# More digits than any number has that is meant.
_DIGITS = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Only:
    """Which ``values`` of another ``key`` a key goes with; ``why`` it does not with others."""

    key: str
    values: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a table, and the attribute that it is read into (the key, if not given).

    ``required``: it must be there. ``always``: it is rendered where it is the default, too.
    """

    key: str
    kind: Kind
    attribute: str = ""
    only: Only | None = None
    required: bool = False
    always: bool = False

    @property
    def name(self) -> str:
        return self.attribute or self.key

    def fits(self, values: Mapping[str, Any]) -> bool:
        """Whether the key goes with the ``values`` (by attribute) that were read before it."""
        return self.only is None or values[self.only.key] in self.only.values


class Kind:
    """What a value may be. ``text`` is how an operator types it, ``toml`` that with its quotes,
    right or wrong: what is wrong with it, reading says.
    """

    def read(self, table: Table, key: str) -> Any:  # noqa: ANN401 - each kind has its own
        raise NotImplementedError

    def text(self, value: Any) -> str:  # noqa: ANN401
        return str(value)

    def toml(self, text: str) -> str:
        return quoted(text)

    def render(self, value: Any) -> str:  # noqa: ANN401
        return self.toml(self.text(value))


def read(table: Table, fields: Sequence[Field], default: object) -> dict[str, Any]:
    """The attributes that ``fields`` declare: as given, else as ``default`` has them.

    Refuses any other key, and one that another key's value rules out.
    """
    table.only(list(dict.fromkeys(field.key for field in fields)))
    found: dict[str, Any] = {}
    for field in fields:
        given, fits, only = field.key in table.values, field.fits(found), field.only
        if given and only and not fits:
            if only.why:
                table.fail(field.key, only.why, "leave it out")
            table.fail(
                field.key,
                f"this volume has {only.key} {shown(found[only.key])}",
                f"only with {only.key} = {' or '.join(map(repr, only.values))}",
            )
        if fits and (given or field.required):
            found[field.name] = field.kind.read(table, field.key)
        else:
            found.setdefault(field.name, getattr(default, field.name))
    return found


def rows(fields: Sequence[Field], value: object, default: object) -> list[tuple[str, str]]:
    """Key and TOML value of all that ``value`` has other than ``default``, or always."""
    values = {field.name: getattr(value, field.name) for field in fields}
    return [
        (field.key, field.kind.render(values[field.name]))
        for field in fields
        if field.fits(values)
        and (field.always or values[field.name] != getattr(default, field.name))
    ]


@dataclass(frozen=True, slots=True)
class Text(Kind):
    hint: str
    pattern: str = ""

    def read(self, table: Table, key: str) -> str:
        return table.text(key, pattern=self.pattern, hint=self.hint)


@dataclass(frozen=True, slots=True)
class Printable(Kind):
    hint: str

    def read(self, table: Table, key: str) -> str:
        return table.printable(key, self.hint)


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One of ``allowed``, as what ``into`` makes of it."""

    allowed: tuple[str, ...]
    into: Callable[[str], str] = str

    def read(self, table: Table, key: str) -> str:
        return self.into(table.choice(key, self.allowed, ""))


@dataclass(frozen=True, slots=True)
class Words(Kind):
    hint: str

    def read(self, table: Table, key: str) -> tuple[str, ...]:
        return table.words(key, self.hint)

    def text(self, value: Sequence[str]) -> str:
        return " ".join(value)

    def toml(self, text: str) -> str:
        return listed(text.split())

    def render(self, value: Sequence[str]) -> str:
        return listed(value)


@dataclass(frozen=True, slots=True)
class Whole(Kind):
    low: int
    high: int

    def read(self, table: Table, key: str) -> int | None:
        return table.number_in(key, self.low, self.high)

    def toml(self, text: str) -> str:
        return str(int(text)) if _DIGITS.fullmatch(text) else quoted(text)


@dataclass(frozen=True, slots=True)
class Flag(Kind):
    def read(self, table: Table, key: str) -> bool | None:
        return table.flag(key)

    def text(self, value: object) -> str:
        return "true" if value else "false"

    def toml(self, text: str) -> str:
        return text if text in {"true", "false"} else quoted(text)


@dataclass(frozen=True, slots=True)
class Size(Kind):
    """Bytes, or bytes a second where the bounds are rates."""

    low: str
    high: str
    step: str = ""
    power: bool = False

    def read(self, table: Table, key: str) -> int | None:
        return table.amount(key, self.low, self.high, step=self.step, power=self.power)

    def text(self, value: int) -> str:
        return size_text(value) + ("/s" if self.low.endswith("/s") else "")


@dataclass(frozen=True, slots=True)
class Time(Kind):
    """A time in ``unit``, a whole number or not; ``shown`` is the unit that it is written in."""

    low: str
    high: str
    unit: str = "s"
    shown: str = "s"
    step: str = ""
    whole: bool = False

    def read(self, table: Table, key: str) -> float:
        found = table.amount(key, self.low, self.high, step=self.step) or 0
        return found // UNITS[self.unit] if self.whole else found / UNITS[self.unit]

    def text(self, value: float) -> str:
        return f"{round(value * UNITS[self.unit] / UNITS[self.shown])}{self.shown}"


@dataclass(frozen=True, slots=True)
class Inline(Kind):
    """A table of its own; ``into`` makes of it what ``default`` is one of."""

    fields: tuple[Field, ...]
    default: Any
    hint: str

    def read(self, table: Table, key: str) -> Any:  # noqa: ANN401
        inner = table.table(key, self.hint)
        return (
            self.default
            if inner is None
            else type(self.default)(**read(inner, self.fields, self.default))
        )

    def text(self, value: object) -> str:
        return inline(rows(self.fields, value, self.default))

    def toml(self, text: str) -> str:
        return text


def table_text(header: str, found: Sequence[tuple[str, str]]) -> str:
    """A whole table with its header."""
    return "\n".join((header, *(f"{key} = {value}" for key, value in found), ""))


def inline(found: Sequence[tuple[str, str]]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in found)} }}"


def listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, texts))}]"


def quoted(text: str) -> str:
    """A basic string. JSON's escapes are TOML's, once nothing is left that neither holds raw."""
    return json.dumps(printable(text.strip()), ensure_ascii=False)


def size_text(size_bytes: int) -> str:
    """A size in the largest unit without a fraction: ``256KiB``."""
    unit = next(one for one in ("GiB", "MiB", "KiB", "B") if size_bytes % UNITS[one] == 0)
    return f"{size_bytes // UNITS[unit]}{unit}"
