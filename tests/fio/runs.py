"""A run of real fio in a process of its own, and how it is followed from outside."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from appliance.errors import OperatorError
from appliance.history import queries
from appliance.model.runs import RunRecord

ROOT = Path(__file__).parents[2]

_SCRIPT = """
import sys
from pathlib import Path
from appliance import paths
from appliance.bench import directory, runner
from appliance.bench import idle_check
from appliance.bench.suite import load_suite
idle_check.WINDOW_SECONDS = 0.2
directory.MAX_BUDGET_BYTES = directory.MIN_BUDGET_BYTES
place = Path(sys.argv[1])
if len(sys.argv) > 3:
    paths.HISTORY_DB = place / "history.db"
runner.run_suite(
    load_suite("smoke"),
    target=place,
    db=place / "history.db",
    patience=idle_check.Patience(1.0),
    time_factor=float(sys.argv[2]),
)
"""


class NoRunYetError(Exception):
    """The history is there, and nothing in it."""


def the_run(place: Path) -> RunRecord:
    with queries.open_readonly(place / "history.db") as reader:
        runs = reader.runs(limit=1)
    if not runs:
        raise NoRunYetError
    return runs[0]


@contextlib.contextmanager
def running_smoke(
    place: Path, *, own: bool = False, time_factor: float = 1.0
) -> Iterator[subprocess.Popen[bytes]]:
    """A run in a process of its own, once fio measures; ``own``: into the appliance's history."""
    child = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, str(place), str(time_factor), *(["own"] if own else [])],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OperatorError, NoRunYetError):
                if the_run(place).job_index == 1 and fio_processes(place):
                    break
            assert child.poll() is None
            time.sleep(0.1)
        yield child
    finally:
        child.kill()
        child.wait()


def fio_processes(place: Path) -> list[int]:
    """fio processes that work in ``place``."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name, folder = (entry / "comm").read_text(), (entry / "cwd").readlink()
            if name.startswith("fio") and folder.is_relative_to(place):
                found.append(int(entry.name))
    return found
