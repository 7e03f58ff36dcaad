"""Whether a result can be true: one module for each rule, found by being here. Pure.

``device_io`` has to be what the devices did for this one job: where a report's disk statistics
are for several jobs together they belong to none of them. docs/measurement-method.md has the
reasons, with the report that taught each rule.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from appliance.bench.validity.plausible import plausible
from appliance.bench.validity.rule import RULES, Rule
from appliance.model.measurement import Finding, Measurement, Severity

__all__ = ["judge", "rule_of"]

_ORDER = (Severity.BLOCK, Severity.WARN, Severity.LABEL)

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


def judge(measurement: Measurement) -> tuple[Finding, ...]:
    """Every rule's findings, blocking ones first."""
    known = plausible(measurement)
    rules = sorted(RULES.values(), key=lambda one: one[0].rank)
    found = [finding for _, by_rule in rules if (finding := by_rule(known)) is not None]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def rule_of(code: str) -> Rule | None:
    """The rule that gives ``code``; ``None`` for one of another version."""
    found = RULES.get(code)
    return found[0] if found else None
