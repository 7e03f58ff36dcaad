"""Hardware RAID through Broadcom's ``storcli64``: command lines and its JSON. Pure.

Commands and JSON are those of the StorCLI reference and of output that others have published
(keys ``Command Status``, ``PDs for VD 0``, ``VD0 Properties``): there was no controller at hand to
try them on. ``nolog``: it would write a log file where it is started.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from appliance.errors import OperatorError
from appliance.model.disks import Disk, HardwareDrive, VirtualDrive
from appliance.model.plans import VOLUME_NAME, Volume

PROGRAM = "storcli64"
# storcli's words for a drive that belongs to nothing, and for a virtual drive with all its drives.
DRIVE_FREE = "UGood"
OPTIMAL = "Optl"

_NAME_PREFIX = "sw-"
_VOLUME = re.compile(VOLUME_NAME, re.ASCII)
_JSON = ("J", "nolog")
_DRIVE_KEY = re.compile(r"Drive (/c([0-9]{1,3})(?:/e[0-9]{1,5})?/s[0-9]{1,5})", re.ASCII)
_VIRTUAL_KEY = re.compile(r"/c([0-9]{1,3})/v([0-9]{1,5})", re.ASCII)
_PLACE = re.compile(r"\s*([0-9]{0,5})\s*:\s*([0-9]{1,5})\s*", re.ASCII)
_SECTORS = re.compile(r".*\[0x([0-9A-Fa-f]{1,16}) Sectors\]", re.ASCII | re.DOTALL)
_SIZE = re.compile(r"\s*([0-9]{1,6})\s*(B|KB|MB)\s*", re.ASCII)
# storcli counts in powers of two and writes KB.
_UNIT_BYTES = {"B": 1, "KB": 1024, "MB": 1024 * 1024}
_BLOCK_BYTES = 512
_SUCCESS = "Success"
_NO_CONTROLLER = "no controller found"


def virtual_name(volume: str) -> str:
    """The name that makes a virtual drive ours; storcli takes 15 characters at most."""
    return f"{_NAME_PREFIX}{volume}"


def volume_of(name: str) -> str:
    """The volume that a virtual drive's name carries, empty if it is not ours."""
    volume = name.removeprefix(_NAME_PREFIX)
    return volume if volume != name and _VOLUME.fullmatch(volume) else ""


def is_disk_of(drive: VirtualDrive, disk: Disk) -> bool:
    """Whether ``disk`` is what the kernel made of ``drive``."""
    by_path = disk.path == drive.path != ""
    return by_path or (drive.wwid != "" and drive.wwid in disk.id.lower())


# -------------------------------------------------------------------------- command lines


def drives_argv() -> tuple[str, ...]:
    """All drives of all controllers that sit in an enclosure or backplane, with their serials."""
    return (PROGRAM, "/call/eall/sall", "show", "all", *_JSON)


def virtual_drives_argv() -> tuple[str, ...]:
    """All virtual drives of all controllers, with what they are made of."""
    return (PROGRAM, "/call/vall", "show", "all", *_JSON)


def create_argv(volume: Volume, controller: int, places: Sequence[str]) -> tuple[str, ...]:
    """Make a RAID0 of the drives at ``places`` (``252:0``). The controller refuses used ones."""
    return (
        PROGRAM,
        f"/c{controller}",
        "add",
        "vd",
        "type=raid0",
        f"name={virtual_name(volume.name)}",
        f"drives={','.join(places)}",
        f"strip={volume.chunk_bytes // 1024}",
        *_JSON,
    )


def delete_argv(controller: int, number: int) -> tuple[str, ...]:
    """Take a virtual drive apart. Without ``force``: the controller refuses one that is in use."""
    return (PROGRAM, f"/c{controller}/v{number}", "del", *_JSON)


# ------------------------------------------------------------------------- what was found


def check_result(text: str, returncode: int) -> None:
    """That a change was made: exit status and each controller's command status say so.

    Raises :class:`OperatorError` otherwise, with storcli's own reason.
    """
    _responses(text, returncode)


def parse_drives(text: str, returncode: int) -> tuple[HardwareDrive, ...]:
    """What :func:`drives_argv` printed. Raises :class:`OperatorError` for anything else.

    A drive without details has size 0 and no serial: it cannot be told from another.
    """
    drives = []
    for response in _responses(text, returncode):
        for key, rows in response.items():
            found = _DRIVE_KEY.fullmatch(key)
            if found:
                details = _mapping(response.get(f"{key} - Detailed Information"))
                facts = _mapping(details.get(f"{key} Device attributes"))
                drives.append(_drive(int(found[2]), _first(rows), facts))
    return tuple(sorted(drives, key=lambda one: (one.controller, _order(one.place))))


