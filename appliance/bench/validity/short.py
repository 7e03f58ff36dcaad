"""SHORT: ran less than asked, with I/O errors, or was ended from outside."""

from __future__ import annotations

from appliance.bench.validity.rule import Rule, judges
from appliance.model.measurement import Finding, Measurement, Severity

RULE = Rule(
    code="SHORT",
    rank=10,
    severity=Severity.BLOCK,
    title="It did not run to its end",
    means="The job ran for less time than asked, met I/O errors, or was ended from outside.",
    todo="After errors look at the kernel's journal (journalctl -k) before anything else; "
    "otherwise measure again.",
)
# fio rounds to its clock and stops workers one by one; an interrupted run is far below.
MIN_RUNTIME = 0.98
# fio looks at itself and at the disks every 250 ms: a job that ended sooner was not seen.
_MIN_SIZED_RUNTIME_MS = 250


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """What is known to be missing; a run time that is not known is not held against it."""
    reasons = []
    if evidence.ended:
        reasons.append(evidence.ended)
    if evidence.errors:
        reasons.append(f"fio reported error {evidence.errors}")
    ran, asked = evidence.runtime_ms, evidence.runtime_asked_ms
    if evidence.total_ios == 0:
        reasons.append("did no I/O")
    if ran is not None and asked is not None and ran < asked * MIN_RUNTIME:
        reasons.append(f"ran {ran / 1000:.1f} s of {asked / 1000:.1f} s asked")
    elif ran is not None and asked is None and ran < _MIN_SIZED_RUNTIME_MS:
        reasons.append(f"ran {ran} ms, less than fio's own interval of 250")
    if not reasons:
        return None
    return RULE.finding(
        "; ".join(reasons),
        measured=None if ran is None else float(ran),
        limit=None if asked is None else float(asked),
        unit="ms",
    )
