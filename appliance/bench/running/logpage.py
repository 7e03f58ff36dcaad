"""Reading NVMe log page 0xD0, in which EC2's disks count how long a limit was exceeded.

The one admin command that is sent, Get Log Page, reads. It takes root, and a disk that can
be told apart as EC2's by its model; everywhere else there is simply nothing known.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from collections.abc import Sequence
from pathlib import Path

from appliance.bench.figures.provisioned import LOG_PAGE_ID, PAGE_BYTES, Exceeded, decode
from appliance.storage.probe.kernel import read_text

# NVME_IOCTL_ADMIN_CMD of linux/nvme_ioctl.h: _IOWR('N', 0x41, struct nvme_passthru_cmd).
_ADMIN_COMMAND = 0xC0484E41
_GET_LOG_PAGE = 0x02
# As amazon-ec2-utils asks (ebsnvme).
_NAMESPACE = 1
_TIMEOUT_MS = 5000
_MODELS = ("Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage")


def read_exceeded(
    disks: Sequence[str],
    *,
    sys_block: Path = Path("/sys/class/block"),
    dev: Path = Path("/dev"),
) -> dict[str, Exceeded]:
    """The counters of those of ``disks`` (kernel names) that have them and let us read them."""
    found = {}
    for disk in disks:
        if read_text(sys_block / disk / "device/model").strip() in _MODELS:
            counters = decode(_log_page(dev / disk))
            if counters is not None:
                found[disk] = counters
    return found


def command(address: int) -> bytes:
    """The struct nvme_passthru_cmd that has the whole page written to ``address``."""
    # Number of dwords less one in the upper half of command dword 10, the page's id below it.
    dword10 = (PAGE_BYTES // 4 - 1) << 16 | LOG_PAGE_ID
    return struct.pack(
        "<BBHIIIQQII8I",
        *(_GET_LOG_PAGE, 0, 0, _NAMESPACE, 0, 0, 0, address, 0, PAGE_BYTES),
        *(dword10, 0, 0, 0, 0, 0, _TIMEOUT_MS, 0),
    )


def _log_page(node: Path) -> bytes:
    """The page, empty if the disk does not give it."""
    page = ctypes.create_string_buffer(PAGE_BYTES)
    try:
        descriptor = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        failed = fcntl.ioctl(descriptor, _ADMIN_COMMAND, bytearray(command(ctypes.addressof(page))))
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return b"" if failed else page.raw
