"""How far a running suite is, what of it is done, and how long it still needs; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.bench.job_order import PlannedJob
    from appliance.model.measurement import JobResult
    from appliance.model.runs import Job, RunRecord, Suite


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is. ``seconds_left`` is ``None`` when nothing is known to tell it from.

    ``phase_left`` and ``phase_fraction`` are of the present phase alone.
    """

    phase: str
    job_index: int
    job_count: int
    elapsed_seconds: float
    seconds_left: float | None
    fraction: float
    phase_left: float | None = None
    phase_fraction: float = 0.0


class StepState(Enum):
    DONE = "done"
    MEASURING = "measuring"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Step:
    """One job to be measured once. ``member`` is the one disk that is measured, empty for the
    stripe; ``pass_index`` counts from 1. ``results`` has one for each direction once it is done.
    """

    job: Job
    pass_index: int
    member: str
    state: StepState
    results: tuple[JobResult, ...] = ()


def progress(run: RunRecord, suite: Suite | None, now: float) -> Progress:
    """Progress of ``run`` at ``now`` (seconds since the epoch).

    What is left of the present phase is its length as the runner gave it; the jobs after it
    count with the run time the suite asks for, times the run's time factor. The fraction is
    time spent over time expected in all; a row with a non-finite time gives 0 and no time left.
    """
    if not all(map(math.isfinite, (run.started_at, run.phase_started_at, run.phase_seconds))):
        return Progress(run.phase, run.job_index, run.job_count, 0.0, None, 0.0)
    elapsed = max(0.0, now - run.started_at)
    in_phase = max(0.0, now - run.phase_started_at)
    if run.phase_seconds <= 0:
        return Progress(run.phase, run.job_index, run.job_count, elapsed, None, 0.0)
    phase_left = max(0.0, run.phase_seconds - in_phase)
    left = phase_left
    if suite is not None:
        left += _seconds_after(run, suite)
    total = elapsed + left
    fraction = elapsed / total if total > 0 else 0.0
    return Progress(
        run.phase,
        run.job_index,
        run.job_count,
        elapsed,
        left,
        fraction,
        phase_left,
        min(1.0, in_phase / run.phase_seconds),
    )


def plan_of(run: RunRecord, suite: Suite | None) -> tuple[PlannedJob, ...]:
    """What ``run`` measures, in its order; nothing where that cannot be known.

    The order of shuffled passes follows from the run's number, as the runner has it.
    """
    from appliance.bench.job_order import schedule
    from appliance.bench.suite import only_reads, scaled

    if suite is None:
        return ()
    # On a raw device that is only read, the jobs that write are left out.
    jobs = [job for job in suite.jobs if run.target_kind != "raw-read" or only_reads(job)]
    jobs = [scaled(job, run.time_factor) for job in jobs]
    for members in ((), run.members):
        planned = schedule(jobs, passes=suite.passes, seed=run.id, members=members)
        if len(planned) == run.job_count:
            return planned
    return ()


def steps(run: RunRecord, suite: Suite | None, results: Sequence[JobResult]) -> tuple[Step, ...]:
    """Everything that ``run`` measures, in its order, with what has come of it.

    What is done is known by its results. Where the order cannot be known, only they are there.
    """
    found: dict[tuple[str, int, str], list[JobResult]] = {}
    for result in results:
        found.setdefault((result.job, result.pass_index, result.member), []).append(result)
    made = []
    for number, one in enumerate(plan_of(run, suite), 1):
        here = tuple(found.pop((one.job.name, one.pass_index, one.member), ()))
        state = StepState.WAITING
        if here or number < run.job_index:
            state = StepState.DONE
        elif number == run.job_index and run.phase == one.job.name:
            state = StepState.MEASURING
        made.append(Step(one.job, one.pass_index, one.member, state, here))
    rest = [_done(one) for one in found.values()]
    return (*rest, *made)


def _done(results: Sequence[JobResult]) -> Step:
    """A step of which only the results are known."""
    from appliance.model.runs import Job

    first = results[0]
    job = Job(
        first.job,
        first.rw,
        first.block_size_bytes,
        first.iodepth,
        first.jobs,
        first.runtime_asked_ms / 1000,
    )
    return Step(job, first.pass_index, first.member, StepState.DONE, tuple(results))


def _seconds_after(run: RunRecord, suite: Suite) -> float:
    """Run time of what is measured after the present phase; ``job_index`` is 0 before the first.

    Where the order is not known, as much as that many jobs take on average.
    """
    planned = plan_of(run, suite)
    if planned:
        return sum(one.job.runtime_seconds for one in planned[run.job_index :])
    waiting = max(0, run.job_count - run.job_index)
    mean = sum(job.runtime_seconds for job in suite.jobs) / len(suite.jobs)
    return run.time_factor * mean * waiting


def suite_seconds(suite: Suite) -> float:
    """Measuring time that ``suite`` asks for, without the preparation of its files."""
    return suite.passes * sum(job.runtime_seconds for job in suite.jobs)
