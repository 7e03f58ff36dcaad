"""SIGTERM as a request: whoever changes disks ends between two steps, never within one.

systemd sends it at shutdown, to the executor alone (``KillMode=mixed``): the program that it
runs goes on to its end.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_asked = threading.Event()


def asked() -> bool:
    """Whether somebody wants this process to end; only within :func:`heeded`."""
    return _asked.is_set()


@contextlib.contextmanager
def heeded() -> Iterator[None]:
    """SIGTERM sets :func:`asked` and interrupts nothing. For the main thread, as all handlers."""
    _asked.clear()
    before = signal.signal(signal.SIGTERM, _ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        _asked.clear()


def _ask(_signum: int, _frame: FrameType | None) -> None:
    _asked.set()
