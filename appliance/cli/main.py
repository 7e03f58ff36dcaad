"""The ``stripewright`` command: finds the module of what was asked, and says how it may end."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from appliance import cli
from appliance.cli.command import Command, complain, parse
from appliance.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, OperatorError

_WITHOUT_COMMANDS = {"main", "command", "output", "shell_files"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (see :mod:`appliance.errors`)."""
    _survive_odd_streams()
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except OperatorError as error:
        complain(error.message, error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        complain("interrupted", "nothing else was started")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone: not an error. Python flushes stdout once more at
        # exit and must not complain about it then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        complain(str(error), "I/O error; the operation was aborted")
        return EXIT_FAILED
    return status


def _run(argv: Sequence[str]) -> int:
    words = list(argv)
    first = next((word for word in words if not word.startswith("-")), "")
    if not first:
        first = "tui" if {*words} <= {"--json", "--version"} else ""
        # At the end: a --help before it is about all commands.
        words.append("tui")
    help_alone = not first and {*words} <= {"-h", "--help", "tui"}
    command, options, actions = parse(words, commands(first), names_only=help_alone)
    if command.run is None:
        complain(
            f"{command.name}: no action given; choose from: {', '.join(actions)}",
            f"try: stripewright {command.example}",
        )
        return EXIT_USAGE
    if command.root and os.geteuid() != 0:
        raise OperatorError("only root can do this", "units of the appliance run it")
    return command.run(**options)


def commands(first: str = "") -> list[Command]:
    """The commands of the modules whose name begins with ``first``, a command's first word: those
    of ``drift`` are in drift.py, drift_confirm.py and so on. Where that finds none: all commands.
    """
    files = (file for folder in cli.__path__ for file in Path(folder).glob("[!_]*.py"))
    names = sorted({file.stem for file in files} - _WITHOUT_COMMANDS)
    word = first.partition("-")[0]
    near = _commands(name for name in names if name.partition("_")[0] == word) if word else []
    if any(one.name == first for one in near):
        return near
    return _commands(names)


def _commands(names: Iterable[str]) -> list[Command]:
    modules = (importlib.import_module(f"{cli.__name__}.{name}") for name in names)
    return [one for module in modules for one in getattr(module, "COMMANDS", ())]


def _survive_odd_streams() -> None:
    """A closed stream (``>&-``) or one in ASCII must not end a command in a traceback."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
