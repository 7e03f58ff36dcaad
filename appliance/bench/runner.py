"""Running a suite: check, prepare, measure job by job, judge, and keep everything.

One thread does all of it and writes history; the sampler's thread only fills a list. A
run can end in five ways, and each is a row: complete, skipped (not started, with the
reason), aborted (SIGINT, SIGTERM, or found dead by the next one), failed, and running.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from appliance.bench import capability, environment, execution, fio, host, leftovers, quiet, sampler
from appliance.bench.precondition import PrivateDirectory, absolute_target, private_directory
from appliance.bench.progress import Progress
from appliance.bench.result import to_result
from appliance.bench.signals import Stopped, StopSignals
from appliance.bench.suite import ACCESS_PATTERNS, scaled
from appliance.bench.target import devices_of, disk_kinds
from appliance.errors import OperatorError, Refused, UsageError
from appliance.history.format import HistoryBusyError
from appliance.history.store import History
from appliance.model import Job, JobResult, RunState, Sample, Suite
from appliance.system import journal
from appliance.system.machine import read_machine

default_target = environment.default_target

# A batch of samples and the sign of life are one transaction, and a transaction costs
# the root disk some synchronous writes: not more often than this.
_WRITE_SECONDS = 3.0
# What fio may need beyond the time asked for: start, end, a slow machine.
_GRACE_SECONDS = 300.0
# Only to estimate how long writing the files takes before the first sample tells.
_GUESSED_WRITE_BYTES_PER_S = 400e6
# Slower than any disk one would keep: a longer preparation hangs.
_SLOWEST_WRITE_BYTES_PER_S = 4e6


def run_suite(
    suite: Suite,
    *,
    target: Path | str,
    db: Path,
    time_factor: float = 1.0,
    on_progress: Callable[[Progress], None] = lambda _: None,
    max_foreign_util: float = quiet.MAX_FOREIGN_UTIL,
    quiet_patience_seconds: float = quiet.PATIENCE_SECONDS,
) -> int:
    """Run ``suite`` in the private directory of ``target`` and keep it in ``db``.

    Returns the run's id; its row says how it ended. ``time_factor`` multiplies every job's
    run time. ``on_progress`` is called about once a second. Raises
    :class:`ProgramMissing` without fio, :class:`UsageError` for a target that is no
    directory, :class:`Refused` for one without space or in use, and
    :class:`OperatorError` for a failure, which is then also in the row.
    """
    if not 0 < time_factor <= 1000:
        raise UsageError(
            f"time factor {time_factor:g} is not usable", "give a number above 0, up to 1000"
        )
    where = absolute_target(target)
    version = execution.find_fio()
    with (
        private_directory(where) as private,
        History.open_writable(db) as history,
        StopSignals() as signals,
    ):
        leftovers.clean(history, held=private)
        private.require_direct_io()
        run = _Run(
            suite,
            private=private,
            history=history,
            signals=signals,
            fio_version=version,
            time_factor=time_factor,
            on_progress=on_progress,
        )
        run.to_its_end(
            max_foreign_util=max_foreign_util, quiet_patience_seconds=quiet_patience_seconds
        )
        return run.id


def reap(db: Path) -> int:
    """Mark the runs whose process is gone as aborted; how many it were.

    The files of these, and of those that another opening marked before, are removed.
    """
    with History.open_writable(db) as history:
        leftovers.clean(history)
        return len(history.reaped)


class _Run:
    """One run. Its row exists from the beginning, and is closed whatever happens."""

    def __init__(
        self,
        suite: Suite,
        *,
        private: PrivateDirectory,
        history: History,
        signals: StopSignals,
        fio_version: str,
        time_factor: float,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._suite = suite
        self._jobs = tuple(scaled(job, time_factor) for job in suite.jobs)
        self._private = private
        self._history = history
        self._signals = signals
        self._on_progress = on_progress
        self._fio_version = fio_version
        self._devices = devices_of(private.device_number)
        self._machine_type = read_machine().machine_type
        self._files = tuple(f"data.{n}" for n in range(max(job.jobs for job in suite.jobs)))
        self._sampler = sampler.Sampler(self._devices.all)
        self._pending: list[Sample] = []
        self._last: Sample | None = None
        self._phase, self._job_index = "check", 0
        self._phase_began = self._written_at = self._told_at = time.monotonic()
        self._phase_seconds = 0.0
        self._notes: list[str] = [self._devices.problem] if self._devices.problem else []
        self.id = history.begin_run(
            suite,
            target=str(private.path),
            device=self._devices.device,
            members=self._devices.members,
            machine_type=self._machine_type,
            fio_version=fio_version,
            time_factor=time_factor,
            notes=self._notes,
        )

    def to_its_end(self, *, max_foreign_util: float, quiet_patience_seconds: float) -> None:
        """Do the run; the row says how it ended, and errors pass on after that is written."""
        state, reason = RunState.FAILED, "it ended by a defect of this program"
        self._tell(journal.Event.RUN_STARTED, "started")
        try:
            with self._sampler:
                size_bytes = self._private.size_for(len(self._files))
                reason = self._foreign_load(max_foreign_util, quiet_patience_seconds)
                if reason:
                    state = RunState.SKIPPED
                    return
                self._prepare_and_measure(size_bytes)
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
        self._pending += self._sampler.drain()
        # The last samples are worth less than the end of the run: a full disk may refuse
        # the one and still take the other.
        with contextlib.suppress(OperatorError):
            self._history.add_samples(self.id, self._pending)
        try:
            self._history.finish_run(self.id, state, reason)
        finally:
            self._tell_end(state, reason)

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

    def _foreign_load(self, max_util: float, patience_seconds: float) -> str:
        """Wait for the disks to be quiet; the reason to skip the run if they never are."""
        self._begin_phase("check", 0, patience_seconds)
        began = time.monotonic()
        before = sampler.read_all(self._devices.members)
        while self._devices.members:
            window_began = time.monotonic()
            while time.monotonic() - window_began < quiet.WINDOW_SECONDS:
                self._tick()
                time.sleep(0.1)
            after = sampler.read_all(self._devices.members)
            seconds = time.monotonic() - window_began
            reason = quiet.foreign_load(before, after, seconds=seconds, max_util=max_util)
            if not reason or time.monotonic() - began >= patience_seconds:
                return reason
            before = after
        return ""

    def _prepare_and_measure(self, size_bytes: int) -> None:
        found = execution.choose_engine(self._fio_version, self._private, on_tick=self._tick)
        self._notes += found.passed_over
        self._history.update_run(
            self.id, engine=found.engine, notes=self._notes, epoch_id=self._epoch()
        )
        self._prepare(size_bytes, found.engine)
        for index, job in enumerate(self._jobs, 1):
            self._begin_phase(job.name, index, job.runtime_seconds)
            for result in self._measure(job, size_bytes, found.engine):
                self._tell_result(result)

    def _epoch(self) -> int:
        """The epoch of the declared volume, or that of this directory's own surroundings."""
        declared = environment.declared_epoch(self._private.path)
        current = self._history.current_epoch()
        # After a damaged history was set aside the boot unit's epoch is not in this one.
        if declared is not None and current is not None and current.id == declared:
            return declared
        subject = f"directory {self._private.path}"
        before = self._history.current_epoch(subject)
        epoch = self._history.ensure_epoch(
            environment.fingerprint(
                self._devices,
                device_number=self._private.device_number,
                fio_version=self._fio_version,
                machine_type=self._machine_type,
            ),
            subject=subject,
        )
        if before is not None and epoch.id != before.id:
            changes = ", ".join(f"{key}: {a} -> {b}" for key, (a, b) in epoch.changed.items())
            self._tell(journal.Event.EPOCH_OPENED, f"epoch {epoch.id} opened ({changes})")
        return epoch.id

    def _prepare(self, size_bytes: int, engine: str) -> None:
        """Write all files in full and prove it; the sampler tells how fast that goes."""
        total_bytes = size_bytes * len(self._files)
        self._begin_phase("prepare", 0, total_bytes / _GUESSED_WRITE_BYTES_PER_S)
        ended = execution.run_fio(
            fio.prepare_arguments(self._files, file_size_bytes=size_bytes, engine=engine),
            self._private,
            timeout_seconds=_GRACE_SECONDS + total_bytes / _SLOWEST_WRITE_BYTES_PER_S,
            on_tick=self._tick,
        )
        self._signals.check()
        if ended.in_words:
            raise OperatorError(
                f"the test files could not be written: {ended.in_words}",
                "look at the space and the health of the target's filesystem",
            )
        problems = (
            f"{name}: {why}" for name in self._files if (why := self._private.unwritten(name))
        )
        if problem := next(problems, ""):
            self._notes.append(f"the test files are not proved to be written in full: {problem}")
            self._history.update_run(self.id, notes=self._notes)

    def _measure(self, job: Job, size_bytes: int, engine: str) -> list[JobResult]:
        before, cpu_before = sampler.read_all(self._devices.all), host.cpu_times()
        ended = execution.run_fio(
            fio.job_arguments(job, self._files, file_size_bytes=size_bytes, engine=engine),
            self._private,
            timeout_seconds=job.runtime_seconds * 2 + _GRACE_SECONDS,
            on_tick=self._tick,
        )
        changes = sampler.deltas(before, sampler.read_all(self._devices.all))
        host_cpu_percent = host.busy_percent(cpu_before, host.cpu_times())
        # The service manager signals fio and this process together: then it is a stop.
        self._signals.check()
        try:
            report = fio.parse_report(ended.output)
        except fio.FioOutputError as error:
            if ended.in_words:
                raise OperatorError(f"job {job.name}: {ended.in_words}", error.hint) from error
            raise
        limits = capability.instance_limits(self._machine_type, disk_kinds(self._devices.members))
        results = []
        for direction in ACCESS_PATTERNS[job.rw]:
            result = to_result(
                job,
                report,
                direction,
                engine=engine,
                devices=self._devices,
                changes=changes,
                published_iops=capability.published_iops(
                    limits, direction=direction, member_count=len(self._devices.members)
                ),
                ended=ended.in_words,
                host_cpu_percent=host_cpu_percent,
            )
            self._history.add_result(self.id, result, raw_report=ended.output)
            results.append(result)
        return results

    # -------------------------------------------------------------- telling others of it

    def _begin_phase(self, phase: str, job_index: int, seconds: float) -> None:
        self._phase, self._job_index, self._phase_seconds = phase, job_index, seconds
        self._phase_began, self._told_at = time.monotonic(), 0.0
        self._history.begin_phase(self.id, phase, job_index=job_index, seconds=seconds)

    def _tick(self) -> None:
        """Called often: stop if asked to, write samples now and then, show progress."""
        self._signals.check()
        fresh = self._sampler.drain()
        self._pending += fresh
        for sample in fresh:
            if sample.device == self._devices.device:
                self._last = sample
        now = time.monotonic()
        if now - self._written_at >= _WRITE_SECONDS:
            self._written_at = now
            try:
                self._history.add_samples(self.id, self._pending)
                self._pending = []
            except HistoryBusyError:
                pass  # somebody reads for long; the batch goes with the next one
        if now - self._told_at >= 1.0:
            self._told_at = now
            self._on_progress(self._progress(now))

    def _progress(self, now: float) -> Progress:
        elapsed = now - self._phase_began
        later = sum(job.runtime_seconds for job in self._jobs[self._job_index :])
        last = self._last
        return Progress(
            run_id=self.id,
            suite=self._suite.name,
            phase=self._phase,
            job_index=self._job_index,
            job_count=len(self._jobs),
            elapsed_seconds=elapsed,
            phase_seconds=self._phase_seconds,
            left_seconds=max(0.0, self._phase_seconds - elapsed) + later,
            read_iops=last.read_iops if last else 0.0,
            write_iops=last.write_iops if last else 0.0,
            bytes_per_s=last.read_bytes_per_s + last.write_bytes_per_s if last else 0.0,
        )

    def _tell_result(self, result: JobResult) -> None:
        codes = ",".join(finding.code for finding in result.findings)
        self._tell(
            journal.Event.RUN_RESULT,
            f"job {result.job} {result.direction}: {result.iops:.0f} IOPS, "
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
