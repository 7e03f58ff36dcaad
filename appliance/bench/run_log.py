"""The log of a run: its row, its samples, its journal entries and its progress, and (in a unit of
the appliance) the figures so far of the job that it measures.

One object that is called often (:meth:`RunLog.tick`), from the thread that does everything
else; the sampler's thread only fills a list.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence

from appliance.bench import fingerprint
from appliance.bench.fio import FioReport
from appliance.bench.fio_process import Interim
from appliance.bench.job_order import PlannedJob, seconds
from appliance.bench.live_file import LiveFile, LiveJob
from appliance.bench.progress import Progress
from appliance.bench.sampler import Sampler
from appliance.bench.target import Files, Place
from appliance.errors import OperatorError
from appliance.figures import sampling
from appliance.figures.sampling import Minutes
from appliance.history.format import HistoryBusyError
from appliance.history.store import History
from appliance.model.measurement import JobResult
from appliance.model.runs import RunState, Sample, Suite
from appliance.system import journal
from appliance.system.stopping import StopSignals

# A batch of samples and the sign of life are one transaction, and a transaction costs
# the root disk some synchronous writes: not more often than this.
WRITE_SECONDS = 3.0
_TELL_SECONDS = 1.0


class RunLog:
    """The running row ``run_id``, which it makes. Enter it to have samples taken."""

    def __init__(
        self,
        history: History,
        suite: Suite,
        place: Place,
        *,
        machine_type: str,
        fio_version: str,
        time_factor: float,
        signals: StopSignals,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._history = history
        self._suite = suite
        self._place = place
        self._devices = place.devices
        self._signals = signals
        self._on_progress = on_progress
        self.machine_type = machine_type
        self.fio_version = fio_version
        self._notes = [place.devices.problem] if place.devices.problem else []
        self.conditions: dict[str, str] = {}
        self.run_id = history.begin_run(
            suite,
            target=str(place.path),
            device=place.devices.device,
            members=place.devices.members,
            machine_type=machine_type,
            fio_version=fio_version,
            time_factor=time_factor,
            notes=self._notes,
            target_kind=place.kind,
        )
        self._sampler = Sampler(self._devices.all)
        self._minutes = Minutes(self._devices.device)
        self._waiting: list[Sample] = []
        self._of_phase: list[Sample] = []
        self._latest: dict[str, Sample] = {}
        self._began = self._phase_began = self._written_at = self._told_at = time.monotonic()
        self._planned: Sequence[PlannedJob] = ()
        self._now = PlannedJob(suite.jobs[0])
        self._phase, self._job_index, self._phase_seconds = "check", 0, 0.0
        # Expected to be spent after this phase on something else than measuring.
        self.later_seconds = 0.0
        self._file = LiveFile.of_unit()

    def __enter__(self) -> RunLog:
        self._sampler.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._sampler.__exit__()
        self._untell()

    # ------------------------------------------------------------------------- the row

    def plan(self, planned: Sequence[PlannedJob]) -> None:
        """What is going to be measured, in this order: the rest of it is the time that is left."""
        self._planned = planned
        self._history.update_run(self.run_id, job_count=len(planned))

    def note(self, text: str) -> None:
        if text:
            self._notes.append(text)
            self._history.update_run(self.run_id, notes=self._notes)

    def know(self, found: Mapping[str, str]) -> None:
        """Conditions of the run."""
        self.conditions.update(found)
        self._history.update_run(self.run_id, conditions=self.conditions)

    def begin_measuring(self, engine: str) -> None:
        self._history.update_run(self.run_id, engine=engine, epoch_id=self._epoch())

    def keep(self, results: Sequence[JobResult], raw_report: str) -> None:
        for result in results:
            self._history.add_result(self.run_id, result, raw_report=raw_report)
        for result in results:
            codes = ",".join(finding.code for finding in result.findings)
            on = f" on {result.member}" if result.member else ""
            self.event(
                journal.Event.RUN_RESULT,
                f"job {result.job} {result.direction}{on}: {result.iops:.0f} IOPS, "
                + ("valid" if result.valid else f"not valid ({codes})"),
                job=result.job,
                iops=round(result.iops),
                valid=int(result.valid),
                findings=codes,
            )

    def close(self, state: RunState, reason: str) -> None:
        """The last thing of a run, whatever became of it."""
        try:
            self._write_rest()
        finally:
            try:
                self._history.finish_run(self.run_id, state, reason)
            finally:
                bad = state in {RunState.ABORTED, RunState.FAILED}
                self.event(
                    {
                        RunState.SKIPPED: journal.Event.RUN_SKIPPED,
                        RunState.ABORTED: journal.Event.RUN_ABORTED,
                    }.get(state, journal.Event.RUN_FINISHED),
                    f"{state.value}: {reason}" if reason else state.value,
                    priority=journal.Priority.WARNING if bad else journal.Priority.INFO,
                    state=state.value,
                )

    def event(
        self,
        event: journal.Event,
        message: str,
        *,
        priority: journal.Priority = journal.Priority.INFO,
        **fields: str | int | float,
    ) -> None:
        """To the history and to the journal, with the same fields."""
        fields = {"run": self.run_id, "suite": self._suite.name, **fields}
        text = f"run {self.run_id} of suite {self._suite.name}: {message}"
        # The journal first: it takes this also when the history's disk is full.
        journal.event(event, text, priority=priority, **fields)
        self._history.event(event.name, text, fields)

    def _epoch(self) -> int:
        """The epoch of the declared volume, or that of this target's own surroundings."""
        place = self._place
        files = isinstance(place, Files)
        declared = fingerprint.declared_epoch(place.path) if files else None
        current = self._history.current_epoch()
        # After a damaged history was set aside the boot unit's epoch is not in this one.
        if declared is not None and current is not None and current.id == declared:
            return declared
        subject = f"{'directory' if files else 'device'} {place.path}"
        before = self._history.current_epoch(subject)
        epoch = self._history.ensure_epoch(
            fingerprint.fingerprint(
                place.devices,
                # No filesystem takes part in what a raw device does.
                device_number=place.device_number if files else 0,
                fio_version=self.fio_version,
                machine_type=self.machine_type,
            ),
            subject=subject,
        )
        if before is not None and epoch.id != before.id:
            changes = ", ".join(f"{key}: {a} -> {b}" for key, (a, b) in epoch.changed.items())
            self.event(journal.Event.EPOCH_OPENED, f"epoch {epoch.id} opened ({changes})")
        return epoch.id

    # -------------------------------------------------------------------- while it runs

    def begin_phase(self, phase: str, *, expected_seconds: float, job_index: int = 0) -> None:
        """A phase of about ``expected_seconds`` begins. ``job_index`` counts ``planned`` from 1
        while one of them is measured.
        """
        self._phase, self._job_index, self._phase_seconds = phase, job_index, expected_seconds
        if job_index:
            self._now = self._planned[job_index - 1]
        self._untell()
        self._phase_began, self._told_at = time.monotonic(), 0.0
        self._of_phase = []
        # What the phase before this one did is not told as if this one did it.
        self._latest = {}
        self._history.begin_phase(self.run_id, phase, job_index=job_index, seconds=expected_seconds)

    def tick(self) -> None:
        """Called often: stop if asked to, write samples now and then, show progress."""
        self._signals.check()
        self._take_samples()
        now = time.monotonic()
        if now - self._written_at >= WRITE_SECONDS:
            self._written_at = now
            try:
                self._history.add_samples(self.run_id, self._waiting)
                self._waiting = []
            except HistoryBusyError:
                pass  # a reader holds the file; the batch goes with the next one
        if now - self._told_at >= _TELL_SECONDS:
            self._told_at = now
            self._on_progress(self.progress(now))

    def samples_of_phase(self) -> tuple[Sample, ...]:
        """Every sample since the phase began."""
        self._take_samples()
        return tuple(self._of_phase)

    def interim(self, runtime_seconds: float) -> Interim | None:
        """What has fio tell its figures so far of a job that is measured; ``None`` where no
        reader could see them, so that fio is not asked.
        """
        file = self._file
        if file is None:
            return None
        return Interim(runtime_seconds, lambda report: file.tell(self._figures(report)))

    def _figures(self, report: FioReport) -> list[LiveJob]:
        return [
            LiveJob(
                run_id=self.run_id,
                suite=self._suite.name,
                job=self._now.job.name,
                direction=direction,
                pass_index=self._now.pass_index,
                member=self._now.member,
                at=time.time(),
                elapsed_seconds=figures.runtime_ms / 1000,
                ios=figures.total_ios,
                iops=figures.iops,
                latency_mean_ns=figures.latency_mean_ns,
                percentiles_ns=figures.percentiles_ns,
            )
            for direction, figures in report.directions.items()
        ]

    def _untell(self) -> None:
        """What was told is over: the history has it now, or it came to nothing."""
        if self._file is not None:
            self._file.remove()

    def _write_rest(self) -> None:
        """Write the samples that wait, if that can be done. They are worth less than the end of
        the run: a full disk may refuse the one and still take the other.
        """
        self._take_samples()
        with contextlib.suppress(OperatorError):
            self._history.add_samples(self.run_id, self._waiting)

    def progress(self, now: float) -> Progress:
        """Where the run is at ``now`` (monotonic seconds)."""
        elapsed = now - self._phase_began
        stripe = self._latest.get(self._devices.device)
        return Progress(
            run_id=self.run_id,
            suite=self._suite.name,
            phase=self._phase,
            job_index=self._job_index,
            job_count=len(self._planned),
            elapsed_seconds=elapsed,
            phase_seconds=self._phase_seconds,
            left_seconds=max(0.0, self._phase_seconds - elapsed)
            + seconds(self._planned[self._job_index :])
            + self.later_seconds,
            read_iops=stripe.read_iops if stripe else 0.0,
            write_iops=stripe.write_iops if stripe else 0.0,
            bytes_per_s=stripe.read_bytes_per_s + stripe.write_bytes_per_s if stripe else 0.0,
            total_elapsed_seconds=now - self._began,
            pass_index=self._now.pass_index,
            passes=self._suite.passes,
            member=self._now.member if self._job_index else "",
            members=tuple(
                self._latest[name] for name in self._devices.members if name in self._latest
            ),
            minute=self._minutes.last,
        )

    def _take_samples(self) -> None:
        fresh = self._sampler.drain()
        self._waiting += fresh
        self._of_phase += fresh
        for sample in fresh:
            self._latest[sample.device] = sample
            self._minutes.add(sampling.second(sample))
