"""Opening history.db for writing: make, check, convert, or set aside what is damaged.

Only a file that is provably ours is ever renamed or replaced: its header says so, or it
lies in the appliance's own place. A mistyped ``--db`` costs no file.
"""

from __future__ import annotations

import errno
import itertools
import os
import sqlite3
import stat
import time
from pathlib import Path

from appliance import paths
from appliance.errors import OperatorError, UsageError
from appliance.history import format as file_format
from appliance.history import published, schema
from appliance.system import files

_WAIT_SECONDS = 20.0


class DamagedError(Exception):
    """The file's content is broken; the text says how SQLite put it."""


def adopt(path: Path) -> Path:
    """Where the history ``path`` is written (:mod:`appliance.history.published`).

    If nothing is there yet it begins with what lies at ``path``: a history of an earlier
    version, or one that was put there. By copying, because a reader may hold a lock on it.
    """
    place = published.live(path)
    if place == path or os.path.lexists(place):
        return place
    _require_own_directory(path)
    left_over = path.with_name(f"{path.name}-journal")
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        with published.alone(place.parent):
            if os.path.lexists(path) and not os.path.lexists(place):
                source = _look(path)
                try:
                    if os.path.lexists(left_over):
                        left_over.rename(place.with_name(f"{place.name}-journal"))
                    published.copy(source, begun := place.with_name("begun"))
                finally:
                    os.close(source)
                begun.rename(place)
                files.sync_folder(place.parent)
    except OSError as error:
        raise _cannot_make(place, error) from error
    return place


def open_checked(path: Path, *, wait_seconds: float | None = None) -> sqlite3.Connection:
    """A connection to ``path``, made if it is not there, whole, ours and of this schema.

    :class:`DamagedError` if its content is broken and it may be set aside,
    :class:`UsageError` if it is not ours to touch, :class:`OperatorError` otherwise.
    """
    _require_own_directory(path)
    _make(path)
    connection = None
    try:
        connection = _connect(path, wait_seconds)
        for pragma in file_format.CAUTION:
            connection.execute(pragma)
        _require_plain_schema(connection)
        # The first look also undoes what a killed writer left.
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise DamagedError(found)
        _require_ours(connection, path)
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA foreign_keys = ON")
        if _pragma(connection, "application_id") != file_format.APPLICATION_ID:
            schema.create(connection)
        elif _pragma(connection, "user_version") == file_format.CONVERTIBLE:
            # The image was replaced, and /var kept its history.
            from appliance.history import convert

            convert.in_place(connection)
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


def _connect(path: Path, wait_seconds: float | None) -> sqlite3.Connection:
    """A connection to the very file that was looked at and is ours to touch.

    The look comes before SQLite's, which would undo a journal it finds beside the file, and
    no link is followed.
    """
    looked_at = _look(path)
    try:
        connection = sqlite3.connect(path, timeout=wait_seconds or _WAIT_SECONDS)
        try:
            _require_same(looked_at, path)
        except BaseException:
            connection.close()
            raise
        return connection
    finally:
        # SQLite has locked nothing yet: closing a second descriptor later would drop its
        # locks (https://sqlite.org/howtocorrupt.html, 2.2), closing it earlier would let
        # another file get the same inode number.
        os.close(looked_at)


def _look(path: Path) -> int:
    """A descriptor of a regular file that is ours, empty, or in the appliance's own place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(
                f"history {path} is a symbolic link", "name the file it leads to with --db FILE"
            ) from error
        raise OperatorError(
            f"cannot open history {path}: {os.strerror(error.errno or 0)}",
            "name a file that you may read and write with --db FILE",
        ) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise file_format.directory(path)
        if not stat.S_ISREG(mode):
            raise UsageError(f"history {path} is not a regular file", "name a file with --db FILE")
        header = os.read(descriptor, file_format.HEADER_BYTES)
        if header and not file_format.is_ours(header) and not _is_own(path):
            raise file_format.foreign(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_own(path: Path) -> bool:
    """Whether this is the appliance's own history, whatever it holds by now."""
    return path.absolute() in {paths.HISTORY_DB, published.live(paths.HISTORY_DB)}


