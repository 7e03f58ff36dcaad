"""The processors that the image is built for, with the names that programs have for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Architecture:
    """``name`` is Debian's and the one users give, ``kernel`` uname(1)'s, which QEMU and Python's
    wheels use, too.
    """

    name: str
    kernel: str
    mkosi: str


AMD64 = Architecture("amd64", "x86_64", "x86-64")
ARM64 = Architecture("arm64", "aarch64", "arm64")
ARCHITECTURES = {one.name: one for one in (AMD64, ARM64)}
