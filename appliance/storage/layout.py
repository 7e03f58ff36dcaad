"""layout.toml -> :class:`Layout`. Pure but for reading the one file.

Strict: an unknown key, a wrong type or a value out of range is a :class:`UsageError` that
names the file, the key and what is allowed. What this version does not build is not accepted.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NoReturn

from appliance.errors import UsageError
from appliance.model import DiskKind, Layout, Volume

DEFAULT_LAYOUT = Layout(volumes=(Volume(name="scratch", mount="/mnt/scratch"),))
MIN_CHUNK_BYTES = 4 * 1024
# md keeps the chunk in 32-bit sectors; beyond 64 MiB a stripe is only a concatenation.
MAX_CHUNK_BYTES = 64 * 1024 * 1024
MAX_WAIT_SECONDS = 600.0
# Far above any real layout: whatever is bigger is not one.
_MAX_FILE_BYTES = 64 * 1024

_NAME = re.compile(r"[a-z][a-z0-9-]{0,11}", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,12})(B|KiB|MiB)", re.ASCII)
_WAIT = re.compile(r"([0-9]{1,6})(s|min)", re.ASCII)
_UNIT_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024 * 1024}
_UNIT_SECONDS = {"s": 1, "min": 60}
_CHOICES = {
    "stripe": ("md-raid0",),
    "filesystem": ("xfs",),
    "on_short": ("refuse", "accept"),
    "on_loss": ("refuse", "recreate"),
}
_KEYS = ("name", "mount", "select", "stripe", "chunk", "filesystem", "on_short", "on_loss", "wait")
# The units open this tree to the benchmarks and no other, and only root writes in it.
_MOUNTS_BELOW = PurePosixPath("/mnt")


def load_layout(path: Path, *, must_exist: bool = False) -> Layout:
    """Read and check ``path``; without a file the built-in default, unless ``must_exist``.

    Raises :class:`UsageError` for anything that is not a layout this version can build.
    """
    try:
        raw = _read_regular_file(path)
    except FileNotFoundError as error:
        if must_exist:
            raise UsageError(
                f"{path}: no such layout file", "name an existing file with --layout"
            ) from error
        return DEFAULT_LAYOUT
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror}",
            "the layout must be a regular file that can be read",
        ) from error
    if len(raw) > _MAX_FILE_BYTES:
        raise UsageError(
            f"{path}: larger than {_MAX_FILE_BYTES // 1024} KiB", "this is not a layout file"
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: not UTF-8 text (byte {error.start})", "write the layout as UTF-8 TOML"
        ) from error
    return parse_layout(text, str(path))


def _read_regular_file(path: Path) -> bytes:
    # Non-blocking, so that a pipe in the layout's place cannot hold up the boot.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return file.read(_MAX_FILE_BYTES + 1)


def parse_layout(text: str, source: str) -> Layout:
    """``text`` as a checked layout; ``source`` is the file named in errors."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"{source}: not valid TOML: {error}",
            "a layout is one [[volume]] table with a name and a mount, one key a line",
        ) from error
    for key in document:
        if key != "volume":
            _fail(source, key, "unknown key", "only [[volume]] tables are allowed at the top")
    tables = document.get("volume")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        _fail(source, "volume", "missing or not a table", "write one [[volume]] table")
    if len(tables) != 1:
        _fail(
            source,
            "volume",
            f"{len(tables)} volumes declared",
            "this version builds exactly one volume from all instance storage",
        )
    return Layout(volumes=(_volume(tables[0], source),), source=source)


