"""The decision for a volume that is a filesystem on one whole disk. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.model import Decision, Volume
from appliance.storage.policy import activate, growth, steps
from appliance.storage.policy.disk_selection import Pool
from appliance.storage.policy.ownership import Carrier
from appliance.storage.policy.steps import Outcome, call, list_disks, refuse


def decide(volume: Volume, pool: Pool, kept: Sequence[Carrier], *, grow: bool) -> Outcome:
    """``kept`` are the disks with the volume's label and no mark of its making."""
    disks = [one.disk for one in kept]
    if len(disks) > 1:
        return refuse(
            f"more than one filesystem carries the name '{volume.name}': {list_disks(disks)}",
            "find out which one is right and detach or rename the other",
            disks,
        )
    disk = disks[0]
    debris = [one.disk for one in pool.own if one.trace.making and one.disk.signatures]
    if debris:
        return refuse(
            f"{call(disk)} carries volume '{volume.name}', and it is half made on"
            f" {list_disks(debris)}",
            "find out which one is right and detach the other",
            [disk, *debris],
        )
    if volume.filesystem == "none":
        return Outcome(
            Decision.NOTHING,
            f"{call(disk)} itself is volume '{volume.name}': no filesystem is declared, so whatever"
            " it holds is left alone",
            (disk,),
        )
    others = [one for one in pool.disks if one.id != disk.id]
    counted = pool.wanted if volume.select.count is not None or volume.select.serials else None
    several = counted > 1 if counted is not None else bool(others)
    if several:
        number = counted if counted is not None else len(pool.disks)
        return refuse(
            f"{call(disk)} alone carries volume '{volume.name}', but there are {number} disks for"
            f" it: {list_disks(pool.disks)}",
            "select this one alone (by its serial, or with count = 1), or copy what is needed off"
            f" the volume and remove it: stripewright plan --remove {volume.name}",
            [disk],
        )
    return activate.finish(
        volume,
        pool,
        activate.Built(
            disks=(disk,),
            device=steps.stable(disk),
            filesystem=disk.filesystem,
            # Its label was read, so there is a filesystem; what udev has of it is no superblock.
            known=False,
            members=1,
            count=1,
            reason=f"{call(disk)} carries volume '{volume.name}'",
            up=True,
            mountpoints=disk.mountpoints,
            marked=tuple(one.disk for one in pool.own if one.trace.marked),
        ),
        growth.plain(volume, disk, disk.filesystem, grow=grow),
    )
