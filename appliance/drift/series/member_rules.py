"""Which member of a stripe is slower than the others, from what the block layer counted. Pure.

In a RAID0 every member gets the same number of I/Os, so that a slow one does not show in its
bytes but in its await (time ÷ I/Os). Each member stands beside the median of the others (leave
one out), which one slow disk among three or more cannot move. With a queue at the stripe nearly
all of it stands at the slowest member, even if that is slower by a few percent only: await then
says which one it is, not by how much. Whether the others had next to nothing to wait for shows
in their await in a job of the same run without a queue.

The limits are those of the rule MEMBER (:mod:`appliance.bench.validity.member`).
"""

from __future__ import annotations

import dataclasses
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from appliance.bench.validity import member as rule
from appliance.drift.codes import Evidence
from appliance.model.layout_words import BETWEEN_VOLUMES
from appliance.model.measurement import JobResult
from appliance.model.runs import RunRecord
from appliance.model.slots import Detail

# The others wait for so little beyond what their flash takes that they could do far more.
_IDLE_OTHERS = 2.0
# So many times the others' await is more than a small difference leaves behind.
_FAR_RATIO = 10.0


@dataclass(frozen=True, slots=True)
class Outlier:
    """One member that is slower than the others in one result.

    ``member`` is its kernel name, ``serial`` its serial or, where that is not known, its name
    again. ``confidence`` is ``high``, ``medium`` or ``low``, with ``why`` in words.
    """

    job: str
    direction: str
    member: str
    serial: str
    slow_ms: float
    others_ms: float
    confidence: str
    why: str

    @property
    def evidence(self) -> Evidence:
        return {
            "member_name": self.member,
            "await_ms": round(self.slow_ms, 3),
            "others_await_ms": round(self.others_ms, 3),
            "confidence": self.confidence,
            "why": self.why,
        }

    @property
    def words(self) -> str:
        return (
            f"{self.member} (serial {self.serial}) took {self.slow_ms:.2f} ms an I/O and the "
            f"others {self.others_ms:.2f} ms in {self.job} {self.direction}"
        )


def serials(run: RunRecord, fingerprint: Mapping[str, str]) -> dict[str, str]:
    """Serial by kernel name of the members of ``run``, as far as its epoch's fingerprint has it.

    Kernel names change from boot to boot, and the epoch does not. Of several volumes with as
    many members each, it is unknown which one it was: then there are none.
    """
    volumes = fingerprint.get("serials", "").split(BETWEEN_VOLUMES)
    fitting = [
        names for text in volumes if len(names := text.split(",")) == len(run.members) and text
    ]
    if len(fitting) != 1:
        return {}
    return {
        member: serial for member, serial in zip(run.members, fitting[0], strict=True) if serial
    }


def outliers(detail: Detail, fingerprint: Mapping[str, str]) -> tuple[Outlier, ...]:
    """The member that is too slow in each result of the whole stripe in which there is one."""
    run = detail.run
    known = serials(run, fingerprint)
    stripe = [result for result in detail.results if not result.member]
    found = []
    for result in stripe:
        apart = rule.compare(_of_run(result, run))
        if apart is None or not apart.far:
            continue
        serial = known.get(apart.device, apart.device)
        named = (result.job, result.direction, apart.device, serial)
        sure = _confidence(result, apart, stripe, run)
        found.append(Outlier(*named, apart.slow_ms, apart.others_ms, *sure))
    return tuple(found)


class Beside(NamedTuple):
    """One member in one result: its await, and that ÷ the median of the others.

    ``serial`` is its name where the serial is not known.
    """

    device: str
    serial: str
    await_ms: float
    ratio: float


def beside(result: JobResult, detail: Detail, fingerprint: Mapping[str, str]) -> tuple[Beside, ...]:
    """Each member beside the others; empty where they cannot be compared."""
    awaits = rule.awaits_ms(_of_run(result, detail.run)) or {}
    known = serials(detail.run, fingerprint)
    found = []
    for name, ms in awaits.items():
        others = statistics.median(other for at, other in awaits.items() if at != name)
        if others > 0:
            found.append(Beside(name, known.get(name, name), ms, ms / others))
    return tuple(found)


def ratios(result: JobResult, detail: Detail, fingerprint: Mapping[str, str]) -> dict[str, float]:
    """The ratio of each member in :func:`beside` by its serial."""
    return {one.serial: one.ratio for one in beside(result, detail, fingerprint)}


def of_job(
    detail: Detail, job: str, direction: str, fingerprint: Mapping[str, str]
) -> Outlier | None:
    """The outlier in one job of a run; of several passes that of most of them."""
    found = [
        one for one in outliers(detail, fingerprint) if (one.job, one.direction) == (job, direction)
    ]
    of = (job, direction, "")
    passes = sum((one.job, one.direction, one.member) == of for one in detail.results)
    times = Counter(one.serial for one in found)
    return next((one for one in found if 2 * times[one.serial] > passes), None)


def _of_run(result: JobResult, run: RunRecord) -> JobResult:
    """A result that history kept, with the devices of its run."""
    return dataclasses.replace(result, members=run.members, device=run.device)


def _confidence(
    result: JobResult, apart: rule.Apart, stripe: Sequence[JobResult], run: RunRecord
) -> tuple[str, str]:
    """How sure it is that this member, and no other, is slow."""
    far = apart.slow_ms >= _FAR_RATIO * apart.others_ms
    if len(run.members) == 2:
        return (
            "medium" if apart.shallow or far else "low",
            "of two members the slower one is named; which of them is normal is not known",
        )
    if apart.shallow:
        return "high", "no I/O waited in a queue, so that await is what the disk itself takes"
    idle_ms = _without_queue(result, apart.device, stripe, run)
    if idle_ms is None:
        return (
            "medium",
            "the queue builds up at this member; a small difference is enough for that",
        )
    if apart.others_ms <= _IDLE_OTHERS * idle_ms:
        return (
            "high",
            f"the queue builds up at this member while the others barely wait "
            f"({apart.others_ms:.2f} ms, and {idle_ms:.2f} ms without any queue)",
        )
    if far:
        return "medium", "the queue builds up at this member, and hardly any of it at the others"
    return (
        "low",
        f"the others have a queue as well ({apart.others_ms:.2f} ms, and {idle_ms:.2f} ms "
        "without any), so the difference is small",
    )


def _without_queue(
    result: JobResult, slow: str, stripe: Sequence[JobResult], run: RunRecord
) -> float | None:
    """What an I/O takes at the other members with no queue, in ms: from the job of this run
    with the same direction and block size that asks for one at a time.
    """
    for other in stripe:
        same = (other.direction, other.block_size_bytes) == (
            result.direction,
            result.block_size_bytes,
        )
        found = _of_run(other, run)
        if same and rule.is_shallow(found) and (awaits := rule.awaits_ms(found)):
            return statistics.median(ms for name, ms in awaits.items() if name != slow)
    return None
