"""Signals as a request to end: work ends where it is whole, never within a step.

systemd sends SIGTERM at shutdown, to the executor alone (``KillMode=mixed``): the program that it
runs goes on to its end.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence
from types import FrameType, TracebackType

# SIGHUP is what a dropped SSH session sends: it must not leave gigabytes of test files.
_OF_A_RUN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """The work was asked to stop; the text says by what."""


class StopSignals:
    """While entered, these signals are remembered instead of ending the process.

    :meth:`check` raises :class:`Stopped` once one has come. One that is ignored (SIGHUP under
    nohup) stays ignored. Outside of the main thread, where Python allows no handlers, nothing
    is changed.
    """

    def __init__(self, numbers: Sequence[signal.Signals] = _OF_A_RUN) -> None:
        self._numbers = numbers
        self.received: signal.Signals | None = None
        self._previous: dict[signal.Signals, object] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._remember)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def check(self) -> None:
        """Raise :class:`Stopped` if a signal has come."""
        if self.received is not None:
            raise Stopped(f"stopped by {self.received.name}")

    def _remember(self, number: int, _: FrameType | None) -> None:
        self.received = signal.Signals(number)


_heeded: list[StopSignals] = []


def asked() -> bool:
    """Whether this process is to end; only within :func:`heeded`."""
    return any(one.received for one in _heeded)


@contextlib.contextmanager
def heeded() -> Iterator[None]:
    """SIGTERM sets :func:`asked` and interrupts nothing."""
    with StopSignals((signal.SIGTERM,)) as signals:
        _heeded.append(signals)
        try:
            yield
        finally:
            _heeded.remove(signals)
