"""A second mode in the latency while its median stands still. Pure.

A disk that begins to retry reads, or to stop for its own housekeeping, answers one I/O in a
hundred after 20 ms and all others as always: IOPS and median hardly move. Histograms show it:
the share of I/Os beyond the baseline's far quantiles. How much that share moves from run to run
is taken from the baseline's own runs, so that a tail that was always ragged raises nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appliance.figures.histogram import merge, percentile_ns

Bins = Mapping[int, int]

# Beyond a far quantile of the baseline by so much: apart from it, and not its edge.
_CUTS = ((99.0, 1.5), (99.9, 1.25))
# The least share of I/Os that is worth a word, and how many times what the baseline ever had.
LEAST_SHARE = 0.005
_TIMES_BASELINE = 4.0
# A median that is outside of the baseline's own by more is a matter of the series itself.
MEDIAN_BAND = 0.05
# The last slots that are looked at, and how many of them must show it.
LAST = 3
NEEDED = 2
# Fewer I/Os say nothing about one in two hundred.
_LEAST_IOS = 2000
_PER_OCTAVE = 4


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
