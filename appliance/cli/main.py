"""The ``stripewright`` command: which room does what was asked, and how it may end.

Rooms are imported by the command that needs them, so that `status` over a slow SSH
line does not pay for Textual, nor the TUI for the planner.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from appliance import paths
from appliance.cli import arguments_drift
from appliance.cli.arguments import complain, parser
from appliance.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, OperatorError

# As long as an executor can be at work: a confirmed plan grows filesystems.
_PATIENCE_SECONDS = 3600.0

Handler = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (see :mod:`appliance.errors`)."""
    _survive_odd_streams()
    arguments = parser().parse_args(argv)
    try:
        status = HANDLERS[arguments.does](arguments)
        sys.stdout.flush()
    except OperatorError as error:
        complain(error.message, error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        complain("interrupted", "nothing else was started")
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone: not an error. Python flushes stdout once more at
        # exit and must not complain about it then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        complain(str(error), "the file system or a device said no; nothing after that was done")
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


def _status(arguments: argparse.Namespace) -> int:
    from appliance.cli import show

    return show.status(arguments.db, as_json=arguments.json)


def _inventory(arguments: argparse.Namespace) -> int:
    from appliance.cli import show

    return show.inventory(as_json=arguments.json)


def _plan(arguments: argparse.Namespace) -> int:
    from appliance.cli import plan

    return plan.plan(
        inventory_file=arguments.inventory,
        layout_file=arguments.layout,
        remove=arguments.remove,
        erase=arguments.erase,
        as_json=arguments.json,
    )


def _apply(arguments: argparse.Namespace) -> int:
    from appliance.cli import plan

    return plan.apply(arguments.confirm, as_json=arguments.json)


def _initialise(arguments: argparse.Namespace) -> int:
    from appliance.cli import initialise

    return initialise.initialise(arguments.volume, stop=arguments.stop, as_json=arguments.json)


def _work(arguments: argparse.Namespace) -> int:
    from appliance.cli import unit_entrypoints

    does: dict[str, Callable[[], int]] = {
        "chore": lambda: unit_entrypoints.chore(arguments.words),
        "plan-request": lambda: unit_entrypoints.plan_request(arguments.name),
        "apply-request": lambda: unit_entrypoints.apply_request(arguments.name),
        "read-through": lambda: unit_entrypoints.read_through(arguments.name),
        "bench-dir": lambda: unit_entrypoints.bench_dir(arguments.name),
        "watch": unit_entrypoints.watch,
        "tune-undo": unit_entrypoints.tune_undo,
        "hold-cpu-latency": unit_entrypoints.hold_cpu_latency,
    }
    return does[arguments.does]()


def _suites(arguments: argparse.Namespace) -> int:
    from appliance.cli import results

    return results.suites(as_json=arguments.json)


def _bench_without_action(_: argparse.Namespace) -> int:
    complain("bench: no action given", "see: stripewright bench --help")
    return EXIT_USAGE


def _bench_run(arguments: argparse.Namespace) -> int:
    from appliance.cli import bench_run

    return bench_run.run(
        arguments.suite,
        bench_run.Asked(
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
        wait_seconds=arguments.wait * 60.0,
    )


def _bench_import(arguments: argparse.Namespace) -> int:
    from appliance.cli import bench_import

    return bench_import.import_files(
        arguments.files,
        machine_type=arguments.machine,
        db=arguments.db,
        as_json=arguments.json,
    )


def _bench_reap(arguments: argparse.Namespace) -> int:
    from appliance.cli import results

    return results.reap(arguments.db)


def _drift_without_action(_: argparse.Namespace) -> int:
    complain(
        f"drift: no action given; there are {', '.join(arguments_drift.ACTIONS)}",
        "try: stripewright drift check",
    )
    return EXIT_USAGE


def _drift(arguments: argparse.Namespace) -> int:
    from appliance.cli import drift
    from appliance.drift.spool import Action

    db, as_json = arguments.db, arguments.json
    match arguments.does:
        case "drift check":
            return drift.check(db, as_json=as_json)
        case "drift list":
            return drift.list_findings(db, everything=arguments.all, as_json=as_json)
        case "drift show":
            return drift.show(db, arguments.id, as_json=as_json)
        case does:
            action = Action.APPROVE if does == "drift approve" else Action.ACKNOWLEDGE
            note = arguments.note
            return drift.say(db, arguments.id, action, note=note, as_json=as_json)


def _drift_confirm(arguments: argparse.Namespace) -> int:
    from appliance.cli import drift_confirm

    return drift_confirm.confirm(arguments.db, as_json=arguments.json)


def _drift_accept(arguments: argparse.Namespace) -> int:
    from appliance.cli import drift_confirm

    return drift_confirm.accept(arguments.db, as_json=arguments.json)


def _drift_replay(arguments: argparse.Namespace) -> int:
    from appliance.cli import drift_replay

    return drift_replay.replay(arguments.file, better=arguments.better, as_json=arguments.json)


def _look(_: argparse.Namespace) -> int:
    from appliance.cli import look

    return look.look_as_root()


def _rewind_timers(_: argparse.Namespace) -> int:
    from appliance.cli import rewind_timers

    return rewind_timers.rewind_timers()


def _results(arguments: argparse.Namespace) -> int:
    from appliance.cli import results

    return results.results(
        arguments.db, run_id=arguments.run, suite=arguments.suite, as_json=arguments.json
    )


def _compare(arguments: argparse.Namespace) -> int:
    from appliance.cli import compare

    return compare.compare(arguments.a, arguments.b, db=arguments.db, as_json=arguments.json)


def _report(arguments: argparse.Namespace) -> int:
    from appliance.cli import report

    return report.report(
        arguments.db,
        output=arguments.output,
        run_id=arguments.run,
        import_id=arguments.import_id,
        as_json=arguments.json,
    )


def _export(arguments: argparse.Namespace) -> int:
    from appliance.cli import export

    return export.export(arguments.form, db=arguments.db, output=arguments.output)


def _history_without_action(_: argparse.Namespace) -> int:
    complain("history: no action given", "see: stripewright history --help")
    return EXIT_USAGE


def _history_convert(arguments: argparse.Namespace) -> int:
    from appliance.cli import history_convert

    return history_convert.convert(arguments.file, output=arguments.output)


def _schedule_without_action(_: argparse.Namespace) -> int:
    complain("schedule: no action given", "try: stripewright schedule show")
    return EXIT_USAGE


def _schedule(arguments: argparse.Namespace) -> int:
    from appliance.cli import schedule
    from appliance.client.schedule_requests import When

    if arguments.does == "schedule-apply":
        return schedule.apply()
    if arguments.does == "schedule-request":
        return schedule.schedule_request(arguments.name)
    if arguments.does == "schedule show":
        return schedule.show(as_json=arguments.json)
    return schedule.change(
        arguments.suite,
        file=arguments.file,
        when=When(arguments.every, arguments.at, arguments.jitter, state=arguments.state),
        as_json=arguments.json,
    )


def _doctor(arguments: argparse.Namespace) -> int:
    from appliance.cli import doctor

    return doctor.main(arguments.db, as_json=arguments.json)


def _tui(arguments: argparse.Namespace) -> int:
    if arguments.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        # What can be told without a screen is told; scripts and pipes get here.
        return _status(arguments)
    from tui.start import run
    from tui.terminal import TerminalUnusable

    try:
        return run(
            arguments.db,
            readonly=arguments.readonly,
            theme=arguments.theme,
            mouse=arguments.mouse,
        )
    except TerminalUnusable as error:
        complain(error.message, error.hint)
        return _status(arguments)


def _assemble(arguments: argparse.Namespace) -> int:
    from appliance.storage.execute import executor

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


# For what the command line names (``does``), the function that does it.
HANDLERS: Mapping[str, Handler] = {
    "status": _status,
    "inventory": _inventory,
    "plan": _plan,
    "apply": _apply,
    "initialise": _initialise,
    "suites": _suites,
    "bench": _bench_without_action,
    "bench run": _bench_run,
    "bench import": _bench_import,
    "bench reap": _bench_reap,
    "drift": _drift_without_action,
    "drift check": _drift,
    "drift list": _drift,
    "drift show": _drift,
    "drift ack": _drift,
    "drift approve": _drift,
    "drift confirm": _drift_confirm,
    "drift accept": _drift_accept,
    "drift replay": _drift_replay,
    "look": _look,
    "rewind-timers": _rewind_timers,
    "results": _results,
    "compare": _compare,
    "report": _report,
    "export": _export,
    "history": _history_without_action,
    "history convert": _history_convert,
    "schedule": _schedule_without_action,
    "schedule show": _schedule,
    "schedule set": _schedule,
    "doctor": _doctor,
    "tui": _tui,
    "assemble": _assemble,
    "notice": _notice,
    "chore": _work,
    "plan-request": _work,
    "apply-request": _work,
    "read-through": _work,
    "bench-dir": _work,
    "watch": _work,
    "tune-undo": _work,
    "hold-cpu-latency": _work,
    "schedule-apply": _schedule,
    "schedule-request": _schedule,
}


if __name__ == "__main__":
    sys.exit(main())
