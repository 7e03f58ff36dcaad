"""The control job of a confirmation: everything that fio does, and no disk. Pure.

fio's engine ``null`` completes an I/O as soon as it is submitted. With the same block size,
iodepth and number of workers as the suspect job it costs the processors what fio costs there;
when it slows down, it is the machine (docs/decisions/0032).
"""

from __future__ import annotations

import dataclasses

from appliance.model import Job

ENGINE = "null"
SECONDS = 2.0
_PREFIX = "control-"
# As long as the name of a job may be.
_MAX_NAME = 40


def job_for(job: Job) -> Job:
    """The control job of ``job``."""
    return dataclasses.replace(
        job,
        name=f"{_PREFIX}{job.name}"[:_MAX_NAME],
        engine=ENGINE,
        runtime_seconds=SECONDS,
        think_time_ms=0,
    )


def is_control(job: Job) -> bool:
    return job.engine == ENGINE
