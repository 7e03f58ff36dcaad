"""layout.toml -> :class:`Layout` and back. Pure but for reading the one file.

Strict: an unknown key, a wrong type or a value out of range is a :class:`UsageError` that
names file, table, key and line, and what is allowed. docs/layout.md is the reference. Each table
is a list of fields (:mod:`appliance.model.toml_fields`), which the form of the TUI uses, too.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from appliance.errors import UsageError
from appliance.model import toml_fields as fields
from appliance.model.disks import DiskKind
from appliance.model.plans import (
    VOLUME_NAME,
    Layout,
    OperatorRule,
    Selector,
    Tuning,
    Volume,
)
from appliance.model.toml_fields import Choice, Field, Inline, Kind, Only, Size, Text, Time, Words
from appliance.model.toml_table import Table, parse_document, shown
from appliance.storage.formats import filesystem, mount_unit, serials

_DEFAULT = Volume(name="", mount="")
DEFAULT_LAYOUT = Layout(volumes=(Volume(name="scratch", mount="/mnt/scratch"),))

# Far above any real layout: whatever is bigger is not one.
_MAX_FILE_BYTES = 64 * 1024
# md's own limit for members with a 1.2 superblock.
_MAX_MEMBERS = 1920
# Of a file (NAME_MAX), and of a systemd unit (UNIT_NAME_MAX counts a zero byte more).
_MAX_NAME_BYTES = 255
# The units open this tree to the benchmarks and no other, and only root writes in it.
_MOUNTS_BELOW = PurePosixPath("/mnt")
_MOUNT_HINT = f"mounts are below {_MOUNTS_BELOW}, for example /mnt/scratch"

_NAME_HINT = (
    "a lower-case letter, then up to 11 lower-case letters, digits or '-' (an XFS label holds 12)"
)
_STRIPES = ("md-raid0", "md-raid10", "lvm-stripe", "hw-raid0", "single")
_LEAST_MEMBERS = {"md-raid10": 2, "lvm-stripe": 2}
_SELECT_HINT = (
    'select = { kind = "instance-store" }, { role = "data" } (either may have count = 2)'
    ' or { serials = ["...", "..."] }'
)
_EXACT = "exactly as 'stripewright inventory' shows it"
_NO_FILESYSTEM = "there is no filesystem to mount"


# ------------------------------------------------------------------------------ the fields


class _Chunk(Kind):
    """md keeps the chunk in 32-bit sectors; beyond 64 MiB a stripe is only a concatenation. What
    storcli takes as a strip is in its manual.
    """

    def read(self, table: Table, key: str) -> int | None:
        hardware = table.values.get("stripe") == "hw-raid0"
        low, high = ("8KiB", "1MiB") if hardware else ("4KiB", "64MiB")
        return table.amount(key, low, high, power=True)

    def text(self, value: int) -> str:
        return fields.size_text(value)


class _Mount(Kind):
    def read(self, table: Table, key: str) -> str:
        text = table.text(key, hint=_MOUNT_HINT)
        path = PurePosixPath(text)
        plain = text.isascii() and text.isprintable() and not set(text) & set(" \\\"'`$,")
        tidy = str(path) == text and not text.startswith("//") and ".." not in path.parts
        if not path.is_absolute() or not plain or not tidy:
            table.fail(key, f"{shown(text)} is not a plain absolute path", _MOUNT_HINT)
        if _MOUNTS_BELOW not in path.parents:
            table.fail(key, f"{shown(text)} is not below {_MOUNTS_BELOW}", _MOUNT_HINT)
        # Found here, not when the volume is made. A unit's name is never shorter than a
        # directory's.
        if len(mount_unit.unit_name(text)) > _MAX_NAME_BYTES:
            table.fail(key, f"a name of more than {_MAX_NAME_BYTES} bytes", "a shorter path")
        return text


@dataclass(frozen=True, slots=True)
class _MountOptions(Words):
    hint: str = ""

    def read(self, table: Table, key: str) -> tuple[str, ...]:
        kind = str(table.values.get("filesystem", _DEFAULT.filesystem))
        allowed = "; ".join(one.shown for one in filesystem.allowed_options(kind))
        hint = f"{kind} volumes may have: {allowed}"
        options = table.words(key, hint)
        for option in options:
            if against := filesystem.option_problem(kind, option):
                table.fail(key, f"{option!r}: {against}", hint)
        names = [option.partition("=")[0] for option in options]
        for name in names:
            if names.count(name) > 1:
                table.fail(key, f"{name!r} is given twice", hint)
        return options


_SELECT_FIELDS = (
    Field("role", Text(_NAME_HINT, VOLUME_NAME)),
    Field("kind", Choice((DiskKind.INSTANCE_STORE.value,), DiskKind)),
    Field("count", fields.Whole(1, _MAX_MEMBERS)),
    Field("serials", Words("the serials that 'stripewright inventory' shows")),
)


class _Select(Kind):
    """By exactly one of kind, role and serials."""

    def read(self, table: Table, key: str) -> Selector:
        select = table.table(key, _SELECT_HINT)
        assert select is not None  # noqa: S101 - it is read only where it is given
        select.only(("kind", "role", "serials", "count"))
        ways = [one for one in ("kind", "role", "serials") if one in select.values]
        if len(ways) != 1:
            found = " and ".join(ways) or "none of kind, role and serials"
            select.fail("", f"selects by {found}", f"by exactly one: {_SELECT_HINT}")
        selector = Selector(**fields.read(select, _SELECT_FIELDS, Selector(kind=None)))
        if selector.serials and selector.count is not None:
            select.fail("count", "the serials are counted already", "leave it out")
        return selector

    def text(self, value: Selector) -> str:
        return fields.inline(fields.rows(_SELECT_FIELDS, value, Selector(kind=None)))

    def toml(self, text: str) -> str:
        return text


def volume_fields() -> tuple[Field, ...]:
    """The keys of a ``[[volume]]``, in the order in which they are written."""
    kinds = filesystem.KINDS.values()
    striped = Only("stripe", _STRIPES[:-1], "a single disk has no stripe")
    mounted = Only("filesystem", tuple(filesystem.KINDS), _NO_FILESYSTEM)
    return (
        Field("name", Text(_NAME_HINT, VOLUME_NAME), required=True, always=True),
        Field("select", _Select(), always=True),
        Field("stripe", Choice(_STRIPES), always=True),
        Field("chunk", _Chunk(), "chunk_bytes", only=striped, always=True),
        Field("filesystem", Choice((*filesystem.KINDS, "none")), always=True),
        Field("mount", _Mount(), only=mounted, required=True, always=True),
        Field("on_short", Choice(("refuse", "accept")), always=True),
        Field("on_loss", Choice(("refuse", "recreate")), always=True),
        Field("wait", Time("0s", "10min"), "wait_seconds"),
        Field(
            "raid10_layout",
            Choice(("near2", "far2", "offset2")),
            only=Only("stripe", ("md-raid10",)),
        ),
        Field(
            "lvm_extent",
            Size("1MiB", "1GiB", power=True),
            "lvm_extent_bytes",
            only=Only("stripe", ("lvm-stripe",)),
        ),
        Field("mount_options", _MountOptions(), only=mounted),
        *(
            Field(
                kind.name,
                Inline(kind.option_fields, kind.options, kind.options_hint),
                "options",
                only=Only("filesystem", (kind.name,)),
            )
            for kind in kinds
        ),
        Field("initialise_rate", Size("1MiB/s", "100GiB/s"), "initialise_rate_bytes"),
    )


RULE_FIELDS = (
    Field("serials", Words(_EXACT)),
    Field("vendor", fields.Printable(_EXACT)),
    Field("model", fields.Printable(_EXACT)),
    Field("cloud_name", fields.Printable(_EXACT)),
    Field("role", Text(_NAME_HINT, f"(?:{VOLUME_NAME})?")),
    Field("kind", Choice((DiskKind.INSTANCE_STORE.value, DiskKind.NETWORK.value), DiskKind)),
)
TUNING_FIELDS = (
    Field("scheduler", Choice(("none", "mq-deadline", "kyber", "bfq"))),
    # The kernel keeps it as milliseconds in 32 bits.
    Field("io_timeout", Time("1s", "4294967s", step="1s", whole=True), "io_timeout_seconds"),
    Field("cpu_latency", Time("0us", "100ms", "us", "us", whole=True), "cpu_latency_us"),
    Field("rebuild_min", Size("1MiB/s", "100GiB/s", step="1MiB"), "rebuild_min_bytes"),
)
_SCAN_FIELDS = (Field("time", Time("100ms", "24h", shown="ms"), "scan_seconds"),)


# ------------------------------------------------------------------------------- the file


def load_layout(path: Path, *, must_exist: bool = False) -> Layout:
    """Read and check ``path``; without a file the built-in default, unless ``must_exist``.

    Raises :class:`UsageError` for anything that is not a layout.
    """
    try:
        raw = _read_regular_file(path)
    except FileNotFoundError as error:
        if path.is_symlink():
            raise UsageError(
                f"{path}: a link to {path.readlink()}, which is not there",
                "it may be on something that is not mounted yet: make it a file, or remove it",
            ) from error
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
    _check_size(raw, str(path))
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


def _check_size(raw: bytes, source: str) -> None:
    if len(raw) > _MAX_FILE_BYTES:
        raise UsageError(
            f"{source}: larger than {_MAX_FILE_BYTES // 1024} KiB", "this is not a layout file"
        )


def parse_layout(text: str, source: str) -> Layout:
    """``text`` as a checked layout; ``source`` is the file named in errors."""
    # Here, too: what comes by another way must not be installed and then be too long to load.
    _check_size(text.encode("utf-8", "surrogatepass"), source)
    document, values = parse_document(
        source,
        text,
        "a layout is made of [[volume]] tables, one key a line; see docs/layout.md",
    )
    for key in values:
        if key not in {"volume", "rule", "tuning", "scan"}:
            document.fail(
                key, "unknown key", "allowed at the top: [[volume]], [[rule]], [tuning], [scan]"
            )
    if "volume" not in values:
        document.fail("volume", "missing", "write a [[volume]] table, or volume = [] for none")
    tables = document.tables(values, "volume")
    rules = document.tables(values, "rule")
    volumes = tuple(map(_volume, tables))
    _check_together(volumes, tables)
    return Layout(
        volumes=volumes,
        source=source,
        rules=_rules(rules),
        tuning=Tuning(**fields.read(document.table(values, "tuning"), TUNING_FIELDS, Tuning())),
        **fields.read(document.table(values, "scan"), _SCAN_FIELDS, DEFAULT_LAYOUT),
    )


def render_layout(layout: Layout) -> str:
    """The whole file; :func:`parse_layout` makes the same of it. What a volume has by default is
    left out where it would only distract.
    """
    volume = volume_fields()
    parts = [
        fields.table_text("[[volume]]", fields.rows(volume, one, _DEFAULT))
        for one in layout.volumes
    ]
    if not layout.volumes:
        parts = ["volume = []\n"]
    parts += [
        fields.table_text("[[rule]]", fields.rows(RULE_FIELDS, one, OperatorRule()))
        for one in layout.rules
    ]
    if tuning := fields.rows(TUNING_FIELDS, layout.tuning, Tuning()):
        parts.append(fields.table_text("[tuning]", tuning))
    if time := fields.rows(_SCAN_FIELDS, layout, DEFAULT_LAYOUT):
        parts.append(fields.table_text("[scan]", time))
    return "\n".join(parts)


# ------------------------------------------------------------------------------ one volume


def _volume(table: Table) -> Volume:
    volume = Volume(**fields.read(table, volume_fields(), _DEFAULT))
    if any(volume.options == kind.options for kind in filesystem.KINDS.values()):
        volume = replace(volume, options=None)
    if volume.stripe == "lvm-stripe" and volume.name.startswith(("snapshot", "pvmove")):
        table.fail("name", f"{volume.name!r} is reserved by LVM", "take another name")
    if volume.stripe == "lvm-stripe" and volume.chunk_bytes > volume.lvm_extent_bytes:
        table.fail(
            "lvm_extent" if "lvm_extent" in table.values else "chunk",
            "the chunk is larger than LVM's extent",
            "an extent holds whole chunks: a smaller chunk, or a larger lvm_extent (up to 1GiB)",
        )
    _check_members(table, volume)
    return volume


def _check_members(table: Table, volume: Volume) -> None:
    select, stripe = volume.select, volume.stripe
    key, count = ("serials", len(select.serials)) if select.serials else ("count", select.count)
    at = table.table("select", _SELECT_HINT)
    if count is None or at is None:
        return
    if stripe == "single" and count != 1:
        at.fail(key, f"{count} disks for stripe 'single'", "one disk, or another stripe")
    if count < _LEAST_MEMBERS.get(stripe, 1):
        at.fail(key, f"{count} disk for stripe {stripe!r}", "at least 2 disks, or 'single'")


# --------------------------------------------------------------------------- all together


def _check_together(volumes: Sequence[Volume], tables: Sequence[Table]) -> None:
    """What no two volumes may share: name, mount, a disk, an open end of the same selection."""
    for at, (volume, table) in enumerate(zip(volumes, tables, strict=True)):
        for number, other in enumerate(volumes[:at], start=1):
            one = f"volume[{number}] ('{other.name}')"
            if volume.name == other.name:
                table.fail("name", f"{one} has the same name", "each volume needs its own")
            if volume.mount and other.mount:
                here, there = PurePosixPath(volume.mount), PurePosixPath(other.mount)
                if here == there:
                    table.fail("mount", f"{one} is mounted there too", "each needs its own")
                if here in there.parents or there in here.parents:
                    table.fail(
                        "mount",
                        f"{volume.mount} and {other.mount} of {one} lie in each other",
                        "side by side, so that either volume can fail alone",
                    )
            mine, theirs = volume.select, other.select
            if both := serials.shared(mine.serials, theirs.serials):
                table.fail(
                    "select", f"{one} has serial {min(both)!r} too", "a disk is in one volume only"
                )
            same = not mine.serials and (mine.kind, mine.role) == (theirs.kind, theirs.role)
            if same and mine.count is None and theirs.count is None:
                table.fail(
                    "select",
                    f"{one} takes all of the same disks",
                    "give all but one of them a count, or select by role or serials",
                )


def _rules(tables: Sequence[Table]) -> tuple[OperatorRule, ...]:
    found: list[OperatorRule] = []
    for table in tables:
        rule = _rule(table)
        for number, other in enumerate(found, start=1):
            if both := serials.shared(rule.serials, other.serials):
                table.fail(
                    "serials", f"rule[{number}] has {min(both)!r} too", "one rule for each disk"
                )
        found.append(rule)
    return tuple(found)


def _rule(table: Table) -> OperatorRule:
    rule = OperatorRule(**fields.read(table, RULE_FIELDS, OperatorRule()))
    if not (rule.serials or rule.model or rule.cloud_name):
        table.fail("", "fits any disk", "give at least one of serials, model and cloud_name")
    if not rule.role and rule.kind is None:
        table.fail("", "says nothing about its disks", "give a role, a kind or both")
    return rule
