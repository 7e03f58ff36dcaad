"""RUNS-MISSING: a series that had valid results regularly, and has none any more. Pure.

The series itself says what is regular. Only time that the machine was up counts: after a
weekend switched off nothing is missing yet.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from appliance import text
from appliance.drift.codes import fact
from appliance.drift.series import series_state
from appliance.model.findings import Fact, SeriesKey
from appliance.model.measurement import Severity
from appliance.model.runs import RunState
from appliance.model.slots import Attempt, Detail, Slot, Span

# So many of its usual intervals without a valid result.
INTERVALS = 3
# What makes a habit: so many valid slots, over so long, none of the intervals far longer.
_LEAST_SLOTS = 8
_LEAST_SECONDS = 86_400.0
_MAX_SPREAD = 2.5
_REASONS = 2


def wanted(span: Span) -> set[int]:
    """The runs whose details say why there is no valid result: the last ones of each series."""
    found: set[int] = set()
    for slots in span.series.values():
        for slot in reversed(slots[-INTERVALS:]):
            if slot.valid:
                break
            found.add(slot.run_id)
    return found


def judge(
    span: Span,
    details: Mapping[int, Detail],
    *,
    now: float,
    up_since: float,
    gaps: Mapping[str, float | None],
) -> tuple[Fact, ...]:
    """One fact for each suite and target that has fallen silent, or for the jobs of it that have.

    ``now`` and ``up_since`` are seconds since the epoch (UTC). ``gaps`` is as in
    :class:`appliance.drift.series.series_state.Known`: a schedule that was changed is no silence.
    """
    silent: dict[tuple[str, str], list[tuple[SeriesKey, Slot, float]]] = {}
    heard: set[tuple[str, str]] = set()
    for key, slots in span.series.items():
        valid = [slot for slot in slots if slot.valid]
        interval = usual_interval(valid)
        planned = gaps.get(key.suite, 0.0)
        if interval is None or planned is None:
            continue
        interval = max(interval, planned)
        # The date of a run that lies ahead, by a clock that was put back since, says nothing.
        last = next((slot for slot in reversed(valid) if slot.started_at <= now), valid[-1])
        if now - max(last.started_at, up_since) > INTERVALS * interval:
            silent.setdefault((key.suite, key.target), []).append((key, last, interval))
        else:
            heard.add((key.suite, key.target))
    facts = []
    for of, series in silent.items():
        if of in heard:
            facts += [_fact(span, str(one[0]), [one], details) for one in series]
        else:
            facts.append(_fact(span, of[0], series, details))
    return tuple(facts)


def usual_interval(valid: Sequence[Slot]) -> float | None:
    """The median time between valid slots in seconds; ``None`` without a habit."""
    apart = sorted(series_state.intervals(valid))
    if len(apart) < _LEAST_SLOTS - 1 or sum(apart) < _LEAST_SECONDS:
        return None
    middle = statistics.median(apart)
    # The longest of ten: some runs may be skipped.
    long = apart[len(apart) * 9 // 10]
    return middle if middle > 0 and long <= _MAX_SPREAD * middle else None


def _fact(
    span: Span,
    subject: str,
    series: Sequence[tuple[SeriesKey, Slot, float]],
    details: Mapping[int, Detail],
) -> Fact:
    key, last, interval = max(series, key=lambda one: one[1].run_id)
    since = series_state.attempts_since(last.run_id, key, span.attempts)
    jobs = {(one.job, one.direction) for one, *_ in series}
    return fact(
        "RUNS-MISSING",
        f"a valid result every {text.duration(interval)}",
        _why(since, _codes(details, since, jobs)),
        subject=subject,
        identity=f"run {last.run_id}",
        evidence={
            "suite": key.suite,
            "target": key.target,
            "epoch": span.epoch_id,
            "change_run": last.run_id,
            "last_valid_at": text.moment(last.started_at),
            "interval_seconds": round(interval),
            "runs_since": len(since),
            "series": ", ".join(str(one) for one, *_ in series),
        },
        next_step=""
        if since
        else "check whether the timer runs: systemctl list-timers 'stripewright-*'",
        interval=text.duration(interval),
    )


def _why(since: Sequence[Attempt], codes: Sequence[str]) -> str:
    """What became of the runs since then, in words."""
    if not since:
        return "no run was started"
    states = Counter(one.state for one in since)
    invalid = f"complete, but not valid ({', '.join(codes)})" if codes else "complete"
    counted = ", ".join(
        f"{count} {invalid if state is RunState.COMPLETE else state.value}"
        for state, count in states.most_common()
    )
    reasons = Counter(one.reason for one in since if one.reason)
    told = [reason for reason, _ in reasons.most_common(_REASONS)]
    return f"{counted} run{'s' if len(since) > 1 else ''} since" + (
        f" ({'; '.join(told)})" if told else ""
    )


def _codes(
    details: Mapping[int, Detail], since: Sequence[Attempt], jobs: set[tuple[str, str]]
) -> list[str]:
    """The codes that made results of ``jobs`` not valid, the most frequent first."""
    found = Counter(
        finding.code
        for attempt in since
        if attempt.run_id in details
        for result in details[attempt.run_id].results
        if (result.job, result.direction) in jobs
        for finding in result.findings
        if finding.severity is Severity.BLOCK
    )
    return [code for code, _ in found.most_common()]
