"""A history alone, as the feed reads it: what it knows of its machine, and nothing of this one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from appliance.bench.suite import load_suite
from appliance.client.machine_status import Health, Status
from appliance.drift import check_summary as drift_summary
from appliance.errors import OperatorError
from appliance.history import queries
from appliance.model.disks import Disk, Machine
from appliance.model.measurement import JobResult
from appliance.model.runs import Counters, EpochRecord, RunRecord, RunState, Suite
from tui.asking import describe
from tui.sources.suites import Suites

if TYPE_CHECKING:
    from appliance.bench.live_file import LiveJob
    from appliance.client.plan_requests import ApplyProgress
    from appliance.client.schedule_requests import ScheduleNow
    from appliance.system.services import UnitState

# Of one volume and of the next, in declared order (docs/schema.md).
_BETWEEN_VOLUMES = "; "


class HistorySources:
    """The feed's sources out of the history at ``db``; there are no live figures."""

    def __init__(self, db: Path) -> None:
        self._db = db

    def status(self) -> Status:
        try:
            with queries.open_readonly(self._db) as reader:
                return _status(reader)
        except OperatorError as error:
            return replace(_NOTHING, history_problem=describe(error))

    def results(self, run_id: int) -> tuple[JobResult, ...]:
        with queries.open_readonly(self._db) as reader:
            return reader.results(run_id)

    def suite(self, name: str) -> Suite:
        return load_suite(name)

    def mark(self) -> str:
        with queries.open_readonly(self._db) as reader:
            return reader.change_mark()

    def unit(self, suite: str, volume: str) -> UnitState:  # noqa: ARG002
        raise OperatorError("nothing is started from a history", "")

    def live_jobs(self) -> tuple[LiveJob, ...]:
        return ()

    def applying(self) -> ApplyProgress | None:
        return None

    def device_name(self, path: str) -> str:
        return path

    def counters(self, device: str) -> Counters | None:  # noqa: ARG002
        return None


class Absent:
    """Stands for a source of which a history has nothing: each of its methods says so."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_: object, **__: object) -> NoReturn:
            raise OperatorError(self._why, "")

        return refuse


class HistorySuites(Suites):
    """The suites of this program, with the runs in a history; of its schedule nothing is kept."""

    def __init__(self, db: Path, why: str) -> None:
        super().__init__(db)
        self._why = why

    def schedule(self) -> ScheduleNow:
        raise OperatorError("not kept in a history", "")

    def set_schedule(self, wanted: str) -> None:  # noqa: ARG002
        raise OperatorError(self._why, "")


_NOTHING = Status(
    health=Health.UNKNOWN,
    summary="",
    hint="",
    machine=None,
    disks=(),
    volumes=(),
    decided_at=None,
    epoch=None,
    running=None,
    last_run=None,
    last_results=(),
    next_run_at=None,
    history_problem="",
    smart_problem="a history does not keep it",
)


def _status(reader: queries.Reader) -> Status:
    # A history of hand-made measurements has no epoch of the appliance.
    epoch = reader.current_epoch() or next(iter(reversed(reader.epochs())), None)
    running = next((run for run in reader.runs(limit=5) if run.state is RunState.RUNNING), None)
    of_suites = reader.runs(limit=5, repeats=False)
    last = next((run for run in of_suites if run.state is not RunState.RUNNING), None)
    return replace(
        _NOTHING,
        summary="" if epoch is None else reader.host(epoch.id),
        machine=None if epoch is None else _machine(epoch),
        disks=() if epoch is None else disks_of(epoch, last),
        decided_at=None if epoch is None else epoch.opened_at,
        epoch=epoch,
        running=running,
        last_run=last,
        last_results=() if last is None else reader.results(last.id),
        drift=drift_summary.read(reader, is_appliance=False),
    )


def _machine(epoch: EpochRecord) -> Machine:
    known = epoch.fingerprint
    return Machine(machine_type=known.get("machine_type", ""), kernel=known.get("kernel", ""))


def disks_of(epoch: EpochRecord, last: RunRecord | None) -> tuple[Disk, ...]:
    """The members that the epoch's fingerprint names: their serials, in slot order.

    Of a disk that was no member nothing is kept. Names are those of the last run, where it
    measured as many members, in the same epoch.
    """
    disks = []
    for number, serials in enumerate(_parts(epoch, "serials"), 1):
        names = serials.split(",") if serials else []
        members = last.members if last is not None and last.epoch_id == epoch.id else ()
        paths = members if len(members) == len(names) else ("",) * len(names)
        for slot, (serial, path) in enumerate(zip(names, paths, strict=True), 1):
            disks.append(
                Disk(
                    path=path or f"volume {number} member {slot}",
                    id=f"{number}/{slot}",
                    model="",
                    serial=serial,
                    size_bytes=0,
                    reason=f"member {slot} of {len(names)} of volume {number}"
                    f" in epoch {epoch.id}; the history keeps its serial",
                )
            )
    return tuple(disks)


def _parts(epoch: EpochRecord, name: str) -> list[str]:
    found = epoch.fingerprint.get(name, "")
    return found.split(_BETWEEN_VOLUMES) if found else []
