"""Our own note on a disk: that we are making a volume of it, or that we gave it up. Pure.

A volume is made in several steps, and power can fail between any two. What is then on the
disk looks like data: half an mkfs, a superblock without a filesystem. The mark
says that it is not. ``making`` stands on each disk before anything else is written to it
and goes after the filesystem was proved and before the first mount. It names the UUID that the
filesystem gets: as long as that is not there, the disk holds no data.
What the disk held before that may still be on it; then the mark has a *fingerprint* of it, by
which it is told from what was written since (:mod:`appliance.storage.probe.halfmade`).
``released`` stands on a disk that a confirmed plan took out of a volume; its digest over
samples of the contents tells whether it was written to since.

A mark is 4096 bytes: the magic line, one JSON object, zeros, and a SHA-256 of all that. It
is believed only on the disk whose serial and size it names (a copied disk or an image is
another disk), and only at one of two places, where nothing on the disk keeps data
(:mod:`appliance.storage.formats.data_areas`):

* *front*, 512 KiB: in the gap before the data of md members (data offset 1 MiB or more) and in
  LVM's metadata area before its first extent; behind every ZFS label and btrfs superblock;
* *end*, one MiB before the end: for a filesystem that has the disk to itself. It is made
  one MiB smaller than the disk, so the mark is never inside it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from appliance.model.disks import Mark, MarkState
from appliance.model.plans import VOLUME_NAME

BLOCK_BYTES = 4096
SECTOR_BYTES = 512
EDGE_BYTES = 1024 * 1024
# Below this the two places and the samples would run into each other.
MIN_DISK_BYTES = 16 * 1024 * 1024

_MAGIC = b"STRIPEWRIGHT MARK 1\n"
_SUM_BYTES = hashlib.sha256().digest_size
_BODY_BYTES = BLOCK_BYTES - _SUM_BYTES
_FRONT_BYTES = 512 * 1024

_VOLUME = re.compile(VOLUME_NAME, re.ASCII)
_HOST_TAG = re.compile(r"(?:[0-9a-f]{16})?", re.ASCII)
_NONCE = re.compile(r"[0-9a-f]{1,64}", re.ASCII)
_SAMPLES = re.compile(r"(?:[0-9a-f]{64})?", re.ASCII)
_UUID = re.compile(r"(?:[0-9a-f]{32})?", re.ASCII)
_FINGERPRINT = re.compile(r"[0-9A-Za-z+/]{0,2740}={0,2}", re.ASCII)
# What marks of an older version do not say. Such a version passes over what it does not know.
_LATER: Mapping[str, Any] = {"filesystem_uuid": "", "blank": False, "fingerprint": ""}

# Of each sampled block two bytes, so that all find room in a mark.
_SAMPLES_OF_ONE = 1024
_DENSE = 64
_DIGEST_BYTES = 2
_ANY = bytes(_DIGEST_BYTES)


@dataclass(frozen=True, slots=True)
class Note:
    """What a mark says. ``samples`` is :func:`samples_digest` (released only), hexadecimal;
    ``at`` seconds since the epoch, for people only: clocks jump. ``filesystem_uuid`` (making only)
    as for :class:`appliance.model.Mark`. ``blank`` (making only): the disk held nothing before.
    If it did, ``fingerprint`` (:func:`fingerprint`, base64) says what.
    """

    state: MarkState
    volume: str
    host_tag: str
    serial: str
    size_bytes: int
    nonce: str
    samples: str = ""
    at: int = 0
    filesystem_uuid: str = ""
    blank: bool = False
    fingerprint: str = ""


def front_offset() -> int:
    """Where the mark of a disk under md or LVM is, in bytes."""
    return _FRONT_BYTES


def end_offset(size_bytes: int) -> int:
    """Where the mark of a disk with a filesystem of its own is, in bytes."""
    return (size_bytes - EDGE_BYTES) // BLOCK_BYTES * BLOCK_BYTES


def offsets(size_bytes: int) -> tuple[int, ...]:
    """Both places on a disk of this size; none if it is too small for marks."""
    if size_bytes < MIN_DISK_BYTES:
        return ()
    return (front_offset(), end_offset(size_bytes))


def encode(note: Note) -> bytes:
    """The block to be written. Raises :class:`ValueError` for a note that would not be believed."""
    _check(note)
    text = json.dumps(asdict(note), sort_keys=True, separators=(",", ":")).encode("ascii")
    body = (_MAGIC + text).ljust(_BODY_BYTES, b"\0")
    if len(body) > _BODY_BYTES:
        raise ValueError("the serial is too long for a mark")
    return body + hashlib.sha256(body).digest()


def decode(
    block: bytes, *, serial: str, size_bytes: int, offset: int, samples: str | None = None
) -> Mark | None:
    """The mark in ``block``, read at ``offset`` of the disk with this serial and size, or
    ``None`` if there is none that can be believed.

    ``samples`` is the digest of the disk as it is now; with it a released mark is found
    intact or not. Never raises.
    """
    note = note_in(block)
    if note is None or (note.serial, note.size_bytes) != (serial, size_bytes):
        return None
    if offset not in offsets(size_bytes):
        return None
    intact = None
    if note.state is MarkState.RELEASED and samples is not None:
        intact = bool(note.samples) and note.samples == samples
    return Mark(
        state=note.state,
        volume=note.volume,
        host_tag=note.host_tag,
        offset_bytes=offset,
        nonce=note.nonce,
        intact=intact,
        filesystem_uuid=note.filesystem_uuid,
    )


def note_in(block: bytes) -> Note | None:
    """What the mark in ``block`` says, ``None`` if there is none. Never raises."""
    if len(block) != BLOCK_BYTES or not block.startswith(_MAGIC):
        return None
    body, stored = block[:_BODY_BYTES], block[_BODY_BYTES:]
    if hashlib.sha256(body).digest() != stored:
        return None
    try:
        facts = json.loads(body[len(_MAGIC) :].rstrip(b"\0"))
        return _from_facts(facts) if isinstance(facts, dict) else None
    # A sum is no proof of good will: deep nesting, foreign types and wrong values end here.
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _from_facts(facts: Mapping[str, Any]) -> Note:
    facts = {**_LATER, **facts}
    known = {field.name: facts[field.name] for field in fields(Note)}
    note = Note(**{**known, "state": MarkState(known["state"])})
    _check(note)
    return note


def fingerprint_places(note: Note, starts: Collection[int]) -> list[int]:
    """The offsets of the sectors that are sampled of a disk which was not blank: one of each of
    the first blocks at each of ``starts``, where what is made of it may begin, the rest anywhere.
    ``note.nonce`` says which. Sectors, because a disk that loses its power may have written some
    of a block and not the others.
    """
    size = note.size_bytes
    blocks = [
        at
        for start in starts
        for at in range(start, min(start + _DENSE * BLOCK_BYTES, size), BLOCK_BYTES)
    ]
    drawn = [
        int.from_bytes(hashlib.sha256(f"{note.nonce} {number}".encode()).digest()[:8], "big")
        for number in range(_SAMPLES_OF_ONE)
    ]
    every = (size - EDGE_BYTES) // SECTOR_BYTES
    of_block = BLOCK_BYTES // SECTOR_BYTES
    first = [
        at + number % of_block * SECTOR_BYTES for at, number in zip(blocks, drawn, strict=False)
    ]
    return [*first, *(EDGE_BYTES + number % every * SECTOR_BYTES for number in drawn[len(first) :])]


def sector_digest(sector: bytes) -> bytes:
    """What a fingerprint has of one sector."""
    return hashlib.sha256(sector).digest()[:_DIGEST_BYTES]


def fingerprint(digests: Iterable[bytes | None]) -> str:
    """The fingerprint of :func:`fingerprint_places`: what :func:`sector_digest` gives of each,
    ``None`` for one that the making changes by itself.
    """
    return base64.b64encode(b"".join(one or _ANY for one in digests)).decode("ascii")


def digests_of(note: Note) -> list[bytes | None]:
    """What went into ``note.fingerprint``."""
    raw = base64.b64decode(note.fingerprint)
    found = (raw[at : at + _DIGEST_BYTES] for at in range(0, len(raw), _DIGEST_BYTES))
    return [one if one != _ANY else None for one in found]


def _check(note: Note) -> None:
    for value, pattern in (
        (note.volume, _VOLUME),
        (note.host_tag, _HOST_TAG),
        (note.nonce, _NONCE),
        (note.samples, _SAMPLES),
        (note.filesystem_uuid, _UUID),
        (note.fingerprint, _FINGERPRINT),
    ):
        if not pattern.fullmatch(value):
            raise ValueError(f"{value!r} has no place in a mark")
    # bool is an int in Python, not in JSON.
    if type(note.size_bytes) is not int or type(note.at) is not int:
        raise TypeError("sizes and times are whole numbers")
    if type(note.blank) is not bool:
        raise TypeError("blank is true or false")
    # Older Xen disks have no serial; they are told by the size alone.
    if not isinstance(note.serial, str):
        raise TypeError("a serial is text")
