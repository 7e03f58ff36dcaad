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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from appliance.drift.detection import dating
from appliance.drift.detection.normal import median
from appliance.fleet import duck
from appliance.fleet.places import Fleet, day_before
from appliance.model.confirmations import CONFIRM_SUITE

if TYPE_CHECKING:
    import duckdb

# The share of those named that may be like the others after all.
MOST_FALSE = 0.05
# Fewer siblings on a day say nothing of what is usual.
LEAST_SIBLINGS = 4
# Days that are looked at, and those at their beginning and end that tell how far a level has moved.
LOOK_BACK_DAYS = 90
_RECENT_DAYS = 28
_ENDS_DAYS = 14
# What is nearer to the siblings is nobody's trouble: 3 % of IOPS, 10 % of a latency.
_LEAST = {"iops": math.log(1.03), "p99": math.log(1.10), "await": math.log(1.10)}
# Scales below half a per cent are luck.
_LEAST_SCALE = 0.005
_NORMAL_SCALE = 1.4826
# A series' own scale counts as much as that of its job where it has so many siblings.
_PRIOR_SIBLINGS = 10
# Nothing nearer is a discovery among thousands.
_LEAST_SCORE = 3.0
# What is so many scales away is a discovery rather than the tail of what is usual.
_FAR = 4.0
# How the 80th percentile of |t| stands to the median (quantiles 0.90 and 0.75 of Student's t; of
# the normal distribution 1.2816 / 0.6745), by degrees of freedom.
_TAILS = (
    (2.0, 2.309), (3.0, 2.141), (4.0, 2.070), (5.0, 2.031), (6.0, 2.006), (8.0, 1.978),
    (10.0, 1.961), (15.0, 1.939), (20.0, 1.929), (30.0, 1.919), (100.0, 1.906),
)  # fmt: skip
_HEAVIEST = _TAILS[0][0]

_SERIES = "machine_type, conditions, suite, job, direction"


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
    macros(fleet.database)
    far: list[Statistic] = []
    tests: dict[Unit, Tests] = {}
    for days, daily in (("machine_days", machines_sql), ("member_days", members_sql)):
        for table, sql in steps(days, daily(fleet.present), fleet.present):
            fleet.make(table, sql)
        for machine, member, *counts in fleet.all(tests_sql("units")):
            tests[Unit(machine, member)] = Tests(*counts)
        for machine, member, *rest in fleet.all(far_sql("all_scores")):
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
    freedom = min(freedom_of(one.tail), one.siblings - 1.0 + _PRIOR_SIBLINGS)
    # A t of few degrees of freedom is wider in its middle, too: there its scale is measured.
    return student_tail(abs(one.score) * _quartile(freedom) / 0.6745, freedom)


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


def _quartile(freedom: float) -> float:
    """The 75th percentile of Student's t (Cornish-Fisher: Abramowitz and Stegun 26.7.5)."""
    z = 0.674490
    return z + (z**3 + z) / 4 / freedom + (5 * z**5 + 16 * z**3 + 3 * z) / 96 / freedom**2


def student_tail(t: float, freedom: float) -> float:
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


def q_values(p_values: Mapping[Unit, float], units: int) -> dict[Unit, float]:
    """Benjamini and Hochberg's, over ``units`` of which those not given have a p of 1."""
    made: dict[Unit, float] = {}
    least = 1.0
    ordered = sorted(p_values, key=lambda unit: p_values[unit], reverse=True)
    for rank, unit in zip(range(len(ordered), 0, -1), ordered, strict=True):
        least = min(least, p_values[unit] * units / rank)
        made[unit] = least
    return made


# ---------------------------------------------------------------------------------- SQL


def macros(database: duckdb.DuckDBPyConnection) -> None:
    """What each engine calls by a name of its own."""
    for percent in (20, 25, 50, 80):
        database.execute(
            f"CREATE OR REPLACE MACRO q{percent}(x) AS quantile_cont(x, {percent / 100})"
        )


