"""Facts about clouds and their disks, each row with its source; no decisions here.

``disk_models.toml`` says how a disk tells what it is. ``aws_instance_store.csv`` says how
many instance-storage disks an EC2 machine type is sold with and what it may do:
counts and sizes as EC2's DescribeInstanceTypes gives them, random 4 KiB read and write
IOPS from the instance types guide. The per-disk figures there are the totals divided by
the number of disks; the provider publishes totals only. ``azure_instance_store.csv`` has
the counts of Azure's storage-optimized sizes. Google's are not told by the machine type on
most types (the number is chosen when the machine is made), and no type is read there.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from appliance.model import DiskKind


@dataclass(frozen=True, slots=True)
class DiskRule:
    """One way to recognise a disk. ``vendor`` is empty where the bus has none (NVMe).

    ``place``, if any, is what the disk's ``cloud_name`` must be. ``names_in`` is where the
    provider keeps the disk's name (:func:`appliance.storage.probe.nvme.cloud_name`), empty where
    there is none. ``shared_serial``: the disks of one controller all have its serial.
    """

    provider: str
    transport: str
    vendor: str
    model: str
    model_pattern: str
    kind: DiskKind
    what: str
    source: str
    place: str = ""
    names_in: str = ""
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


@dataclass(frozen=True, slots=True)
class InstanceType:
    """What an EC2 machine type is sold with. IOPS are ``None`` where none are published.

    ``disk_size_gb`` is in the provider's GB (10^9 bytes); IOPS are for random 4 KiB.
    """

    name: str
    disk_count: int
    disk_size_gb: int
    nvme: bool
    read_iops_per_disk: int | None
    write_iops_per_disk: int | None
    source: str


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


@cache
def disk_rules() -> tuple[DiskRule, ...]:
    """Every rule, in the order in which they are tried."""
    return tuple(
        DiskRule(
            provider=row["provider"],
            transport=row["transport"],
            vendor=row.get("vendor", ""),
            model=row.get("model", ""),
            model_pattern=row.get("model_pattern", ""),
            kind=DiskKind(row["kind"]),
            what=row["what"],
            source=row["source"],
            place=row.get("place", ""),
            names_in=row.get("names_in", ""),
            shared_serial=row.get("shared_serial", False),
        )
        for row in tomllib.loads(_text("disk_models.toml"))["rule"]
    )


def disk_rule(*, transport: str, vendor: str, model: str, cloud_name: str = "") -> DiskRule | None:
    """The rule that recognises this disk, or ``None``: then it is not ours to use."""
    for rule in disk_rules():
        if rule.matches(transport=transport, vendor=vendor, model=model, cloud_name=cloud_name):
            return rule
    return None


@cache
def instance_types() -> dict[str, InstanceType]:
    """Every EC2 machine type that is sold with instance storage, by name."""

    def number(text: str) -> int | None:
        return int(text) if text else None

    import csv

    rows = csv.DictReader(_text("aws_instance_store.csv").splitlines())
    return {
        row["instance_type"]: InstanceType(
            name=row["instance_type"],
            disk_count=int(row["disk_count"]),
            disk_size_gb=int(row["disk_size_gb"]),
            nvme=row["nvme"] == "yes",
            read_iops_per_disk=number(row["read_iops_per_disk"]),
            write_iops_per_disk=number(row["write_iops_per_disk"]),
            source=row["source"],
        )
        for row in rows
    }


def instance_type(name: str) -> InstanceType | None:
    """The machine type called ``name``, or ``None`` if it has no row here."""
    return instance_types().get(name)


@cache
def _azure_disk_counts() -> dict[str, int]:
    import csv

    rows = csv.DictReader(_text("azure_instance_store.csv").splitlines())
    return {row["instance_type"].casefold(): int(row["disk_count"]) for row in rows}


def disk_count(machine_type: str) -> int | None:
    """How many instance-storage disks a machine type of any provider is sold with, if known."""
    row = instance_type(machine_type)
    # Azure's names are compared without regard to case by everything of Azure's.
    return row.disk_count if row else _azure_disk_counts().get(machine_type.casefold())
