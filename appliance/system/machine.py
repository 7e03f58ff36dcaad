"""The machine itself: DMI, kernel, processors; and how many disks its type is sold with.

DMI is what the hypervisor wrote there. A machine without DMI (a container, User Mode
Linux) is an unknown machine, not an error.
"""

from __future__ import annotations

import os
from pathlib import Path

from appliance.data import instance_type
from appliance.model import Machine

# The same Microsoft strings appear on any Hyper-V host; this asset tag is Azure's own
# (cloud-init, DataSourceAzure).
_AZURE_ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def provider_of(vendor: str, product_version: str = "", asset_tag: str = "") -> str:
    """``aws``, ``azure``, ``gcp`` or ``unknown`` from DMI strings.

    EC2's older Xen hosts call themselves ``Xen`` and are told by ``4.11.amazon``.
    """
    if vendor == "Amazon EC2" or product_version.endswith(".amazon"):
        return "aws"
    if vendor == "Microsoft Corporation" and asset_tag == _AZURE_ASSET_TAG:
        return "azure"
    if vendor == "Google":
        return "gcp"
    return "unknown"


def expected_disks(machine_type: str) -> int | None:
    """How many instance-storage disks the type is sold with, ``None`` if it is not known."""
    row = instance_type(machine_type)
    return row.disk_count if row else None


def read_machine(*, sys_root: Path = Path("/sys"), proc_root: Path = Path("/proc")) -> Machine:
    """Read the machine. Never raises: what cannot be read is empty."""
    dmi = sys_root / "class/dmi/id"
    vendor = _read(dmi / "sys_vendor")
    machine_type = _read(dmi / "product_name")
    return Machine(
        provider=provider_of(
            vendor, _read(dmi / "product_version"), _read(dmi / "chassis_asset_tag")
        ),
        machine_type=machine_type,
        vendor=vendor,
        kernel=os.uname().release,
        cpu_count=os.cpu_count() or 0,
        boot_id=_read(proc_root / "sys/kernel/random/boot_id"),
        expected_disks=expected_disks(machine_type),
    )
