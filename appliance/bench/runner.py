"""Running a suite: target, idle check, prepare, measure and judge job by job, one log of it all.

One thread does all of it and writes history; the sampler's thread only fills a list. A
run can end in five ways, and each is a row: complete, skipped (not started, with the
reason), aborted (SIGINT, SIGTERM, SIGHUP, or found dead by the next one), failed, and running.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from appliance.bench import (
    fingerprint,
    fio_process,
    idle_check,
    job_order,
    measure,
    member_baseline,
    prepare,
    raw_device,
)
from appliance.bench.directory import absolute_target, private_directory
from appliance.bench.idle_check import Patience
from appliance.bench.job_order import PlannedJob, schedule
from appliance.bench.progress import Progress
from appliance.bench.run_log import RunLog
from appliance.bench.suite import scaled
from appliance.bench.target import FILESYSTEM, RAW_READ, RAW_WRITE, Files, Place, Raw, jobs_for
from appliance.clouds.machine import read_machine
from appliance.errors import OperatorError, Refused, UsageError
from appliance.figures import steady
from appliance.history.store import History
from appliance.model.runs import RunState, Suite
from appliance.paths import BENCH_DIR_NAME
from appliance.system import journal
from appliance.system.stopping import Stopped, StopSignals

# A killed fio is out of the kernel by then, unless its disk hangs.
_FIO_ENDS_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Target:
    """What the operator named. ``kind`` is as in RunRecord.target_kind; ``serial`` is what was
    typed for a device to overwrite. ``members``: measure each disk of the stripe alone, too.
    """

    path: Path | str
    kind: str = FILESYSTEM
    serial: str = ""
    members: bool = False


def run_suite(
    suite: Suite,
    *,
    target: Target | Path | str,
    db: Path,
    time_factor: float = 1.0,
    on_progress: Callable[[Progress], None] = lambda _: None,
    patience: Patience | None = None,
    wait_seconds: float = 0.0,
) -> int:
    """Run ``suite`` on ``target`` (a path alone is a directory) and keep it in ``db``.

    Returns the run's id; its row says how it ended. ``time_factor`` multiplies every job's
    run time. ``on_progress`` is called about once a second. ``wait_seconds`` is how long another
    run in the same directory is waited for before this one is refused. Raises
    :class:`ProgramMissing` without fio, :class:`UsageError` for an unusable target,
    :class:`Refused` for one that is in use, has no space or must not be written, and
    :class:`OperatorError` for a failure. What was refused is a row, too.
    """
    if not 0 < time_factor <= 1000:
        raise UsageError(
            f"time factor {time_factor:g} is not usable", "give a number above 0, up to 1000"
        )
    wanted = target if isinstance(target, Target) else Target(target)
    path = absolute_target(wanted.path)
    version = fio_process.find_fio()
    try:
        with (
            _opened(wanted, path, suite, wait_seconds) as place,
            History.open_writable(db) as history,
            StopSignals() as signals,
        ):
            clean(history, held=place.path if isinstance(place, Files) else None)
            if isinstance(place, Files):
                place.private.require_direct_io()
            log = RunLog(
                history,
                suite,
                place,
                machine_type=read_machine().machine_type,
                fio_version=version,
                time_factor=time_factor,
                signals=signals,
                on_progress=on_progress,
            )
            run = _Run(suite, place, log, time_factor=time_factor, members=wanted.members)
            run.to_its_end(patience or Patience())
            return log.run_id
    except _NotOpenedError as refused:
        with contextlib.suppress(OperatorError), History.open_writable(db) as history:
            # A row with the reason, so that a run that did not happen is not merely missing.
            run_id = history.begin_run(
                suite,
                target=str(path),
                device="",
                members=(),
                machine_type=read_machine().machine_type,
                fio_version=version,
                time_factor=time_factor,
                target_kind=wanted.kind,
            )
            history.finish_run(run_id, RunState.SKIPPED, refused.why.message)
        raise refused.why from refused


def reap(db: Path) -> int:
    """Mark the runs whose process is gone as aborted; how many it were.

    The files of these, and of those that another opening marked before, are removed.
    """
    with History.open_writable(db) as history:
        clean(history, wait_seconds=_FIO_ENDS_SECONDS)
        return len(history.reaped)


def clean(history: History, *, held: Path | None = None, wait_seconds: float = 0.0) -> None:
    """Remove the files that killed runs left: gigabytes that nothing else would look for.

    Opening the history marks a killed run, but only its own user may remove its files. The row
    keeps that they may be left, until a process of that user has looked.

    ``held`` is the directory that this process is in already: entering it removed what was
    there. One that another run holds, or the fio of a killed one, is waited for ``wait_seconds``.
    The paths come from the file, which another user may have written; a private directory is
    entered only if it belongs to this user, through no link, by its one name.
    """
    for target in history.left_behind():
        path = Path(target)
        if path.name != BENCH_DIR_NAME or not path.is_absolute():
            continue
        if held != path:
            try:
                with private_directory(path, wait_seconds=wait_seconds):
                    pass  # entering it removes what is left
            except OperatorError:
                # Another user's, in use, or gone with its stripe (which may come back).
                continue
        history.mark_cleaned(target)


class _NotOpenedError(Exception):
    """The target was refused before there was a run."""

    def __init__(self, why: Refused) -> None:
        super().__init__(why.message)
        self.why = why


@contextlib.contextmanager
def _opened(target: Target, path: Path, suite: Suite, wait_seconds: float) -> Iterator[Place]:
    """The place that ``target`` names, held until the end. Raises :class:`_NotOpenedError`
    instead of :class:`Refused`.
    """
    with contextlib.ExitStack() as stack:
        place: Place
        try:
            if target.kind == RAW_READ:
                place = Raw.of(stack.enter_context(raw_device.open_to_read(path)))
            elif target.kind == RAW_WRITE:
                place = Raw.of(
                    stack.enter_context(raw_device.open_to_overwrite(path, target.serial))
                )
            else:
                private = private_directory(path, wait_seconds=wait_seconds)
                place = Files.of(stack.enter_context(private), suite)
        except Refused as refused:
            raise _NotOpenedError(refused) from refused
        yield place


class _Run:
    """One run of ``suite`` in ``place``, from its plan to its last result."""

    def __init__(
        self, suite: Suite, place: Place, log: RunLog, *, time_factor: float, members: bool
    ) -> None:
        self._suite = suite
        self._place = place
        self._log = log
        self._time_factor = time_factor
        self._each_member = members
        self._unsettled = 0
        self._overwritten: Raw | None = None

    def to_its_end(self, patience: Patience) -> None:
        """Do the run; the row says how it ended, and errors pass on after that is written."""
        state, reason = RunState.FAILED, "it ended by a defect of this program"
        self._log.event(journal.Event.RUN_STARTED, "started")
        try:
            with self._log:
                planned = self._plan()
                if isinstance(self._place, Files):
                    self._log.note(self._place.make_room(self._suite))
                members = self._place.devices.members
                reason = idle_check.wait_until_idle(members, patience, self._log)
                if reason:
                    state = RunState.SKIPPED
                    return
                self._prepare_and_measure(planned)
            state, reason = RunState.COMPLETE, ""
        except Stopped as stopped:
            state, reason = RunState.ABORTED, str(stopped)
        except Refused as refusal:
            state, reason = RunState.SKIPPED, refusal.message
            raise
        except OperatorError as error:
            reason = error.message
            raise
        finally:
            try:
                self._leave_blank()
            finally:
                self._log.close(state, reason)

    def _leave_blank(self) -> None:
        """A device that was overwritten is given up, as test files are removed."""
        if self._overwritten is None:
            return
        device = self._overwritten.device
        with contextlib.suppress(OperatorError, OSError):
            device.discard()
            if not device.looks_blank():
                self._log.note(
                    f"{device.path} still holds what was written; before other use: "
                    f"blkdiscard --zeroout {device.path}"
                )

    def _plan(self) -> tuple[PlannedJob, ...]:
        """What can be measured here, in its order. Raises :class:`Refused`."""
        possible, note = jobs_for(self._place, self._suite)
        self._log.note(note)
        each: tuple[str, ...] = ()
        if self._each_member:
            each = member_baseline.require_stripe(self._place)[1].members
        jobs = tuple(scaled(job, self._time_factor) for job in possible)
        planned = schedule(jobs, passes=self._suite.passes, seed=self._log.run_id, members=each)
        self._log.plan(planned)
        self._unsettled = sum(prepare.settles(job, self._place, self._suite) for job in jobs)
        self._log.later_seconds = self._settling_seconds()
        return planned

    def _settling_seconds(self) -> float:
        """The least that it takes until the jobs that wait for it are steady."""
        each = steady.WINDOW_ROUNDS * prepare.round_seconds(self._time_factor)
        return self._unsettled * each

    def _prepare_and_measure(self, planned: tuple[PlannedJob, ...]) -> None:
        if isinstance(self._place, Raw) and self._place.device.writable:
            self._overwritten = self._place
        asked = {one.job.engine for one in planned if not job_order.is_control(one.job)}
        found = fio_process.choose_engine(
            self._log.fio_version,
            asked - {""},
            directory=self._place.directory,
            target=self._place.probe,
            read_only=self._place.kind == RAW_READ,
            on_tick=self._log.tick,
        )
        for passed_over in found.passed_over:
            self._log.note(passed_over)
        # One engine for all jobs is the run's; of several, each result says its own.
        engine = next(iter(asked)) or found.engine if len(asked) == 1 else found.engine
        self._log.begin_measuring(engine)
        self._log.know(
            fingerprint.read_conditions(
                self._place.devices,
                self._place.device_number if isinstance(self._place, Files) else None,
            )
        )
        if not all(job_order.is_control(one.job) for one in planned):
            self._prepare(found.engine)
        with contextlib.ExitStack() as stack:
            places: Mapping[str, Place] = {}
            if self._each_member:
                places = stack.enter_context(member_baseline.opened(self._place, self._suite))
            around = measure.Surroundings(
                self._suite,
                found.engine,
                self._log.machine_type,
                fingerprint.declared_disks(self._place.path)
                if isinstance(self._place, Files)
                else (),
            )
            for index, measurement in enumerate(planned, 1):
                place = places.get(measurement.member, self._place)
                self._settle(measurement, index, engine=measurement.job.engine or found.engine)
                job = measurement.job
                self._log.begin_phase(
                    job.name, expected_seconds=job.runtime_seconds, job_index=index
                )
                self._log.keep(*measure.measure(measurement, place, self._log, around))

    def _prepare(self, engine: str) -> None:
        place = self._place
        if isinstance(place, Files):
            self._log.know({"file_size_bytes": str(place.file_size_bytes)})
            self._log.note(prepare.write_files(place, self._log, engine))
        elif isinstance(place, Raw) and place.device.writable:
            self._log.know(
                prepare.write_device(
                    place, self._log, engine, suite=self._suite, time_factor=self._time_factor
                )
            )
        else:
            self._log.note(
                "what the device holds was not written by this run: blocks that were never "
                "written, or were discarded, may be answered without reading its flash"
            )

    def _settle(self, measurement: PlannedJob, index: int, *, engine: str) -> None:
        """Bring a raw device to its steady state for a job that writes, once in a run."""
        job, place = measurement.job, self._place
        known = f"steady_state {job.name}"
        if known in self._log.conditions or not isinstance(place, Raw):
            return
        if not prepare.settles(job, place, self._suite):
            return

        def begin_round(number: int, seconds: float) -> None:
            # At least so many for each; how many more is not known before.
            waiting = self._unsettled * steady.WINDOW_ROUNDS - number
            self._log.later_seconds = max(0, waiting) * seconds
            self._log.begin_phase("prepare", expected_seconds=seconds, job_index=index - 1)

        found = prepare.settle(
            job,
            place,
            self._log,
            engine,
            time_factor=self._time_factor,
            begin_round=begin_round,
        )
        self._unsettled -= 1
        self._log.later_seconds = self._settling_seconds()
        self._log.know({known: found.in_words})
