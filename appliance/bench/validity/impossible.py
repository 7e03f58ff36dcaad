"""IMPOSSIBLE: faster than the machine is sold as, or than any drive can be."""

from __future__ import annotations

from appliance.bench.fio import SYNCHRONOUS_ENGINES
from appliance.bench.validity.figures import (
    coverage_of,
    exact_bandwidth,
    least_coverage,
    may_be_buffered,
    percentile_ns,
)
from appliance.model import Evidence, Finding, Severity, Source

CODE = "IMPOSSIBLE"
MAX_OF_PUBLISHED = 1.15
# No drive answers a direct read in less; a page cache does.
MIN_READ_P1_NS = 10_000


def judge(evidence: Evidence) -> Finding | None:
    """Above 115 % of what is published for this direction and block, or p1 below 10 µs."""
    return _above_published(evidence) or _too_quick(evidence)


def _above_published(evidence: Evidence) -> Finding | None:
    capability = evidence.capability
    if capability is None or not capability.is_limit:
        return None
    limits = (
        (evidence.iops, _most(capability.iops, capability.burst_iops), "iops"),
        (
            exact_bandwidth(evidence),
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
        return Finding(
            code=CODE,
            severity=Severity.BLOCK,
            message=f"{words} that these disks are published with{basis}",
            measured=measured,
            limit=limit * MAX_OF_PUBLISHED,
            unit=unit,
        )
    return None


def _most(*limits: float | None) -> float | None:
    return max((limit for limit in limits if limit is not None), default=None)


def _too_quick(evidence: Evidence) -> Finding | None:
    if _may_complete_in_submit(evidence) and _all_reached(evidence):
        # It seems to take no time, and did reach a disk.
        return None
    fastest_ns = percentile_ns(evidence, 1.0)
    if (
        evidence.direction != "read"
        or may_be_buffered(evidence)
        or fastest_ns is None
        or fastest_ns >= MIN_READ_P1_NS
    ):
        return None
    return Finding(
        code=CODE,
        severity=Severity.BLOCK,
        message=f"1 % of the {'direct ' if evidence.direct else ''}reads took "
        f"{fastest_ns / 1000:.1f} µs or less, "
        f"which no disk does (under {MIN_READ_P1_NS / 1000:.0f} µs): a cache answered",
        measured=float(fastest_ns),
        limit=float(MIN_READ_P1_NS),
        unit="ns",
    )


def _may_complete_in_submit(evidence: Evidence) -> bool:
    """Others' percentiles are of clat. With an asynchronous engine that begins when the
    submitting call returns, by when an I/O may be done (io_uring on a paravirtual disk).
    """
    return evidence.source is Source.IMPORT and evidence.engine not in SYNCHRONOUS_ENGINES


def _all_reached(evidence: Evidence) -> bool:
    seen = coverage_of(evidence)
    return seen is not None and seen >= least_coverage(evidence)
