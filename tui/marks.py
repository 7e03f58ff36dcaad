"""Every state as glyph, word and style, so that none of the three is needed alone.

Styles are names of theme variables; text is put together as
:class:`textual.content.Content`, which never interprets markup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from appliance.text import printable

if TYPE_CHECKING:
    from appliance.client.machine_status import Health
    from appliance.drift.check_summary import DriftSummary
    from appliance.model.measurement import Measurement, Severity
    from appliance.model.runs import RunState

GOOD = "$success"
WARN = "$warning"
BAD = "$error"
BUSY = "$accent"
MUTED = "$foreground-muted"
RULE = "$rule"
TITLE = "bold $primary"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters that are drawn; one set for each kind of terminal."""

    good: str
    bad: str
    warn: str
    label: str
    busy: str
    unknown: str
    idle: str  # waiting, skipped, not there
    pointer: str  # running now
    cursor: str  # chosen, where a list has no cursor of its own
    marked: str
    unmarked: str
    ascending: str
    descending: str
    rule: str
    dot: str
    times: str
    ellipsis: str
    bar_full: str
    bar_empty: str
    bars: str  # from empty to full, one column of a chart


UNICODE = Glyphs(
    good="✓", bad="✗", warn="▲", label="◆", busy="◐", unknown="?", idle="–", pointer="▶",
    cursor="›", marked="●", unmarked="○", ascending="↑", descending="↓",
    rule="─", dot="·", times="×", ellipsis="…", bar_full="━", bar_empty="─", bars=" ▁▂▃▄▅▆▇█",
)  # fmt: skip
ASCII = Glyphs(
    good="+", bad="x", warn="!", label="*", busy="~", unknown="?", idle="-", pointer=">",
    cursor=")", marked="@", unmarked="o", ascending="^", descending="v",
    rule="-", dot="|", times="x", ellipsis="~", bar_full="#", bar_empty=".", bars=" .:#",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """How one state is shown."""

    glyph: str
    word: str
    style: str

    @property
    def text(self) -> str:
        return f"{self.glyph} {self.word}"


def health(value: Health, glyphs: Glyphs) -> Mark:
    """Mark of the machine's health."""
    from appliance.client.machine_status import Health

    return {
        Health.OK: Mark(glyphs.good, "HEALTHY", GOOD),
        Health.DEGRADED: Mark(glyphs.warn, "DEGRADED", WARN),
        Health.WORKING: Mark(glyphs.busy, "WORKING", BUSY),
        Health.REFUSED: Mark(glyphs.warn, "REFUSED", WARN),
        Health.FAILED: Mark(glyphs.bad, "FAILED", BAD),
        Health.UNKNOWN: Mark(glyphs.unknown, "UNKNOWN", MUTED),
    }[value]


def history(glyphs: Glyphs) -> Mark:
    """Mark of what is not a machine but a history: nothing of it is live."""
    return Mark(glyphs.label, "HISTORY", BUSY)


def fleet(glyphs: Glyphs) -> Mark:
    """Mark of what is not a machine but many."""
    return Mark(glyphs.label, "FLEET", BUSY)


def drift(summary: DriftSummary, glyphs: Glyphs) -> Mark:
    """Mark of all findings of drift together; its word is that of the gravest."""
    from appliance.model.findings import DriftSeverity

    if summary.severity is DriftSeverity.CRITICAL:
        return Mark(glyphs.bad, "critical", BAD)
    if summary.severity is DriftSeverity.WARNING:
        return Mark(glyphs.warn, "warning", WARN)
    if summary.overdue:
        return Mark(glyphs.warn, "not checked", WARN)
    if summary.severity is DriftSeverity.NOTICE:
        return Mark(glyphs.label, "notice", BUSY)
    if summary.suspect:
        return Mark(glyphs.label, "suspect", BUSY)
    return Mark(glyphs.good, "none", GOOD)


def severity(value: Severity, glyphs: Glyphs) -> tuple[str, str]:
    """Glyph and style of what one finding about a result comes to."""
    return {
        "block": (glyphs.bad, BAD), "warn": (glyphs.warn, WARN), "label": (glyphs.label, BUSY)
    }[value]  # fmt: skip


def verdict(result: Measurement, glyphs: Glyphs) -> Mark:
    """Mark of one result: its gravest findings by code, or ``valid``."""
    from appliance.model.measurement import Severity

    for value in (Severity.BLOCK, Severity.WARN, Severity.LABEL):
        codes = [printable(one.code) for one in result.findings if one.severity is value]
        if codes:
            glyph, style = severity(value, glyphs)
            return Mark(glyph, " ".join(codes), style)
    return Mark(glyphs.good, "valid", GOOD)


def run_state(state: RunState, glyphs: Glyphs) -> Mark:
    """Mark of a run as a whole."""
    from appliance.model.runs import RunState

    return {
        RunState.RUNNING: Mark(glyphs.pointer, "running", BUSY),
        RunState.COMPLETE: Mark(glyphs.good, "complete", GOOD),
        RunState.ABORTED: Mark(glyphs.bad, "aborted", BAD),
        RunState.FAILED: Mark(glyphs.bad, "failed", BAD),
        RunState.SKIPPED: Mark(glyphs.idle, "skipped", WARN),
    }[state]
