"""In which order a suite's jobs are measured, how often, and on what. Pure."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.bench.suite import only_reads
from appliance.model.runs import Job


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """One job to be measured once. ``pass_index`` counts from 1; ``member`` is the one disk
    that is measured instead of the whole stripe, empty for the stripe.
    """

    job: Job
    pass_index: int = 1
    member: str = ""


def schedule(
    jobs: Sequence[Job], *, passes: int = 1, seed: int = 0, members: Sequence[str] = ()
) -> tuple[PlannedJob, ...]:
    """Every job once a pass, and with ``members`` each job that only reads on each of them.

    One pass keeps the suite's order. Several are shuffled, each in its own way, because what
    a job leaves behind (a full write cache, flash that tidies up) falls on the next one: in a
    fixed order always on the same one. The order follows from ``seed`` alone.
    """
    order = random.Random(seed)  # noqa: S311 - an order of jobs is no secret
    planned: list[PlannedJob] = []
    for pass_index in range(1, passes + 1):
        mixed = list(jobs)
        if passes > 1:
            order.shuffle(mixed)
        for job in mixed:
            planned.append(PlannedJob(job, pass_index))
            # Right beside the stripe's own measurement: what changes with time changes both.
            planned += [
                PlannedJob(job, pass_index, member) for member in members if only_reads(job)
            ]
    return tuple(planned)


def seconds(planned: Sequence[PlannedJob]) -> float:
    """The run time of all of ``planned``, without preparations."""
    return sum(measurement.job.runtime_seconds for measurement in planned)


# --------------------------------------------------------------- the control job of a confirmation


CONTROL_ENGINE = "null"
CONTROL_SECONDS = 2.0
_CONTROL_PREFIX = "control-"
# As long as the name of a job may be.
_MAX_CONTROL_NAME = 40


def control_for(job: Job) -> Job:
    """The control job of ``job``."""
    return dataclasses.replace(
        job,
        name=f"{_CONTROL_PREFIX}{job.name}"[:_MAX_CONTROL_NAME],
        engine=CONTROL_ENGINE,
        runtime_seconds=CONTROL_SECONDS,
        think_time_ms=0,
    )


def is_control(job: Job) -> bool:
    return job.engine == CONTROL_ENGINE
