"""DuckDB, which is no part of a plain installation: opened where Parquet is read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appliance.errors import OperatorError

if TYPE_CHECKING:
    import duckdb

# Of a query that sorts or groups more than this, the rest goes to a temporary file.
_MEMORY = "600MB"


class UnreadableError(OperatorError):
    """A query met a file that is damaged inside."""


def connect() -> duckdb.DuckDBPyConnection:
    """A database of its own, in memory; :class:`OperatorError` where DuckDB is missing."""
    try:
        import duckdb
    except ImportError:
        raise OperatorError(
            "DuckDB is not installed, and Parquet is read and written with it",
            "pip install 'stripewright[fleet]', on any machine that has the files or a history",
        ) from None
    connection = duckdb.connect(
        config={
            "memory_limit": _MEMORY,
            # Files of others are read: nothing may be fetched or loaded because one says so.
            "autoinstall_known_extensions": False,
            "preserve_insertion_order": False,
        }
    )
    connection.execute("SET enable_progress_bar = false")
    return connection


def quoted(text: str) -> str:
    """``text`` as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def names(columns: dict[str, str]) -> str:
    """Columns and their types as DuckDB's readers take them."""
    return (
        "{" + ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in columns.items()) + "}"
    )
