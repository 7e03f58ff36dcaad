"""Seastar's io_properties, and the tables by machine type that Scylla's images make them of. Pure.

Formats: seastar src/core/disk_params.cc; scylladb/scylla-machine-image common/*_io_params.yaml,
read by common/scylla_cloud_io_setup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from appliance.clouds.provider import is_type
from appliance.data import instance_types
from appliance.model.toml_table import Document
from appliance.presets.preset import Figure, Preset, Quantity, Scope, amount
from appliance.presets.yaml_subset import Block, Scalar, parse

# A row for all sizes of a family that have none of their own.
FAMILY = ".ALL"
_SUFFIXES = "kMGT"
# What Seastar reads besides, and what no disk can be asked about.
_OTHER_KEYS = frozenset(
    {
        *("mountpoint", "mountpoints", "read_saturation_length", "write_saturation_length"),
        *("duplex", "rate_factor", "max_cost_function"),
    }
)
_COUNT = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
# Of the tables, scylla_cloud_io_setup multiplies those of EC2 alone by the number of disks.
_MULTIPLIED = "aws"


def presets(document: Document) -> tuple[Preset, ...]:
    """The presets of a file in their order; :class:`UsageError` names what is wrong in it."""
    root = parse(document)
    if not root.entries:
        document.fail("file", "is empty", "give io_properties, or a table by machine type")
    return tuple(_rows(document, root, ()))


def _rows(document: Document, block: Block, path: tuple[str, ...]) -> Iterator[Preset]:
    """``disks`` at the top is io_properties itself; below a machine type it is its list."""
    for key, value in block.entries.items():
        below = (*path, key)
        place, row = ".".join(below), _block(document, ".".join(below), value)
        if row.is_list and key != "disks":
            document.fail(place, "is a list", "a table is by machine type", row.line)
        if row.is_list:
            for at, one in row.entries.items():
                disk = _block(document, f"{place}{at}", one)
                yield _preset(document, f"{place}{at}", disk, Scope.VOLUME, path)
        elif all(isinstance(one, Block) for one in row.entries.values()):
            yield from _rows(document, row, below)
        else:
            yield _preset(document, place, row, None, below)


def _told(path: tuple[str, ...]) -> tuple[str, int | None]:
    """The machine type and the number of disks that a table's keys say."""
    if not path or not _COUNT.fullmatch(path[-1]):
        return (path[-1] if path else ""), None
    # A title above numbers of disks (local_ssd_nvme) does not say what they are of.
    above = path[-2] if len(path) > 1 else ""
    return (above if is_type(above) else ""), int(path[-1])


def _provider(machine_type: str) -> str:
    """Whose a type or family is, empty if it is not known."""
    family = f"{machine_type.partition('.')[0]}."
    known = instance_types()
    if machine_type in known:
        return known[machine_type].provider
    return next((one.provider for name, one in known.items() if name.startswith(family)), "")


def _block(document: Document, place: str, value: Scalar | Block) -> Block:
    if isinstance(value, Scalar):
        document.fail(place, "has no figures below it", _keys_allowed(), value.line)
    return value


def _preset(
    document: Document, place: str, block: Block, scope: Scope | None, path: tuple[str, ...]
) -> Preset:
    """``scope`` is told by the machine type's provider where the form does not tell it."""
    known = {one.value for one in Quantity}
    for key, value in block.entries.items():
        if key not in known | _OTHER_KEYS:
            document.fail(f"{place}.{key}", "is not known", _keys_allowed(), value.line)
    figures = []
    for quantity in Quantity:
        where, found = f"{place}.{quantity}", block.entries.get(quantity)
        if not isinstance(found, Scalar):
            document.fail(where, "is missing", _keys_allowed(), block.line)
        figure = amount(document, where, found.text, found.line, suffixes=_SUFFIXES)
        unit = "iops" if quantity.is_iops else "bytes_per_s"
        figures.append(Figure(quantity, figure, unit, found.line, quantity))
    machine_type, count = _told(path)
    if scope is None:
        scope = Scope.EACH if _provider(machine_type) == _MULTIPLIED else Scope.VOLUME
    return Preset(place, scope, tuple(figures), machine_type, count)


def _keys_allowed() -> str:
    return f"needed: {', '.join(Quantity)}; allowed besides: {', '.join(sorted(_OTHER_KEYS))}"
