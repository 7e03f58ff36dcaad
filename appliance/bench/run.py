"""One run, from its row to its last result. Its row is closed whatever happens."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping

from appliance.bench import (
    fingerprint,
    fio_process,
    idle_check,
    job_order,
    measure,
    prepare,
    sampler,
)
from appliance.bench import member_baseline as members
from appliance.bench.idle_check import Patience
from appliance.bench.job_order import PlannedJob, schedule
from appliance.bench.progress import Progress
from appliance.bench.run_log import Live
from appliance.bench.signals import Stopped, StopSignals
from appliance.bench.suite import scaled
from appliance.bench.target import RAW_READ, Files, Place, Raw, jobs_for
from appliance.clouds.machine import read_machine
from appliance.errors import OperatorError, Refused
from appliance.figures import steady
from appliance.history.store import History
from appliance.model import JobResult, RunState, Suite
from appliance.system import journal


class Run:
    """One run of ``suite`` in ``place``; ``id`` is its row's."""

    def __init__(
        self,
        suite: Suite,
        *,
        place: Place,
        history: History,
        signals: StopSignals,
        fio_version: str,
        time_factor: float,
        on_progress: Callable[[Progress], None],
        members: bool,
    ) -> None:
        self._suite = suite
        self._place = place
        self._history = history
        self._fio_version = fio_version
        self._time_factor = time_factor
        self._each_member = members
        self._machine_type = read_machine().machine_type
        self._notes = [place.devices.problem] if place.devices.problem else []
        self._conditions: dict[str, str] = {}
        self._unsettled = 0
        self._overwritten: Raw | None = None
        self.id = history.begin_run(
            suite,
            target=str(place.path),
            device=place.devices.device,
            members=place.devices.members,
            machine_type=self._machine_type,
            fio_version=fio_version,
            time_factor=time_factor,
            notes=self._notes,
            target_kind=place.kind,
        )
        self._live = Live(
            history,
            self.id,
            suite=suite,
            devices=place.devices,
            signals=signals,
            on_progress=on_progress,
        )

    def to_its_end(self, patience: Patience) -> None:
        """Do the run; the row says how it ended, and errors pass on after that is written."""
        state, reason = RunState.FAILED, "it ended by a defect of this program"
        self._tell(journal.Event.RUN_STARTED, "started")
        try:
            with self._live:
                planned = self._plan()
                if isinstance(self._place, Files):
                    self._note(self._place.make_room(self._suite))
                reason = self._foreign_load(patience)
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
            self._close(state, reason)

    def _close(self, state: RunState, reason: str) -> None:
        try:
            self._leave_blank()
            self._live.write_rest()
        finally:
            try:
                self._history.finish_run(self.id, state, reason)
            finally:
                self._tell_end(state, reason)

    def _leave_blank(self) -> None:
        """A device that was overwritten is given up, as test files are removed."""
        if self._overwritten is None:
            return
        device = self._overwritten.device
        with contextlib.suppress(OperatorError, OSError):
            device.discard()
            if not device.looks_blank():
                self._note(
                    f"{device.path} still holds what was written; before other use: "
                    f"blkdiscard --zeroout {device.path}"
                )

    def _tell_end(self, state: RunState, reason: str) -> None:
        event = {
            RunState.SKIPPED: journal.Event.RUN_SKIPPED,
            RunState.ABORTED: journal.Event.RUN_ABORTED,
        }.get(state, journal.Event.RUN_FINISHED)
        bad = state in {RunState.ABORTED, RunState.FAILED}
        self._tell(
            event,
            f"{state.value}: {reason}" if reason else state.value,
            priority=journal.Priority.WARNING if bad else journal.Priority.INFO,
            state=state.value,
        )

    # ------------------------------------------------------------------------ its phases

    def _plan(self) -> tuple[PlannedJob, ...]:
        """What can be measured here, in its order. Raises :class:`Refused`."""
        possible, note = jobs_for(self._place, self._suite)
        self._note(note)
        each: tuple[str, ...] = ()
        if self._each_member:
            each = members.require_stripe(self._place)[1].members
        jobs = tuple(scaled(job, self._time_factor) for job in possible)
        planned = schedule(jobs, passes=self._suite.passes, seed=self.id, members=each)
        self._live.plan(planned)
        self._history.update_run(self.id, job_count=len(planned))
        self._unsettled = sum(prepare.settles(job, self._place, self._suite) for job in jobs)
        self._live.later_seconds = self._settling_seconds()
        return planned

    def _settling_seconds(self) -> float:
        """The least that it takes until the jobs that wait for it are steady."""
        each = steady.WINDOW_ROUNDS * prepare.round_seconds(self._time_factor)
        return self._unsettled * each

    def _foreign_load(self, patience: Patience) -> str:
        """Wait for the disks to be quiet; the reason to skip the run if they never are."""
        self._live.begin_phase("check", expected_seconds=idle_check.WINDOW_SECONDS)
        watched = self._place.devices.members
        began = time.monotonic()
        before = first = sampler.read_all(watched)
        while watched:
            window_began = time.monotonic()
            while time.monotonic() - window_began < idle_check.WINDOW_SECONDS:
                self._live.tick()
                time.sleep(0.1)
            after = sampler.read_all(watched)
            reason = idle_check.foreign_load(
                before,
                after,
                seconds=time.monotonic() - window_began,
                max_util=patience.max_foreign_util,
            )
            if not reason or time.monotonic() - began >= patience.seconds:
                return reason
            if before is first:
                # Now it takes as long as the others do, and no longer than this.
                rest = patience.seconds - (time.monotonic() - began)
                self._live.begin_phase("check", expected_seconds=max(0.0, rest))
            before = after
        return ""

    def _prepare_and_measure(self, planned: tuple[PlannedJob, ...]) -> None:
        if isinstance(self._place, Raw) and self._place.device.writable:
            self._overwritten = self._place
        asked = {one.job.engine for one in planned if not job_order.is_control(one.job)}
        found = fio_process.choose_engine(
            self._fio_version,
            asked - {""},
            cwd=self._place.cwd,
            target=self._place.probe,
            read_only=self._place.kind == RAW_READ,
            on_tick=self._live.tick,
        )
        for passed_over in found.passed_over:
            self._note(passed_over)
        # One engine for all jobs is the run's; of several, each result says its own.
        engine = next(iter(asked)) or found.engine if len(asked) == 1 else found.engine
        self._history.update_run(self.id, engine=engine, epoch_id=self._epoch())
        self._know(
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
                places = stack.enter_context(members.opened(self._place, self._suite))
            around = measure.Surroundings(
                self._suite,
                found.engine,
                self._machine_type,
                fingerprint.declared_disks(self._place.path)
                if isinstance(self._place, Files)
                else (),
            )
            for index, measurement in enumerate(planned, 1):
                place = places.get(measurement.member, self._place)
                self._settle(measurement, index, engine=measurement.job.engine or found.engine)
                job = measurement.job
                self._live.begin_phase(
                    job.name, expected_seconds=job.runtime_seconds, job_index=index
                )
                self._keep(*measure.measure(measurement, place, self._live, around))

    def _prepare(self, engine: str) -> None:
        place = self._place
        if isinstance(place, Files):
            self._know({"file_size_bytes": str(place.file_size_bytes)})
            self._note(prepare.write_files(place, self._live, engine))
        elif isinstance(place, Raw) and place.device.writable:
            self._know(
                prepare.write_device(
                    place, self._live, engine, suite=self._suite, time_factor=self._time_factor
                )
            )
        else:
            self._note(
                "what the device holds was not written by this run: blocks that were never "
                "written, or were discarded, may be answered without reading its flash"
            )

    def _settle(self, measurement: PlannedJob, index: int, *, engine: str) -> None:
        """Bring a raw device to its steady state for a job that writes, once in a run."""
        job, place = measurement.job, self._place
        known = f"steady_state {job.name}"
        if known in self._conditions or not isinstance(place, Raw):
            return
        if not prepare.settles(job, place, self._suite):
            return

        def begin_round(number: int, seconds: float) -> None:
            # At least so many for each; how many more, nobody knows before.
            waiting = self._unsettled * steady.WINDOW_ROUNDS - number
            self._live.later_seconds = max(0, waiting) * seconds
            self._live.begin_phase("prepare", expected_seconds=seconds, job_index=index - 1)

        found = prepare.settle(
            job,
            place,
            self._live,
            engine,
            time_factor=self._time_factor,
            begin_round=begin_round,
        )
        self._unsettled -= 1
        self._live.later_seconds = self._settling_seconds()
        self._know({known: found.in_words})

    def _epoch(self) -> int:
        """The epoch of the declared volume, or that of this target's own surroundings."""
        files = isinstance(self._place, Files)
        declared = fingerprint.declared_epoch(self._place.path) if files else None
        current = self._history.current_epoch()
        # After a damaged history was set aside the boot unit's epoch is not in this one.
        if declared is not None and current is not None and current.id == declared:
            return declared
        subject = f"{'directory' if files else 'device'} {self._place.path}"
        before = self._history.current_epoch(subject)
        epoch = self._history.ensure_epoch(
            fingerprint.fingerprint(
                self._place.devices,
                # No filesystem takes part in what a raw device does.
                device_number=self._place.device_number if files else 0,
                fio_version=self._fio_version,
                machine_type=self._machine_type,
            ),
            subject=subject,
        )
        if before is not None and epoch.id != before.id:
            changes = ", ".join(f"{key}: {a} -> {b}" for key, (a, b) in epoch.changed.items())
            self._tell(journal.Event.EPOCH_OPENED, f"epoch {epoch.id} opened ({changes})")
        return epoch.id

    # -------------------------------------------------------------- telling others of it

    def _keep(self, results: tuple[JobResult, ...], raw_report: str) -> None:
        for result in results:
            self._history.add_result(self.id, result, raw_report=raw_report)
        for result in results:
            self._tell_result(result)

    def _note(self, text: str) -> None:
        if text:
            self._notes.append(text)
            self._history.update_run(self.id, notes=self._notes)

    def _know(self, found: Mapping[str, str]) -> None:
        self._conditions.update(found)
        self._history.update_run(self.id, conditions=self._conditions)

    def _tell_result(self, result: JobResult) -> None:
        codes = ",".join(finding.code for finding in result.findings)
        on = f" on {result.member}" if result.member else ""
        self._tell(
            journal.Event.RUN_RESULT,
            f"job {result.job} {result.direction}{on}: {result.iops:.0f} IOPS, "
            + ("valid" if result.valid else f"not valid ({codes})"),
            job=result.job,
            iops=round(result.iops),
            valid=int(result.valid),
            findings=codes,
        )

    def _tell(
        self,
        event: journal.Event,
        message: str,
        *,
        priority: journal.Priority = journal.Priority.INFO,
        **fields: str | int | float,
    ) -> None:
        """To the history and to the journal, with the same fields."""
        fields = {"run": self.id, "suite": self._suite.name, **fields}
        text = f"run {self.id} of suite {self._suite.name}: {message}"
        # The journal first: it takes this also when the history's disk is full.
        journal.event(event, text, priority=priority, **fields)
        self._history.event(event.name, text, fields)
