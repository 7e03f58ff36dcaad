"""``export csv|json|metrics``: the history as a text, on stdout or in a file."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from appliance.errors import EXIT_OK, OperatorError, UsageError
from appliance.history import exports, queries

FORMS: dict[str, Callable[[queries.Reader], Iterable[str]]] = {
    "csv": exports.csv_text,
    "json": exports.json_text,
    "metrics": lambda reader: (exports.metrics_text(reader),),
}


def export(form: str, *, db: Path, output: Path | None) -> int:
    """Write the history in ``form``; ``output`` is replaced in one step."""
    with queries.open_readonly(db) as reader:
        pieces = FORMS[form](reader)
        if output is None:
            for piece in pieces:
                sys.stdout.write(piece)
        else:
            _replace(output, iter(pieces))
    return EXIT_OK


def _replace(path: Path, pieces: Iterator[str]) -> None:
    """Replace ``path``: whoever reads it sees the old text or the new one, whole.

    The new text is made beside it, under a name that no collector looks at, is on the disk
    before it gets the name, and may be read by everybody: the collector is another user.
    """
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is not a file", "name a file; without --output: stdout")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.")
    except OSError as error:
        raise _failed(path, error) from error
    made = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="") as f:
            for piece in pieces:
                f.write(piece)
            f.flush()
            os.fsync(f.fileno())
        made.chmod(0o644)
        made.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        made.unlink(missing_ok=True)
        raise _failed(path, error) from error
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _failed(path: Path, error: OSError) -> OperatorError:
    return OperatorError(
        f"cannot write {path}: {os.strerror(error.errno or 0)}; what was there is as it was",
        "name a file in a directory that you may write, on a filesystem with space",
    )
