"""One read-only connection to history.db; what is asked is in :mod:`appliance.history.queries`.

The file is opened read-only: no lock file, no side file, nothing to write. Every query is
short, because a reader keeps a writer waiting for as long as it reads; not that of the
appliance, of which readers have a copy (:mod:`appliance.history.published`).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from appliance import paths
from appliance.errors import OperatorError, UsageError
from appliance.history import format as file_format
from appliance.history import published, rows
from appliance.model import advice

_T = TypeVar("_T")
_WAIT_SECONDS = 5.0
# What decoding or showing a damaged value raises.
NOT_DECODED = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError),
    zlib.error,
)
_START = f"start a run: {advice.run_suite()}"


def connect(path: Path) -> sqlite3.Connection:
    """A connection to ``path``; :class:`OperatorError` says what is wrong if there is none."""
    path = published.for_reader(path)
    _require_file(path)
    try:
        connection = sqlite3.connect(
            f"file:{_escaped(path.absolute())}?mode=ro", uri=True, timeout=_WAIT_SECONDS
        )
        for pragma in file_format.CAUTION:
            connection.execute(pragma)
    except sqlite3.Error as error:
        raise file_format.operator_error(path, error) from error
    return connection


def _escaped(path: Path) -> str:
    """``path`` in a URI, by https://www.sqlite.org/uri.html; importing urllib takes longer than a
    query.
    """
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _require_file(path: Path) -> None:
    """A file that may be read, or an error at once: SQLite would wait for a FIFO's writer for ever.

    Not opened here: closing a second descriptor would drop SQLite's locks on the file.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise OperatorError(
            f"there is no history at {path} yet",
            f"{_START}; or name another file with --db FILE",
        ) from error
    except OSError as error:
        raise _unreadable(path, error.errno or 0) from error
    if stat.S_ISDIR(mode):
        raise file_format.directory(path)
    if not stat.S_ISREG(mode):
        raise UsageError(f"history {path} is not a regular file", "name a file with --db FILE")
    if not os.access(path, os.R_OK, effective_ids=True):
        raise _unreadable(path, errno.EACCES)


def _unreadable(path: Path, number: int) -> OperatorError:
    return OperatorError(
        f"cannot read history {path}: {os.strerror(number)}",
        "name a file that you may read with --db FILE",
    )


class Connection:
    """A read-only connection; use it as a context manager and from one thread."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        connection.row_factory = sqlite3.Row
        self._connection = connection
        self._path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    @property
    def path(self) -> Path:
        """The file that is read."""
        return self._path

    def schema_version(self) -> int:
        """Of a file of ours, else :class:`OperatorError`."""
        if self._number("PRAGMA application_id") == file_format.APPLICATION_ID:
            return self._number("PRAGMA user_version")
        if not self.all("SELECT 1 FROM sqlite_master LIMIT 1"):
            raise OperatorError(f"history {self._path} is empty", _START)
        raise file_format.foreign(self._path)

    def require_schema(self) -> None:
        """:class:`OperatorError` for another program's file, or one of another schema."""
        version = self.schema_version()
        if version != file_format.SCHEMA_VERSION:
            raise file_format.other_schema(self._path, version)

    @contextmanager
    def understood(self) -> Iterator[None]:
        """A value that cannot be decoded is damage too, though SQLite does not see it."""
        try:
            yield
        except NOT_DECODED as error:
            kind = file_format.UndecodableError
            raise file_format.damaged(self._path, error, kind) from error

    @contextmanager
    def leaving_out(self, what: str, left_out: list[str] | None) -> Iterator[None]:
        """Damage that is met within is named in ``left_out``; without one it is an error."""
        try:
            with self.understood():
                yield
        except file_format.UndecodableError as error:
            if left_out is None:
                raise
            left_out.append(f"{what}: {error.__cause__}")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several queries over one state of the file; within another one it is that."""
        if self._connection.in_transaction:
            yield
            return
        self.all("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()

    def all(self, sql: str, *values: object) -> list[Any]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            if file_format.is_damage(error) and not self._is_provably_ours():
                raise file_format.foreign(self._path) from error
            if str(error).startswith("Could not decode to UTF-8"):
                raise file_format.damaged(
                    self._path, error, file_format.UndecodableError
                ) from error
            raise file_format.operator_error(self._path, error) from error

    def values(self, kind: type[_T], sql: str, *values: object) -> tuple[_T, ...]:
        """The rows of a query as values of a dataclass."""
        found = self.all(sql, *values)
        with self.understood():
            return tuple(rows.value_of(kind, row) for row in found)

    def _is_provably_ours(self) -> bool:
        """As the writing side sees it: only then is a damaged file set aside."""
        try:
            with self._path.open("rb") as file:
                header = file.read(file_format.HEADER_BYTES)
        except OSError:
            return True
        return file_format.is_ours(header) or self._path.absolute() == paths.HISTORY_DB

    def _number(self, sql: str) -> int:
        return int(self.all(sql)[0][0])
