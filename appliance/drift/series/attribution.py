"""Why a series changed: what else was different before and after. Pure.

Nothing here proves a cause. It is the list that a person would go through, in the order of how
much each entry can explain, with the figures; a list without entries says that it is not known.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from appliance.bench.validity import cpu
from appliance.drift.series import member_rules
from appliance.drift.series.series_state import attempts_since
from appliance.drift.series.series_state import results as results_of
from appliance.model.findings import SeriesKey
from appliance.model.measurement import JobResult
from appliance.model.slots import Attempt, Detail, Happening

NOT_KNOWN = "not known: nothing that was recorded differs before and after"
# A provisioned limit counts if it was exceeded for this share of a job's run time more.
_LIMIT_SHARE = 0.05
# How much further from the others a member's await must be than it was before.
_MEMBER_FACTOR = 1.5
_AS_QUICK = 1.2
# Points of the processors' time, and the share of processor time that an I/O costs more.
_CPU_POINTS = 15.0
_CPU_COST = 0.10
# Below it a job does not notice what else the processors do; and below the other, that they are
# slower: with fewer I/Os each costs a little more by itself.
_CPU_NOTICED = 50.0
_CPU_FULL = 85.0
# Conditions that differ with every run, and say nothing of the machine.
_NOT_ENVIRONMENT = ("file_size_bytes", "discarded_before", "written_before", "steady_state")
_MAX_EVENTS = 3


@dataclass(frozen=True, slots=True)
class Cause:
    """``kind`` is a stable word: ``machine``, ``limit``, ``foreign``, ``member``, ``cpu``,
    ``environment`` or ``event``. ``member`` is a disk's serial.
    """

    kind: str
    words: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class Around:
    """What is known of a series before and since a change, oldest first.

    ``attempts`` are all runs since the change, ``happenings`` the events between the last slot
    before it and the first one after.
    """

    key: SeriesKey
    before: Sequence[Detail]
    after: Sequence[Detail]
    fingerprint: Mapping[str, str]
    attempts: Sequence[Attempt] = ()
    happenings: Sequence[Happening] = ()


def causes(around: Around, *, slower: bool) -> tuple[Cause, ...]:
    """What may be the cause, the most certain first; empty if nothing is known.

    ``slower`` is the direction of the change: a limit that is exceeded more often explains no
    improvement.
    """
    if not around.before or not around.after:
        return ()
    rules: list[Callable[[Around], Cause | None]] = [_environment, _events]
    if slower:
        rules = [_limit, _member, _cpu, _environment, _foreign, _events]
    return tuple(found for rule in rules if (found := rule(around)) is not None)


def in_words(found: Sequence[Cause]) -> str:
    """One or several causes as one text."""
    return "; ".join(one.words for one in found) if found else NOT_KNOWN


def _limit(around: Around) -> Cause | None:
    before, after = _medians(around, _exceeded_share)
    if after is None or after - (before or 0.0) < _LIMIT_SHARE:
        return None
    return Cause(
        "limit",
        "a provisioned limit was exceeded for "
        f"{after:.0%} of the run time, {before or 0.0:.0%} before",
    )


def _exceeded_share(result: JobResult) -> float | None:
    known = result.provisioned
    if known is None or not result.runtime_ms:
        return None
    micros = max(
        known.volume_iops_us,
        known.volume_throughput_us,
        known.instance_iops_us,
        known.instance_throughput_us,
    )
    return micros / (result.runtime_ms * 1000)


def _member(around: Around) -> Cause | None:
    """The member that moved furthest away from the others, if one did."""
    before, after = (_ratios(around, side) for side in (around.before, around.after))
    moved = {
        serial: after[serial] / max(1.0, before[serial]) for serial in after if serial in before
    }
    if not moved:
        return None
    serial = max(moved, key=moved.__getitem__)
    named = [
        member_rules.of_job(detail, around.key.job, around.key.direction, around.fingerprint)
        for detail in around.after
    ]
    slow = [one for one in named if one is not None and one.serial == serial]
    if moved[serial] < _MEMBER_FACTOR or 2 * len(slow) <= len(around.after):
        return None
    return Cause(
        "member",
        f"one member, {slow[-1].member} (serial {serial}): {slow[-1].slow_ms:.2f} ms an I/O, "
        f"{after[serial]:.1f} times that of the others, and {before[serial]:.1f} times before"
        f"{_by_its_own_count(around, serial)}",
        member=serial,
    )


def _by_its_own_count(around: Around, serial: str) -> str:
    """Whether the disk itself became slower, where it counts how long its I/Os take."""
    before, after = (
        _median(
            one.mean_us
            for detail in side
            for result in results_of(around.key, detail)
            for one in result.device_latencies
            if member_rules.serials(detail.run, around.fingerprint).get(one.device) == serial
        )
        for side in (around.before, around.after)
    )
    if before is None or after is None:
        return ""
    count = f"by its own count {after:,.0f} µs an I/O, {before:,.0f} µs before"
    if after >= _MEMBER_FACTOR * before:
        return f"; the disk itself is slower: {count}"
    if after <= _AS_QUICK * before:
        return f"; its I/Os wait before they reach it: {count}"
    return f"; {count}"


def _ratios(around: Around, side: Sequence[Detail]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for detail in side:
        for result in results_of(around.key, detail):
            for serial, ratio in member_rules.ratios(result, detail, around.fingerprint).items():
                found.setdefault(serial, []).append(ratio)
    return {serial: statistics.median(values) for serial, values in found.items()}


def _cpu(around: Around) -> Cause | None:
    """The processors: busier with something else, or slower at the same work."""
    host_before, host_after = _medians(around, lambda result: result.host_cpu_percent)
    if (
        host_before is not None
        and host_after is not None
        and host_after >= _CPU_NOTICED
        and host_after - host_before >= _CPU_POINTS
    ):
        return Cause(
            "cpu",
            f"the machine's processors: {host_after:.0f} % busy during the job, "
            f"{host_before:.0f} % before",
        )
    before, after = _medians(around, _cpu_ns_per_io)
    worker = _medians(around, lambda result: result.cpu_percent)[1] or 0.0
    busy = max(worker, host_after or 0.0)
    if not before or not after or busy < _CPU_FULL or after / before < 1 + _CPU_COST:
        return None
    limit = ", and that is the limit" if worker >= cpu.MAX_WORKER_PERCENT else ""
    full = [f"its workers are {worker:.0f} % busy{limit}"] if worker >= _CPU_FULL else []
    if host_after is not None and host_after >= _CPU_FULL:
        full.append(f"the machine's processors are {host_after:.0f} % busy during the job")
    return Cause(
        "cpu",
        f"the processors are slower: an I/O costs fio {after / 1000:.2f} µs of processor time, "
        f"{before / 1000:.2f} µs before; {'; '.join(full)}",
    )


def _cpu_ns_per_io(result: JobResult) -> float | None:
    if result.iops <= 0:
        return None
    return result.cpu_percent / 100 * result.jobs / result.iops * 1e9


def _environment(around: Around) -> Cause | None:
    before, after = around.before[-1].run, around.after[0].run
    then = {"engine": before.engine, "fio": before.fio_version}
    now = {"engine": after.engine, "fio": after.fio_version}
    if before.conditions and after.conditions:
        then |= before.conditions
        now |= after.conditions
    changed = [
        f"{name} {then[name] or 'unknown'} → {now[name] or 'unknown'}"
        for name in sorted(then.keys() & now.keys())
        if then[name] != now[name] and not name.startswith(_NOT_ENVIRONMENT)
    ]
    changed += [f"{name} now {now[name]}" for name in _only(now, then)]
    changed += [f"{name} was {then[name]}" for name in _only(then, now)]
    if not changed:
        return None
    return Cause("environment", f"the environment changed between the runs: {', '.join(changed)}")


def _only(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    return sorted(
        name
        for name in here.keys() - there.keys()
        if here[name] and not name.startswith(_NOT_ENVIRONMENT)
    )


def _foreign(around: Around) -> Cause | None:
    """Other load: runs that were skipped or not valid for it, as a share of all since then."""
    since = attempts_since(around.before[-1].run.id, around.key, around.attempts)
    skipped = sum("foreign load" in one.reason for one in since)
    seen = sum(
        any(finding.code == "FOREIGN" for finding in result.findings)
        for detail in around.after
        for result in detail.results
    )
    if not skipped and not seen:
        return None
    parts = [f"{skipped} of {len(since)} runs since were skipped for it"] if skipped else []
    parts += [f"{seen} results since show it (FOREIGN)"] if seen else []
    return Cause("foreign", f"other load on the disks: {', '.join(parts)}")


def _events(around: Around) -> Cause | None:
    if not around.happenings:
        return None
    texts = [one.message for one in around.happenings[:_MAX_EVENTS]]
    more = len(around.happenings) - len(texts)
    return Cause(
        "event",
        "between the runs: " + "; ".join(texts) + (f"; and {more} more" if more else ""),
    )


def _medians(
    around: Around, figure: Callable[[JobResult], float | None]
) -> tuple[float | None, float | None]:
    """Of the series' results before and after."""
    before, after = (
        _median(figure(result) for detail in side for result in results_of(around.key, detail))
        for side in (around.before, around.after)
    )
    return before, after


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
