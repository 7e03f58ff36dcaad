"""What becomes of findings after a check: facts now, records so far → transitions. Pure.

A fact is announced once. The same fact at the next look moves nothing but the time at which it was
last seen; one that goes and comes within a day is the same finding, and the journal hears of it
once a day at the most. What is critical is that only for minutes of one boot: later it is another
fault, which is unacknowledged. Nothing is closed by a look that could not have seen it.

Moments are seconds since the epoch (UTC). Clocks jump: two moments that are far apart in either
direction are far apart.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appliance.drift.codes import CODES
from appliance.errors import Refused, UsageError
from appliance.model.findings import (
    GRAVITY,
    Area,
    DriftSeverity,
    DriftState,
    Fact,
    FindingRecord,
    Kind,
    Transition,
)

DAY_SECONDS = 86_400.0
# The time at which something was last seen is written this often: each write wears the disk.
SEEN_SECONDS = 3_600.0
# A critical fault that stayed away for longer than this is not one that flaps.
FLAP_SECONDS = 900.0
MAX_NOTE_CHARS = 500
# What a new baseline can be made of.
APPROVABLE = ("PERF-SLOWER", "PERF-FASTER", "PERF-LATENCY-MODE")


@dataclass(frozen=True, slots=True)
class Scope:
    """What a look could see: whole ``areas``, apart from ``blind``.

    ``blind`` are pairs of a code and the subject or volume for which the machine could not be
    judged; ``*`` stands for every code, an empty text for every subject. Performance, which is in
    the history, is judged whole or not at all.
    """

    areas: frozenset[Area]
    blind: frozenset[tuple[str, str]] = frozenset()

    def covers(self, fact: Fact) -> bool:
        """Whether the absence of ``fact`` from this look says that it is no longer so."""
        code = CODES.get(fact.code)
        if code is None or code.area not in self.areas:
            # The code of a later version: this one cannot say that it is over.
            return False
        if code.area is Area.PERFORMANCE:
            return True
        about = {"", fact.subject, fact.volume}
        return not any(name in {"*", fact.code} and what in about for name, what in self.blind)


def step(
    records: Sequence[FindingRecord],
    facts: Iterable[Fact],
    scope: Scope,
    *,
    now: float,
    boot_id: str = "",
) -> tuple[Transition, ...]:
    """What changes, worst first among the new.

    ``records`` are all findings that are not closed, and those closed within the last day.
    ``boot_id`` is that of the boot that was looked at; empty if it is not known.
    """
    here = _distinct(facts)
    active = {one.fact.key: one for one in records if one.state is not DriftState.CLOSED}
    moved: list[Transition] = []
    for identity, fact in here.items():
        if (record := active.get(identity)) is not None:
            moved += _again(record, fact, now)
        elif (closed := _just_closed(records, fact, now, boot_id)) is not None:
            moved.append(_back(closed, fact, now))
        else:
            moved.append(Transition(Kind.OPENED, None, fact, fact.state, announce=True))
    moved += [
        Transition(
            Kind.CLOSED,
            record.id,
            record.fact,
            DriftState.CLOSED,
            # A return that was not announced is followed by no announced end.
            announce=not record.quiet,
            note="no longer so",
        )
        for identity, record in active.items()
        if identity not in here and scope.covers(record.fact)
    ]
    return tuple(moved)


def acknowledge(record: FindingRecord, *, who: str, note: str) -> Transition | None:
    """An operator has seen it. ``None`` if that is said already, in the same words; without any,
    the words that are there stay.

    :class:`Refused` for a finding that is closed, :class:`UsageError` for a note that is too long.
    """
    said = _said(record, Kind.ACKNOWLEDGED, DriftState.ACKNOWLEDGED, who, note)
    known = record.state is DriftState.ACKNOWLEDGED and note in ("", record.note)
    return None if known else said


def approve(record: FindingRecord, *, who: str, note: str) -> Transition:
    """The change is the new normal: the finding closes, and its series gets a new baseline.

    :class:`Refused` for what no baseline can answer, or what is closed.
    """
    said = _said(record, Kind.APPROVED, DriftState.CLOSED, who, note)
    if record.fact.code not in APPROVABLE:
        raise Refused(
            f"finding {record.id} is {record.fact.code}: only {', '.join(APPROVABLE)}"
            " can become the new normal",
            f"what to do: stripewright drift show {record.id}; to acknowledge it:"
            f" stripewright drift ack {record.id} --note TEXT",
        )
    return said


def _said(record: FindingRecord, kind: Kind, state: DriftState, who: str, note: str) -> Transition:
    if len(note) > MAX_NOTE_CHARS:
        raise UsageError(
            f"the note has {len(note)} characters; the limit is {MAX_NOTE_CHARS}", "shorten it"
        )
    if record.state is DriftState.CLOSED:
        raise Refused(
            f"finding {record.id} is already closed",
            "open findings: stripewright drift list",
        )
    return Transition(kind, record.id, record.fact, state, announce=True, who=who, note=note)


def alarms(state: DriftState, severity: DriftSeverity) -> bool:
    """Whether a finding makes ``drift check`` fail: serious, certain and unacknowledged."""
    return severity is not DriftSeverity.NOTICE and state in {DriftState.OPEN, DriftState.CONFIRMED}


def _distinct(facts: Iterable[Fact]) -> dict[tuple[str, str, str], Fact]:
    """Each fact once, in the order of gravity; of two that are the same the graver one."""
    found: dict[tuple[str, str, str], Fact] = {}
    for fact in sorted(facts, key=lambda one: GRAVITY[one.severity]):
        found.setdefault(fact.key, fact)
    return found


def _again(record: FindingRecord, fact: Fact, now: float) -> list[Transition]:
    """A fact that is known. At the most one transition: the gravest of what is new."""
    acknowledged = record.state is DriftState.ACKNOWLEDGED
    fact = _no_less(record, fact, now)
    state = DriftState.ACKNOWLEDGED if acknowledged else fact.state
    if fact.state is not record.fact.state:
        kind = Kind.CONFIRMED if fact.state is DriftState.CONFIRMED else Kind.OPENED
        return [Transition(kind, record.id, fact, state, announce=not acknowledged)]
    if fact.severity is not record.fact.severity:
        # What was acknowledged was less than this: it is announced, too.
        worse = GRAVITY[fact.severity] < GRAVITY[record.fact.severity]
        quiet = record.quiet and not worse
        return [Transition(Kind.SEVERITY, record.id, fact, state, announce=worse, quiet=quiet)]
    if record.quiet and not acknowledged and _apart(now, record.announced_at, DAY_SECONDS):
        # It came back without a word and has stayed: the day is over, so now it is announced.
        return [Transition(Kind.REOPENED, record.id, fact, state, announce=True)]
    if _apart(now, record.seen_at, SEEN_SECONDS):
        return [Transition(Kind.SEEN, record.id, fact, state, quiet=record.quiet)]
    return []


def _no_less(record: FindingRecord, fact: Fact, now: float) -> Fact:
    """``fact``, as sure as it ever was, and for a day as grave as it was announced.

    Otherwise one that wavers between two severities would be announced each time it rises.
    """
    before = record.fact
    if fact.state is DriftState.SUSPECT and before.state is not DriftState.SUSPECT:
        fact = dataclasses.replace(fact, state=before.state)
    lower = GRAVITY[fact.severity] > GRAVITY[before.severity]
    if lower and not _apart(now, record.announced_at, DAY_SECONDS):
        fact = dataclasses.replace(fact, severity=before.severity)
    return fact


def _back(record: FindingRecord, fact: Fact, now: float) -> Transition:
    """What was closed within the day is here again."""
    acknowledged = record.acknowledged_at is not None
    announce = not acknowledged and _apart(now, record.announced_at, DAY_SECONDS)
    return Transition(
        Kind.REOPENED,
        record.id,
        fact,
        DriftState.ACKNOWLEDGED if acknowledged else fact.state,
        announce=announce,
        quiet=not announce,
    )


def _just_closed(
    records: Sequence[FindingRecord], fact: Fact, now: float, boot_id: str
) -> FindingRecord | None:
    """The latest finding of ``fact`` that was closed so lately that this is the same one."""
    found = [
        one
        for one in records
        if one.state is DriftState.CLOSED
        and one.fact.key == fact.key
        and _is_same(one, fact, now, boot_id)
    ]
    return max(found, key=lambda one: one.id, default=None)


def _is_same(closed: FindingRecord, fact: Fact, now: float, boot_id: str) -> bool:
    if fact.severity is not DriftSeverity.CRITICAL:
        return not _apart(now, closed.closed_at, DAY_SECONDS)
    # What was acknowledged was repaired, or went with a reboot. That it fails again is news,
    # and must not be as silent as what was acknowledged.
    same_boot = not boot_id or not closed.boot_id or boot_id == closed.boot_id
    return (
        closed.fact.severity is DriftSeverity.CRITICAL
        and same_boot
        and not _apart(now, closed.closed_at, FLAP_SECONDS)
    )


def _apart(now: float, then: float | None, seconds: float) -> bool:
    return then is None or abs(now - then) >= seconds
