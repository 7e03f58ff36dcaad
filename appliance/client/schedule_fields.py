"""The typed schedule of a suite: what is wrong with it, and its result; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.bench import timetable
from appliance.client.schedule_requests import ScheduleNow, When, with_times
from appliance.errors import UsageError
from appliance.model.toml_table import FieldError
from appliance.system.services import BENCH_TIMER

FIELDS = ("every", "at", "jitter")
EXAMPLES = {
    "every": "30min, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 24h",
    "at": "Sun 02:00 or Mon..Fri 01,13:30 or *-*-01 04:00",
    "jitter": "random delay, constant per machine: 20min",
}
_NEVER = "never"
_BUILT_IN = "built in"


@dataclass(frozen=True, slots=True)
class Judged:
    """``problem`` is of the field ``field``, or (empty) of the whole; ``comes_to`` is in words
    when the suite would run, empty where there is a problem.
    """

    field: str = ""
    problem: str = ""
    comes_to: str = ""


@dataclass(frozen=True, slots=True)
class Holds:
    """What holds now: ``when`` in words, who says so, and when it runs next (epoch seconds)."""

    when: str
    source: str
    next_at: float | None

    @property
    def runs(self) -> bool:
        return self.when != _NEVER


def holds(now: ScheduleNow | None, suite: str) -> Holds | None:
    """What holds for ``suite``; ``None`` as long as the schedule is not known."""
    if now is None:
        return None
    row = next((one for one in now.rows if one.what == f"suite {suite}"), None)
    if row is None:
        return Holds(_NEVER, "it has no timer", None)
    return Holds(row.when, row.source, now.next_at.get(BENCH_TIMER.format(suite=suite)))


def judged(suite: str, when: When, suites: Sequence[str]) -> Judged:
    """What is typed for ``suite``, as root's own unit will read it; ``suites`` are all names."""
    if not any((when.every, when.at, when.jitter, when.state)):
        return Judged()
    if when.every and when.at:
        return Judged("at", "every is set too: leave one of the two empty")
    try:
        parsed = timetable.parse_schedule(with_times("", suite, when), "schedule", suites)
    except FieldError as error:
        name = error.place.rpartition(".")[2]
        return Judged(name if name in FIELDS else "", f"{error.what}: {error.hint}")
    except UsageError as error:
        return Judged("", f"{error.message}: {error.hint}")
    rows = {row[0]: row[1] for row in timetable.describe(parsed)}
    return Judged(comes_to=rows.get(f"suite {suite}", _NEVER))


def why_not_off(suite: str, now: ScheduleNow) -> str:
    """Why it cannot be switched off; empty if it can."""
    found = holds(now, suite)
    return "" if found is not None and found.runs else "it is not started by a timer"


def why_not_default(suite: str, now: ScheduleNow) -> str:
    """Why the image's own times cannot be had back; empty if they can."""
    found = holds(now, suite)
    if found is not None and found.source not in {_BUILT_IN, "it has no timer"}:
        return ""
    return "the built-in schedule is already in effect"


def built_in(suite: str) -> str:
    """What the image itself says of ``suite``, in words."""
    times = timetable.DEFAULTS.get(suite)
    if times is None:
        return _NEVER
    return f"{times.calendar}, up to {times.jitter_minutes} min later"
