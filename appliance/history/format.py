"""What both sides of history.db agree on: the file's header, and how values are packed.

Standard library only. Reading must not pay for the library that writes.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping

from appliance import paths
from appliance.errors import OperatorError, UsageError

APPLICATION_ID = 0x53775274  # "SwRt" in the file's header, so that file(1) can tell
SCHEMA_VERSION = 6
# The one before is converted (:mod:`appliance.history.convert`).
CONVERTIBLE = 5
HEADER_BYTES = 100  # https://sqlite.org/fileformat.html, 1.3
_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID_OFFSET = 68
# For every connection. The file may be a stranger's copy, or lie where others can write:
# what it defines itself is not run with our rights, and odd pages are looked at closely.
CAUTION = ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON")


class HistoryBusyError(OperatorError):
    """Another process held the file for longer than one waits."""


class UndecodableError(OperatorError):
    """A value is not what its column is for; the rest of the file can be read."""


def is_ours(header: bytes) -> bool:
    """Whether these first bytes of a file prove that this program made it."""
    at = _APPLICATION_ID_OFFSET
    return header.startswith(_MAGIC) and header[at : at + 4] == APPLICATION_ID.to_bytes(4, "big")


def pack_bins(bins: Mapping[int, int]) -> bytes:
    """Histogram bins as zlib-compressed JSON ``[[ns, count], …]``, ascending."""
    return zlib.compress(json.dumps(sorted(bins.items()), separators=(",", ":")).encode())


def unpack_bins(packed: bytes) -> dict[int, int]:
    """The reverse of :func:`pack_bins`."""
    return {int(ns): int(count) for ns, count in json.loads(zlib.decompress(packed))}


def is_damage(error: sqlite3.Error) -> bool:
    """Whether ``error`` means that the file's content is broken, not busy or forbidden."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def operator_error(path: object, error: sqlite3.Error) -> OperatorError:
    """``error`` in words that an operator can act on."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if is_damage(error):
        return damaged(path, error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return HistoryBusyError(
            f"history {path} is in use by another process", "try again in a moment"
        )
    if name in {"SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY"}:
        return OperatorError(
            f"history {path} has an unfinished write of a process that was killed",
            "the next run undoes it; off the appliance: stripewright bench reap --db FILE",
        )
    hints = {
        "SQLITE_FULL": "make room on that filesystem",
        "SQLITE_READONLY": "give a file that you may write with --db FILE",
        "SQLITE_CANTOPEN": "give a file that you may use with --db FILE",
        "SQLITE_PERM": "give a file that you may use with --db FILE",
    }
    hint = next((text for key, text in hints.items() if name.startswith(key)), "")
    return OperatorError(
        f"history {path}: {error}", hint or "look at the filesystem that holds it, then try again"
    )


def damaged(
    path: object, error: Exception, kind: type[OperatorError] = OperatorError
) -> OperatorError:
    """The file's content is broken; a reader can only say so."""
    return kind(
        f"history {path} is damaged: {error}",
        "the next run or boot that writes it sets it aside and begins a new one; "
        "keep a copy if you need it",
    )


def foreign(path: object) -> UsageError:
    """The file is something else: another program's database, a text. It is left alone."""
    return UsageError(
        f"{path} is not a Stripewright history",
        "give another file with --db FILE; this one is left as it is",
    )


def directory(path: object) -> UsageError:
    return UsageError(f"history {path} is a directory, not a file", "name a file with --db FILE")


def other_schema(path: object, version: int) -> OperatorError:
    """The file is ours, of a schema that this program does not read."""
    message = (
        f"history {path} has schema version {version}, and this program reads {SCHEMA_VERSION}"
    )
    if version > SCHEMA_VERSION:
        return OperatorError(message, "use the Stripewright version that wrote it, or a newer one")
    if version == CONVERTIBLE and path == paths.HISTORY_DB:
        return OperatorError(message, "the next boot, run or check of drift converts it")
    if version == CONVERTIBLE:
        return OperatorError(message, f"convert it: stripewright history convert {path}")
    return OperatorError(
        message,
        f"it is older than schema {CONVERTIBLE}, the oldest that can be converted: read it with"
        " the Stripewright version that wrote it, or move it away to begin a new one",
    )
