"""A program on a pseudo-terminal: what it writes and when, and what it takes of the machine."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.rig.errors import RigError

COLUMNS, LINES = 140, 45
# So much text is no error message and no prompt, but a screen.
_PAINTED_CELLS = 200
_ESCAPES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    rb"|\x1b[\]PX^_].*?(?:\x07|\x1b\\)"  # OSC, DCS and other strings
    rb"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)
_TICKS = os.sysconf("SC_CLK_TCK")


def text_of(written: bytes) -> str:
    """What is left of ``written`` without escape sequences and control characters."""
    return re.sub(r"[\x00-\x1f\x7f]", "", _ESCAPES.sub(b"", written).decode(errors="replace"))


class Watched:
    """``argv`` on a terminal of its own; ``mark`` in the environment finds it, also behind SSH."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], mark: str) -> None:
        self._mark = f"SCREENS_BENCH={mark}".encode()
        self.written = bytearray()
        self.began = time.monotonic()
        self._child, self._terminal = pty.fork()
        if self._child == 0:
            try:
                os.execvpe(argv[0], list(argv), dict(environment))  # noqa: S606
            finally:
                os._exit(127)
        size = struct.pack("HHHH", LINES, COLUMNS, 0, 0)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)

    def listen(self, seconds: float) -> bool:
        """Take what comes for at most ``seconds``; whether anything came before they passed."""
        ready, _, _ = select.select([self._terminal], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            came = os.read(self._terminal, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            came = b""
        if not came:
            raise RigError(
                "the program has ended", f"it wrote: {text_of(bytes(self.written))[-800:]}"
            )
        self.written += came
        return True

    def rest(self, seconds: float) -> None:
        """Let the program work, and take what it writes."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.listen(left)

    def wait_for(self, pattern: str, *, patience_seconds: float = 60.0) -> float:
        """Seconds from the start until ``pattern`` was on the screen; it may be an empty one: then
        until the screen was drawn at all.
        """
        until = time.monotonic() + patience_seconds
        looked_at = -1
        while True:
            if len(self.written) != looked_at:
                looked_at = len(self.written)
                text = text_of(bytes(self.written))
                if len(text) >= _PAINTED_CELLS and re.search(pattern, text):
                    return time.monotonic() - self.began
            if not self.listen(until - time.monotonic()) and time.monotonic() >= until:
                shown = text_of(bytes(self.written))[-800:]
                raise RigError(f"not on the screen: {pattern}", f"it shows: {shown}")

    def press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    @property
    def process(self) -> Process:
        """The program itself, which may be behind an SSH client and a shell."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
                program = (folder / "exe").readlink().name
            except OSError:
                continue
            if self._mark in environment.split(b"\0") and not program.endswith("sh"):
                found.append(int(folder.name))
        if not found:
            raise RigError("the program is not there", "has it ended?")
        return Process(min(found))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it as a terminal that is closed does, and at the latest by force."""
        os.close(self._terminal)
        for signum in (0, signal.SIGTERM, signal.SIGKILL):
            if signum:
                os.kill(self._child, signum)
            until = time.monotonic() + 5
            while time.monotonic() < until:
                if os.waitpid(self._child, os.WNOHANG)[0]:
                    return
                time.sleep(0.02)


class Process:
    """What the kernel counts for a process."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._folder = Path("/proc") / str(number)

    def cpu_seconds(self) -> float:
        """Of all its threads and of the programs that it started and that have ended."""
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15]) / _TICKS

    def rss_bytes(self) -> int:
        found = re.search(r"^VmRSS:\s+(\d+) kB", (self._folder / "status").read_text(), re.M)
        assert found
        return int(found[1]) * 1024
