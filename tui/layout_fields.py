"""One volume as it stands in the form: texts as typed, and what is wrong with them. Pure.

Nothing is checked here that :mod:`appliance.storage.policy.layout` checks, whose list of fields
says how each is typed: the texts become a ``[[volume]]`` table of a whole layout, and what the
parser says of it is told at its field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from appliance.errors import UsageError
from appliance.model.disks import DiskKind
from appliance.model.plans import Layout, Volume
from appliance.model.toml_fields import (
    Choice,
    Field,
    Inline,
    Whole,
    inline,
    listed,
    quoted,
    table_text,
)
from appliance.storage.policy.layout import parse_layout, render_layout, volume_fields
from appliance.text import printable

ALL, COUNT, ROLE, SERIALS = "all", "count", "by role", "chosen"
DEFAULT, YES, NO = "default", "yes", "no"
_SOURCE = "draft"
_PLACE = re.compile(rf"{_SOURCE}: (?P<place>[^ :]+)(?: \(line \d+\))?: (?P<what>.*)", re.DOTALL)
_PART = re.compile(r"volume\[(?P<number>\d+)\](?:\.(?P<key>.+))?")
_FLAGS = {"": DEFAULT, "true": YES, "false": NO}
_TYPED = {DEFAULT: "", YES: "true", NO: "false"}


@dataclass(frozen=True, slots=True)
class Fields:
    """What the form shows. ``disks`` is one of :data:`ALL`, :data:`COUNT`, :data:`ROLE`,
    :data:`SERIALS`. An empty text leaves the key out; an empty ``mount`` is /mnt/NAME. ``options``
    are those of the filesystem's mkfs, by their keys.
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
    initialise_rate: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """``field`` is a field of :class:`Fields` or an option, empty if it is none of them alone."""

    field: str
    text: str


def choices(key: str) -> tuple[str, ...]:
    """The words that a field of the layout may have."""
    kinds = (one.kind for one in volume_fields() if one.key == key)
    return next((kind.allowed for kind in kinds if isinstance(kind, Choice)), ())


def option_fields() -> tuple[tuple[str, Field], ...]:
    """Each option of mkfs with the kind of filesystem that it is for."""
    return tuple(
        (one.key, option)
        for one in volume_fields()
        if isinstance(one.kind, Inline)
        for option in one.kind.fields
    )


def fields_of(volume: Volume) -> Fields:
    """``volume`` as the form shows it."""
    select = volume.select
    disks = ALL if select.count is None else COUNT
    if select.serials:
        disks = SERIALS
    elif select.role:
        disks = ROLE
    texts = {
        one.key: _text(one, volume)
        for one in volume_fields()
        if one.key != "select" and not isinstance(one.kind, Inline)
    }
    return Fields(
        **texts,
        disks=disks,
        count="" if select.count is None else str(select.count),
        role=select.role,
        serials=select.serials,
        options={
            option.key: _text(option, volume.options)
            for kind, option in option_fields()
            if kind == volume.filesystem and volume.options is not None
        },
    )


def _text(one: Field, of: object) -> str:
    value = getattr(of, one.name)
    text = "" if value is None else one.kind.text(value)
    return _FLAGS[text] if isinstance(value, bool) else text


def used_fields(texts: Fields) -> frozenset[str]:
    """Names of the fields that mean something with the present choices."""
    chosen = {"stripe": texts.stripe, "filesystem": texts.filesystem}
    used = {one.key for one in volume_fields() if one.fits(chosen)} - {"select"}
    used |= {option.key for kind, option in option_fields() if kind == texts.filesystem}
    used |= {"disks"}
    if texts.disks in {COUNT, ROLE}:
        used.add("count")
    if texts.disks == ROLE:
        used.add("role")
    if texts.disks == SERIALS:
        used.add("serials")
    return frozenset(used)


def check(
    texts: Fields, others: Sequence[Volume], base: Layout
) -> tuple[Volume | None, Problem | None]:
    """The volume that ``texts`` describe beside ``others``, or what is wrong with it.

    Rules and tuning are those of ``base``.
    """
    text = render_layout(replace(base, volumes=tuple(others)))
    # The volume comes last, so that it is the one that the parser finds fault with.
    text = f"{text.removeprefix('volume = []')}\n{volume_text(texts)}"
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
    name = {"select": "disks", "select.kind": "disks"}.get(key) or key.rpartition(".")[2]
    shown = {one.name for one in fields(Fields)} | {option.key for _, option in option_fields()}
    return Problem(name if name in shown else "", printable(f"{found['what']}; {error.hint}"))


def volume_text(texts: Fields) -> str:
    """The ``[[volume]]`` table as typed, right or wrong; the quoting is ours."""
    used = used_fields(texts)
    typed = {"mount": texts.mount.strip() or f"/mnt/{texts.name}"}
    rows = [("name", quoted(texts.name)), ("select", _select(texts))]
    for one in volume_fields():
        if one.key not in used or one.key == "name":
            continue
        if isinstance(one.kind, Inline):
            options = [
                (option.key, option.kind.toml(value))
                for option in one.kind.fields
                if (value := _typed(texts.options.get(option.key, "")))
            ]
            rows += [(one.key, inline(options))] if options else []
        elif (text := typed.get(one.key, getattr(texts, one.key, ""))).strip():
            rows.append((one.key, one.kind.toml(text)))
    return table_text("[[volume]]", rows)


def _typed(text: str) -> str:
    return _TYPED.get(text, text)


def _select(texts: Fields) -> str:
    if texts.disks == SERIALS:
        return inline([("serials", listed(texts.serials))])
    if texts.disks == ROLE:
        rows = [("role", quoted(texts.role))]
    else:
        rows = [("kind", quoted(DiskKind.INSTANCE_STORE.value))]
    # Of a role all are taken without a count; who says "so many" has to say how many.
    if texts.disks == COUNT or (texts.disks == ROLE and texts.count):
        rows.append(("count", Whole(0, 0).toml(texts.count)))
    return inline(rows)
