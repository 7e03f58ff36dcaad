"""What a method does on many seeded series: how often it cries wolf, how late it is, how it dates.

A :data:`Method` gets a whole series and must not look ahead: the index at which it would have
raised each alarm, and the index that it names as the first of the new level.
"""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from tests.drift.series import Recipe, Series

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")
Method = Callable[[Sequence[float]], list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One series. ``found``: for each true change (delay, dating error), or None if missed.

    The delay is the number of changed values that it took, the alarm's own included: an alarm at
    the first changed value is a delay of 1. ``repeats`` are further findings of the same change.
    """

    points: int
    false: int
    found: tuple[tuple[int, int] | None, ...] = ()
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Tally:
    """All series of one recipe. Delays of missed changes count as infinite in the quantiles."""

    series: int
    points: int
    false: int
    delays: tuple[float, ...]
    errors: tuple[int, ...]
    repeats: int

    @property
    def false_per_10k(self) -> float:
        return 1e4 * self.false / self.points if self.points else 0.0

    @property
    def missed(self) -> int:
        return sum(math.isinf(delay) for delay in self.delays)

    def delay(self, share: float) -> float:
        """The least delay that at least ``share`` of the changes did not exceed."""
        return quantile(self.delays, share)

    def error(self, share: float) -> float:
        """The same of the absolute dating error of what was found."""
        return quantile([abs(error) for error in self.errors], share)

    def dated_within(self, slots: int) -> float:
        near = sum(abs(error) <= slots for error in self.errors)
        return near / len(self.errors) if self.errors else math.nan


def quantile(values: Sequence[float], share: float) -> float:
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def judge(series: Series, findings: Iterable[tuple[int, int]]) -> Outcome:
    """Which finding belongs to which change.

    A finding belongs to the change, begun by the time of the alarm, that its date is nearest to;
    one that is raised before anything changed is false. ``points`` are those before the first
    change: only there is an alarm false beyond dispute.
    """
    found: dict[int, tuple[int, int]] = {}
    false = repeats = 0
    for alarm, date in sorted(findings):
        begun = [change for change in series.changes if change <= alarm]
        if not begun:
            false += 1
            continue
        change = min(begun, key=lambda one: (abs(date - one), -one))
        if change in found:
            repeats += 1
        else:
            found[change] = (alarm - change + 1, date - change)
    points = series.changes[0] if series.changes else len(series.values)
    return Outcome(points, false, tuple(found.get(change) for change in series.changes), repeats)


def _one(method: Method, recipe: Recipe, seed: str) -> Outcome:
    series = recipe.series(seed)
    return judge(series, method(series.values))


def outcomes(method: Method, recipe: Recipe, count: int, seed: str = "") -> list[Outcome]:
    """``count`` series of the recipe, on all processors. ``method`` must be picklable."""
    seeds = [f"{seed}{number}" for number in range(count)]
    return of_each(partial(_one, method, recipe), seeds)


def of_each(work: Callable[[_Given], _Made], what: Sequence[_Given]) -> list[_Made]:
    """``work`` of each, on all processors; on this one where pytest-xdist uses all of them."""
    workers = min(os.cpu_count() or 1, len(what))
    if workers == 1 or "PYTEST_XDIST_WORKER" in os.environ:
        return [work(one) for one in what]
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        return pool.map(work, what, chunksize=max(1, len(what) // (8 * workers)))


def measure(method: Method, recipe: Recipe, count: int, seed: str = "") -> Tally:
    """False alarms, delays and dating errors over ``count`` seeded series of one recipe."""
    all_of_them = outcomes(method, recipe, count, seed)
    changes = [change for one in all_of_them for change in one.found]
    return Tally(
        series=count,
        points=sum(one.points for one in all_of_them),
        false=sum(one.false for one in all_of_them),
        delays=tuple(math.inf if found is None else found[0] for found in changes),
        errors=tuple(found[1] for found in changes if found is not None),
        repeats=sum(one.repeats for one in all_of_them),
    )
