"""One pump thread: sources in, frozen snapshots out, at most one a second.

Nothing else in the TUI reads the machine. A source that raises leaves its last good answer
in the snapshot, together with the error and the time it was true; a source that hangs
stops the snapshots, and the screens see from :attr:`Snapshot.taken_at` how old theirs is.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from appliance.bench.sampler import rates
from appliance.errors import OperatorError
from appliance.model import Counters, JobResult, RunRecord, Sample, Suite
from appliance.status import Status, VolumeStatus
from appliance.system.services import UnitState

TREND_SECONDS = 300
_STATUS_EVERY_SECONDS = 5.0
_STATUS_EVERY_SECONDS_IN_RUN = 2.0
# A unit that was started without waiting is 'inactive' until systemd gets to its job.
_START_GRACE_SECONDS = 5.0


class Sources(Protocol):
    """Where the feed reads; every method may block or raise, and is called by the pump only."""

    def status(self) -> Status: ...

    def results(self, run_id: int) -> tuple[JobResult, ...]: ...

    def suite(self, name: str) -> Suite: ...

    def unit(self, suite: str) -> UnitState: ...

    def device_name(self, path: str) -> str:
        """Kernel name of the device behind ``path``."""
        ...

    def counters(self, device: str) -> Counters | None:
        """Block-layer counters of a kernel name, ``None`` if there is no such device."""
        ...


@dataclass(frozen=True, slots=True)
class LiveDevice:
    """One row of live figures: a volume, or (``member``) a disk of the volume above it."""

    label: str
    device: str
    member: bool
    sample: Sample | None


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """Rates of the first volume at one moment of the feed's clock."""

    at: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: float
    write_iops: float
    await_ms: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the screens draw. Times ending in ``_at`` are of the feed's monotonic clock."""

    taken_at: float
    status: Status | None = None
    status_at: float | None = None
    status_problem: str = ""
    live: tuple[LiveDevice, ...] = ()
    live_at: float | None = None
    live_problem: str = ""
    trend: tuple[TrendPoint, ...] = ()
    run_results: tuple[JobResult, ...] = ()
    run_suite: Suite | None = None
    starting: str = ""
    start_problem: str = ""

    @property
    def running(self) -> RunRecord | None:
        return None if self.status is None else self.status.running

    @property
    def mounted_volume(self) -> VolumeStatus | None:
        """The volume that a suite would write to: the first that is mounted."""
        volumes = () if self.status is None else self.status.volumes
        return next((volume for volume in volumes if volume.mounted), None)


@dataclass(slots=True)
class _Expected:
    """A suite that was asked to start and has not been seen running yet."""

    suite: str
    asked_at: float
    runs_before: int


