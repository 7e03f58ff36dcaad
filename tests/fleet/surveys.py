"""What is said of a fleet, made up: for the page and for the screen."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace

from appliance.fleet.odd import How, Odd, Unit
from appliance.fleet.overview import Judged, Kind, Normal, Survey
from appliance.fleet.places import Problem, day_before

PRESENT = "2026-09-20"
_SINCE_DAYS = 20


def days(slower_log: float, *, since_days: int = 90) -> tuple[tuple[str, float], ...]:
    """Ninety days, at ``slower_log`` in the last ``since_days``."""
    return tuple(
        (day_before(PRESENT, ago), slower_log * (ago < since_days) + 0.01 * math.sin(7.0 * ago))
        for ago in range(89, -1, -1)
    )


DISK = Odd(
    unit=Unit("node-0412", "AWS00412EXAMPLE"),
    machine_type="i4i.16xlarge",
    suite="smoke",
    job="rand-read-4k",
    direction="read",
    figure="await",
    how=How.MOVED,
    effect=0.5,
    since=day_before(PRESENT, _SINCE_DAYS - 1),
    q_value=2.4e-31,
    series=5,
    siblings=604,
    days=days(math.log(1.5), since_days=_SINCE_DAYS),
)
MACHINE = replace(
    DISK, unit=Unit("node-0007"), job="seq-write-1m", direction="write", figure="iops",
    how=How.LEVEL, effect=-0.08, since="", q_value=4e-12, series=3, siblings=151,
    days=days(-math.log(0.92)),
)  # fmt: skip
FASTER = replace(
    MACHINE, unit=Unit("node-0066"), job="", direction="", effect=0.21, q_value=0.003, days=()
)
SURVEY = Survey(
    machines=1000,
    present=PRESENT,
    problems=(Problem("node-0300", "two machines have this name; neither is counted"),),
    odd=[DISK, MACHINE, FASTER],
    kinds=[
        Kind("i4i.16xlarge", "6.12.48+deb13-cloud-amd64", "fio-3.39", "1.0", 902),
        Kind("", "6.12.57+deb13-cloud-amd64", "fio-3.39", "1.0", 97),
    ],
    normals=[
        Normal("i4i.16xlarge", "smoke", "rand-read-4k", "read", 902, (1.55e6, 1.58e6, 1.6e6),
               (302_000, 640_000, 1_310_000), 1.6e6),
        Normal("", "smoke", "rand-read-4k", "read", 97, (3.9e5, 4.0e5, 4.1e5), None, None),
    ],
    judged=[Judged("COVERAGE", "block", 34, 12)],
    silent=[("node-0101", "2026-09-02")],
)  # fmt: skip
QUIET = replace(SURVEY, odd=[], problems=(), silent=[])


def hostile(text: str) -> Survey:
    """A survey in which every text is ``text``."""
    days = ((text, 0.4), *DISK.days, ("2026-02-31", 0.1), ("2026-09-19", 1e9), (PRESENT, math.nan))
    odd = replace(
        DISK, unit=Unit(text, text), machine_type=text, suite=text, job=text, direction=text,
        since=text, days=days,
    )  # fmt: skip
    return Survey(
        machines=4,
        present=PRESENT,
        problems=(Problem(text, text),),
        odd=[odd, replace(odd, unit=Unit(f"{text}2"), figure="iops", job="", effect=math.inf)],
        kinds=[Kind(text, text, text, text, 4)],
        normals=[Normal(text, text, text, text, 4, (0.0, 0.0, 0.0), (1, 2, 3), 0.0)],
        judged=[Judged(text, text, 1, 1)],
        silent=[(text, text)],
    )


def many(machines: int) -> Survey:
    """A fleet of which a third is odd."""
    third = machines // 3
    first = datetime.date.fromisoformat(PRESENT)
    return replace(
        SURVEY,
        machines=machines,
        odd=[
            replace(MACHINE, unit=Unit(f"node-{number:05d}.example.internal"))
            for number in range(third)
        ],
        problems=tuple(
            Problem(f"/srv/fleet/schema=1/runs/day={first}/{number}.parquet", "is not whole")
            for number in range(third)
        ),
        silent=[(f"node-{number:05d}", str(first)) for number in range(third)],
        kinds=[replace(SURVEY.kinds[0], kernel=f"6.12.{number}") for number in range(third)],
        normals=[replace(SURVEY.normals[0], job=f"job-{number}") for number in range(third)],
    )
