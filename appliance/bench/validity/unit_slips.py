"""UNITS: figures of one report that cannot all be right."""

from __future__ import annotations

from appliance.bench.validity.rule import Rule, judges
from appliance.model.measurement import Finding, Measurement, Severity

RULE = Rule(
    code="UNITS",
    rank=20,
    severity=Severity.BLOCK,
    title="The report contradicts itself",
    means="Figures of one report that say the same thing twice do not agree.",
    todo="Go back to fio's own output; do not quote from this one.",
)
# Figures are printed with three or four digits; a mistaken unit is 4.9 % (MB for MiB) at least.
TOLERANCE = 0.03
# fio cuts IOPS to whole numbers, bandwidth to whole KiB/s and run times to whole ms.
_IOPS_STEP = 1.0
_BANDWIDTH_STEP_BYTES = 1024.0
_RUNTIME_STEP_MS = 1.0


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """IOPS × block against bandwidth, amount ÷ run time against both."""
    for what, first, second, steps in _said_twice(evidence):
        if first is None or second is None:
            continue
        larger = max(first, second)
        if abs(first - second) <= TOLERANCE * larger + steps:
            continue
        return RULE.finding(
            f"figures of this report contradict each other: {what} "
            f"({first:,.0f} against {second:,.0f})",
            measured=float(first),
            limit=float(second),
        )
    least, mean = evidence.latency_min_ns, evidence.latency_mean_ns
    if least is not None and mean is not None and mean < least * (1 - TOLERANCE) - 1000:
        return RULE.finding(
            "figures of this report contradict each other: the mean latency is below "
            f"the least ({mean / 1000:,.1f} against {least / 1000:,.1f} µs)",
            measured=mean,
            limit=float(least),
            unit="ns",
        )
    return None


def _said_twice(
    evidence: Measurement,
) -> tuple[tuple[str, float | None, float | None, float], ...]:
    """What is compared, in words, the two figures, and how much their printing may hide."""
    iops, bandwidth_error = evidence.iops, evidence.printed_bandwidth_error_bytes
    bandwidth = evidence.bandwidth_bytes
    if evidence.printed_bandwidth_bytes is not None:
        bandwidth = evidence.printed_bandwidth_bytes
    seconds = evidence.runtime_ms / 1000 if evidence.runtime_ms else None
    size = evidence.block_size_bytes
    ios, amount = evidence.total_ios, evidence.io_bytes
    clock = _RUNTIME_STEP_MS / evidence.runtime_ms if evidence.runtime_ms else 0.0
    by_block = iops * size if iops is not None and size else None
    per_second = amount / seconds if amount is not None and seconds else None
    return (
        (
            "IOPS × block size is not the bandwidth, bytes/s",
            by_block,
            bandwidth,
            _BANDWIDTH_STEP_BYTES + _IOPS_STEP * (size or 0) + bandwidth_error,
        ),
        (
            "amount ÷ run time is not the bandwidth, bytes/s",
            per_second,
            bandwidth,
            _BANDWIDTH_STEP_BYTES + clock * (per_second or 0.0) + bandwidth_error,
        ),
        (
            "I/Os ÷ run time is not the IOPS",
            ios / seconds if ios is not None and seconds else None,
            iops,
            _IOPS_STEP + clock * (iops or 0.0),
        ),
        (
            "the printed IOPS is not the IOPS",
            evidence.printed_iops,
            evidence.iops,
            _IOPS_STEP + evidence.printed_iops_error,
        ),
        (
            "the printed bandwidth is not the bandwidth, bytes/s",
            evidence.printed_bandwidth_bytes,
            evidence.bandwidth_bytes,
            _BANDWIDTH_STEP_BYTES + bandwidth_error,
        ),
    )
