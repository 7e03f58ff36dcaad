"""QEMU as the image's own distribution has it, whatever the host's is.

Emulated, QEMU 10 boots the image with two thirds of the processor time that QEMU 7.2 (Debian 12)
needs; docs/measurements.md has the figures.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.rig.architecture import AMD64, Architecture
from tests.rig.build import tools_tree


def argv(program: str, architecture: Architecture = AMD64) -> list[str]:
    """How ``program`` of the tree of tools is started: by its own loader and libraries."""
    loader, libraries = loader_and_libraries(architecture)
    path = tools_tree(architecture) / "usr" / "bin" / program
    return [str(loader), "--library-path", str(libraries), str(path)]


def loader_and_libraries(architecture: Architecture = AMD64) -> tuple[Path, Path]:
    """ld.so(8) of the tree of tools, and the folder of its libraries."""
    libraries = tools_tree(architecture) / "usr" / "lib" / "x86_64-linux-gnu"
    return libraries / "ld-linux-x86-64.so.2", libraries


def qemu(architecture: Architecture = AMD64) -> list[str]:
    """QEMU's command line up to its own options."""
    share = tools_tree(architecture) / "usr" / "share"
    program = argv(f"qemu-system-{architecture.kernel}", architecture)
    return [*program, "-L", str(share / "qemu"), "-L", str(share / "seabios")]


def environment(architecture: Architecture = AMD64) -> dict[str, str]:
    """The environment in which QEMU finds its modules."""
    modules = tools_tree(architecture) / "usr" / "lib" / "x86_64-linux-gnu" / "qemu"
    return {**os.environ, "QEMU_MODULE_DIR": str(modules)}
