"""Whether a device has reached its steady state. Pure.

Source: SNIA Solid State Storage Performance Test Specification (PTS) 2.0.2, definition of
"Steady State" (2.1.24): over a window of five rounds the range of the tracked value is at
most 20 % of its mean in the window, and the range of the best straight line through it at
most 10 %. The specification ends after 25 rounds, whatever was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WINDOW_ROUNDS = 5
MAX_ROUNDS = 25
MAX_RANGE = 0.20
MAX_SLOPE_RANGE = 0.10


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The last rounds of a workload. ``range_share`` and ``slope_share`` are shares of the
    mean; both are ``None`` before there are :data:`WINDOW_ROUNDS` rounds.
    """

    rounds: int
    range_share: float | None = None
    slope_share: float | None = None

    @property
    def steady(self) -> bool:
        return (
            self.range_share is not None
            and self.slope_share is not None
            and self.range_share <= MAX_RANGE
            and self.slope_share <= MAX_SLOPE_RANGE
        )

    @property
    def in_words(self) -> str:
        """``steady after 7 rounds (range 12 %, slope 4 % of the mean)``."""
        if self.range_share is None or self.slope_share is None:
            return f"not known after {self.rounds} rounds"
        return (
            f"{'steady' if self.steady else 'not steady'} after {self.rounds} rounds "
            f"(range {self.range_share * 100:.0f} %, slope {self.slope_share * 100:.0f} % "
            "of the mean)"
        )


def judge(values: Sequence[float]) -> Steadiness:
    """The steadiness of ``values``, one a round and the latest last (IOPS, or bytes a second)."""
    window = values[-WINDOW_ROUNDS:]
    if len(window) < WINDOW_ROUNDS:
        return Steadiness(len(values))
    mean = sum(window) / WINDOW_ROUNDS
    if mean <= 0:
        return Steadiness(len(values))
    return Steadiness(
        len(values),
        range_share=(max(window) - min(window)) / mean,
        slope_share=abs(_slope(window)) * (WINDOW_ROUNDS - 1) / mean,
    )


def _slope(values: Sequence[float]) -> float:
    """The slope of the least-squares line through ``values`` at 0, 1, 2, 3, 4."""
    middle_x, middle_y = (len(values) - 1) / 2, sum(values) / len(values)
    above = sum((x - middle_x) * (y - middle_y) for x, y in enumerate(values))
    below = sum((x - middle_x) ** 2 for x in range(len(values)))
    return above / below
