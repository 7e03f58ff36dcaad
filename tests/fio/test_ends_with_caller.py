"""A program that the gateway started ends with the process that started it, at any moment."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from appliance.bench.directory import private_directory
from appliance.errors import Refused
from appliance.system import process

ROOT = Path(__file__).parents[2]
KILLED_LATER = """
import os, signal, sys
from appliance.system import process
print(process.start(("sleep", "60")).pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
# Killed by the child itself, before that has asked to die with its parent.
KILLED_AT_ONCE = """
import os, signal, sys, time
from appliance.system import process
asked = process._LIBC.prctl

class Slow:
    def prctl(self, *arguments):
        print(os.getpid(), flush=True)
        parent = os.getppid()
        os.kill(parent, signal.SIGKILL)
        while os.getppid() == parent:
            time.sleep(0.01)
        asked(*arguments)

process._LIBC = Slow()
process.start(("sleep", "60"), stdout=1)
"""


@pytest.mark.parametrize("program", [KILLED_LATER, KILLED_AT_ONCE])
def test_nothing_goes_on_without_who_started_it(program: str) -> None:
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        started = int(one.stdout.readline())
        assert one.wait() == -9
    deadline = time.monotonic() + 10
    while Path(f"/proc/{started}").exists():
        assert time.monotonic() < deadline, Path(f"/proc/{started}/cmdline").read_bytes()
        time.sleep(0.05)


def test_its_directory_stays_held_until_it_has_ended(tmp_path: Path) -> None:
    """A killed fio may be in a call that makes a file: what is cleaned before it ends is not."""
    (tmp_path / ".stripewright-bench").mkdir(mode=0o700)
    with private_directory(tmp_path) as private:
        running = process.start(("sleep", "60"), directory=private.descriptor)
        assert Path(f"/proc/{running.pid}/cwd").readlink() == private.path
    try:
        with pytest.raises(Refused, match="another run"), private_directory(tmp_path):
            pass
    finally:
        process.stop(running, grace_seconds=1.0)
    with private_directory(tmp_path):
        pass
