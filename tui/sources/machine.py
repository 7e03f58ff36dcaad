"""The machine, as the feed reads it and as the actions act on it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import paths
from appliance.bench import sampler
from appliance.bench.suite import load_suite
from appliance.client.machine_status import Status, next_run_at, read_status
from appliance.errors import OperatorError
from appliance.history import queries
from appliance.model.measurement import JobResult
from appliance.model.runs import Counters, Suite
from appliance.system import services
from appliance.system.services import UnitState

if TYPE_CHECKING:
    from appliance.bench.live_file import LiveJob
    from appliance.client.plan_requests import ApplyProgress

# A timer's next time changes when it fires or when the schedule changes.
_NEXT_RUN_EVERY_SECONDS = 60.0


class MachineSources:
    """The feed's sources on a real machine; ``db`` is the history to read."""

    def __init__(self, db: Path) -> None:
        self._db = db
        self._next_run: float | None = None
        self._next_run_asked: float | None = None

    def status(self) -> Status:
        return read_status(db=self._db, next_run=self.next_run)

    def next_run(self) -> float | None:
        """As systemctl said not long ago: starting it costs more than all else of a status."""
        now = time.monotonic()
        asked, at = self._next_run_asked, self._next_run
        if (
            asked is None
            or now - asked >= _NEXT_RUN_EVERY_SECONDS
            or (at is not None and at <= time.time())
        ):
            self._next_run, self._next_run_asked = next_run_at(), now
        return self._next_run

    def results(self, run_id: int) -> tuple[JobResult, ...]:
        with queries.open_readonly(self._db) as reader:
            return reader.results(run_id)

    def suite(self, name: str) -> Suite:
        return load_suite(name)

    def mark(self) -> str:
        # Before the first boot has written it there is nothing new in it, and no problem.
        if not self._db.exists():
            return ""
        with queries.open_readonly(self._db) as reader:
            return reader.change_mark()

    def unit(self, suite: str, volume: str) -> UnitState:
        return services.unit_state(services.bench_unit(suite, volume))

    def live_jobs(self) -> tuple[LiveJob, ...]:
        from appliance.bench.live_file import read_live

        return read_live()

    def applying(self) -> ApplyProgress | None:
        # Runs every second and rarely finds a file: import nothing for that.
        if not paths.APPLY_FILE.exists():
            return None
        from appliance.client.plan_requests import applying

        return applying()

    def device_name(self, path: str) -> str:
        return Path(path).resolve().name

    def counters(self, device: str) -> Counters | None:
        return sampler.read_counters(device)


class MachineControl:
    """Starts and stops the fixed units; both raise OperatorError and may block for seconds."""

    def start(self, suite: str, volume: str) -> None:
        services.start_unit(services.bench_unit(suite, volume))

    def stop(self, suite: str, volume: str, pid: int) -> None:
        services.stop_unit(_unit_of(pid) if pid else services.bench_unit(suite, volume))


def _unit_of(pid: int) -> str:
    """The unit that measures: a suite's, whatever started it, or one that repeats it."""
    unit = services.unit_of_process(pid)
    if not unit.startswith("stripewright-"):
        raise OperatorError(
            f"the run was started by hand, not as a unit: it is process {pid}",
            f"stop it where it was started, or as the same user: kill -INT {pid}",
        )
    return unit
