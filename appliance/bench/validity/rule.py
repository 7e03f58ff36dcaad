"""What a validity rule is. Pure.

A rule is one module here with a :class:`Rule` and the function that judges by it, and its entry
in docs/measurement-method.md; nothing else names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from appliance.model.measurement import Finding, Measurement, Severity

Judge = Callable[[Measurement], Finding | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """``rank`` orders findings of one severity, lowest first. ``title``, ``means`` (what the rule
    saw) and ``todo`` (the next step) are for the reader of a report who has not met the code.
    """

    code: str
    rank: int
    severity: Severity
    title: str
    means: str
    todo: str

    def finding(
        self,
        message: str,
        *,
        measured: float | None = None,
        limit: float | None = None,
        corrected: float | None = None,
        unit: str = "",
        severity: Severity | None = None,
    ) -> Finding:
        """A finding of this rule's severity unless another is given."""
        return Finding(
            self.code, severity or self.severity, message, measured, limit, corrected, unit
        )


# By code.
RULES: dict[str, tuple[Rule, Judge]] = {}


def judges(rule: Rule) -> Callable[[Judge], Judge]:
    """Decorates the function that judges by ``rule``, and registers it.

    It gives a finding or nothing, and is silent where it does not know what it needs.
    """

    def register(judge: Judge) -> Judge:
        RULES[rule.code] = (rule, judge)
        return judge

    return register
