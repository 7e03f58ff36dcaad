"""The codes of findings, and making a fact from one. Pure.

All that is said of a code is said in its entry: severity, sentences, MESSAGE_ID, and the texts
from which ``make catalog`` writes docs/drift.md and units/catalog. To add one: an entry, and the
rule that calls :func:`fact`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from appliance.drift.codes import (
    environment_codes,
    host_codes,
    layout_codes,
    performance_codes,
)
from appliance.model.findings import Code, DriftSeverity, DriftState, Fact
from appliance.text import bounded

CODES: Mapping[str, Code] = {
    one.name: one
    for codes in (layout_codes, environment_codes, host_codes, performance_codes)
    for one in codes.CODES
}
_MAX_TEXT_CHARS = 1000
_MAX_EVIDENCE = 64

Evidence = Mapping[str, str | int | float]


def fact(
    code: str,
    expected: str,
    observed: str,
    *,
    subject: str = "",
    identity: str = "",
    volume: str = "",
    member: str = "",
    severity: DriftSeverity | None = None,
    evidence: Evidence | None = None,
    state: DriftState = DriftState.OPEN,
    summary: str = "",
    next_step: str = "",
    **words: object,
) -> Fact:
    """A fact: the entry of ``code`` gives severity and sentences, unless they are given.

    The ``subject`` is the volume, the ``identity`` what was observed in place of what was expected,
    unless they are given. The templates' names are the arguments here, the keys of ``evidence`` and
    ``words``. Names of mount points, labels and serials are hostile: control characters and bytes
    that are no UTF-8 become visible, and no text is endless.
    """
    entry = CODES[code]
    evidence = evidence or {}
    texts = {
        "subject": subject or volume,
        "expected": expected,
        "observed": observed,
        "volume": volume,
        "member": member,
    }
    known = {**evidence, **texts, **words}
    return Fact(
        code=code,
        summary=_line((summary or entry.summary).format_map(known)),
        identity=_line(identity or f"{expected} -> {observed}"),
        severity=severity or entry.severity,
        evidence={
            _line(name): _line(value) if isinstance(value, str) else value
            for name, value in list(evidence.items())[:_MAX_EVIDENCE]
            if not isinstance(value, float) or math.isfinite(value)
        },
        next_step=_line((next_step or entry.next_step).format_map(known)),
        state=state,
        **{name: _line(text) for name, text in texts.items()},
    )


def _line(text: str) -> str:
    return bounded(text, _MAX_TEXT_CHARS)
