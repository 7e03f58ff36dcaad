"""The decision for a volume that is not all there. Pure.

First it is waited for: disks come late. Then the layout's ``on_loss`` counts, and only
instance storage may be made anew: its data is lost with the disk in any case. But it is lost only
when nothing that is still to come, and nothing that cannot be read, may be the rest of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from appliance.model import Decision, Disk, DiskKind, Volume
from appliance.storage.policy import create
from appliance.storage.policy.disk_selection import Pool
from appliance.storage.policy.ownership import Evidence
from appliance.storage.policy.steps import Outcome, call, list_disks, refuse

_LOST_HINT = (
    "a stripe cannot be rebuilt: bring the lost disk back, or stop and start the machine (new"
    ' blank disks), or declare on_loss = "recreate" in the layout to make the volume anew and'
    " lose its data (instance storage only)"
)


def decide(
    evidence: Evidence,
    volume: Volume,
    pool: Pool,
    survivors: Sequence[Disk],
    reason: str,
    *,
    had: int,
    waited: bool,
) -> Outcome:
    """``survivors`` are what is left of the ``had`` members; ``reason`` says what is lost."""
    if running := create.is_up(evidence, volume.name, survivors):
        return refuse(
            f"{reason}; {running} still runs",
            "read what can still be read, unmount it, stop it and reboot; a stripe without"
            " redundancy cannot be repaired",
            survivors,
        )
    if not waited:
        return Outcome(Decision.WAIT, f"{reason}; waiting for the rest", tuple(survivors))
    others = [*pool.free, *(disk for disk, _ in (*pool.against, *pool.undecided))]
    if others:
        reason += f"; other disks: {list_disks(others)}"
    if volume.on_loss != "recreate":
        hint = _LOST_HINT
        if pool.against or pool.undecided:
            hint += "; not usable for that: " + _objections(pool)
        return refuse(reason, hint, survivors)
    chosen = _chosen(volume, pool)
    if problem := _cannot(evidence, volume, pool, chosen, had):
        return refuse(
            f"{reason}; it cannot be made anew: {problem}",
            f"nothing was written; {_LOST_HINT}",
            survivors,
        )
    return Outcome(
        Decision.RECREATE,
        f"{reason}; the data is gone, and on_loss declares to make the volume anew",
        tuple(chosen),
        steps=create.build(evidence, volume, chosen),
    )


def _chosen(volume: Volume, pool: Pool) -> list[Disk]:
    """The volume's own disks, then free ones: as many as it counts, all if it does not."""
    own = [one.disk for one in pool.own]
    free = list(pool.free)
    if volume.select.count is not None and not volume.select.serials:
        free = free[: max(0, max(volume.select.count, 1) - len(own))]
    return sorted([*own, *free], key=lambda disk: disk.id)


def _cannot(
    evidence: Evidence, volume: Volume, pool: Pool, chosen: Sequence[Disk], had: int
) -> str:
    network = [disk for disk in chosen if disk.kind is not DiskKind.INSTANCE_STORE]
    if network:
        return f"{list_disks(network)} is no instance storage, and only that is made anew"
    if pool.undecided:
        # It may be what is missing.
        words = "; ".join(f"{call(disk)} {why}" for disk, why in pool.undecided)
        return f"{words}; it may be a part of the volume"
    if pool.against:
        return _objections(pool)
    group = evidence.group(volume.name)
    extra = [one.name for one in group.volumes if one.name != volume.name] if group else []
    if extra:
        return f"its volume group also holds {', '.join(extra)}"
    wanted = had if pool.wanted is None else pool.wanted
    least = 1 if volume.stripe in {"single", "lvm-stripe"} else 2
    if len(chosen) < max(wanted, least):
        return f"{len(chosen)} of {max(wanted, least)} disks are here"
    if volume.stripe == "single" and len(chosen) > 1:
        return f"a single disk is declared, and {len(chosen)} are here"
    if pool.late and volume.on_short != "accept":
        # Enough are free, but none of them is the one that was lost.
        return f"{pool.late}; what is lost may be on a disk that has not come"
    return ""


def _objections(pool: Pool) -> str:
    against = (*pool.against, *pool.undecided)
    return "; ".join(f"{call(disk)}: {why}" for disk, why in against)
