"""Which machine, and which disk, is not like its siblings. SQL aggregates, and this decides.

A machine stands beside all of the same type, suite, job and conditions on the same day: how much
slower it is than their median, as a logarithm. A member stands beside the others of its own stripe,
in the same run (:mod:`appliance.drift.series.member_rules`): nothing that slows all of a machine
touches it. Of each such series a few statistics are tested: its level over short and long spans (a
median, which one odd run cannot move), how far its level has moved, and how far its slow days are
from its usual ones.

How far siblings are apart without any fault is measured, not assumed. The scale of a statistic is
that of the middle half of its siblings (1.4826 × the median deviation), moderated by that of all
series of the job, as few siblings know their own badly (Smyth 2004, Linear Models and Empirical
Bayes Methods, SAGMB 3:3). Its tails are those of Student's t with as many degrees of freedom as put
as much beyond the 80th percentile as the fleet has there (after Efron 2004, Large-Scale
Simultaneous Hypothesis Testing, JASA 99:96). So a fleet that is noisy by nature raises its own bar.

No unit is named for one series alone, and over all units the false discovery rate is held
(Benjamini and Hochberg 1995, JRSS B 57:289).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from appliance.drift.detection import dating
from appliance.drift.detection.normal import median
from appliance.fleet import beside_sql, duck, student
from appliance.fleet.places import Fleet

# The share of those named that may be like the others after all.
MOST_FALSE = 0.05
# What is nearer to the siblings is no trouble: 3 % of IOPS, 10 % of a latency.
_LEAST = {"iops": math.log(1.03), "p99": math.log(1.10), "await": math.log(1.10)}


class Unit(NamedTuple):
    """A machine, or one of its disks by its serial."""

    machine: str
    member: str = ""


class Tests(NamedTuple):
    """How many statistics a unit has, in how many series."""

    statistics: int
    series: int


class How(StrEnum):
    """In what a unit differs."""

    LEVEL = "level"
    MOVED = "moved"
    AT_TIMES = "at times"


# By the first letter of a statistic's name.
_HOW = {"l": How.LEVEL, "m": How.MOVED, "t": How.AT_TIMES}


@dataclass(frozen=True, slots=True)
class Odd:
    """A unit that is not like its siblings, by the series in which that is plainest.

    ``figure`` is ``iops``, ``p99`` or, of a member, ``await``; ``effect`` the share by which that
    differs (-0.08: 8 % less). ``since`` is a day, empty where it was so from the first.
    ``q_value`` is the share of false ones among those as plain as this, ``series`` in how many it
    shows. ``siblings`` is how many units it was compared with. ``days`` has how much slower it was
    than its siblings on each day of that series, as a logarithm.
    """

    unit: Unit
    machine_type: str
    suite: str
    job: str
    direction: str
    figure: str
    how: How
    effect: float
    since: str
    q_value: float
    series: int
    siblings: int
    days: tuple[tuple[str, float], ...] = ()

    @property
    def worse(self) -> bool:
        return (self.effect < 0) == (self.figure == "iops")


class Statistic(NamedTuple):
    """One statistic of one series of a unit, or without a job that of all its series together.

    ``slower_log`` is the logarithm of how much slower it is, ``score`` that in standard deviations
    of its ``siblings``; ``tail`` is the 80th percentile of all units' scores ÷ their median.
    """

    unit: Unit
    series: tuple[str, ...]
    figure: str
    name: str
    slower_log: float
    score: float
    tail: float
    siblings: int

    @property
    def effect(self) -> float:
        return effect_of(self.figure, self.slower_log)


def effect_of(figure: str, slower_log: float) -> float:
    """The share by which ``figure`` differs in what is that much slower."""
    # Of a file that is not true the exponent may be any number.
    return math.expm1(min(700.0, -slower_log if figure == "iops" else slower_log))


def find(fleet: Fleet) -> list[Odd]:
    """The odd ones, the plainest first."""
    beside_sql.macros(fleet.database)
    far: list[Statistic] = []
    tests: dict[Unit, Tests] = {}
    for days, daily in (
        ("machine_days", beside_sql.machines_sql),
        ("member_days", beside_sql.members_sql),
    ):
        for table, sql in beside_sql.steps(days, daily(fleet.present), fleet.present):
            fleet.make(table, sql)
        for machine, member, *counts in fleet.all(beside_sql.tests_sql("units")):
            tests[Unit(machine, member)] = Tests(*counts)
        for machine, member, *rest in fleet.all(beside_sql.far_sql("all_scores")):
            far.append(Statistic(Unit(machine, member), tuple(rest[:5]), *rest[5:]))
    return _dated(fleet, judge(far, tests))


def judge(far: Iterable[Statistic], tests: Mapping[Unit, Tests]) -> list[Odd]:
    """Which units are discoveries by what is ``far``; ``tests`` are those of every unit. Pure."""
    found: dict[tuple[Unit, bool], list[tuple[float, Statistic]]] = {}
    for one in far:
        slower = one.slower_log > 0
        # A disk that is quicker than its neighbours is no trouble, and often has a slow neighbour.
        if slower or not one.unit.member:
            found.setdefault((one.unit, slower), []).append((p_value(one), one))
    least: dict[Unit, float] = {}
    best: dict[Unit, Odd] = {}
    for (unit, _), tried in found.items():
        p, shows = _of_unit(tried, tests[unit])
        large = [one for one in tried if abs(one[1].slower_log) >= _LEAST[one[1].figure]]
        if large and p < least.get(unit, 1.0):
            _, plainest = min(
                large, key=lambda one: (not one[1].series[-1], one[0], -abs(one[1].slower_log))
            )
            least[unit], best[unit] = p, _odd(plainest, shows)
    levels = {unit for (unit, slower), tried in found.items() if slower and _level(tried)}
    for machine, members in _pairs(tests).items():
        # Of two members one mirrors the other: what is slow most of the time makes its neighbour
        # quick, and slower at times. So the slower level counts before what is plainer.
        units = [Unit(machine, one) for one in members]
        least.pop(max(units, key=lambda one: (one not in levels, least.get(one, 2))), 0)
    return sorted(
        (
            replace(best[unit], q_value=q_value)
            for unit, q_value in q_values(least, len(tests)).items()
            if q_value <= MOST_FALSE
        ),
        key=lambda one: (one.q_value, -abs(one.effect), one.unit),
    )


def _level(tried: Iterable[tuple[float, Statistic]]) -> bool:
    return any(_HOW[one.name[0]] is How.LEVEL for _, one in tried)


def _pairs(units: Iterable[Unit]) -> dict[str, list[str]]:
    """The machines whose stripe has two members, with those."""
    found: dict[str, list[str]] = {}
    for machine, member in units:
        if member:
            found.setdefault(machine, []).append(member)
    return {machine: members for machine, members in found.items() if len(members) == 2}


def _of_unit(tried: Sequence[tuple[float, Statistic]], tests: Tests) -> tuple[float, int]:
    """Its p value, and in how many series it is plain.

    The plainest of many is where a tail that is heavier than it looks deceives. So the second
    plainest series counts: of K p values the second least times K/2 is one again, however they
    depend on each other (Rüger 1978, Das maximale Signifikanzniveau des Tests, Metrika 25:171).
    Or all of them together do, as one more test.
    """
    of_series: dict[tuple[str, ...], float] = {}
    each = tests.statistics / tests.series
    for p, one in tried:
        of_series[one.series] = min(1.0, p * each, of_series.get(one.series, 1.0))
    together = min((p for key, p in of_series.items() if not key[-1]), default=1.0)
    ordered = sorted(p for key, p in of_series.items() if key[-1])
    plain = sum(p <= MOST_FALSE / tests.series for p in ordered)
    if tests.series == 1:
        return ordered[0], plain
    second = ordered[1] * tests.series / 2 if len(ordered) > 1 else 1.0
    return min(1.0, 2 * second, 2 * together), plain


def _odd(plainest: Statistic, shows: int) -> Odd:
    machine_type, _, suite, job, direction = plainest.series
    return Odd(
        plainest.unit,
        machine_type,
        suite,
        job,
        direction,
        plainest.figure,
        _HOW[plainest.name[0]],
        plainest.effect,
        "",
        1.0,
        shows,
        plainest.siblings,
    )


def p_value(one: Statistic) -> float:
    """Two-sided, of Student's t with the degrees of freedom that the tails show."""
    freedom = min(student.freedom_of(one.tail), one.siblings - 1.0 + beside_sql.PRIOR_SIBLINGS)
    # A t of few degrees of freedom is wider in its middle, too: there its scale is measured.
    return student.two_sided(abs(one.score) * student.quartile(freedom) / 0.6745, freedom)


