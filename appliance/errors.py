"""Errors that an operator can act on.

Three kinds are kept apart, because the next step differs: the operator's mistake
(:class:`UsageError`), the engine's refusal to do what it was asked
(:class:`Refused`, :class:`StalePlan`) and a failure of the environment
(:class:`OperatorError` itself, :class:`CommandFailed`, :class:`ProgramMissing`).
The command line prints ``error: MESSAGE`` and ``hint: HINT`` on stderr and exits
with :attr:`OperatorError.exit_code`; a traceback is always a defect.
"""

from __future__ import annotations

from collections.abc import Sequence

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_STALE = 4
# ``drift check`` found something serious and unacknowledged, ``audit-presets`` a figure that cannot
# be true. Everything worked.
EXIT_DRIFT = 5
# Ctrl-C, as shells say it: 128 + SIGINT.
EXIT_INTERRUPTED = 130


class OperatorError(Exception):
    """Something went wrong outside; ``hint`` says what the operator can do about it."""

    exit_code = EXIT_FAILED

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def to_json(self) -> dict[str, object]:
        """As root leaves it for those who asked."""
        return {"exit_code": self.exit_code, "message": self.message, "hint": self.hint}


class UsageError(OperatorError):
    """The request itself is wrong: unknown name, bad field, unreadable file."""

    exit_code = EXIT_USAGE


class Refused(OperatorError):
    """Understood, and not done, because doing it could lose data or mislead."""

    exit_code = EXIT_REFUSED


class StalePlan(Refused):
    """The machine is no longer the one the confirmed plan was made for."""

    exit_code = EXIT_STALE


class ProgramMissing(OperatorError):
    """A program that the work needs is not installed."""

    def __init__(self, program: str, hint: str = "") -> None:
        super().__init__(
            f"{program}: program not found",
            hint or f"install the package that provides '{program}' and try again",
        )
        self.program = program


class CommandFailed(OperatorError):
    """A program ended with a non-zero status, or did not end in time."""

    def __init__(
        self, argv: Sequence[str], returncode: int | None, output: str, hint: str = ""
    ) -> None:
        how = "did not end in time" if returncode is None else f"exit status {returncode}"
        last = output.strip().splitlines()[-1:] or ["no output"]
        super().__init__(f"{argv[0]}: {how}: {last[0]}", hint or f"it was run as: {' '.join(argv)}")
        self.argv = tuple(argv)
        self.returncode = returncode
        self.output = output
