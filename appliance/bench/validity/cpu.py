"""CPU: the processors were the limit, not the disks."""

from __future__ import annotations

from appliance.bench.validity.rule import Rule, judges
from appliance.figures.quantities import exact_bandwidth
from appliance.model.measurement import Finding, Measurement, Severity

RULE = Rule(
    code="CPU",
    rank=100,
    severity=Severity.WARN,
    title="The processors were the limit",
    means="fio's workers or the machine had no processor time left, so the disks may do more.",
    todo="Use more jobs or a larger machine before the disks are judged by this figure.",
)
# A worker this busy has no time left to ask for more.
MAX_WORKER_PERCENT = 90.0
MAX_HOST_PERCENT = 95.0
# At so much of the published figure the disks are the limit, however busy the processors.
_AT_CAPABILITY = 0.95


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """Fio's workers or the whole machine were busy while the disks could have done more."""
    if _at_capability(evidence):
        return None
    worker, host = evidence.cpu_percent, evidence.host_cpu_percent
    if host is not None and host > MAX_HOST_PERCENT:
        measured, limit = host, MAX_HOST_PERCENT
        who = f"the machine's processors were {host:.0f} % busy"
    elif worker is not None and worker >= MAX_WORKER_PERCENT:
        measured, limit = worker, MAX_WORKER_PERCENT
        who = f"fio's workers used {worker:.0f} % of a core each"
    else:
        return None
    return RULE.finding(
        f"{who}: the disks may be able to do more than this",
        measured=measured,
        limit=limit,
        unit="percent",
    )


def _at_capability(evidence: Measurement) -> bool:
    capability = evidence.capability
    if capability is None or not capability.is_limit:
        return False
    bandwidth = exact_bandwidth(evidence)
    return bool(
        (capability.iops and (evidence.iops or 0) >= capability.iops * _AT_CAPABILITY)
        or (
            capability.bytes_per_s
            and bandwidth is not None
            and bandwidth >= capability.bytes_per_s * _AT_CAPABILITY
        )
    )
