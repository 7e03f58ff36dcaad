"""Having a running fio tell its figures so far, without disturbing what it measures.

fio prints a whole report when it gets SIGUSR1 (HOWTO: "send fio the USR1 signal"). It goes on
measuring meanwhile, but until 3.42 it holds a lock then and waits for each worker, and a worker
that is done waits five seconds for that lock and gives up with an error (backend.c, "stuck
grabbing stat_sem"; mended by commit 00084f95); asked while its workers end, fio 3.33 has crashed.
So nothing is asked near the end of a job, which ``--status-interval`` would
(docs/decisions/0036-figures-of-a-running-job.md).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

from appliance.bench import fio
from appliance.bench.fio import FioReport

LEAST_SECONDS = 3.0
# As long as fio's workers wait for its lock: one that hangs for less than twice that, when the
# last question comes, is back before another gives up.
QUIET_SECONDS = 5.0
# Each report has tens of kilobytes: of a job of hours so many are enough.
_MOST_REPORTS = 60
_MAX_READ_BYTES = 4 * 1024 * 1024


class Interim:
    """Asks one fio now and then, and hands each answer to ``on_report``."""

    def __init__(
        self,
        runtime_seconds: float,
        on_report: Callable[[FioReport], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_report = on_report
        self._clock = clock
        self._every = max(LEAST_SECONDS, runtime_seconds / _MOST_REPORTS)
        began = clock()
        self._due_at = began + self._every
        # fio's own time begins after ours.
        self._last_at = began + runtime_seconds - QUIET_SECONDS
        self._read_bytes = 0
        self._text = ""
        self._waiting = False

    def tick(self, output: int, ask: Callable[[], bool]) -> None:
        """Called often. ``output`` is the file that fio writes to, whose position is left alone;
        ``ask`` asks fio, unless it cannot be asked yet, and says whether it did.
        """
        self._take(output)
        now = self._clock()
        if self._waiting or not self._due_at <= now <= self._last_at:
            return
        if ask():
            self._waiting = True
            self._due_at = now + self._every

    def _take(self, output: int) -> None:
        fresh = os.pread(output, _MAX_READ_BYTES, self._read_bytes)
        if not fresh:
            return
        self._read_bytes += len(fresh)
        self._text += fresh.decode(errors="replace")
        try:
            reports, end = fio.interim_reports(self._text)
        except fio.FioOutputError:
            # Another form than the one that is known: the report at the end will say so.
            self._last_at = -math.inf
            return
        self._text = self._text[end:]
        if reports:
            self._waiting = False
            self._on_report(reports[-1])
