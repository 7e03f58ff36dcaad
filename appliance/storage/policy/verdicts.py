"""What speaks against touching a disk. Pure.

Three kinds of objections. *Use*: somebody works with the disk now, or the system needs it; no
order lifts that. *Contents*: it holds something that is not ours; only an order to erase
lifts that. And a disk that identity does not call claimable is not claimed, whatever else
it looks like. The inventory's own verdict counts, and so do its facts: a document from
elsewhere may say "claimable" of a disk that it also shows with a signature.
"""

from __future__ import annotations

from collections.abc import Collection

from appliance.model import Disk, DiskKind, MarkState
from appliance.storage.formats import marks
from appliance.storage.policy.exclusions import UNREADABLE, odd_character
from appliance.storage.policy.ownership import LVM, MD, Trace


def to_use(disk: Disk, holders: Collection[str] = (), *, mounted: bool = False) -> str:
    """Who uses the disk now, apart from our own ``holders`` (and our own mount)."""
    foreign = [name for name in disk.holders if name not in holders]
    if disk.holds_root or disk.kind is DiskKind.SYSTEM:
        return "the running system is on this disk"
    if odd_character(disk.serial) or odd_character(disk.model):
        return "has a serial or model that cannot go into commands"
    if disk.size_bytes <= 0:
        return "has size zero"
    if disk.size_bytes < marks.MIN_DISK_BYTES:
        return "is too small"
    if disk.read_only:
        return "is read-only"
    if disk.mountpoints and not mounted:
        return f"is mounted at {', '.join(disk.mountpoints)}"
    if disk.swap:
        return "is used as swap"
    if foreign:
        return f"is held by {', '.join(foreign)}"
    if disk.busy and not disk.holders and not disk.mountpoints:
        return "is opened exclusively by another program"
    return ""


def to_contents(disk: Disk) -> str:
    """What the disk holds that is not ours, for a disk that carries no volume."""
    if UNREADABLE in disk.signatures:
        return "cannot be read, so its contents are unknown"
    if disk.partitions:
        return f"has partitions: {', '.join(disk.partitions)}"
    if disk.signatures:
        first = disk.signatures[0]
        where = "" if first.offset_bytes is None else f" at 0x{first.offset_bytes:x}"
        return f"holds a signature of {first.kind or 'an unknown kind'}{where}"
    mark = disk.mark
    if mark is not None and mark.state is MarkState.RELEASED:
        if mark.intact is False:
            return f"was released from volume '{mark.volume}' and written to since"
        return ""
    if disk.blank is False and mark is not None and mark.intact is False:
        return to_making_again(disk)
    if disk.blank is False and mark is None:
        where = "" if disk.nonzero_offset_bytes is None else f" at 0x{disk.nonzero_offset_bytes:x}"
        return f"is not blank: no known signature, but data{where}"
    return ""


def to_making_again(disk: Disk) -> str:
    """What a disk that a volume is being made of holds besides what the making writes."""
    mark = disk.mark
    if mark is None or mark.intact:
        return ""
    made = f"was being made into volume '{mark.volume}', and"
    if mark.intact is None:
        return f"{made} nothing tells what was written to it since"
    return f"{made} holds what that does not write"


def undecidable(disk: Disk, *, privileged: bool) -> str:
    """Why nobody can say whether a disk without a known trace is a part of a volume, or an
    empty string.

    Such a disk may be the volume itself, or what it lacks: nothing new is made beside it. Without
    root nobody reads what a member says, and nothing is decided by that.
    """
    if UNREADABLE in disk.signatures:
        return "cannot be read, so its contents are unknown"
    kinds = {signature.kind for signature in disk.signatures}
    if privileged and LVM in kinds and disk.lvm_member is None:
        return "is an LVM physical volume, and LVM does not say of which group"
    if privileged and MD in kinds and disk.md_member is None:
        return "is a member of an md array, and its superblock cannot be read"
    return ""


def to_taking(disk: Disk, carries: Trace | None, volume: str, *, privileged: bool) -> str:
    """Why ``disk`` must not be taken for a new part of ``volume``, or an empty string."""
    against = to_use(disk)
    if against:
        return _told(disk, against)
    if carries is not None and carries.volume != volume:
        doing = "is being made into" if carries.making else "belongs to"
        return f"{doing} volume '{carries.volume}', which is not in the layout"
    making = carries is not None and carries.making
    against = to_making_again(disk) if making else to_contents(disk)
    if against:
        return _told(disk, against)
    if disk.claimed_by:
        return f"is claimed by {disk.claimed_by}"
    if not disk.claimable:
        return disk.reason or "is not claimable"
    if not privileged or making:
        return ""
    mark = disk.mark
    if mark is not None and mark.state is MarkState.RELEASED:
        return "" if mark.intact else "was released, but not compared with what it held then"
    return "" if disk.blank is True else "was not read, so it is not known to be blank"


def to_bringing_up(disk: Disk, holders: Collection[str], *, mounted: bool = False) -> str:
    """Why a disk that carries the volume must not be used for it, or an empty string."""
    against = to_use(disk, holders, mounted=mounted)
    if not against and disk.partitions:
        against = f"has partitions: {', '.join(disk.partitions)}"
    if against:
        return _told(disk, against)
    return "" if disk.claimable else disk.reason or "is not claimable"


def to_erasing(disk: Disk) -> str:
    """Why even an order must not erase the disk's contents, or an empty string."""
    if UNREADABLE in disk.signatures:
        return "cannot be read, so its contents are unknown"
    if disk.claimed_by:
        return f"is claimed by {disk.claimed_by}"
    return to_use(disk)


def _told(disk: Disk, against: str) -> str:
    """Identity's own sentence, which has more evidence, where it has one."""
    return disk.reason if disk.reason and not disk.claimable else against
