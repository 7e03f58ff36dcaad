"""Mount options that a volume may have besides nodev,nosuid,noatime; each with its reason. Pure.

The list is short on purpose. An option is on it if it is safe for the data, an operator may have
a reason for it, and the kernel shows it in mountinfo, so that it can be verified.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MountOption:
    """``shown`` is the option as documentation and errors name it."""

    shown: str
    pattern: str
    why: str


_COMMON = (
    MountOption("discard", "discard", "tells the disk at once what was freed"),
    MountOption("lazytime", "lazytime", "writes time stamps when the inode is written anyway"),
    MountOption("noexec", "noexec", "no programs are started from the volume"),
)
ALLOWED: Mapping[str, tuple[MountOption, ...]] = {
    "xfs": (
        *_COMMON,
        MountOption("largeio", "largeio", "reports the stripe width as the preferred I/O size"),
        MountOption("swalloc", "swalloc", "begins large files at a whole stripe"),
        MountOption(
            "allocsize=64k … 1048576k (a power of two)",
            "allocsize=(?:" + "|".join(f"{2**power}k" for power in range(6, 21)) + ")",
            "how far ahead a growing file is given room",
        ),
        MountOption(
            "logbsize=32k, 64k, 128k or 256k",
            "logbsize=(?:32|64|128|256)k",
            "the size of the journal's buffers",
        ),
    ),
    "ext4": (
        *_COMMON,
        # 5 is the kernel's own, and is not shown.
        MountOption(
            "commit=1 … 60 (not 5, the default)",
            "commit=(?:[1-46-9]|[1-5][0-9]|60)",
            "seconds of written data that a crash may lose",
        ),
        MountOption("nodelalloc", "nodelalloc", "gives blocks to data as it is written"),
    ),
}
# What is asked for now and then, and why it is not on the list.
REFUSED: Mapping[str, str] = {
    "nobarrier": "a power cut would damage the filesystem",
    "barrier=0": "a power cut would damage the filesystem",
    "data=writeback": "after a crash files can show what was deleted before",
    "data=journal": "everything is written twice, and a measurement counts it once",
    "norecovery": "it shows a filesystem that is not consistent",
    "noload": "it shows a filesystem that is not consistent",
    "nouuid": "it mounts a copy beside its original",
    "ro": "a volume that cannot be written cannot be proved or measured",
    "noinit_itable": "there is nothing left to initialise: mkfs does it",
    "nodev": "it is always given",
    "nosuid": "it is always given",
    "noatime": "it is always given",
    "dev": "nodev is always given",
    "suid": "nosuid is always given",
    "atime": "noatime is always given",
    "relatime": "noatime is always given",
}


def problem(filesystem: str, option: str) -> str:
    """Why ``option`` is not allowed on ``filesystem``, empty if it is."""
    if any(re.fullmatch(one.pattern, option, re.ASCII) for one in ALLOWED[filesystem]):
        return ""
    return REFUSED.get(option, f"it is not one that {filesystem} volumes may have")


def allowed(filesystem: str) -> str:
    """All that may be given, for a hint."""
    return "; ".join(one.shown for one in ALLOWED[filesystem])
