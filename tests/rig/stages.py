"""Run stages of the Makefile one after the other, and say how many seconds each took:
``python -m tests.rig.stages check drift fio+browser``. Stages joined by ``+`` run side by side;
what they print comes when they end. Nothing is begun after one that failed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import IO

_MAKE = ("make", "--no-print-directory")


@dataclass(frozen=True, slots=True)
class Ran:
    stage: str
    seconds: float
    status: int


def _run(stage: str, output: IO[bytes] | None) -> Ran:
    began = time.monotonic()
    done = subprocess.run([*_MAKE, stage], stdout=output, stderr=subprocess.STDOUT, check=False)
    return Ran(stage, time.monotonic() - began, done.returncode)


def _run_and_tell(stage: str) -> Ran:
    with tempfile.TemporaryFile() as output:
        ran = _run(stage, output)
        output.seek(0)
        sys.stdout.buffer.write(f"== {stage}\n".encode() + output.read())
        sys.stdout.flush()
    return ran


def side_by_side(stages: Sequence[str]) -> Iterator[Ran]:
    """Each as it ends."""
    if len(stages) == 1:
        yield _run(stages[0], None)
        return
    with ThreadPoolExecutor(len(stages)) as pool:
        for one in as_completed([pool.submit(_run_and_tell, stage) for stage in stages]):
            yield one.result()


def table(all_of_them: Sequence[Ran], seconds: float) -> str:
    lines = [
        f"{one.stage:<14} {one.seconds:6.0f} s{'  FAILED' if one.status else ''}"
        for one in all_of_them
    ]
    return "\n".join([*lines, f"{'in all':<14} {seconds:6.0f} s"])


def main(groups: Sequence[str]) -> int:
    began = time.monotonic()
    ran: list[Ran] = []
    for group in groups:
        ran += side_by_side(group.split("+"))
        if any(one.status for one in ran):
            break
    print(f"\n{table(ran, time.monotonic() - began)}", flush=True)
    return int(any(one.status for one in ran))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
