"""DuckDB, which is no part of a plain installation: opened where Parquet is read or written."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
            # Where it is started may be no place to write; made when it is needed, and gone after.
            "temp_directory": str(
                Path(tempfile.gettempdir(), f"stripewright-duckdb-{os.getpid()}")
            ),
            # Files of others are read: nothing may be fetched or loaded because one says so.
            "autoinstall_known_extensions": False,
            "preserve_insertion_order": False,
        }
    )
    connection.execute("SET enable_progress_bar = false")
    return connection


@contextmanager
def working() -> Iterator[None]:
    """What DuckDB could not write is an :class:`OSError`, and Ctrl-C within it is one."""
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise OSError(errno.EIO, str(error).splitlines()[0]) from error
    except RuntimeError as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise


def quoted(text: str) -> str:
    """``text`` as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def names(columns: dict[str, str]) -> str:
    """Columns and their types as DuckDB's readers take them."""
    return (
        "{" + ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in columns.items()) + "}"
    )
