"""The host side of the lab: start a User Mode Linux guest, wait for it, collect its results.

The guest's root is the built image through a copy-on-write file, so the image stays as it
is; kernel modules, the checkout and the results folder come through hostfs. The guest has
no other disk: what the scenarios write to are files in its memory, or, where they are to
outlive it, in the results folder.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rig import packages, tools
from tests.rig.build import cache_root, locked

CHECKOUT = Path(__file__).parents[2]
# What the program says is its loader, and one of the same length that is found from its folder.
_LOADER = b"/lib64/ld-linux-x86-64.so.2\0"
_LOADER_HERE = b"/proc/self/cwd/loader".ljust(len(_LOADER), b"\0")
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
    """What the lab needs and cannot be had, or an empty string."""
    if not (cache_root() / "uml").exists() and not packages.host_sources():
        return "User Mode Linux comes from Debian's archive, and this host has none"
    return ""


def uml_program() -> Path:
    """User Mode Linux. It needs a newer libc than some hosts have, and is started with that of the
    tools.
    """
    ready = cache_root() / "uml" / "linux"
    if not ready.exists():
        with locked(cache_root() / "uml.lock"):
            content = (packages.user_mode_linux(cache_root()) / "usr/bin/linux.uml").read_bytes()
            assert content.count(_LOADER) == 1
            partial = ready.with_suffix(".partial")
            partial.write_bytes(content.replace(_LOADER, _LOADER_HERE))
            partial.chmod(0o755)
            partial.rename(ready)
    return ready


def _modules() -> Path:
    return uml_program().parent / "usr/lib/uml/modules"


def other_kernel(to: Path) -> tuple[str, str]:
    """Make ``to`` a copy of the guest kernel that says that it is another release; the two
    releases (``uname -r``), the real one first.
    """
    content = uml_program().read_bytes()

    def field(release: str) -> bytes:
        # A field of utsname has 65 bytes (include/uapi/linux/utsname.h): zeros around it.
        return bytes(12) + release.encode() + bytes(32)

    (release,) = (one.name for one in _modules().iterdir() if field(one.name) in content)
    other = release[:-1] + ("8" if release[-1] != "8" else "9")
    to.write_bytes(content.replace(field(release), field(other)))
    to.chmod(0o755)
    return release, other


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
        kernel: Path | None = None,
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
            f" mount -t hostfs none /mnt/checkout -o hostfs={CHECKOUT};"
            f" exec /bin/sh /mnt/checkout/tests/lab/guest_init.sh"
            f" {_modules()} {folder} {queue or folder}"
            f" {' '.join(program)}"
        )
        loader, libraries = tools.loader_and_libraries()
        (folder / "loader").unlink(missing_ok=True)
        (folder / "loader").symlink_to(loader)
        self._processor: int | None = _take_processor()
        argv = [
            *("taskset", "--cpu-list", str(self._processor)),
            *("env", f"LD_LIBRARY_PATH={libraries}"),
            str(kernel or uml_program()),
            "seccomp=on",
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
                env={**os.environ, "HOME": str(folder)},
                cwd=folder,
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
