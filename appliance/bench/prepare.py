"""Before the first sample: files written in full, or a device written and brought to rest.

An SSD that was never written answers reads without its flash, and takes writes faster than it
ever will again. Method: SNIA PTS 2.0.2 (purge, twice the capacity in sequence, then the
workload itself in rounds until it is steady, at the most 25).
"""

from __future__ import annotations

from collections.abc import Callable

from appliance.bench import fio, fio_process
from appliance.bench.run_log import RunLog
from appliance.bench.suite import ACCESS_PATTERNS, only_reads, scaled
from appliance.bench.target import Files, Place, Raw
from appliance.errors import OperatorError
from appliance.figures import steady
from appliance.model.runs import Job, Suite

# What fio may need beyond the time asked for: start, end, a slow machine.
GRACE_SECONDS = 300.0
_ROUND_SECONDS = 60.0
# Only to estimate how long writing takes before the first sample tells.
_GUESSED_WRITE_BYTES_PER_S = 400e6
# Slower than any disk one would keep: a longer preparation hangs.
_SLOWEST_WRITE_BYTES_PER_S = 4e6
_PRECONDITION_CAPACITIES = 2


def write_files(place: Files, log: RunLog, engine: str) -> str:
    """Write all files in full; what is not proved of that, in words."""
    total_bytes = place.file_size_bytes * len(place.names)
    _write(
        fio.prepare_arguments(place.names, file_size_bytes=place.file_size_bytes, engine=engine),
        place,
        log,
        total_bytes,
    )
    problems = (f"{name}: {why}" for name in place.names if (why := place.private.unwritten(name)))
    problem = next(problems, "")
    return f"the test files are not proved to be written in full: {problem}" if problem else ""


def write_device(
    place: Raw, log: RunLog, engine: str, *, suite: Suite, time_factor: float
) -> dict[str, str]:
    """Give up what is on the device, and write all of it; what was done, as conditions.

    Once, or for a suite that preconditions twice, less in a shortened run.
    """
    capacities = 1.0
    if suite.precondition:
        capacities = max(1.0, min(1.0, time_factor) * _PRECONDITION_CAPACITIES)
    size_bytes = place.device.size_bytes // fio.PREPARE_BLOCK_BYTES * fio.PREPARE_BLOCK_BYTES
    total_bytes = int(size_bytes * capacities) // fio.FILL_BLOCK_BYTES * fio.FILL_BLOCK_BYTES
    discarded = place.device.discard()
    _write(
        fio.fill_arguments(
            place.probe, size_bytes=size_bytes, write_bytes=total_bytes, engine=engine
        ),
        place,
        log,
        total_bytes,
    )
    return {
        "discarded_before": "yes" if discarded else "no, the device cannot",
        "written_before": f"{capacities:g} times its capacity, in sequence",
    }


def settle(
    job: Job,
    place: Raw,
    log: RunLog,
    engine: str,
    *,
    time_factor: float,
    begin_round: Callable[[int, float], None],
) -> steady.Steadiness:
    """Do ``job`` in rounds until it is steady or there were enough of them.

    ``begin_round`` gets each round's number, from 1, and its seconds.
    """
    seconds = round_seconds(time_factor)
    round_job = scaled(job, seconds / job.runtime_seconds)
    found = steady.judge(())
    values: list[float] = []
    while not found.steady and len(values) < steady.MAX_ROUNDS:
        begin_round(len(values) + 1, seconds)
        ended = fio_process.run_fio(
            fio.job_arguments(round_job, place.workers(job), engine=engine),
            directory=place.directory,
            timeout_seconds=seconds * 2 + GRACE_SECONDS,
            on_tick=log.tick,
        )
        log.tick()
        if ended.in_words:
            raise OperatorError(
                f"job {job.name} could not be brought to its steady state: {ended.in_words}",
                "look at the health of the disk: journalctl -k",
            )
        report = fio.parse_report(ended.output)
        values.append(
            sum(
                report.directions[direction].iops
                for direction in ACCESS_PATTERNS[job.rw]
                if direction in report.directions
            )
        )
        found = steady.judge(values)
    return found


def round_seconds(time_factor: float) -> float:
    """How long one round is, shorter in a shortened run."""
    return max(1.0, min(1.0, time_factor) * _ROUND_SECONDS)


def settles(job: Job, place: Place, suite: Suite) -> bool:
    """Whether ``job`` is brought to its steady state before it is measured: what only reads
    leaves a device as it is.
    """
    return (
        isinstance(place, Raw)
        and place.device.writable
        and suite.precondition
        and (not only_reads(job))
    )


def _write(arguments: tuple[str, ...], place: Place, log: RunLog, total_bytes: int) -> None:
    log.begin_phase("prepare", expected_seconds=total_bytes / _GUESSED_WRITE_BYTES_PER_S)
    ended = fio_process.run_fio(
        arguments,
        directory=place.directory,
        timeout_seconds=GRACE_SECONDS + total_bytes / _SLOWEST_WRITE_BYTES_PER_S,
        on_tick=log.tick,
    )
    # The service manager signals fio and this process together: then it is a stop.
    log.tick()
    if ended.in_words:
        what = "device" if isinstance(place, Raw) else "test files"
        raise OperatorError(
            f"the {what} could not be written: {ended.in_words}",
            "look at the space and the health of the target: journalctl -k",
        )
