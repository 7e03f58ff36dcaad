"""MEMBER: members of a stripe far apart in await while they did the same work."""

from __future__ import annotations

from statistics import median

from appliance.bench.validity.figures import (
    asked_depth,
    exact_bandwidth,
    ios,
    member_io,
    ticks_ms,
)
from appliance.model import Evidence, Finding, Severity

CODE = "MEMBER"
# Equal work, as a stripe deals it out.
_MAX_IO_SPREAD = 0.10
_MIN_IOS = 100
# With a queue at every member, await is mostly waiting. The queue stands at whichever member
# is a little slower than the others, so that healthy stripes show factors of 1.6 to 3.9.
MAX_RATIO_QUEUED = 4.0
# With no queue to wait in, await is what the disk takes.
MAX_RATIO_SHALLOW = 2.0
_SHALLOW_PER_MEMBER = 1.0
# Counters of milliseconds, and disks that answer in less than this.
_MIN_DIFFERENCE_MS = 0.25
_AT_CAPABILITY = 0.90


def judge(evidence: Evidence) -> Finding | None:
    """The slowest member against the median of the others; never says that a disk is bad."""
    members = member_io(evidence)
    if len(members) < 2:
        return None
    direction = evidence.direction
    counts = [ios(io, direction) for io in members]
    if min(counts) < _MIN_IOS or max(counts) - min(counts) > _MAX_IO_SPREAD * max(counts):
        return None
    awaits_ms = []
    for io, count in zip(members, counts, strict=True):
        ticks = ticks_ms(io, direction)
        if ticks is None:
            return None
        awaits_ms.append(ticks / count)
    slowest = max(range(len(members)), key=awaits_ms.__getitem__)
    slow_ms = awaits_ms[slowest]
    others_ms = median(awaits_ms[:slowest] + awaits_ms[slowest + 1 :])
    limit = MAX_RATIO_SHALLOW if _is_shallow(evidence, sum(counts)) else MAX_RATIO_QUEUED
    if slow_ms - others_ms < _MIN_DIFFERENCE_MS or slow_ms < limit * others_ms:
        return None
    return Finding(
        code=CODE,
        severity=Severity.WARN,
        message=f"members did the same number of I/Os, {members[slowest].device} with "
        f"{slow_ms:.2f} ms each and the others with {others_ms:.2f} ms; {_judged(evidence)}",
        measured=slow_ms / others_ms if others_ms else None,
        limit=limit,
        unit="times",
    )


def _is_shallow(evidence: Evidence, member_ios: int) -> bool:
    """At the most one request in flight a member, large I/Os counted by their pieces."""
    depth = asked_depth(evidence)
    if depth is None or not evidence.total_ios:
        return False
    pieces = max(1.0, member_ios / evidence.total_ios)
    return depth * pieces <= _SHALLOW_PER_MEMBER * len(member_io(evidence))


def _judged(evidence: Evidence) -> str:
    """What the stripe as a whole says about it: at its capability nobody is slow."""
    share, of = _share_of_capability(evidence)
    if share is None:
        return (
            "no capability is known to judge that by: measure each member alone before any "
            "is suspected"
        )
    if share >= _AT_CAPABILITY:
        return (
            f"the stripe as a whole does {share * 100:.0f} % of {of}, so that this is where "
            "the queue stands and no sign of a bad disk"
        )
    return (
        f"the stripe as a whole does {share * 100:.0f} % of {of}: measure each member alone "
        "before any is suspected"
    )


def _share_of_capability(evidence: Evidence) -> tuple[float | None, str]:
    """The largest share of a figure that is known, and that figure in words."""
    capability = evidence.capability
    if capability is None:
        return None, ""
    bandwidth = exact_bandwidth(evidence)
    known = [
        (done / figure, words)
        for done, figure, words in (
            (evidence.iops, capability.iops, "the published IOPS"),
            (bandwidth, capability.bytes_per_s, "the published bandwidth"),
            (evidence.iops, capability.measured_iops, "the IOPS that others measured"),
            (
                bandwidth,
                capability.measured_bytes_per_s,
                "the bandwidth that others measured on such disks",
            ),
        )
        if done is not None and figure
    ]
    # Of figures that say the same, the published one: it comes first.
    return max(known, key=lambda one: round(one[0], 1), default=(None, ""))
