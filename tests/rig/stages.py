"""Run stages of the Makefile one after the other, and say how many seconds each took:
``python -m tests.rig.stages fio/check+image lab``. Stages joined by ``+`` or ``/`` run side by
side; those behind a ``/`` have the processors that those before it leave. What they print comes
when they end. Nothing is begun after one that failed.
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
_AFTER_OTHERS = ("nice", "-n", "15", *_MAKE)


@dataclass(frozen=True, slots=True)
class Ran:
    stage: str
    seconds: float
    status: int


def _run(argv: Sequence[str], output: IO[bytes] | None) -> Ran:
    began = time.monotonic()
    done = subprocess.run(argv, stdout=output, stderr=subprocess.STDOUT, check=False)
    return Ran(argv[-1], time.monotonic() - began, done.returncode)


def _run_and_tell(argv: Sequence[str]) -> Ran:
    stage = argv[-1]
    with tempfile.TemporaryFile() as output:
        ran = _run(argv, output)
        output.seek(0)
        sys.stdout.buffer.write(f"== {stage}\n".encode() + output.read())
        sys.stdout.flush()
    return ran


def side_by_side(group: str) -> Iterator[Ran]:
    """Each stage as it ends."""
    first, _, rest = group.partition("/")
    commands = [[*_MAKE, stage] for stage in first.split("+")]
    commands += [[*_AFTER_OTHERS, stage] for stage in rest.split("+") if stage]
    if len(commands) == 1:
        yield _run(commands[0], None)
        return
    with ThreadPoolExecutor(len(commands)) as pool:
        for one in as_completed([pool.submit(_run_and_tell, argv) for argv in commands]):
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
        ran += side_by_side(group)
        if any(one.status for one in ran):
            break
    print(f"\n{table(ran, time.monotonic() - began)}", flush=True)
    return int(any(one.status for one in ran))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
