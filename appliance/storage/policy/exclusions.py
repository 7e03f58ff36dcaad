"""Why not this disk: each exclusion once, with its evidence and the way on. Pure.

Three kinds. *Use*: the disk is in use now, or the system needs it; no order lifts that.
*Contents*: it holds something that is not ours; only an order to erase lifts that. *Doubt*: a
disk that identity does not call claimable is not claimed, whatever else it looks like. The
inventory's own verdict counts, and so do its facts: a document from elsewhere may say "claimable"
of a disk that it also shows with a signature.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from typing import NamedTuple

from appliance import text
from appliance.model.disks import Disk, DiskKind, Mark, MarkState, Signature
from appliance.storage.formats import lvm, marks, md, partition_tables
from appliance.storage.policy.ownership import Trace

# Stands for what a disk may hold when it could not be read; so nothing may be written to it.
UNREADABLE = Signature(kind="unreadable")

# Serial and model go into argv, labels, unit files, links and screens. What providers and drive
# makers use is letters, digits, spaces and these. A quote, bracket, slash, '$', '%', comma,
# control character or anything outside of ASCII means something to one of those readers.
_PLAIN = re.compile(r"[A-Za-z0-9 ._+:()-]", re.ASCII)
_FIRST = re.compile(r"[A-Za-z0-9]", re.ASCII)
_ALLOWED = "letters, digits, spaces and . _ - + : ( )"

_SIGNATURE_WORDS = {
    "crypto_luks": "a LUKS header",
    "lvm2_member": "an LVM physical volume",
    "swap": "swap space",
    "bcache": "a bcache superblock",
    "zfs_member": "a ZFS label",
    "vmfs": "a VMFS datastore",
    "vmfs_volume_member": "a VMFS volume member",
    "iso9660": "an ISO 9660 image",
    "ntfs": "an ntfs signature",
}
_TABLE_WORDS = {
    "damaged-gpt": "the remains of a gpt partition table",
    "damaged-dos": "the remains of an MBR partition table",
    "hybrid": "a hybrid partition table (gpt, with MBR entries of its own)",
    "pmbr": "a protective MBR",
    "dos": "a dos partition table (MBR)",
}


class Exclusion(NamedTuple):
    """What speaks against using a disk, and what can be done about it; empty if nothing does."""

    what: str = ""
    hint: str = ""


def find(disk: Disk, *, ours: str, own_holders: Collection[str]) -> Exclusion:
    """The first that holds, for the inventory. The order is that of certainty and of use to the
    reader: what the disk is, who has it open or waits for it, what is on it.

    ``ours`` is the volume whose name the disk carries, ``own_holders`` are the kernel names of
    what that volume itself has built on it.
    """
    plain_of_ours = bool(ours) and disk.md_member is None and disk.lvm_member is None
    busy = disk.busy and not own_holders and not disk.mountpoints
    return (
        _unfit(disk)
        or (None if plain_of_ours else _mounted(disk))
        or _swap(disk)
        or _partitioned(disk)
        or _held(disk, own_holders)
        or (None if ours else _claimed(disk))
        or (None if ours else _signed(disk))
        or (_busy(disk) if busy else None)
        or (None if ours else _not_blank(disk) or _being_read(disk))
        or Exclusion()
    )


# ------------------------------------------------------------------------------------ use


def to_use(disk: Disk, holders: Collection[str] = (), *, mounted: bool = False) -> str:
    """Who uses the disk now, apart from our own ``holders`` (and our own mount)."""
    if disk.holds_root or disk.kind is DiskKind.SYSTEM:
        return "the running system is on this disk"
    found = (
        _unfit(disk)
        or (None if mounted else _mounted(disk))
        or _swap(disk)
        or _held(disk, holders)
        or (_busy(disk) if disk.busy and not disk.holders and not disk.mountpoints else None)
    )
    return found.what if found else ""


def _unfit(disk: Disk) -> Exclusion | None:
    for what, value in (("serial", disk.serial), ("model", disk.model)):
        if odd := _odd_character(value):
            return Exclusion(
                f"its {what} has {odd}; only {_ALLOWED} can go into commands and unit files",
                "no provider's disk has such a name; find out what it is, and detach it",
            )
    if disk.size_bytes <= 0:
        return Exclusion("has size zero", "detach and attach it again, or replace the machine")
    if disk.size_bytes < marks.MIN_DISK_BYTES:
        least = text.size(marks.MIN_DISK_BYTES)
        return Exclusion(
            f"is too small: {text.size(disk.size_bytes)}, and it takes {least}", "use a bigger disk"
        )
    if disk.read_only:
        return Exclusion(
            "is read-only", f"see 'blockdev --getro {disk.path}', and how it is attached"
        )
    return None


def _odd_character(value: str) -> str:
    """The first character that must not be in a serial or model, in printable words; or empty."""
    for at, char in enumerate(value):
        if not (_FIRST if at == 0 else _PLAIN).fullmatch(char):
            shown = f"'{char}' " if char.isascii() and char.isprintable() else ""
            return f"the character {shown}(U+{ord(char):04X})"
    return ""


def _mounted(disk: Disk) -> Exclusion | None:
    hint = f"see 'findmnt --source {disk.path}', and unmount it if it is not wanted there"
    what = f"is mounted at {', '.join(disk.mountpoints)}"
    return Exclusion(what, hint) if disk.mountpoints else None


def _swap(disk: Disk) -> Exclusion | None:
    hint = "swapoff it, and take it out of /etc/fstab"
    return Exclusion("is used as swap", hint) if disk.swap else None


def _partitioned(disk: Disk) -> Exclusion | None:
    if not disk.partitions:
        return None
    kinds = (one.kind for one in disk.signatures if one.kind.lower() in partition_tables.KINDS)
    table = next(kinds, "")
    kind = f" ({table} table)" if table else ""
    return Exclusion(f"has partitions: {', '.join(disk.partitions)}{kind}", _erase(disk))


def _held(disk: Disk, own: Collection[str]) -> Exclusion | None:
    notes = dict(zip(disk.holders, disk.holder_notes, strict=False))
    foreign = [name for name in disk.holders if name not in own]
    words = [f"{name} ({notes[name]})" if notes.get(name) else name for name in foreign]
    hint = f"see 'lsblk {disk.path}', and stop what holds it"
    return Exclusion(f"is held by {', '.join(words)}", hint) if foreign else None


def _claimed(disk: Disk) -> Exclusion | None:
    hint = "take the disk out there, or leave it to that tool"
    return Exclusion(f"is claimed by {disk.claimed_by}", hint) if disk.claimed_by else None


def _busy(disk: Disk) -> Exclusion:
    return Exclusion(
        "is opened exclusively by another program",
        f"as root: {holders(disk.path)}; end what uses it",
    )


def holders(path: str) -> str:
    """The command that lists who has device ``path`` open, as ``/proc/PID/fd/N`` (proc(5)).

    ``fuser`` and ``lsof`` are not on the image.
    """
    return f"find /proc/[0-9]*/fd -lname {path}"


# ------------------------------------------------------------------------------- contents


def to_contents(disk: Disk) -> str:
    """What the disk holds that is not ours, for a disk that carries no volume."""
    mark = disk.mark
    unreadable = UNREADABLE in disk.signatures
    if found := (None if unreadable else _partitioned(disk)) or _signed(disk):
        return found.what
    if mark is not None and mark.state is MarkState.RELEASED:
        return _released(disk, mark) if mark.intact is False else ""
    if disk.blank is False and mark is not None and mark.intact is False:
        return to_making_again(disk)
    return _data(disk) if disk.blank is False and mark is None else ""


def to_making_again(disk: Disk) -> str:
    """What a disk that a volume is being made of holds besides what the making writes."""
    mark = disk.mark
    if mark is None or mark.intact:
        return ""
    made = f"was being made into volume '{mark.volume}', and"
    if mark.intact is None:
        return f"{made} it is not known what was written to it since"
    return f"{made} holds what that does not write"


def _signed(disk: Disk) -> Exclusion | None:
    if not disk.signatures:
        return None
    if UNREADABLE in disk.signatures:
        return Exclusion("cannot be read, so its contents are unknown", _erase(disk))
    # A table and what it holds are both reported; the filesystem or member says more.
    first = min(disk.signatures, key=_rank)
    kind, where = first.kind.lower(), _at(first.offset_bytes)
    if kind in partition_tables.KINDS:
        table = _TABLE_WORDS.get(kind, f"a {first.kind} partition table")
        return Exclusion(f"has {table}{where}", _erase(disk))
    if kind == md.SIGNATURE:
        name = disk.md_member.array_name if disk.md_member else first.label
        known = f"'{name}'" if name else "without a name that can be believed"
        return Exclusion(f"is a member of another md array, {known}{where}", _erase(disk))
    if kind == "ambivalent":
        return Exclusion(
            "holds signatures that contradict each other (blkid calls them ambivalent)",
            _erase(disk),
        )
    article = "an" if kind[:1] in "aeioux" else "a"
    what = _SIGNATURE_WORDS.get(kind, f"{article} {first.kind or 'unknown'} signature")
    group = disk.lvm_member.group if disk.lvm_member else ""
    of_group = f", of the volume group '{group}'" if group else ""
    label = f", label '{first.label}'" if first.label else ""
    return Exclusion(f"holds {what}{where}{label}{of_group}", _erase(disk))


def _rank(signature: Signature) -> tuple[bool, bool]:
    kind = signature.kind.lower()
    # Of several tables the hybrid one says it all, and the protective MBR the least.
    return (kind in partition_tables.KINDS and kind != "hybrid", kind == "pmbr")


def _not_blank(disk: Disk) -> Exclusion | None:
    mark = disk.mark
    if disk.blank is not False:
        return None
    if mark is not None and mark.state is MarkState.MAKING and mark.intact is False:
        return Exclusion(to_making_again(disk), _erase(disk))
    if mark is None or mark.state is not MarkState.RELEASED:
        return Exclusion(_data(disk), _erase(disk))
    return None if mark.intact else Exclusion(_released(disk, mark), _erase(disk))


def _data(disk: Disk) -> str:
    return f"is not blank: no known signature, but data{_at(disk.nonzero_offset_bytes)}"


def _released(disk: Disk, mark: Mark) -> str:
    since = f"has been written to since{_at(disk.nonzero_offset_bytes)}"
    return f"was released from volume '{mark.volume}', and {since}"


def _at(offset_bytes: int | None) -> str:
    return "" if offset_bytes is None else f" at 0x{offset_bytes:x}"


def _erase(disk: Disk) -> str:
    return f"if its contents are not wanted, name them: {erasing([disk])}"


def erasing(disks: Sequence[Disk], *, one: bool = False) -> str:
    """The command that orders the contents of ``disks`` erased; ``one``: of one of them."""
    # One without a serial cannot be named; the operator sees what the order needs.
    serials = [shlex.quote(disk.serial) if disk.serial else "SERIAL" for disk in disks]
    named = (" or --erase " if one else " --erase ").join(dict.fromkeys(serials))
    return f"stripewright plan --erase {named}"


def _being_read(disk: Disk) -> Exclusion | None:
    if disk.blank is not None or disk.scan is None:
        return None
    why = (
        "was here before, and may hold what was stored since"
        if disk.seen_before
        else "keeps what it holds when the machine stops"
    )
    return Exclusion(
        f"{why}, so it is read in full: {disk.scan.words(disk.size_bytes)}, all zero",
        "each plan reads on for the [scan] time of the layout; a boot, and as root 'systemctl"
        " reload-or-restart stripewright-assemble', read to the end; or give up what it holds:"
        f" {erasing([disk])}",
    )


# ------------------------------------------------------------------ what is to be done to it


def undecidable(disk: Disk, *, privileged: bool) -> str:
    """Why a disk without a known trace cannot be told from a part of a volume, or an empty string.

    Such a disk may be the volume itself, or what it lacks: nothing new is made beside it. Without
    root no member is read, and nothing is decided by that.
    """
    if UNREADABLE in disk.signatures:
        return "cannot be read, so its contents are unknown"
    kinds = {signature.kind for signature in disk.signatures}
    if privileged and lvm.SIGNATURE in kinds and disk.lvm_member is None:
        return "is an LVM physical volume, and LVM does not say of which group"
    if privileged and md.SIGNATURE in kinds and disk.md_member is None:
        return "is a member of an md array, and its superblock cannot be read"
    return ""


def to_taking(disk: Disk, carries: Trace | None, volume: str, *, privileged: bool) -> str:
    """Why ``disk`` must not be taken for a new part of ``volume``, or an empty string."""
    if against := to_use(disk):
        return _best(disk, against)
    if carries is not None and carries.volume != volume:
        doing = "is being made into" if carries.making else "belongs to"
        return f"{doing} volume '{carries.volume}', which is not in the layout"
    making = carries is not None and carries.making
    if against := to_making_again(disk) if making else to_contents(disk):
        return _best(disk, against)
    if claimed := _claimed(disk):
        return claimed.what
    if not disk.claimable:
        return disk.reason or "is not claimable"
    if not privileged or making:
        return ""
    mark = disk.mark
    if mark is not None and mark.state is MarkState.RELEASED:
        return "" if mark.intact else "was released, but not compared with what it held then"
    return "" if disk.blank is True else "was not read, so it is not known to be blank"


def to_bringing_up(disk: Disk, own: Collection[str], *, mounted: bool = False) -> str:
    """Why a disk that carries the volume must not be used for it, or an empty string."""
    against = to_use(disk, own, mounted=mounted)
    if not against and (partitioned := _partitioned(disk)):
        against = partitioned.what
    if against:
        return _best(disk, against)
    return "" if disk.claimable else disk.reason or "is not claimable"


def to_erasing(disk: Disk) -> str:
    """Why even an order must not erase the disk's contents, or an empty string."""
    if UNREADABLE in disk.signatures:
        return "cannot be read, so its contents are unknown"
    claimed = _claimed(disk)
    return claimed.what if claimed else to_use(disk)


def _best(disk: Disk, against: str) -> str:
    """Identity's own sentence, which has more evidence, where it has one."""
    return disk.reason if disk.reason and not disk.claimable else against
