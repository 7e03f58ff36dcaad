"""What a run tells while it runs: its phase in the row, its samples, its progress, and (in a
unit of the appliance) the figures so far of the job that it measures.

One object that is called often (:meth:`Live.tick`), from the thread that does everything
else; the sampler's thread only fills a list.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from appliance.bench.block_devices import Devices
from appliance.bench.fio import FioReport
from appliance.bench.fio_process import Interim
from appliance.bench.job_order import PlannedJob, seconds
from appliance.bench.live_file import LiveFile, LiveJob
from appliance.bench.progress import Progress
from appliance.bench.sampler import Sampler
from appliance.bench.signals import StopSignals
from appliance.errors import OperatorError
from appliance.figures import sampling
from appliance.figures.sampling import Minutes
from appliance.history.format import HistoryBusyError
from appliance.history.store import History
from appliance.model import Sample, Suite

# A batch of samples and the sign of life are one transaction, and a transaction costs
# the root disk some synchronous writes: not more often than this.
WRITE_SECONDS = 3.0
_TELL_SECONDS = 1.0


class Live:
    """The running row ``run_id``. Enter it to have samples taken."""

    def __init__(
        self,
        history: History,
        run_id: int,
        *,
        suite: Suite,
        devices: Devices,
        signals: StopSignals,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._history = history
        self._run_id = run_id
        self._suite = suite
        self._devices = devices
        self._signals = signals
        self._on_progress = on_progress
        self._sampler = Sampler(devices.all)
        self._minutes = Minutes(devices.device)
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

    def __enter__(self) -> Live:
        self._sampler.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._sampler.__exit__()
        self._untell()

    def plan(self, planned: Sequence[PlannedJob]) -> None:
        """What is going to be measured, in this order: the rest of it is the time that is left."""
        self._planned = planned

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
        self._history.begin_phase(
            self._run_id, phase, job_index=job_index, seconds=expected_seconds
        )

    def tick(self) -> None:
        """Called often: stop if asked to, write samples now and then, show progress."""
        self._signals.check()
        self._take_samples()
        now = time.monotonic()
        if now - self._written_at >= WRITE_SECONDS:
            self._written_at = now
            try:
                self._history.add_samples(self._run_id, self._waiting)
                self._waiting = []
            except HistoryBusyError:
                pass  # somebody reads for long; the batch goes with the next one
        if now - self._told_at >= _TELL_SECONDS:
            self._told_at = now
            self._on_progress(self.progress(now))

    def samples_of_phase(self) -> tuple[Sample, ...]:
        """Every sample since the phase began."""
        self._take_samples()
        return tuple(self._of_phase)

    def interim(self, runtime_seconds: float) -> Interim | None:
        """What has fio tell its figures so far of a job that is measured; ``None`` where nobody
        could read them, so that it is not asked.
        """
        file = self._file
        if file is None:
            return None
        return Interim(runtime_seconds, lambda report: file.tell(self._figures(report)))

    def _figures(self, report: FioReport) -> list[LiveJob]:
        return [
            LiveJob(
                run_id=self._run_id,
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

    def write_rest(self) -> None:
        """Write the samples that wait, if that can be done. They are worth less than the end of
        the run: a full disk may refuse the one and still take the other.
        """
        self._take_samples()
        with contextlib.suppress(OperatorError):
            self._history.add_samples(self._run_id, self._waiting)

    def progress(self, now: float) -> Progress:
        """Where the run is at ``now`` (monotonic seconds)."""
        elapsed = now - self._phase_began
        stripe = self._latest.get(self._devices.device)
        return Progress(
            run_id=self._run_id,
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
