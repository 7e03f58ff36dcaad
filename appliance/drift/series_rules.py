"""PERF-MEMBER and PERF-LATENCY-MODE: what two of the last three slots of a series show. Pure.

Unlike a change of level it is told by a rule and has no date of its own. It is one fact for
each disk or series, from the epoch's beginning to its end: it closes when the slots do not show
it any more. Whether it is the same one when they do again: :func:`.confirmation.identity`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from appliance import text
from appliance.drift import latency, member_rules, series_context
from appliance.drift.series_context import Known
from appliance.drift.series_state import Survey
from appliance.model import DriftState, Fact, SeriesKey, Slot, Span, advice


def slow_members(span: Span, surveys: Sequence[Survey], known: Known) -> list[Fact]:
    """One fact for each slow disk, with every series that shows it."""
    by_serial: dict[str, list[tuple[Survey, member_rules.Outlier, float, float]]] = {}
    for one in surveys:
        found = _slow_member(span, one, known)
        if found is not None:
            by_serial.setdefault(found[0].serial, []).append((one, *found))
    return [_member_fact(span, serial, found) for serial, found in sorted(by_serial.items())]


def _slow_member(
    span: Span, one: Survey, known: Known
) -> tuple[member_rules.Outlier, float, float] | None:
    """The member that two of the last three slots show, far further from the others than the
    baseline had it, in a series that has lost something; with its ratio now and then.

    A longer queue at one member while the stripe does what it always did is no drift.
    """
    normal = one.normal
    if normal is None or not series_context.is_judged(one):
        return None
    latest = series_context.latest(one)
    if statistics.median(slot.iops for slot in latest) >= normal.low:
        return None
    seen = [
        outlier
        for slot in latest
        if slot.run_id in known.details
        and (
            outlier := member_rules.of_job(
                known.details[slot.run_id], one.key.job, one.key.direction, span.fingerprint
            )
        )
    ]
    for last in seen:
        if sum(other.serial == last.serial for other in seen) >= latency.NEEDED:
            now = _ratio(span, one, last.serial, latest, known)
            then = _ratio(span, one, last.serial, series_context.early(one), known)
            if now is not None and then is not None and now >= 2 * max(1.0, then):
                return last, now, then
    return None


def _ratio(
    span: Span, one: Survey, serial: str, slots: Iterable[Slot], known: Known
) -> float | None:
    values = [
        ratios[serial]
        for slot in slots
        if (detail := known.details.get(slot.run_id)) is not None
        for result in series_context.results(one.key, detail)
        if serial in (ratios := member_rules.ratios(result, detail, span.fingerprint))
    ]
    return statistics.median(values) if values else None


def _member_fact(
    span: Span, serial: str, found: Sequence[tuple[Survey, member_rules.Outlier, float, float]]
) -> Fact:
    one, outlier, now, then = found[0]
    began = one.slots[one.standing[-1].began] if one.standing else series_context.latest(one)[0]
    young = series_context.young(one)
    return Fact(
        code="PERF-MEMBER",
        subject=serial,
        identity=f"epoch {span.epoch_id}",
        summary=f"{outlier.words}: {now:.1f} times as long as the others, {then:.1f} times before",
        severity=series_context.severity(young),
        expected=f"{then:.1f} times the await of the others",
        observed=f"{now:.1f} times",
        member=serial,
        evidence={
            **series_context.of_series(span, one.key),
            "member_name": outlier.member,
            "await_ms": round(outlier.slow_ms, 3),
            "others_await_ms": round(outlier.others_ms, 3),
            "ratio": round(now, 1),
            "ratio_before": round(then, 1),
            "confidence": outlier.confidence,
            "why": outlier.why,
            "series": ", ".join(str(other.key) for other, *_ in found),
            "change_run": began.run_id,
            "change_at": text.moment(began.started_at),
            "last_run": series_context.latest(one)[-1].run_id,
            **young,
        },
        next_step="see whether the disk warns, too (stripewright drift list); on a cloud machine "
        "save the data, then stop and start it: that gives other disks, and empty ones; to "
        f"measure each member alone, {advice.MEMBERS_ALONE}",
        state=DriftState.SUSPECT,
    )


# ----------------------------------------------------------------------- PERF-LATENCY-MODE


def modes(span: Span, one: Survey, known: Known) -> list[Fact]:
    early, latest = series_context.early(one), series_context.latest(one)
    if not series_context.is_judged(one) or not latency.may_have_mode(
        _percentiles(one.key, early, known), _percentiles(one.key, latest, known)
    ):
        return []
    found = latency.second_mode(
        [known.bins(one.key, slot.run_id) for slot in early],
        [known.bins(one.key, slot.run_id) for slot in latest],
    )
    if found is None:
        return []
    began, young = latest[found.first], series_context.young(one)
    return [
        Fact(
            code="PERF-LATENCY-MODE",
            subject=str(one.key),
            identity=f"epoch {span.epoch_id}, baseline from run {one.slots[0].run_id}",
            summary=f"{one.key}: {found.share:.1%} of the I/Os take about "
            f"{text.latency(found.peak_ns)}; before, at most {found.usual_share:.2%} took longer "
            f"than {text.latency(found.cut_ns)}; the median stands still",
            severity=series_context.severity(young),
            expected=f"at most {found.usual_share:.2%} of the I/Os beyond "
            f"{text.latency(found.cut_ns)}",
            observed=f"{found.share:.1%}",
            evidence={
                **series_context.of_series(span, one.key),
                "mode_ns": found.peak_ns,
                "cut_ns": found.cut_ns,
                "share_percent": round(100 * found.share, 2),
                "usual_share_percent": round(100 * found.usual_share, 3),
                "change_run": began.run_id,
                "change_at": text.moment(began.started_at),
                "last_run": latest[-1].run_id,
                **young,
            },
            next_step="see the histogram: stripewright report --output FILE.html; then the disks' "
            "own health and journalctl -k of that time",
            state=DriftState.SUSPECT,
        )
    ]


def _percentiles(key: SeriesKey, slots: Iterable[Slot], known: Known) -> list[Mapping[str, int]]:
    return [
        result.percentiles_ns
        for slot in slots
        if (detail := known.details.get(slot.run_id)) is not None
        for result in series_context.results(key, detail)
    ]