def q_values(p_values: Mapping[Unit, float], units: int) -> dict[Unit, float]:
    """Benjamini and Hochberg's, over ``units`` of which those not given have a p of 1."""
    made: dict[Unit, float] = {}
    least = 1.0
    ordered = sorted(p_values, key=lambda unit: p_values[unit], reverse=True)
    for rank, unit in zip(range(len(ordered), 0, -1), ordered, strict=True):
        least = min(least, p_values[unit] * units / rank)
        made[unit] = least
    return made


# --------------------------------------------------------------------------------- dating


def _dated(fleet: Fleet, found: Sequence[Odd]) -> list[Odd]:
    """Each with its days, and that on which it began: where the drift detector would split its own
    days beside its siblings; none where it was as far from them before.
    """
    days: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for is_member in (False, True):
        keys = [_dated_by(one) for one in found if bool(one.unit.member) == is_member]
        if keys:
            # Days at both ends are there already. A machine stands beside all others, a member
            # beside those of its own machine.
            known, between = (
                (
                    "member_days",
                    beside_sql.members_sql(
                        fleet.present,
                        between=True,
                        where=f"{_one_of('machine', keys, 0)} AND {_one_of('member', keys, 1)}",
                    ),
                )
                if is_member
                else ("machine_days", beside_sql.machines_sql(fleet.present, between=True))
            )
            named = ", ".join(f"({', '.join(map(duck.quoted, key))})" for key in keys)
            columns = "machine, member, machine_type, suite, job, direction, figure"
            rows = fleet.all(
                f"SELECT {columns}, day, avg(x) FROM (FROM {known} UNION ALL ({between})) AS own"
                f" SEMI JOIN (VALUES {named}) AS named({columns}) USING ({columns})"
                f" GROUP BY {columns}, day ORDER BY day"
            )
            for *key, day, x in rows:
                days.setdefault(tuple(key), []).append((day, x))
    own = [tuple(days.get(_dated_by(one), ())) for one in found]
    return [
        replace(one, since=since_when(its), days=its) for one, its in zip(found, own, strict=True)
    ]


def _dated_by(one: Odd) -> tuple[str, ...]:
    return (*one.unit, one.machine_type, one.suite, one.job, one.direction, one.figure)


def _one_of(column: str, keys: Iterable[tuple[str, ...]], at: int) -> str:
    return f"{column} IN ({', '.join(sorted({duck.quoted(key[at]) for key in keys}))})"


def since_when(days: Sequence[tuple[str, float]]) -> str:
    """The day from which on ``days`` (each with how much slower it was) are at the level that they
    end with; empty if they always were. Pure.
    """
    values = [x for _, x in days]
    if len(values) < 2 * dating.LEAST_PART:
        return ""
    at = dating.split(values)
    before, after = values[:at], values[at:]
    moved = median(after) - median(before)
    # Of the same level the two parts overlap.
    apart = (
        statistics.NormalDist().inv_cdf(0.975)
        * beside_sql.NORMAL_SCALE
        * max(median([abs(x - median(part)) for x in part]) for part in (before, after))
    )
    return days[at][0] if abs(moved) > max(apart, math.log(1.02)) else ""
