"""User Mode Linux: its program and modules, and a process of it on a processor of the host."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.rig import packages, processors, tools
from tests.rig.build import ROOT, cache_root, locked

# What the program says is its loader, and one of the same length that is found from its folder.
_LOADER = b"/lib64/ld-linux-x86-64.so.2\0"
_LOADER_HERE = b"/proc/self/cwd/loader".ljust(len(_LOADER), b"\0")
MEMORY = "2G"


def missing() -> str:
    """What it needs and cannot be had, or an empty string."""
    if not (cache_root() / "uml").exists() and not packages.host_sources():
        return "User Mode Linux comes from Debian's archive, and this host has none"
    return ""


def program() -> Path:
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


def modules() -> Path:
    return program().parent / "usr/lib/uml/modules"


def other_kernel(to: Path) -> tuple[str, str]:
    """Make ``to`` a copy of the guest kernel that says that it is another release; the two
    releases (``uname -r``), the real one first.
    """
    content = program().read_bytes()

    def field(release: str) -> bytes:
        # A field of utsname has 65 bytes (include/uapi/linux/utsname.h): zeros around it.
        return bytes(12) + release.encode() + bytes(32)

    (release,) = (one.name for one in modules().iterdir() if field(one.name) in content)
    other = release[:-1] + ("8" if release[-1] != "8" else "9")
    to.write_bytes(content.replace(field(release), field(other)))
    to.chmod(0o755)
    return release, other


class Process:
    """User Mode Linux in ``folder``, which it writes to, with ``arguments`` of its command line; on
    one processor of the host.
    """

    def __init__(
        self,
        folder: Path,
        console: Path,
        arguments: Sequence[str],
        *,
        kernel: Path | None = None,
        descriptors: Sequence[int] = (),
    ) -> None:
        loader, libraries = tools.loader_and_libraries()
        (folder / "loader").unlink(missing_ok=True)
        (folder / "loader").symlink_to(loader)
        self._processor = processors.take()
        argv = [
            *("taskset", "--cpu-list", str(self._processor.number)),
            *("env", f"LD_LIBRARY_PATH={libraries}"),
            str(kernel or program()),
            "seccomp=on",
            f"mem={MEMORY}",
            f"root={ROOT}",
            "rw",
            "con0=fd:0,fd:1",
            "con=null",
            "quiet",
            *arguments,
        ]
        with console.open("wb") as log:
            self.popen = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
                pass_fds=descriptors,
                # UML keeps its sockets below HOME and its memory file in TMPDIR.
                env={**os.environ, "HOME": str(folder)},
                cwd=folder,
            )

    def kill(self) -> None:
        """End it between two instructions; nothing that it held in memory is written."""
        # UML is a family of processes; its group holds nothing else.
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait()
        self._processor.give_back()


def init_with(first: str) -> list[str]:
    """Arguments that have ``first``, a line of a shell, run as process 1."""
    # The kernel hands what follows -- to init, quotes taken off as a shell would.
    return ["init=/bin/sh", "--", "-c", f'"mount -t proc proc /proc; {first}"']
