"""The host side of the lab: start a User Mode Linux guest, wait for it, collect its results.

The guest's root is the built image through a copy-on-write file, so the image stays as it
is; kernel modules, the checkout and the results folder come through hostfs. The guest has
no other disk: what the scenarios write to is memory of its own (scsi_debug).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
MODULES = Path("/usr/lib/uml/modules")
PROGRAM = Path("/usr/bin/linux.uml")
_MEMORY = "2G"
_ROOT_PARTITION = 2  # as mkosi.repart numbers them: the ESP, then the root


@dataclass(frozen=True, slots=True)
class LabRun:
    """What one guest left behind. ``results`` is empty if it never got that far."""

    results: Mapping[str, Any]
    console: str
    seconds: float
    timed_out: bool


def missing() -> str:
    """What the lab needs and is not installed, or an empty string."""
    if not PROGRAM.exists() or not MODULES.is_dir():
        return "the package user-mode-linux (program and modules) is not installed"
    return ""


def run_guest(
    image: Path, folder: Path, scenarios: Sequence[str], *, timeout_seconds: float = 900
) -> LabRun:
    """Boot ``image``'s root partition, run ``scenarios`` one after the other, power off.

    ``folder`` receives the copy-on-write file, the console log and ``results.json``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    console = folder / "console.log"
    # The kernel hands what follows -- to init, quotes taken off as a shell would.
    first = (
        "mount -t proc proc /proc;"
        " mkdir -p /mnt/checkout;"
        f" mount -t hostfs none /mnt/checkout -o {CHECKOUT};"
        f" exec /bin/sh /mnt/checkout/tests/lab/guest_init.sh {MODULES} {folder}"
        f" {' '.join(scenarios)}"
    )
    argv = [
        str(PROGRAM),
        f"mem={_MEMORY}",
        f"ubd0={folder / 'root.cow'},{image}",
        f"root=/dev/ubda{_ROOT_PARTITION}",
        "rw",
        "con0=fd:0,fd:1",
        "con=null",
        "quiet",
        "init=/bin/sh",
        "--",
        "-c",
        f'"{first}"',
    ]
    began = time.monotonic()
    timed_out = False
    with console.open("wb") as log:
        guest = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            process_group=0,
            # UML keeps its sockets below HOME and its memory file in TMPDIR.
            env={**os.environ, "HOME": str(folder)},
        )
        try:
            guest.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            # UML is a family of processes; its group holds nothing else.
            if guest.poll() is None:
                os.killpg(guest.pid, signal.SIGKILL)
                guest.wait()
    results = folder / "results.json"
    return LabRun(
        results=json.loads(results.read_text()) if results.exists() else {},
        console=console.read_text(errors="replace"),
        seconds=time.monotonic() - began,
        timed_out=timed_out,
    )
