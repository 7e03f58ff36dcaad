"""Seeded series to judge a drift detector with: noise, wear of the data, and what changed.

A :class:`Recipe` and a seed give the same :class:`Series` on every machine: ``random.Random``
seeded with text, and nothing but the standard library.

``noise_pct`` is the standard deviation of the noise in per cent of the level. Two exceptions, both
because people say it so: for ``t3`` it is the scale (a third of t3's spread is in its tails: the
standard deviation is sqrt(3) times as much), and for the bimodal ones it is the standard deviation
of the main mode, in which also the distance of the second mode is counted. AR(1) noise has
``noise_pct`` as the standard deviation of its values, not of its innovations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

Noise = Callable[[Random], Iterator[float]]

SLOTS_A_DAY = 4
_LOGNORMAL_SIGMA = 0.5
_GAMMA_SHAPE = 2.0


@dataclass(frozen=True, slots=True)
class Series:
    """``changes`` are the indices of the first value of each new level (of a ramp: its begin)."""

    values: tuple[float, ...]
    changes: tuple[int, ...] = ()


def _gaussian(random: Random) -> Iterator[float]:
    while True:
        yield random.gauss(0.0, 1.0)


def _t3(random: Random) -> Iterator[float]:
    while True:
        chi_square = sum(random.gauss(0.0, 1.0) ** 2 for _ in range(3))
        yield random.gauss(0.0, 1.0) / math.sqrt(chi_square / 3)


def _exponential(random: Random) -> Iterator[float]:
    while True:
        yield random.expovariate(1.0) - 1.0


def _lognormal(random: Random) -> Iterator[float]:
    mean = math.exp(_LOGNORMAL_SIGMA**2 / 2)
    deviation = mean * math.sqrt(math.exp(_LOGNORMAL_SIGMA**2) - 1)
    while True:
        yield (random.lognormvariate(0.0, _LOGNORMAL_SIGMA) - mean) / deviation


def _gamma(random: Random) -> Iterator[float]:
    while True:
        draw = random.gammavariate(_GAMMA_SHAPE, 1.0)
        yield (draw - _GAMMA_SHAPE) / math.sqrt(_GAMMA_SHAPE)


def _uniform(random: Random) -> Iterator[float]:
    while True:
        yield (random.random() - 0.5) * math.sqrt(12)


def _left(noise: Noise) -> Noise:
    def mirrored(random: Random) -> Iterator[float]:
        return (-value for value in noise(random))

    return mirrored


def _bimodal(share: float, distance: float) -> Noise:
    def two_modes(random: Random) -> Iterator[float]:
        while True:
            away = distance if random.random() < share else 0.0
            yield random.gauss(away, 1.0)

    return two_modes


def autoregressive(random: Random, coefficient: float, last: float) -> Iterator[float]:
    """AR(1) of unit variance that goes on from ``last``."""
    innovation = math.sqrt(1 - coefficient**2)
    while True:
        last = coefficient * last + random.gauss(0.0, innovation)
        yield last


def _ar(coefficient: float) -> Noise:
    def process(random: Random) -> Iterator[float]:
        return autoregressive(random, coefficient, random.gauss(0.0, 1.0))

    return process


NOISES: dict[str, Noise] = {
    "gaussian": _gaussian,
    "t3": _t3,
    "uniform": _uniform,
    "exponential": _exponential,
    "lognormal": _lognormal,
    "gamma": _gamma,
    "left exponential": _left(_exponential),
    "left lognormal": _left(_lognormal),
    "left gamma": _left(_gamma),
    **{f"bimodal 10 % {d:+d}": _bimodal(0.10, d) for d in (-12, -8, -5, -4, -3, 3, 4, 5, 8, 12)},
    **{f"bimodal 20 % {d:+d}": _bimodal(0.20, d) for d in (-8, -5, -3, 3, 5, 8)},
    "ar 0.3": _ar(0.3),
    "ar 0.5": _ar(0.5),
    "ar 0.8": _ar(0.8),
}


@dataclass(frozen=True, slots=True)
class Move:
    """The level becomes ``pct`` per cent more (less than 0: less) than it was before this move.

    ``slots`` 0 is a step, else it goes there in a straight line: the value at ``at`` is the first
    that is off, the one at ``at + slots - 1`` the first that is all the way.
    """

    at: int
    pct: float
    slots: int = 0

    def factor(self, slot: int) -> float:
        if slot < self.at:
            return 1.0
        done = 1.0 if self.slots == 0 else min(1.0, (slot - self.at + 1) / self.slots)
        return 1.0 + self.pct / 100 * done


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a series is made. Nothing but noise, as long as there are no ``moves``.

    ``swing_pct``: amplitude of a daily sine, four slots a day. ``outliers``: chance of a value
    that is ``outlier_sigmas`` off, ``outlier_length`` in a row. ``quantum``: values are multiples
    of it. From ``wider_from`` on the noise is ``wider`` times as wide.
    """

    noise: str = "gaussian"
    noise_pct: float = 1.0
    slots: int = 360
    level: float = 412_000.0
    moves: tuple[Move, ...] = ()
    swing_pct: float = 0.0
    outliers: float = 0.0
    outlier_sigmas: float = 10.0
    outlier_length: int = 1
    quantum: float = 0.0
    wider: float = 1.0
    wider_from: int = 0

    def series(self, seed: int | str) -> Series:
        random = Random(f"{self.noise}/{self.noise_pct}/{self.slots}/{seed}")  # noqa: S311
        noise = list(islice(NOISES[self.noise](random), self.slots))
        strange = Random(f"outliers/{seed}")  # noqa: S311
        slot = 0
        while self.outliers and slot < self.slots:
            if strange.random() < self.outliers:
                sign = strange.choice((-1.0, 1.0))
                for hit in range(slot, min(slot + self.outlier_length, self.slots)):
                    noise[hit] += sign * self.outlier_sigmas
                slot += self.outlier_length
            slot += 1
        values = tuple(self._value(slot, one) for slot, one in enumerate(noise))
        return Series(values, tuple(move.at for move in self.moves))

    def _value(self, slot: int, noise: float) -> float:
        if slot >= self.wider_from:
            noise *= self.wider
        pct = self.noise_pct * noise + self.swing_pct * math.sin(2 * math.pi * slot / SLOTS_A_DAY)
        value = self.level * math.prod(move.factor(slot) for move in self.moves) * (1 + pct / 100)
        return round(value / self.quantum) * self.quantum if self.quantum else value

    def with_step(self, at: int, pct: float) -> Recipe:
        return replace(self, moves=(*self.moves, Move(at, pct)))

    def with_ramp(self, at: int, pct: float, slots: int) -> Recipe:
        return replace(self, moves=(*self.moves, Move(at, pct, slots)))
