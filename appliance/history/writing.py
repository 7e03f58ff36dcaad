"""One connection that writes history.db: transactions, rows in, rows out.

What is written is in :mod:`appliance.history.store`; this is how.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.history import format as file_format
from appliance.history import published

if TYPE_CHECKING:
    from sqlite_utils.db import Database, Table


class Writer:
    """A connection from :func:`appliance.history.opening.open_checked`, used by one thread."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._db: Database | None = None
        self._publisher = published.Publisher(connection, path) if published.is_own(path) else None
        self.path = path

    def close(self) -> None:
        self.publish()
        self._connection.close()
        if self._publisher is not None:
            self._publisher.close()

    def publish(self) -> None:
        """Readers of the appliance's history see all that was written."""
        if self._publisher is not None:
            self._publisher.now()

    @contextlib.contextmanager
    def transaction(self, *, publish: bool = True) -> Iterator[None]:
        """Everything in it or nothing; with ``publish`` the copy for readers may be renewed after
        it. The write lock is taken first: a lock that is taken after reading can fail at once,
        without the wait, when two processes do it.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise file_format.operator_error(self.path, error) from error
        if publish and self._publisher is not None:
            self._publisher.now_and_then()

    def insert(self, table: str, row: dict[str, Any]) -> int:
        """Insert a row into a table with an integer key; the key."""
        key = self.table(table).insert(row).last_pk
        assert isinstance(key, int)  # noqa: S101 - the tables that come here have integer keys
        return key

    def table(self, name: str) -> Table:
        from sqlite_utils import Database

        from appliance.history.schema import table

        if self._db is None:
            self._db = Database(self._connection, strict=True)
        return table(self._db, name)

    def execute(self, sql: str, *values: object) -> None:
        """One statement inside a :meth:`transaction`; without the import of sqlite-utils."""
        self._connection.execute(sql, values)

    def all(self, sql: str, *values: object) -> list[dict[str, Any]]:
        try:
            cursor = self._connection.execute(sql, values)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except sqlite3.Error as error:
            raise file_format.operator_error(self.path, error) from error