def machines_sql(present: str, *, between: bool = False) -> str:
    """Rows (machine, member, series, figure, day, x, least, most): how much slower each machine was
    on a day than the median of its siblings; its runs' mean, least and most.
    """

    def of_day(name: str, value: str) -> str:
        return ", ".join(
            f"{of}({value}) AS {name}_{end}"
            for of, end in (("avg", "x"), ("min", "least"), ("max", "most"))
        )

    def beside(figure: str) -> str:
        columns = ", ".join(
            f"daily.{figure}_{name} - siblings.{figure}_x AS {name}"
            for name in ("x", "least", "most")
        )
        return f"""
SELECT machine, '' AS member, {_columns("daily")}, '{figure}' AS figure, daily.day AS day, {columns}
FROM daily JOIN siblings ON {_same("daily", "siblings")} AND daily.day = siblings.day"""

    return f"""
WITH daily AS (
  SELECT machine, {_SERIES}, day, {of_day("iops", "-ln(iops)")}, {of_day("p99", "ln(p99_ns)")}
  FROM results
  WHERE valid AND member = '' AND suite <> {duck.quoted(CONFIRM_SUITE)} AND iops > 0 AND p99_ns > 0
    AND {_within(present, between=between)}
  GROUP BY machine, {_SERIES}, day
), siblings AS (
  SELECT {_SERIES}, day, q50(iops_x) AS iops_x, q50(p99_x) AS p99_x
  FROM daily GROUP BY {_SERIES}, day HAVING count(*) >= {LEAST_SIBLINGS}
) {beside("iops")} UNION ALL {beside("p99")}"""


def members_sql(present: str, *, between: bool = False, where: str = "true") -> str:
    """The same of each member beside the others of its stripe."""
    x = "ln(await_ratio)"
    return f"""
SELECT machine, member, {_SERIES}, 'await' AS figure, day, avg({x}) AS x, min({x}) AS least,
  max({x}) AS most
FROM members
WHERE valid AND suite <> {duck.quoted(CONFIRM_SUITE)} AND await_ratio > 0
  AND {_within(present, between=between)} AND {where}
GROUP BY machine, member, {_SERIES}, day"""


def _within(present: str, *, between: bool) -> str:
    """The days that statistics need, at the beginning and at the end; or those ``between``."""
    first = day_before(present, LOOK_BACK_DAYS - 1)
    begun = duck.quoted(day_before(first, -_ENDS_DAYS))
    recent = duck.quoted(day_before(present, _RECENT_DAYS))
    if between:
        return f"day BETWEEN {begun} AND {recent}"
    return (
        f"day BETWEEN {duck.quoted(first)} AND {duck.quoted(present)}"
        f" AND (day < {begun} OR day > {recent})"
    )


def _statistics(present: str) -> dict[str, str]:
    """Name and expression of each statistic. The first letter is how it differs."""

    def late(days: int) -> str:
        return f"day > {duck.quoted(day_before(present, days))}"

    def middle(where: str) -> str:
        return f"q50(CASE WHEN {where} THEN x END)"

    begun = day_before(present, LOOK_BACK_DAYS - 1 - _ENDS_DAYS)
    recent = late(_RECENT_DAYS)
    return {
        "l3": middle(late(3)),
        "l7": middle(late(7)),
        "l28": middle(recent),
        "m3": f"{middle(late(3))} - {middle(f'{recent} AND NOT {late(3)}')}",
        "m14": f"{middle(late(_ENDS_DAYS))} - {middle(f'day < {duck.quoted(begun)}')}",
        # Its slowest runs are farther away than its quickest: of even noise nothing is left.
        "t28": f"q80(CASE WHEN {recent} THEN most END) + q20(CASE WHEN {recent} THEN least END)"
        f" - 2 * {middle(recent)}",
        "noise": f"{middle(recent)} - q25(CASE WHEN {recent} THEN x END)",
    }


_HOW = {"l": How.LEVEL, "m": How.MOVED, "t": How.AT_TIMES}
_NAMES = ("l3", "l7", "l28", "m3", "m14", "t28")


def steps(days: str, daily: str, present: str) -> Iterator[tuple[str, str]]:
    """Tables and their queries, each of those before it: from the ``days`` to all scores."""
    yield days, daily
    yield "units", units_sql(days, present)
    yield "each", values_sql("units")
    yield "scores", scores_sql("each")
    yield "together", together_sql("scores")
    yield "all_scores", f"SELECT * FROM scores UNION ALL SELECT * FROM ({scores_sql('together')})"


def units_sql(source: str, present: str) -> str:
    """Rows (machine, member, series, figure, a column for each statistic)."""
    columns = ", ".join(f"{sql} AS {name}" for name, sql in _statistics(present).items())
    return (
        f"SELECT machine, member, {_SERIES}, figure, {columns} FROM {source}"
        f" GROUP BY machine, member, {_SERIES}, figure"
    )


def tests_sql(source: str) -> str:
    """Rows (machine, member, statistics, series) of every unit."""
    each = " + ".join(f"(CASE WHEN {name} IS NULL THEN 0 ELSE 1 END)" for name in _NAMES)
    return f"""
SELECT machine, member, sum(statistics), count(*) FROM (
  SELECT machine, member, {_SERIES}, sum({each}) AS statistics
  FROM {source} GROUP BY machine, member, {_SERIES}
) AS own WHERE statistics > 0 GROUP BY machine, member"""


