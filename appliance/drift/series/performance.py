"""Surveyed series and what is known of their runs → facts. Pure.

Two steps, because details are read only where they count: :func:`wanted` says which runs, and
:func:`judge` makes the facts. One look costs the same on the first day and after ten years.

PERF-SLOWER and PERF-FASTER are raised on IOPS alone. The identity of one is the run that raised
it: it follows from the slots up to that run, so that no later slot moves it, while the date of
the change (``change_run``) may still become better.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from appliance import text
from appliance.drift.codes import Evidence, fact
from appliance.drift.detection.normal import DEAD_BAND
from appliance.drift.series import (
    attribution,
    confirmation,
    missing_runs,
    series_rules,
    series_state,
)
from appliance.drift.series.series_state import Known, Standing, Survey
from appliance.figures.quantities import percentile_ns
from appliance.model import advice
from appliance.model.confirmations import Verdict
from appliance.model.findings import DriftState, Fact, SeriesKey
from appliance.model.slots import Detail, Span

# Changes of two series this near to each other are probably one.
_TOGETHER_SLOTS = 2.0
# What to do about a slower series by the kind of its cause.
_REMEDIES = {
    "member": "check whether the disk warns as well (stripewright drift list); to measure each "
    f"member alone, {advice.MEMBERS_ALONE}",
    "limit": "nothing is wrong with the disks; for more, provision more",
    "foreign": "find the other load on the disks",
    "cpu": "find what uses the processors (top, steal time)",
    "environment": "set it back, or approve the new level: stripewright drift approve ID",
}


def wanted(span: Span, surveys: Iterable[Survey]) -> set[int]:
    """The runs whose details :func:`judge` needs."""
    found = missing_runs.wanted(span)
    for one in surveys:
        for change in one.standing:
            found.update(slot.run_id for slot in one.before(change) + one.after(change))
        if one.normal is not None and not one.key.member:
            found.update(slot.run_id for slot in one.early + one.latest)
    return found


def judge(
    span: Span, surveys: Sequence[Survey], known: Known, *, now: float, up_since: float | None
) -> tuple[Fact, ...]:
    """Every fact of one epoch, PERF-MEMBER first.

    ``now`` and ``up_since`` (the boot) are seconds since the epoch (UTC); without ``up_since``
    nothing is said about runs that are missing.
    """
    facts = [
        _identified(one, known, now) for one in series_rules.slow_members(span, surveys, known)
    ]
    for one in surveys:
        facts += [_changed(span, one, change, surveys, known) for change in one.standing]
        facts += [_identified(mode, known, now) for mode in series_rules.modes(span, one, known)]
    if up_since is not None:
        facts += missing_runs.judge(
            span, known.details, now=now, up_since=up_since, gaps=known.gaps
        )
    said = (_with_verdict(one, known, now=now, up_since=up_since) for one in facts)
    return tuple(one for one in said if one is not None)


def _changed(
    span: Span, one: Survey, change: Standing, surveys: Sequence[Survey], known: Known
) -> Fact:
    slower, normal, provisional = change.effect < 0, change.normal, one.is_provisional
    began, alarm = one.slots[change.began], one.slots[change.alarm]
    before = known.of(one.before(change))
    after = known.of(one.after(change))
    last_before = one.slots[change.began - 1] if change.began else began
    found = attribution.causes(
        attribution.Around(
            one.key,
            before,
            after,
            span.fingerprint,
            attempts=span.attempts,
            happenings=known.happenings(last_before.started_at, began.started_at),
        ),
        slower=slower,
    )
    level = one.level
    in_all = level / normal.median - 1
    evidence = {
        **series_state.of_series(span, one.key),
        "baseline_iops": round(normal.median, 1),
        "baseline_low_iops": round(normal.low, 1),
        "baseline_high_iops": round(normal.high, 1),
        "baseline_slots": normal.count,
        "before_iops": round(change.before, 1),
        "level_iops": round(level, 1),
        "effect_percent": round(100 * change.effect, 1),
        "against_baseline_percent": round(100 * in_all, 1),
        "change_run": began.run_id,
        "change_at": text.moment(began.started_at),
        "alarm_run": alarm.run_id,
        "alarm_at": text.moment(alarm.started_at),
        "slots_since": len(one.slots) - change.began,
        "cause": attribution.in_words(found),
        "cause_kind": found[0].kind if found else "",
        "also_changed": ", ".join(_together(one, change, surveys)),
        **_p99(one.key, before, after),
        **({"provisional": 1} if provisional else {}),
    }
    # Of several losses each has its own share, and the level is that of all of them.
    more = f", {in_all:+.1%} in all" if abs(in_all - change.effect) > DEAD_BAND else ""
    return fact(
        "PERF-SLOWER" if slower else "PERF-FASTER",
        f"{text.count(normal.low)} to {text.count(normal.high)} IOPS",
        f"{text.count(level)} IOPS",
        subject=str(one.key),
        identity=f"run {alarm.run_id}",
        severity=series_state.severity(evidence) if slower else None,
        member=next((why.member for why in found if why.member), ""),
        evidence=evidence,
        state=DriftState.SUSPECT,
        next_step=_REMEDIES.get(found[0].kind, "") if slower and found else "",
        effect=f"{change.effect:+.1%}",
        level=text.count(level),
        normal=text.count(normal.median),
        more=more + (", provisional: few slots are known yet" if provisional else ""),
    )


def _together(one: Survey, change: Standing, surveys: Sequence[Survey]) -> list[str]:
    """The other series that changed within two slots of this one, slots of the longer interval."""
    at = one.slots[change.began].started_at
    found = []
    for other in surveys:
        if other.key == one.key:
            continue
        for theirs in other.standing:
            near = _TOGETHER_SLOTS * max(_interval(one), _interval(other))
            same = (theirs.effect < 0) == (change.effect < 0)
            if same and abs(other.slots[theirs.began].started_at - at) <= near:
                found.append(str(other.key))
                break
    return found


def _interval(one: Survey) -> float:
    return statistics.median(series_state.intervals(one.slots) or [0.0])


def _p99(key: SeriesKey, before: Sequence[Detail], after: Sequence[Detail]) -> Evidence:
    sides = {
        name: [
            p99
            for detail in side
            for result in series_state.results(key, detail)
            if (p99 := percentile_ns(result, 99.0)) is not None
        ]
        for name, side in (("p99_before_ns", before), ("p99_ns", after))
    }
    return {name: round(statistics.median(values)) for name, values in sides.items() if values}


def _identified(found: Fact, known: Known, now: float) -> Fact:
    return replace(
        found, identity=confirmation.identity(found, known.confirmations, known.records, now=now)
    )


def _with_verdict(found: Fact, known: Known, *, now: float, up_since: float | None) -> Fact | None:
    """``found`` with what its repeats said last, or that they say nothing clear; ``None`` if they
    said that it is not so, and no run has come since.
    """
    if found.state is not DriftState.SUSPECT:
        return found
    denial, said = confirmation.answers(found, known.confirmations)
    if denial and not said and int(found.evidence.get("last_run", 0)) <= denial.run_id:
        return None
    last = said[-1] if said else None
    if last is not None:
        evidence = {**found.evidence, "repeats": last.words, "repeats_run": last.run_id}
        if last.verdict is Verdict.MACHINE:
            evidence |= {
                "cause": f"the machine's processors: {last.words}",
                "cause_kind": "machine",
            }
        found = replace(found, evidence=evidence)
    if "provisional" in found.evidence:
        return found
    if last is not None and last.verdict in {Verdict.CONFIRMED, Verdict.MACHINE}:
        return replace(found, state=DriftState.CONFIRMED)
    why = confirmation.unanswered(
        found, known.confirmations, known.records, now=now, up_since=up_since
    )
    if not why:
        return found
    return replace(
        found,
        state=DriftState.OPEN,
        summary=f"{found.summary}; not confirmed: {why}",
        evidence={**found.evidence, confirmation.UNCONFIRMED: why},
    )
