"""Azure: the machine, its disks and their agent. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from appliance.clouds.provider import (
    Agent,
    Attached,
    Dmi,
    Metadata,
    Provider,
    page_text,
    plain_name,
)

# The same Microsoft strings appear on any Hyper-V host; this asset tag is Azure's own
# (cloud-init, DataSourceAzure).
_ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"
# Identify Namespace, bytes 384 and on (azure-vm-utils, doc/disk-identification.md).
_NAME = slice(384, 4096)
_SCSI_CONTROLLER = "f8b3781a-1e82-4818-a1c3-63d806ec15bb"
_DATA_CONTROLLERS = re.compile(r"f8b3781[bcd]-1e82-4818-a1c3-63d806ec15bb")
_AGENT_OPTIONS = frozenset({"ResourceDisk.Format", "ResourceDisk.EnableSwap"})


def _told_type(_: Dmi, told: Metadata) -> object:
    imds = told.get("imds")
    compute = imds.get("compute") if isinstance(imds, Mapping) else None
    return compute.get("vmSize") if isinstance(compute, Mapping) else None


# ------------------------------------------------------------------------------- disks


def _disk_name(disk: Attached) -> str:
    if disk.rule.transport == "scsi":
        return place(*disk.address())
    # All remote disks are namespaces of one controller; the first is the system's.
    remote = disk.rule.shared_serial
    if remote and disk.namespace == 1:
        return "os"
    remote_lun = f"lun{disk.namespace - 2}" if remote and disk.namespace > 1 else ""
    return namespace_name(disk.namespace_page()) or remote_lun


def namespace_name(page: bytes) -> str:
    """The name in ``type=local,index=1,name=nvme-300G-1``; without one, ``lun4`` or ``os``."""
    facts = dict(part.split("=", 1) for part in page_text(page[_NAME]).split(",") if "=" in part)
    if name := facts.get("name"):
        return plain_name(name)
    if lun := facts.get("lun"):
        return plain_name(f"lun{lun}")
    return "os" if facts.get("type") == "os" else ""


def place(lun: str, device_ids: tuple[str, ...]) -> str:
    """Where a SCSI disk is attached: ``os``, ``resource`` or ``lun<N>``, else empty.

    By the VMBus device and the LUN (azure-vm-utils, udev/80-azure-disk.rules).
    """
    for device_id in device_ids:
        if device_id.startswith("00000000-0000-"):
            return "os"
        if device_id.startswith("00000000-0001-"):
            return "resource"
        if device_id.startswith(_SCSI_CONTROLLER):
            return {"0": "os", "1": "resource"}.get(lun, "")
        if _DATA_CONTROLLERS.match(device_id):
            return f"lun{lun}"
    return ""


def agent_claims(text: str) -> Iterator[tuple[str, str]]:
    """The resource disk, if ``waagent.conf`` is to format it or to swap on it."""
    for number, line in enumerate(text.splitlines(), start=1):
        key, _, value = line.split("#")[0].partition("=")
        if key.strip() in _AGENT_OPTIONS and value.strip().lower() == "y":
            yield "resource", f"line {number} ({key.strip()}=y)"


PROVIDER = Provider(
    name="azure",
    datasource="Azure",
    is_here=lambda dmi: dmi.vendor == "Microsoft Corporation" and dmi.asset_tag == _ASSET_TAG,
    disk_name=_disk_name,
    machine_type_pattern=(r"Standard_[A-Z]{1,3}\d{1,3}[a-z-]{0,6}\d{0,3}[a-z]{0,4}(?:_v\d{1,2})?"),
    told_type=_told_type,
    agent=Agent("etc/waagent.conf", agent_claims),
)
