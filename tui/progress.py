"""How far a running suite is, and how long it still needs; pure."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.model import RunRecord, Suite


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is. ``seconds_left`` is ``None`` when nothing is known to tell it from."""

    phase: str
    job_index: int
    job_count: int
    elapsed_seconds: float
    seconds_left: float | None
    fraction: float


def progress(run: RunRecord, suite: Suite | None, now: float) -> Progress:
    """Progress of ``run`` at ``now`` (seconds since the epoch).

    What is left of the present phase is its length as the runner gave it; the jobs after it
    count with the run time the suite asks for, times the run's time factor. The fraction is
    time spent over time expected in all.
    """
    elapsed = max(0.0, now - run.started_at)
    in_phase = max(0.0, now - run.phase_started_at)
    if run.phase_seconds <= 0:
        return Progress(run.phase, run.job_index, run.job_count, elapsed, None, 0.0)
    left = max(0.0, run.phase_seconds - in_phase)
    if suite is not None:
        left += _seconds_after(run, suite)
    total = elapsed + left
    fraction = elapsed / total if total > 0 else 0.0
    return Progress(run.phase, run.job_index, run.job_count, elapsed, left, fraction)


def _seconds_after(run: RunRecord, suite: Suite) -> float:
    """Run time of what is measured after the present phase; ``job_index`` is 0 before the first.

    Of several passes, or of members beside the stripe, as much as that many jobs take on average.
    """
    if run.job_count == len(suite.jobs):
        return run.time_factor * sum(job.runtime_seconds for job in suite.jobs[run.job_index :])
    waiting = max(0, run.job_count - run.job_index)
    mean = sum(job.runtime_seconds for job in suite.jobs) / len(suite.jobs)
    return run.time_factor * mean * waiting


def suite_seconds(suite: Suite) -> float:
    """Measuring time that ``suite`` asks for, without the preparation of its files."""
    return suite.passes * sum(job.runtime_seconds for job in suite.jobs)
