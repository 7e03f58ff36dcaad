"""COVERAGE: I/O that never reached the disks."""

from __future__ import annotations

from appliance.bench.validity.rule import Rule, judges
from appliance.figures.quantities import (
    MIN_COVERAGE,
    coverage_of,
    ios,
    least_coverage,
    may_be_buffered,
    member_io,
    requests,
    top_io,
)
from appliance.model.measurement import Finding, Measurement, Severity

RULE = Rule(
    code="COVERAGE",
    rank=40,
    severity=Severity.BLOCK,
    title="Not all of it came from the disks",
    means="The block layer moved fewer bytes than fio read: a cache, holes or extents that were "
    "never written answered the rest. The figure in place of it counts only what reached the "
    "disks.",
    todo="Do not quote the figure. Write the test files in full, read with direct I/O, and measure"
    " again.",
)
# No request is larger than this unless max_sectors_kb was raised: the kernel's default
# (BLK_DEF_MAX_SECTORS, 2560 sectors of 512 bytes).
_LARGEST_REQUEST_BYTES = 1280 * 1024


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """Reads from a cache, holes or unwritten extents, and writes that stayed in memory.

    The corrected figure of reads is what did arrive. Direct writes are not judged: the block
    layer sees all of them, and what a drive's own cache does is the drive's.
    """
    reads = evidence.direction == "read"
    if not reads and (evidence.direction != "write" or evidence.direct is not False):
        return None
    seen = coverage_of(evidence)
    if seen is None:
        return _buffered(evidence)
    if seen >= least_coverage(evidence):
        return None
    if not reads:
        return _finding(
            f"only {seen * 100:.1f} % of what fio wrote had reached the disks when it ended, "
            "the rest was in memory",
            seen,
        )
    message = (
        f"only {seen * 100:.1f} % of what fio read came from the disks, the rest from a "
        "cache, holes or unwritten extents"
    )
    corrected = None if evidence.iops is None else evidence.iops * seen
    if corrected:
        message += f"; {corrected:,.0f} IOPS is probably true"
    return _finding(message, seen, corrected)


def _buffered(evidence: Measurement) -> Finding | None:
    """Buffered I/O of which only requests are known: no request holds more than so much."""
    below = member_io(evidence) or top_io(evidence)
    if not below or not evidence.io_bytes or not may_be_buffered(evidence):
        return None
    amount = sum(ios(io, evidence.direction) for io in below) * _LARGEST_REQUEST_BYTES
    most = amount / evidence.io_bytes
    if evidence.total_ios:
        # Each I/O may have been one request, or merged into one (rbd's are of 4 MiB).
        asked = sum(requests(io, evidence.direction) for io in below)
        most = max(most, asked / evidence.total_ios)
    if most >= least_coverage(evidence):
        return None
    return _finding(
        f"at most {most * 100:.1f} % of what fio did reached the disks: they did too few "
        "requests, the page cache answered",
        most,
    )


def _finding(message: str, seen: float, corrected: float | None = None) -> Finding:
    return RULE.finding(
        message,
        measured=seen,
        limit=MIN_COVERAGE,
        corrected=corrected,
        unit="iops" if corrected is not None else "",
    )
