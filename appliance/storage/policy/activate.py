"""The last part of every decision about a volume that is whole: is it what was declared, and is
there room that it does not use? Pure.

A volume grows only by order (docs/decisions/0017); without one the reason says that there is
room. What has to be true before and after a kill: the part that holds data stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from appliance import text
from appliance.model.disks import Array, Disk, Filesystem, LogicalVolume, MdMember, VolumeGroup
from appliance.model.plans import Decision, Step, Volume
from appliance.storage.formats import filesystem, lvm, md
from appliance.storage.policy import steps
from appliance.storage.policy.disk_selection import Case
from appliance.storage.policy.ownership import Member
from appliance.storage.policy.steps import Outcome, list_disks, refuse

LOOK = "nothing was written; look at it read-only"
# Less is not worth a plan, and may be what metadata and rounding leave: an ext4 group with
# many inodes needs 33 MiB, the smallest step of a cloud volume is 1 GiB.
ROOM_BYTES = 64 * 1024 * 1024
_IDLE = {"", "idle", "frozen"}
_WIDER = "; an md array is not made wider here: declare a second volume on the new disks and copy"


@dataclass(frozen=True, slots=True)
class Built:
    """A whole volume as it was found.

    ``device`` is its node, now or after ``before`` was done; ``known``: its start was read, and
    ``filesystem`` is what it holds. ``members`` is the width of its stripe in disks, ``count`` how
    many it is made of. ``rebuild`` are the steps for members that a RAID10 lacks, ``marked`` the
    disks with in-progress marks of it (or of one that was begun beside it).
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


@dataclass(frozen=True, slots=True)
class Growth:
    """``steps`` come after the volume is up and mounted; ``instead`` replaces these steps.

    ``words`` go into the reason; ``disks`` are all of the volume's disks afterwards.
    """

    steps: tuple[Step, ...] = ()
    words: str = ""
    disks: tuple[Disk, ...] = ()
    instead: tuple[Step, ...] = ()


NONE = Growth()


