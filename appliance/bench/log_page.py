"""Reading the NVMe log page in which a provider's disks count how long a limit was exceeded.

The one admin command that is sent, Get Log Page, reads. It takes root, and a disk whose model
says that it has such a page; elsewhere nothing is known. A unit without root has root look, and
reads what that left in seen.json.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.clouds.provider import LogPage, provider
from appliance.data import disk_rule
from appliance.errors import OperatorError
from appliance.model.disks import DiskKind
from appliance.model.measurement import Exceeded
from appliance.state import codec
from appliance.storage.probe import nvme
from appliance.system import services
from appliance.system.kernel import read_text

# As amazon-ec2-utils asks (ebsnvme).
_NAMESPACE = 1


def read_exceeded(
    disks: Sequence[str],
    *,
    sys_block: Path = Path("/sys/class/block"),
    dev: Path = Path("/dev"),
) -> dict[str, Exceeded]:
    """The counters of those of ``disks`` (kernel names) that have them and let us read them."""
    found = {}
    for disk in disks:
        kind, page = _log_page(disk, sys_block)
        if page is None:
            continue
        node = str(dev / disk)
        given = (
            nvme.log_page(node, page.page_id, size_bytes, namespace=_NAMESPACE)
            for size_bytes in page.sizes_bytes(kind)
        )
        counters = page.decode(next(filter(None, given), b""))
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
    if not any(_log_page(disk, sys_block)[1] for disk in disks):
        return {}
    asked_at = time.monotonic()
    with contextlib.suppress(OperatorError):
        # A look that was at work may have read them before: it is followed by another.
        for _ in range(2):
            services.have_root_look()
            if (found := recorded(seen, asked_at)) is not None:
                return {disk: one for disk, one in found.items() if disk in disks}
    return {}


def to_json(found: Mapping[str, Exceeded]) -> dict[str, Any]:
    """Readings as root's look keeps them."""
    return {disk: asdict(one) for disk, one in found.items()}


@dataclass(frozen=True, slots=True)
class _Kept:
    at_monotonic_s: float
    disks: Mapping[str, Exceeded]


@dataclass(frozen=True, slots=True)
class _Seen:
    exceeded: _Kept


def recorded(seen: Path, since: float) -> dict[str, Exceeded] | None:
    """What root's look has kept; ``None`` if it began to read before ``since`` (monotonic)."""
    try:
        kept = codec.parse(_Seen, seen.read_text(encoding="utf-8")).exceeded
    except (OSError, ValueError):
        return None
    return dict(kept.disks) if kept.at_monotonic_s >= since else None


def _log_page(disk: str, sys_block: Path) -> tuple[DiskKind, LogPage | None]:
    model = read_text(sys_block / disk / "device/model").strip()
    rule = disk_rule(transport="nvme", vendor="", model=model)
    cloud = provider(rule.provider) if rule else None
    return (rule.kind, cloud.log_page) if rule and cloud else (DiskKind.UNKNOWN, None)
