"""IMPOSSIBLE: faster than the machine is sold as, or than any drive can be."""

from __future__ import annotations

from appliance.bench.validity.rule import Rule, judges
from appliance.figures.quantities import (
    SYNCHRONOUS_ENGINES,
    all_bandwidth,
    all_iops,
    coverage_of,
    exact_bandwidth,
    least_coverage,
    may_be_buffered,
    percentile_ns,
)
from appliance.model.measurement import Finding, Measurement, Severity, Source

RULE = Rule(
    code="IMPOSSIBLE",
    rank=60,
    severity=Severity.BLOCK,
    title="Faster than the device can be",
    means="The figure is above the published limit by more than its margin, or direct reads came "
    "back faster than any drive answers.",
    todo="Look for a cache below the filesystem (hypervisor, controller), and check that the "
    "machine type is the right one.",
)
MAX_OF_PUBLISHED = 1.15
# No drive answers a direct read in less; a page cache does.
MIN_READ_P1_NS = 10_000
# A core copies 10 to 20 GB/s; below this size a call takes longer than the copy.
_MEMORY_BYTES_PER_S = 50e9
_COPIED_BYTES = 64 * 1024
# What a worker does through the page cache at most while it has to wait for a disk.
_BUFFERED_BYTES_PER_S = 6e9
_NEVER_WAITED_PERCENT = 97.0
# Writers wait for the disk when a fifth of the memory is dirty (vm.dirty_ratio); how much memory
# another's machine had is not known.
_MOST_DIRTY_BYTES = 64e9


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """Above 115 % of what is published for this direction and block; p1 below 10 µs; what
    memory does and no disk.
    """
    return (
        _above_published(evidence)
        or _too_quick(evidence)
        or _quicker_than_memory(evidence)
        or _in_memory(evidence)
    )


def _above_published(evidence: Measurement) -> Finding | None:
    capability = evidence.capability
    if capability is None or not capability.is_limit:
        return None
    # A drive has a limit for each direction, a network volume one for both together.
    shared = capability.kind == "network"
    limits = (
        (
            all_iops(evidence) if shared else evidence.iops,
            _most(capability.iops, capability.burst_iops),
            "iops",
        ),
        (
            all_bandwidth(evidence) if shared else exact_bandwidth(evidence),
            _most(capability.bytes_per_s, capability.burst_bytes_per_s),
            "bytes/s",
        ),
    )
    for measured, limit, unit in limits:
        if measured is None or not limit or measured <= limit * MAX_OF_PUBLISHED:
            continue
        words = (
            f"{measured:,.0f} IOPS is {measured / limit * 100:.0f} % of the {limit:,.0f}"
            if unit == "iops"
            else f"{measured / 1e6:,.0f} MB/s is {measured / limit * 100:.0f} % of the "
            f"{limit / 1e6:,.0f} MB/s"
        )
        basis = f" ({capability.basis})" if capability.basis else ""
        return RULE.finding(
            f"{words} that these disks are published with{basis}",
            measured=measured,
            limit=limit * MAX_OF_PUBLISHED,
            unit=unit,
        )
    return None


def _most(*limits: float | None) -> float | None:
    return max((limit for limit in limits if limit is not None), default=None)


def _too_quick(evidence: Measurement) -> Finding | None:
    if _may_complete_in_submit(evidence) and _all_reached(evidence):
        # It seems to take no time, and did reach a disk.
        return None
    fastest_ns = percentile_ns(evidence, 1.0)
    if max(evidence.latency_min_ns or 0, _in_submit_ns(evidence)) >= MIN_READ_P1_NS:
        # Percentiles of clat alone: what was quick was done while it was submitted.
        return None
    if (
        evidence.direction != "read"
        or may_be_buffered(evidence)
        or fastest_ns is None
        or fastest_ns >= MIN_READ_P1_NS
    ):
        return None
    return RULE.finding(
        f"1 % of the {'direct ' if evidence.direct else ''}reads took "
        f"{fastest_ns / 1000:.1f} µs or less, "
        f"which no disk does (under {MIN_READ_P1_NS / 1000:.0f} µs): a cache answered",
        measured=float(fastest_ns),
        limit=float(MIN_READ_P1_NS),
        unit="ns",
    )


