"""BURST: paid from credits, which run out."""

from __future__ import annotations

from itertools import pairwise

from appliance.bench.validity.rule import Rule, judges
from appliance.figures.quantities import all_bandwidth, all_iops
from appliance.model.measurement import Finding, Measurement, Severity

RULE = Rule(
    code="BURST",
    rank=90,
    severity=Severity.BLOCK,
    title="Burst credits",
    means="The volume ran on credits: above the rate that it can hold.",
    todo="Measure until the credits are used up, or quote the baseline rate.",
)
# A limiter lets a little more than its rate through; credits give much more.
MAX_OF_BASELINE = 1.05
# A bucket that runs empty: two flat stretches, the second much lower.
_MIN_STEP = 1.3
_MAX_UNEVENNESS = 0.10
_MIN_STRETCH = 2


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """Above the rate that is sustained, where credits give more; or seen running out of them."""
    capability = evidence.capability
    if capability is None:
        return None
    for measured, baseline, burst, unit in (
        (all_iops(evidence), capability.baseline_iops, capability.burst_iops, "iops"),
        (
            all_bandwidth(evidence),
            capability.baseline_bytes_per_s,
            capability.burst_bytes_per_s,
            "bytes/s",
        ),
    ):
        if measured is None or baseline is None or burst is None or burst <= baseline:
            continue
        if measured > baseline * MAX_OF_BASELINE:
            return _above_baseline(measured, baseline, burst, unit)
    return _ran_out(evidence) if capability.kind == "network" else None


def _above_baseline(measured: float, baseline: float, burst: float, unit: str) -> Finding:
    scale, word = (1.0, "IOPS") if unit == "iops" else (1e6, "MB/s")
    return RULE.finding(
        f"{measured / scale:,.0f} {word} is above the {baseline / scale:,.0f} {word} "
        f"that are sustained (up to {burst / scale:,.0f} while credits last)",
        measured=measured,
        limit=baseline * MAX_OF_BASELINE,
        unit=unit,
    )


def _ran_out(evidence: Measurement) -> Finding | None:
    """A network volume that falls from one flat rate to a lower one in the middle of a job."""
    rates = [part.bytes_per_s for part in evidence.slices]
    falls = [before - after for before, after in pairwise(rates)]
    if not falls:
        return None
    # The slices at the step belong to neither stretch: it is somewhere in one of them.
    last_before = falls.index(max(falls))
    high, low = rates[:last_before], rates[last_before + 2 :]
    if min(len(high), len(low)) < _MIN_STRETCH or not (_flat(high) and _flat(low)):
        return None
    mean_high, mean_low = sum(high) / len(high), sum(low) / len(low)
    if mean_high < mean_low * _MIN_STEP:
        return None
    return RULE.finding(
        f"the volume fell from {mean_high / 1e6:,.0f} MB/s to {mean_low / 1e6:,.0f} MB/s "
        "during the job and stayed there, as one does whose burst credits are used up",
        measured=mean_high,
        limit=mean_low,
        unit="bytes/s",
    )


def _flat(rates: list[float]) -> bool:
    mean = sum(rates) / len(rates)
    return mean > 0 and (max(rates) - min(rates)) <= 2 * _MAX_UNEVENNESS * mean
