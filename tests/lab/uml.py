"""The host side of the lab: start a User Mode Linux guest, wait for it, collect its results.

The guest's root is the built image through a copy-on-write file, so the image stays as it
is; kernel modules, the checkout and the results folder come through hostfs. The guest has
no other disk: what the scenarios write to are files in its memory, or, where they are to
outlive it, in the results folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rig.build import cache_root

CHECKOUT = Path(__file__).parents[2]
MODULES = Path("/usr/lib/uml/modules")
PROGRAM = Path("/usr/bin/linux.uml")
_XSTATE = Path(__file__).with_name("xstate.c")
# A guest has one processor, and any machine has two.
GUESTS = 2
_MEMORY = "2G"
_ROOT_PARTITION = 2  # as mkosi.repart numbers them: the ESP, then the root
_POLL_SECONDS = 0.005

# A guest has one processor and many processes on the host. Left to themselves these wake each
# other across the host's processors all the time, which costs three quarters of the speed.
_guests_on = dict.fromkeys(sorted(os.sched_getaffinity(0)), 0)
_choosing = threading.Lock()


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
    if _needs_xstate() and not shutil.which("cc"):
        return "this processor has AMX: User Mode Linux needs xstate.c here, and there is no cc"
    return ""


def other_kernel(to: Path) -> tuple[str, str]:
    """Make ``to`` a copy of the guest kernel that says that it is another release; the two
    releases (``uname -r``), the real one first.
    """
    program = PROGRAM.read_bytes()

    def field(release: str) -> bytes:
        # A field of utsname has 65 bytes (include/uapi/linux/utsname.h): zeros around it.
        return bytes(12) + release.encode() + bytes(32)

    (release,) = (one.name for one in MODULES.iterdir() if field(one.name) in program)
    other = release[:-1] + ("8" if release[-1] != "8" else "9")
    to.write_bytes(program.replace(field(release), field(other)))
    to.chmod(0o755)
    return release, other


def _needs_xstate() -> bool:
    return "amx_tile" in Path("/proc/cpuinfo").read_text().split()


def _preload() -> dict[str, str]:
    """The environment that makes UML work on processors with AMX; empty elsewhere."""
    if not _needs_xstate():
        return {}
    made = cache_root() / f"xstate-{hashlib.sha256(_XSTATE.read_bytes()).hexdigest()[:12]}.so"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        partial = made.with_suffix(f".{os.getpid()}")
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", str(partial), str(_XSTATE)], check=True
        )
        partial.rename(made)
    return {"LD_PRELOAD": str(made)}


def _take_processor() -> int:
    """A processor with as few other guests as any."""
    with _choosing:
        chosen = min(_guests_on, key=lambda number: _guests_on[number])
        _guests_on[chosen] += 1
    return chosen


def _give_back(processor: int) -> None:
    with _choosing:
        _guests_on[processor] -= 1


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
        kernel: Path = PROGRAM,
        queue: Path | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._console = folder / "console.log"
        self._began = time.monotonic()
        # The kernel hands what follows -- to init, quotes taken off as a shell would.
        first = (
            "mount -t proc proc /proc;"
            " mkdir -p /mnt/checkout;"
            f" mount -t hostfs none /mnt/checkout -o {CHECKOUT};"
            f" exec /bin/sh /mnt/checkout/tests/lab/guest_init.sh"
            f" {MODULES} {folder} {queue or folder}"
            f" {' '.join(program)}"
        )
        self._processor: int | None = _take_processor()
        argv = [
            "taskset",
            "--cpu-list",
            str(self._processor),
            str(kernel),
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
        with self._console.open("wb") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
                # UML keeps its sockets below HOME and its memory file in TMPDIR.
                env={**os.environ, **_preload(), "HOME": str(folder)},
            )

    def wait(self, timeout_seconds: float) -> bool:
        """Whether it ended by itself in time; it is ended otherwise."""
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.cut_power()
        return True

    def wait_for(self, happened: Callable[[], bool], timeout_seconds: float) -> bool:
        """Wait until ``happened``, or the guest has ended, or the time is over."""
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline and self._process.poll() is None:
            if happened():
                return True
            time.sleep(_POLL_SECONDS)
        return happened()

    def cut_power(self) -> None:
        """End the guest between two instructions; nothing that it held in memory is written."""
        # UML is a family of processes; its group holds nothing else.
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._processor is not None:
            _give_back(self._processor)
            self._processor = None

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
    kernel: Path = PROGRAM,
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
