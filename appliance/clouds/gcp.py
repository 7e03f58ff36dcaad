"""Google Compute Engine: the machine, its disks, and what is published for local SSDs. Pure.

Of most types the number of local SSDs is chosen when a machine is made; those of the third
generation and later have a number of their own. Neither DMI nor what cloud-init keeps has the
machine type, so only a custom attribute that names it tells.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from appliance.clouds.provider import Attached, Dmi, Metadata, Provider, page_text, plain_name
from appliance.data import csv_rows, instance_sources
from appliance.model.disks import DiskKind

if TYPE_CHECKING:
    from appliance.model.measurement import Capability

# Identify Namespace, bytes 384 and on (GoogleCloudPlatform/guest-configs, google_nvme_id).
_NAME = slice(384, 4096)
# The series with disks that are no Titanium SSDs: their number alone says what is published.
_SERIES = re.compile(r"(n1|n2|n2d|c2|c2d|c3|c3d|a2|g2|m1|m3)-[a-z0-9-]+", re.ASCII)
# The custom attribute of an instance that names its machine type.
_TYPE_ATTRIBUTE = "stripewright-machine-type"


@dataclass(frozen=True, slots=True)
class LocalSsds:
    """So many NVMe local SSDs of 375 GiB of any machine, together."""

    disk_count: int
    read_iops: int
    write_iops: int
    read_mib_s: int
    write_mib_s: int


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
    iops = row.read_iops if read else row.write_iops
    page = instance_sources()["gcp-local-ssd"]
    return Capability(
        kind=DiskKind.INSTANCE_STORE.value,
        iops=iops,
        bytes_per_s=(row.read_mib_s if read else row.write_mib_s) * MIB,
        member_iops=iops / count,
        is_limit=page.limit,
        basis=f"{count} NVMe local SSD{'s' if count > 1 else ''} of 375 GiB",
        source=page.source,
    )


def _told_type(_: Dmi, told: Metadata) -> object:
    # Custom attributes come as one JSON text (cloud-init, DataSourceGCE).
    text = told.get("instance-data")
    attributes = _object(text) if isinstance(text, str) else {}
    return attributes.get(_TYPE_ATTRIBUTE)


def _object(text: str) -> dict[str, object]:
    """The JSON object in ``text``, empty if it holds none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _disk_name(disk: Attached) -> str:
    if disk.rule.transport == "scsi":
        return disk.short_serial
    return namespace_name(disk.namespace_page())


def namespace_name(page: bytes) -> str:
    """``device_name`` of the JSON object that Google puts there."""
    name = _object(page_text(page[_NAME])).get("device_name")
    return plain_name(name) if isinstance(name, str) else ""


PROVIDER = Provider(
    name="gcp",
    datasource="GCE",
    is_here=lambda dmi: dmi.vendor == "Google",
    disk_name=_disk_name,
    machine_type_pattern=(
        r"[a-z]\d[a-z]?-(?:standard|highmem|highcpu|ultramem|megamem|highgpu)-\d{1,3}"
        r"(?:-(?:high|standard)?lssd)?(?:-metal)?"
    ),
    is_type=lambda machine_type: _SERIES.fullmatch(machine_type) is not None,
    local=_local,
    told_type=_told_type,
    type_attribute=_TYPE_ATTRIBUTE,
)
