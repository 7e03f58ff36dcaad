"""A history of schema 5 becomes one of this schema. Nothing that it holds is lost.

Schema 5 kept imported reports in a table of their own, as JSON, and left columns of a run empty.
All else is as it was, ids among it, and is not touched.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from sqlite_utils import Database
from sqlite_utils.db import Table

from appliance.history import format as file_format
from appliance.history import rows, schema
from appliance.model.measurement import Measurement
from appliance.state import codec

# Tables whose columns have changed; those that refer to them do so by name.
_CHANGED = ("run", "result", "finding")


def in_place(connection: sqlite3.Connection) -> None:
    """Convert the file that is open for writing, in one transaction."""
    # As https://www.sqlite.org/lang_altertable.html has it: what refers to a table that is made
    # again goes on to do so. Within a transaction these pragmas do nothing.
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA legacy_alter_table = ON")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it since the version was read.
        if connection.execute("PRAGMA user_version").fetchone()[0] == file_format.CONVERTIBLE:
            for table in _CHANGED:
                _make_again(connection, table)
            _move_imports(Database(connection, strict=True))
            connection.execute("DROP TABLE _sqlite_migrations")
            schema.stamp(connection)
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
    connection.execute("PRAGMA legacy_alter_table = OFF")
    connection.execute("PRAGMA foreign_keys = ON")


def _make_again(connection: sqlite3.Connection, table: str) -> None:
    """The same rows in a table as this schema has it; NULL becomes a column's default."""
    old = f"{table}_5"
    connection.execute(f"ALTER TABLE {table} RENAME TO {old}")
    for (index,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql NOT NULL",
        (old,),
    ).fetchall():
        connection.execute(f"DROP INDEX {index}")
    schema.create_table(connection, table)
    columns = "SELECT name, dflt_value FROM pragma_table_info(?)"
    kept = {name for name, _ in connection.execute(columns, (old,))}
    copied = {
        name: name if default is None else f"coalesce({name}, {default})"
        for name, default in connection.execute(columns, (table,))
        if name in kept
    }
    if table == "run":
        copied["phase_started_at"] = "coalesce(phase_started_at, started_at)"
    connection.execute(
        f"INSERT INTO {table} ({', '.join(copied)})"  # noqa: S608 - names of the schemas
        f" SELECT {', '.join(copied.values())} FROM {old} ORDER BY rowid"
    )
    connection.execute(f"DROP TABLE {old}")


def _move_imports(db: Database) -> None:
    result, finding, reports = (
        _table(db, name) for name in ("result", "finding", "imported_report")
    )
    columns = result.columns_dict
    for row in list(db.query("SELECT * FROM imported_report ORDER BY id")):
        try:
            report = _report(row)
            made, findings = rows.result_row(report, columns), rows.finding_rows(report.findings)
        except (ValueError, TypeError, LookupError, AttributeError):
            # It was damaged: it stays so, and keeps nothing else from being converted.
            kept = columns.keys() & row.keys() - {"id", "imported_id"}
            more = json.dumps({name: row[name] for name in ("evidence", "findings")})
            made, findings = {**{name: row[name] for name in kept}, "more": more}, []
        result.insert({"imported_id": row["imported_id"], **made})
        of = {"result_id": result.last_pk}
        finding.insert_all({**of, **one} for one in findings)
    reports.drop()


def _table(db: Database, name: str) -> Table:
    found = db.table(name)
    assert isinstance(found, Table)  # noqa: S101 - narrows the type: views are not written
    return found


def _report(row: dict[str, Any]) -> Measurement:
    evidence = json.loads(row["evidence"])
    findings = json.loads(row["findings"])
    document = {**evidence, "line": row["line"], "findings": findings}
    return codec.decode(Measurement, document, bounds=rows.WHATEVER)
