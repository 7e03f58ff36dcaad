"""The pump: sources in, frozen snapshots out, at most one a second.

Nothing else in the TUI reads the machine as it is now. Two threads, so that a history that is
locked or a systemctl that is stuck stops the status and not the live figures. A source that
raises leaves its last good answer in the snapshot, together with the error and the time it was
true; one that hangs leaves it there to grow old, and the screens see from
:attr:`Snapshot.status_at`, :attr:`Snapshot.live_at` and :attr:`Snapshot.taken_at` how old it is.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from appliance.errors import OperatorError
from tui.asking import describe
from tui.snapshot import TREND_SECONDS, LiveDevice, Snapshot
from tui.tracks import Second, second_of

if TYPE_CHECKING:
    from appliance.bench.live_file import LiveJob
    from appliance.client.machine_status import Status
    from appliance.client.plan_requests import ApplyProgress
    from appliance.model.measurement import JobResult
    from appliance.model.runs import Counters, Suite
    from appliance.system.services import UnitState

_STATUS_EVERY_SECONDS = 5.0
_STATUS_EVERY_SECONDS_IN_RUN = 2.0
# Of an interval: how long the first rates are taken over.
_FIRST_SHARE = 0.3
# What happened in less of an interval than this says little of a second, and would be its peak.
_LEAST_SHARE = 0.25
# A unit that was started without waiting is 'inactive' until systemd gets to its job.
_START_GRACE_SECONDS = 5.0


class Sources(Protocol):
    """Where the feed reads; every method may block or raise, and is called by the pump only."""

    def status(self) -> Status: ...

    def results(self, run_id: int) -> tuple[JobResult, ...]: ...

    def suite(self, name: str) -> Suite: ...

    def mark(self) -> str:
        """A text that changes whenever the history has something new."""
        ...

    def unit(self, suite: str, volume: str) -> UnitState: ...

    def live_jobs(self) -> tuple[LiveJob, ...]:
        """The figures so far of what is being measured; cheap, and does not block."""
        ...

    def applying(self) -> ApplyProgress | None:
        """The plan that is carried out right now; cheap, and does not block."""
        ...

    def device_name(self, path: str) -> str:
        """Kernel name of the device behind ``path``."""
        ...

    def counters(self, device: str) -> Counters | None:
        """Block-layer counters of a kernel name, ``None`` if there is no such device."""
        ...


@dataclass(slots=True)
class _Expected:
    """A suite that was asked to start and has not been seen running yet."""

    suite: str
    volume: str
    asked_at: float
    runs_before: int


@dataclass(slots=True)
class Feed:
    """The pump. ``post`` receives every snapshot, in the pump's thread."""

    sources: Sources
    post: Callable[[Snapshot], object]
    interval_seconds: float = 1.0
    clock: Callable[[], float] = time.monotonic
    _latest: Snapshot = field(default_factory=lambda: Snapshot(taken_at=0.0))
    _before: dict[str, tuple[float, Counters]] = field(default_factory=dict)
    _seconds: deque[Second] = field(default_factory=lambda: deque(maxlen=TREND_SECONDS))
    # What _devices() found, and for which status.
    _followed: list[tuple[str, str, bool]] = field(default_factory=list)
    _followed_of: Status | None = None
    _tried_at: float | None = None
    _expected: _Expected | None = None
    _stopping: bool = False
    _wake: threading.Event = field(default_factory=threading.Event)
    _wake_status: threading.Event = field(default_factory=threading.Event)
    # Of _latest: each thread replaces its own part of it.
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Start pumping. The threads are daemons: a source that hangs never delays leaving."""
        threading.Thread(target=self._pump_status, name="status", daemon=True).start()
        threading.Thread(target=self._pump, name="feed", daemon=True).start()

    def stop(self) -> None:
        """Ask the pump to end; does not wait for it."""
        self._stopping = True
        self._wake.set()
        self._wake_status.set()

    def expect_run(self, suite: str, volume: str) -> None:
        """Watch the unit of ``suite`` from now on until its run is seen, or has failed.

        ``volume`` is empty where none was named.
        """
        self._expected = _Expected(suite, volume, self.clock(), _last_run_id(self._latest))
        self._keep(starting=suite, starting_volume=volume, start_problem="")
        self.hurry()

    def hurry(self) -> None:
        """Read everything again now."""
        self._tried_at = None
        self._wake_status.set()

    def step(self) -> Snapshot:
        """Read what is due and build the next snapshot, in the caller's thread."""
        self.step_status()
        return self.step_live()

    def step_status(self) -> bool:
        """Read the status if it is due; whether it was."""
        now = self.clock()
        if not self._status_is_due(now):
            return False
        self._read_status(now)
        return True

    def step_live(self) -> Snapshot:
        """Read the live figures and build the next snapshot."""
        live, live_at, problem = self._read_live()
        try:
            applying = self.sources.applying()
            # No run, no such figures.
            live_jobs = () if self._latest.running is None else self.sources.live_jobs()
        except Exception as error:
            applying, live_jobs = self._latest.applying, self._latest.live_jobs
            problem = describe(error)
        if applying is None and self._latest.applying is not None:
            # It has ended: the volumes are not what they were.
            self.hurry()
        return self._keep(
            taken_at=self.clock(),
            applying=applying,
            live=live,
            live_at=live_at,
            live_problem=problem,
            seconds=tuple(self._seconds),
            live_jobs=live_jobs,
        )

    def _keep(self, **changes: Any) -> Snapshot:  # noqa: ANN401 - fields of a snapshot
        with self._lock:
            self._latest = replace(self._latest, **changes)
            return self._latest

    def _pump(self) -> None:
        while not self._stopping:
            self._wake.clear()
            before, snapshot = self._latest, self.step_live()
            self.post(snapshot)
            # Rates need two readings, and the user waits for the first figure.
            is_first = bool(snapshot.live) and not before.live
            self._wake.wait(self.interval_seconds * (_FIRST_SHARE if is_first else 1.0))

    def _pump_status(self) -> None:
        while not self._stopping:
            self._wake_status.clear()
            if self.step_status():
                # Shown at once: the user waits for the first one, and for what they asked for.
                self._wake.set()
            self._wake_status.wait(self.interval_seconds)

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
            mark = "" if status.history_problem else self.sources.mark()
        except Exception as error:
            self._keep(status_problem=describe(error))
            return
        self._keep(
            status=status,
            status_at=self.clock(),
            status_problem="",
            run_results=results,
            run_suite=suite,
            history_mark=mark,
        )
        self._watch_start(self.clock())

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
                unit = self.sources.unit(expected.suite, expected.volume)
            except Exception as error:
                problem = describe(error)
            else:
                if unit.busy or (
                    unit.active != "failed" and now - expected.asked_at < _START_GRACE_SECONDS
                ):
                    return
                problem = f"{unit.name} is {unit.active} ({unit.result or 'no result'})"
        self._expected = None
        told = f"{expected.suite} did not start: {problem}" if problem else ""
        self._keep(starting="", starting_volume="", start_problem=told)

    def _read_live(self) -> tuple[tuple[LiveDevice, ...], float | None, str]:
        # In the pump's thread, after the first paint.
        from appliance.bench.sampler import delta, rates

        live: list[LiveDevice] = []
        counters: dict[str, tuple[float, Counters]] = {}
        # Now, not when the turn began: the status before this may have taken seconds, and
        # rates are wrong by as much as their time is.
        now = self.clock()
        at_ns = int(now * 1e9)
        try:
            for label, device, member in self._devices():
                after = self.sources.counters(device)
                sample, other_ios = None, 0
                if after is None:
                    live.append(LiveDevice(label, device, member, None))
                    continue
                if device in self._before:
                    at, before = self._before[device]
                    if now - at < self.interval_seconds * _LEAST_SHARE:
                        # Woken for a status: rates need time to pass.
                        return self._latest.live, self._latest.live_at, ""
                    sample = rates(before, after, seconds=now - at, at_ns=at_ns)
                    other_ios = delta(before, after).other_ios
                counters[device] = (now, after)
                live.append(LiveDevice(label, device, member, sample, other_ios))
        except Exception as error:
            self._before = {}
            return self._latest.live, self._latest.live_at, describe(error)
        self._before = counters
        if any(one.sample is not None for one in live):
            self._seconds.append(second_of(live, now, self._seconds[-1] if self._seconds else None))
        return tuple(live), now, ""

    def _devices(self) -> list[tuple[str, str, bool]]:
        """Label, kernel name and whether it is a member, for all mounted volumes."""
        status = self._latest.status
        # Following the links of 64 members takes longer than reading their counters.
        if status is not self._followed_of:
            self._followed, self._followed_of = self._follow(status), status
        return self._followed

    def _follow(self, status: Status | None) -> list[tuple[str, str, bool]]:
        devices: list[tuple[str, str, bool]] = []
        for volume in () if status is None else status.volumes:
            if not volume.is_up or not volume.device:
                continue
            name = self.sources.device_name(volume.device)
            devices.append((volume.name, name, False))
            members = [self.sources.device_name(path) for path in volume.members]
            devices += [(member, member, True) for member in members if member != name]
        return devices


def _last_run_id(snapshot: Snapshot) -> int:
    last = None if snapshot.status is None else snapshot.status.last_run
    return 0 if last is None else last.id
