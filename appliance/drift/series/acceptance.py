"""Acceptance: a stripe beside what is published for it and what its siblings do, its disks beside
each other. Pure.

One run is judged, without any history: each job that can reach what is published against that,
each for which it is known against what other machines of the type do, and each member against the
others. A disk that does half of what it should takes the whole
stripe to half; every single rule of validity may still be content with that run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appliance import text
from appliance.clouds import capability
from appliance.drift.codes import Evidence, fact
from appliance.drift.series import member_rules
from appliance.drift.series.member_rules import Outlier
from appliance.drift.series.siblings import Siblings, Usual
from appliance.model import advice
from appliance.model.findings import Fact
from appliance.model.measurement import Capability, JobResult
from appliance.model.slots import Detail

# Below it the stripe does not do what it is sold as. Published figures are upper bounds.
LEAST_PERCENT = 80.0
# Nor does it do what others do below this share of their median, if nine in ten of them do more.
LEAST_OF_SIBLINGS = 0.90
# From here on it does, and a queue at one member is where queues stand.
AT_CAPABILITY_PERCENT = 90.0
# Results that say nothing about these disks: others worked on them, or they did not do the I/O.
_NOT_THESE_DISKS = frozenset({"FOREIGN", "TARGET", "SHORT"})
_ALONE = Siblings()
# A limit that is not the disks'.
_OTHER_LIMIT = frozenset({"CPU"})


@dataclass(frozen=True, slots=True)
class Acceptance:
    """``healthy`` is ``None`` where nothing could be compared with anything. ``notes`` say in
    words what was compared and what could not be.
    """

    run_id: int
    healthy: bool | None
    facts: tuple[Fact, ...]
    notes: tuple[str, ...]


def judge(
    detail: Detail,
    epoch_id: int,
    fingerprint: Mapping[str, str],
    siblings: Siblings = _ALONE,
    conditions: str = "",
) -> Acceptance:
    """The verdict on one complete run, that was made under these ``conditions``
    (:func:`appliance.drift.series.siblings.conditions`).
    """
    stripe = [
        result
        for result in detail.results
        if not result.member and not _codes(result) & _NOT_THESE_DISKS
    ]
    shares = _shares(stripe)
    below = {of: percent for of, percent in shares.items() if percent < LEAST_PERCENT}
    slow = _slow(detail, stripe, shares, below, fingerprint)
    facts = [_member_fact(detail, epoch_id, serial, found) for serial, found in slow.items()]
    if below:
        facts.append(_below_fact(detail, epoch_id, stripe, below, tuple(slow)))
    usual = _usual(detail, stripe, siblings, conditions)
    behind = {
        of: 100 * result.iops / one.iops
        for of, (result, one) in usual.items()
        if result.iops < min(one.low_iops, LEAST_OF_SIBLINGS * one.iops)
    }
    if behind:
        facts.append(_behind_fact(detail, epoch_id, usual, behind, tuple(slow)))
    compared = any(member_rules.ratios(result, detail, fingerprint) for result in stripe)
    healthy = not facts if shares or compared or usual else None
    notes = [*_notes(detail, stripe, shares, compared), *_siblings_notes(siblings, usual)]
    return Acceptance(detail.run.id, healthy, tuple(facts), tuple(notes))


def _usual(
    detail: Detail, stripe: Sequence[JobResult], siblings: Siblings, conditions: str
) -> dict[tuple[str, str], tuple[JobResult, Usual]]:
    """Results that stand beside what siblings do, by job and direction."""
    run = detail.run
    found = {}
    for result in stripe:
        series = (run.machine_type, conditions, run.suite, result.job, result.direction)
        if run.machine_type and result.valid and run.time_factor == 1 and series in siblings.usual:
            found[result.job, result.direction] = (result, siblings.usual[series])
    return found


def _shares(stripe: Sequence[JobResult]) -> dict[tuple[str, str], float]:
    """Percent of what is published, by job and direction, where the disks were the limit."""
    return {
        (result.job, result.direction): percent
        for result in stripe
        if result.valid
        and not _codes(result) & _OTHER_LIMIT
        and (percent := capability.percent_of_published(result)) is not None
    }


def _slow(
    detail: Detail,
    stripe: Sequence[JobResult],
    shares: Mapping[tuple[str, str], float],
    below: Mapping[tuple[str, str], float],
    fingerprint: Mapping[str, str],
) -> dict[str, list[Outlier]]:
    """The outliers of those jobs in which the stripe does less than it should, by serial.

    Where nothing is published, that one member is far behind has to be enough; a small
    difference (confidence ``low``) is not.
    """
    judged = {(result.job, result.direction) for result in stripe}
    found: dict[str, list[Outlier]] = {}
    for one in member_rules.outliers(detail, fingerprint):
        of = (one.job, one.direction)
        percent = shares.get(of)
        content = percent is not None and percent >= AT_CAPABILITY_PERCENT
        sure = one.confidence != "low" or of in below
        if of in judged and sure and not content:
            found.setdefault(one.serial, []).append(one)
    return found


def _member_fact(detail: Detail, epoch_id: int, serial: str, found: Sequence[Outlier]) -> Fact:
    worst = max(found, key=lambda one: one.slow_ms / max(one.others_ms, 1e-6))
    return fact(
        "PERF-MEMBER",
        f"{worst.others_ms:.2f} ms an I/O, as the others",
        f"{worst.slow_ms:.2f} ms",
        subject=serial,
        identity=f"acceptance, epoch {epoch_id}",
        member=serial,
        evidence={
            **_of_run(detail, epoch_id),
            **worst.evidence,
            "jobs": ", ".join(f"{one.job} {one.direction}" for one in found),
        },
        summary="first boot: {outlier}",
        outlier=worst.words,
        next_step=f"measure each member alone ({advice.MEMBERS_ALONE}); "
        "on a cloud machine stop and start it to get other disks before data is put on these",
    )


def _below_fact(
    detail: Detail,
    epoch_id: int,
    stripe: Sequence[JobResult],
    below: Mapping[tuple[str, str], float],
    slow: Sequence[str],
) -> Fact:
    of = min(below, key=lambda of: below[of])
    worst = next(result for result in stripe if (result.job, result.direction) == of)
    published = worst.capability or Capability()
    evidence: Evidence = {
        "published_iops": published.iops or 0.0,
        "published_basis": published.basis,
        "published_source": published.source,
        "percent_of_published": round(below[of], 1),
    }
    expected = f"at least {LEAST_PERCENT:.0f} % of what is published"
    return _short_fact(
        "PERF-BELOW-PUBLISHED", expected, detail=detail, epoch_id=epoch_id, worst=worst,
        percents=below, slow=slow, evidence=evidence,
        leading=f"; the slow member is {', '.join(slow)}" if slow else "",
    )  # fmt: skip


def _behind_fact(
    detail: Detail,
    epoch_id: int,
    usual: Mapping[tuple[str, str], tuple[JobResult, Usual]],
    behind: Mapping[tuple[str, str], float],
    slow: Sequence[str],
) -> Fact:
    worst, siblings = usual[min(behind, key=lambda of: behind[of])]
    evidence: Evidence = {
        "siblings": siblings.machines,
        "siblings_iops": round(siblings.iops, 1),
        "siblings_low_iops": round(siblings.low_iops, 1),
    }
    expected = f"at least {100 * LEAST_OF_SIBLINGS:.0f} % of what such machines do"
    return _short_fact(
        "PERF-BELOW-SIBLINGS", expected, detail=detail, epoch_id=epoch_id, worst=worst,
        percents=behind, slow=slow, evidence=evidence,
        usual=text.count(siblings.iops), machines=siblings.machines,
    )  # fmt: skip


def _short_fact(
    code: str,
    expected: str,
    *,
    detail: Detail,
    epoch_id: int,
    worst: JobResult,
    percents: Mapping[tuple[str, str], float],
    slow: Sequence[str],
    evidence: Evidence,
    leading: str = "",
    usual: str = "",
    machines: int = 0,
) -> Fact:
    """The stripe does less than it should in the jobs of ``percents``, least in ``worst``."""
    named = ", ".join(f"{name} {way} {percent:.0f} %" for (name, way), percent in percents.items())
    return fact(
        code,
        expected,
        f"{percents[worst.job, worst.direction]:.0f} %",
        subject=detail.run.target,
        identity=f"acceptance, epoch {epoch_id}",
        member=slow[0] if slow else "",
        evidence={
            **_of_run(detail, epoch_id),
            "jobs": named,
            "iops": round(worst.iops, 1),
            **evidence,
        },
        next_step="see PERF-MEMBER of {member}" if slow else "",
        job=worst.job,
        direction=worst.direction,
        level=text.count(worst.iops),
        leading=leading,
        usual=usual,
        machines=machines,
    )


def _siblings_notes(
    siblings: Siblings, usual: Mapping[tuple[str, str], tuple[JobResult, Usual]]
) -> list[str]:
    if siblings.problem:
        return [text.printable(siblings.problem)]
    if not siblings.usual:
        return []
    if not usual:
        return [
            "no result can be compared with other machines: what was signed is of another type,"
            " suite, stripe, kernel or fio"
        ]
    each = ", ".join(
        f"{job} {way} {100 * result.iops / one.iops:.0f} %"
        for (job, way), (result, one) in usual.items()
    )
    signer = text.printable(siblings.signer)
    return [f"of what other machines do (signed by {signer}): {each}"]


def _of_run(detail: Detail, epoch_id: int) -> Evidence:
    return {
        "suite": detail.run.suite,
        "target": detail.run.target,
        "epoch": epoch_id,
        "change_run": detail.run.id,
        "change_at": text.moment(detail.run.started_at),
    }


def _notes(
    detail: Detail,
    stripe: Sequence[JobResult],
    shares: Mapping[tuple[str, str], float],
    compared: bool,
) -> list[str]:
    notes = []
    if shares:
        each = ", ".join(f"{job} {way} {percent:.0f} %" for (job, way), percent in shares.items())
        notes.append(f"of what is published: {each}")
    elif not any(result.published_iops or result.published_bytes_per_s for result in stripe):
        kind = detail.run.machine_type or "not known"
        notes.append(
            f"no published figure is known for these disks (machine type {text.printable(kind)})"
        )
    else:
        notes.append("no valid result can be compared with what is published")
    if not compared:
        notes.append("no members were compared: a single disk, or no usable result")
    elif len(detail.run.members) == 2:
        notes.append("with two members the difference shows, but not which of them is normal")
    left_out = [result.job for result in detail.results if _codes(result) & _NOT_THESE_DISKS]
    if left_out:
        notes.append(f"left out, because others used the disks: {', '.join(left_out)}")
    return notes


def _codes(result: JobResult) -> frozenset[str]:
    return frozenset(finding.code for finding in result.findings)
