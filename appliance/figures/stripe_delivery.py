"""Where a stripe's bytes lie on its members. Pure.

A disk of a stripe is measured alone where the test files are and nowhere else: blocks that
were never written, or were discarded, are answered without the flash being read, and such a
number is too good.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stripe:
    """An md RAID0 whose members give the same space each (so that it has one zone).

    ``members`` are kernel names in the order of their slots, ``data_offsets`` (bytes) where
    the array begins on each (Documentation/admin-guide/md.rst, ``dev-*/offset``).
    """

    members: tuple[str, ...]
    chunk_bytes: int
    data_offsets: tuple[int, ...]


def on_member(
    extents: Iterable[tuple[int, int]], stripe: Stripe, member: str, *, align_bytes: int
) -> tuple[tuple[int, int], ...]:
    """The parts ``(offset, length)`` of ``member`` that lie wholly in ``extents`` (physical
    offset on the array, length), largest first; only whole stripes of them, and within those
    multiples of ``align_bytes``. Empty where nothing as large as that is left.
    """
    row = stripe.chunk_bytes * len(stripe.members)
    begins = stripe.data_offsets[stripe.members.index(member)]
    found = []
    for offset, length in extents:
        first, behind = -(-offset // row), (offset + length) // row
        begin, end = (begins + at * stripe.chunk_bytes for at in (first, behind))
        begin = -(-begin // align_bytes) * align_bytes
        size = (end - begin) // align_bytes * align_bytes
        if size > 0:
            found.append((begin, size))
    return tuple(sorted(found, key=lambda part: -part[1]))
