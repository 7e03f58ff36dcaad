"""The machine itself: DMI, kernel, processors; and how many disks its type is sold with.

DMI is what the hypervisor wrote there. A machine without DMI (a container, User Mode
Linux) is an unknown machine, not an error. Where DMI does not tell (Azure, EC2's Xen hosts),
what cloud-init has already asked the provider at this boot is read from its file; nothing
here speaks to the network. Google's metadata as cloud-init keeps it has no machine type.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from appliance.data import disk_count, instance_type
from appliance.model import Machine

# The same Microsoft strings appear on any Hyper-V host; this asset tag is Azure's own
# (cloud-init, DataSourceAzure).
_AZURE_ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"
# Written by cloud-init at each boot, in a directory that only root may write.
_INSTANCE_DATA = "run/cloud-init/instance-data.json"
_MAX_INSTANCE_DATA_BYTES = 4 * 1024 * 1024
_MACHINE_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_EPHEMERAL = re.compile(r"ephemeral([0-9]{1,2})", re.ASCII)
_DEVICE = re.compile(r"(?:/dev/)?(?:sd|xvd)([a-z]{1,2})", re.ASCII)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII)
# What our host tag is made for; the machine id itself is not to be shown (machine-id(5)).
_HOST_TAG_PURPOSE = b"stripewright host tag 1"


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


def host_tag(machine_id: str, product_uuid: str | None = "") -> str:
    """16 hexadecimal digits that stand for this installation on this machine.

    ``product_uuid`` is DMI's: a copied root disk has the same machine id, but not the same UUID.
    Empty where the firmware has none; then the machine id has to do. Empty is the tag without a
    machine id, and where the UUID may not be read (``None``): no tag is better than another one.
    """
    if product_uuid is None or not re.fullmatch(r"[0-9a-f]{32}", machine_id):
        return ""
    key = bytes.fromhex(machine_id) + _uuid_bytes(product_uuid)
    return hmac.new(key, _HOST_TAG_PURPOSE, hashlib.sha256).hexdigest()[:16]


def _uuid_bytes(text: str) -> bytes:
    """A UUID of DMI, the same in either byte order; empty for none, or for all zeros or ones."""
    if not _UUID.fullmatch(text):
        return b""
    found = UUID(text)
    if len(set(found.bytes)) == 1:
        return b""
    # Until SMBIOS 2.6 its order was open, and hypervisors differ: EC2's Xen and Nitro may show
    # one instance's in two ways.
    return min(found.bytes, found.bytes_le)


def _product_uuid(path: Path) -> str | None:
    """Empty if there is none, ``None`` if it is there and may not be read: it is root's."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        return ""
    except OSError:
        return None


def ephemeral_names(machine_type: str, mapping: object) -> tuple[str, ...]:
    """The kernel names of pre-Nitro instance storage, in the order of their numbers.

    ``mapping`` is EC2's block-device-mapping: ``ephemeral0: sdb``; the kernel calls that
    ``xvdb``. It is what the image asked for, also on a type that has no such disk (a t2 shows
    two), where an EBS volume can have that name; so only as many count as the type is sold with.
    """
    sold = instance_type(machine_type)
    if sold is None or sold.nvme or not isinstance(mapping, dict):
        return ()
    found = {}
    for key, value in mapping.items():
        number = _EPHEMERAL.fullmatch(str(key))
        device = _DEVICE.fullmatch(value) if isinstance(value, str) else None
        if number and device and int(number.group(1)) < sold.disk_count:
            found[int(number.group(1))] = f"xvd{device.group(1)}"
    return tuple(found[number] for number in sorted(found))


def read_machine(
    *,
    sys_root: Path = Path("/sys"),
    proc_root: Path = Path("/proc"),
    root: Path = Path("/"),
) -> Machine:
    """Read the machine. Never raises: what cannot be read is empty."""
    dmi = sys_root / "class/dmi/id"
    vendor = _read(dmi / "sys_vendor")
    provider = provider_of(vendor, _read(dmi / "product_version"), _read(dmi / "chassis_asset_tag"))
    machine_type = _read(dmi / "product_name")
    told: Mapping[str, object] = {}
    if provider != "unknown":
        told = _metadata(root / _INSTANCE_DATA)
    if vendor != "Amazon EC2":
        machine_type = _machine_type(provider, told) or machine_type
    mapping = told.get("block-device-mapping") if provider == "aws" else None
    ephemeral = ephemeral_names(machine_type, mapping)
    machine_id = _read(root / "etc/machine-id")
    return Machine(
        provider=provider,
        machine_type=machine_type,
        vendor=vendor,
        kernel=os.uname().release,
        cpu_count=os.cpu_count() or 0,
        boot_id=_read(proc_root / "sys/kernel/random/boot_id"),
        # What is not mapped at launch is not there on Xen, whatever the type is sold with.
        expected_disks=len(ephemeral) if ephemeral else disk_count(machine_type),
        host_tag=host_tag(machine_id, _product_uuid(dmi / "product_uuid")),
        ephemeral_names=ephemeral,
        anonymous=not host_tag(machine_id),
    )


def _machine_type(provider: str, told: Mapping[str, object]) -> str:
    value: object = None
    if provider == "aws":
        value = told.get("instance-type")
    if provider == "azure":
        compute = _inside(_inside(told, "imds"), "compute")
        value = compute.get("vmSize")
    return value if isinstance(value, str) and _MACHINE_TYPE.fullmatch(value) else ""


def _metadata(path: Path) -> Mapping[str, object]:
    """``ds.meta_data`` of cloud-init's instance data, empty if there is none to be read."""
    try:
        # Non-blocking, so that a pipe in the file's place cannot hold up the boot.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            raw = file.read(_MAX_INSTANCE_DATA_BYTES + 1)
        if len(raw) > _MAX_INSTANCE_DATA_BYTES:
            return {}
        document = json.loads(raw)
    except (OSError, ValueError, RecursionError):
        return {}
    return _inside(_inside(document, "ds"), "meta_data")


def _inside(document: object, key: str) -> Mapping[str, object]:
    value = document.get(key) if isinstance(document, Mapping) else None
    return value if isinstance(value, dict) else {}
