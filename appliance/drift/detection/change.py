"""What the detector says: a change, and all that one pass over a series found. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from appliance.drift.detection.normal import Baseline

Direction = Literal["down", "up"]
Shape = Literal["step", "ramp", "spike"]
# A level nearer to zero than so many of its scales may as well be zero.
_FROM_ZERO = 3.0


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a series.

    ``change_slot`` is the first slot of the new regime and may be dated better while the new
    level settles; ``alarm_slot``, at which the statistic alone raised it, never moves.
    ``effect_pct`` is the new level against ``baseline`` in percent, signed; ``None`` where the
    baseline is not positive. Beside zero it is a number and means little: what people are told
    is ``percent``. ``provisional``: the baseline had fewer than 30 slots. A ``spike``
    was over within five slots. ``settled``: the new level stands still, or something else came.
    """

    change_slot: int
    alarm_slot: int
    direction: Direction
    effect_pct: float | None
    provisional: bool
    baseline: Baseline
    shape: Shape = "step"
    settled: bool = False
    epoch: str = ""

    @property
    def percent(self) -> float | None:
        """``effect_pct`` where a percentage of the level means something.

        ``None`` where the level of ``baseline`` is below 3 of its scales towards zero
        (``scale_down``): then it cannot be told from zero by its own scatter. So it is for
        every level that is zero or negative.
        """
        if self.baseline.median < _FROM_ZERO * self.baseline.scale_down:
            return None
        return self.effect_pct


@dataclass(frozen=True, slots=True)
class Detection:
    """What one pass over a series found; ``baseline`` is that of its end, if it has one."""

    changes: tuple[Change, ...]
    baseline: Baseline | None
    count: int

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The levels below and above which a slot counts towards an alarm, for charts."""
        return None if self.baseline is None else (self.baseline.low, self.baseline.high)
