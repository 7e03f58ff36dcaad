"""Whether a result can be true: one function for each rule. Pure.

docs/measurement-method.md has the reasons, with the report that taught each rule.
"""

from __future__ import annotations

from appliance.bench.fio import SYNCHRONOUS_ENGINES
from appliance.model import Finding, JobResult, Severity

MIN_COVERAGE = 0.98
DEPTH_TOLERANCE = 0.05
MAX_DEPTH_TOLERANCE = 0.5
MAX_OF_PUBLISHED = 1.15
# No drive answers a direct read in less; a page cache does.
MIN_READ_P1_NS = 10_000
# fio rounds to its clock and stops workers one by one; an interrupted run is far below.
MIN_RUNTIME = 0.98


def judge(result: JobResult, *, ended: str = "") -> tuple[Finding, ...]:
    """Every rule's findings on ``result``, blocking ones first.

    ``ended`` says in words how fio ended, if that was not by itself and in order.
    """
    found = [
        finding
        for finding in (short(result, ended), coverage(result), depth(result), impossible(result))
        if finding is not None
    ]
    return tuple(sorted(found, key=lambda finding: finding.severity is not Severity.BLOCK))


def coverage(result: JobResult) -> Finding | None:
    """Reads that never reached the disks. The corrected figure is what did, in IOPS."""
    seen = result.coverage
    if result.direction != "read" or seen is None or seen >= MIN_COVERAGE:
        return None
    corrected = result.iops * seen
    return Finding(
        code="COVERAGE",
        severity=Severity.BLOCK,
        message=f"only {seen * 100:.1f} % of the bytes read came from the disks, the rest from a "
        f"cache, holes or unwritten extents; {corrected:,.0f} IOPS is probably true",
        measured=seen,
        limit=MIN_COVERAGE,
        corrected=corrected,
        unit="iops",
    )


def depth(result: JobResult) -> Finding | None:
    """Little's law: IOPS × mean latency is the mean number of I/Os in flight.

    A worker with an iodepth of 1 cannot miss its queue depth, it can only spend time
    between two I/Os: then IOPS says too little of the disk and latency is right (warn).
    """
    asked, seen = result.jobs * result.iodepth, result.queue_depth_seen
    if result.total_ios == 0 or abs(seen / asked - 1) <= _depth_tolerance(result):
        return None
    severity = Severity.BLOCK
    if result.iodepth == 1 and seen < asked:
        severity = Severity.WARN
        why = (
            f"the workers spent {(1 - seen / asked) * 100:.0f} % of the time between two I/Os, "
            "not waiting for the disk; IOPS is what this machine could ask for, latency stands"
        )
        if result.host_cpu_percent is not None:
            why += f" (its processors were {result.host_cpu_percent:.0f} % busy)"
    elif result.engine in SYNCHRONOUS_ENGINES and seen < asked:
        why = f"{result.engine} does one I/O at a time and ignores iodepth"
    elif seen < asked:
        why = "the queue depth that was asked for was not there"
    else:
        why = "IOPS and latency contradict each other"
    return Finding(
        code="DEPTH",
        severity=severity,
        message=f"{seen:.1f} I/Os in flight of {asked} asked: {why}",
        measured=seen,
        limit=float(asked),
        unit="ios in flight",
    )


def _depth_tolerance(result: JobResult) -> float:
    """5 %, and what a run that is short beside its own latencies leaves uncounted.

    The law holds for means over a long time. I/Os that are in flight when the run begins
    and ends are cut; together they are at most about one slow I/O's share of the run.
    """
    slow_ns = percentile_ns(result, 99.0)
    cut = slow_ns / (result.runtime_ms * 1e6) if slow_ns and result.runtime_ms else 0.0
    return min(MAX_DEPTH_TOLERANCE, DEPTH_TOLERANCE + cut)


def impossible(result: JobResult) -> Finding | None:
    """Faster than the machine is sold as, or than any drive can be."""
    published = result.published_iops
    # Published for 4 KiB; no larger block can be more frequent than that.
    if published and result.iops > published * MAX_OF_PUBLISHED:
        return Finding(
            code="IMPOSSIBLE",
            severity=Severity.BLOCK,
            message=f"{result.iops:,.0f} IOPS is {result.iops / published * 100:.0f} % of the "
            f"{published:,.0f} that these disks are published with",
            measured=result.iops,
            limit=published * MAX_OF_PUBLISHED,
            unit="iops",
        )
    fastest_ns = percentile_ns(result, 1.0)
    if result.direction == "read" and fastest_ns is not None and fastest_ns < MIN_READ_P1_NS:
        return Finding(
            code="IMPOSSIBLE",
            severity=Severity.BLOCK,
            message=f"1 % of the direct reads took {fastest_ns / 1000:.1f} µs or less, "
            f"which no disk does (under {MIN_READ_P1_NS / 1000:.0f} µs): a cache answered",
            measured=float(fastest_ns),
            limit=float(MIN_READ_P1_NS),
            unit="ns",
        )
    return None


def short(result: JobResult, ended: str = "") -> Finding | None:
    """Ran less than asked, with I/O errors, or was ended from outside."""
    reasons = []
    if ended:
        reasons.append(ended)
    if result.errors:
        reasons.append(f"fio reported error {result.errors}")
    if result.runtime_ms < result.runtime_asked_ms * MIN_RUNTIME:
        reasons.append(
            f"ran {result.runtime_ms / 1000:.1f} s of {result.runtime_asked_ms / 1000:.1f} s asked"
        )
    if result.total_ios == 0:
        reasons.append("did no I/O")
    if not reasons:
        return None
    return Finding(
        code="SHORT",
        severity=Severity.BLOCK,
        message="; ".join(reasons),
        measured=float(result.runtime_ms),
        limit=float(result.runtime_asked_ms),
        unit="ms",
    )


def percentile_ns(result: JobResult, percent: float) -> int | None:
    """A latency percentile in ns, by number: fio's keys are texts like ``"1.000000"``."""
    return next(
        (ns for key, ns in result.percentiles_ns.items() if abs(float(key) - percent) < 1e-9), None
    )


def corrected_iops(result: JobResult) -> float | None:
    """The IOPS that is probably true where a finding knows it, else ``None``."""
    return next((f.corrected for f in result.findings if f.corrected is not None), None)
