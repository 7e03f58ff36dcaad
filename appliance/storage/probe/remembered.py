"""How far each disk was scanned at this boot, so that no look begins again. Root's own files.

What is remembered counts as long as the kernel has written nothing to the disk since.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from appliance.model import Disk, Scan
from appliance.storage.formats import scan
from appliance.storage.probe import scanning
from appliance.storage.probe.scanning import Scanned
from appliance.system import files


def recall(folder: Path, disk: Disk, writes: str) -> Scanned | None:
    """What was found; what was found not to be zero is read again and has to be so still."""
    try:
        facts = json.loads(_file(folder, disk).read_text(encoding="utf-8"))
        if facts["of"] != _of(disk, writes):
            return None
        found = Scanned(Scan(**facts["scan"]), facts["nonzero"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
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
    facts = {"of": _of(disk, writes), "scan": asdict(found.scan), "nonzero": found.nonzero}
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.replace_json(_file(folder, disk), facts)


def _of(disk: Disk, writes: str) -> list[object]:
    return [disk.id, disk.serial, disk.size_bytes, writes]


def _file(folder: Path, disk: Disk) -> Path:
    name = hashlib.sha256(f"{disk.id}\0{disk.serial}".encode(errors="replace")).hexdigest()
    return folder / f"{name[:32]}.json"
