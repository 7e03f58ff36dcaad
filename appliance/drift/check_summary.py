"""Drift in a line: how many findings, the gravest of them, and whether somebody still looks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from appliance import paths, text
from appliance.bench.timetable import DEFAULT_DRIFT_MINUTES
from appliance.drift import check_cache
from appliance.errors import OperatorError
from appliance.history import queries
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord, by_gravity
from appliance.system import liveness

# The timer looks every few minutes, a slow machine later, an operator's schedule at the most
# once a day; so many intervals without a look are no delay any more.
_LATE_INTERVALS = 3
# Whatever the schedule says, so long after a look or a boot nobody needs to read it.
_SOON_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class DriftSummary:
    """Findings that are not closed. ``critical``, ``warning`` and ``notice`` count those that
    nobody has acknowledged and that are not suspect. ``worst`` is the gravest of these in words.

    ``checked_at`` is when somebody last looked, seconds since the epoch, ``None`` if that is not
    known. ``overdue`` says in words that nobody does any more.
    """

    critical: int = 0
    warning: int = 0
    notice: int = 0
    suspect: int = 0
    acknowledged: int = 0
    worst: str = ""
    checked_at: float | None = None
    overdue: str = ""

    @property
    def severity(self) -> DriftSeverity | None:
        """The gravest severity among those that count."""
        counts = {
            DriftSeverity.CRITICAL: self.critical,
            DriftSeverity.WARNING: self.warning,
            DriftSeverity.NOTICE: self.notice,
        }
        return next((severity for severity, count in counts.items() if count), None)

    @property
    def is_known(self) -> bool:
        """Whether there is anything to tell: somebody has looked, or should have."""
        return self.checked_at is not None or self != DriftSummary()

    @property
    def words(self) -> str:
        """The whole summary as a line."""
        said = [
            f"{count} {name}"
            for count, name in (
                (self.critical, "critical"),
                (self.warning, "warning"),
                (self.notice, "notice"),
                (self.suspect, "suspect"),
                (self.acknowledged, "acknowledged"),
            )
            if count
        ]
        line = ", ".join(said) or "no findings"
        return "; ".join(part for part in (line, self.worst, self.overdue) if part)


def read(reader: queries.Reader, *, is_appliance: bool, now: float | None = None) -> DriftSummary:
    """The summary of a history.

    An appliance looks at itself from time to time: if it does not, that is told.
    """
    now = time.time() if now is None else now
    checked_at = last_check(reader)
    up_since = liveness.up_since(now) if is_appliance and _is_own(reader) else None
    return summarise(
        reader.drift_findings(),
        checked_at=checked_at,
        overdue="" if up_since is None else _overdue(checked_at or 0.0, now, up_since),
    )


def last_check(reader: queries.Reader) -> float | None:
    """When somebody last looked for drift, seconds since the epoch; of a copy, to the day."""
    at = check_cache.load(paths.DRIFT_RUN_DIR).at if _is_own(reader) else 0.0
    return at or reader.drift_checked_at()


def _is_own(reader: queries.Reader) -> bool:
    return reader.path.absolute() == paths.HISTORY_DB


def summarise(
    findings: Sequence[FindingRecord], *, checked_at: float | None, overdue: str = ""
) -> DriftSummary:
    """The summary of ``findings``; closed ones do not count."""
    here = [one for one in findings if one.state is not DriftState.CLOSED]
    counts = [one for one in here if one.state in {DriftState.OPEN, DriftState.CONFIRMED}]
    worst = min(counts, key=by_gravity, default=None)

    def of(severity: DriftSeverity) -> int:
        return sum(one.fact.severity is severity for one in counts)

    return DriftSummary(
        critical=of(DriftSeverity.CRITICAL),
        warning=of(DriftSeverity.WARNING),
        notice=of(DriftSeverity.NOTICE),
        suspect=sum(one.state is DriftState.SUSPECT for one in here),
        acknowledged=sum(one.state is DriftState.ACKNOWLEDGED for one in here),
        worst="" if worst is None else f"#{worst.id} {worst.fact.code}: {worst.fact.summary}",
        checked_at=checked_at,
        overdue=overdue,
    )


def _overdue(checked_at: float, now: float, up_since: float) -> str:
    # What lies ahead, because the clock was put back, says nothing of when that was.
    checked_at = checked_at if checked_at <= now else 0.0
    since = max(checked_at, up_since)
    if now - since <= _SOON_SECONDS or now - since <= _LATE_INTERVALS * _interval_seconds():
        return ""
    when = f"for {text.duration(now - since)}" if checked_at > up_since else "since the boot"
    return f"not checked {when}"


def _interval_seconds() -> float:
    from appliance.bench.timetable import read_schedule

    minutes = None
    with contextlib.suppress(OperatorError, OSError):
        minutes = read_schedule(paths.SCHEDULE_FILE).drift_minutes
    return 60.0 * (minutes or DEFAULT_DRIFT_MINUTES)
