"""Latency histograms: added up over runs, and percentiles of the sum. Pure.

The bins are fio's: 64 bins for each doubling of the latency, so that the middle of a bin, which
stands for it, is less than 0.8 % from anything in it (fio's stat.h, FIO_IO_U_PLAT_BITS = 6). A
percentile is taken as fio's calc_clat_percentiles takes it: the middle of the first bin at
which the count of everything up to it reaches that share of all. So it is the very
figure that fio would have printed for all the runs as one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping


def merge(histograms: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """The sum of histograms: middle of a bin in ns -> count, ascending."""
    total: dict[int, int] = {}
    for bins in histograms:
        for middle_ns, count in bins.items():
            total[middle_ns] = total.get(middle_ns, 0) + count
    return dict(sorted(total.items()))


def percentile_ns(bins: Mapping[int, int], percent: float) -> int | None:
    """The latency in ns that ``percent`` (above 0, to 100) of all I/Os did not exceed.

    ``None`` for an empty histogram. Off by less than 0.8 %, the half of a bin.
    """
    ordered = sorted(bins.items())
    reached = itertools.accumulate(count for _, count in ordered)
    needed = percent / 100.0 * sum(bins.values())
    for (middle_ns, _), so_far in zip(ordered, reached, strict=True):
        if so_far > 0 and so_far >= needed:
            return middle_ns
    return None
