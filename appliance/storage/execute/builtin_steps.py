"""The steps of a plan that are our own work: marks on disks, and installing the layout.

They are done by the executor itself, and are the same as the hidden command ``stripewright
chore …`` that a plan shows. Every write is durable before the next begins, in the order in
which a power cut does no harm: the mark that says what a disk is comes first, the old
signature goes after it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from appliance import paths
from appliance.errors import OperatorError, UsageError
from appliance.model.disks import Disk, MarkState
from appliance.storage.formats import data_areas, lvm, marks, md
from appliance.storage.formats.filesystem import is_one
from appliance.storage.probe import blockdev, halfmade
from appliance.system import files, journal

PROGRAM = "stripewright"
_ERASED = "erased"
_UUID = "uuid="
_HINT = "nothing else was done to it; see 'stripewright inventory'"


@dataclass(frozen=True, slots=True)
class StepContext:
    """What built-in steps work on: the disks of one probe, by each path that a step may use."""

    disks: Mapping[str, Disk]
    host_tag: str
    layout_file: Path = paths.LAYOUT_FILE
    layout_text: str | None = None

    def disk(self, path: str) -> Disk:
        try:
            return self.disks[path]
        except KeyError as error:
            raise UsageError(f"{path}: no such disk", "see 'stripewright inventory'") from error


def by_path(disks: Sequence[Disk]) -> dict[str, Disk]:
    """Each disk by its kernel name's path and by its stable path."""
    found = {disk.path: disk for disk in disks}
    return found | {disk.stable_path: disk for disk in disks if disk.stable_path}


def is_chore(argv: Sequence[str]) -> bool:
    """Whether a step's command is one of ours."""
    return len(argv) > 2 and argv[0] == PROGRAM and argv[1] == "chore"


def run(argv: Sequence[str], context: StepContext) -> None:
    """Do the chore that ``argv`` (``stripewright chore NAME …``) names.

    Raises :class:`OperatorError` for what went wrong; :class:`UsageError` for words that are no
    chore. An :class:`OSError` of a disk becomes one of these.
    """
    chores: dict[str, Callable[[StepContext, Sequence[str]], None]] = {
        "mark": _mark,
        "unmark": _unmark,
        "release": _release,
        "release-foreign": _release_foreign,
        "declare": _declare,
        "shrink": _shrink,
    }
    name, words = argv[2], argv[3:]
    if name not in chores:
        raise UsageError(f"no such chore: {name}", f"they are: {', '.join(chores)}")
    try:
        chores[name](context, words)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise OperatorError(f"{name}{where}: {error.strerror or error}", _HINT) from error


@dataclass(frozen=True, slots=True)
class Marking:
    """The words of ``mark VOLUME front|end [uuid=UUID] DISK…``; the UUID is 32 digits."""

    volume: str
    at_end: bool
    filesystem_uuid: str
    disks: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Marking:
        """Raises :class:`UsageError` for other words."""
        given = len(words) > 2 and words[2].startswith(_UUID)
        disks = tuple(words[3:] if given else words[2:])
        if not disks or words[1] not in {"front", "end"}:
            raise UsageError("mark: give a volume, front or end, and disks", _HINT)
        return cls(
            volume=words[0],
            at_end=words[1] == "end",
            filesystem_uuid=words[2].removeprefix(_UUID) if given else "",
            disks=disks,
        )


def _mark(context: StepContext, words: Sequence[str]) -> None:
    """Say on each disk that the volume is being made of it.

    A filesystem inside of an older array or group goes with it: it would shine through a new one
    in the same place, and look as if it was made since. Its disk is the last, so as long
    as it is there, not all disks are marked.
    """
    wanted = Marking.of(words)
    disks = [context.disk(name) for name in wanted.disks]
    inside = {disk.path: _filesystems_inside(disk) for disk in disks}
    for disk in sorted(disks, key=lambda one: bool(inside[one.path])):
        for at in inside[disk.path]:
            blockdev.clear(disk.path, at, marks.BLOCK_BYTES)
        offset = marks.end_offset(disk.size_bytes) if wanted.at_end else marks.front_offset()
        note = marks.Note(
            state=MarkState.MAKING,
            volume=wanted.volume,
            host_tag=context.host_tag,
            serial=disk.serial,
            size_bytes=disk.size_bytes,
            nonce=os.urandom(16).hex(),
            at=int(time.time()),
            filesystem_uuid=wanted.filesystem_uuid,
            blank=disk.blank is True or _was_blank(disk, wanted.volume),
        )
        if not note.blank:
            note = replace(note, fingerprint=halfmade.fingerprint(disk, note, offset))
        _write(disk, offset, _encoded(disk, note), given_up=True)


