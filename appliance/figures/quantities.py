"""Quantities that several rules need, brought out of the evidence. Pure.

Each is ``None`` (or empty) where the evidence does not say; a rule is then silent.
"""

from __future__ import annotations

import re

from appliance.model.measurement import DeviceIo, JobResult, Measurement, Source

# These submit and wait, so that any iodepth above 1 is ignored (fio's HOWTO, iodepth=).
SYNCHRONOUS_ENGINES = frozenset(
    {"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate"}
)
MIXED = frozenset({"rw", "readwrite", "randrw", "trimwrite", "randtrimwrite"})
# Requests are counted where the kernel may have split a block: a little more than one
# request an I/O (a journal, a block across a chunk's edge) is still one request an I/O.
_WHOLE_REQUESTS = 1.02
MIN_COVERAGE = 0.98
# fio samples its disk statistics every 250 ms, and not again at the end: in short runs a
# part of the I/O is missing there. Our own counters are read before and after fio.
_UNSEEN_MS = 500
_PARTITION = re.compile(
    r"((?:nvme\d+n|mmcblk|md|nbd|loop)\d+)p\d+|((?:xv|s|v|h)d[a-z]+)\d+", re.ASCII
)
_UNCOUNTED = re.compile(r"(?:pmem|ram|nullb|zram)\d", re.ASCII)


def percentile_ns(of: Measurement, percent: float) -> int | None:
    """A latency percentile in ns, by number: fio's keys are texts like ``"1.000000"``."""
    for key, ns in (of.percentiles_ns or {}).items():
        try:
            if abs(float(key) - percent) < 1e-9:
                return ns
        except ValueError:
            continue
    return None


def disk_of(path: str) -> str:
    """``nvme1n1`` of ``/dev/nvme1n1p1``: fio counts on the whole disk."""
    name = path.removeprefix("/dev/")
    found = _PARTITION.fullmatch(name)
    return (found[1] or found[2]) if found else name


def asked_depth(evidence: Measurement) -> int | None:
    """The number of I/Os in flight that was asked for, over all workers."""
    if evidence.jobs is None or evidence.iodepth is None:
        return None
    return evidence.jobs * evidence.iodepth


def exact_iops(evidence: Measurement) -> float | None:
    """IOPS from I/Os and run time; as printed (``128``, for 128.5) where those are not known."""
    if evidence.total_ios is not None and evidence.runtime_ms:
        return evidence.total_ios * 1000 / evidence.runtime_ms
    return evidence.iops


def exact_bandwidth(evidence: Measurement) -> float | None:
    """Bytes per second, from what is known of it."""
    if evidence.bandwidth_bytes is not None:
        return evidence.bandwidth_bytes
    if evidence.io_bytes is not None and evidence.runtime_ms:
        return evidence.io_bytes * 1000 / evidence.runtime_ms
    iops = exact_iops(evidence)
    if iops is None or evidence.block_size_bytes is None:
        return None
    return iops * evidence.block_size_bytes


def all_iops(evidence: Measurement) -> float | None:
    """IOPS of both directions of a mixed job: a network volume has one limit for them."""
    return None if evidence.iops is None else evidence.iops + (evidence.other_direction_iops or 0)


def all_bandwidth(evidence: Measurement) -> float | None:
    """Bytes per second of both directions, where their blocks are of one size."""
    one, iops = exact_bandwidth(evidence), evidence.iops
    if one is None or not iops:
        return one
    return one * (1 + (evidence.other_direction_iops or 0.0) / iops)


def queue_depth_seen(evidence: Measurement) -> float | None:
    """Mean number of I/Os in flight by Little's law, both directions of a mixed job together.

    ``None`` where a latency is not known, also that of the other direction.
    """
    iops = exact_iops(evidence)
    if iops is None or evidence.latency_mean_ns is None:
        return None
    if evidence.rw in MIXED and evidence.other_direction_iops is None:
        return None
    other = evidence.other_direction_iops or 0.0
    if other and evidence.other_direction_latency_mean_ns is None:
        return None
    latency_ns = evidence.other_direction_latency_mean_ns or 0.0
    return (iops * evidence.latency_mean_ns + other * latency_ns) / 1e9


def member_io(evidence: Measurement) -> tuple[DeviceIo, ...]:
    """What each of the lowest disks did; empty unless it is known of every one."""
    counted = _counted(evidence)
    by_name = {io.device: io for io in counted}
    if evidence.members:
        found = tuple(by_name[name] for name in evidence.members if name in by_name)
        return found if len(found) == len(evidence.members) else ()
    below = tuple(io for io in counted if io.device != evidence.device)
    return below or counted


