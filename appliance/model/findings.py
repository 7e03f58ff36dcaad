"""What drift is made of: a Fact that a look found, the finding kept of it, and what moves that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Area(StrEnum):
    LAYOUT = "layout"
    ENVIRONMENT = "environment"
    HOST = "host"
    PERFORMANCE = "performance"


class DriftSeverity(StrEnum):
    """``critical``: data is lost or about to be; ``warning``: look today; ``notice``: know it."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTICE = "notice"


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


# Smaller is graver.
GRAVITY = {DriftSeverity.CRITICAL: 0, DriftSeverity.WARNING: 1, DriftSeverity.NOTICE: 2}


class DriftState(StrEnum):
    """How far a finding is.

    What can be seen is ``open`` at once. What statistics raise is ``suspect`` until repeated
    runs have spoken: then it is ``confirmed``, or ``closed``, or ``open`` if they say nothing
    clear. A person makes ``acknowledged`` of any of them. It is ``closed`` when it is no longer
    so.
    """

    OPEN = "open"
    SUSPECT = "suspect"
    CONFIRMED = "confirmed"
    ACKNOWLEDGED = "acknowledged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is not as it should be, as one look found it.

    ``code`` is one of :data:`appliance.drift.codes.CODES`. ``subject`` says what it is about: the
    name of a volume, the serial of a disk, the text of a series. ``identity`` makes it the same
    fact when it is seen again: what was observed in place of what was expected, or the run at
    which a change began; another identity is another finding. ``member`` is a disk's serial.
    ``evidence`` are figures and texts for people and programs. ``state`` is what the look itself
    can say: ``open``, or for performance also ``suspect`` or ``confirmed``.
    """

    code: str
    subject: str
    summary: str
    identity: str
    severity: DriftSeverity
    expected: str = ""
    observed: str = ""
    volume: str = ""
    member: str = ""
    evidence: Mapping[str, str | int | float] = field(default_factory=dict)
    next_step: str = ""
    state: DriftState = DriftState.OPEN

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a fact the same fact."""
        return (self.code, self.subject, self.identity)


# Fields of a fact that are texts.
TEXTS = (
    "code",
    "subject",
    "identity",
    "summary",
    "expected",
    "observed",
    "volume",
    "member",
    "next_step",
)


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """A finding as history keeps it. Times are seconds since the epoch (UTC).

    ``times`` counts how often it was found: 1, and one more each time it came back soon after it
    was closed; ``note`` is what the person who acknowledged it wrote. ``announced_at`` is when the
    journal last told that it is there; ``quiet`` says that it has come back since without a word.
    """

    id: int
    fact: Fact
    state: DriftState
    epoch_id: int | None
    opened_at: float
    seen_at: float
    closed_at: float | None = None
    acknowledged_at: float | None = None
    acknowledged_by: str = ""
    note: str = ""
    times: int = 1
    boot_id: str = ""
    announced_at: float | None = None
    quiet: bool = False


def by_gravity(record: FindingRecord) -> tuple[bool, int, float, int]:
    """Sort key: unacknowledged first, then the worst, then the oldest."""
    return (
        record.state is DriftState.ACKNOWLEDGED,
        GRAVITY[record.fact.severity],
        record.opened_at,
        record.id,
    )


class Kind(StrEnum):
    """What happened to a finding."""

    OPENED = "opened"
    REOPENED = "reopened"
    SEEN = "seen"
    SEVERITY = "severity"
    CONFIRMED = "confirmed"
    CLOSED = "closed"
    ACKNOWLEDGED = "acknowledged"
    APPROVED = "approved"


@dataclass(frozen=True, slots=True)
class Transition:
    """One finding moves. ``id`` is ``None`` for a finding that is new.

    ``state`` and ``fact`` are what holds from now on. ``announce``: the journal is told.
    ``quiet``: it is here, and the journal has not been told since it came back. ``who`` and
    ``note`` are a person's, or say why it was closed.
    """

    kind: Kind
    id: int | None
    fact: Fact
    state: DriftState
    announce: bool = False
    quiet: bool = False
    who: str = ""
    note: str = ""

    @property
    def is_change(self) -> bool:
        """Whether it is a change of state that is kept for good, and not a sign of life."""
        return self.kind is not Kind.SEEN


@dataclass(frozen=True, order=True, slots=True)
class SeriesKey:
    """One figure over time: a job of a suite on a target. ``member`` is empty for the stripe."""

    suite: str
    target: str
    job: str
    direction: str
    member: str = ""

    def __str__(self) -> str:
        on = f" on {self.member}" if self.member else ""
        return f"{self.suite}/{self.job} {self.direction}{on}"
