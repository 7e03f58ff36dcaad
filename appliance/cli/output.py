"""What commands share: how they print, wait for a unit, and write to ``--output FILE``."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

from appliance import text
from appliance.errors import EXIT_INTERRUPTED, OperatorError, UsageError

_POLL_SECONDS = 0.5
T = TypeVar("T")


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Check(NamedTuple):
    """One thing looked at. ``hint`` is empty when nothing needs to be done."""

    name: str
    verdict: Verdict
    found: str
    hint: str = ""


def print_json(document: object) -> None:
    import json

    print(json.dumps(document, indent=2))


def say(line: str, *, indent: str = "  ") -> None:
    """Print ``line`` within 80 columns, those after the first indented."""
    print("\n".join(text.wrapped(line, indent=indent)))


class StatusLine:
    """How far something is, on stderr: one changing line on a terminal, elsewhere a line a step.

    It goes on without a word if the terminal or the reader (``head``) has gone: what it tells of
    must not fail for that.
    """

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._step: object = None
        self._gone = False

    @property
    def columns(self) -> int:
        import shutil

        return shutil.get_terminal_size().columns if self._terminal else text.WIDTH

    def show(self, step: object, line: str, now: str = "") -> None:
        """``line`` is of this ``step``; ``now``, which goes on changing, is for a terminal only."""
        if self._terminal:
            self.write(f"\r{line}{now}\x1b[K")
        elif step != self._step:
            self.write(f"{line}\n")
        self._step = step

    def finish(self) -> None:
        if self._terminal and self._step is not None:
            self.write("\n")
        self._step = None

    def write(self, words: str) -> None:
        if self._gone:
            return
        try:
            sys.stderr.write(words)
            sys.stderr.flush()
        except OSError:
            self._gone = True


def wait_for(poll: Callable[[], T | None], unit: str, *, then: str) -> T:
    """Wait until ``poll`` finds how ``unit`` ended. Ctrl-C leaves the command and not the unit;
    ``then`` says what the operator does about it.
    """
    try:
        while (end := poll()) is None:
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        print(f"\nno longer waiting; {unit} keeps running. {then}", file=sys.stderr)
        raise SystemExit(EXIT_INTERRUPTED) from None
    return end


# ---------------------------------------------------------------------------------- --output


def require_writable(output: Path, db: Path | None = None, *, option: str = "--output") -> None:
    """:class:`UsageError` where the file of ``option`` must not or cannot go, before any work."""
    if not output.parent.is_dir():
        raise UsageError(
            f"{option} {output}: there is no directory {output.parent}", "make it, or name another"
        )
    try:
        mode = output.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(
            f"{option} {output}: {os.strerror(error.errno or 0)}", "name another file"
        ) from error
    if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
        raise UsageError(f"{option} {output} is not a file", "name a file, or a new one")
    if output.is_dir():
        raise UsageError(f"{option} {output} leads to a directory", "name a file in it")
    if db is not None and output.exists() and db.exists() and output.samefile(db):
        raise UsageError(f"{option} {output} is the history itself", "name another file")


def write_file(output: Path, pieces: Iterable[str], *, option: str = "--output") -> None:
    """Replace ``output`` in one step; anyone may read it (a collector is another user).

    :class:`OperatorError` if that fails; the old file is then unchanged.
    """
    from appliance.system import files

    # A name in imported JSON may hold half a surrogate pair, which UTF-8 cannot encode.
    encodable = (one.encode(errors="backslashreplace").decode() for one in pieces)
    try:
        files.replace_text(output, encodable, durable=True)
    except OSError as error:
        raise OperatorError(
            f"{option} {output} cannot be written: {os.strerror(error.errno or 0)};"
            " it is unchanged",
            "name a file in a directory that you may write to, on a filesystem with space",
        ) from error
