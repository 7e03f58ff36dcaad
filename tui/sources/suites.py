"""What the Suites screen asks: the suites, the last run of each, the schedule; all may block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.errors import OperatorError
from appliance.model.runs import Suite

# What only some questions need is imported when they are asked: the first screen waits for none.
if TYPE_CHECKING:
    from appliance.client.schedule_requests import ScheduleNow
    from appliance.history.pages import RunSummary


@dataclass(frozen=True, slots=True)
class Catalog:
    """The suites that there are, by name, and by suite the last run that has ended.

    ``problem`` says why no runs are known, where the history cannot be read.
    """

    suites: tuple[Suite, ...]
    last: Mapping[str, RunSummary]
    problem: str = ""


class Suites:
    """The suites of this program, with the runs in history ``db``, and this machine's schedule. All
    methods may block for seconds, and raise OperatorError.
    """

    def __init__(self, db: Path) -> None:
        self._db = db

    def catalog(self) -> Catalog:
        from appliance.bench.suite import load_suite, suite_names
        from appliance.history import pages, queries

        suites = tuple(load_suite(name) for name in suite_names())
        try:
            with queries.open_readonly(self._db) as reader:
                last = pages.last_of_each_suite(reader)
        except OperatorError as error:
            # What can be measured is known all the same.
            return Catalog(suites, {}, error.message)
        return Catalog(suites, {one.run.suite: one for one in last})

    def schedule(self) -> ScheduleNow:
        from appliance.client.schedule_requests import schedule_now

        return schedule_now()

    def set_schedule(self, wanted: str) -> None:
        """Have ``wanted``, the text of a whole schedule, installed and brought into effect."""
        from appliance.client.schedule_requests import ask_schedule

        ask_schedule(wanted)
