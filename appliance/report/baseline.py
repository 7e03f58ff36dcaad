"""What is normal for a job, from earlier valid runs of it in the same epoch. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# With fewer the interval would be the range of a handful of values.
NEEDED_RUNS = 12
_TAIL = 0.05


@dataclass(frozen=True, slots=True)
class Baseline:
    """``runs`` earlier values; the rest is ``None`` with fewer than :data:`NEEDED_RUNS`.

    ``low`` and ``high`` enclose the next value with ``percent`` probability if nothing has
    changed. ``value`` is the one that is compared, ``None`` if it may not be (not valid).
    """

    runs: int
    value: float | None = None
    median: float | None = None
    low: float | None = None
    high: float | None = None
    percent: float | None = None

    @property
    def change_percent(self) -> float | None:
        """The value against the median."""
        if self.value is None or not self.median:
            return None
        return 100 * (self.value / self.median - 1)

    @property
    def position(self) -> str:
        """``within``, ``below`` or ``above`` the interval; empty where it is not known."""
        if self.value is None or self.low is None or self.high is None:
            return ""
        if self.value < self.low:
            return "below"
        return "above" if self.value > self.high else "within"


def baseline(earlier: Sequence[float], value: float | None) -> Baseline:
    """The baseline that ``earlier`` valid values make for ``value``.

    The interval lies between the j-th lowest and the j-th highest of n values. If values
    are exchangeable, the next one falls in it with probability (n + 1 - 2j) / (n + 1),
    whatever their distribution (a prediction interval from order statistics; Hahn, Meeker
    and Escobar, Statistical Intervals, 2nd ed., chapter 5). j is the largest that leaves
    at least 90 %, and 1 where no j does.
    """
    n = len(earlier)
    if n < NEEDED_RUNS:
        return Baseline(n, value)
    ordered = sorted(earlier)
    j = max(1, int((n + 1) * _TAIL))
    return Baseline(
        runs=n,
        value=value,
        median=statistics.median(ordered),
        low=ordered[j - 1],
        high=ordered[n - j],
        percent=100 * (n + 1 - 2 * j) / (n + 1),
    )