def top_io(evidence: Measurement) -> tuple[DeviceIo, ...]:
    """What the device itself did (``md0``); without one, what its members did."""
    top = tuple(io for io in _counted(evidence) if io.device == evidence.device)
    return top or member_io(evidence)


def _counted(evidence: Measurement) -> tuple[DeviceIo, ...]:
    """What the devices did, without those that count nothing: drivers that hand I/O on or do it
    at once have no statistics (pmem, brd, null_blk by bio), and md's members on some kernels
    have none while the array has.
    """
    some = tuple(io for io in evidence.device_io if io.read_ios or io.write_ios)
    if len(some) == len(evidence.device_io):
        return evidence.device_io
    if len(some) == 1 and some[0].device == evidence.device:
        return some
    return tuple(
        io
        for io in evidence.device_io
        if io.read_ios or io.write_ios or not _UNCOUNTED.match(io.device)
    )


def ios(io: DeviceIo, direction: str) -> int:
    """Requests completed in one direction."""
    return io.read_ios if direction == "read" else io.write_ios


def requests(io: DeviceIo, direction: str) -> int:
    """Requests in one direction before the block layer merged some of them."""
    merges = io.read_merges if direction == "read" else io.write_merges
    return ios(io, direction) + merges


def io_bytes(io: DeviceIo, direction: str) -> int | None:
    return io.read_bytes if direction == "read" else io.write_bytes


def ticks_ms(io: DeviceIo, direction: str) -> int | None:
    return io.read_ticks_ms if direction == "read" else io.write_ticks_ms


def sum_bytes(devices: tuple[DeviceIo, ...], direction: str) -> int | None:
    """Bytes of all ``devices``, ``None`` if one of them does not say or there are none."""
    each = [io_bytes(io, direction) for io in devices]
    known = [amount for amount in each if amount is not None]
    return sum(known) if known and len(known) == len(each) else None


def may_be_buffered(evidence: Measurement) -> bool:
    """Whether readahead may have made few large requests of many small reads."""
    if evidence.direct is None:
        return not evidence.rw.startswith("rand")
    return not evidence.direct


def _at_random(evidence: Measurement) -> bool:
    """Whether each read that the page cache did not answer needs a request of its own.

    The kernel reads no more than was asked for where it sees no order (mm/readahead.c); what
    it has read ahead all the same is then answered from memory.
    """
    return evidence.direction == "read" and evidence.rw.startswith("rand")


def least_coverage(evidence: Measurement) -> float:
    """The coverage below which I/O is missing that no gap in the statistics explains."""
    if evidence.source is Source.RUN or not evidence.runtime_ms:
        return MIN_COVERAGE
    return max(0.0, MIN_COVERAGE - _UNSEEN_MS / evidence.runtime_ms)


def coverage(of: Measurement) -> float | None:
    """The coverage that is shown and exported: of a run what its members did, by bytes."""
    return of.coverage if isinstance(of, JobResult) else coverage_of(of)


def coverage_of(evidence: Measurement) -> float | None:
    """What the disks did ÷ what fio did, 1.0 where every I/O reached them: what COVERAGE judges.

    By bytes where they are known. Otherwise by requests, and then only up to 1: the kernel
    splits large blocks (at a chunk's edge, at the disk's largest request), so that more
    requests than I/Os prove nothing, while fewer prove that some never came. ``None`` for
    requests of buffered reads in order: readahead makes few of many.

    The devices count what is done before fio counts (``ramp_ms``) as well. Then, too, only
    less than everything proves something.
    """
    ratio = _ratio(evidence)
    return None if ratio is not None and evidence.ramp_ms and ratio >= MIN_COVERAGE else ratio


def _ratio(evidence: Measurement) -> float | None:
    direction = evidence.direction
    members, top = member_io(evidence), top_io(evidence)
    # Reads are counted on the lowest disks, writes above them: a mirror doubles those.
    levels = (members, top) if direction == "read" else (top, members)
    for level in levels:
        amount = sum_bytes(level, direction)
        if evidence.io_bytes and amount is not None:
            return amount / evidence.io_bytes
    if (
        not evidence.total_ios
        or not top
        or (may_be_buffered(evidence) and not _at_random(evidence))
    ):
        return None
    amount = sum(requests(io, direction) for io in top)
    if direction == "read":
        # Some kernels do not count an md device's I/O.
        amount = max(amount, sum(requests(io, direction) for io in members))
    ratio = amount / evidence.total_ios
    return ratio if ratio <= _WHOLE_REQUESTS else None


def corrected_iops(of: Measurement) -> float | None:
    """The IOPS that is probably true where a finding knows it, else ``None``."""
    return next(
        (f.corrected for f in of.findings if f.corrected is not None and f.unit == "iops"), None
    )
