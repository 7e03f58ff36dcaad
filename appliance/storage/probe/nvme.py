"""What an NVMe disk says to root: its name at the provider, and how it is.

The names stand in the vendor bytes of the identify pages. They are what an operator sees in the
console (EBS attachment ``sdf``, the device name of a Persistent Disk), and rules in the layout
may go by them. Only admin commands that read are sent: Identify, and Get Log Page for the SMART
log. The decoders are pure; what they are given is text of the provider's, but a fabric target can
say anything, so a name is taken only if it is plain.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import re
import struct
from dataclasses import dataclass

PAGE_BYTES = 4096

# NVME_IOCTL_ADMIN_CMD of linux/nvme_ioctl.h: _IOWR('N', 0x41, struct nvme_passthru_cmd).
_ADMIN_COMMAND = 0xC0484E41
_IDENTIFY = 0x06
_GET_LOG_PAGE = 0x02
_SMART_LOG = 0x02
SMART_BYTES = 512
# The log of the whole controller, not of one namespace.
_ALL_NAMESPACES = 0xFFFFFFFF
_CNS_NAMESPACE = 0
_CNS_CONTROLLER = 1
_TIMEOUT_MS = 5000

# Identify Controller, bytes 3072 and on (amazon-ec2-utils, ebsnvme-id: 32 bytes of name).
_AWS_NAME = slice(3072, 3072 + 32)
_AWS_VENDOR_ID = 0x1D0F
# Identify Namespace, bytes 384 and on (azure-vm-utils, doc/disk-identification.md;
# GoogleCloudPlatform/guest-configs, google_nvme_id).
_NAMESPACE_NAME = slice(384, 4096)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)


def cloud_name(node: str, namespace: int, source: str) -> str:
    """The provider's name of this disk, empty if it has none or does not answer.

    ``source`` says where it is kept: ``aws``, ``azure`` or ``gcp``.
    """
    controller = source == "aws"
    page = _identify(
        node, _CNS_CONTROLLER if controller else _CNS_NAMESPACE, 0 if controller else namespace
    )
    return {"aws": aws_name, "azure": azure_name, "gcp": gcp_name}[source](page)


def aws_name(page: bytes) -> str:
    """``sdf`` or ``xvdf`` from the Identify Controller page of an EBS volume."""
    if len(page) < PAGE_BYTES or struct.unpack_from("<H", page)[0] != _AWS_VENDOR_ID:
        return ""
    return _plain(_text(page[_AWS_NAME]).strip(" ").removeprefix("/dev/"))


def azure_name(page: bytes) -> str:
    """The name in ``type=local,index=1,name=nvme-300G-1``; without one, ``lun4`` or ``os``."""
    facts = dict(
        part.split("=", 1) for part in _text(page[_NAMESPACE_NAME]).split(",") if "=" in part
    )
    if name := facts.get("name"):
        return _plain(name)
    if lun := facts.get("lun"):
        return _plain(f"lun{lun}")
    return "os" if facts.get("type") == "os" else ""


def gcp_name(page: bytes) -> str:
    """``device_name`` of the JSON object that Google puts there."""
    try:
        facts = json.loads(_text(page[_NAMESPACE_NAME]))
    except (ValueError, RecursionError):
        return ""
    name = facts.get("device_name") if isinstance(facts, dict) else None
    return _plain(name) if isinstance(name, str) else ""


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("ascii", errors="replace")


def _plain(name: str) -> str:
    return name if _NAME.fullmatch(name) else ""


@dataclass(frozen=True, slots=True)
class Smart:
    """The SMART / Health Information log (NVM Express Base Specification 2.0, log page 02h).

    ``critical_warning`` is a set of bits, ``percentage_used`` may be more than 100 (255 is
    the end of the scale).
    """

    critical_warning: int
    available_spare: int
    available_spare_threshold: int
    percentage_used: int
    media_errors: int


def smart(node: str) -> Smart | None:
    """The log of the disk's controller, ``None`` if it gives none (no root, not NVMe)."""
    # Number of dwords less one in the upper half of command dword 10, the page's id below it.
    dword10 = (SMART_BYTES // 4 - 1) << 16 | _SMART_LOG
    return smart_log(_ask(node, _GET_LOG_PAGE, _ALL_NAMESPACES, SMART_BYTES, dword10))


def smart_log(page: bytes) -> Smart | None:
    """The fields of the page, ``None`` for anything shorter."""
    if len(page) < SMART_BYTES:
        return None
    warning, spare, threshold, used = struct.unpack_from("<B2xBBB", page)
    return Smart(warning, spare, threshold, used, int.from_bytes(page[160:176], "little"))


def _identify(node: str, kind: int, namespace: int) -> bytes:
    """One identify page, empty if the device does not give it (no root, not NVMe)."""
    return _ask(node, _IDENTIFY, namespace, PAGE_BYTES, kind)


def _ask(node: str, opcode: int, namespace: int, length: int, dword10: int) -> bytes:
    """What an admin command that reads answers, empty if it fails."""
    page = ctypes.create_string_buffer(length)
    # struct nvme_passthru_cmd: opcode and flags, nsid, two command words, metadata, data …
    command = bytearray(
        struct.pack(
            "<BBHIIIQQII8I",
            *(opcode, 0, 0, namespace, 0, 0, 0, ctypes.addressof(page), 0, length),
            *(dword10, 0, 0, 0, 0, 0, _TIMEOUT_MS, 0),
        )
    )
    try:
        descriptor = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        failed = fcntl.ioctl(descriptor, _ADMIN_COMMAND, command)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return b"" if failed else page.raw
