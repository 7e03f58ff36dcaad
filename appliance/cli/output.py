"""``--output FILE``: where a command may write, and the writing, whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from appliance.errors import OperatorError, UsageError
from appliance.system import files


def require_writable(output: Path, db: Path) -> None:
    """:class:`UsageError` where a file must not or cannot go, before any work is done."""
    if not output.parent.is_dir():
        raise UsageError(
            f"--output {output}: there is no directory {output.parent}", "make it, or name another"
        )
    try:
        mode = output.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(
            f"--output {output}: {os.strerror(error.errno or 0)}", "name another file"
        ) from error
    if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
        raise UsageError(f"--output {output} is not a file", "name a file, or a new one")
    if output.is_dir():
        raise UsageError(f"--output {output} leads to a directory", "name a file in it")
    if output.exists() and db.exists() and output.samefile(db):
        raise UsageError(f"--output {output} is the history itself", "name another file")


def write(output: Path, pieces: Iterable[str]) -> None:
    """Replace ``output`` in one step; everybody may read it (a collector is another user).

    :class:`OperatorError` if that fails; what was there is then as it was.
    """
    # A name out of somebody's JSON may hold half a surrogate pair, which no UTF-8 has.
    encodable = (one.encode(errors="backslashreplace").decode() for one in pieces)
    try:
        files.replace_text(output, encodable, durable=True)
    except OSError as error:
        raise OperatorError(
            f"--output {output} cannot be written: {os.strerror(error.errno or 0)};"
            " what was there is as it was",
            "name a file in a directory that you may write, on a filesystem with space",
        ) from error
