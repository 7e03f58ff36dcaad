"""What repeated runs and people said of a finding of performance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from appliance.model.findings import Fact

# The suite under whose name repeats are kept: no series of its own.
CONFIRM_SUITE = "confirm"


class Verdict(StrEnum):
    """``machine``: a job that touches no disk has slowed by the same share."""

    CONFIRMED = "confirmed"
    NOT_REPEATED = "not_repeated"
    MACHINE = "machine"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the repeats of a suspect job said.

    ``code``, ``subject`` and ``identity`` are those of the fact, ``target`` is that of its
    series, ``change_run`` the run at which the change began. ``run_id`` is the run of suite
    ``confirm``, ``at`` its end in seconds since the epoch. ``repeats`` and ``control`` are the
    IOPS of each valid repeat of the job and of its control job.
    """

    code: str
    subject: str
    identity: str
    target: str
    change_run: int
    run_id: int
    at: float
    verdict: Verdict
    words: str
    repeats: tuple[float, ...] = ()
    control: tuple[float, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """That of the fact (:attr:`appliance.model.findings.Fact.key`)."""
        return (self.code, self.subject, self.identity)


@dataclass(frozen=True, slots=True)
class Repeated:
    """What came of one call for repeats: ``waits`` says of each suspect that is still to be
    repeated why it was not. ``failed``: a signal stopped the runs, or one was neither made nor
    refused.
    """

    made: tuple[Confirmation, ...]
    waits: tuple[tuple[Fact, str], ...]
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Approval:
    """A level that a person took for the new normal: series ``subject`` (the text of a
    :class:`~appliance.model.findings.SeriesKey`) on ``target`` starts again with run ``from_run``.
    """

    subject: str
    target: str
    from_run: int
