"""``schedule``: when suites run and drift is checked. Root's side is ``schedule-request`` and
``schedule-apply``.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from appliance import text
from appliance.cli.command import Command, name_argument
from appliance.cli.output import print_json
from appliance.errors import EXIT_OK, OperatorError, UsageError


def _set_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("suite", nargs="?", default="", metavar="SUITE", help="a suite's name")
    parser.add_argument("--file", type=Path, metavar="FILE", help="install this schedule.toml")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--every", default="", metavar="TIME", help='for example "4h"')
    when.add_argument("--at", default="", metavar="TIME", help='for example "Mon..Fri 02:30"')
    when.add_argument(
        "--off", dest="state", action="store_const", const="off", default="", help="never"
    )
    when.add_argument(
        "--default", dest="state", action="store_const", const="default", help="as in the image"
    )
    parser.add_argument(
        "--jitter", default="", metavar="TIME", help="start later by up to this: 30min"
    )


def show(*, as_json: bool) -> int:
    """Print what runs when, and why the file is not in effect if it is not."""
    from appliance.bench import schedule_effect
    from appliance.client import schedule_requests

    places = schedule_effect.PLACES
    found = schedule_requests.schedule_now(file=places.file, state=places.state)
    if as_json:
        document = {
            "schedule": [
                {"what": row.what, "when": row.when, "from": row.source} for row in found.rows
            ],
            "file": str(places.file) if places.file.exists() else None,
            "next": dict(found.next_at),
            "problem": found.problem or None,
        }
        print_json(document)
        return EXIT_OK
    print(text.table([("WHAT", "WHEN", "FROM"), *found.rows]))
    for timer, at in found.next_at.items():
        if at is not None:
            print(f"next {timer.removesuffix('.timer')}: {text.moment(at)}")
    if found.problem:
        print(f"not in effect: {text.printable(found.problem)}")
    return EXIT_OK


def change(*, suite: str, file: Path | None, as_json: bool, **times: str) -> int:
    """Have ``file`` installed as the schedule, or the ``times`` (:class:`When`) of one suite in it
    changed.
    """
    from appliance.bench import schedule_effect
    from appliance.bench.timetable import read_text
    from appliance.client import schedule_requests
    from appliance.client.schedule_requests import When

    places = schedule_effect.PLACES
    when = When(**times)
    if (file is None) == (not suite) or (file is not None and when != When()):
        raise UsageError(
            "schedule set: give the name of a suite and when it runs, or --file FILE alone",
            "for example: stripewright schedule set smoke --every 4h",
        )
    if file is not None:
        wanted = read_text(file)
    else:
        lines = when.lines()
        if when.state == "default" and lines:
            raise UsageError("schedule set: --default takes no times", "leave out --jitter")
        if when.state != "default" and not lines:
            raise UsageError(
                "schedule set: nothing to change",
                "give --every, --at, --jitter, --off or --default",
            )
        present = read_text(places.file) if places.file.exists() else ""
        wanted = schedule_requests.with_times(present, suite, when)
    schedule_requests.ask_schedule(
        wanted,
        spool=places.spool,
        as_root=lambda checked: schedule_effect.install(checked, places),
    )
    return show(as_json=as_json)


# -------------------------------------------------------------------------------------- root


def schedule_request(*, name: str) -> int:
    """Install the schedule in the request ``name`` and leave what came of it.

    A refusal is an answer, not a failure of the unit.
    """
    from appliance.bench import schedule_effect
    from appliance.bench.timetable import decoded
    from appliance.client.answers import store
    from appliance.storage.execute import request_spool

    places = schedule_effect.PLACES
    answer: dict[str, Any] = {"at_monotonic_s": time.monotonic(), "error": None}
    try:
        raw = request_spool.take_bytes(places.spool, name)
        schedule_effect.install(decoded(raw, "schedule"), places)
    except OperatorError as error:
        answer["error"] = error.to_json()
        schedule_effect.journal_refusal(error)
    if request_spool.is_hash(name):
        store().keep_plan(name, answer)
    return EXIT_OK


def schedule_apply() -> int:
    from appliance.bench import schedule_effect

    schedule_effect.apply()
    return EXIT_OK


COMMANDS = (
    Command("schedule", None, "show or change when suites run and drift is checked",
        "schedule show"),
    Command("schedule show", show, "show what runs when", "schedule show --json",
        more="By the schedule, and by default."),
    Command("schedule set", change, "change when a suite runs",
        'schedule set full --at "Sat,Sun 03:30"', _set_arguments,
        more="Or install a whole schedule.toml."),
    Command("schedule-request", schedule_request, arguments=name_argument, root=True),
    Command("schedule-apply", schedule_apply, root=True),
)  # fmt: skip
