"""``types``: what is known of machine types and their local disks, and from where."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING

from appliance import text
from appliance.cli.command import Command
from appliance.cli.output import print_json
from appliance.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from appliance.data import InstanceType

_NEAREST = 4


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "pattern",
        nargs="?",
        default="*",
        metavar="PATTERN",
        help="a machine type, or a pattern for several: 'i4i.*' (default: all)",
    )


def types(*, pattern: str, as_json: bool) -> int:
    found = _matching(pattern)
    if as_json:
        print_json({"types": [_document(one) for one in found]})
    elif len(found) == 1:
        print(text.table(list(_facts(found[0])), fold=True))
    else:
        heading = ("TYPE", "ARCH", "DISKS", "READ IOPS", "WRITE IOPS", "BOOT", "HYPERVISOR")
        print(text.table([heading, *map(_row, found)]))
    return EXIT_OK


def _matching(pattern: str) -> list[InstanceType]:
    from fnmatch import fnmatchcase

    from appliance.data import instance_types

    known = instance_types()
    wanted = pattern.casefold()
    if found := [one for one in known.values() if fnmatchcase(one.name.casefold(), wanted)]:
        return found
    from difflib import get_close_matches

    names = {name.casefold(): name for name in known}
    near = [names[one] for one in get_close_matches(wanted, names, _NEAREST)]
    nearest = f"; the nearest: {', '.join(near)}" if near else ""
    raise UsageError(
        f"no machine type {pattern!r} with local disks of its own is known{nearest}",
        "see all: stripewright types",
    )


def _row(one: InstanceType) -> tuple[str, ...]:
    return (
        one.name,
        one.architecture,
        sold_disks(one) or "?",
        _number(one.read_iops) or "?",
        _number(one.write_iops) or "?",
        " ".join(one.boot_modes) or "?",
        one.hypervisor if one.hypervisor != "unknown" else "?",
    )


def _facts(one: InstanceType) -> Iterator[tuple[str, str]]:
    from appliance.clouds.capability import measured_by_others
    from appliance.clouds.provider import disk_count, provider
    from appliance.data import instance_sources

    published = one.published_by
    yield "type", one.name
    unknown = "" if provider(one.provider) else ": its machines and disks are not recognised"
    yield "provider", f"{one.provider}{unknown}"
    yield "architecture", one.architecture
    yield "vCPUs", _number(one.vcpus) or "unknown"
    yield "memory", text.size(one.memory_mib << 20) if one.memory_mib else "unknown"
    yield "hypervisor", one.hypervisor
    yield "boots by", " or ".join(one.boot_modes) or "unknown"
    chosen = ", or none: that is chosen when a machine is made" if one.chosen else ""
    yield "disks", f"{sold_disks(one) or 'unknown'}{chosen}"
    if one.disk_count:
        yield "kind", f"{one.media}, {_TRANSPORTS[one.transport]}"
        checked = disk_count(one.name) is not None
        yield "disk count", "checked before a volume is made" if checked else "cannot be checked"
    for what, iops, rate in (
        ("read", one.read_iops, one.read_bytes_per_s),
        ("write", one.write_iops, one.write_bytes_per_s),
    ):
        figures = (
            f"{iops:,} IOPS" if iops else "",
            f"{_in_units(rate, 2, 'M')}/s" if rate else "",
        )
        yield what, ", ".join(filter(None, figures)) or "not published"
    if one.read_iops is not None:
        most = "the most that is possible" if published.limit else "typical, not a limit"
        yield "published", f"of all disks together, {most}: {published.conditions}"
    if found := measured_by_others(one.name):
        of = "one disk" if found.scope == "disk" else "all disks together"
        yield (
            "measured",
            f"by others, {of}: {found.read_iops:,} read and {found.write_iops:,} write IOPS,"
            f" {found.read_bytes_per_s / 1e6:,.0f} and {found.write_bytes_per_s / 1e6:,.0f} MB/s"
            f" ({found.source})",
        )
    untorn = one.atomic_write_bytes
    yield "atomic writes", f"aligned, up to {text.size(untorn)}" if untorn else "unknown"
    if one.note:
        yield "note", one.note
    for at, key in enumerate(one.sources):
        yield "" if at else "sources", instance_sources()[key].source


_TRANSPORTS = {
    "nvme": "NVMe",
    "xen": "Xen (xvd), recognised by the block device mapping and the size",
}


def _document(one: InstanceType) -> dict[str, object]:
    from dataclasses import asdict

    from appliance.clouds.capability import measured_by_others
    from appliance.clouds.provider import disk_count
    from appliance.data import instance_sources

    measured = measured_by_others(one.name)
    return {
        **asdict(one),
        "expected_disks": disk_count(one.name),
        "measured_by_others": asdict(measured) if measured else None,
        "sources": [asdict(instance_sources()[key]) for key in one.sources],
    }


def sold_disks(one: InstanceType) -> str:
    """Number and size of a type's local disks, as its provider writes them; empty if unknown."""
    size = one.disk_size_bytes
    if not one.disk_count or not size:
        return ""
    return f"{one.disk_count} × {_in_units(size, 3, 'G')}"


def _in_units(value: int, power: int, prefix: str) -> str:
    """As the provider writes it: Google counts in GiB and MiB, the others in GB and MB."""
    binary = 1024**power
    if value % binary == 0:
        return f"{value // binary:,} {prefix}iB"
    return f"{value // 1000**power:,} {prefix}B"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


COMMANDS = (
    Command(
        "types",
        types,
        "list machine types with local disks, and what is published of them",
        "types 'i4i.*'",
        arguments,
        more="One type is shown with everything that is known of it and its sources.",
    ),
)
