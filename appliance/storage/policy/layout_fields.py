"""One volume as it stands in a form: texts as typed, what is wrong with each, and what it means.

Pure. Nothing is checked here that :mod:`appliance.storage.policy.layout` checks, whose list of
fields says how each is typed: the texts become a ``[[volume]]`` table of a whole layout, and what
the decoder says of it is told at its field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from appliance.errors import UsageError
from appliance.model.disks import DiskKind
from appliance.model.plans import PATIENCE_SECONDS, Layout, Volume
from appliance.model.toml_fields import (
    Choice,
    Field,
    Flag,
    Inline,
    Whole,
    inline,
    listed,
    quoted,
    table_text,
)
from appliance.model.toml_table import FieldError
from appliance.storage.policy.layout import parse_layout, render_layout, volume_fields
from appliance.text import printable

ALL, COUNT, ROLE, SERIALS = "all", "count", "by role", "chosen"
DEFAULT, YES, NO = "default", "yes", "no"
# What no field takes.
_WRONG = "?"
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
    role: str = ""
    count: str = ""
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
    options: Mapping[str, str] = field(default_factory=dict)
    initialise_rate: str = ""

    def with_text(self, name: str, text: Any) -> Fields:  # noqa: ANN401 - as the field has it
        """With ``text`` in the field, or option, ``name``."""
        if name in {option.key for _, option in option_fields()}:
            return replace(self, options={**self.options, name: text})
        return replace(self, **{name: text})


@dataclass(frozen=True, slots=True)
class Problem:
    """``field`` is a field of :class:`Fields` or an option, empty if it is none of them alone;
    ``hint`` says what is allowed there.
    """

    field: str
    what: str
    hint: str = ""

    @property
    def text(self) -> str:
        return f"{self.what}; {self.hint}" if self.hint else self.what


def names() -> tuple[str, ...]:
    """Every field and option, in the order of the form."""
    options = tuple(option.key for _, option in option_fields())
    at = [one.name for one in fields(Fields)]
    return tuple(one for name in at for one in (options if name == "options" else (name,)))


def choices(name: str) -> tuple[str, ...]:
    """The words that a field may have; empty where it is typed."""
    if name == "disks":
        return ALL, COUNT, ROLE, SERIALS
    known = {one.key: one.kind for one in (*volume_fields(), *(one for _, one in option_fields()))}
    kind = known.get(name)
    if isinstance(kind, Flag):
        return DEFAULT, YES, NO
    return kind.allowed if isinstance(kind, Choice) else ()


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
    plain = [one for one in volume_fields() if not isinstance(one.kind, Inline)]
    used = {one.key for one in plain if one.fits(chosen)} - {"select"}
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
) -> tuple[Volume | None, tuple[Problem, ...]]:
    """The volume that ``texts`` describe beside ``others``, or what is wrong, once for a field.

    Rules and tuning are those of ``base``. The decoder stops at the first mistake; what is after
    it is found with something right in its place.
    """
    before = render_layout(replace(base, volumes=tuple(others))).removeprefix("volume = []")
    found: dict[str, Problem] = {}
    while True:
        try:
            # The volume comes last, so that it is the one that the decoder finds fault with.
            layout = parse_layout(f"{before}\n{volume_text(texts)}", "draft")
        except UsageError as error:
            problem = _problem(error, number=len(others) + 1)
            if problem.field in found:
                break
            found[problem.field] = problem
            texts = _stand_in(texts, problem.field)
        else:
            if not found:
                return layout.volumes[-1], ()
            break
    return None, tuple(found.values())


def _stand_in(texts: Fields, name: str) -> Fields:
    if name in texts.options:
        return texts.with_text(name, "")
    right = {"name": "x", "count": "2", "role": "x", "serials": ("x",)}
    value = right.get(name, getattr(Fields(), name, None))
    return texts if value is None else texts.with_text(name, value)


def _problem(error: UsageError, *, number: int) -> Problem:
    table = f"volume[{number}]"
    if not isinstance(error, FieldError) or not f"{error.place}.".startswith(f"{table}."):
        return Problem("", printable(error.message), printable(error.hint))
    key = error.place.removeprefix(table).lstrip(".")
    name = {"select": "disks", "select.kind": "disks"}.get(key) or key.rpartition(".")[2]
    shown = {one.name for one in fields(Fields)} | {option.key for _, option in option_fields()}
    # Quotes are of TOML, and not typed in a form.
    hint = printable(error.hint).replace('"', "")
    return Problem(name if name in shown else "", printable(error.what), hint)


def volume_text(texts: Fields) -> str:
    """The ``[[volume]]`` table as typed, right or wrong; the quoting is ours."""
    used = used_fields(texts)
    typed = {"mount": texts.mount.strip() or f"/mnt/{texts.name}"}
    rows = [("name", quoted(texts.name)), ("select", _select(texts))]
    for one in volume_fields():
        if isinstance(one.kind, Inline):
            options = [
                (option.key, option.kind.toml(value))
                for option in one.kind.fields
                if option.key in used and (value := _typed(texts.options.get(option.key, "")))
            ]
            rows += [(one.key, inline(options))] if options else []
        elif (
            one.key in used - {"name"}
            and (text := typed.get(one.key, getattr(texts, one.key, ""))).strip()
        ):
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
    # Of a role all are taken without a count; "count" has to say how many.
    if texts.disks == COUNT or (texts.disks == ROLE and texts.count):
        rows.append(("count", Whole(0, 0).toml(texts.count)))
    return inline(rows)


# -------------------------------------------------------------------------------- in words

# In the words of md(4), mdadm(8), xfs(5), mkfs.xfs(8) and mkfs.ext4(8).
_MEANING = {
    "name": "names the array, volume group and filesystem label",
    "disks": "which become members: all or a count of the instance storage, by role, or chosen",
    "role": "takes the disks to which a [[rule]] of the layout gives this role",
    "count": "how many disks, the first by id",
    "serials": "these disks and no others, in any slot",
    "stripe": "md-raid0 has no redundancy, md-raid10 two copies of everything; single is one disk",
    "chunk": "what goes to one member before the next; the filesystem's sunit, and times the"
    " data members its swidth",
    "raid10_layout": "where md puts the second copy; far reads as fast as RAID0 and writes slower",
    "lvm_extent": "the volume group's unit of allocation; it holds whole chunks",
    "filesystem": "is aligned with the stripe; none leaves the block device raw",
    "mount": "where it is mounted; not inside another volume's mount point",
    "on_short": "at creation fewer disks are here than the machine type has: accept stripes these",
    "on_loss": "a member is gone for good: recreate makes the volume new and EMPTY",
    "wait": "how long a boot waits for late disks",
    "mount_options": "on top of nodev,nosuid,noatime, separated by blanks",
    "initialise_rate": "limits the reading of a volume restored from a snapshot; no limit if empty",
    "reflink": "lets copies share blocks until they are changed",
    "inode_size": "room in the inode for extents and extended attributes",
    "log_size": "the journal; it has to fit into one allocation group",
    "bytes_per_inode": "more bytes make fewer inodes and a quicker mkfs",
    "reserved_percent": "of the blocks, kept for root",
    "journal_size": "the journal, written once by mkfs",
}


def about(texts: Fields, name: str) -> str:
    """What the field ``name`` means, what is allowed there, and its default, in one line."""
    allowed, default = "", default_of(texts, name)
    if not choices(name) and name != "serials":
        # As the decoder says it.
        _, problems = check(texts.with_text(name, _WRONG), (), Layout(()))
        allowed = next((one.hint for one in problems if one.field == name), "")
    parts = (_MEANING.get(name, ""), allowed, f"default {default}" if default else "")
    return "; ".join(part for part in parts if part)


def default_of(texts: Fields, name: str) -> str:
    """What holds where the field ``name`` is empty, in words."""
    kinds = {option.key: kind for kind, option in option_fields()}
    if name in kinds:
        return f"mkfs.{kinds[name]} decides"
    if name == "mount":
        return f"/mnt/{texts.name or 'NAME'}"
    return f"{PATIENCE_SECONDS:.0f}s" if name == "wait" else str(getattr(Fields(), name) or "")
