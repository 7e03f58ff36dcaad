"""A disk and an array of the machine in memory (:mod:`tests.unit.world`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from appliance.model.disks import Filesystem, Mark, MarkState

MIB = 1024 * 1024
DATA_OFFSET = MIB
FRONT = MIB // 2


@dataclass
class Box:
    """One disk. ``md``, ``pv``, ``fs`` and ``foreign`` are what it holds; at most one at a time.

    ``data``: something was once stored in it, so that it does not read as zero.
    """

    serial: str
    size: int
    model: str
    number: int
    md: dict[str, Any] | None = None
    pv: dict[str, Any] | None = None
    fs: Filesystem | None = None
    foreign: str = ""
    data: bool = False
    mark: Mark | None = None
    mounts: list[str] = field(default_factory=list)
    # What the data area still begins with when the superblock is gone.
    ghost: Filesystem | None = None

    @property
    def path(self) -> str:
        return f"/dev/nvme{self.number}n1"

    @property
    def id(self) -> str:
        return f"nvme-{self.serial}"

    @property
    def link(self) -> str:
        return f"/dev/disk/by-id/{self.id}"


def is_making(box: Box) -> bool:
    return box.mark is not None and box.mark.state is MarkState.MAKING


@dataclass
class Running:
    path: str
    uuid: str
    name: str
    members: list[str]
    mount: str = ""
