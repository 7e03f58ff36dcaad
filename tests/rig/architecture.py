"""The processors that the image is built for: each one's name in every vocabulary that needs it."""

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
    aws: str
    azure: str
    gcp: str


AMD64 = Architecture("amd64", "x86_64", "x86-64", "x86_64", "x64", "X86_64")
ARM64 = Architecture("arm64", "aarch64", "arm64", "arm64", "Arm64", "ARM64")
ARCHITECTURES = {one.name: one for one in (AMD64, ARM64)}
