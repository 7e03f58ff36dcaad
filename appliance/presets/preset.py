"""A preset: what some file says that a machine's disks can do. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from appliance.model.toml_table import Document, shown

MAX_FILE_BYTES = 256 * 1024
# The largest public table has 730.
MAX_LINES = 5_000
# The kernel's own are 64 bits; with a suffix, this stays below a float's end.
_AMOUNT = re.compile(r"([0-9]{1,18})([kMGT]?)", re.ASCII)


class Quantity(StrEnum):
    """What can be compared; the values are Seastar's names."""

    READ_IOPS = "read_iops"
    READ_BANDWIDTH = "read_bandwidth"
    WRITE_IOPS = "write_iops"
    WRITE_BANDWIDTH = "write_bandwidth"

    @property
    def direction(self) -> str:
        return self.value.partition("_")[0]

    @property
    def is_iops(self) -> bool:
        return self.value.endswith("iops")


class Scope(StrEnum):
    """What a preset's figures are of. ``EACH`` are of one disk, and multiplied by the number of
    disks by the program that reads them.
    """

    VOLUME = "volume"
    DISK = "disk"
    EACH = "each disk"


@dataclass(frozen=True, slots=True)
class Figure:
    """``name`` as the file has it, ``unit`` ``iops``, ``bytes_per_s`` or ``us``. Without a
    ``quantity`` nothing can be compared with it, and ``why`` says so.
    """

    name: str
    value: int
    unit: str
    line: int
    quantity: Quantity | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Preset:
    """Figures that belong together. ``place`` is where in the file (``i3.ALL``, ``disks[0]``,
    ``8:16``). ``machine_type`` and ``disk_count`` are what the file says, if it does.
    """

    place: str
    scope: Scope
    figures: tuple[Figure, ...]
    machine_type: str = ""
    disk_count: int | None = None


def amount(
    document: Document, place: str, text: str, line: int, *, least: int = 1, suffixes: str = ""
) -> int:
    """A whole number; with one of ``suffixes`` in powers of 1024, as Seastar reads it
    (parse_memory_size).
    """
    found = _AMOUNT.fullmatch(text)
    if found is None or found[2] not in suffixes or int(found[1]) < least:
        also = f", or one with {', '.join(suffixes)} at its end" if suffixes else ""
        document.fail(
            place,
            f"{shown(text)} is no figure",
            f"allowed: a whole number from {least} on, of at most 18 digits{also}",
            line,
        )
    return int(found[1]) << 10 * " kMGT".index(found[2] or " ")
