"""The host side of the lab: start a User Mode Linux guest, wait for it, collect its results.

The guest's root is the built image through a copy-on-write file, so the image stays as it
is; kernel modules, the checkout and the results folder come through hostfs. The guest has
no other disk: what the scenarios write to are files in its memory, or, where they are to
outlive it, in the results folder.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rig import uml

CHECKOUT = Path(__file__).parents[2]
# A guest has one processor, and any machine has two.
GUESTS = 2


@dataclass(frozen=True, slots=True)
class LabRun:
    """What one guest left behind. ``results`` is empty if it never got that far."""

    results: Mapping[str, Any]
    console: str
    seconds: float
    timed_out: bool


class Guest:
    """A running guest that executes ``python3 -m PROGRAM…`` and powers off.

    ``folder`` (the guest's /run/results) receives the copy-on-write file and the console.
    ``queue`` (its /run/queue) says what it is to do: ``folder`` itself, or one that guests share.
    """

    def __init__(
        self,
        image: Path,
        folder: Path,
        program: Sequence[str],
        *,
        kernel: Path | None = None,
        queue: Path | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._console = folder / "console.log"
        self._began = time.monotonic()
        first = (
            "mkdir -p /mnt/checkout;"
            f" mount -t hostfs none /mnt/checkout -o hostfs={CHECKOUT};"
            f" exec /bin/sh /mnt/checkout/tests/lab/guest_init.sh"
            f" {uml.modules()} {folder} {queue or folder}"
            f" {' '.join(program)}"
        )
        self._process = uml.Process(
            folder,
            self._console,
            [f"ubd0={folder / 'root.cow'},{image}", *uml.init_with(first)],
            kernel=kernel,
        )

    def wait(self, timeout_seconds: float) -> bool:
        """Whether it ended by itself in time; it is ended otherwise."""
        try:
            self._process.popen.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return False
        finally:
            self._process.kill()
        return True

    @property
    def console(self) -> str:
        return self._console.read_text(errors="replace")

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began


def run_guest(
    image: Path,
    folder: Path,
    program: Sequence[str],
    *,
    timeout_seconds: float = 1500,
    kernel: Path | None = None,
    queue: Path | None = None,
) -> LabRun:
    """Boot ``image``'s root partition, run ``program``, power off.

    ``program`` is a module of the checkout and its arguments; what it writes to
    /run/results/results.json are the results.
    """
    guest = Guest(image, folder, program, kernel=kernel, queue=queue)
    ended = guest.wait(timeout_seconds)
    results = folder / "results.json"
    return LabRun(
        results=json.loads(results.read_text()) if results.exists() else {},
        console=guest.console,
        seconds=guest.seconds,
        timed_out=not ended,
    )


def put(queue: Path, names: Sequence[str]) -> None:
    """Make ``queue`` what guests take ``names`` from (tests/lab/guest.py), each name once."""
    (queue / "taken").mkdir(parents=True)
    (queue / "names.txt").write_text("\n".join(names))


def run_guests(
    image: Path,
    folder: Path,
    program: Sequence[str],
    names: Sequence[str],
    *,
    timeout_seconds: float,
) -> list[LabRun]:
    """As many guests as any machine has processors; each takes the next name when it is free."""
    queue = folder / "queue"
    put(queue, names)

    def run(at: int) -> LabRun:
        return run_guest(
            image, folder / str(at), program, timeout_seconds=timeout_seconds, queue=queue
        )

    with ThreadPoolExecutor(GUESTS) as pool:
        return list(pool.map(run, range(GUESTS)))
