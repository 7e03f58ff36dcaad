"""Opening history.db for writing: make, check, migrate, or set aside what is damaged."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from appliance.errors import OperatorError
from appliance.history import format as file_format

_WAIT_SECONDS = 20.0


class DamagedError(Exception):
    """The file's content is broken; the text says how SQLite put it."""


def open_checked(path: Path) -> sqlite3.Connection:
    """A connection to ``path``, made if it is not there, whole, ours and migrated.

    :class:`DamagedError` if its content is broken, :class:`OperatorError` otherwise.
    """
    _make(path)
    connection = None
    try:
        connection = sqlite3.connect(path, timeout=_WAIT_SECONDS)
        # The first look also undoes what a killed writer left.
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise DamagedError(found)
        _require_ours(connection, path)
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA foreign_keys = ON")
        if _pragma(connection, "user_version") < file_format.SCHEMA_VERSION:
            from appliance.history import schema

            schema.migrate(connection)
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        if file_format.is_damage(error):
            raise DamagedError(str(error)) from error
        raise file_format.operator_error(path, error) from error
    except BaseException:
        if connection is not None:
            connection.close()
        raise
    return connection


def _require_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Never write into a database of another program or of a later version."""
    if _pragma(connection, "application_id") != file_format.APPLICATION_ID:
        if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise file_format.foreign(path)
    elif (version := _pragma(connection, "user_version")) > file_format.SCHEMA_VERSION:
        raise file_format.too_new(path, version)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _make(path: Path) -> None:
    """Make the file if it is not there, readable by all.

    The boot unit (root) may be the first to write; the file then gets the owner of its
    directory, so that the unprivileged bench unit can write it too.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return
    except OSError as error:
        raise OperatorError(
            f"cannot make history {path}: {os.strerror(error.errno or 0)}",
            "name a file in a directory that you may write with --db FILE",
        ) from error
    try:
        os.fchmod(descriptor, 0o644)
        owner = path.parent.stat()
        if os.geteuid() == 0 and owner.st_uid != 0:
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    finally:
        os.close(descriptor)


def set_aside(path: Path) -> Path:
    """Rename the file and return its new name.

    Its journal goes with it: one without the other would be lost for good.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    try:
        left_over = path.with_name(f"{path.name}-journal")
        if left_over.exists():
            left_over.rename(aside.with_name(f"{aside.name}-journal"))
        path.rename(aside)
    except OSError as error:
        raise OperatorError(
            f"history {path} is damaged and cannot be set aside: {os.strerror(error.errno or 0)}",
            "move the file away by hand, or name another one with --db FILE",
        ) from error
    return aside
