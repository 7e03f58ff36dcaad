"""Running one fio process, and choosing its engine by trying."""

from __future__ import annotations

import math
import os
import signal
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from appliance.bench import fio
from appliance.bench.fio import FioReport
from appliance.errors import CommandFailed, OperatorError, ProgramMissing
from appliance.system import process

_TICK_SECONDS = 0.2
_PROBE_SECONDS = 120.0
# More than any report or error text; a runaway program must not fill the memory.
_MAX_OUTPUT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Ended:
    """How fio ended. ``returncode`` is negative for a signal."""

    returncode: int
    output: str
    errors: str

    @property
    def in_words(self) -> str:
        """Empty for a normal end, else one clause."""
        if self.returncode == 0:
            return ""
        if self.returncode < 0:
            return f"fio was ended by signal {-self.returncode}"
        said = [line for line in self.errors.splitlines() if line.strip()]
        return f"fio exited with status {self.returncode}" + (
            f" ({said[-1].strip()})" if said else ""
        )


@dataclass(frozen=True, slots=True)
class Fio:
    """The fio that is installed, with the best engine that works on this target."""

    version: str
    engine: str
    passed_over: tuple[str, ...]


def find_fio() -> str:
    """The version of fio (``fio-3.33``); :class:`ProgramMissing` if it is not installed."""
    if process.find_program("fio") is None:
        raise ProgramMissing("fio", "install it (Debian, Ubuntu: apt install fio) and try again")
    return process.run(("fio", "--version"), timeout_seconds=60).stdout.strip()


def run_fio(
    arguments: Sequence[str],
    *,
    directory: int | None,
    timeout_seconds: float,
    on_tick: Callable[[], None],
    interim: Interim | None = None,
) -> Ended:
    """Run fio in ``directory``, an open one, to its end, calling ``on_tick`` five times a second.

    ``interim`` has it print its figures so far now and then; they stand in the output, too.

    An exception from ``on_tick`` (a cancelled run) stops fio and passes on.
    :class:`CommandFailed` if fio does not end in ``timeout_seconds``. The calling thread
    must live as long as fio, which dies with it.
    """
    argv = ("fio", *arguments)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        running = process.start(argv, stdout=output, stderr=errors, directory=directory)
        deadline = time.monotonic() + timeout_seconds
        try:
            while running.poll() is None:
                on_tick()
                if interim is not None:
                    interim.tick(output.fileno(), lambda: process.tell(running, signal.SIGUSR1))
                if time.monotonic() > deadline:
                    raise CommandFailed(
                        argv, None, "", "a disk may hang: look at journalctl -k, then try again"
                    )
                time.sleep(_TICK_SECONDS)
        finally:
            returncode = process.stop(running)
        output.seek(0)
        errors.seek(0)
        return Ended(
            returncode,
            output.read(_MAX_OUTPUT_BYTES).decode(errors="replace"),
            errors.read(_MAX_OUTPUT_BYTES).decode(errors="replace"),
        )


def choose_engine(
    version: str,
    wanted: Collection[str],
    *,
    directory: int | None,
    target: str,
    read_only: bool,
    on_tick: Callable[[], None],
) -> Fio:
    """The first engine of :data:`fio.ENGINES` that works on ``target``; all of ``wanted``, which
    the suite's jobs are fixed to, must work, too.

    An engine can be compiled in and still be forbidden (kernel.io_uring_disabled, a seccomp
    filter), and only trying tells.
    """
    enghelp = process.run(("fio", "--enghelp"), timeout_seconds=60).stdout
    working: list[str] = []
    failed: dict[str, str] = {}
    for engine in fio.offered_engines(enghelp):
        if working and engine not in wanted:
            continue
        ended = run_fio(
            fio.probe_arguments(engine, target, read_only=read_only),
            directory=directory,
            timeout_seconds=_PROBE_SECONDS,
            on_tick=on_tick,
        )
        if ended.returncode == 0:
            working.append(engine)
        else:
            failed[engine] = f"{engine} does not work here: {ended.in_words}"
    for engine in sorted(set(wanted) - set(working)):
        raise OperatorError(
            f"a job asks for engine {engine}, and "
            + failed.get(engine, f"this fio has no {engine}"),
            "it is what the suite repeats; take another suite, or see: fio --enghelp",
        )
    if not working:
        raise OperatorError(
            f"fio cannot {'read' if read_only else 'write'} here: "
            f"{next(iter(failed.values()), 'no engine')}",
            f"fio must offer one of {', '.join(fio.ENGINES)}; see: fio --enghelp",
        )
    return Fio(version, working[0], tuple(failed.values()))


# ------------------------------------------------------------------------ figures of a running job


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
