"""What checks left: findings in a line, whether checks still run, and what the next one must know.

The drift check keeps a small file in /run rather than wear the disk: when it last looked, up to
which run it judged, when it asked for repeated runs, and what it announced while there was no
history to keep it in. It is lost at a reboot, and nothing depends on it but work that is done once
more.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from appliance import paths, text
from appliance.bench.timetable import DEFAULT_DRIFT_MINUTES
from appliance.errors import OperatorError
from appliance.history import published, queries
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord, by_gravity
from appliance.state import codec
from appliance.system import files, liveness

# The timer looks every few minutes, a slow machine later, an operator's schedule at the most
# once a day; so many intervals without a look are no delay any more.
_LATE_INTERVALS = 3
# Whatever the schedule says, so long after a check or a boot it is of no use.
_SOON_SECONDS = 600.0
_NAME = "checked.json"
_MOST_TOLD = 256


@dataclass(frozen=True, slots=True)
class DriftSummary:
    """Findings that are not closed. ``critical``, ``warning`` and ``notice`` count those that
    are neither acknowledged nor suspect. ``worst`` is the gravest of these in words.

    ``checked_at`` is when the last check was, seconds since the epoch, ``None`` if that is not
    known. ``overdue`` says in words that checks have stopped.
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
        return next((severity for severity in DriftSeverity if getattr(self, severity)), None)

    @property
    def is_known(self) -> bool:
        """Whether there is anything to tell: a check was made, or is overdue."""
        return self.checked_at is not None or self != DriftSummary()

    @property
    def words(self) -> str:
        """The whole summary as a line."""
        names = (*DriftSeverity, DriftState.SUSPECT, DriftState.ACKNOWLEDGED)
        counts = ((getattr(self, name), name) for name in names)
        line = ", ".join(f"{count} {name}" for count, name in counts if count) or "no findings"
        return "; ".join(part for part in (line, self.worst, self.overdue) if part)


def read(reader: queries.Reader, *, is_appliance: bool, now: float | None = None) -> DriftSummary:
    """The summary of a history.

    An appliance looks at itself from time to time: if it does not, the summary says so.
    """
    now = time.time() if now is None else now
    checked_at = last_check(reader)
    up_since = liveness.up_since(now) if is_appliance and published.is_own(reader.path) else None
    return summarise(
        reader.drift_findings(),
        checked_at=checked_at,
        overdue="" if up_since is None else _overdue(checked_at or 0.0, now, up_since),
    )


def last_check(reader: queries.Reader) -> float | None:
    """When drift was last checked, seconds since the epoch; of a copy, to the day."""
    at = load(paths.DRIFT_RUN_DIR).at if published.is_own(reader.path) else 0.0
    return at or reader.drift_checked_at()


def summarise(
    findings: Sequence[FindingRecord], *, checked_at: float | None, overdue: str = ""
) -> DriftSummary:
    """The summary of ``findings``; closed ones do not count."""
    counted = [one for one in findings if one.state in {DriftState.OPEN, DriftState.CONFIRMED}]
    worst = min(counted, key=by_gravity, default=None)
    severities = Counter(one.fact.severity for one in counted)
    states = Counter(one.state for one in findings)
    return DriftSummary(
        critical=severities[DriftSeverity.CRITICAL],
        warning=severities[DriftSeverity.WARNING],
        notice=severities[DriftSeverity.NOTICE],
        suspect=states[DriftState.SUSPECT],
        acknowledged=states[DriftState.ACKNOWLEDGED],
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


# --------------------------------------------------------------------- from check to check


@dataclass(frozen=True, slots=True)
class Memory:
    """``at`` is when the last check ended, ``judged_at`` when it last judged the runs up to
    ``judged``; ``told`` has the facts that were announced but not kept, and when.
    ``asked_at`` is when repeated runs were last asked for. Seconds since the epoch (UTC).
    """

    at: float = 0.0
    judged: str = ""
    judged_at: float = 0.0
    told: Mapping[str, float] = field(default_factory=dict)
    asked_at: float = 0.0


def load(folder: Path) -> Memory:
    """What is remembered; nothing if the file is not there or is not one of ours."""
    try:
        return codec.parse(Memory, (folder / _NAME).read_bytes())
    except (OSError, codec.DecodeError):
        return Memory()


def save(folder: Path, memory: Memory) -> bool:
    """Remember; ``False`` for any caller but the drift check: an operator, root, a laptop.

    The drift check that cannot remember, because /run is full, announces again rather than nothing.
    """
    try:
        if folder.stat().st_uid != os.geteuid():
            return False
    except OSError:
        return False
    latest = sorted(memory.told.items(), key=lambda one: one[1])[-_MOST_TOLD:]
    with contextlib.suppress(OSError):
        files.replace_json(folder / _NAME, asdict(replace(memory, told=dict(latest))))
    return True
