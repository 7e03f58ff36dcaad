"""A processor of the host for each guest, in all programs of the rig together.

A guest of User Mode Linux is many processes, which wake each other across processors all the time
if they are let: that costs three quarters of the speed. Two on one processor are slower by far than
one after the other, and so is one beside QEMU's emulation.
"""

from __future__ import annotations

import fcntl
import itertools
import os
from dataclasses import dataclass

from tests.rig.build import cache_root


@dataclass(slots=True)
class Processor:
    """``number`` is the kernel's; a guest is counted there until :meth:`give_back`."""

    number: int
    _lock: int | None

    def give_back(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def take() -> Processor:
    """A processor without a guest, or of those with the fewest."""
    folder = cache_root() / "processors"
    folder.mkdir(parents=True, exist_ok=True)
    numbers = sorted(os.sched_getaffinity(0))
    for at in itertools.count():
        guests, place = divmod(at, len(numbers))
        number = numbers[place]
        lock = os.open(folder / f"{number}.{guests}", os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return Processor(number, lock)
    raise AssertionError("there is always one more place")