def _volume(table: Mapping[str, object], source: str) -> Volume:
    for key in table:
        if key not in _KEYS:
            _fail(source, f"volume.{key}", "unknown key", f"allowed: {', '.join(_KEYS)}")
    name = _string(table, "name", source)
    if not _NAME.fullmatch(name):
        _fail(
            source,
            "volume.name",
            f"{name!r} is not a volume name",
            "a lower-case letter, then up to 11 lower-case letters, digits or '-'"
            " (an XFS label holds 12)",
        )
    _check_select(table, source)
    chosen = {key: _choice(table, key, source) for key in _CHOICES}
    return Volume(
        name=name,
        mount=_mount(_string(table, "mount", source), source),
        chunk_bytes=_chunk(table, source),
        stripe=chosen["stripe"],
        filesystem=chosen["filesystem"],
        on_short=chosen["on_short"],
        on_loss=chosen["on_loss"],
        wait_seconds=_wait(table, source),
    )


def _check_select(table: Mapping[str, object], source: str) -> None:
    allowed = 'this version accepts select = { kind = "instance-store" }'
    select = table.get("select", {"kind": DiskKind.INSTANCE_STORE.value})
    if not isinstance(select, dict):
        _fail(source, "volume.select", "not a table", allowed)
    for key in select:
        if key != "kind":
            _fail(source, f"volume.select.{key}", "not supported", allowed)
    if select.get("kind") != DiskKind.INSTANCE_STORE.value:
        _fail(source, "volume.select.kind", f"{select.get('kind')!r} is not supported", allowed)


def _choice(table: Mapping[str, object], key: str, source: str) -> str:
    allowed = _CHOICES[key]
    if key not in table:
        return allowed[0]
    value = _string(table, key, source)
    if value not in allowed:
        _fail(
            source,
            f"volume.{key}",
            f"{value!r} is not supported",
            f"this version accepts: {', '.join(allowed)}",
        )
    return value


def _mount(text: str, source: str) -> str:
    hint = f"this version mounts below {_MOUNTS_BELOW}, for example at /mnt/scratch"
    path = PurePosixPath(text)
    plain = text.isascii() and text.isprintable() and " " not in text
    tidy = str(path) == text and not text.startswith("//") and ".." not in path.parts
    if not path.is_absolute() or not plain or not tidy:
        _fail(source, "volume.mount", f"{text!r} is not a plain absolute path", hint)
    if _MOUNTS_BELOW not in path.parents:
        _fail(source, "volume.mount", f"{text!r} is not below {_MOUNTS_BELOW}", hint)
    return text


def _chunk(table: Mapping[str, object], source: str) -> int:
    if "chunk" not in table:
        return DEFAULT_LAYOUT.volumes[0].chunk_bytes
    text = _string(table, "chunk", source)
    found = _SIZE.fullmatch(text)
    size_bytes = int(found.group(1)) * _UNIT_BYTES[found.group(2)] if found else 0
    power_of_two = size_bytes > 0 and size_bytes & (size_bytes - 1) == 0
    if not power_of_two or not MIN_CHUNK_BYTES <= size_bytes <= MAX_CHUNK_BYTES:
        _fail(
            source,
            "volume.chunk",
            f"{text!r} is not a chunk size",
            'a power of two from "4KiB" to "64MiB", for example "256KiB"',
        )
    return size_bytes


def _wait(table: Mapping[str, object], source: str) -> float:
    if "wait" not in table:
        return DEFAULT_LAYOUT.volumes[0].wait_seconds
    text = _string(table, "wait", source)
    found = _WAIT.fullmatch(text)
    seconds = float(int(found.group(1)) * _UNIT_SECONDS[found.group(2)]) if found else -1.0
    if not 0 <= seconds <= MAX_WAIT_SECONDS:
        _fail(source, "volume.wait", f"{text!r} is not a time", 'from "0s" to "10min"')
    return seconds


def _string(table: Mapping[str, object], key: str, source: str) -> str:
    if key not in table:
        _fail(source, f"volume.{key}", "missing", f"every volume needs '{key}'")
    value = table[key]
    if not isinstance(value, str):
        _fail(source, f"volume.{key}", f"{value!r} is not text", f'write it as {key} = "..."')
    return value


def _fail(source: str, key: str, what: str, hint: str) -> NoReturn:
    raise UsageError(f"{source}: {key}: {what}", hint)