def _was_blank(disk: Disk, volume: str) -> bool:
    """Whether all that ``disk`` holds is from a making of ``volume`` that began on a blank disk."""
    mark = disk.mark
    if mark is None or (mark.state, mark.volume) != (MarkState.MAKING, volume) or not mark.intact:
        return False
    block = blockdev.read_durable(disk.path, mark.offset_bytes, marks.BLOCK_BYTES)
    note = marks.note_in(block)
    return note is not None and note.blank


def _filesystems_inside(disk: Disk) -> tuple[int, ...]:
    """Where filesystems begin inside what md or LVM made of ``disk``."""
    return tuple(
        at
        for at in blockdev.data_starts(disk.path)
        if at % marks.BLOCK_BYTES == 0
        and at + marks.BLOCK_BYTES <= disk.size_bytes
        and blockdev.read_filesystem(disk.path, at) is not None
    )


def _unmark(context: StepContext, words: Sequence[str]) -> None:
    """``unmark VOLUME DISK…``: the volume is made, or the disk joins it.

    Its own marks are cleared, and those that say that the disk was given up by whom it belonged
    to; never those of another volume that is being made.
    """
    if len(words) < 2:
        raise UsageError("unmark: give a volume and disks", _HINT)
    volume, *names = words
    for disk in [context.disk(name) for name in names]:
        for mark in blockdev.read_marks(disk.path, disk.size_bytes, disk.serial):
            if mark.state is MarkState.RELEASED or mark.volume == volume:
                # The volume may be running: its own array holds the disk.
                blockdev.clear(disk.path, mark.offset_bytes, marks.BLOCK_BYTES, exclusive=False)


def _release(context: StepContext, words: Sequence[str]) -> None:
    """``release VOLUME DISK``: the disk is no longer the volume's, and may be used again."""
    if len(words) != 2:
        raise UsageError("release: give a volume and one disk", _HINT)
    volume, disk = words[0], context.disk(words[1])
    offset, signature = _place(volume, disk)
    # Last the signature: killed before that, the mark beside it says what was meant.
    cleared = () if signature is None else (*_filesystems_inside(disk), signature)
    _write(disk, offset, _release_note(context, disk, volume, cleared=cleared))
    for at in cleared:
        blockdev.clear(disk.path, at, marks.BLOCK_BYTES)
    _released(disk, volume)


def _place(volume: str, disk: Disk) -> tuple[int, int | None]:
    """Where the mark goes that releases ``disk``, and the block that makes it ours.

    Decided by what is on the disk now; anything that is not the volume's is left alone.
    """
    node = disk.path
    found = blockdev.read_disk(node, disk.size_bytes, disk.serial)
    kinds = {signature.kind for signature in found.signatures}
    mark = found.mark if found.mark is not None and found.mark.volume == volume else None
    making = mark is not None and mark.state is MarkState.MAKING
    if kinds == {md.SIGNATURE}:
        member = md.parse_superblock(blockdev.read_md_superblock(node))
        if making or (member is not None and md.volume_of(member.array_name) == volume):
            return marks.front_offset(), md.SUPERBLOCK_OFFSET_BYTES
    elif kinds == {lvm.SIGNATURE}:
        group = "" if disk.lvm_member is None else disk.lvm_member.group
        if making or group == lvm.group_name(volume):
            return marks.front_offset(), 0
    elif is_one(kinds):
        filesystem = blockdev.read_filesystem(node)
        if making or (filesystem is not None and filesystem.label == volume):
            return marks.end_offset(disk.size_bytes), 0
    elif not kinds and mark is not None:
        return mark.offset_bytes, None
    held = ", ".join(sorted(kinds)) or "nothing of ours"
    raise OperatorError(f"{node} does not hold volume '{volume}' ({held})", _HINT)


