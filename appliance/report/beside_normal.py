"""A result beside what is normal for its series. Pure.

What is normal is drift's word (:mod:`appliance.drift.detection.normal`), so that a report, a
screen and a finding never contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from appliance.drift.detection import normal as detection

# With fewer drift knows no level either.
NEEDED_RUNS = detection.LEAST


class Normal(NamedTuple):
    """A series of the run's epoch: its valid ``runs``, and drift's baseline, if there is one."""

    runs: int
    baseline: detection.Baseline | None


NOT_KNOWN = Normal(0, None)


@dataclass(frozen=True, slots=True)
class Baseline:
    """``runs`` valid values; ``median``, and ``low`` and ``high``, between which a value is normal,
    are ``None`` while there are too few. ``learned`` is how many of them the baseline is made of.
    ``value`` is the one that is compared, ``None`` if it may not be (not valid).
    """

    runs: int
    value: float | None = None
    median: float | None = None
    low: float | None = None
    high: float | None = None
    learned: int = 0

    @property
    def change_percent(self) -> float | None:
        """The value against the median."""
        if self.value is None or not self.median:
            return None
        return 100 * (self.value / self.median - 1)

    @property
    def position(self) -> str:
        """``within``, ``below`` or ``above`` what is normal; empty where it is not known."""
        if self.value is None or self.low is None or self.high is None:
            return ""
        if self.value < self.low:
            return "below"
        return "above" if self.value > self.high else "within"


def baseline(normal: Normal, value: float | None) -> Baseline:
    """``value`` beside what is normal."""
    known = normal.baseline
    if known is None:
        return Baseline(normal.runs, value)
    return Baseline(normal.runs, value, known.median, known.low, known.high, known.count)
