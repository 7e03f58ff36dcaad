"""layout.toml -> :class:`Layout`. Pure but for reading the one file.

Strict: an unknown key, a wrong type or a value out of range is a :class:`UsageError` that
names file, table, key and line, and what is allowed. docs/layout.md is the reference.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from appliance.errors import UsageError
from appliance.model import (
    DiskKind,
    Layout,
    OperatorRule,
    Selector,
    Tuning,
    Volume,
)
from appliance.model.toml_table import Document, Table, parse_document, shown
from appliance.storage.formats import mount_unit, serials
from appliance.storage.policy import layout_filesystem

DEFAULT_LAYOUT = Layout(volumes=(Volume(name="scratch", mount="/mnt/scratch"),))

# Far above any real layout: whatever is bigger is not one.
_MAX_FILE_BYTES = 64 * 1024
# md's own limit for members with a 1.2 superblock.
_MAX_MEMBERS = 1920
# Of a file (NAME_MAX), and of a systemd unit (UNIT_NAME_MAX counts a zero byte more).
_MAX_NAME_BYTES = 255
# The units open this tree to the benchmarks and no other, and only root writes in it.
_MOUNTS_BELOW = PurePosixPath("/mnt")

_NAME = r"[a-z][a-z0-9-]{0,11}"
_NAME_HINT = (
    "a lower-case letter, then up to 11 lower-case letters, digits or '-' (an XFS label holds 12)"
)
_STRIPES = ("md-raid0", "md-raid10", "lvm-stripe", "hw-raid0", "single")
_LEAST_MEMBERS = {"md-raid10": 2, "lvm-stripe": 2}
_FILESYSTEMS = ("xfs", "ext4", "none")
_RAID10_LAYOUTS = ("near2", "far2", "offset2")
_SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
_KINDS = (DiskKind.INSTANCE_STORE.value, DiskKind.NETWORK.value)
# md keeps the chunk in 32-bit sectors; beyond 64 MiB a stripe is only a concatenation. What
# storcli takes as a strip is in its manual.
_CHUNKS = {"hw-raid0": ("8KiB", "1MiB")}
_ANY_CHUNK = ("4KiB", "64MiB")
_VOLUME_KEYS = (
    "name",
    "mount",
    "select",
    "stripe",
    "chunk",
    "filesystem",
    "on_short",
    "on_loss",
    "wait",
    "raid10_layout",
    "lvm_extent",
    "mount_options",
    "xfs",
    "ext4",
    "initialise_rate",
)
_RULE_KEYS = ("serials", "vendor", "model", "cloud_name", "role", "kind")
_TUNING_KEYS = ("scheduler", "io_timeout", "cpu_latency", "rebuild_min")
_SELECT_HINT = (
    'select = { kind = "instance-store" }, { role = "data" } (either may have count = 2)'
    ' or { serials = ["...", "..."] }'
)


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
    tables = _tables(values, "volume", document)
    rules = _tables(values, "rule", document)
    volumes = tuple(_volume(table) for table in tables)
    _check_together(volumes, tables)
    return Layout(
        volumes=volumes,
        source=source,
        rules=_rules(rules),
        tuning=_tuning(values, document),
        scan_seconds=_scan_seconds(values, document),
    )


def _tables(values: Mapping[str, object], name: str, document: Document) -> list[Table]:
    found = values.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        document.fail(name, "not a list of tables", f"write each as its own [[{name}]] table")
    return [Table(one, document, name, number) for number, one in enumerate(found, start=1)]


# ------------------------------------------------------------------------------ one volume


def _volume(table: Table) -> Volume:
    table.only(_VOLUME_KEYS)
    name = table.text("name", pattern=_NAME, hint=_NAME_HINT)
    stripe = table.choice("stripe", _STRIPES, "md-raid0")
    filesystem = table.choice("filesystem", _FILESYSTEMS, "xfs")
    if stripe == "lvm-stripe" and name.startswith(("snapshot", "pvmove")):
        table.fail("name", f"{name!r} is reserved by LVM", "take another name")
    defaults = Volume(name=name, mount="")
    chunk = _chunk(table, stripe, defaults.chunk_bytes)
    wait = table.amount("wait", "0s", "10min")
    return Volume(
        name=name,
        mount=_mount(table, filesystem),
        chunk_bytes=chunk,
        stripe=stripe,
        filesystem=filesystem,
        select=_select(table, stripe),
        on_short=table.choice("on_short", ("refuse", "accept"), defaults.on_short),
        on_loss=table.choice("on_loss", ("refuse", "recreate"), defaults.on_loss),
        wait_seconds=None if wait is None else wait / 1e6,
        raid10_layout=_raid10_layout(table, stripe, defaults.raid10_layout),
        lvm_extent_bytes=_extent(table, stripe, chunk, defaults.lvm_extent_bytes),
        mount_options=layout_filesystem.mount_options(table, filesystem),
        xfs=layout_filesystem.xfs(table, filesystem),
        ext4=layout_filesystem.ext4(table, filesystem),
        initialise_rate_bytes=table.amount("initialise_rate", "1MiB/s", "100GiB/s"),
    )


def _chunk(table: Table, stripe: str, default: int) -> int:
    if stripe == "single" and "chunk" in table.values:
        table.fail("chunk", "a single disk has no stripe", "leave it out")
    low, high = _CHUNKS.get(stripe, _ANY_CHUNK)
    found = table.amount("chunk", low, high, power=True)
    return default if found is None else found


def _raid10_layout(table: Table, stripe: str, default: str) -> str:
    table.only_with("raid10_layout", "stripe", stripe, "md-raid10")
    return table.choice("raid10_layout", _RAID10_LAYOUTS, default)


def _extent(table: Table, stripe: str, chunk: int, default: int) -> int:
    table.only_with("lvm_extent", "stripe", stripe, "lvm-stripe")
    found = table.amount("lvm_extent", "1MiB", "1GiB", power=True)
    extent = default if found is None else found
    if stripe == "lvm-stripe" and chunk > extent:
        table.fail(
            "lvm_extent" if found is not None else "chunk",
            "the chunk is larger than LVM's extent",
            "an extent holds whole chunks: a smaller chunk, or a larger lvm_extent (up to 1GiB)",
        )
    return extent


def _mount(table: Table, filesystem: str) -> str:
    hint = f"mounts are below {_MOUNTS_BELOW}, for example /mnt/scratch"
    if filesystem == "none":
        if "mount" in table.values:
            table.fail("mount", "there is no filesystem to mount", "leave it out")
        return ""
    text = table.text("mount", hint=hint)
    path = PurePosixPath(text)
    plain = text.isascii() and text.isprintable() and not set(text) & set(" \\\"'`$,")
    tidy = str(path) == text and not text.startswith("//") and ".." not in path.parts
    if not path.is_absolute() or not plain or not tidy:
        table.fail("mount", f"{shown(text)} is not a plain absolute path", hint)
    if _MOUNTS_BELOW not in path.parents:
        table.fail("mount", f"{shown(text)} is not below {_MOUNTS_BELOW}", hint)
    # Found here, not when the volume is made. A unit's name is never shorter than a directory's.
    if len(mount_unit.unit_name(text)) > _MAX_NAME_BYTES:
        table.fail("mount", f"a name of more than {_MAX_NAME_BYTES} bytes", "a shorter path")
    return text


def _select(table: Table, stripe: str) -> Selector:
    select = table.table("select", _SELECT_HINT)
    if select is None:
        return Selector()
    select.only(("kind", "role", "serials", "count"))
    ways = [key for key in ("kind", "role", "serials") if key in select.values]
    if len(ways) != 1:
        found = " and ".join(ways) or "none of kind, role and serials"
        select.fail("", f"selects by {found}", f"by exactly one: {_SELECT_HINT}")
    count = select.number_in("count", 1, _MAX_MEMBERS)
    if ways == ["serials"]:
        serials = select.words("serials", "the serials that 'stripewright inventory' shows")
        if count is not None:
            select.fail("count", "the serials are counted already", "leave it out")
        _check_members(select, "serials", stripe, len(serials))
        return Selector(kind=None, serials=serials)
    _check_members(select, "count", stripe, count)
    if ways == ["role"]:
        role = select.text("role", pattern=_NAME, hint=_NAME_HINT)
        return Selector(kind=None, role=role, count=count)
    kind = select.choice("kind", (DiskKind.INSTANCE_STORE.value,), "")
    return Selector(kind=DiskKind(kind), count=count)


def _check_members(select: Table, key: str, stripe: str, count: int | None) -> None:
    if count is None:
        return
    if stripe == "single" and count != 1:
        select.fail(key, f"{count} disks for stripe 'single'", "one disk, or another stripe")
    if count < _LEAST_MEMBERS.get(stripe, 1):
        select.fail(key, f"{count} disk for stripe {stripe!r}", "at least 2 disks, or 'single'")


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
    table.only(_RULE_KEYS)
    exact = "exactly as 'stripewright inventory' shows it"
    kind = table.choice("kind", _KINDS, "")
    rule = OperatorRule(
        serials=table.words("serials", exact),
        vendor=table.printable("vendor", exact),
        model=table.printable("model", exact),
        cloud_name=table.printable("cloud_name", exact),
        role=table.text("role", "", pattern=f"(?:{_NAME})?", hint=_NAME_HINT),
        kind=DiskKind(kind) if kind else None,
    )
    if not (rule.serials or rule.model or rule.cloud_name):
        table.fail("", "fits any disk", "give at least one of serials, model and cloud_name")
    if not rule.role and rule.kind is None:
        table.fail("", "says nothing about its disks", "give a role, a kind or both")
    return rule


def _table_of(values: Mapping[str, object], name: str, document: Document) -> Table:
    found = values.get(name, {})
    if not isinstance(found, dict):
        document.fail(name, "not a table", f"write it as one [{name}] table")
    return Table(found, document, name)


def _scan_seconds(values: Mapping[str, object], document: Document) -> float:
    table = _table_of(values, "scan", document)
    table.only(("time",))
    time = table.amount("time", "100ms", "24h")
    return DEFAULT_LAYOUT.scan_seconds if time is None else time / 1e6


def _tuning(values: Mapping[str, object], document: Document) -> Tuning:
    table = _table_of(values, "tuning", document)
    table.only(_TUNING_KEYS)
    # The kernel keeps it as milliseconds in 32 bits.
    timeout = table.amount("io_timeout", "1s", "4294967s", step="1s")
    return Tuning(
        scheduler=table.choice("scheduler", _SCHEDULERS, "") or None,
        io_timeout_seconds=None if timeout is None else timeout // 1_000_000,
        cpu_latency_us=table.amount("cpu_latency", "0us", "100ms"),
        rebuild_min_bytes=table.amount("rebuild_min", "1MiB/s", "100GiB/s", step="1MiB"),
    )