@dataclass(slots=True)
class Feed:
    """The pump. ``post`` receives every snapshot, in the pump's thread."""

    sources: Sources
    post: Callable[[Snapshot], None]
    interval_seconds: float = 1.0
    clock: Callable[[], float] = time.monotonic
    _latest: Snapshot = field(default_factory=lambda: Snapshot(taken_at=0.0))
    _before: dict[str, tuple[float, Counters]] = field(default_factory=dict)
    _trend: deque[TrendPoint] = field(default_factory=lambda: deque(maxlen=TREND_SECONDS))
    _tried_at: float | None = None
    _expected: _Expected | None = None
    _start_problem: str = ""
    _stopping: bool = False
    _wake: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Start pumping. The thread is a daemon: a source that hangs never delays leaving."""
        threading.Thread(target=self._pump, name="feed", daemon=True).start()

    def stop(self) -> None:
        """Ask the pump to end; does not wait for it."""
        self._stopping = True
        self._wake.set()

    def expect_run(self, suite: str) -> None:
        """Watch the unit of ``suite`` from now on until its run is seen, or has failed."""
        with self._lock:
            self._expected = _Expected(suite, self.clock(), _last_run_id(self._latest))
            self._start_problem = ""
        self.hurry()

    def hurry(self) -> None:
        """Read everything again now."""
        self._tried_at = None
        self._wake.set()

    def step(self) -> Snapshot:
        """One turn of the pump: read what is due and build the next snapshot."""
        now = self.clock()
        if self._status_is_due(now):
            self._read_status(now)
        live, live_at, live_problem = self._read_live()
        with self._lock:
            starting = "" if self._expected is None else self._expected.suite
            start_problem = self._start_problem
        self._latest = replace(
            self._latest,
            taken_at=now,
            live=live,
            live_at=live_at,
            live_problem=live_problem,
            trend=tuple(self._trend),
            starting=starting,
            start_problem=start_problem,
        )
        return self._latest

    def _pump(self) -> None:
        while not self._stopping:
            self._wake.clear()
            self.post(self.step())
            self._wake.wait(self.interval_seconds)

    def _status_is_due(self, now: float) -> bool:
        if self._tried_at is None or self._expected is not None:
            return True
        in_run = self._latest.running is not None
        return now - self._tried_at >= (
            _STATUS_EVERY_SECONDS_IN_RUN if in_run else _STATUS_EVERY_SECONDS
        )

    def _read_status(self, now: float) -> None:
        self._tried_at = now
        try:
            status = self.sources.status()
            results: tuple[JobResult, ...] = ()
            suite = None
            if status.running is not None:
                results = self.sources.results(status.running.id)
                suite = self._suite(status.running.suite)
        except Exception as error:
            self._latest = replace(self._latest, status_problem=describe(error))
            return
        self._latest = replace(
            self._latest,
            status=status,
            status_at=now,
            status_problem="",
            run_results=results,
            run_suite=suite,
        )
        self._watch_start(now)

    def _suite(self, name: str) -> Suite | None:
        try:
            return self.sources.suite(name)
        except OperatorError:
            return None  # a run of a suite that this version does not have: no time left to tell

    def _watch_start(self, now: float) -> None:
        expected = self._expected
        if expected is None:
            return
        problem = ""
        if self._latest.running is None and _last_run_id(self._latest) <= expected.runs_before:
            try:
                unit = self.sources.unit(expected.suite)
            except Exception as error:
                problem = describe(error)
            else:
                if unit.busy or (
                    unit.active != "failed" and now - expected.asked_at < _START_GRACE_SECONDS
                ):
                    return
                problem = f"{unit.name} is {unit.active} ({unit.result or 'no result'})"
        with self._lock:
            self._expected = None
            self._start_problem = problem

    def _read_live(self) -> tuple[tuple[LiveDevice, ...], float | None, str]:
        live: list[LiveDevice] = []
        counters: dict[str, tuple[float, Counters]] = {}
        # Now, not when the turn began: the status before this may have taken seconds, and
        # rates are wrong by as much as their time is.
        now = self.clock()
        at_ns = int(now * 1e9)
        try:
            for label, device, member in self._devices():
                after = self.sources.counters(device)
                sample = None
                if after is None:
                    live.append(LiveDevice(label, device, member, None))
                    continue
                if device in self._before:
                    at, before = self._before[device]
                    if now <= at:
                        # Woken twice in one tick of the clock: rates need time to pass.
                        return self._latest.live, self._latest.live_at, ""
                    sample = rates(before, after, seconds=now - at, at_ns=at_ns)
                counters[device] = (now, after)
                live.append(LiveDevice(label, device, member, sample))
        except Exception as error:
            self._before = {}
            return self._latest.live, self._latest.live_at, describe(error)
        self._before = counters
        first = live[0].sample if live else None
        if first is not None:
            self._trend.append(
                TrendPoint(
                    now,
                    first.read_bytes_per_s,
                    first.write_bytes_per_s,
                    first.read_iops,
                    first.write_iops,
                    first.await_ms,
                )
            )
        return tuple(live), now, ""

    def _devices(self) -> list[tuple[str, str, bool]]:
        """Label, kernel name and whether it is a member, for all mounted volumes."""
        devices: list[tuple[str, str, bool]] = []
        for volume in () if self._latest.status is None else self._latest.status.volumes:
            if not volume.is_up or not volume.device:
                continue
            name = self.sources.device_name(volume.device)
            devices.append((volume.name, name, False))
            members = [self.sources.device_name(path) for path in volume.members]
            devices += [(member, member, True) for member in members if member != name]
        return devices


def describe(error: Exception) -> str:
    """Put an error into one line: its message and, if it has one, the hint."""
    if isinstance(error, OperatorError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return f"{type(error).__name__}: {error}"


def _last_run_id(snapshot: Snapshot) -> int:
    last = None if snapshot.status is None else snapshot.status.last_run
    return 0 if last is None else last.id
