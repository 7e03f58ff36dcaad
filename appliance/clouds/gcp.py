"""Google Compute Engine: the machine, its disks, and what is published for local SSDs. Pure.

The metadata that cloud-init keeps has no machine type, and most types do not say how many local
SSDs a machine has: that is chosen when it is made.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from appliance.clouds.provider import Attached, Provider, page_text, plain_name
from appliance.data import csv_rows
from appliance.model.disks import DiskKind

if TYPE_CHECKING:
    from appliance.model.measurement import Capability

# Identify Namespace, bytes 384 and on (GoogleCloudPlatform/guest-configs, google_nvme_id).
_NAME = slice(384, 4096)
# The series whose local SSDs are sold one by one; later ones have other disks.
_SERIES = re.compile(r"(n1|n2|n2d|c2|c2d|a2|g2|m1|m3)-[a-z0-9-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class LocalSsds:
    """So many NVMe local SSDs of 375 GiB of any machine. ``checked``: against Google's page."""

    disk_count: int
    read_iops_total: int
    write_iops_total: int
    read_mib_s_total: int
    write_mib_s_total: int
    checked: bool
    source: str


@cache
def local_ssds() -> dict[int, LocalSsds]:
    """By how many a machine has."""
    return {row.disk_count: row for row in csv_rows("gcp_local_ssd.csv", LocalSsds)}


def _local(machine_type: str, count: int, direction: str) -> Capability | None:
    row = local_ssds().get(count)
    if row is None or not _SERIES.fullmatch(machine_type):
        return None
    from appliance.clouds.volumes import MIB
    from appliance.model.measurement import Capability

    read = direction == "read"
    iops = row.read_iops_total if read else row.write_iops_total
    return Capability(
        kind=DiskKind.INSTANCE_STORE.value,
        iops=iops,
        bytes_per_s=(row.read_mib_s_total if read else row.write_mib_s_total) * MIB,
        member_iops=iops / count,
        is_limit=row.checked,
        basis=f"{count} NVMe local SSDs of 375 GiB",
        source=row.source,
    )


def _disk_name(disk: Attached) -> str:
    if disk.rule.transport == "scsi":
        return disk.short_serial
    return namespace_name(disk.namespace_page())


def namespace_name(page: bytes) -> str:
    """``device_name`` of the JSON object that Google puts there."""
    try:
        facts = json.loads(page_text(page[_NAME]))
    except (ValueError, RecursionError):
        return ""
    name = facts.get("device_name") if isinstance(facts, dict) else None
    return plain_name(name) if isinstance(name, str) else ""


PROVIDER = Provider(
    name="gcp",
    is_here=lambda dmi: dmi.vendor == "Google",
    disk_name=_disk_name,
    machine_type_pattern=(
        r"[a-z]\d[a-z]?-(?:standard|highmem|highcpu|ultramem|megamem|highgpu)-\d{1,3}(?:-lssd)?"
    ),
    is_type=lambda machine_type: _SERIES.fullmatch(machine_type) is not None,
    local=_local,
)