def parse_virtual_drives(text: str, returncode: int) -> tuple[VirtualDrive, ...]:
    """What :func:`virtual_drives_argv` printed. Raises :class:`OperatorError` for anything else.

    ``path`` is empty where the firmware does not tell it: the disk is then the one with the
    ``wwid`` (``SCSI NAA Id``). ``level`` is in small letters as md's are.
    """
    drives = []
    for response in _responses(text, returncode):
        for key, rows in response.items():
            found = _VIRTUAL_KEY.fullmatch(key)
            if found:
                number = int(found[2])
                drives.append(_virtual(int(found[1]), number, _first(rows), response))
    return tuple(sorted(drives, key=lambda one: (one.controller, one.number)))


def _drive(controller: int, row: dict[str, Any], facts: dict[str, Any]) -> HardwareDrive:
    sectors = _SECTORS.fullmatch(_word(facts, "Coerced size"))
    sector_bytes = _size(_word(facts, "Logical Sector Size")) or _BLOCK_BYTES
    return HardwareDrive(
        controller=controller,
        place=_place(row),
        model=_word(facts, "Model Number") or _word(row, "Model"),
        serial=_word(facts, "SN"),
        size_bytes=int(sectors[1], 16) * sector_bytes if sectors else 0,
        state=_word(row, "State"),
    )


def _virtual(
    controller: int, number: int, row: dict[str, Any], response: dict[str, Any]
) -> VirtualDrive:
    facts = _mapping(response.get(f"VD{number} Properties"))
    members = response.get(f"PDs for VD {number}")
    blocks = facts.get("Number of Blocks")
    return VirtualDrive(
        controller=controller,
        number=number,
        name=_word(row, "Name"),
        level=_word(row, "TYPE").lower(),
        strip_bytes=_size(_word(facts, "Strip Size")),
        size_bytes=blocks * _BLOCK_BYTES if type(blocks) is int and blocks > 0 else 0,
        state=_word(row, "State"),
        path=_word(facts, "OS Drive Name"),
        drives=tuple(_place(one) for one in members if isinstance(one, dict))
        if isinstance(members, list)
        else (),
        wwid=_word(facts, "SCSI NAA Id").lower(),
    )


def _responses(text: str, returncode: int) -> list[dict[str, Any]]:
    """The data of each controller, once all of them have succeeded."""
    try:
        controllers = json.loads(text)["Controllers"]
        states = [one["Command Status"] for one in controllers]
        failed = [one for one in states if one["Status"] != _SUCCESS]
        responses = [one.get("Response Data") for one in controllers]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise OperatorError(
            f"{PROGRAM} (exit status {returncode}) printed something unexpected"
            f" ({type(error).__name__}: {error})",
            f"run '{PROGRAM} /call show all J' by hand and report what it prints",
        ) from error
    if failed and all(_NO_CONTROLLER in str(one.get("Description")).lower() for one in failed):
        return []
    if failed or returncode != 0:
        raise OperatorError(
            f"{PROGRAM} (exit status {returncode}): {_reason(failed)}",
            "the controller's own words; see its manual, or 'storcli64 /call show events'",
        )
    return [_mapping(one) for one in responses]


def _reason(failed: Sequence[dict[str, Any]]) -> str:
    """Description and detailed status of what failed, as storcli words them."""
    words = []
    for one in failed:
        words.append(str(one.get("Description", "failed")))
        details = one.get("Detailed Status")
        rows = details if isinstance(details, list) else []
        words += [str(row["ErrMsg"]) for row in rows if isinstance(row, dict) and "ErrMsg" in row]
    return (
        "; ".join(word for word in words if word not in {"", "-"}) or "it failed without a reason"
    )


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _first(value: object) -> dict[str, Any]:
    return _mapping(value[0]) if isinstance(value, list) and value else {}


def _word(facts: dict[str, Any], key: str) -> str:
    """A text without the blanks that storcli pads it with, empty for anything else."""
    value = facts.get(key)
    return value.strip(" ") if isinstance(value, str) else ""


def _place(row: dict[str, Any]) -> str:
    """``enclosure:slot``; the enclosure is empty for a drive that has none."""
    found = _PLACE.fullmatch(_word(row, "EID:Slt"))
    return f"{found[1]}:{found[2]}" if found else ""


def _order(place: str) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in place.split(":")) if place else ()


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    return int(found[1]) * _UNIT_BYTES[found[2]] if found else 0