def values_sql(source: str) -> str:
    """Rows (machine, member, series, figure, name, value, slower) of all statistics.

    What has moved, or comes and goes, stands beside the noise of its own days, half of which is
    taken to be that of its siblings.
    """
    each = " UNION ALL ".join(
        f"SELECT machine, member, {_SERIES}, figure, '{name}' AS name, {name}"
        f"{'' if name[0] == 'l' else ' / own_noise'} AS value, {name} AS slower"
        f" FROM noisy WHERE {name} IS NOT NULL"
        for name in _NAMES
    )
    return f"""
WITH usual AS (
  SELECT {_SERIES}, figure, q50(noise) AS noise FROM {source} GROUP BY {_SERIES}, figure
), noisy AS (
  SELECT machine, member, {_columns("own")}, own.figure AS figure, {", ".join(_NAMES)},
    greatest({_LEAST_SCALE}, sqrt((own.noise * own.noise + usual.noise * usual.noise) / 2))
      AS own_noise
  FROM {source} AS own JOIN usual ON {_same("own", "usual")} AND own.figure = usual.figure
) {each}"""


def scores_sql(source: str) -> str:
    """Rows (machine, member, series, figure, name, slower, score, siblings) of ``source`` as
    :func:`values_sql` gives it: how many standard deviations of its siblings it is slower.
    """
    group = f"{_SERIES}, figure, name"
    joined = "{0}.figure = {1}.figure AND {0}.name = {1}.name"
    return f"""
WITH centre AS (
  SELECT {group}, q50(value) AS middle, count(*) AS siblings
  FROM {source} GROUP BY {group} HAVING count(*) >= {LEAST_SIBLINGS}
), away AS (
  SELECT machine, member, {_columns("each_one")}, each_one.figure AS figure,
    each_one.name AS name, slower, value - middle AS away, siblings
  FROM {source} AS each_one
  JOIN centre ON {_same("each_one", "centre")} AND {joined.format("each_one", "centre")}
), own AS (
  SELECT {group}, q50(abs(away)) AS scale FROM away GROUP BY {group}
), jobs AS (
  SELECT job, direction, figure, name, q50(scale) AS scale
  FROM own GROUP BY job, direction, figure, name
)
SELECT machine, member, {_columns("away")}, away.figure AS figure, away.name AS name, slower,
  away / greatest({_LEAST_SCALE}, {_NORMAL_SCALE} * sqrt(
    (siblings * own.scale * own.scale + {_PRIOR_SIBLINGS} * jobs.scale * jobs.scale)
    / (siblings + {_PRIOR_SIBLINGS}))) AS score, siblings
FROM away
JOIN own ON {_same("away", "own")} AND {joined.format("away", "own")}
JOIN jobs ON away.job = jobs.job AND away.direction = jobs.direction
  AND {joined.format("away", "jobs")}"""


def together_sql(source: str) -> str:
    """Of each unit the mean score over its jobs, in the form of :func:`values_sql`: what shows
    everywhere and nowhere much.
    """
    return f"""
SELECT machine, member, machine_type, conditions, suite, '' AS job, '' AS direction, figure, name,
  avg(score) AS value, avg(slower) AS slower
FROM {source} GROUP BY machine, member, machine_type, conditions, suite, figure, name
HAVING count(*) > 1"""


def far_sql(source: str) -> str:
    """Rows of :class:`Statistic`: what of :func:`scores_sql` may be far from its siblings."""
    return f"""
WITH tails AS (
  SELECT figure, name, job = '' AS together,
    q80(abs(score)) / greatest(1e-9, q50(abs(score))) AS tail
  FROM {source} WHERE abs(score) <= {_FAR} GROUP BY figure, name, job = ''
)
SELECT machine, member, {_SERIES}, own.figure AS figure, own.name AS name, slower, score, tail,
  siblings
FROM {source} AS own JOIN tails
  ON own.figure = tails.figure AND own.name = tails.name AND (own.job = '') = tails.together
WHERE abs(score) >= {_LEAST_SCORE}"""


def _columns(table: str) -> str:
    return ", ".join(f"{table}.{name} AS {name}" for name in _SERIES.split(", "))


def _same(one: str, other: str) -> str:
    return " AND ".join(f"{one}.{name} = {other}.{name}" for name in _SERIES.split(", "))


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
                    members_sql(
                        fleet.present,
                        between=True,
                        where=f"{_one_of('machine', keys, 0)} AND {_one_of('member', keys, 1)}",
                    ),
                )
                if is_member
                else ("machine_days", machines_sql(fleet.present, between=True))
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
        * _NORMAL_SCALE
        * max(median([abs(x - median(part)) for x in part]) for part in (before, after))
    )
    return days[at][0] if abs(moved) > max(apart, math.log(1.02)) else ""
