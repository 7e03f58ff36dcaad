"""What there is to say of a finding code. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.model.findings import Area, DriftSeverity


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding. A name or MESSAGE_ID is never reused for another meaning.

    ``title`` is a few words for a table. ``summary`` and ``next_step`` are templates of the
    finding's own sentences (:func:`appliance.drift.codes.fact` fills them in). ``meaning``,
    ``first``, ``avoid`` and ``closes`` are Markdown for docs/drift.md; the journal's catalog has
    the first two of them. ``ID`` after ``drift show`` stands for the finding's number.
    """

    name: str
    area: Area
    severity: DriftSeverity
    message_id: str
    title: str
    summary: str
    next_step: str
    meaning: str
    first: str
    avoid: str
    closes: str
