"""The schedule: what runs when, and asking root for another one.

An operator leaves a whole schedule in the spool and starts the unit that is named by its hash, as
with plans (:mod:`appliance.storage.execute.request_spool`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from appliance import paths
from appliance.bench import timetable
from appliance.bench.suite import suite_names
from appliance.bench.timetable import read_schedule, read_text
from appliance.client import answers
from appliance.errors import OperatorError
from appliance.storage.execute import request_spool
from appliance.system import services


@dataclass(frozen=True, slots=True)
class When:
    """What is asked for one suite, as it was typed; empty where nothing was.

    ``state`` is ``off``, or ``default``: the image's own times hold again.
    """

    every: str = ""
    at: str = ""
    jitter: str = ""
    state: str = ""

    def lines(self) -> dict[str, str]:
        """The suite's table in a schedule.toml. What is not allowed there is refused later."""
        values = {"every": self.every, "at": self.at, "jitter": self.jitter}
        # JSON's strings are TOML's, as far as this goes.
        lines = {key: json.dumps(value) for key, value in values.items() if value}
        return {**lines, "enabled": "false"} if self.state == "off" else lines


@dataclass(frozen=True, slots=True)
class ScheduleNow:
    """The installed schedule, ``text``, empty without a file.

    ``next_at`` is when each timer fires next, in seconds since the epoch; empty where none runs.
    ``problem`` says why the file is not in effect.
    """

    rows: tuple[timetable.Row, ...]
    next_at: Mapping[str, float | None]
    problem: str
    text: str


def schedule_now(
    *, file: Path = paths.SCHEDULE_FILE, state: Path = paths.SCHEDULE_STATE
) -> ScheduleNow:
    """What runs when, and what was said of ``file`` when it was last brought into effect.

    Asks systemd once for each timer. Raises :class:`OperatorError`.
    """
    from appliance.client.machine_status import schedule_problem

    declared = read_schedule(file)
    fire = answers.units_are_here(services.SCHEDULE_TEMPLATE)
    timers = timetable.timers(declared) if fire else ()
    return ScheduleNow(
        rows=tuple(timetable.describe(declared)),
        next_at={timer: services.next_elapse(timer) for timer in timers},
        problem=schedule_problem(state),
        text=read_text(file) if file.exists() else "",
    )


def with_times(present: str, suite: str, when: When) -> str:
    """``present`` (a whole schedule) with other times for ``suite``; pure, and checks nothing."""
    lines = {} if when.state == "default" else when.lines()
    return timetable.with_suite(present, suite, lines)


def ask_schedule(
    wanted: str, *, spool: Path = paths.SPOOL_DIR, as_root: Callable[[str], None] | None = None
) -> None:
    """Have ``wanted``, the text of a schedule.toml, installed and brought into effect.

    ``as_root`` installs it in this process; it is used by root alone. Raises :class:`UsageError`
    for what is no schedule, :class:`OperatorError` where nothing can be scheduled.
    """
    # Checked here, too: a slip of the pen is told at once.
    timetable.parse_schedule(wanted, "schedule", suite_names())
    if not services.is_installed(services.SCHEDULE_TEMPLATE):
        raise OperatorError(
            "there is nothing to be scheduled here: the appliance's units are not installed",
            "on the appliance every operator can set the schedule",
        )
    if as_root is not None and os.geteuid() == 0:
        as_root(wanted)
        return
    answers.ask(
        lambda: request_spool.leave_bytes(spool, wanted.encode()),
        services.SCHEDULE_UNIT,
        missing="the unit left no answer",
    )