def _release_foreign(context: StepContext, words: Sequence[str]) -> None:
    """``release-foreign DISK…``: its contents were given up, its signatures are cleared."""
    if not words:
        raise UsageError("release-foreign: give disks", _HINT)
    for disk in [context.disk(name) for name in words]:
        found = blockdev.read_disk(disk.path, disk.size_bytes, disk.serial)
        # Remains of a damaged partition table are no signature that wipefs could clear.
        left = {one.kind for one in found.signatures if not one.kind.startswith("damaged-")}
        if left - {"hybrid"}:
            raise OperatorError(f"{disk.path} still has {', '.join(sorted(left))}", _HINT)
        note = _release_note(context, disk, _ERASED)
        _write(disk, marks.front_offset(), note)
        _released(disk, _ERASED)


def _shrink(context: StepContext, words: Sequence[str]) -> None:
    """``shrink VOLUME BYTES DISK…``: the array uses no more of these members than that."""
    if len(words) < 3 or not words[1].isdecimal():
        raise UsageError("shrink: give a volume, bytes and disks", _HINT)
    volume, used_bytes = words[0], int(words[1])
    for disk in [context.disk(name) for name in words[2:]]:
        block = blockdev.read_md_superblock(disk.path)
        member = md.parse_superblock(block)
        ours = member is not None and md.volume_of(member.array_name) == volume
        if member is None or not ours or not 0 < used_bytes < (member.used_bytes or 0):
            raise OperatorError(f"{disk.path} is no member of '{volume}' that uses more", _HINT)
        changed = md.with_used_bytes(block, used_bytes)
        blockdev.write_block(disk.path, md.SUPERBLOCK_OFFSET_BYTES, changed)


def _declare(context: StepContext, words: Sequence[str]) -> None:
    """``declare SHA256``: install the layout with that hash; the one before is kept."""
    text = context.layout_text
    if len(words) != 1 or text is None or sha256_of(text) != words[0]:
        raise UsageError(
            "declare: there is no layout with that hash here",
            "it is part of a plan: stripewright plan --layout FILE",
        )
    file = context.layout_file
    if file.exists():
        before = file.read_text(encoding="utf-8", errors="replace")
        files.replace_text(file.with_name(f"{file.name}.previous"), before, durable=True)
    files.replace_text(file, text, durable=True)
    journal.event(
        journal.Event.LAYOUT_DECLARED,
        f"{file} was replaced; the one before is {file.name}.previous",
        layout=str(file),
        sha256=words[0],
    )


def sha256_of(text: str) -> str:
    """The hash by which a plan names a layout's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _release_note(
    context: StepContext, disk: Disk, volume: str, *, cleared: Collection[int] = ()
) -> bytes:
    nonce = os.urandom(16).hex()
    samples = blockdev.samples_digest(disk.path, disk.size_bytes, seed=nonce, cleared=cleared)
    note = marks.Note(
        state=MarkState.RELEASED,
        volume=volume,
        host_tag=context.host_tag,
        serial=disk.serial,
        size_bytes=disk.size_bytes,
        nonce=nonce,
        samples=samples,
        at=int(time.time()),
    )
    return _encoded(disk, note)


def _encoded(disk: Disk, note: marks.Note) -> bytes:
    try:
        return marks.encode(note)
    except (ValueError, TypeError) as error:
        raise OperatorError(f"{disk.path} cannot be marked: {error}", _HINT) from error


def _write(disk: Disk, offset: int, block: bytes, *, given_up: bool = False) -> None:
    """Write a mark, then clear the one at the other place: only one of them counts.

    What is on the disk may keep data in this place: an earlier attempt in another form, or a
    volume that is lost. If it is ``given_up``, its superblock goes next, so that the mark counts;
    until then what is on the disk says what it said before.
    """
    if offset not in marks.offsets(disk.size_bytes):
        raise OperatorError(f"{disk.path} is too small for a mark", _HINT)
    blockdev.write_block(disk.path, offset, block)
    found = blockdev.read_marks(disk.path, disk.size_bytes, disk.serial)
    if given_up and offset not in {mark.offset_bytes for mark in found}:
        blockdev.clear(disk.path, 0, data_areas.HEAD_BYTES)
        found = blockdev.read_marks(disk.path, disk.size_bytes, disk.serial)
    for mark in found:
        if mark.offset_bytes != offset:
            blockdev.clear(disk.path, mark.offset_bytes, marks.BLOCK_BYTES)


def _released(disk: Disk, volume: str) -> None:
    journal.event(
        journal.Event.DISK_RELEASED,
        f"{disk.path} (serial {disk.serial or 'none'}) was released from '{volume}'",
        disk=disk.path,
        serial=disk.serial,
        volume=volume,
    )
