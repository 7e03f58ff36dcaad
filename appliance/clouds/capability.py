"""What the provider publishes for a machine, brought to the level that was measured. Pure.

The question is :func:`published`: this machine type, so many disks of this kind, this
direction and block size; for network volumes also what they were provisioned with
(:class:`Volume`). The answer is an upper bound with its basis in words and its source, or
``None`` where nothing is published. :func:`percent_of_published` sets a result beside it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from appliance.clouds import volumes
from appliance.clouds.provider import disk_count, providers
from appliance.clouds.volumes import Volume
from appliance.data import InstanceType, csv_rows, instance_type
from appliance.model.disks import DiskKind
from appliance.model.measurement import Capability, Measurement

# What the published IOPS are for: random I/O of this size, with the queues full.
PUBLISHED_BLOCK_BYTES = 4096
_RANDOM = frozenset({"randread", "randwrite"})
_SEQUENTIAL = frozenset({"read", "write"})
# Smaller blocks in order are merged on the way, so that their number says nothing.
LARGE_BLOCK_BYTES = 128 * 1024
MIN_PUBLISHED_DEPTH = 32
# A volume that is sold with few IOPS needs fewer in flight: its latencies are about 1 ms.
_SLOW_LATENCY_SECONDS = 0.001


def one_kind(kinds: Sequence[DiskKind]) -> DiskKind:
    """The kind of all members; ``UNKNOWN`` where they are of several, or there are none."""
    return kinds[0] if len(set(kinds)) == 1 else DiskKind.UNKNOWN


def published(
    machine_type: str,
    *,
    kind: DiskKind,
    member_count: int,
    direction: str,
    block_size_bytes: int | None,
    rw: str = "",
    volume: Volume | None = None,
) -> Capability | None:
    """The most that ``member_count`` disks of this kind may do, together.

    ``direction`` is ``read`` or ``write``. ``block_size_bytes`` ``None`` is a block of
    unknown size: then only what holds for every size is given. ``rw`` is fio's word
    (``randread``); a sequential or unknown pattern is not held against a network volume's
    IOPS. ``volume`` is what each of the network volumes was provisioned with. ``None`` where
    nothing is published, or where more members were used than the type has instance-storage
    disks.
    """
    if member_count < 1 or direction not in {"read", "write"}:
        return None
    if kind is DiskKind.INSTANCE_STORE:
        return _instance_store(machine_type, member_count, direction, block_size_bytes)
    if kind is DiskKind.NETWORK:
        return volumes.published(
            volume,
            next((found for one in providers() if (found := one.network(machine_type))), None),
            machine_type=machine_type,
            count=member_count,
            block_size_bytes=block_size_bytes,
            sequential=not rw.startswith("rand"),
        )
    return None


def percent_of_published(of: Measurement) -> float | None:
    """The result as a percentage of what is published, where that was within reach.

    Of the lesser of the published IOPS and the published bandwidth at this block size; where
    only IOPS are published, for random 4 KiB alone. ``None`` if it is not known, and for
    jobs that ask for something else: mixed directions, sequential I/O in small blocks, or
    too few I/Os in flight to fill the drives.
    """
    published_iops, published_bandwidth = of.published_iops, of.published_bytes_per_s
    size = of.block_size_bytes
    if of.iops is None or of.jobs is None or of.iodepth is None or not size:
        return None
    if published_bandwidth:
        limit = min(published_iops or math.inf, published_bandwidth / size)
        comparable = of.rw in _RANDOM or (of.rw in _SEQUENTIAL and size >= LARGE_BLOCK_BYTES)
    else:
        limit = published_iops or 0.0
        comparable = of.rw in _RANDOM and size == PUBLISHED_BLOCK_BYTES
    if not comparable or not limit or of.jobs * of.iodepth < _depth(limit):
        return None
    return 100 * of.iops / limit


def _depth(published_iops: float) -> int:
    return min(MIN_PUBLISHED_DEPTH, math.ceil(published_iops * _SLOW_LATENCY_SECONDS))


# ------------------------------------------------------------------------- local disks


def _local(machine_type: str, count: int, direction: str) -> Capability | None:
    """By the type: a share of what is published for all its disks; or by its provider."""
    row = instance_type(machine_type)
    if row and row.disk_count and count > row.disk_count:
        return None
    if row and (by_type := _of_type(row, count, read=direction == "read")):
        return by_type
    each = (one.local(machine_type, count, direction) for one in providers())
    return next((one for one in each if one), None)


def _of_type(row: InstanceType, count: int, *, read: bool) -> Capability | None:
    iops = row.read_iops if read else row.write_iops
    bytes_per_s = row.read_bytes_per_s if read else row.write_bytes_per_s
    if iops is None or row.disk_count is None:
        return None
    share = count / row.disk_count
    each = iops / row.disk_count
    times = f"{count} × " if count > 1 else ""
    return Capability(
        kind=DiskKind.INSTANCE_STORE.value,
        iops=iops * share,
        bytes_per_s=None if bytes_per_s is None else bytes_per_s * share,
        member_iops=each,
        is_limit=row.published_by.limit,
        basis=f"{times}{each:,.0f} ({row.name})",
        source=row.published_by.source,
    )


# A diary has thousands of results of one machine.
@lru_cache(maxsize=1024)
def _instance_store(
    machine_type: str, count: int, direction: str, block_size_bytes: int | None
) -> Capability | None:
    found = _local(machine_type, count, direction)
    measured = _measured(machine_type, count, direction)
    if found is None:
        if measured is None:
            return None
        found = Capability(kind=DiskKind.INSTANCE_STORE.value)
    iops = found.iops
    # Below 4 KiB a drive may do more than is published for 4 KiB.
    if block_size_bytes is not None and block_size_bytes < PUBLISHED_BLOCK_BYTES:
        iops = None
    elif block_size_bytes and found.bytes_per_s is not None:
        by_bandwidth = found.bytes_per_s / block_size_bytes
        iops = by_bandwidth if iops is None else min(iops, by_bandwidth)
    found = dataclasses.replace(found, iops=iops)
    if measured is None:
        return found
    return dataclasses.replace(
        found,
        measured_iops=measured[0],
        measured_bytes_per_s=measured[1],
        measured_source=measured[2],
    )


@dataclass(frozen=True, slots=True)
class MeasuredByOthers:
    """What others measured on local disks; ``scope`` is ``disk`` (of one) or ``array`` (of all).
    ``instance_type`` may be a whole family: ``i3.ALL``.
    """

    instance_type: str
    scope: str
    read_iops: int
    read_bytes_per_s: int
    write_iops: int
    write_bytes_per_s: int
    source: str


@cache
def _measurements() -> dict[str, MeasuredByOthers]:
    rows = csv_rows("measured_by_others.csv", MeasuredByOthers)
    return {row.instance_type.casefold(): row for row in rows}


def measured_by_others(machine_type: str) -> MeasuredByOthers | None:
    """On this type, or on its family's other sizes."""
    family = machine_type.split(".", 1)[0]
    known = _measurements()
    return known.get(machine_type.casefold()) or known.get(f"{family}.ALL".casefold())


def _measured(machine_type: str, count: int, direction: str) -> tuple[float, float, str] | None:
    found = measured_by_others(machine_type)
    if found is None:
        return None
    of_type = disk_count(machine_type)
    if found.scope == "array":
        if not of_type:
            return None
        share = count / of_type
    else:
        share = float(count)
    if of_type and count > of_type:
        return None
    read = direction == "read"
    return (
        share * (found.read_iops if read else found.write_iops),
        share * (found.read_bytes_per_s if read else found.write_bytes_per_s),
        found.source,
    )
