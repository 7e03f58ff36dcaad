"""What root remembers of disks: which local ones this machine has seen before (on the root disk),
and how far each was scanned at this boot (in /run), so that no look starts over.

A local disk that was here at an earlier boot, or that something was written to since it was first
seen, may hold data, however blank it looks in samples. On a machine of another
identity, as after its image was copied, nothing of this counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from appliance.model.disks import Disk, Machine, Scan
from appliance.state import codec
from appliance.storage.formats import scan
from appliance.storage.probe import scanning
from appliance.storage.probe.scanning import Scanned
from appliance.system import files

# A stop and start may bring other disks each time; the oldest are forgotten.
_MOST = 4096
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Sightings:
    """By disk, the boot that first saw it and what was written to it by then
    (:meth:`Kernel.writes`). ``lost``: the file is or was damaged, so any other may have been seen.
    """

    boot_id: str
    first: Mapping[str, str]
    lost: bool = False

    def seen_before(self, disk: Disk, writes: str) -> bool:
        """Whether ``disk`` was here at an earlier boot, or was written to since."""
        first = self.first.get(_key(disk))
        return self.lost if first is None else first != self._now(writes)

    def note(self, path: Path, machine: Machine, disks: Iterable[tuple[Disk, str]]) -> None:
        """Write down ``disks``, each with its writes, that are new. It is no error if that
        cannot be written.
        """
        new = {_key(disk): self._now(writes) for disk, writes in disks}
        if self.lost:
            # Not known when they were first seen: of no boot, as is every disk that comes later.
            new = dict.fromkeys(new, "")
        if not machine.host_tag or new.keys() <= self.first.keys():
            return
        kept = list({**self.first, **new, **self.first}.items())[-_MOST:]
        with contextlib.suppress(OSError):
            facts = {"host": machine.host_tag, "lost": self.lost, "disks": dict(kept)}
            text = json.dumps(facts, indent=1)
            files.replace_text(path, text + "\n", durable=True)

    def _now(self, writes: str) -> str:
        return f"{self.boot_id} {writes}"


def read(path: Path, machine: Machine) -> Sightings:
    """Never raises: a file that is not there has nothing, one that cannot be read is ``lost``."""
    try:
        with path.open(encoding="utf-8") as file:
            facts = json.loads(file.read(_MAX_BYTES))
        if facts["host"] != machine.host_tag:
            return Sightings(machine.boot_id, {})
        first = {str(key): str(value) for key, value in facts["disks"].items()}
        return Sightings(machine.boot_id, first, lost=facts.get("lost") is True)
    except FileNotFoundError:
        return Sightings(machine.boot_id, {})
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Sightings(machine.boot_id, {}, lost=True)


def _key(disk: Disk) -> str:
    text = f"{disk.id}\0{disk.serial}\0{disk.size_bytes}"
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


# ------------------------------------------------------------------- how far disks were scanned


@dataclass(frozen=True, slots=True)
class _Kept:
    """``of`` says of which disk, and what had been written to it."""

    of: tuple[str, str, int, str]
    scan: Scan
    nonzero: int | None = None


def recall(folder: Path, disk: Disk, writes: str) -> Scanned | None:
    """What was found; what was found not to be zero is read again and has to be so still."""
    try:
        kept = codec.parse(_Kept, _file(folder, disk).read_bytes())
    except (OSError, codec.DecodeError):
        return None
    if kept.of != _of(disk, writes):
        return None
    found = Scanned(kept.scan, kept.nonzero)
    if found.nonzero is None:
        return found
    at = found.nonzero // scan.BLOCK_BYTES * scan.BLOCK_BYTES
    nonzero = scanning.first_nonzero(disk.path, [(at, scan.BLOCK_BYTES)])
    return None if nonzero is None else Scanned(found.scan, nonzero)


def remember(folder: Path, disk: Disk, writes: str, found: Scanned) -> None:
    """For as long as this boot lasts. It is no error if that cannot be written."""
    # A number of its own for each time that a disk appears; without it nothing is known.
    if not writes.split(" ", maxsplit=1)[0]:
        return
    facts = asdict(_Kept(_of(disk, writes), found.scan, found.nonzero))
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.replace_json(_file(folder, disk), facts)


def _of(disk: Disk, writes: str) -> tuple[str, str, int, str]:
    return (disk.id, disk.serial, disk.size_bytes, writes)


def _file(folder: Path, disk: Disk) -> Path:
    name = hashlib.sha256(f"{disk.id}\0{disk.serial}".encode(errors="replace")).hexdigest()
    return folder / f"{name[:32]}.json"