def _require_same(looked_at: int, path: Path) -> None:
    """What the name leads to now, without following a link, is what was looked at."""
    try:
        same = os.path.samestat(os.fstat(looked_at), os.lstat(path))
    except OSError:
        same = False
    if not same:
        raise OperatorError(
            f"history {path} was replaced while it was being opened",
            "try again; if it stays so, see who else writes in that directory",
        )


def _require_plain_schema(connection: sqlite3.Connection) -> None:
    """Our schema is tables and indexes. A trigger or view would act with the writer's rights."""
    found = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index') OR rootpage = 0"
    ).fetchone()[0]
    if found:
        raise DamagedError(f"it holds {found} triggers, views or virtual tables, none of them ours")


def _require_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Never write into a database of another program or of a schema that is not known."""
    if _pragma(connection, "application_id") != file_format.APPLICATION_ID:
        if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            if _is_own(path):
                raise DamagedError("it is another program's database")
            raise file_format.foreign(path)
        return
    version = _pragma(connection, "user_version")
    if version in {file_format.SCHEMA_VERSION, file_format.CONVERTIBLE}:
        return
    error = file_format.other_schema(path, version)
    if version < file_format.SCHEMA_VERSION and _is_own(path):
        # The appliance goes on, and what it kept stays.
        raise DamagedError(error.message)
    raise error


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _require_own_directory(path: Path) -> None:
    """Root writes no history in a directory that others may change.

    A process that may write there can lay a journal beside the database that names any file; SQLite
    would delete that file with root's rights when it rolls back.
    """
    try:
        owner = path.parent.stat().st_uid
    except OSError:
        return  # making the file tells what is wrong
    if os.geteuid() == 0 and owner != 0:
        raise UsageError(
            f"history {path} is in a directory of another user, and you are root",
            f"run this as that user: setpriv --reuid {owner} --clear-groups stripewright ...;"
            " on the appliance: systemctl start stripewright-bench@smoke.service;"
            " or name a history in a directory of root's with --db FILE",
        )


def _make(path: Path) -> None:
    """Make the file if it is not there, readable by all."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return
    except OSError as error:
        raise _cannot_make(path, error) from error
    try:
        os.fchmod(descriptor, 0o644)
    finally:
        os.close(descriptor)


def _cannot_make(path: Path, error: OSError) -> OperatorError:
    return OperatorError(
        f"cannot make history {path}: {os.strerror(error.errno or 0)}",
        "name a file in a directory that you may write with --db FILE",
    )


def begin_again(path: Path, *, wait_seconds: float | None = None) -> tuple[sqlite3.Connection, str]:
    """The history ``path`` after its file was set aside, and in words what it begins with: the
    copy that readers have, if that is whole, as it would be overwritten by that of an empty one.
    """
    place = adopt(path)
    if place.exists():
        try:
            connection = open_checked(place, wait_seconds=wait_seconds)
        except DamagedError:
            set_aside(place, path)
        else:
            return connection, "it continues from the copy for readers"
    return open_checked(place, wait_seconds=wait_seconds), "a new one was begun"


def set_aside(place: Path, path: Path) -> Path:
    """Rename the file ``place`` to a name beside ``path`` and return that: never that of an
    earlier one.

    Its journal goes with it: one without the other would be lost for good.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    names = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    aside = next(
        free
        for suffix in names
        if not os.path.lexists(free := path.with_name(f"{path.name}.damaged-{stamp}{suffix}"))
    )
    try:
        left_over = place.with_name(f"{place.name}-journal")
        if os.path.lexists(left_over):
            left_over.rename(aside.with_name(f"{aside.name}-journal"))
        place.rename(aside)
    except OSError as error:
        raise OperatorError(
            f"history {path} is damaged and cannot be set aside: {os.strerror(error.errno or 0)}",
            "move the file away by hand, or name another one with --db FILE",
        ) from error
    return aside
