"""What can speak against using a disk: each with its evidence and the way on. Pure.

The order is that of certainty and of use to the reader: what the disk is, who has it open or
waits for it, what is on it. The first that holds is given; one is enough.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from appliance import text
from appliance.model import Disk, MarkState, Signature
from appliance.storage.formats import marks, partition_tables

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
_ERASE = "if its contents are not wanted, name them: stripewright plan --erase SERIAL"


def lvm_note(group: str, volume: str) -> str:
    """How :meth:`Kernel.holder_note` names an LVM volume: device-mapper doubles dashes in names."""
    return f"LVM volume '{group.replace('-', '--')}-{volume.replace('-', '--')}'"


def holders(path: str) -> str:
    """The command that lists who has device ``path`` open, as ``/proc/PID/fd/N`` (proc(5)).

    ``fuser`` and ``lsof`` are not on the image.
    """
    return f"find /proc/[0-9]*/fd -lname {path}"


def find(disk: Disk, *, ours: str, own_holders: Collection[str]) -> tuple[str, str]:
    """(what speaks against it, what can be done about it), both empty if nothing does.

    ``ours`` is the volume whose name the disk carries, ``own_holders`` are the kernel names of
    what that volume itself has built on it.
    """
    found = _of_the_disk(disk) or _of_its_users(disk, ours, own_holders)
    if found:
        return found
    if disk.signatures and not ours:
        return _signature(disk), _ERASE
    if disk.busy and not own_holders and not disk.mountpoints:
        return (
            "is opened exclusively by another program",
            f"as root: {holders(disk.path)}; end what uses it",
        )
    if not ours and disk.blank is False:
        return _not_blank(disk)
    if not ours and disk.blank is None and disk.scan is not None:
        why = (
            "was here before, and may hold what was stored since"
            if disk.seen_before
            else "keeps what it holds when the machine stops"
        )
        return (
            f"{why}, so it is read in full: {disk.scan.words(disk.size_bytes)}, all zero",
            "each plan reads on for as long as [scan] time says in the layout, a boot to the end,"
            " and so does, as root, 'systemctl reload-or-restart stripewright-assemble'; or name"
            " the disk: stripewright plan --erase SERIAL",
        )
    return "", ""


def _of_the_disk(disk: Disk) -> tuple[str, str] | None:
    for what, value in (("serial", disk.serial), ("model", disk.model)):
        if odd := odd_character(value):
            return (
                f"its {what} has {odd}; only {_ALLOWED} can go into commands and unit files",
                "no disk of a provider has such a name; find out what it is, and detach it",
            )
    if disk.size_bytes <= 0:
        return "has size zero", "detach and attach it again, or replace the machine"
    if disk.size_bytes < marks.MIN_DISK_BYTES:
        return (
            f"is too small: {text.size(disk.size_bytes)}, and it takes"
            f" {text.size(marks.MIN_DISK_BYTES)}",
            "use a bigger disk",
        )
    if disk.read_only:
        return "is read-only", f"see 'blockdev --getro {disk.path}', and how it is attached"
    return None


def odd_character(value: str) -> str:
    """The first character that must not be in a serial or model, in printable words; or empty."""
    for at, char in enumerate(value):
        if not (_FIRST if at == 0 else _PLAIN).fullmatch(char):
            shown = f"'{char}' " if char.isascii() and char.isprintable() else ""
            return f"the character {shown}(U+{ord(char):04X})"
    return ""


def _of_its_users(disk: Disk, ours: str, own_holders: Collection[str]) -> tuple[str, str] | None:
    plain_of_ours = bool(ours) and disk.md_member is None and disk.lvm_member is None
    if disk.mountpoints and not plain_of_ours:
        return (
            f"is mounted at {', '.join(disk.mountpoints)}",
            f"see 'findmnt --source {disk.path}', and unmount it if it is not wanted there",
        )
    if disk.swap:
        return "is used as swap", "swapoff it, and take it out of /etc/fstab"
    if disk.partitions:
        table = next(
            (one.kind for one in disk.signatures if one.kind.lower() in partition_tables.KINDS), ""
        )
        kind = f" ({table} table)" if table else ""
        return f"has partitions: {', '.join(disk.partitions)}{kind}", _ERASE
    notes = dict(zip(disk.holders, disk.holder_notes, strict=False))
    foreign = [name for name in disk.holders if name not in own_holders]
    if foreign:
        words = [f"{name} ({notes[name]})" if notes.get(name) else name for name in foreign]
        return f"is held by {', '.join(words)}", f"see 'lsblk {disk.path}', and stop what holds it"
    if disk.claimed_by and not ours:
        return (
            f"is claimed by {disk.claimed_by}",
            "take the disk out there, or leave it to that tool",
        )
    return None


def _signature(disk: Disk) -> str:
    if UNREADABLE in disk.signatures:
        return "cannot be read, so its contents are unknown"
    # A table and what it holds are both reported; the filesystem or member says more.
    first = min(disk.signatures, key=_rank)
    kind = first.kind.lower()
    where = "" if first.offset_bytes is None else f" at 0x{first.offset_bytes:x}"
    if kind in partition_tables.KINDS:
        return f"has {_TABLE_WORDS.get(kind, f'a {first.kind} partition table')}{where}"
    if kind == "linux_raid_member":
        name = disk.md_member.array_name if disk.md_member else first.label
        known = f"'{name}'" if name else "without a name that can be believed"
        return f"is a member of another md array, {known}{where}"
    if kind == "ambivalent":
        return "holds signatures that contradict each other (blkid calls them ambivalent)"
    article = "an" if kind[:1] in "aeioux" else "a"
    what = _SIGNATURE_WORDS.get(kind, f"{article} {first.kind} signature")
    group = disk.lvm_member.group if disk.lvm_member else ""
    of_group = f", of the volume group '{group}'" if group else ""
    label = f", label '{first.label}'" if first.label else ""
    return f"holds {what}{where}{label}{of_group}"


def _rank(signature: Signature) -> tuple[bool, bool]:
    kind = signature.kind.lower()
    # Of several tables the hybrid one says it all, and the protective MBR the least.
    return (kind in partition_tables.KINDS and kind != "hybrid", kind == "pmbr")


def _not_blank(disk: Disk) -> tuple[str, str]:
    at = disk.nonzero_offset_bytes
    where = "" if at is None else f" at 0x{at:x}"
    mark = disk.mark
    if mark is not None and mark.state is MarkState.MAKING and mark.intact is False:
        return (
            f"was being made into volume '{mark.volume}', and holds what that does not write",
            _ERASE,
        )
    if mark is None or mark.state is not MarkState.RELEASED:
        return f"is not blank: no known signature, but data{where}", _ERASE
    if mark.intact:
        return "", ""
    return (
        f"was released from volume '{mark.volume}', and has been written to since{where}",
        _ERASE,
    )