def finish(case: Case, built: Built, growth: Growth = NONE) -> Outcome:
    """Refuse what is not as declared; else whatever is missing until it is mounted."""
    volume, pool = case.volume, case.pool
    disks = built.disks
    where = built.device if built.up else f"volume '{volume.name}'"
    if volume.filesystem != "none":
        if problem := filesystem_problem(volume, built.filesystem, built.members):
            return refuse(f"{where} {problem}", LOOK, disks)
        if built.filesystem is None and built.known:
            return refuse(
                f"{where} holds data, but no filesystem, and no in-progress mark",
                f"{LOOK}; {steps.give_up(volume.name)}",
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
        reason += f"; in-progress marks are left on {list_disks(marked)}"
    if pool.wanted and pool.wanted != built.count:
        reason += f"; it was made of {built.count} disks, and {pool.wanted} match now"
    reason += growth.words
    if growth.steps:
        first = (*unmark, *growth.instead) if growth.instead else (*up, *mount, *unmark)
        return Outcome(Decision.GROW, reason, growth.disks or disks, steps=(*first, *growth.steps))
    everything = (*up, *mount, *unmark, *built.rebuild)
    unused = [disk for disk in (*pool.free, *pool.spare) if disk not in growth.disks]
    if unused and not built.rebuild:
        reason += f"; blank and unused: {list_disks(unused)}"
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
        return "holds an unfinished filesystem, and no mark says that it is ours"
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


# ------------------------------------------------------------------------------ room


def plain(case: Case, disk: Disk) -> Growth:
    """A filesystem on a disk that became bigger; the last MiB stays out of it."""
    size = filesystem.plain_size(disk.size_bytes)
    room = _left(size, disk.filesystem)
    if room < ROOM_BYTES:
        return NONE
    step = steps.grow_filesystem_step(case.volume, steps.stable(disk), size_bytes=size)
    return _offered(case, (step,), f"the disk has {text.size(room)} more than the filesystem")


def array(
    case: Case,
    members: Sequence[Member],
    running: Array | None,
    found: Filesystem | None,
) -> Growth:
    """A whole md array, of which ``running`` is what the kernel has."""
    grow = _raid10 if case.volume.stripe == "md-raid10" else _raid0
    made = grow(case, members, running, found)
    wider = _WIDER if case.pool.free and case.grow else ""
    return replace(made, words=made.words + wider)


def _raid0(
    case: Case, members: Sequence[Member], running: Array | None, found: Filesystem | None
) -> Growth:
    volume = case.volume
    areas = [(member.device_bytes or 0, _area(disk, member)) for disk, member in members]
    if not all(used > 0 for used, _ in areas):
        return NONE
    least = _whole_chunks(min(used for used, _ in areas), volume)
    if not any(area - used >= ROOM_BYTES for used, area in areas):
        device = running.path if running else md.array_path(volume.name)
        size = running.size_bytes if running else sum(_whole_chunks(u, volume) for u, _ in areas)
        return _filesystem(case, device, size, found)
    smallest, biggest = min(area for _, area in areas), max(area for _, area in areas)
    room = f"its disks became bigger, to {text.size(smallest)}"
    if biggest - smallest >= ROOM_BYTES:
        return Growth(words=f"; {room} and more: it can grow when all have the same size")
    # Of unequal disks md stripes what goes beyond the smallest over fewer disks. Data
    # beyond it would move; so all of it has to lie in the part where all disks take part.
    covered = found.size_bytes if found and volume.filesystem != "none" else None
    if covered is None or covered > least * len(members):
        return Growth(words=f"; {room}, but nothing shows that its data would stay in place")
    disks = [disk for disk, _ in members]
    device = md.array_path(volume.name)
    leave = (steps.umount_step(volume.name, volume.mount),) if _mounted(running) else ()
    stop = (steps.stop_step(volume.name, running.path),) if running else ()
    offered = _offered(case, (steps.grow_filesystem_step(volume, device),), room)
    if not offered.steps:
        return offered
    uuid = members[0][1].array_uuid
    return Growth(
        offered.steps,
        offered.words,
        instead=(
            *leave,
            *stop,
            steps.assemble_step(volume, uuid, disks, resized=True),
            steps.mount_step(volume, device),
        ),
    )


def _raid10(
    case: Case, members: Sequence[Member], running: Array | None, found: Filesystem | None
) -> Growth:
    volume = case.volume
    areas = [(member.device_bytes or 0, _area(disk, member)) for disk, member in members]
    used = running.member_bytes if running else 0
    used = used or min(one for one, _ in areas)
    if used <= 0:
        return NONE
    device = running.path if running else md.array_path(volume.name)
    room = min(area for _, area in areas) - used
    if room < ROOM_BYTES:
        size = running.size_bytes if running else used * len(members) // 2
        return _filesystem(case, device, size, found)
    words = f"its disks have {text.size(room)} more each"
    if not md.can_resize(md.layout_of(volume)):
        return Growth(words=f"; {words}, but md cannot resize a RAID10 with far copies")
    rebuilding = running is not None and (running.degraded or running.sync_action not in _IDLE)
    if rebuilding or any(member.recovering for _, member in members):
        return Growth(words=f"; {words}: it can grow when the rebuild has ended")
    after = () if volume.filesystem == "none" else (steps.grow_filesystem_step(volume, device),)
    return _offered(case, (steps.grow_array_step(volume, device), *after), words)


def group(
    case: Case,
    members: Sequence[Disk],
    found: VolumeGroup,
    logical: LogicalVolume,
    free: Sequence[Disk],
) -> Growth:
    """A whole volume group: bigger disks, or as many more as it has stripes.

    ``members`` are in the group's order. Room that does not lie evenly on all disks of a stripe
    cannot be striped and is left.
    """
    volume = case.volume
    width = len(logical.segments[0]) if logical.segments else 0
    if width < 1 or len(found.member_bytes) != len(members):
        return NONE
    device = logical.path or lvm.volume_path(volume.name)
    known = dict(zip((disk.id for disk in members), found.member_bytes, strict=True))
    step_bytes = ROOM_BYTES + found.extent_bytes
    bigger = [disk for disk in members if disk.size_bytes - known[disk.id] >= step_bytes]
    taken = list(free[: len(free) // width * width])
    words = []
    if free and not taken:
        words.append(f"{steps.count_disks(len(free))} more, but it takes {width} at a time")
    if taken:
        words.append(f"{steps.count_disks(len(taken))} more for the group")
    striped = _can_stripe(members, bigger, found, logical)
    if bigger:
        words.append(
            f"{len(bigger)} of its disks became bigger"
            + ("" if striped else ", but not all of a stripe, so the room cannot be used")
        )
    elif striped:
        words.append(f"{text.size(found.free_bytes)} of the group are not used")
    if not striped and not taken:
        rest = _filesystem(case, device, logical.size_bytes, logical.filesystem)
        return rest if rest.steps or not words else Growth(words=f"; {', '.join(words)}")
    plan: list[Step] = []
    if bigger and striped:
        plan.append(steps.resize_disks_step(volume, members, bigger))
    if taken:
        plan += steps.extend_group_steps(volume, members, taken)
    everyone = (*members, *taken)
    plan.append(steps.extend_volume_step(volume, everyone, width))
    if volume.filesystem != "none":
        plan.append(steps.grow_filesystem_step(volume, device))
    offered = _offered(case, tuple(plan), ", ".join(words))
    return Growth(offered.steps, offered.words, everyone if case.grow else ())


def _can_stripe(
    members: Sequence[Disk], bigger: Sequence[Disk], found: VolumeGroup, logical: LogicalVolume
) -> bool:
    """Whether the group has room, now or when its bigger disks are resized, for whole stripes."""
    width = len(logical.segments[0])
    known = dict(zip((disk.id for disk in members), found.member_bytes, strict=True))
    least = max(ROOM_BYTES, found.extent_bytes)
    ids = {disk.id for disk in bigger}
    sets = {frozenset(segment) for segment in logical.segments}
    used = frozenset[str]().union(*sets)
    if sum(1 for disk in members if disk.id not in used) >= width:
        return True
    if not bigger and found.free_bytes < least * width:
        return False
    if len(sets) == 1:
        sizes = {disk.id: disk.size_bytes if disk.id in ids else known[disk.id] for disk in members}
        return min(sizes.get(one, 0) for one in used) - logical.size_bytes // width >= least
    # How much of each set is used is not known; but where its disks are equal, so is their room.
    even = all(
        max(known.get(one, 0) for one in each) - min(known.get(one, 0) for one in each) < ROOM_BYTES
        for each in sets
    )
    enough = found.free_bytes >= least * width * len(sets)
    return any(each <= ids for each in sets) or (even and enough)


def _filesystem(case: Case, device: str, size_bytes: int, found: Filesystem | None) -> Growth:
    """The device under the filesystem is bigger than it: it was killed before the last step."""
    room = _left(size_bytes, found)
    if room < ROOM_BYTES or case.volume.filesystem == "none":
        return NONE
    step = steps.grow_filesystem_step(case.volume, device)
    return _offered(case, (step,), f"the volume has {text.size(room)} more than its filesystem")


def _left(size_bytes: int, found: Filesystem | None) -> int:
    if found is None or found.size_bytes is None or found.size_bytes <= 0:
        return 0
    return size_bytes - found.size_bytes


def _area(disk: Disk, member: MdMember) -> int:
    """How much of the disk md could use as it is now."""
    return disk.size_bytes - (member.data_offset_bytes or 0)


def _whole_chunks(size_bytes: int, volume: Volume) -> int:
    return size_bytes // volume.chunk_bytes * volume.chunk_bytes


def _mounted(running: Array | None) -> bool:
    return running is not None and bool(running.mountpoint)


def _offered(case: Case, made: tuple[Step, ...], words: str) -> Growth:
    if case.grow:
        return Growth(made, f"; {words}")
    return Growth(words=f"; {words}: it can grow, see 'stripewright plan'")