def _may_complete_in_submit(evidence: Measurement) -> bool:
    """Others' percentiles are of clat. With an asynchronous engine that begins when the
    submitting call returns, by when an I/O may be done (io_uring on a paravirtual disk).
    """
    return evidence.source is Source.IMPORT and evidence.engine not in SYNCHRONOUS_ENGINES


def _in_submit_ns(evidence: Measurement) -> float:
    return (evidence.submit_mean_ns or 0.0) if _may_complete_in_submit(evidence) else 0.0


def _all_reached(evidence: Measurement) -> bool:
    seen = coverage_of(evidence)
    return seen is not None and seen >= least_coverage(evidence)


def _quicker_than_memory(evidence: Measurement) -> Finding | None:
    """A block in less time than it takes to copy: it was never there (holes, a null device)."""
    quickest_ns: float | None = evidence.latency_min_ns
    if evidence.engine in SYNCHRONOUS_ENGINES:
        # Of every hundred one: a single I/O may be an error of the clock.
        quickest_ns = percentile_ns(evidence, 1.0) or quickest_ns
    size = evidence.block_size_bytes
    if evidence.direction == "trim" or not quickest_ns or not size or size < _COPIED_BYTES:
        return None
    rate = size / quickest_ns * 1e9
    if rate <= _MEMORY_BYTES_PER_S:
        return None
    return RULE.finding(
        f"{size // 1024:,} KiB in {quickest_ns / 1000:.2f} µs is {rate / 1e9:,.0f} GB/s, faster "
        "than memory: nothing was read or written",
        measured=rate,
        limit=_MEMORY_BYTES_PER_S,
    )


def _in_memory(evidence: Measurement) -> Finding | None:
    """I/O through the page cache of which no device's figures tell what reached a disk."""
    if evidence.direct is not False or coverage_of(evidence) is not None:
        return None
    if evidence.device_io:
        return _never_waited(evidence)
    bandwidth = exact_bandwidth(evidence)
    most = _BUFFERED_BYTES_PER_S * evidence.jobs if evidence.jobs else None
    if bandwidth is not None and most is not None and bandwidth > most:
        return RULE.finding(
            f"{bandwidth / 1e9:.1f} GB/s through the page cache is what memory does: a worker "
            f"that waits for a disk stays below {_BUFFERED_BYTES_PER_S / 1e9:.0f} GB/s",
            measured=bandwidth,
            limit=most,
        )
    if evidence.direction == "read" and evidence.rw.startswith("rand"):
        quick_ns = percentile_ns(evidence, 5.0)
        if quick_ns is not None and quick_ns < MIN_READ_P1_NS:
            return RULE.finding(
                f"5 % of the reads took {quick_ns / 1000:.1f} µs or less, which no disk does: "
                "the page cache answered",
                measured=float(quick_ns),
                limit=float(MIN_READ_P1_NS),
            )
    if found := _never_waited(evidence):
        return found
    if evidence.direction != "write" or evidence.synced is not False:
        return None
    mean_ns, size = evidence.latency_mean_ns, evidence.block_size_bytes
    if mean_ns is None or size is None or (evidence.io_bytes or 0) > _MOST_DIRTY_BYTES:
        return None
    copied_ns = MIN_READ_P1_NS + size / _BUFFERED_BYTES_PER_S * 1e9
    if mean_ns >= copied_ns:
        return None
    return RULE.finding(
        f"{size // 1024:,} KiB writes took {mean_ns / 1000:.1f} µs, no longer than a copy: they "
        "went to memory, and no sync shows when they reached a disk",
        measured=mean_ns,
        limit=copied_ns,
    )


def _never_waited(evidence: Measurement) -> Finding | None:
    """Writes into memory by workers that had all of their time for themselves."""
    busy = evidence.cpu_percent or 0.0
    unsynced = evidence.direction == "write" and evidence.synced is False
    if not unsynced or busy < _NEVER_WAITED_PERCENT:
        return None
    return RULE.finding(
        f"workers were busy for {busy:.0f} % of the time and did not wait for a disk: the writes "
        "went to memory, and no sync shows when they reached a disk",
        measured=busy,
        limit=_NEVER_WAITED_PERCENT,
    )
