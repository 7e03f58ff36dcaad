"""The machine, as the feed reads it and as the actions act on it."""

from __future__ import annotations

from pathlib import Path

from appliance import paths
from appliance.bench import sampler
from appliance.bench.suite import load_suite
from appliance.history import queries
from appliance.model import Counters, JobResult, Suite
from appliance.status import Status, read_status
from appliance.system import services
from appliance.system.services import BENCH_UNIT, UnitState


class MachineSources:
    """The feed's sources on a real machine; ``db`` is the history to read."""

    def __init__(self, db: Path) -> None:
        self._db = db

    def status(self) -> Status:
        return read_status(db=self._db)

    def results(self, run_id: int) -> tuple[JobResult, ...]:
        with queries.open_readonly(self._db) as reader:
            return reader.results(run_id)

    def suite(self, name: str) -> Suite:
        return load_suite(name)

    def mark(self) -> str:
        with queries.open_readonly(self._db) as reader:
            return reader.change_mark()

    def unit(self, suite: str) -> UnitState:
        return services.unit_state(BENCH_UNIT.format(suite=suite))

    def device_name(self, path: str) -> str:
        return Path(path).resolve().name

    def counters(self, device: str) -> Counters | None:
        return sampler.read_counters(device)


class MachineControl:
    """Starts and stops the fixed units; both raise OperatorError and may block for seconds."""

    def start(self, suite: str) -> None:
        services.start_unit(BENCH_UNIT.format(suite=suite))

    def stop(self, suite: str) -> None:
        services.stop_unit(BENCH_UNIT.format(suite=suite))


def why_unable(db: Path) -> str:
    """Why nothing can be started from here, or an empty string."""
    if db != paths.HISTORY_DB:
        return f"this shows the history in {db}; suites are started and cancelled without --db only"
    if not services.systemd_is_running():
        return "systemd is not the service manager here, so no unit can be started"
    return ""
