"""Reading the machine itself: DMI, kernel, processors; and what its provider says of it.

DMI is what the hypervisor wrote there. A machine without DMI (a container, User Mode
Linux) is an unknown machine, not an error. Where DMI does not tell (Azure, EC2's Xen hosts),
what cloud-init has already asked the provider at this boot is read from its file; nothing
here speaks to the network.
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

from appliance.clouds.provider import Dmi, Metadata, Provider, disk_count, providers
from appliance.model.disks import Machine

# Written by cloud-init at each boot, in a directory that only root may write.
INSTANCE_DATA = "run/cloud-init/instance-data.json"
_MAX_INSTANCE_DATA_BYTES = 4 * 1024 * 1024
_DMI = "class/dmi/id"
_MACHINE_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII)
# What our host tag is made for; the machine id itself is not to be shown (machine-id(5)).
_HOST_TAG_PURPOSE = b"stripewright host tag 1"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def provider_of(dmi: Dmi) -> Provider | None:
    """The provider whose machine this is, ``None`` if it is unknown."""
    return next((one for one in providers() if one.is_here(dmi)), None)


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


def read_dmi(sys_root: Path = Path("/sys")) -> Dmi:
    """The tables of DMI, as far as every user may read them; empty where there are none."""
    folder = sys_root / _DMI
    return Dmi(
        vendor=_read(folder / "sys_vendor"),
        product_name=_read(folder / "product_name"),
        product_version=_read(folder / "product_version"),
        asset_tag=_read(folder / "chassis_asset_tag"),
    )


def read_machine(
    *,
    sys_root: Path = Path("/sys"),
    proc_root: Path = Path("/proc"),
    root: Path = Path("/"),
) -> Machine:
    """Read the machine. Never raises: what cannot be read is empty."""
    dmi = read_dmi(sys_root)
    provider = provider_of(dmi)
    machine_type, doubt = dmi.product_name, ""
    told_disks: tuple[str, ...] = ()
    if provider is not None:
        told = _metadata(root / INSTANCE_DATA)
        named = provider.told_type(dmi, told)
        attribute = provider.type_attribute
        taken = isinstance(named, str) and _MACHINE_TYPE.fullmatch(named)
        if taken and (not attribute or provider.has_type(str(named))):
            machine_type = str(named)
        if attribute and named is not None and machine_type != named:
            doubt = f"the attribute {attribute} names no known type of {provider.name}"
            doubt += f": {ascii(named)[:64]}" if isinstance(named, str) else ""
        told_disks = provider.told_disks(machine_type, told)
    machine_id = _read(root / "etc/machine-id")
    return Machine(
        provider=provider.name if provider else "unknown",
        machine_type=machine_type,
        vendor=dmi.vendor,
        kernel=os.uname().release,
        cpu_count=os.cpu_count() or 0,
        boot_id=_read(proc_root / "sys/kernel/random/boot_id"),
        # What is not mapped at launch is not there on Xen, whatever the type is sold with.
        expected_disks=len(told_disks) if told_disks else disk_count(machine_type),
        host_tag=host_tag(machine_id, _product_uuid(sys_root / _DMI / "product_uuid")),
        ephemeral_names=told_disks,
        anonymous=not host_tag(machine_id),
        type_doubt=doubt,
    )


def _metadata(path: Path) -> Metadata:
    try:
        # Non-blocking, so that a pipe in the file's place cannot hold up the boot.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return metadata(file.read(_MAX_INSTANCE_DATA_BYTES + 1))
    except OSError:
        return {}


def metadata(raw: bytes) -> Metadata:
    """``ds.meta_data`` of cloud-init's instance data, empty if it is none; for EC2 it is called
    ``meta-data``, as in the service.
    """
    if len(raw) > _MAX_INSTANCE_DATA_BYTES:
        return {}
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    told = _inside(document, "ds")
    return _inside(told, "meta_data") or _inside(told, "meta-data")


def _inside(document: object, key: str) -> Metadata:
    value = document.get(key) if isinstance(document, Mapping) else None
    return value if isinstance(value, dict) else {}
