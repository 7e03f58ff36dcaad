"""What providers publish for disks, volumes and machines, and what others measured.

``aws_instance_store.csv`` and ``azure_instance_store.csv`` are for all disks of a machine,
``gcp_local_ssd.csv`` for so many disks of any machine, ``volume_types.toml`` for one network
volume, ``aws_ebs_limits.csv`` for all network volumes of a machine together.
``measured_by_others.csv`` is no limit of anybody's: what the io_properties of Scylla's machine
images were measured to be.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LocalLimits:
    """Local disks together, random 4 KiB and large blocks; ``None`` where not published.

    ``is_limit`` is false where more is possible, or the figures were not checked.
    """

    disk_count: int
    read_iops: int | None
    write_iops: int | None
    read_bytes_per_s: int | None
    write_bytes_per_s: int | None
    is_limit: bool
    source: str


@dataclass(frozen=True, slots=True)
class MachineEbsLimits:
    """All EBS volumes of an EC2 machine together. Baseline and most differ where credits are."""

    baseline_iops: int
    max_iops: int
    baseline_bytes_per_s: int
    max_bytes_per_s: int
    source: str


@dataclass(frozen=True, slots=True)
class VolumeType:
    """One row of ``volume_types.toml``, where the keys are explained."""

    name: str
    source: str
    checked: bool = True
    iops_base: float = 0
    iops_per_gib: float = 0
    iops_min: float = 0
    iops_max: float | None = None
    iops_default: float | None = None
    iops_burst: float | None = None
    mib_s_base: float = 0
    mib_s_per_gib: float = 0
    mib_s_per_iops: float = 0
    mib_s_max: float | None = None
    mib_s_default: float | None = None
    mib_s_small: float | None = None
    small_gib: float = 0
    mib_s_burst_per_gib: float | None = None
    mib_s_burst_max: float | None = None
    io_kib: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What others measured on local disks; ``scope`` is ``disk`` (of one) or ``array``."""

    scope: str
    read_iops: int
    read_bytes_per_s: int
    write_iops: int
    write_bytes_per_s: int
    source: str


def _rows(name: str) -> list[dict[str, str]]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def gcp_local_ssd() -> dict[int, LocalLimits]:
    """Google's NVMe local SSDs of 375 GiB by how many a machine has."""
    return {
        int(row["disk_count"]): LocalLimits(
            disk_count=int(row["disk_count"]),
            read_iops=int(row["read_iops_total"]),
            write_iops=int(row["write_iops_total"]),
            read_bytes_per_s=int(row["read_mib_s_total"]) * MIB,
            write_bytes_per_s=int(row["write_mib_s_total"]) * MIB,
            is_limit=row["checked"] == "yes",
            source=row["source"],
        )
        for row in _rows("gcp_local_ssd.csv")
    }


@cache
def azure_local_disks() -> dict[str, LocalLimits]:
    """Azure's storage-optimized sizes by name in lower case. Azure gives them as what is
    reached, not as a limit: the disks may do more.
    """
    return {
        row["instance_type"].casefold(): LocalLimits(
            disk_count=int(row["disk_count"]),
            read_iops=int(row["read_iops_total"]),
            write_iops=None,
            read_bytes_per_s=int(row["read_mb_s_total"]) * 1_000_000,
            write_bytes_per_s=None,
            is_limit=False,
            source=row["source"],
        )
        for row in _rows("azure_instance_store.csv")
        if row["read_iops_total"]
    }


@cache
def machine_ebs_limits() -> dict[str, MachineEbsLimits]:
    """EC2 machine types by name."""
    return {
        row["instance_type"]: MachineEbsLimits(
            baseline_iops=int(row["baseline_iops"]),
            max_iops=int(row["max_iops"]),
            baseline_bytes_per_s=int(row["baseline_mbit_s"]) * 125_000,
            max_bytes_per_s=int(row["max_mbit_s"]) * 125_000,
            source=row["source"],
        )
        for row in _rows("aws_ebs_limits.csv")
    }


@cache
def volume_types() -> dict[str, VolumeType]:
    """Network volume types by name."""
    known = {field.name for field in fields(VolumeType)}
    text = Path(__file__).with_name("volume_types.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["type"]
    for row in rows:
        if unknown := set(row) - known:
            raise ValueError(f"volume_types.toml: {row['name']} has unknown keys {unknown}")
    return {row["name"]: VolumeType(**row) for row in rows}


@cache
def _measured_by_others() -> dict[str, Measured]:
    return {
        row["instance_type"].casefold(): Measured(
            scope=row["scope"],
            read_iops=int(row["read_iops"]),
            read_bytes_per_s=int(row["read_bytes_per_s"]),
            write_iops=int(row["write_iops"]),
            write_bytes_per_s=int(row["write_bytes_per_s"]),
            source=row["source"],
        )
        for row in _rows("measured_by_others.csv")
    }


def measured_by_others(machine_type: str) -> Measured | None:
    """What was measured on this type, or on its family's other sizes (``i3.ALL``)."""
    known = _measured_by_others()
    family = machine_type.split(".", 1)[0]
    return known.get(machine_type.casefold()) or known.get(f"{family}.ALL".casefold())
