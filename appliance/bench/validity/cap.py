"""CAP: a provisioned limit was measured, not the device."""

from __future__ import annotations

from appliance.bench.validity.rule import Rule, judges
from appliance.figures.quantities import (
    all_bandwidth,
    all_iops,
    asked_depth,
    ios,
    may_be_buffered,
    member_io,
    percentile_ns,
    queue_depth_seen,
    ticks_ms,
    top_io,
)
from appliance.model.measurement import Finding, Measurement, Severity

RULE = Rule(
    code="CAP",
    rank=120,
    severity=Severity.LABEL,
    title="A provisioned limit was measured",
    means="The provider's limit for the volume or the machine was reached, not the device's.",
    todo="Nothing is wrong. For more, provision more.",
)
# How much of the run time a limit must have been exceeded for.
MIN_EXCEEDED = 0.05
# p10 to p90 over the median: fio's bins are 1.6 % wide, a device under load is far wider.
MAX_FLAT_SPREAD = 0.08
# Flatness says something only of I/Os that waited in a queue.
_MIN_QUEUE = 4
_MIN_QUEUED_NS = 1_000_000
# Where nothing says that the machine is a cloud's, which has limiters.
_MAX_FLAT_SPREAD_ANYWHERE = 0.05
_LARGEST_SMALL_BYTES = 128 * 1024
_BUSY_CPU_PERCENT = 80.0
# How close to min(IOPS × block, throughput, the machine's) the measured rate is. Providers
# promise to be within 10 % below it (EC2 user guide: Amazon EBS volume types).
MIN_OF_FORMULA = 0.90
MAX_OF_FORMULA = 1.05


# A limiter above the disk (blk-throttle behind cgroup io.max) lets I/Os through in bursts:
# latencies are not flat, but fio waits for I/Os that the disk has not been given.
_MAX_SHARE_AT_DISK = 0.10
_MAX_IDLE_IN_FLIGHT = 1.0
_MIN_IOS = 100
_MAX_CPU_PERCENT = 90.0


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """By the device's own counters, by a known volume's formula, or by what a limiter does."""
    return _counted(evidence) or _by_formula(evidence) or _flat(evidence) or _held_back(evidence)


def _counted(evidence: Measurement) -> Finding | None:
    provisioned, runtime_ms = evidence.provisioned, evidence.runtime_ms
    if provisioned is None or not runtime_ms:
        return None
    micros, what = max(
        (provisioned.volume_iops_us, "the volume's IOPS limit"),
        (provisioned.volume_throughput_us, "the volume's throughput limit"),
        (provisioned.instance_iops_us, "the machine's IOPS limit for network volumes"),
        (provisioned.instance_throughput_us, "the machine's throughput limit for network volumes"),
    )
    share = micros / (runtime_ms * 1000)
    if share < MIN_EXCEEDED:
        return None
    return _finding(f"the device says that {what} was exceeded for {micros / 1e6:,.1f} s", share)


def _by_formula(evidence: Measurement) -> Finding | None:
    capability = evidence.capability
    if capability is None or capability.kind != "network":
        return None
    iops, bandwidth = all_iops(evidence), all_bandwidth(evidence)
    for measured, limit in (
        (iops, capability.iops),
        (bandwidth, capability.bytes_per_s),
        # Where credits exist and are used up.
        (iops, capability.baseline_iops),
        (bandwidth, capability.baseline_bytes_per_s),
    ):
        if measured and limit and MIN_OF_FORMULA <= measured / limit <= MAX_OF_FORMULA:
            basis = f": {capability.basis}" if capability.basis else ""
            return _finding(
                f"{measured / limit * 100:.0f} % of what is provisioned for this block size{basis}",
                measured / limit,
            )
    return None


def _flat(evidence: Measurement) -> Finding | None:
    low, middle, high = (percentile_ns(evidence, percent) for percent in (10.0, 50.0, 90.0))
    # The queue that was there: an engine that does one I/O at a time leaves none to wait in.
    depth = queue_depth_seen(evidence) or asked_depth(evidence)
    if low is None or not middle or high is None or depth is None or depth < _MIN_QUEUE:
        return None
    spread = (high - low) / middle
    if middle < _MIN_QUEUED_NS or spread > _max_flat_spread(evidence):
        return None
    return _finding(
        f"latencies are flat ({low / 1e6:.2f} ms at the 10th percentile, {high / 1e6:.2f} ms at "
        "the 90th), as behind a limiter that lets I/Os through at a fixed rate",
        spread,
    )


def _max_flat_spread(evidence: Measurement) -> float:
    """How even latencies may be by other causes: I/O in order and busy processors (md's locks)
    keep any device's so, large I/Os those of flash at its own bandwidth.
    """
    if not evidence.rw.startswith("rand") or (evidence.cpu_percent or 0.0) >= _BUSY_CPU_PERCENT:
        return 0.0
    if evidence.capability is not None:
        return MAX_FLAT_SPREAD
    large = (evidence.block_size_bytes or 0) > _LARGEST_SMALL_BYTES
    return 0.0 if large else _MAX_FLAT_SPREAD_ANYWHERE


def _held_back(evidence: Measurement) -> Finding | None:
    """I/Os that fio waits for while the disks have next to none of them."""
    waiting = queue_depth_seen(evidence)
    busy = max(evidence.cpu_percent or 0.0, evidence.host_cpu_percent or 0.0)
    if (
        waiting is None
        or (evidence.latency_mean_ns or 0.0) < _MIN_QUEUED_NS
        or may_be_buffered(evidence)
        or evidence.sync_ios
        or evidence.ramp_ms
        or busy >= _MAX_CPU_PERCENT
        or min((ios(io, evidence.direction) for io in member_io(evidence)), default=0) < _MIN_IOS
    ):
        return None
    at_disk = _in_flight_at_disks(evidence)
    if at_disk is None or at_disk > min(_MAX_IDLE_IN_FLIGHT, _MAX_SHARE_AT_DISK * waiting):
        return None
    return _finding(
        f"of {waiting:.1f} I/Os that fio waited for, {at_disk:.2f} were at the disks: a limiter "
        "above them held the rest back",
        at_disk / waiting,
    )


def _in_flight_at_disks(evidence: Measurement) -> float | None:
    """The largest mean number of I/Os in flight at any level below fio, by the disks' times."""
    if not evidence.runtime_ms:
        return None
    top, members = top_io(evidence), member_io(evidence)
    between = tuple(io for io in evidence.device_io if io not in (*top, *members))
    levels = []
    for level in (top, members, between):
        ticks = [ticks_ms(io, direction) for io in level for direction in ("read", "write")]
        levels.append(sum(one for one in ticks if one is not None))
    # Nothing at all means that this kernel does not count it.
    return max(levels) / evidence.runtime_ms if max(levels) else None


def _finding(why: str, measured: float) -> Finding:
    return RULE.finding(
        f"a provisioned limit, not the device: {why}",
        measured=measured,
    )
