"""What repeated runs say of a suspect. Pure.

The suspect job is measured :data:`REPEATS` times, beside a control job that touches no disk
(docs/decisions/0032). A change is confirmed by repeats that lie nearer to the changed level
than to the normal one: with the border in the middle, a change of twice the noise of one
measurement is told apart with fewer errors than by any other border, and no scale of
the noise has to be known that five values could not give.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from appliance import text
from appliance.drift import lifecycle
from appliance.drift.detection.normal import DEAD_BAND
from appliance.model.confirmations import Confirmation, Verdict
from appliance.model.findings import DriftState, Fact, FindingRecord

REPEATS = 5
# Of five: one odd value neither makes a change nor hides one.
NEEDED = 4
# The control job has slowed "by the same share" from half of it on.
_SAME_SHARE = 0.5
NEEDED_CONTROL = 3

# How often an unclear suspect is repeated, and how soon.
MAX_TRIES = 3
_RETRY_SECONDS = 6 * 3600.0
# A run that was skipped (foreign load) says nothing: later again, but not at each check.
_PAUSE_SECONDS = 1800.0
# So long a suspect waits for an answer; then the alarm is raised without one.
PATIENCE_SECONDS = 3 * 86_400.0
# After a boot the repeats, which wait only for other load, get their chance first.
_CHANCE_SECONDS = 6 * 3600.0
# In the evidence of an alarm without an answer: why there is none.
UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True, slots=True)
class Outcome:
    verdict: Verdict
    words: str


def verdict(
    normal: float,
    changed: float,
    repeats: Sequence[float],
    *,
    control_before: Sequence[float] = (),
    control: Sequence[float] = (),
) -> Outcome:
    """Whether ``repeats`` are at the changed level or at the one before it.

    ``normal`` is the level before the change, ``changed`` the one since, ``repeats`` the valid
    repeated values (one that is not valid is left out, and then missing), all in one unit.
    ``control`` are the values of the control job beside them, ``control_before`` earlier ones of
    this epoch.
    """
    if normal <= 0:
        return Outcome(Verdict.UNCLEAR, "there is no normal level to compare with")
    if len(repeats) < NEEDED:
        return _too_few(repeats)
    effect = changed / normal - 1
    seen = statistics.median(repeats) / normal - 1
    sign = -1 if effect < 0 else 1
    border = normal * (1 + effect / 2)
    beyond = sum(sign * (value - border) > 0 for value in repeats)
    figures = (
        f"{beyond} of {len(repeats)} repeats are nearer to the changed level ({effect:+.1%}) than "
        f"to the normal one, and their median is {seen:+.1%} from that"
    )
    if beyond < NEEDED or sign * seen <= DEAD_BAND:
        unlike = beyond <= len(repeats) - NEEDED
        return Outcome(Verdict.NOT_REPEATED if unlike else Verdict.UNCLEAR, figures)
    of_control = _control_effect(control_before, control)
    if of_control is None:
        return Outcome(
            Verdict.CONFIRMED, f"{figures}; the control job has no earlier values to compare with"
        )
    if _same_share(of_control, seen):
        return Outcome(
            Verdict.MACHINE,
            f"{figures}; a job that touches no disk has changed by {of_control:+.1%} as well: the "
            "machine's processors are slower, and that may be all there is",
        )
    return Outcome(
        Verdict.CONFIRMED,
        f"{figures}; a job that touches no disk is at {of_control:+.1%}: it is not the processors' "
        "speed",
    )


def of_rule(seen: Sequence[bool], what: str) -> Outcome:
    """The same for what a rule sees in a result or does not; ``what`` is that in words."""
    if len(seen) < NEEDED:
        return _too_few(seen)
    words = f"{what} in {sum(seen)} of {len(seen)} repeats"
    if sum(seen) >= NEEDED:
        return Outcome(Verdict.CONFIRMED, words)
    if sum(seen) <= len(seen) - NEEDED:
        return Outcome(Verdict.NOT_REPEATED, words)
    return Outcome(Verdict.UNCLEAR, words)


def _too_few(repeats: Sequence[object]) -> Outcome:
    return Outcome(
        Verdict.UNCLEAR,
        f"only {len(repeats)} of {REPEATS} repeats gave valid results; {NEEDED} are needed",
    )


def _control_effect(before: Sequence[float], now: Sequence[float]) -> float | None:
    if len(before) < NEEDED_CONTROL or len(now) < NEEDED_CONTROL:
        return None
    normal = statistics.median(before)
    return statistics.median(now) / normal - 1 if normal > 0 else None


def _same_share(control: float, seen: float) -> bool:
    """A little slower is ordinary: the control job has no disk to wait for, and shows all that
    the processors' speed does. It never idles: how long they take to wake up is not in it.
    """
    same_way = control * seen > 0 and abs(control) > DEAD_BAND
    return same_way and abs(control) >= _SAME_SHARE * abs(seen)


# --------------------------------------------------------------------- what is to be repeated


def waiting(
    facts: Iterable[Fact],
    confirmations: Iterable[Confirmation],
    *,
    now: float,
    last_tried: float | None = None,
) -> tuple[Fact, ...]:
    """The suspects among ``facts`` that are to be repeated now.

    ``last_tried`` is when the last run of suite ``confirm`` began, however it ended, ``now``
    the present; both are seconds since the epoch. A clock that was put back delays nothing.
    An alarm without an answer may still get one.
    """
    suspects = [
        fact
        for fact in facts
        if (fact.state is DriftState.SUSPECT or _is_unconfirmed(fact))
        and "by_hand" not in fact.evidence
    ]
    if not suspects or (last_tried is not None and 0 <= now - last_tried < _PAUSE_SECONDS):
        return ()
    confirmations = tuple(confirmations)
    wanted = []
    for fact in suspects:
        times = [one.at for one in answers(fact, confirmations)[1]]
        if len(times) < MAX_TRIES and not any(0 <= now - at < _RETRY_SECONDS for at in times):
            wanted.append(fact)
    return tuple(wanted)


def answers(
    fact: Fact, confirmations: Iterable[Confirmation]
) -> tuple[Confirmation | None, list[Confirmation]]:
    """What repeats said of ``fact``: the last that denied it, and all since.

    What is suspect again after it was not repeated starts over.
    """
    denial: Confirmation | None = None
    since: list[Confirmation] = []
    for one in confirmations:
        if one.key != fact.key:
            continue
        if one.verdict is Verdict.NOT_REPEATED:
            denial, since = one, []
        else:
            since.append(one)
    return denial, since


def unanswered(
    fact: Fact,
    confirmations: Iterable[Confirmation],
    records: Iterable[FindingRecord],
    *,
    now: float,
    up_since: float | None,
) -> str:
    """Why a suspect raises an alarm without a clear answer; empty while one is waited for.

    Either it was repeated :data:`MAX_TRIES` times, or it has been suspect for
    :data:`PATIENCE_SECONDS`. An alarm stays one. ``now`` and ``up_since`` (the boot)
    are seconds since the epoch; without ``up_since`` it is unknown whether it could be repeated.
    """
    if "by_hand" in fact.evidence:
        return ""
    denial, tries = answers(fact, confirmations)
    if len(tries) >= MAX_TRIES:
        return f"{len(tries)} repeats were inconclusive"
    for record in records:
        if record.state is DriftState.CLOSED or record.fact.key != fact.key:
            continue
        if record.fact.state is DriftState.CONFIRMED:
            # By an answer that is no longer among those that are read.
            return ""
        since = max(record.opened_at, denial.at if denial else 0.0)
        had_chance = up_since is not None and now - up_since >= _CHANCE_SECONDS
        if _is_unconfirmed(record.fact) or (had_chance and now - since >= PATIENCE_SECONDS):
            what = "repeats were inconclusive" if tries else "could not be repeated"
            return f"suspect since {text.moment(since)}, {what}"
    return ""


def identity(
    fact: Fact,
    confirmations: Iterable[Confirmation],
    records: Iterable[FindingRecord],
    *,
    now: float,
) -> str:
    """The identity of a ``fact`` that a rule raises, whose own is the same all the epoch long.

    An answer is about what was there when it was given. Once that was closed for a day, what the
    rule sees is another finding, named after the repeats of the one before: no old answer
    confirms it, and it is repeated again. Within the day it is the same (:mod:`.lifecycle`).
    """
    confirmations = tuple(confirmations)
    closed = {
        one.fact.key: one.closed_at
        for one in records
        if one.closed_at is not None and abs(now - one.closed_at) >= lifecycle.DAY_SECONDS
    }
    here = fact
    # Each round is one answer further; a file from elsewhere may name them in a circle.
    for _ in confirmations:
        _, since = answers(here, confirmations)
        over = closed.get(here.key)
        if not since or over is None or over <= since[-1].at:
            break
        here = replace(fact, identity=f"{fact.identity}, again after run {since[-1].run_id}")
    return here.identity


def _is_unconfirmed(fact: Fact) -> bool:
    return fact.state is DriftState.OPEN and UNCONFIRMED in fact.evidence
