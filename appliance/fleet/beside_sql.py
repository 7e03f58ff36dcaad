"""What :mod:`appliance.fleet.odd` asks of the tables: SQL that DuckDB and ClickHouse both run.

Each function gives the text of one query; :func:`steps` says which stands on which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from appliance.fleet import duck
from appliance.fleet.places import day_before
from appliance.model.confirmations import CONFIRM_SUITE

if TYPE_CHECKING:
    import duckdb

# Fewer siblings on a day say nothing of what is usual.
LEAST_SIBLINGS = 4
# Days that are looked at, and those at their beginning and end that tell how far a level has moved.
LOOK_BACK_DAYS = 90
_RECENT_DAYS = 28
_ENDS_DAYS = 14
# Scales below half a per cent are luck.
_LEAST_SCALE = 0.005
NORMAL_SCALE = 1.4826
# A series' own scale counts as much as that of its job where it has so many siblings.
PRIOR_SIBLINGS = 10
# Nothing nearer is a discovery among thousands.
_LEAST_SCORE = 3.0
# What is so many scales away is a discovery rather than the tail of what is usual.
_FAR = 4.0

# Results that say what a machine does: of the stripe, on a type that is known, and not a repeat of
# what was suspect.
QUOTABLE = (
    f"valid AND member = '' AND machine_type <> '' AND suite <> {duck.quoted(CONFIRM_SUITE)}"
    " AND iops BETWEEN 1e-9 AND 1e15"
)

_SERIES = "machine_type, conditions, suite, job, direction"


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
  WHERE {QUOTABLE} AND p99_ns > 0
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
WHERE valid AND suite <> {duck.quoted(CONFIRM_SUITE)} AND await_ratio BETWEEN 1e-9 AND 1e9
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
  away / greatest({_LEAST_SCALE}, {NORMAL_SCALE} * sqrt(
    (siblings * own.scale * own.scale + {PRIOR_SIBLINGS} * jobs.scale * jobs.scale)
    / (siblings + {PRIOR_SIBLINGS}))) AS score, siblings
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
