"""Reading NVMe log page 0xD0, in which EC2's disks count how long a limit was exceeded.

The one admin command that is sent, Get Log Page, reads. It takes root, and a disk that can
be told apart as EC2's by its model; everywhere else there is simply nothing known. A unit without
root has root look, and reads what that has left in seen.json.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.errors import OperatorError
from appliance.figures.provisioned import (
    LOG_PAGE_ID,
    LONG_PAGE_BYTES,
    PAGE_BYTES,
    Exceeded,
    Times,
    decode,
)
from appliance.model import Provisioned
from appliance.system import services
from appliance.system.kernel import read_text

# NVME_IOCTL_ADMIN_CMD of linux/nvme_ioctl.h: _IOWR('N', 0x41, struct nvme_passthru_cmd).
_ADMIN_COMMAND = 0xC0484E41
_GET_LOG_PAGE = 0x02
# As amazon-ec2-utils asks (ebsnvme).
_NAMESPACE = 1
_TIMEOUT_MS = 5000
_LOCAL_MODEL = "Amazon EC2 NVMe Instance Storage"
_MODELS = ("Amazon Elastic Block Store", _LOCAL_MODEL)


def read_exceeded(
    disks: Sequence[str],
    *,
    sys_block: Path = Path("/sys/class/block"),
    dev: Path = Path("/dev"),
) -> dict[str, Exceeded]:
    """The counters of those of ``disks`` (kernel names) that have them and let us read them."""
    found = {}
    for disk in disks:
        model = _model(disk, sys_block)
        if model not in _MODELS:
            continue
        page = _log_page(dev / disk, LONG_PAGE_BYTES) if model == _LOCAL_MODEL else b""
        counters = decode(page or _log_page(dev / disk))
        if counters is not None:
            found[disk] = counters
    return found


def ask_exceeded(
    disks: Sequence[str],
    *,
    sys_block: Path = Path("/sys/class/block"),
    seen: Path = paths.SEEN_FILE,
) -> dict[str, Exceeded]:
    """The counters of ``disks`` as they are now; without root by way of root's own look. Empty
    where there is nothing known, or nothing that is new enough.
    """
    if os.geteuid() == 0:
        return read_exceeded(disks, sys_block=sys_block)
    if not any(_model(disk, sys_block) in _MODELS for disk in disks):
        return {}
    asked_at = time.monotonic()
    with contextlib.suppress(OperatorError):
        # A look that was at work may have read them before: it is followed by another.
        for _ in range(2):
            services.have_root_look()
            if (found := _recorded(seen, asked_at)) is not None:
                return {disk: one for disk, one in found.items() if disk in disks}
    return {}


def to_json(found: Mapping[str, Exceeded]) -> dict[str, Any]:
    """Readings as root's look keeps them."""
    return {disk: asdict(one) for disk, one in found.items()}


def _recorded(seen: Path, since: float) -> dict[str, Exceeded] | None:
    """What root's look has kept; ``None`` if it began to read before ``since`` (monotonic)."""
    try:
        kept = json.loads(seen.read_text(encoding="utf-8"))["exceeded"]
        if kept["at_monotonic_s"] < since:
            return None
        return {
            str(disk): Exceeded(
                int(one["magic"]), Provisioned(**one["limits"]), _times(one.get("times"))
            )
            for disk, one in kept["disks"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _times(kept: Mapping[str, Any] | None) -> dict[str, Times]:
    return {
        direction: Times(
            int(one["ios"]),
            int(one["time_us"]),
            tuple((int(least), int(most), int(ios)) for least, most, ios in one["bins"]),
            tuple((int(size), tuple(map(int, counts))) for size, counts in one["by_size"]),
        )
        for direction, one in (kept or {}).items()
    }


def _model(disk: str, sys_block: Path) -> str:
    return read_text(sys_block / disk / "device/model").strip()


def command(address: int, size_bytes: int = PAGE_BYTES) -> bytes:
    """The struct nvme_passthru_cmd that has the page's first bytes written to ``address``."""
    # Number of dwords less one in the upper half of command dword 10, the page's id below it.
    dword10 = (size_bytes // 4 - 1) << 16 | LOG_PAGE_ID
    return struct.pack(
        "<BBHIIIQQII8I",
        *(_GET_LOG_PAGE, 0, 0, _NAMESPACE, 0, 0, 0, address, 0, size_bytes),
        *(dword10, 0, 0, 0, 0, 0, _TIMEOUT_MS, 0),
    )


def _log_page(node: Path, size_bytes: int = PAGE_BYTES) -> bytes:
    """The page, empty if the disk does not give it."""
    page = ctypes.create_string_buffer(size_bytes)
    asked = bytearray(command(ctypes.addressof(page), size_bytes))
    try:
        descriptor = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        failed = fcntl.ioctl(descriptor, _ADMIN_COMMAND, asked)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return b"" if failed else page.raw
