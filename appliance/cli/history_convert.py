"""``history convert``: a history of the schema before becomes one of this."""

from __future__ import annotations

import contextlib
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.cli.command import Command
from appliance.errors import EXIT_OK, OperatorError, UsageError

if TYPE_CHECKING:
    import sqlite3


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="OLD", help="the file; as it was it stays as OLD.schema-5"
    )
    parser.add_argument(
        "--output", type=Path, metavar="NEW", help="write NEW, and leave OLD as it is"
    )


def convert(*, file: Path, output: Path | None) -> int:
    """Convert ``file`` into ``output``, or where it is; then the file it was stays beside it.

    :class:`UsageError` for a file that needs no conversion and for a name that is taken,
    :class:`OperatorError` for one that cannot be converted.
    """
    from appliance.history import connection
    from appliance.history import format as file_format
    from appliance.history.store import History

    with contextlib.closing(connection.connect(file)) as source:
        _require_convertible(connection.Connection(source, file).schema_version(), file)
        copy = output or file.with_name(f"{file.name}.schema-{file_format.CONVERTIBLE}")
        _copy(source, copy)
    try:
        with History.open_writable(output or file, may_set_aside=False):
            pass
    except BaseException:
        # Once it is converted, the copy is the only one of the file as it was.
        with contextlib.closing(connection.connect(output or file)) as now:
            converted = connection.Connection(now, file).schema_version() != file_format.CONVERTIBLE
        if not converted:
            copy.unlink()
        raise
    kept = "it is as it was" if output else f"what it was is {text.printable(str(copy))}"
    print(f"converted {text.printable(str(file))} to {text.printable(str(output or file))}; {kept}")
    return EXIT_OK


def _require_convertible(version: int, path: Path) -> None:
    from appliance.history import format as file_format

    if version == file_format.SCHEMA_VERSION:
        raise UsageError(f"history {path} has schema version {version}: nothing to convert", "")
    if version != file_format.CONVERTIBLE:
        raise file_format.other_schema(path, version)


def _copy(source: sqlite3.Connection, name: Path) -> None:
    import sqlite3

    try:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except OSError as error:
        raise UsageError(
            f"cannot make {name}: {os.strerror(error.errno or 0)}",
            "name another file with --output FILE",
        ) from error
    try:
        with contextlib.closing(sqlite3.connect(name)) as target:
            source.backup(target)
    except BaseException as error:
        name.unlink()
        if isinstance(error, sqlite3.Error):
            raise OperatorError(f"cannot copy the history to {name}: {error}", "") from error
        raise


COMMANDS = (
    Command("history", None, "convert the history's file", "history convert history.db"),
    Command("history convert", convert, "convert a history of an earlier version to this one",
        "history convert old.db --output new.db", _arguments, json=False),
)  # fmt: skip
