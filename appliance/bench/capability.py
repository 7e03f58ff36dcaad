"""What the provider publishes for a machine, brought to the level that was measured. Pure.

Published figures are for random 4 KiB I/O over all the machine's disks; the per-disk
figure is the total divided by the number of disks (appliance/data says where each is from).
"""

from __future__ import annotations

from collections.abc import Sequence

from appliance.data import InstanceType, instance_type
from appliance.model import DiskKind, JobResult

# What the published figures are for: random I/O of this size, with the queues full.
PUBLISHED_BLOCK_BYTES = 4096
MIN_PUBLISHED_DEPTH = 32


def instance_limits(machine_type: str, members: Sequence[DiskKind]) -> InstanceType | None:
    """The row of the provider's table for this type, ``None`` if there is none.

    Also ``None`` unless every member is instance storage: the row says nothing about a
    network volume on the same machine.
    """
    if any(kind is not DiskKind.INSTANCE_STORE for kind in members):
        return None
    return instance_type(machine_type)


def published_iops(
    limits: InstanceType | None, *, direction: str, member_count: int
) -> float | None:
    """The published IOPS of ``member_count`` of the machine's disks in one direction.

    It is an upper bound for any job. ``None`` where nothing is published, or where more
    members were used than the type has instance-storage disks.
    """
    if limits is None or not 1 <= member_count <= limits.disk_count:
        return None
    per_disk = limits.read_iops_per_disk if direction == "read" else limits.write_iops_per_disk
    return None if per_disk is None else float(per_disk * member_count)


def percent_of_published(result: JobResult) -> float | None:
    """IOPS as a percentage of the published limit, where the limit was within reach.

    ``None`` if it is not known, and for jobs that ask for something else than it is
    published for: larger blocks, sequential I/O, or too few I/Os in flight to fill a drive.
    """
    if (
        not result.published_iops
        or not result.rw.startswith("rand")
        or result.block_size_bytes != PUBLISHED_BLOCK_BYTES
        or result.jobs * result.iodepth < MIN_PUBLISHED_DEPTH
    ):
        return None
    return 100 * result.iops / result.published_iops
