"""What can be asked of ``stripewright``: commands, options and what is allowed in them.

Nothing here does anything: each command leaves its name in ``does``, and
:mod:`appliance.cli.main` knows what does it.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import NoReturn

from appliance import __version__, paths
from appliance.cli import arguments_drift, arguments_schedule
from appliance.errors import EXIT_USAGE
from appliance.text import printable


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and a hint, like every other error."""

    def error(self, message: str) -> NoReturn:
        complain(message, f"see: {self.prog} --help")
        raise SystemExit(EXIT_USAGE)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Of the commands only those that the help lists: the others are for units."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            listed = [name for name, sub in action.choices.items() if sub.description]
            what = str(action.metavar).lower()
            raise argparse.ArgumentError(
                None, f"there is no {what} {value!r}; there are {', '.join(listed)}"
            )
        super()._check_value(action, value)


def complain(message: str, hint: str) -> None:
    """One line on stderr that says what is wrong, and one with what to do about it."""
    print(f"error: {printable(' '.join(message.split()))}", file=sys.stderr)
    if hint:
        print(f"hint: {printable(' '.join(hint.split()))}", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    """The parser; what it returns has ``does``, the words of the command that was given."""
    parser = _Parser(
        prog="stripewright",
        description="Local disks of a cloud machine: striped, measured, watched.",
        epilog="Without a command: the TUI on a terminal, 'status' otherwise.",
    )
    parser.add_argument("--version", action="version", version=f"stripewright {__version__}")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(does="tui", db=paths.HISTORY_DB, readonly=False, theme="", mouse=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def command(name: str, summary: str, *, json: bool = True) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.set_defaults(does=name)
        if json:
            _add_json(sub)
        return sub

    _add_db(command("status", "health, volumes, last suite"))
    command("inventory", "every disk, and why it is used or not")
    _add_plan(command("plan", "what would be done to the disks, and why"))
    apply = command("apply", "carry out the plan that was confirmed")
    apply.add_argument(
        "--confirm", required=True, metavar="DIGEST", help="the digest that 'plan' printed"
    )
    initialise = command("initialise", "read a volume restored from a snapshot")
    initialise.add_argument("volume", type=_volume_name, metavar="VOLUME")
    initialise.add_argument("--stop", action="store_true", help="stop; it goes on later")
    command("suites", "the benchmark suites there are")
    _add_bench(command("bench", "measure, or judge what was measured elsewhere", json=False))
    arguments_drift.add(
        command("drift", "what is no longer as it was: look, list, acknowledge", json=False),
        parser_class=_Parser,
        add_json=_add_json,
        add_db=_add_db,
    )
    results = command("results", "what was measured, with verdicts")
    _add_db(results)
    results.add_argument(
        "--run", type=_run_id, metavar="ID", help="this run (default: the last five)"
    )
    results.add_argument("--suite", default="", metavar="SUITE", help="the last five of this suite")
    compare = command("compare", "two runs, epochs or imports side by side")
    compare.add_argument("a", metavar="A", help="a run's number, epoch:N, import:N[:DEVICE]")
    compare.add_argument("b", metavar="B", help="the same")
    _add_db(compare)
    report = command("report", "one run as a page or Markdown for a ticket")
    report.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="FILE.html or FILE.md"
    )
    subject = report.add_mutually_exclusive_group()
    subject.add_argument(
        "--run",
        type=_run_id,
        metavar="ID",
        help="this run (default: the latest of a suite with results)",
    )
    subject.add_argument(
        "--import", type=_run_id, metavar="ID", dest="import_id", help="this imported file"
    )
    _add_db(report)
    export = command("export", "the history for other programs", json=False)
    export.add_argument("form", choices=("csv", "json", "metrics"), metavar="csv|json|metrics")
    export.add_argument("--output", type=Path, metavar="FILE", help="replace FILE in one step")
    _add_db(export)
    _add_history(command("history", "the file that the history is kept in", json=False))
    arguments_schedule.add(
        command("schedule", "when suites run and drift is looked for", json=False),
        _Parser,
        _add_json,
    )
    _add_db(command("doctor", "is everything there that the appliance needs"))
    _add_tui(command("tui", "the screens (with --json: what they start from)"))

    # What units run. They are commands so that they can be run by hand, too.
    assemble = command(
        "assemble",
        "what the boot unit runs: writes to disks (create, assemble, mount); root",
        json=False,
    )
    assemble.add_argument(
        "--again", action="store_true", help="look again; wait until others are done"
    )
    notice = command("notice", "what a failed unit runs: journal it", json=False)
    notice.add_argument("unit")
    _add_hidden(commands)
    return parser


def _add_plan(plan: argparse.ArgumentParser) -> None:
    plan.add_argument("--inventory", type=Path, metavar="FILE", help="plan for this document")
    plan.add_argument("--layout", type=Path, metavar="FILE", help="plan for this layout.toml")
    plan.add_argument(
        "--remove",
        type=_volume_name,
        action="append",
        default=[],
        metavar="NAME",
        help="take this volume down and release its disks",
    )
    plan.add_argument(
        "--erase",
        action="append",
        default=[],
        metavar="SERIAL",
        help="give up what is on the disk with this serial",
    )


def _add_hidden(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Commands of units, and the chores that plans show: real, and not in the list."""
    for name, argument, many in (
        ("chore", "words", "*"),
        ("plan-request", "name", None),
        ("apply-request", "name", None),
        ("read-through", "name", None),
        ("bench-dir", "name", None),
        ("watch", "", None),
        ("tune-undo", "", None),
        ("look", "", None),
        ("rewind-timers", "", None),
        ("hold-cpu-latency", "", None),
        ("schedule-apply", "", None),
        ("schedule-request", "name", None),
    ):
        sub = commands.add_parser(name)
        sub.set_defaults(does=name)
        if argument:
            sub.add_argument(argument, nargs=many)


def _add_bench(bench: argparse.ArgumentParser) -> None:
    actions = bench.add_subparsers(title="actions", metavar="ACTION", parser_class=_Parser)
    run = actions.add_parser("run", help="run a suite", description="Run a suite.")
    run.set_defaults(does="bench run")
    run.add_argument(
        "suite",
        metavar="SUITE",
        help="a suite's name, with :VOLUME for another than the first, or a FILE.toml of your own",
    )
    where = run.add_mutually_exclusive_group()
    where.add_argument("--target", metavar="DIR", help="measure here (default: the mounted volume)")
    where.add_argument("--raw-read", metavar="DEVICE", help="only read this device")
    where.add_argument(
        "--raw-write", metavar="DEVICE", help="destroy what is on this disk; root; with --serial"
    )
    run.add_argument("--serial", metavar="SERIAL", help="that of the disk to be overwritten")
    run.add_argument(
        "--members", action="store_true", help="measure each disk of the stripe alone, too; root"
    )
    run.add_argument(
        "--wait",
        type=_minutes,
        default=0,
        metavar="MINUTES",
        help="wait so long for another run in the same place (default: 0)",
    )
    run.add_argument(
        "--progress", choices=("json",), default="", help="a JSON line a second on stderr"
    )
    run.add_argument(
        "--time-factor", type=_positive, default=1.0, metavar="F", help="scale every run time by F"
    )
    _add_json(run)
    _add_db(run)
    imported = actions.add_parser(
        "import",
        help="judge other people's fio reports",
        description="Read fio reports (text or JSON, with anything around them) and judge them.",
    )
    imported.set_defaults(does="bench import")
    imported.add_argument(
        "files", nargs="+", metavar="FILE", help="a text or JSON file with fio reports in it"
    )
    imported.add_argument(
        "--machine", default="", metavar="TYPE", help="measured on this type, whatever is written"
    )
    imported.add_argument("--db", type=Path, metavar="FILE", help="keep them in this history")
    _add_json(imported)
    reap = actions.add_parser(
        "reap",
        help="mark runs whose process is gone as aborted (after a crash)",
        description="Mark runs whose process is gone as aborted, and remove their test files.",
    )
    reap.set_defaults(does="bench reap")
    _add_db(reap)


def _add_history(history: argparse.ArgumentParser) -> None:
    actions = history.add_subparsers(title="actions", metavar="ACTION", parser_class=_Parser)
    convert = actions.add_parser(
        "convert",
        help="bring a history of an earlier version up to this one",
        description="Bring a history of an earlier version up to this one.",
    )
    convert.set_defaults(does="history convert")
    convert.add_argument("file", type=Path, metavar="OLD", help="what it was stays as OLD.schema-5")
    convert.add_argument(
        "--output", type=Path, metavar="NEW", help="write NEW, and leave OLD as it is"
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    # Before or after the command's name: without the default it would be forgotten.
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON document"
    )


def _add_db(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--db",
        type=Path,
        default=paths.HISTORY_DB,
        metavar="FILE",
        help=f"history database (default: {paths.HISTORY_DB})",
    )


def _add_tui(parser: argparse.ArgumentParser) -> None:
    _add_db(parser)
    parser.add_argument(
        "--readonly", action="store_true", help="look only: nothing can be changed or started"
    )
    parser.add_argument(
        "--theme",
        choices=("dark", "light", "terminal"),
        default="",
        help="colours (default: dark; the terminal's own where it has 16, or NO_COLOR is set)",
    )
    parser.add_argument(
        "--mouse",
        action="store_true",
        help="take the mouse; the terminal then selects text with shift held down",
    )


def _run_id(text: str) -> int:
    # SQLite's integers have 63 bits; an id is never that large.
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a run")
    return int(text)


def _minutes(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text[:6]) <= 1440 or len(text) > 6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes from 0 to 1440")
    return int(text)


def _volume_name(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,11}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be the name of a volume")
    return text


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.001 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0.001 to 1000")
    return value
