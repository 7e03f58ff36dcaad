"""What an NVMe disk says to root: its identify pages, and its health.

Providers keep a disk's name in the vendor bytes of the identify pages (:mod:`appliance.clouds`):
what an operator sees in the console, and rules in the layout may go by. Only admin commands that
read are sent: Identify and Get Log Page.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from dataclasses import dataclass

PAGE_BYTES = 4096

# NVME_IOCTL_ADMIN_CMD of linux/nvme_ioctl.h: _IOWR('N', 0x41, struct nvme_passthru_cmd).
_ADMIN_COMMAND = 0xC0484E41
_IDENTIFY = 0x06
_GET_LOG_PAGE = 0x02
_SMART_LOG = 0x02
SMART_BYTES = 512
# In whole kelvins, as the log has it (NVM Express: 273 by convention).
_ZERO_CELSIUS = 273
# The log of the whole controller, not of one namespace.
_ALL_NAMESPACES = 0xFFFFFFFF
_CNS_NAMESPACE = 0
_CNS_CONTROLLER = 1
_TIMEOUT_MS = 5000
# The bits of the critical warning: NVM Express Base Specification 2.0, log page 02h.
_TEMPERATURE_BIT = 0x02
_CRITICAL_WARNING = (
    "spare blocks below the threshold",
    "temperature outside its limits",
    "reliability degraded by media or internal errors",
    "it has gone read-only",
    "volatile memory backup failed",
    "persistent memory region read-only or unreliable",
)


@dataclass(frozen=True, slots=True)
class Smart:
    """The SMART / Health Information log (NVM Express Base Specification 2.0, log page 02h).

    ``critical_warning`` is a set of bits, ``percentage_used`` may be more than 100 (255 is
    the end of the scale). ``temperature_celsius`` is the composite temperature (bytes 2:1, in
    kelvins); ``None`` where the disk leaves it at 0.
    """

    critical_warning: int
    available_spare: int
    available_spare_threshold: int
    percentage_used: int
    media_errors: int
    temperature_celsius: int | None = None

    @property
    def temperature_out_of_limits(self) -> bool:
        return bool(self.critical_warning & _TEMPERATURE_BIT)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The critical warning in words; empty if the disk raises none."""
        if not self.critical_warning:
            return ()
        bits = enumerate(_CRITICAL_WARNING)
        said = tuple(words for bit, words in bits if self.critical_warning & (1 << bit))
        return said or ("a warning that this version does not know",)


def smart(node: str) -> Smart | None:
    """The log of the disk's controller, ``None`` if it gives none (no root, not NVMe)."""
    return smart_log(log_page(node, _SMART_LOG, SMART_BYTES, namespace=_ALL_NAMESPACES))


def log_page(node: str, page_id: int, size_bytes: int, *, namespace: int) -> bytes:
    """The first bytes of a log page, empty if the device does not give it."""
    # Number of dwords less one in the upper half of command dword 10, the page's id below it.
    dword10 = (size_bytes // 4 - 1) << 16 | page_id
    return _ask(node, _GET_LOG_PAGE, namespace, size_bytes, dword10)


def smart_log(page: bytes) -> Smart | None:
    """The fields of the page, ``None`` for anything shorter."""
    if len(page) < SMART_BYTES:
        return None
    warning, kelvins, spare, threshold, used = struct.unpack_from("<BHBBB", page)
    errors = int.from_bytes(page[160:176], "little")
    celsius = kelvins - _ZERO_CELSIUS if kelvins else None
    return Smart(warning, spare, threshold, used, errors, celsius)


def controller_page(node: str) -> bytes:
    """Identify Controller, empty if the device does not give it (no root, not NVMe)."""
    return _ask(node, _IDENTIFY, 0, PAGE_BYTES, _CNS_CONTROLLER)


def namespace_page(node: str, namespace: int) -> bytes:
    """Identify Namespace, empty if the device does not give it."""
    return _ask(node, _IDENTIFY, namespace, PAGE_BYTES, _CNS_NAMESPACE)


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
