"""The cumulative sum that raises an alarm, and the threshold that suits a series' own noise. Pure.

Page's test (Page 1954, Continuous Inspection Schemes, Biometrika 41:100) adds up scores less a
reference value and starts again at zero: ``S = max(0, S + z - K)``, alarm when S is above a
threshold. Scores are clipped, so that one slot, however bad, cannot raise it alone.

How often S passes h with no change falls as exp(-θh), where θ > 0 solves E exp(θ(z - K)) = 1
(Lundberg's exponent: Asmussen, Applied Probability and Queues, 2nd ed., XIII.5; for this test
Siegmund, Sequential Analysis, 1985, ch. X). So the threshold for a wanted rate follows from the
scores of the baseline itself: one with a second mode, or with long tails, gets a higher one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# Scores up to here are noise.
REFERENCE = 1.75
# What one slot can add at most is CLIP - REFERENCE.
CLIP = 4.5
_MOST = CLIP - REFERENCE
# With none of the alarms below can fewer than three slots raise one: two add 5.5 at most.
LEAST_THRESHOLD = 5.8
_FEW = 12.0
# Slots between two false alarms of one direction that the threshold is made for.
_WANTED_RUN = 8_000.0
# The sum does not stop at the threshold but jumps over it, and does not start at zero but under
# it: such a test behaves as if its threshold were higher by this (Siegmund 1985, (2.57)).
_OVERSHOOT = 2.0
# As many slots at the clip are taken to be in every baseline as have not been seen in it: the
# tail of a short baseline is not known (half an observation is Jeffreys' prior of a share).
_UNSEEN = 0.5
# Below it an alarm would need more than ten slots at the clip: the scale has to grow instead.
LEAST_EXPONENT = 0.4


def clipped(score: float) -> float:
    """The score within ±CLIP."""
    return CLIP if score > CLIP else -CLIP if score < -CLIP else score


def exponent(scores: Sequence[float], correlation: float) -> float:
    """Lundberg's θ of clipped ``scores`` in the direction of positive ones; 0 if there is none.

    Scores that follow each other with lag-1 ``correlation`` r have sums whose variance is
    (1+r)/(1-r) times as large: normal ones have θ = 2K(1-r)/(1+r), and no more is given to any.
    """
    steps = [score - REFERENCE for score in scores]
    total = len(steps) + _UNSEEN
    if sum(steps) + _UNSEEN * _MOST >= 0:
        return 0.0
    # The function is convex, zero at 0 and falling there: Newton's method from the right of the
    # other zero goes down to it. The unseen slots alone are an upper limit.
    theta = math.log(total / _UNSEEN) / _MOST
    for _ in range(50):
        powers = [math.exp(theta * step) for step in steps]
        unseen = _UNSEEN * math.exp(theta * _MOST)
        above = sum(powers) + unseen - total
        slope = sum(p * s for p, s in zip(powers, steps, strict=True)) + unseen * _MOST
        if slope <= 0:  # rounding
            break
        theta -= above / slope
        if above < 1e-6 * total:
            break
    return max(0.0, min(theta, 2 * REFERENCE * (1 - correlation) / (1 + correlation)))


def threshold(theta: float, count: int) -> float:
    """The threshold that is passed once in the wanted run, for a positive exponent.

    The exponent was found from ``count`` scores; few of them may have missed a long tail.
    """
    least = LEAST_THRESHOLD + _FEW / count
    return max(least, math.log(_WANTED_RUN) / theta - _OVERSHOOT)
