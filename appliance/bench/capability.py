"""What the provider publishes for a machine, brought to the level that was measured. Pure.

Published figures are for random 4 KiB I/O over all the machine's disks; the per-disk
figure is the total divided by the number of disks (appliance/data says where each is from).
"""

from __future__ import annotations

from appliance.data import InstanceType, instance_type


def instance_limits(machine_type: str) -> InstanceType | None:
    """The row of the provider's table for this type, or ``None`` if there is none."""
    return instance_type(machine_type)


def published_iops(
    limits: InstanceType | None, *, direction: str, member_count: int
) -> float | None:
    """The published IOPS of ``member_count`` of the machine's disks in one direction.

    ``None`` where nothing is published, or where more members were used than the type has
    instance-storage disks: then the members are other disks.
    """
    if limits is None or not 1 <= member_count <= limits.disk_count:
        return None
    per_disk = limits.read_iops_per_disk if direction == "read" else limits.write_iops_per_disk
    return None if per_disk is None else float(per_disk * member_count)


def percent_of_published(iops: float, published: float | None) -> float | None:
    """IOPS as a percentage of the published limit, ``None`` if that is not known."""
    return None if not published else 100 * iops / published
