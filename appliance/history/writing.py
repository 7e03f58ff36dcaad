"""One connection that writes history.db: transactions, rows in, rows out.

What is written is in :mod:`appliance.history.store`; this is how.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from appliance.history import format as file_format
from appliance.history import published, queries


class Writer:
    """A connection from :func:`appliance.history.opening.open_checked`, used by one thread.
    ``reader`` asks over it, also within a transaction.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._columns: dict[str, frozenset[str]] = {}
        self._publisher = published.Publisher(connection, path) if published.is_own(path) else None
        self.path = path
        self.reader = queries.Reader(connection, path)

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

    def insert(self, table: str, *rows: Mapping[str, Any], or_ignore: bool = False) -> int:
        """Insert rows with the same columns inside a :meth:`transaction`; the last one's rowid.

        ``or_ignore`` leaves out a row whose key is there already.
        """
        if not rows:
            return 0
        names = tuple(rows[0])
        self._require(table, names)
        verb = "INSERT OR IGNORE" if or_ignore else "INSERT"
        marks = ", ".join("?" * len(names))
        sql = f"{verb} INTO {table} ({', '.join(names)}) VALUES ({marks})"
        for row in rows:
            cursor = self._connection.execute(sql, [row[name] for name in names])
        return cursor.lastrowid or 0

    def update(self, table: str, key: int, values: Mapping[str, Any]) -> None:
        """Set columns of the row whose id is ``key``, inside a :meth:`transaction`."""
        self._require(table, values)
        marks = ", ".join(f"{name} = ?" for name in values)
        self._connection.execute(
            f"UPDATE {table} SET {marks} WHERE id = ?",  # noqa: S608
            (*values.values(), key),
        )

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table, as the file has them."""
        if table not in self._columns:
            found = self.all("SELECT name FROM pragma_table_info(?)", table)
            self._columns[table] = frozenset(row["name"] for row in found)
        return self._columns[table]

    def _require(self, table: str, names: Iterable[str]) -> None:
        """Names are those of the schema, so that no data ever becomes part of a statement."""
        if not self.columns(table).issuperset(names):
            raise ValueError(f"{table} has no column {set(names) - self.columns(table)}")

    def execute(self, sql: str, *values: object) -> None:
        """One statement inside a :meth:`transaction`."""
        self._connection.execute(sql, values)

    def all(self, sql: str, *values: object) -> list[Any]:
        return self.reader.all(sql, *values)
