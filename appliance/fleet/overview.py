"""What a fleet is and how it is: types and versions, what each type does, verdicts, the silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from appliance.drift.series import siblings
from appliance.fleet import beside_sql, odd
from appliance.fleet.duck import UnreadableError, quoted
from appliance.fleet.odd import Odd
from appliance.fleet.places import Fleet, Problem, day_before, open_fleet

# A machine measures every six hours; one that did not for so many days has not reported.
SILENT_AFTER_DAYS = 2
# What a type does is that of so many days.
NORMAL_DAYS = 28


@dataclass(frozen=True, slots=True)
class Kind:
    """Machines of one type, kernel, fio and version, in their latest complete run."""

    machine_type: str
    kernel: str
    fio_version: str
    version: str
    machines: int


@dataclass(frozen=True, slots=True)
class Normal:
    """What the machines of a type do in one job: of their medians the 10th, 50th and 90th
    percentile of IOPS, and what 50, 99 and 99.9 % of all their I/Os did not exceed, from their
    histograms added up. ``published_iops`` is the provider's.
    """

    machine_type: str
    suite: str
    job: str
    direction: str
    machines: int
    iops: tuple[float, float, float]
    latency_ns: tuple[int, int, int] | None
    published_iops: float | None


@dataclass(frozen=True, slots=True)
class Judged:
    """How often a validity rule spoke in the last weeks, and on how many machines."""

    code: str
    severity: str
    results: int
    machines: int


@dataclass(frozen=True, slots=True)
class Survey:
    """All that is said of a fleet. ``silent`` has machines with the day of their last run."""

    machines: int
    present: str
    problems: tuple[Problem, ...]
    odd: list[Odd]
    kinds: list[Kind]
    normals: list[Normal]
    judged: list[Judged]
    silent: list[tuple[str, str]]


def survey(place: str, tell: Callable[[str], None] = lambda _: None) -> Survey:
    """The fleet in ``place`` (:func:`appliance.fleet.places.open_fleet`).

    ``tell`` is called with what is being read, at the beginning of each step.
    """
    try:
        return _survey(place, tell, deep=False)
    except UnreadableError:
        # A file is damaged inside: it is looked for, and left out.
        return _survey(place, tell, deep=True)


def normal_document(place: str) -> tuple[dict[str, object], tuple[Problem, ...]]:
    """What a new machine takes as its first expectation (:mod:`appliance.drift.series.siblings`):
    the level of each series in which enough machines stand, without those that are odd. And what is
    not in it.
    """
    try:
        return _normal_document(place, deep=False)
    except UnreadableError:
        return _normal_document(place, deep=True)


def _normal_document(place: str, *, deep: bool) -> tuple[dict[str, object], tuple[Problem, ...]]:
    with open_fleet(place, deep=deep) as fleet:
        odd_ones = sorted({one.unit.machine for one in odd.find(fleet)})
        without = ", ".join(map(quoted, ("", *odd_ones)))
        series = "machine_type, conditions, suite, job, direction"
        rows = fleet.all(
            f"WITH own AS (SELECT machine, {series}, median(iops) AS iops FROM results"
            f" WHERE {beside_sql.QUOTABLE} AND machine NOT IN ({without})"
            f" AND day > '{day_before(fleet.present, NORMAL_DAYS)}' GROUP BY machine, {series})"
            f" SELECT {series}, count(*), quantile_cont(iops, 0.1), median(iops) FROM own"
            f" GROUP BY {series} HAVING count(*) >= {beside_sql.LEAST_SIBLINGS} ORDER BY {series}"
        )
        names = (*series.split(", "), "machines", "low_iops", "iops")
        document: dict[str, object] = {
            "stripewright_normal": siblings.FORM,
            "until": fleet.present,
            "normal": [dict(zip(names, row, strict=True)) for row in rows],
        }
        return document, fleet.problems


def _survey(place: str, tell: Callable[[str], None], *, deep: bool) -> Survey:
    tell("all files again, for one that is damaged" if deep else "files")
    with open_fleet(place, deep=deep) as fleet:
        tell(f"the days of {fleet.machines:,} machines")
        found = odd.find(fleet)
        tell("what is normal")
        return Survey(
            fleet.machines,
            fleet.present,
            fleet.problems,
            found,
            kinds(fleet),
            normals(fleet),
            judged(fleet),
            silent(fleet),
        )


def kinds(fleet: Fleet) -> list[Kind]:
    """The commonest first."""
    return [
        Kind(*row)
        for row in fleet.all(
            "SELECT machine_type, kernel, fio_version, version, count(*) AS machines FROM ("
            " SELECT machine, max_by(machine_type, started_at) AS machine_type,"
            " max_by(kernel, started_at) AS kernel, max_by(fio_version, started_at) AS fio_version,"
            " max_by(version, started_at) AS version FROM runs WHERE state = 'complete'"
            " GROUP BY machine) AS latest"
            " GROUP BY machine_type, kernel, fio_version, version ORDER BY machines DESC,"
            " machine_type, kernel, fio_version, version"
        )
    ]


def silent(fleet: Fleet) -> list[tuple[str, str]]:
    """Machines that have not reported, with the day of their last run; the longest silent first."""
    limit = day_before(fleet.present, SILENT_AFTER_DAYS)
    return [
        (str(machine), str(last))
        for machine, last in fleet.all(
            "SELECT machine, max(day) AS last FROM runs GROUP BY machine"
            f" HAVING max(day) < '{limit}' ORDER BY last, machine"
        )
    ]


def judged(fleet: Fleet) -> list[Judged]:
    """The rule that spoke most often first."""
    return [
        Judged(*row)
        for row in fleet.all(
            "SELECT code, severity, count(*) AS results, count(DISTINCT machine) FROM findings"
            f" WHERE day > '{day_before(fleet.present, NORMAL_DAYS)}'"
            " GROUP BY code, severity ORDER BY results DESC, code"
        )
    ]


def normals(fleet: Fleet) -> list[Normal]:
    """By type, suite and job. Kernels and fio versions are together here: the odd ones are not."""
    since = f"day > '{day_before(fleet.present, NORMAL_DAYS)}'"
    series = "machine_type, suite, job, direction"
    latencies = {
        tuple(row[:4]): (row[4], row[5], row[6])
        for row in fleet.all(
            f"WITH bins AS (SELECT {series}, unnest(latency_ns) AS ns, unnest(counts) AS ios"
            f" FROM histograms WHERE {since}), merged AS (SELECT {series}, ns, sum(ios) AS ios"
            f" FROM bins GROUP BY {series}, ns), reached AS (SELECT {series}, ns,"
            f" sum(ios) OVER (PARTITION BY {series} ORDER BY ns)"
            f" / sum(ios) OVER (PARTITION BY {series}) AS share FROM merged)"
            f" SELECT {series}, min(CASE WHEN share >= 0.5 THEN ns END),"
            " min(CASE WHEN share >= 0.99 THEN ns END), min(CASE WHEN share >= 0.999 THEN ns END)"
            f" FROM reached GROUP BY {series}"
        )
    }
    rows = fleet.all(
        f"WITH own AS (SELECT machine, {series}, median(iops) AS iops,"
        f" max(published_iops) AS published FROM results"
        f" WHERE {beside_sql.QUOTABLE} AND {since} GROUP BY machine, {series})"
        f" SELECT {series}, count(*), quantile_cont(iops, 0.1), median(iops),"
        " quantile_cont(iops, 0.9), max(published)"
        f" FROM own GROUP BY {series} ORDER BY {series}"
    )
    return [
        Normal(
            machine_type=row[0],
            suite=row[1],
            job=row[2],
            direction=row[3],
            machines=row[4],
            iops=(row[5], row[6], row[7]),
            latency_ns=latencies.get(tuple(row[:4])),
            published_iops=row[8],
        )
        for row in rows
    ]
