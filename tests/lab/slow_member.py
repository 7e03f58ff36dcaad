"""Guest program of ``tests.bench.slow_member``: a stripe of four disks under load, one of which
gets slow, and what two programs write to their terminals meanwhile.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.lab import rack
from tests.lab.drift import measured
from tests.lab.drift.watched import MOUNT, Watched
from tests.lab.guest import DISKS, RESULTS, must_be_guest
from tests.lab.shell import sh

COLUMNS, LINES = 140, 45
SLOW, SLOW_MS = "d3", 60
BEFORE_SECONDS, AFTER_SECONDS = 40.0, 40.0
# Programs of the host, with its libraries.
_HOST = Path("/mnt/host")
_PROGRAMS = {
    "stripewright": ["stripewright"],
    "btop": ["chroot", str(_HOST), "btop", "--utf-force"],
}
_LOAD = [
    *("fio", "--name=load", f"--directory={MOUNT}", "--size=16m", "--rw=randread", "--bs=4k"),
    *("--direct=1", "--ioengine=libaio", "--iodepth=8", "--numjobs=2", "--time_based"),
    *("--runtime=600", "--output=/dev/null"),
]


def _start(argv: list[str]) -> int:
    """The terminal of ``argv``, which is started on one of its own."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "HOME": "/tmp"}
        os.execvp(argv[0], argv)  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    return terminal


def _record(
    terminals: dict[int, str], seconds: float, written: list[tuple[str, float, str]]
) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        for terminal in select.select(list(terminals), [], [], left)[0]:
            came = os.read(terminal, 1 << 16)
            written.append((terminals[terminal], time.monotonic(), came.hex()))


def main() -> None:
    must_be_guest()
    rack.load()
    machine = Watched(rack.Rack(DISKS))
    measured.make(machine)
    _HOST.mkdir(parents=True)
    sh("mount", "-t", "hostfs", "none", str(_HOST), "-o", "hostfs=/")
    for folder in ("proc", "sys", "dev"):
        sh("mount", "--rbind", f"/{folder}", str(_HOST / folder))
    # Where btop sees that it is mounted.
    sh("mount", "--bind", str(MOUNT), str(_HOST / "mnt"))
    # btop's, written by the host.
    os.environ["XDG_CONFIG_HOME"] = sys.argv[1]
    with subprocess.Popen(_LOAD) as load:
        written: list[tuple[str, float, str]] = []
        terminals = {_start(argv): name for name, argv in _PROGRAMS.items()}
        _record(terminals, BEFORE_SECONDS, written)
        changed_at = time.monotonic()
        measured.delay(machine, SLOW, SLOW_MS)
        _record(terminals, AFTER_SECONDS, written)
        load.kill()
    member = machine.kernel_name(SLOW)
    RESULTS.write_text(json.dumps({"changed_at": changed_at, "member": member, "written": written}))


if __name__ == "__main__":
    main()
