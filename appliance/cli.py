"""The ``stripewright`` command: what can be asked, and nothing of how it is done.

Rooms are imported by the command that needs them, so that `status` over a slow SSH
line does not pay for Textual, nor the TUI for the planner.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from appliance import __version__, paths
from appliance.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, OperatorError
from appliance.text import printable

# As long as an executor can be at work: a confirmed plan grows filesystems.
_PATIENCE_SECONDS = 3600.0

Handler = Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and a hint, like every other error."""

    def error(self, message: str) -> NoReturn:
        _complain(message, f"see: {self.prog} --help")
        raise SystemExit(EXIT_USAGE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (0 ok, 1 failed, 2 usage, 3 refused, 4 stale)."""
    _survive_odd_streams()
    arguments = _parser().parse_args(argv)
    handler: Handler = arguments.handler
    try:
        status = handler(arguments)
        sys.stdout.flush()
    except OperatorError as error:
        _complain(error.message, error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        _complain("interrupted", "nothing else was started")
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone: not an error. Python flushes stdout once more at
        # exit and must not complain about it then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        _complain(str(error), "the file system or a device said no; nothing after that was done")
        return EXIT_FAILED
    return status


def _survive_odd_streams() -> None:
    """A closed stream (``>&-``) or one in ASCII must not end a command in a traceback."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _complain(message: str, hint: str) -> None:
    print(f"error: {printable(' '.join(message.split()))}", file=sys.stderr)
    if hint:
        print(f"hint: {printable(' '.join(hint.split()))}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stripewright",
        description="Local disks of a cloud machine: striped, measured, watched.",
        epilog="Without a command: the TUI on a terminal, 'status' otherwise.",
    )
    parser.add_argument("--version", action="version", version=f"stripewright {__version__}")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(handler=_default, db=paths.HISTORY_DB)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def command(
        name: str, summary: str, handler: Handler, **options: str
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.set_defaults(handler=handler)
        if options.get("json") != "no":
            # Before or after the command's name: without the default it would be forgotten.
            sub.add_argument(
                "--json",
                action="store_true",
                default=argparse.SUPPRESS,
                help="print one JSON document",
            )
        return sub

    _add_db(command("status", "health, volumes, last suite", _status))
    command("inventory", "every disk, and why it is used or not", _inventory)
    plan = command("plan", "what would be done to the disks, and why", _plan)
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
    apply = command("apply", "carry out the plan that was confirmed", _apply)
    apply.add_argument(
        "--confirm", required=True, metavar="DIGEST", help="the digest that 'plan' printed"
    )
    initialise = command("initialise", "read a volume restored from a snapshot", _initialise)
    initialise.add_argument("volume", type=_volume_name, metavar="VOLUME")
    initialise.add_argument("--stop", action="store_true", help="stop; it goes on later")
    command("suites", "the benchmark suites there are", _suites)
    _add_bench(command("bench", "measure", _bench_without_action, json="no"))
    results = command("results", "what was measured, with verdicts", _results)
    _add_db(results)
    results.add_argument(
        "--run", type=_run_id, metavar="ID", help="this run (default: the last five)"
    )
    results.add_argument("--suite", default="", metavar="SUITE", help="the last five of this suite")
    compare = command("compare", "two runs, epochs or imports side by side", _compare)
    compare.add_argument("a", metavar="A", help="a run's number, epoch:N, import:N[:DEVICE]")
    compare.add_argument("b", metavar="B", help="the same")
    _add_db(compare)
    report = command("report", "one run as a page or Markdown for a ticket", _report)
    report.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="FILE.html or FILE.md"
    )
    subject = report.add_mutually_exclusive_group()
    subject.add_argument(
        "--run", type=_run_id, metavar="ID", help="this run (default: the latest with results)"
    )
    subject.add_argument(
        "--import", type=_run_id, metavar="ID", dest="import_id", help="this imported file"
    )
    _add_db(report)
    export = command("export", "the history for other programs", _export, json="no")
    export.add_argument("form", choices=("csv", "json", "metrics"), metavar="csv|json|metrics")
    export.add_argument("--output", type=Path, metavar="FILE", help="replace FILE in one step")
    _add_db(export)
    _add_db(command("doctor", "is everything there that the appliance needs", _doctor))
    _add_db(command("tui", "the screens (with --json: what they start from)", _tui))

    # What units run. They are commands so that they can be run by hand, too.
    assemble = command(
        "assemble",
        "what the boot unit runs: writes to disks (create, assemble, mount); root",
        _assemble,
        json="no",
    )
    assemble.add_argument(
        "--again", action="store_true", help="look again; wait for whoever is at work"
    )
    notice = command("notice", "what a failed unit runs: journal it", _notice, json="no")
    notice.add_argument("unit")
    _add_hidden(commands)
    return parser


def _add_hidden(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Commands of units, and the chores that plans show: real, and not in the list."""
    for name, argument, many in (
        ("chore", "words", "*"),
        ("plan-request", "name", None),
        ("apply-request", "name", None),
        ("read-through", "name", None),
        ("watch", "", None),
        ("tune-undo", "", None),
        ("hold-cpu-latency", "", None),
    ):
        sub = commands.add_parser(name)
        sub.set_defaults(handler=_work, work=name)
        if argument:
            sub.add_argument(argument, nargs=many)


def _add_bench(bench: argparse.ArgumentParser) -> None:
    actions = bench.add_subparsers(title="actions", metavar="ACTION", parser_class=_Parser)
    run = actions.add_parser("run", help="run a suite", description="Run a suite.")
    run.set_defaults(handler=_bench_run)
    run.add_argument("suite", metavar="SUITE", help="a suite's name, or a FILE.toml of your own")
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
        "--progress", choices=("json",), default="", help="a JSON line a second on stderr"
    )
    run.add_argument(
        "--time-factor", type=_positive, default=1.0, metavar="F", help="scale every run time by F"
    )
    run.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON document"
    )
    _add_db(run)
    imported = actions.add_parser(
        "import",
        help="judge other people's fio reports",
        description="Read fio reports (text or JSON, with anything around them) and judge them.",
    )
    imported.set_defaults(handler=_bench_import)
    imported.add_argument("files", nargs="+", metavar="FILE")
    imported.add_argument(
        "--machine", default="", metavar="TYPE", help="measured on this type, whatever is written"
    )
    imported.add_argument("--db", type=Path, metavar="FILE", help="keep them in this history")
    imported.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON document"
    )
    reap = actions.add_parser(
        "reap", help="mark runs whose process is gone as aborted (after a crash)"
    )
    reap.set_defaults(handler=_bench_reap)
    _add_db(reap)


def _add_db(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--db",
        type=Path,
        default=paths.HISTORY_DB,
        metavar="FILE",
        help=f"history database (default: {paths.HISTORY_DB})",
    )


def _run_id(text: str) -> int:
    # SQLite's integers have 63 bits; an id is never that large.
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a run")
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


def _default(arguments: argparse.Namespace) -> int:
    return _tui(arguments)


def _status(arguments: argparse.Namespace) -> int:
    from appliance.commands import show

    return show.status(arguments.db, as_json=arguments.json)


def _inventory(arguments: argparse.Namespace) -> int:
    from appliance.commands import show

    return show.inventory(as_json=arguments.json)


def _plan(arguments: argparse.Namespace) -> int:
    from appliance.commands import planning

    return planning.plan(
        inventory_file=arguments.inventory,
        layout_file=arguments.layout,
        remove=arguments.remove,
        erase=arguments.erase,
        as_json=arguments.json,
    )


def _apply(arguments: argparse.Namespace) -> int:
    from appliance.commands import planning

    return planning.apply(arguments.confirm, as_json=arguments.json)


def _initialise(arguments: argparse.Namespace) -> int:
    from appliance.commands import reading

    return reading.initialise(arguments.volume, stop=arguments.stop, as_json=arguments.json)


def _work(arguments: argparse.Namespace) -> int:
    from appliance.commands import work

    does: dict[str, Callable[[], int]] = {
        "chore": lambda: work.chore(arguments.words),
        "plan-request": lambda: work.plan_request(arguments.name),
        "apply-request": lambda: work.apply_request(arguments.name),
        "read-through": lambda: work.read_through(arguments.name),
        "watch": work.watch,
        "tune-undo": work.tune_undo,
        "hold-cpu-latency": work.hold_cpu_latency,
    }
    return does[arguments.work]()


def _suites(arguments: argparse.Namespace) -> int:
    from appliance.commands import measure

    return measure.suites(as_json=arguments.json)


def _bench_without_action(_: argparse.Namespace) -> int:
    _complain("bench: no action given", "try: stripewright bench run smoke")
    return EXIT_USAGE


def _bench_run(arguments: argparse.Namespace) -> int:
    from appliance.commands import running

    return running.run(
        arguments.suite,
        running.Asked(
            target=arguments.target,
            raw_read=arguments.raw_read,
            raw_write=arguments.raw_write,
            serial=arguments.serial,
            members=arguments.members,
        ),
        db=arguments.db,
        time_factor=arguments.time_factor,
        as_json=arguments.json,
        progress=arguments.progress,
    )


def _bench_import(arguments: argparse.Namespace) -> int:
    from appliance.commands import importing

    return importing.import_files(
        arguments.files,
        machine_type=arguments.machine,
        db=arguments.db,
        as_json=arguments.json,
    )


def _bench_reap(arguments: argparse.Namespace) -> int:
    from appliance.commands import measure

    return measure.reap(arguments.db)


def _results(arguments: argparse.Namespace) -> int:
    from appliance.commands import measure

    return measure.results(
        arguments.db, run_id=arguments.run, suite=arguments.suite, as_json=arguments.json
    )


def _compare(arguments: argparse.Namespace) -> int:
    from appliance.commands import comparing

    return comparing.compare(arguments.a, arguments.b, db=arguments.db, as_json=arguments.json)


def _report(arguments: argparse.Namespace) -> int:
    from appliance.commands import reporting

    return reporting.report(
        arguments.db,
        output=arguments.output,
        run_id=arguments.run,
        import_id=arguments.import_id,
        as_json=arguments.json,
    )


def _export(arguments: argparse.Namespace) -> int:
    from appliance.commands import exporting

    return exporting.export(arguments.form, db=arguments.db, output=arguments.output)


def _doctor(arguments: argparse.Namespace) -> int:
    from appliance import doctor

    return doctor.main(arguments.db, as_json=arguments.json)


def _tui(arguments: argparse.Namespace) -> int:
    if arguments.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        # What can be told without a screen is told; scripts and pipes get here.
        return _status(arguments)
    from tui.app import run
    from tui.terminal import TerminalUnusable

    try:
        return run(arguments.db)
    except TerminalUnusable as error:
        _complain(error.message, error.hint)
        return _status(arguments)


def _assemble(arguments: argparse.Namespace) -> int:
    from appliance.storage import executor

    patience_seconds = _PATIENCE_SECONDS if arguments.again else 0.0
    return executor.boot(paths.LAYOUT_FILE, patience_seconds=patience_seconds)


def _notice(arguments: argparse.Namespace) -> int:
    from appliance.system import journal

    journal.event(
        journal.Event.UNIT_FAILED,
        f"{arguments.unit} failed",
        priority=journal.Priority.ERROR,
        unit=arguments.unit,
    )
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
