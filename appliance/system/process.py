"""The only place that starts a program.

Programs are argument lists, never a shell line. Output is decoded with replacement,
because it may quote a label or serial that is not text. A failure carries the argv, so
that the error can be repeated by hand. tests/conftest.py makes starting a program an
error in unit tests by way of :data:`subprocess.Popen`.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from appliance.errors import CommandFailed, ProgramMissing

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h

# One locale for every program whose output is parsed; a minimal environment otherwise,
# so that an operator's variables cannot change what a storage tool does.
_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}


@dataclass(frozen=True, slots=True)
class Completed:
    """A program that has ended: its argv, exit status and captured text."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


def run(
    argv: Sequence[str],
    *,
    timeout_seconds: float,
    check: bool = True,
    hint: str = "",
    input_text: str | None = None,
) -> Completed:
    """Run ``argv`` to its end and capture what it prints.

    Raises :class:`ProgramMissing` if there is no such program and :class:`CommandFailed`
    if it does not end within ``timeout_seconds`` or, with ``check``, exits non-zero.
    """
    try:
        done = subprocess.run(
            list(argv),
            input=None if input_text is None else input_text.encode(),
            stdin=subprocess.DEVNULL if input_text is None else None,
            capture_output=True,
            timeout=timeout_seconds,
            env=_ENVIRONMENT,
            check=False,
        )
    except FileNotFoundError as error:
        raise ProgramMissing(argv[0]) from error
    except PermissionError as error:
        raise CommandFailed(argv, 126, str(error), hint) from error
    except subprocess.TimeoutExpired as error:
        said = (error.stderr or error.output or b"").decode(errors="replace")
        raise CommandFailed(argv, None, said, hint) from error
    completed = Completed(
        tuple(argv),
        done.returncode,
        done.stdout.decode(errors="replace"),
        done.stderr.decode(errors="replace"),
    )
    if check and done.returncode != 0:
        raise CommandFailed(argv, done.returncode, completed.stderr or completed.stdout, hint)
    return completed


def start(
    argv: Sequence[str],
    *,
    stdout: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
    directory: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start ``argv`` in a process group of its own and return without waiting.

    It runs in ``directory`` (else in /) and keeps it open, and so a lock on it.

    The caller owns the process and ends it with :func:`stop`. The kernel kills it when the calling
    thread ends before that: a killed run leaves no load behind.
    """
    caller = os.getpid()
    try:
        return subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=_ENVIRONMENT,
            process_group=0,
            # Safe beside other threads: it takes no lock that one of them could hold.
            preexec_fn=lambda: _begin(caller, directory),  # noqa: PLW1509
            pass_fds=() if directory is None else (directory,),
        )
    except FileNotFoundError as error:
        raise ProgramMissing(argv[0]) from error


def _begin(caller: int, directory: int | None) -> None:
    """In the child: go to ``directory``, and ask for SIGKILL when the thread that forked it ends,
    which it may have.
    """
    os.chdir("/" if directory is None else directory)
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != caller:
        os._exit(1)


def stop(process: subprocess.Popen[bytes], *, grace_seconds: float = 5.0) -> int:
    """End a program of :func:`start`, group and all: SIGINT, then SIGKILL. Returns its status."""
    for signum, wait_seconds in ((signal.SIGINT, grace_seconds), (signal.SIGKILL, None)):
        if process.poll() is None:
            try:
                os.killpg(process.pid, signum)
            except ProcessLookupError:
                break
            try:
                process.wait(wait_seconds)
            except subprocess.TimeoutExpired:
                continue
    return process.wait()


def tell(process: subprocess.Popen[bytes], signum: signal.Signals) -> bool:
    """Send ``signum`` to a program of :func:`start` that has a handler for it; whether it has.

    Without one it would be ended, and a program has none until it has come to that.
    """
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    found = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    if found is None or not int(found[1], 16) >> (signum - 1) & 1:
        return False
    process.send_signal(signum)
    return True


def find_program(name: str) -> str | None:
    """Full path of ``name`` on the fixed search path, or ``None``."""
    for folder in _ENVIRONMENT["PATH"].split(":"):
        path = f"{folder}/{name}"
        if os.access(path, os.X_OK):
            return path
    return None
