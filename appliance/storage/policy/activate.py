"""The last part of every decision about a volume that is whole: is it what was declared? Pure."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.model import Decision, Disk, Filesystem, Step, Volume
from appliance.storage.formats import filesystem
from appliance.storage.policy import steps
from appliance.storage.policy.disk_selection import Pool
from appliance.storage.policy.growth import Growth
from appliance.storage.policy.steps import Outcome, list_disks, refuse

LOOK = "nothing was written; look at it read-only"


@dataclass(frozen=True, slots=True)
class Built:
    """A whole volume as it was found.

    ``device`` is its node, now or after ``before`` was done; ``known`` says that somebody has
    read what it starts with, ``filesystem`` what that is. ``members`` counts the disks that its
    stripe is wide, ``count`` those that it is made of. ``rebuild`` are the steps for members
    that a RAID10 lacks, ``marked`` the disks on which marks of its making (or of one that was
    begun beside it) are left.
    """

    disks: tuple[Disk, ...]
    device: str
    filesystem: Filesystem | None
    known: bool
    members: int
    count: int
    reason: str
    up: bool = False
    mountpoints: tuple[str, ...] = ()
    before: tuple[Step, ...] = ()
    rebuild: tuple[Step, ...] = ()
    marked: tuple[Disk, ...] = ()


def finish(volume: Volume, pool: Pool, built: Built, growth: Growth) -> Outcome:
    """Refuse what is not as declared; else whatever is missing until it is mounted."""
    disks = built.disks
    where = built.device if built.up else f"volume '{volume.name}'"
    if volume.filesystem != "none":
        if problem := filesystem_problem(volume, built.filesystem, built.members):
            return refuse(f"{where} {problem}", LOOK, disks)
        if built.filesystem is None and built.known:
            return refuse(
                f"{where} holds data, but no filesystem, and no mark says that it was being made",
                f"{LOOK}; if nothing of it is needed: stripewright plan --remove {volume.name},"
                " without the volume in the layout",
                disks,
            )
        elsewhere = [one for one in built.mountpoints if one != volume.mount]
        if built.mountpoints and volume.mount not in built.mountpoints:
            return refuse(
                f"{where} is mounted at {', '.join(elsewhere)}, not at {volume.mount}",
                "unmount it there, then plan again or reboot",
                disks,
            )
    marked = built.marked
    unmark = (steps.unmark_step(volume.name, marked),) if marked else ()
    mounted = volume.filesystem == "none" or volume.mount in built.mountpoints
    mount = () if mounted else (steps.mount_step(volume, built.device),)
    up: tuple[Step, ...] = () if built.up else built.before
    reason = built.reason
    if volume.filesystem != "none" and mounted:
        reason += f", mounted at {volume.mount}"
    if marked:
        reason += f"; marks of its making are left on {list_disks(marked)}"
    if pool.wanted and pool.wanted != built.count:
        reason += f"; it was made of {built.count}, and would now have {pool.wanted}"
    reason += growth.words
    if growth.steps:
        first = (*unmark, *growth.instead) if growth.instead else (*up, *mount, *unmark)
        return Outcome(Decision.GROW, reason, growth.disks or disks, steps=(*first, *growth.steps))
    everything = (*up, *mount, *unmark, *built.rebuild)
    unused = [disk for disk in (*pool.free, *pool.spare) if disk not in growth.disks]
    if unused and not built.rebuild:
        reason += f"; blank and not used: {list_disks(unused)}"
    decision = Decision.ASSEMBLE if everything else Decision.NOTHING
    return Outcome(decision, reason, disks, steps=everything)


def filesystem_problem(volume: Volume, found: Filesystem | None, members: int) -> str:
    """What is wrong with a filesystem that is there, or an empty string."""
    if found is None:
        return ""
    if (found.kind, found.label) != (volume.filesystem, volume.name):
        return (
            f"holds {found.kind} labelled '{found.label}', not {volume.filesystem} labelled"
            f" '{volume.name}'"
        )
    if found.unfinished:
        return "holds a filesystem whose making never ended, and no mark says that it is ours"
    stripe = filesystem.alignment(volume, members)
    if stripe is None or found.sunit_bytes is None:
        return ""
    wanted = (stripe[0], stripe[0] * stripe[1])
    if (found.sunit_bytes, found.swidth_bytes) != wanted:
        return (
            f"holds a filesystem with sunit {found.sunit_bytes} and swidth {found.swidth_bytes}"
            f" bytes; chunk and members make {wanted[0]} and {wanted[1]}"
        )
    return ""
