"""Rows of history.db to and from the frozen values of appliance.model. Pure.

A column has the name of its field. Texts and numbers are kept as they are; all else is JSON.
NULL is a field's default. Nothing here names a column of a result: a new one is a field of
the model and a column of :mod:`appliance.history.schema`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Container, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from appliance.model.measurement import (
    Capability,
    DeviceIo,
    Finding,
    Measurement,
    Source,
)
from appliance.state import codec

if TYPE_CHECKING:
    import sqlite3

Row = dict[str, Any]
_Planned = tuple[str, int, codec.Decoder | None, bool]
_T = TypeVar("_T")
_M = TypeVar("_M", bound=Measurement)

# SQLite's integers have 64 bits with a sign; a larger number is in no row.
LARGEST_INTEGER = (1 << 63) - 1
# LIMIT is a word of SQL.
_COLUMN_OF = {"limit": "limit_value"}
# Fields of a result that have tables of their own, or are in the row of the run or the import.
_APART = {
    Source.RUN: frozenset({"bins", "device_io", "findings", "device", "file", "line"}),
    Source.IMPORT: frozenset({"findings", "file"}),
}
# Columns of device_delta, which are the keys of JSON documents, and fields of DeviceIo.
_DELTA = {
    "device": "device",
    "read_ios": "read_ios",
    "read_bytes": "read_bytes",
    "read_ms": "read_ticks_ms",
    "write_ios": "write_ios",
    "write_bytes": "write_bytes",
    "write_ms": "write_ticks_ms",
    "in_flight": "in_flight",
    "io_ms": "io_ms",
}
# A diary may hold anything, and keeps it.
WHATEVER = codec.Bounds(least=-math.inf, most=math.inf)
_SCALARS = (str, int, float, bytes, types.NoneType)


def to_json(value: object) -> str:
    """Compact JSON, keys in the order given."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=dataclasses.asdict)


def row_of(value: object, *, without: Iterable[str] = ()) -> Row:
    """The columns of a dataclass."""
    assert dataclasses.is_dataclass(value)  # noqa: S101 - narrows the type
    return {
        _COLUMN_OF.get(field.name, field.name): cell(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if field.name not in without
    }


def cell(value: object) -> object:
    """A value as its column has it."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, _SCALARS) else to_json(value)


def value_of(cls: type[_T], row: sqlite3.Row, columns: tuple[str, ...] = (), **given: object) -> _T:
    """A dataclass of its columns; ``given`` are fields that are known already, ``columns`` the
    keys of the row, which are the same for all rows of a query.

    Raises :class:`ValueError`, :class:`TypeError` or :class:`LookupError` for a damaged row.
    """
    kind: Any = cls
    for name, index, decode, is_required in _plan(kind, columns or tuple(row.keys())):
        if name in given:
            continue
        held = row[index]
        if held is not None:
            given[name] = held if decode is None else decode(held)
        elif is_required:
            given[name] = None
    return cls(**given)


@cache
def _plan(cls: Any, columns: tuple[str, ...]) -> Sequence[_Planned]:  # noqa: ANN401 - a type
    """Name, column and decoder of each field that has a column, and whether it has no default.
    By number: looking a column up by its name, or evaluating the hints, takes longer than a row.
    """
    hints = typing.get_type_hints(cls)
    missing = dataclasses.MISSING
    return [
        (
            field.name,
            columns.index(column),
            _from_cell(hints[field.name]),
            field.default is missing and field.default_factory is missing,
        )
        for field in dataclasses.fields(cls)
        if (column := _COLUMN_OF.get(field.name, field.name)) in columns
    ]


def _from_cell(hint: Any) -> codec.Decoder | None:  # noqa: ANN401 - a type hint
    kind = hint
    if typing.get_origin(hint) is types.UnionType:
        kind = next(one for one in typing.get_args(hint) if one is not types.NoneType)
    if kind is bool or (isinstance(kind, type) and issubclass(kind, StrEnum)):
        return typing.cast("codec.Decoder", kind)
    if kind in _SCALARS:
        return None
    decode = codec.decoder(hint, WHATEVER)
    return lambda cell: decode(json.loads(cell))


# ------------------------------------------------------------------------------- results


def result_row(of: Measurement, columns: Container[str]) -> Row:
    """The columns of a result that are the result itself; of an imported one ``more`` is what no
    column can hold as it is. What else is known of a run stands in its own row.
    """
    limit = of.capability or Capability()
    row: Row = {
        "published_iops": limit.iops,
        "published_bytes_per_s": limit.bytes_per_s,
        "published_basis": limit.basis,
        "published_source": limit.source,
        "valid": int(of.valid),
    }
    more = {}
    for field in dataclasses.fields(of):
        if field.name in _APART[of.source]:
            continue
        value = getattr(of, field.name)
        if field.name in columns:
            # Most lists are empty: reading them would take longer than the rest of the row.
            made = None if value == () else cell(value)
            row[field.name] = _holdable(made)
            if row[field.name] is made:
                continue
        # What is not known is not written: most of it, in most reports.
        if value != field.default:
            more[field.name] = value
    if of.source is Source.IMPORT:
        # ASCII only, so that whatever the diary held for text can be kept.
        row["more"] = json.dumps(more, separators=(",", ":"), default=dataclasses.asdict)
    return {column: _holdable(made) for column, made in row.items()}


def delta_row(io: DeviceIo) -> Row:
    return {column: getattr(io, name) for column, name in _DELTA.items()}


def to_result(
    kind: type[_M],
    row: sqlite3.Row,
    *,
    columns: tuple[str, ...] = (),
    findings: Iterable[sqlite3.Row] = (),
    deltas: Iterable[sqlite3.Row] = (),
    **apart: object,
) -> _M:
    """The result of a row, ``apart`` from what is read of other tables; of an import with the
    name of its file.
    """
    iops, bytes_per_s = row["published_iops"], row["published_bytes_per_s"]
    basis, source = row["published_basis"], row["published_source"]
    if basis or source or iops is not None or bytes_per_s is not None:
        apart["capability"] = Capability(
            iops=iops, bytes_per_s=bytes_per_s, basis=basis, source=source
        )
    apart["device_io"] = tuple(
        DeviceIo(**{name: delta[column] for column, name in _DELTA.items()}) for delta in deltas
    )
    if row["more"] != "{}":
        decoders, more = _decoders(typing.cast("Any", kind)), json.loads(row["more"])
        apart |= {name: decoders[name](value) for name, value in more.items()}
    apart["findings"] = tuple(value_of(Finding, finding) for finding in findings)
    return value_of(kind, row, columns, **apart)


@cache
def _decoders(kind: Any) -> Mapping[str, codec.Decoder]:  # noqa: ANN401 - a type
    hints = typing.get_type_hints(kind)
    return {name: codec.decoder(hint, WHATEVER) for name, hint in hints.items()}


def finding_rows(findings: Iterable[Finding]) -> list[Row]:
    """Of any result: what is said of a diary may hold whatever the diary held."""
    return [
        {column: _holdable(made) for column, made in row_of(finding).items()}
        for finding in findings
    ]


def _holdable(value: object) -> object:
    """``value`` as SQLite can hold it."""
    if isinstance(value, str):
        return holdable_text(value)
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def holdable_text(value: str) -> str:
    """Without the lone surrogates that stand for bytes which are no UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "backslashreplace").decode()
    return value
