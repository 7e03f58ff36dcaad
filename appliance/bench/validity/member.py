"""MEMBER: members of a stripe far apart in await while they did the same work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from appliance.bench.validity.rule import Rule, judges
from appliance.figures.quantities import asked_depth, exact_bandwidth, ios, member_io, ticks_ms
from appliance.model.measurement import Finding, Measurement, Severity

RULE = Rule(
    code="MEMBER",
    rank=110,
    severity=Severity.WARN,
    title="The members are far apart",
    means="With equal I/O, some members took longer than others.",
    todo="Measure each member alone and compare with what is published before a disk is blamed.",
)
# Equal work, as a stripe deals it out; of few I/Os at random places chance alone makes more of
# a difference (a count's standard deviation is its root).
_MAX_IO_SPREAD = 0.10
_CHANCE_DEVIATIONS = 5.0
_MIN_IOS = 100
# With a queue at every member, await is mostly waiting. The queue stands at whichever member
# is a little slower than the others, so that healthy stripes show factors of 1.6 to 3.9.
MAX_RATIO_QUEUED = 4.0
# With no queue to wait in, await is what the disk takes.
MAX_RATIO_SHALLOW = 2.0
_SHALLOW_PER_MEMBER = 1.0
# Counters of milliseconds, and disks that answer in less than this.
MIN_DIFFERENCE_MS = 0.25
_AT_CAPABILITY = 0.90
# Disks' own counts are of whole µs, and no two disks are alike.
_MIN_OWN_DIFFERENCE_US = 20.0
_AS_QUICK = 1.2


@dataclass(frozen=True, slots=True)
class Apart:
    """The slowest member beside the median of the others: await in ms. ``shallow``: nothing
    waited in a queue.
    """

    device: str
    slow_ms: float
    others_ms: float
    shallow: bool

    @property
    def limit(self) -> float:
        """How many times slower one may be before it means anything."""
        return MAX_RATIO_SHALLOW if self.shallow else MAX_RATIO_QUEUED

    @property
    def ratio(self) -> float | None:
        return self.slow_ms / self.others_ms if self.others_ms else None

    @property
    def far(self) -> bool:
        """Further than healthy members are."""
        difference = self.slow_ms - self.others_ms
        return difference >= MIN_DIFFERENCE_MS and self.slow_ms >= self.limit * self.others_ms


def awaits_ms(evidence: Measurement) -> dict[str, float] | None:
    """Await of each member by its name, in ms; ``None`` where they cannot be set side by side:
    one member, too few requests, not the same number of them on each, or two of one name.
    """
    members = member_io(evidence)
    if len(members) < 2:
        return None
    direction = evidence.direction
    counts = [ios(io, direction) for io in members]
    most = max(counts)
    allowed = max(_MAX_IO_SPREAD * most, _CHANCE_DEVIATIONS * math.sqrt(most))
    if min(counts) < _MIN_IOS or most - min(counts) > allowed:
        return None
    found = {}
    for io, count in zip(members, counts, strict=True):
        ticks = ticks_ms(io, direction)
        if ticks is None:
            return None
        found[io.device] = ticks / count
    # A report may name a device twice: then it is not known which figures are whose.
    return found if len(found) == len(members) else None


def compare(evidence: Measurement) -> Apart | None:
    """How far the slowest member is from the others; ``None`` as in :func:`awaits_ms`."""
    awaits = awaits_ms(evidence)
    if awaits is None:
        return None
    slowest = max(awaits, key=awaits.__getitem__)
    return Apart(
        device=slowest,
        slow_ms=awaits[slowest],
        others_ms=median(ms for device, ms in awaits.items() if device != slowest),
        shallow=is_shallow(evidence),
    )


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """The slowest member against the median of the others; never says that a disk is bad."""
    found = compare(evidence)
    if found is None or not found.far:
        return None
    return RULE.finding(
        f"members did the same number of I/Os, {found.device} with "
        f"{found.slow_ms:.2f} ms each and the others with {found.others_ms:.2f} ms; "
        f"{_by_its_own_count(evidence, found) or _judged(evidence)}",
        measured=found.ratio,
        limit=found.limit,
        unit="times",
    )


def is_shallow(evidence: Measurement) -> bool:
    """At the most one request in flight a member, large I/Os counted by their pieces."""
    depth = asked_depth(evidence)
    if depth is None or not evidence.total_ios:
        return False
    members = member_io(evidence)
    member_ios = sum(ios(io, evidence.direction) for io in members)
    pieces = max(1.0, member_ios / evidence.total_ios)
    return depth * pieces <= _SHALLOW_PER_MEMBER * len(members)


def _by_its_own_count(evidence: Measurement, apart: Apart) -> str:
    """Whether the disk itself takes longer, or its I/Os wait in front of it; empty where not all
    members count how long they take.
    """
    means = {one.device: one.mean_us for one in evidence.device_latencies}
    slow_us = means.get(apart.device)
    others = [us for device, us in means.items() if device != apart.device and us is not None]
    if slow_us is None or not others or len(means) < len(member_io(evidence)):
        return ""
    others_us = median(others)
    count = f"by their own count it took {slow_us:,.0f} µs and the others {others_us:,.0f} µs"
    if slow_us >= MAX_RATIO_SHALLOW * others_us and slow_us - others_us >= _MIN_OWN_DIFFERENCE_US:
        return f"{count}: the disk itself is slower"
    if slow_us <= _AS_QUICK * others_us:
        return f"{count}: the I/Os wait in front of it, the disk is as fast as the others"
    return count


def _judged(evidence: Measurement) -> str:
    """What the stripe as a whole says about it: at its capability no member is slow."""
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


def _share_of_capability(evidence: Measurement) -> tuple[float | None, str]:
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
