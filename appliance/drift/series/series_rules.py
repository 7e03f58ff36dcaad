"""PERF-MEMBER and PERF-LATENCY-MODE: what two of the last three slots of a series show. Pure.

Unlike a change of level it follows from a rule and has no date of its own. It is one fact for
each disk or series, from the epoch's beginning to its end: it closes when the slots do not show
it any more. Whether it is the same one when they do again: :func:`.confirmation.identity`.

A disk that begins to retry reads, or to stop for its own housekeeping, answers one I/O in a
hundred after 20 ms and all others as always: IOPS and median hardly move. Histograms show it:
the share of I/Os beyond the baseline's far quantiles. How much that share moves from run to run
is taken from the baseline's own runs, so that a tail that was always ragged raises nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from appliance import text
from appliance.drift.codes import fact
from appliance.drift.series import member_rules, series_state
from appliance.drift.series.series_state import NEEDED, Bins, Known, Survey
from appliance.figures.histogram import merge, percentile_ns
from appliance.model.findings import DriftState, Fact, SeriesKey
from appliance.model.slots import Slot, Span

# Beyond a far quantile of the baseline by so much: apart from it, and not its edge.
_CUTS = ((99.0, 1.5), (99.9, 1.25))
# The least share of I/Os that is worth a word, and how many times what the baseline ever had.
LEAST_SHARE = 0.005
_TIMES_BASELINE = 4.0
# A median that is outside of the baseline's own by more is a matter of the series itself.
MEDIAN_BAND = 0.05
# Fewer I/Os say nothing about one in two hundred.
_LEAST_IOS = 2000
_PER_OCTAVE = 4


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
    if normal is None or not one.is_judged:
        return None
    latest = one.latest
    if statistics.median(slot.value for slot in latest) >= normal.low:
        return None
    of = (one.key.job, one.key.direction, span.fingerprint)
    seen = [found for detail in known.of(latest) if (found := member_rules.of_job(detail, *of))]
    for last in seen:
        if sum(other.serial == last.serial for other in seen) >= NEEDED:
            now = _ratio(span, one, last.serial, latest, known)
            then = _ratio(span, one, last.serial, one.early, known)
            if now is not None and then is not None and now >= 2 * max(1.0, then):
                return last, now, then
    return None


def _ratio(
    span: Span, one: Survey, serial: str, slots: Iterable[Slot], known: Known
) -> float | None:
    values = [
        ratios[serial]
        for detail in known.of(slots)
        for result in series_state.results(one.key, detail)
        if serial in (ratios := member_rules.ratios(result, detail, span.fingerprint))
    ]
    return statistics.median(values) if values else None


def _member_fact(
    span: Span, serial: str, found: Sequence[tuple[Survey, member_rules.Outlier, float, float]]
) -> Fact:
    one, outlier, now, then = found[0]
    began = one.slots[one.standing[-1].began] if one.standing else one.latest[0]
    young = one.young
    return fact(
        "PERF-MEMBER",
        f"{then:.1f} times the await of the others",
        f"{now:.1f} times",
        subject=serial,
        identity=f"epoch {span.epoch_id}",
        severity=series_state.severity(young),
        member=serial,
        evidence={
            **series_state.of_series(span, one.key),
            **outlier.evidence,
            "ratio": round(now, 1),
            "ratio_before": round(then, 1),
            "series": ", ".join(str(other.key) for other, *_ in found),
            "change_run": began.run_id,
            "change_at": text.moment(began.started_at),
            "last_run": one.latest[-1].run_id,
            **young,
        },
        state=DriftState.SUSPECT,
        outlier=outlier.words,
        before=f"{then:.1f}",
    )


# ----------------------------------------------------------------------- PERF-LATENCY-MODE


def modes(span: Span, one: Survey, known: Known) -> list[Fact]:
    early, latest = one.early, one.latest
    if not one.is_judged or not may_have_mode(
        _percentiles(one.key, early, known), _percentiles(one.key, latest, known)
    ):
        return []
    found = second_mode(
        [known.bins(one.key, slot.run_id) for slot in early],
        [known.bins(one.key, slot.run_id) for slot in latest],
    )
    if found is None:
        return []
    began, young = latest[found.first], one.young
    return [
        fact(
            "PERF-LATENCY-MODE",
            f"at most {found.usual_share:.2%} of the I/Os beyond {text.latency(found.cut_ns)}",
            f"{found.share:.1%}",
            subject=str(one.key),
            identity=f"epoch {span.epoch_id}, baseline from run {one.slots[0].run_id}",
            severity=series_state.severity(young),
            evidence={
                **series_state.of_series(span, one.key),
                "mode_ns": found.peak_ns,
                "cut_ns": found.cut_ns,
                "share_percent": round(100 * found.share, 2),
                "usual_share_percent": round(100 * found.usual_share, 3),
                "change_run": began.run_id,
                "change_at": text.moment(began.started_at),
                "last_run": latest[-1].run_id,
                **young,
            },
            state=DriftState.SUSPECT,
            peak=text.latency(found.peak_ns),
            usual=f"{found.usual_share:.2%}",
            cut=text.latency(found.cut_ns),
        )
    ]


def _percentiles(key: SeriesKey, slots: Iterable[Slot], known: Known) -> list[Mapping[str, int]]:
    return [
        result.percentiles_ns
        for detail in known.of(slots)
        for result in series_state.results(key, detail)
    ]


@dataclass(frozen=True, slots=True)
class Mode:
    """A second mode: its peak, and the share of all I/Os beyond ``cut_ns`` in the slots that
    show it, beside the largest that the baseline's slots ever had. ``first`` is the index of the
    first of the given slots that shows it.
    """

    peak_ns: int
    cut_ns: int
    share: float
    usual_share: float
    first: int


def second_mode(baseline: Sequence[Bins], latest: Sequence[Bins]) -> Mode | None:
    """The mode that at least two of the ``latest`` three slots show and no ``baseline`` slot does.

    Histograms are middle of a bin in ns -> count, one a slot, oldest first.
    """
    known = [bins for bins in baseline if sum(bins.values()) >= _LEAST_IOS]
    if len(known) < NEEDED:
        return None
    normal = merge(known)
    medians = [ns for bins in known if (ns := percentile_ns(bins, 50.0)) is not None]
    still = (min(medians) * (1 - MEDIAN_BAND), max(medians) * (1 + MEDIAN_BAND))
    for percent, apart in _CUTS:
        quantile = percentile_ns(normal, percent)
        if quantile is None:
            continue
        cut_ns = round(quantile * apart)
        usual = max(share_beyond(bins, cut_ns) for bins in known)
        seen = [
            index
            for index, bins in enumerate(latest)
            if _stands_still(bins, still) and has_mode(bins, cut_ns, usual)
        ]
        if len(seen) >= NEEDED:
            together = merge(latest[index] for index in seen)
            return Mode(
                peak_ns=_peak(together, cut_ns),
                cut_ns=cut_ns,
                share=share_beyond(together, cut_ns),
                usual_share=usual,
                first=seen[0],
            )
    return None


def has_mode(bins: Bins, cut_ns: int, usual_share: float) -> bool:
    """Whether one more slot shows the mode beyond ``cut_ns``, where ``usual_share`` is ordinary."""
    return share_beyond(bins, cut_ns) >= max(LEAST_SHARE, _TIMES_BASELINE * usual_share)


def may_have_mode(
    baseline: Sequence[Mapping[str, int]], latest: Sequence[Mapping[str, int]]
) -> bool:
    """Whether it is worth while to read histograms: by fio's percentiles (``"99.500000"``)."""
    limits = [
        apart * sorted(values)[len(values) // 2]
        for percent, apart in _CUTS
        if (values := [found[key] for found in baseline if (key := f"{percent:.6f}") in found])
    ]
    # A share of 0.5 % beyond the cut is a percentile of 99.5 beyond it; a median of percentiles
    # is not the percentile of the sum.
    far = 0.8 * min(limits, default=math.inf)
    return sum(found.get("99.500000", 0) >= far for found in latest) >= NEEDED


def share_beyond(bins: Bins, cut_ns: int) -> float:
    """The share of I/Os that took longer than ``cut_ns``."""
    total = sum(bins.values())
    return sum(count for ns, count in bins.items() if ns > cut_ns) / total if total else 0.0


def _stands_still(bins: Bins, between: tuple[float, float]) -> bool:
    low, high = between
    median = percentile_ns(bins, 50.0)
    return sum(bins.values()) >= _LEAST_IOS and median is not None and low <= median <= high


def _peak(bins: Bins, cut_ns: int) -> int:
    """The middle of the fullest quarter of an octave beyond ``cut_ns``."""
    sums: dict[int, int] = {}
    for ns, count in bins.items():
        if ns > cut_ns:
            at = math.floor(math.log2(ns) * _PER_OCTAVE)
            sums[at] = sums.get(at, 0) + count
    fullest = max(sums, key=lambda at: (sums[at], -at))
    return round(2 ** ((fullest + 0.5) / _PER_OCTAVE))
