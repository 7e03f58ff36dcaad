"""Facts about clouds and their disks, each row with its source; no decisions here.

``disk_models.toml`` says how a disk tells what it is, ``instance_types.csv`` what a machine type is
sold with. ``measured_by_others.csv`` is no limit of anybody's: what the io_properties of Scylla's
machine images were measured to be. What a column is in stands in its name, or at the row's type.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from appliance.model.disks import DiskKind

DIRECTORY = Path(__file__).parent

_Row = TypeVar("_Row")
_CELLS: dict[Any, Callable[[str], object]] = {
    str: str,
    int: int,
    bool: lambda cell: cell == "yes",
    int | None: lambda cell: int(cell) if cell else None,
    tuple[str, ...]: lambda cell: tuple(cell.split()),
}


def csv_rows(
    name: str, row: type[_Row], among: Callable[[str], bool] = lambda _: True
) -> tuple[_Row, ...]:
    """The rows of a table as values of ``row``, a dataclass with fields named as its columns;
    other columns are for readers. Only lines that are ``among`` those asked for are decoded.
    """
    heading, *lines = (DIRECTORY / name).read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if among(line)]
    if not lines:
        return ()
    import csv

    types = get_type_hints(row)
    cells = {field.name: _CELLS[types[field.name]] for field in fields(row)}  # type: ignore[arg-type]
    return tuple(
        row(**{column: convert(one[column]) for column, convert in cells.items()})
        for one in csv.DictReader([heading, *lines])
    )


def toml_rows(name: str) -> list[dict[str, Any]]:
    """The tables of the one array of tables in a file."""
    (rows,) = tomllib.loads((DIRECTORY / name).read_text(encoding="utf-8")).values()
    return list(rows)


@dataclass(frozen=True, slots=True)
class DiskRule:
    """One way to recognise a disk. ``vendor`` is empty where the bus has none (NVMe).

    ``provider`` is a module of :mod:`appliance.clouds`. ``place``, if any, is what the disk's
    ``cloud_name`` must be. ``named``: the provider keeps the disk's name in its identify pages.
    ``shared_serial``: the disks of one controller all have its serial.
    """

    provider: str
    transport: str
    kind: DiskKind
    what: str
    source: str
    vendor: str = ""
    model: str = ""
    model_pattern: str = ""
    place: str = ""
    named: bool = False
    shared_serial: bool = False

    def matches(self, *, transport: str, vendor: str, model: str, cloud_name: str = "") -> bool:
        """Exact comparison; only the padding at the end is ignored."""
        if transport != self.transport or vendor.rstrip(" ") != self.vendor:
            return False
        if self.place and cloud_name != self.place:
            return False
        if self.model_pattern:
            return re.fullmatch(self.model_pattern, model.rstrip(" "), re.ASCII) is not None
        return model.rstrip(" ") == self.model


@cache
def disk_rules() -> tuple[DiskRule, ...]:
    """Every rule, in the order in which they are tried."""
    rows = toml_rows("disk_models.toml")
    return tuple(DiskRule(**{**row, "kind": DiskKind(row["kind"])}) for row in rows)


def disk_rule(*, transport: str, vendor: str, model: str, cloud_name: str = "") -> DiskRule | None:
    """The rule that recognises this disk, or ``None``: then it is not ours to use."""
    for rule in disk_rules():
        if rule.matches(transport=transport, vendor=vendor, model=model, cloud_name=cloud_name):
            return rule
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """Where facts come from. ``conditions`` is what its figures are for; ``limit``: the provider
    gives them as the most that is possible.
    """

    key: str
    source: str
    conditions: str = ""
    limit: bool = False


@dataclass(frozen=True, slots=True)
class InstanceType:
    """A machine type and its local disks. ``None`` and ``unknown`` are not known.

    ``chosen``: these disks can be left out when a machine is made. ``in_doubt``: the source
    contradicts itself about ``disk_count``; the note says how. ``transport`` is how Linux sees
    them (``nvme``, ``xen``), ``media`` ``ssd`` or ``hdd``. Published IOPS and bandwidth are of all
    disks together; :attr:`published_by` says for what. ``atomic_write_bytes`` is the largest
    atomic write. ``boot_modes`` are ``bios`` and ``uefi``, empty if not known.
    """

    provider: str
    name: str
    architecture: str
    vcpus: int | None
    memory_mib: int | None
    disk_count: int | None
    disk_size_bytes: int | None
    chosen: bool
    in_doubt: bool
    transport: str
    media: str
    read_iops: int | None
    write_iops: int | None
    read_bytes_per_s: int | None
    write_bytes_per_s: int | None
    atomic_write_bytes: int | None
    boot_modes: tuple[str, ...]
    hypervisor: str
    sources: tuple[str, ...]
    note: str

    @property
    def published_by(self) -> Source:
        """Whose the figures are; of a type without figures, whose the disks are."""
        return instance_sources()[self.sources[0]]


@cache
def instance_types() -> dict[str, InstanceType]:
    """Every machine type that is sold with local disks, by name."""
    return {row.name: row for row in csv_rows("instance_types.csv", InstanceType)}


# A diary may name thousands of types, of which most are none.
@lru_cache(maxsize=1024)
def instance_type(name: str) -> InstanceType | None:
    """The machine type of this name, if it is known to be sold with local disks."""

    # Boot asks for one type: decoding all rows would take ten times as long.
    def is_named(line: str) -> bool:
        provider, found, _ = line.split(",", 2)
        # Azure's names are compared without regard to case by everything of Azure's.
        return found == name or (provider == "azure" and found.casefold() == name.casefold())

    return next(iter(csv_rows("instance_types.csv", InstanceType, is_named)), None)


@cache
def instance_sources() -> dict[str, Source]:
    """By the keys that :class:`InstanceType` names."""
    return {row["key"]: Source(**row) for row in toml_rows("instance_sources.toml")}
