"""DEPTH: the queue depth that was asked for was not there."""

from __future__ import annotations

from appliance.bench.validity.rule import Rule, judges
from appliance.figures.quantities import (
    SYNCHRONOUS_ENGINES,
    asked_depth,
    percentile_ns,
    queue_depth_seen,
)
from appliance.model.measurement import Finding, Measurement, Severity

RULE = Rule(
    code="DEPTH",
    rank=50,
    severity=Severity.BLOCK,
    title="The queue depth was not there",
    means="IOPS × mean latency is the number of I/Os in flight (Little's law), and it is not the "
    "number that was asked for.",
    todo="With a synchronous engine the depth is 1 for each job whatever is asked: use io_uring or"
    " libaio, or ask for more jobs. At depth 1 the latency stands, IOPS says too little.",
)
DEPTH_TOLERANCE = 0.05
MAX_DEPTH_TOLERANCE = 0.5
# Workers start one after the other, and stop so.
_START_MS = 100
# Workers that read or write a given amount end one by one, and fio divides by the last's time.
_ENDING_TOLERANCE = 0.25


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """Little's law: IOPS × mean latency is the mean number of I/Os in flight.

    A worker with an iodepth of 1 cannot miss its queue depth, it can only spend time
    between two I/Os: then IOPS says too little of the disk and latency is right (warn).
    """
    asked = asked_depth(evidence)
    if not asked or evidence.iops == 0 or evidence.total_ios == 0:
        return None
    seen = queue_depth_seen(evidence)
    if seen == 0:
        seen = None  # a latency that was not measured is printed as 0
    if (evidence.iodepth or 0) > 1 and (why := _one_at_a_time(evidence)):
        in_flight = float(evidence.jobs or 1)
        return _finding(
            Severity.BLOCK,
            f"{in_flight:.1f} I/Os in flight of {asked} asked: {why}",
            in_flight,
            asked,
        )
    if seen is None or _as_asked(evidence, asked, seen):
        return None
    # fio times fsync apart: while a worker waits for it, none of its I/Os is in flight. A
    # pause between two single I/Os that was asked for is what such a job is for.
    pause = evidence.think_time_ms and evidence.iodepth == 1
    # Nor does fio fill a queue that an option keeps short.
    if (evidence.sync_ios or pause or evidence.paced_by) and seen < asked:
        return None
    severity = Severity.BLOCK
    if evidence.iodepth == 1 and seen < asked:
        severity = Severity.WARN
        why = (
            f"the workers spent {(1 - seen / asked) * 100:.0f} % of the time between two I/Os, "
            "not waiting for the disk; IOPS is what this machine could ask for, latency stands"
        )
        if evidence.host_cpu_percent is not None:
            why += f" (its processors were {evidence.host_cpu_percent:.0f} % busy)"
    elif seen < asked:
        why = "the queue depth that was asked for was not there"
        if evidence.paced_by is None:
            why += " (not all of the job's options are known)"
    else:
        why = "IOPS and latency contradict each other"
    return _finding(severity, f"{seen:.1f} I/Os in flight of {asked} asked: {why}", seen, asked)


def _as_asked(evidence: Measurement, asked: int, seen: float) -> bool:
    """Within 5 %, and what a run that is short beside its own latencies leaves uncounted.

    The law holds for means over a long time. I/Os that are in flight when the run begins
    and ends are cut; together they are at most about one slow I/O's share of the run, and
    the tenth of a second in which workers start and stop.
    """
    slow_ms = (percentile_ns(evidence, 99.0) or 0) / 1e6
    cut = (slow_ms + _START_MS) / evidence.runtime_ms if evidence.runtime_ms else 0.0
    tolerance = min(MAX_DEPTH_TOLERANCE, DEPTH_TOLERANCE + cut)
    if seen > asked:
        return seen / asked - 1 <= tolerance
    if evidence.runtime_asked_ms is None and (evidence.jobs or 1) > 1:
        tolerance = max(tolerance, _ENDING_TOLERANCE)
    return 1 - seen / asked <= tolerance


def _one_at_a_time(evidence: Measurement) -> str:
    """Why a worker has one I/O in flight whatever iodepth says, empty if it need not."""
    if evidence.engine in SYNCHRONOUS_ENGINES:
        return f"{evidence.engine} does one I/O at a time and ignores iodepth"
    # fio's HOWTO, ioengine=libaio: queued behaviour only with non-buffered I/O. Little's law
    # does not show it, because fio counts what waits to be submitted as in flight.
    if evidence.engine == "libaio" and evidence.direct is False:
        return "libaio does one buffered I/O at a time; a queue needs direct=1"
    return ""


def _finding(severity: Severity, message: str, seen: float, asked: int) -> Finding:
    return RULE.finding(
        message,
        severity=severity,
        measured=seen,
        limit=float(asked),
        unit="ios in flight",
    )
