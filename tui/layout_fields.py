"""One volume as it stands in the form: texts as typed, and what is wrong with them. Pure.

Nothing is checked here that :mod:`appliance.storage.policy.layout` checks: the texts become a
``[[volume]]`` table of a whole layout, and what the parser says of it is told at its field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from appliance.errors import UsageError
from appliance.model import DiskKind, Layout, Volume
from appliance.storage.policy.layout import parse_layout
from appliance.storage.policy.layout_render import amount, render_layout
from appliance.text import printable

ALL, COUNT, ROLE, SERIALS = "all", "count", "by role", "chosen"
DEFAULT, YES, NO = "default", "yes", "no"
_SOURCE = "draft"
_PLACE = re.compile(rf"{_SOURCE}: (?P<place>[^ :]+)(?: \(line \d+\))?: (?P<what>.*)", re.DOTALL)
_PART = re.compile(r"volume\[(?P<number>\d+)\](?:\.(?P<key>.+))?")
# More digits than any count has.
_DIGITS = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fields:
    """What the form shows. ``disks`` is one of :data:`ALL`, :data:`COUNT`, :data:`ROLE`,
    :data:`SERIALS`. An empty text leaves the key out; an empty ``mount`` is /mnt/NAME.
    """

    name: str = ""
    disks: str = ALL
    count: str = ""
    role: str = ""
    serials: tuple[str, ...] = ()
    stripe: str = "md-raid0"
    chunk: str = "256KiB"
    raid10_layout: str = "near2"
    lvm_extent: str = "4MiB"
    filesystem: str = "xfs"
    mount: str = ""
    on_short: str = "refuse"
    on_loss: str = "refuse"
    wait: str = ""
    mount_options: str = ""
    reflink: str = DEFAULT
    inode_size: str = ""
    log_size: str = ""
    bytes_per_inode: str = ""
    reserved_percent: str = ""
    journal_size: str = ""
    initialise_rate: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """``field`` is a field of :class:`Fields`, empty if it is none of them alone."""

    field: str
    text: str


def fields_of(volume: Volume) -> Fields:
    """``volume`` as the form shows it."""
    select = volume.select
    disks = ALL if select.count is None else COUNT
    if select.serials:
        disks = SERIALS
    elif select.role:
        disks = ROLE
    rate = volume.initialise_rate_bytes
    return Fields(
        name=volume.name,
        disks=disks,
        count="" if select.count is None else str(select.count),
        role=select.role,
        serials=select.serials,
        stripe=volume.stripe,
        chunk=amount(volume.chunk_bytes),
        raid10_layout=volume.raid10_layout,
        lvm_extent=amount(volume.lvm_extent_bytes),
        filesystem=volume.filesystem,
        mount=volume.mount,
        on_short=volume.on_short,
        on_loss=volume.on_loss,
        wait="" if volume.wait_seconds is None else f"{round(volume.wait_seconds)}s",
        mount_options=" ".join(volume.mount_options),
        reflink={None: DEFAULT, True: YES, False: NO}[volume.xfs.reflink],
        inode_size=_size(volume.xfs.inode_size_bytes),
        log_size=_size(volume.xfs.log_size_bytes),
        bytes_per_inode=_size(volume.ext4.bytes_per_inode),
        reserved_percent=(
            "" if volume.ext4.reserved_percent is None else str(volume.ext4.reserved_percent)
        ),
        journal_size=_size(volume.ext4.journal_size_bytes),
        initialise_rate="" if rate is None else f"{amount(rate)}/s",
    )


def used_fields(fields: Fields) -> frozenset[str]:
    """Names of the fields that mean something with the present choices."""
    unused: set[str] = set()
    if fields.disks not in {COUNT, ROLE}:
        unused.add("count")
    if fields.disks != ROLE:
        unused.add("role")
    if fields.disks != SERIALS:
        unused.add("serials")
    if fields.stripe == "single":
        unused.add("chunk")
    if fields.stripe != "md-raid10":
        unused.add("raid10_layout")
    if fields.stripe != "lvm-stripe":
        unused.add("lvm_extent")
    if fields.filesystem == "none":
        unused |= {"mount", "mount_options"}
    if fields.filesystem != "xfs":
        unused |= {"reflink", "inode_size", "log_size"}
    if fields.filesystem != "ext4":
        unused |= {"bytes_per_inode", "reserved_percent", "journal_size"}
    return frozenset(Fields.__dataclass_fields__) - unused


def check(
    fields: Fields, others: Sequence[Volume], base: Layout
) -> tuple[Volume | None, Problem | None]:
    """The volume that ``fields`` describe beside ``others``, or what is wrong with it.

    Rules and tuning are those of ``base``.
    """
    text = render_layout(replace(base, volumes=tuple(others)))
    # The volume comes last, so that it is the one that the parser finds fault with.
    text = f"{text.removeprefix('volume = []')}\n{table_text(fields)}"
    try:
        return parse_layout(text, _SOURCE).volumes[-1], None
    except UsageError as error:
        return None, _problem(error, number=len(others) + 1)


def _problem(error: UsageError, *, number: int) -> Problem:
    found = _PLACE.fullmatch(error.message)
    part = _PART.fullmatch(found["place"]) if found else None
    if found is None or part is None or int(part["number"]) != number:
        return Problem("", printable(f"{error.message}; {error.hint}"))
    key = part["key"] or ""
    field = {"select": "disks", "select.kind": "disks", "xfs": "reflink"}.get(key)
    field = field or key.rpartition(".")[2]
    if field not in Fields.__dataclass_fields__:
        field = ""
    return Problem(field, printable(f"{found['what']}; {error.hint}"))


def table_text(fields: Fields) -> str:
    """The ``[[volume]]`` table as typed, right or wrong; the quoting is ours."""
    used = used_fields(fields)
    rows = [("name", _text(fields.name)), ("select", _select(fields))]
    mount = fields.mount or f"/mnt/{fields.name}"
    for key, value in (
        ("stripe", fields.stripe),
        ("chunk", fields.chunk),
        ("raid10_layout", fields.raid10_layout),
        ("lvm_extent", fields.lvm_extent),
        ("filesystem", fields.filesystem),
        ("mount", mount),
        ("on_short", fields.on_short),
        ("on_loss", fields.on_loss),
        ("wait", fields.wait),
        ("initialise_rate", fields.initialise_rate),
    ):
        if key in used and value:
            rows.append((key, _text(value)))
    if "mount_options" in used and (options := fields.mount_options.split()):
        rows.append(("mount_options", f"[{', '.join(map(_text, options))}]"))
    for key, values in (("xfs", _xfs(fields)), ("ext4", _ext4(fields))):
        if fields.filesystem == key and values:
            rows.append((key, _inline(values)))
    return "\n".join(("[[volume]]", *(f"{key} = {value}" for key, value in rows), ""))


def _select(fields: Fields) -> str:
    if fields.disks == SERIALS:
        return _inline([("serials", f"[{', '.join(map(_text, fields.serials))}]")])
    if fields.disks == ROLE:
        rows = [("role", _text(fields.role))]
    else:
        rows = [("kind", _text(DiskKind.INSTANCE_STORE.value))]
    # Of a role all are taken without a count; who says "so many" has to say how many.
    if fields.disks == COUNT or (fields.disks == ROLE and fields.count):
        rows.append(("count", _number(fields.count)))
    return _inline(rows)


def _xfs(fields: Fields) -> list[tuple[str, str]]:
    rows = []
    if fields.reflink != DEFAULT:
        rows.append(("reflink", "true" if fields.reflink == YES else "false"))
    for key, value in (("inode_size", fields.inode_size), ("log_size", fields.log_size)):
        if value:
            rows.append((key, _text(value)))
    return rows


def _ext4(fields: Fields) -> list[tuple[str, str]]:
    rows = []
    if fields.bytes_per_inode:
        rows.append(("bytes_per_inode", _text(fields.bytes_per_inode)))
    if fields.reserved_percent:
        rows.append(("reserved_percent", _number(fields.reserved_percent)))
    if fields.journal_size:
        rows.append(("journal_size", _text(fields.journal_size)))
    return rows


def _size(size_bytes: int | None) -> str:
    return "" if size_bytes is None else amount(size_bytes)


def _number(text: str) -> str:
    """Digits as a number; anything else as text, which the parser then refuses in words."""
    return str(int(text)) if _DIGITS.fullmatch(text) else _text(text)


def _text(text: str) -> str:
    # JSON's escapes are TOML's, once nothing is left that neither may hold raw.
    return json.dumps(printable(text.strip()), ensure_ascii=False)


def _inline(rows: Sequence[tuple[str, str]]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in rows)} }}"
