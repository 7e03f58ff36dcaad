"""Where a stripe's bytes lie on its members. Pure.

A disk of a stripe is measured alone where the test files are and nowhere else: blocks that
were never written, or were discarded, are answered without the flash being read, and such a
number is too good.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appliance.model.measurement import JobResult


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


# -------------------------------------------------------------------------------------- efficiency


@dataclass(frozen=True, slots=True)
class Efficiency:
    """One job and direction: the stripe's IOPS beside the sum of its members' alone.

    ``stripe_iops`` and the figures in ``member_iops`` (kernel name -> IOPS) are medians over
    the passes. ``share`` is 1.0 where the stripe is as fast as its members together.
    """

    job: str
    direction: str
    stripe_iops: float
    member_iops: dict[str, float]

    @property
    def share(self) -> float:
        return self.stripe_iops / sum(self.member_iops.values())


def efficiencies(results: Sequence[JobResult], members: Sequence[str]) -> tuple[Efficiency, ...]:
    """The efficiency of each job in ``results`` (of one run) that was measured on the stripe
    and on every one of ``members``, in the order of the results.

    Results that are not valid count for nothing: a job whose stripe, or one of whose members,
    has no valid result is left out.
    """
    keys = dict.fromkeys((one.job, one.direction) for one in results if not one.member)
    found = []
    for job, direction in keys:
        same = [
            one for one in results if one.valid and (one.job, one.direction) == (job, direction)
        ]
        stripe = _median(one.iops for one in same if not one.member)
        each = {
            member: _median(one.iops for one in same if one.member == member) for member in members
        }
        known = {member: iops for member, iops in each.items() if iops}
        if stripe is not None and members and len(known) == len(members):
            found.append(Efficiency(job, direction, stripe, known))
    return tuple(found)


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return statistics.median(known) if known else None
