"""STEADY: a full-suite job whose rate was still changing when it ended."""

from __future__ import annotations

from appliance.bench.validity.rule import Rule, judges
from appliance.figures import steady
from appliance.model.measurement import Finding, Measurement, Severity

RULE = Rule(
    code="STEADY",
    rank=80,
    severity=Severity.BLOCK,
    title="Not steady",
    means="The rate still moved over the last slices of the job, so its mean depends on when one "
    "looks.",
    todo="Precondition the drives, or measure for longer.",
)


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """The SNIA rule (:mod:`appliance.figures.steady`) over the job's last five slices.

    Fewer are no evidence.
    """
    if not evidence.full_suite:
        return None
    found = steady.judge([part.iops for part in evidence.slices])
    if found.range_share is None or found.slope_share is None or found.steady:
        return None
    by_range = found.range_share > steady.MAX_RANGE
    return RULE.finding(
        f"not steady: over its last {steady.WINDOW_ROUNDS} slices the rate ranged by "
        f"{found.range_share * 100:.0f} % of its mean and drifted by "
        f"{found.slope_share * 100:.0f} % (SNIA allows {steady.MAX_RANGE * 100:.0f} and "
        f"{steady.MAX_SLOPE_RANGE * 100:.0f})",
        measured=found.range_share if by_range else found.slope_share,
        limit=steady.MAX_RANGE if by_range else steady.MAX_SLOPE_RANGE,
    )
