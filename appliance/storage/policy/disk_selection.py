"""Which disks each volume may take: its own first, then blank ones in order. Pure.

A disk that is named by serial is for that volume alone, one with a role for the volumes
with that role, and the rest for volumes by kind. What carries a volume's name is that volume's
before anything is given out. Then each volume that counts takes as many free disks as it
lacks, in the order of the layout and of the disks' ids; whoever does not count has the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appliance.model import Disk, DiskKind, Layout, Selector, Volume
from appliance.storage.formats import serials
from appliance.storage.policy import exclusions
from appliance.storage.policy.ownership import Carrier, Evidence


@dataclass(frozen=True, slots=True)
class Pool:
    """One volume's disks.

    ``disks``: all that its selector matches and no other selector claims more exactly.
    ``own``: those of them that carry it; ``strays``: what carries it and is not selected.
    ``free``: disks that it may take besides; ``against``: those that it may not take, each
    with the reason; a volume that counts has them only if it lacks disks. ``undecided``: those that
    may be a part of this volume, nobody can tell, however many are free. ``spare``: free disks
    that nobody counts on. ``wanted``: how many disks it should have, ``None`` if nobody knows.
    ``absent``: serials that were named and are not here. ``late`` says in words that disks are
    missing which might be this volume's; ``open_ended`` that nobody knows how many there are.
    """

    disks: tuple[Disk, ...]
    own: tuple[Carrier, ...]
    strays: tuple[Carrier, ...]
    free: tuple[Disk, ...]
    against: tuple[tuple[Disk, str], ...]
    spare: tuple[Disk, ...]
    wanted: int | None
    absent: tuple[str, ...]
    late: str
    open_ended: bool
    undecided: tuple[tuple[Disk, str], ...] = ()


def allot(evidence: Evidence, layout: Layout) -> tuple[Pool, ...]:
    """A pool for each volume of ``layout``, in its order."""
    matched = _matched(evidence, layout)
    own_ids: dict[str, list[Carrier]] = {}
    undecided = {key: _undecided(evidence, disks) for key, disks in matched.items()}
    declared = set(layout.volume_names)
    remaining: defaultdict[tuple[str, ...], list[Disk]] = defaultdict(list)
    for key, disks in matched.items():
        # What carries a declared volume is not given out, whether or not it is brought up.
        unknown = {disk.id for disk, _ in undecided[key]}
        remaining[key] = [
            disk
            for disk in disks
            if disk.id not in unknown
            and ((trace := evidence.traces.get(disk.id)) is None or trace.volume not in declared)
        ]
    for volume in layout.volumes:
        ids = {disk.id for disk in matched[_key(volume.select)]}
        carriers = evidence.carriers.get(volume.name, ())
        own_ids[volume.name] = [one for one in carriers if one.disk.id in ids]
    taken: dict[str, tuple[tuple[Disk, ...], tuple[tuple[Disk, str], ...]]] = {}
    for volume in layout.volumes:
        if volume.select.count is not None and not volume.select.serials:
            lacks = max(0, volume.select.count - len(own_ids[volume.name]))
            key = _key(volume.select)
            taken[volume.name], remaining[key] = _take(evidence, volume, remaining[key], lacks)
    uncounted = {_key(volume.select) for volume in layout.volumes if volume.name not in taken}
    pools = []
    for volume in layout.volumes:
        key = _key(volume.select)
        if volume.name not in taken:
            taken[volume.name], remaining[key] = _take(evidence, volume, remaining[key], None)
        free, against = taken[volume.name]
        pools.append(
            _pool(
                evidence,
                layout,
                volume,
                disks=matched[key],
                own=own_ids[volume.name],
                free=free,
                against=against,
                undecided=undecided[key],
                spare=() if key in uncounted else tuple(remaining[key]),
            )
        )
    return tuple(pools)


def _key(select: Selector) -> tuple[str, ...]:
    if select.serials:
        return ("serials", *select.serials)
    return ("role", select.role) if select.role else ("kind", select.kind or "")


def _matched(evidence: Evidence, layout: Layout) -> dict[tuple[str, ...], list[Disk]]:
    """The disks of each selector, the most exact one first."""
    by_serial: dict[str, tuple[str, ...]] = {}
    for volume in layout.volumes:
        for serial in volume.select.serials:
            by_serial.setdefault(serials.plain(serial), _key(volume.select))
    matched: dict[tuple[str, ...], list[Disk]] = {
        _key(volume.select): [] for volume in layout.volumes
    }
    for disk in evidence.disks:
        if disk.kind is DiskKind.SYSTEM or disk.holds_root:
            continue
        if key := by_serial.get(serials.plain(disk.serial)) if disk.serial else None:
            matched[key].append(disk)
        elif disk.role:
            # The operator singled it out: it is nobody's by kind any more.
            matched.get(("role", disk.role), []).append(disk)
        elif disk.kind is DiskKind.INSTANCE_STORE:
            matched.get(("kind", disk.kind), []).append(disk)
    return matched


def _undecided(evidence: Evidence, disks: Sequence[Disk]) -> tuple[tuple[Disk, str], ...]:
    return tuple(
        (disk, why)
        for disk in disks
        if disk.id not in evidence.traces
        and (why := exclusions.undecidable(disk, privileged=evidence.privileged))
    )


def _take(
    evidence: Evidence, volume: Volume, disks: Sequence[Disk], lacks: int | None
) -> tuple[tuple[tuple[Disk, ...], tuple[tuple[Disk, str], ...]], list[Disk]]:
    """((free, against), what is left): ``lacks`` free disks, or all for ``None``."""
    free: list[Disk] = []
    against: list[tuple[Disk, str]] = []
    left: list[Disk] = []
    for disk in disks:
        if lacks is not None and len(free) >= lacks:
            left.append(disk)
            continue
        problem = exclusions.to_taking(
            disk, evidence.traces.get(disk.id), volume.name, privileged=evidence.privileged
        )
        if problem:
            against.append((disk, problem))
        else:
            free.append(disk)
    if lacks is not None:
        left += [disk for disk, _ in against]
        if len(free) >= lacks:
            against = []
    return (tuple(free), tuple(against)), left


def _pool(
    evidence: Evidence,
    layout: Layout,
    volume: Volume,
    *,
    disks: Sequence[Disk],
    own: Sequence[Carrier],
    free: tuple[Disk, ...],
    against: tuple[tuple[Disk, str], ...],
    undecided: tuple[tuple[Disk, str], ...],
    spare: tuple[Disk, ...],
) -> Pool:
    select = volume.select
    ids = {disk.id for disk in disks}
    carriers = evidence.carriers.get(volume.name, ())
    here = {serials.plain(disk.serial) for disk in disks}
    absent = tuple(one for one in select.serials if serials.plain(one) not in here)
    wanted, late, open_ended = select.count, "", select.count is None
    if select.serials:
        wanted, open_ended = len({serials.plain(one) for one in select.serials}), False
        late = f"not here: the disks with serial {', '.join(absent)}" if absent else ""
    elif select.kind is DiskKind.INSTANCE_STORE and not select.role:
        wanted, late, open_ended = _by_kind(evidence, layout, volume)
    elif wanted is not None:
        open_ended = True
        if len(own) + len(free) + len(against) + len(undecided) < wanted:
            late = f"found {_disks(len(disks))} with role '{select.role}'"
            late += f", the layout counts {wanted}"
    return Pool(
        disks=tuple(disks),
        own=tuple(own),
        strays=tuple(one for one in carriers if one.disk.id not in ids),
        free=free,
        against=against,
        spare=spare,
        wanted=wanted,
        absent=absent,
        late=late,
        open_ended=open_ended,
        undecided=undecided,
    )


def _by_kind(evidence: Evidence, layout: Layout, volume: Volume) -> tuple[int | None, str, bool]:
    """(wanted, late, open-ended) of a volume that takes instance storage."""
    machine = evidence.machine
    count, expected = volume.select.count, machine.expected_disks
    if expected is None:
        return count, "", True
    stores = [disk for disk in evidence.disks if disk.kind is DiskKind.INSTANCE_STORE]
    late = ""
    if len(stores) < expected:
        late = f"found {_disks(len(stores))} of instance storage,"
        late += f" {machine.machine_type} has {expected}"
    if count is not None:
        return count, late, False
    named = {serials.plain(one) for other in layout.volumes for one in other.select.serials}
    elsewhere = sum(1 for disk in stores if disk.role or serials.plain(disk.serial) in named)
    counted = sum(
        other.select.count or 0
        for other in layout.volumes
        if _key(other.select) == _key(volume.select)
    )
    return max(0, expected - elsewhere - counted), late, False


def _disks(number: int) -> str:
    return "1 disk" if number == 1 else f"{number} disks"


def claimed_twice(layout: Layout) -> Mapping[str, Sequence[str]]:
    """Volume -> serials that another volume names, too."""
    users: defaultdict[str, list[str]] = defaultdict(list)
    for volume in layout.volumes:
        for serial in sorted({serials.plain(one) for one in volume.select.serials}):
            users[serial].append(volume.name)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for serial, names in users.items():
        for name in names if len(names) > 1 else ():
            found[name].append(serial)
    return found


# For a volume whose disks are not given out here.
EMPTY = Pool((), (), (), (), (), (), None, (), "", open_ended=False)
