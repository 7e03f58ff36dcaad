"""How much of its members' speed a stripe delivers. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appliance.model import JobResult


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
