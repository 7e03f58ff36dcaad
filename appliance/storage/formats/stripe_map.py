"""Where on its members a stripe keeps what it holds: md RAID0 and RAID10, LVM. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_COPIES = re.compile(r"(near|far|offset)=2")


@dataclass(frozen=True, slots=True)
class Area:
    """The data area of one member, in bytes."""

    start_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Stripe:
    """``areas`` in slot order; ``layout`` is that of RAID10 (``near=2``), else empty."""

    areas: tuple[Area, ...]
    chunk_bytes: int
    layout: str = ""

    @property
    def _rows(self) -> list[int]:
        """How many whole chunks each member has."""
        return [area.size_bytes // self.chunk_bytes for area in self.areas]

    @property
    def size_bytes(self) -> int:
        rows = self._rows
        if not self.layout:
            return sum(rows) * self.chunk_bytes
        if self.layout == "near=2":
            return min(rows) * len(rows) // 2 * self.chunk_bytes
        return min(rows) // 2 * len(rows) * self.chunk_bytes

    def pieces(self, offset_bytes: int, length: int) -> Iterator[tuple[int, int, int]]:
        """(slot, offset on that member, length) of each copy of a range of the stripe.

        What is beyond its end has no pieces.
        """
        zones = self._zones()
        end = min(offset_bytes + length, self.size_bytes)
        while offset_bytes < end:
            chunk, within = divmod(offset_bytes, self.chunk_bytes)
            some = min(self.chunk_bytes - within, end - offset_bytes)
            for slot, row in self._copies(chunk) if self.layout else _in_zone(zones, chunk):
                start = self.areas[slot].start_bytes
                yield slot, start + row * self.chunk_bytes + within, some
            offset_bytes += some

    def _zones(self) -> list[tuple[int, int, list[int]]]:
        """(first chunk, first row, slots) of each zone of a RAID0: where the smallest members
        end, the next zone is striped over the rest (drivers/md/raid0.c, ``create_strip_zones``).
        """
        rows = self._rows
        found = []
        chunk = row = 0
        for end in sorted(set(rows)):
            slots = [slot for slot, has in enumerate(rows) if has >= end]
            found.append((chunk, row, slots))
            chunk += (end - row) * len(slots)
            row = end
        return found

    def _copies(self, chunk: int) -> Iterator[tuple[int, int]]:
        """(slot, row) of both copies (drivers/md/raid10.c, ``__raid10_find_phys``)."""
        found = _COPIES.fullmatch(self.layout)
        if found is None:
            raise ValueError(f"no layout of ours: {self.layout}")
        members = len(self.areas)
        if found[1] == "near":
            for copy in (2 * chunk, 2 * chunk + 1):
                yield copy % members, copy // members
            return
        row, slot = divmod(chunk, members)
        far = found[1] == "far"
        first = row if far else 2 * row
        yield slot, first
        yield (slot + 1) % members, first + (min(self._rows) // 2 if far else 1)


def _in_zone(zones: Sequence[tuple[int, int, list[int]]], chunk: int) -> Iterator[tuple[int, int]]:
    first, row, slots = next(zone for zone in reversed(zones) if zone[0] <= chunk)
    down, across = divmod(chunk - first, len(slots))
    yield slots[across], row + down
