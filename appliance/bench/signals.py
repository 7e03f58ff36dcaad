"""SIGINT, SIGTERM and SIGHUP as an orderly end of a run."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

# SIGHUP is what a dropped SSH session sends: it must not leave gigabytes of test files.
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """The run was asked to stop; the text says by what."""


class StopSignals:
    """While entered, SIGINT, SIGTERM and SIGHUP are remembered instead of ending the process.

    :meth:`check` raises :class:`Stopped` once one has come. One that is ignored (SIGHUP under
    nohup) stays ignored. Outside of the main thread, where Python allows no handlers, nothing
    is changed.
    """

    def __init__(self) -> None:
        self._received: signal.Signals | None = None
        self._previous: dict[signal.Signals, object] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in _STOPPING:
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
        if self._received is not None:
            raise Stopped(f"stopped by {self._received.name}")

    def _remember(self, number: int, _: FrameType | None) -> None:
        self._received = signal.Signals(number)
