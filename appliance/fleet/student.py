"""Student's t: how heavy tails are, and what they make of a score. Pure; standard library."""

from __future__ import annotations

import math

# How the 80th percentile of |t| stands to the median (quantiles 0.90 and 0.75 of Student's t; of
# the normal distribution 1.2816 / 0.6745), by degrees of freedom.
_TAILS = (
    (2.0, 2.309), (3.0, 2.141), (4.0, 2.070), (5.0, 2.031), (6.0, 2.006), (8.0, 1.978),
    (10.0, 1.961), (15.0, 1.939), (20.0, 1.929), (30.0, 1.919), (100.0, 1.906),
)  # fmt: skip
_HEAVIEST = _TAILS[0][0]


def freedom_of(tail: float) -> float:
    """The degrees of freedom of Student's t whose 80th percentile ÷ median of |t| is ``tail``."""
    above = _TAILS[0]
    if tail >= above[1]:
        return above[0]
    for below in _TAILS[1:]:
        if tail >= below[1]:
            share = (above[1] - tail) / (above[1] - below[1])
            return above[0] + share * (below[0] - above[0])
        above = below
    return _TAILS[-1][0]


def quartile(freedom: float) -> float:
    """The 75th percentile of Student's t (Cornish-Fisher: Abramowitz and Stegun 26.7.5)."""
    z = 0.674490
    return z + (z**3 + z) / 4 / freedom + (5 * z**5 + 16 * z**3 + 3 * z) / 96 / freedom**2


def two_sided(t: float, freedom: float) -> float:
    """P(|T| > t): the regularized incomplete beta function at ν/(ν+t²) (Abramowitz and Stegun
    26.7.1), by its continued fraction (26.5.8, Lentz's method).
    """
    x = freedom / (freedom + t * t)
    a, b = freedom / 2, 0.5
    if x >= 1.0:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta(1 - x, b, a)
    return _beta(x, a, b)


def _beta(x: float, a: float, b: float) -> float:
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        + a * math.log(x) + b * math.log1p(-x)
    ) / a  # fmt: skip
    tiny = 1e-300
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 300):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + step * d or tiny)
            c = 1 + step / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return front * value
