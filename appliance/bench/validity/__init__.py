"""Whether a result can be true: one file for each rule. Pure.

Every rule takes an :class:`Measurement` and gives a finding or nothing; it is silent where it
does not know what it needs. ``device_io`` has to be what the devices did for this one job:
where a report's disk statistics are for several jobs together they belong to none of them.
docs/measurement-method.md has the reasons, with the report that taught each rule.
"""

from __future__ import annotations

from appliance.bench.validity.burst import judge as _burst
from appliance.bench.validity.cap import judge as _cap
from appliance.bench.validity.coverage import judge as _coverage
from appliance.bench.validity.cpu import judge as _cpu
from appliance.bench.validity.depth import judge as _depth
from appliance.bench.validity.foreign import judge as _foreign
from appliance.bench.validity.impossible import judge as _impossible
from appliance.bench.validity.member import judge as _member
from appliance.bench.validity.plausible import plausible
from appliance.bench.validity.short import judge as _short
from appliance.bench.validity.unit_slips import judge as _units
from appliance.bench.validity.unsteady import judge as _steady
from appliance.bench.validity.wrong_target import judge as _target
from appliance.model import Finding, Measurement, Severity

__all__ = ["judge"]

# In the order in which findings of one severity are shown.
_RULES = (
    _short,
    _units,
    _target,
    _coverage,
    _depth,
    _impossible,
    _foreign,
    _steady,
    _burst,
    _cpu,
    _member,
    _cap,
)
_ORDER = (Severity.BLOCK, Severity.WARN, Severity.LABEL)


def judge(evidence: Measurement) -> tuple[Finding, ...]:
    """Every rule's findings on ``evidence``, blocking ones first."""
    known = plausible(evidence)
    found = [finding for rule in _RULES if (finding := rule(known)) is not None]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))
