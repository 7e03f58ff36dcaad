"""Signatures on block devices: what ``wipefs`` and ``blkid`` find.

Each is started once for several devices where that is possible. What they print of a disk is
hostile text: no label or name in it can become a row of another device.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from appliance.errors import CommandFailed, OperatorError
from appliance.model.disks import Signature
from appliance.system import process

_Read = TypeVar("_Read")

_OF_HOSTILE_DISKS = (
    *(OSError, OperatorError, ValueError, LookupError, TypeError),
    # An offset that is too large for the kernel, and a structure that is cut off.
    *(ArithmeticError, struct.error),
)
_TIMEOUT_SECONDS = 60
# blkid's exit status: nothing found; and more than one contradicting signature.
_BLKID_NOTHING = 2
_BLKID_AMBIVALENT = 8


def caught(read: Callable[[], _Read]) -> _Read | Exception:
    """One device's error is not that of another. What a hostile disk makes a parser raise
    counts as unreadable, too.
    """
    try:
        return read()
    except _OF_HOSTILE_DISKS as error:
        return error


def ask(nodes: Sequence[str]) -> list[tuple[Signature, ...] | Exception]:
    """What both probers find, for each of ``nodes``, or why one cannot be asked."""
    if not nodes:
        return []
    if len(nodes) > 1:
        together = caught(lambda: list(zip(_wipefs(nodes), _blkid(nodes), strict=True)))
        if not isinstance(together, Exception):
            return [merge(*both) for both in together]
    # Each for itself: blkid ends at the first device on which it finds nothing, wipefs at the
    # first that it cannot read.
    return [caught(partial(_ask_both, node)) for node in nodes]


def _ask_both(node: str) -> tuple[Signature, ...]:
    return merge(*_wipefs([node]), *_blkid([node]))


def _wipefs(nodes: Sequence[str]) -> list[tuple[Signature, ...]]:
    done = process.run(["wipefs", "--no-act", "--json", *nodes], timeout_seconds=_TIMEOUT_SECONDS)
    return parse_wipefs(done.stdout, nodes)


def _blkid(nodes: Sequence[str]) -> list[tuple[Signature, ...]]:
    """Raises if there are several, and one of them has not exactly one finding."""
    argv = ["blkid", "--probe", "--output", "udev", *nodes]
    done = process.run(argv, timeout_seconds=_TIMEOUT_SECONDS, check=False)
    if len(nodes) == 1 and done.returncode == _BLKID_NOTHING:
        return [()]
    if len(nodes) == 1 and done.returncode == _BLKID_AMBIVALENT:
        return [(Signature(kind="ambivalent"),)]
    if done.returncode != 0:
        raise CommandFailed(argv, done.returncode, done.stderr)
    # With status 0 each device has its lines, in the order of the command line and with one
    # empty line between (misc-utils/blkid.c, lowprobe_device); values have no line breaks.
    parts = [done.stdout] if len(nodes) == 1 else done.stdout.split("\n\n")
    if len(parts) != len(nodes) or not all(part.strip() for part in parts):
        raise CommandFailed(argv, done.returncode, "not one answer for each device")
    return [parse_blkid(part) for part in parts]


def parse_wipefs(text: str, nodes: Sequence[str]) -> list[tuple[Signature, ...]]:
    """``wipefs --no-act --json``: every signature with its offset, several to a disk.

    A row names its device by the last part of the path. :class:`ValueError` for another one.
    """
    names = [node.rpartition("/")[2] for node in nodes]
    found: dict[str, list[Signature]] = {name: [] for name in names}
    for row in json.loads(text)["signatures"] if text.strip() else ():
        name = names[0] if len(names) == 1 else row["device"]
        found[name].append(
            Signature(
                kind=str(row.get("type") or "unknown"),
                offset_bytes=int(str(row["offset"]), 16),
                label=str(row.get("label") or ""),
                uuid=str(row.get("uuid") or ""),
            )
        )
    return [tuple(found[name]) for name in names]


def parse_blkid(text: str) -> tuple[Signature, ...]:
    """``blkid --probe --output udev``: at most a filesystem and a partition table.

    That format is taken because it encodes what could break a line.
    """
    facts = dict(line.split("=", 1) for line in text.split("\n") if "=" in line)
    label = facts.get("ID_FS_LABEL", "")
    found = []
    if kind := facts.get("ID_FS_TYPE"):
        found.append(Signature(kind=kind, label=label, uuid=facts.get("ID_FS_UUID", "")))
    if kind := facts.get("ID_PART_TABLE_TYPE"):
        found.append(Signature(kind=kind, uuid=facts.get("ID_PART_TABLE_UUID", "")))
    return tuple(found)


def merge(*probers: tuple[Signature, ...]) -> tuple[Signature, ...]:
    """All that any prober found; of one kind the finding with an offset is kept."""
    merged = list(probers[0])
    for found in probers[1:]:
        known = {signature.kind for signature in merged}
        merged += [signature for signature in found if signature.kind not in known]
    return tuple(sorted(merged, key=lambda one: (one.offset_bytes or 0, one.kind)))
