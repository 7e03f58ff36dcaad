"""Read the built image, and write to its EFI partition, without booting or mounting it."""

from __future__ import annotations

import struct
import subprocess
import uuid
from pathlib import Path

from tests.rig import tools
from tests.rig.errors import RigError

_SECTOR = 512
# Types of partitions (UEFI specification 2.10, 5.3.3; the Discoverable Partitions Specification).
ESP = uuid.UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
BIOS_BOOT = uuid.UUID("21686148-6449-6e6f-744e-656564454649")
ROOT_X86_64 = uuid.UUID("4f68bce3-e8cd-4db1-96e7-fbcaf984b709")


def offset_bytes(disk: Path, kind: uuid.UUID) -> int:
    """Where the first partition of type ``kind`` begins (UEFI specification 2.10, 5.3: GPT)."""
    with disk.open("rb") as handle:
        handle.seek(_SECTOR)
        header = handle.read(92)
        if header[:8] != b"EFI PART":
            raise ValueError(f"{disk}: no partition table")
        first, count, size = struct.unpack_from("<QII", header, 72)
        handle.seek(first * _SECTOR)
        for _ in range(count):
            entry = handle.read(size)
            if uuid.UUID(bytes_le=entry[:16]) == kind:
                start: int = struct.unpack_from("<Q", entry, 32)[0]
                return start * _SECTOR
    raise ValueError(f"{disk}: no partition of type {kind}")


class RootFilesystem:
    """The image's root file system, read with debugfs."""

    def __init__(self, disk: Path) -> None:
        self._target = f"{disk}?offset={offset_bytes(disk, ROOT_X86_64)}"

    def _debugfs(self, request: str) -> str:
        done = subprocess.run(
            ["debugfs", "-R", request, self._target], capture_output=True, check=True
        )
        return done.stdout.decode(errors="replace")

    def read(self, path: str) -> str:
        """The text of a file; empty if there is none, and for a link."""
        return self._debugfs(f"cat {path}")

    def link(self, path: str) -> str:
        """Where a symbolic link points to (at most 59 bytes); empty if there is no link."""
        rows = self._debugfs(f"stat {path}").splitlines()
        return next((row.split('"')[1] for row in rows if row.startswith("Fast link dest:")), "")

    def names(self, folder: str) -> list[str]:
        """What is in a folder."""
        rows = self._debugfs(f"ls -p {folder}").splitlines()
        names = [row.split("/")[5] for row in rows if row.count("/") >= 6]
        return [name for name in names if name not in (".", "..")]


class BootFilesystem:
    """The image's EFI partition, by mtools."""

    def __init__(self, disk: Path) -> None:
        self._target = f"{disk}@@{offset_bytes(disk, ESP)}"

    def _mtools(self, program: str, *arguments: str) -> str:
        argv = [*tools.argv(program), "-i", self._target, *arguments]
        done = subprocess.run(argv, capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise RigError(f"{program}: {said}", f"it was asked of {self._target}")
        return done.stdout.decode(errors="replace")

    def read(self, path: str) -> str:
        """The text of a file, of which there must be one."""
        return self._mtools("mtype", f"::{path}")

    def copy_out(self, path: str, target: Path) -> None:
        self._mtools("mcopy", "-n", f"::{path}", str(target))

    def copy_all_out(self, target: Path) -> None:
        self._mtools("mcopy", "-s", "-n", "::/", str(target))

    def copy_in(self, source: Path, path: str) -> None:
        """Put a file where there may be one."""
        self._mtools("mcopy", "-o", str(source), f"::{path}")

    def paths(self) -> list[str]:
        """All files and folders, from the top."""
        rows = self._mtools("mdir", "-/", "-b", "::/").split()
        return [row.removeprefix("::").rstrip("/") for row in rows]
