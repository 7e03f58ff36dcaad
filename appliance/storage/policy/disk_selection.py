"""Which disks each volume may take: its own first, then blank ones in order. Pure.

A disk that is named by serial is for that volume alone, one with a role for the volumes
with that role, and the rest for volumes by kind. What carries a volume's name is that volume's
before anything is given out. Then each volume that counts takes as many free disks as it
lacks, in the order of the layout and of the disks' ids; one that does not count has the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from appliance.model.disks import Disk, DiskKind
from appliance.model.plans import Layout, Selector, Volume
from appliance.storage.formats import serials
from appliance.storage.policy import exclusions
from appliance.storage.policy.ownership import Carrier, Evidence
from appliance.storage.policy.steps import count_disks

# Disks, each with what speaks against it.
Reasons = tuple[tuple[Disk, str], ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """One volume's disks.

    ``disks``: all that its selector matches and no other selector claims more exactly.
    ``own``: those of them that carry it; ``strays``: what carries it and is not selected.
    ``free``: disks that it may take besides; ``against``: those that it may not take, each
    with the reason; a volume that counts has them only if it lacks disks. ``undecided``: those that
    may be a part of this volume, however many are free. ``spare``: free disks that no volume
    counts. ``wanted``: how many disks it should have, ``None`` if that is not known. ``absent``:
    serials that were named and are not here. ``late`` says in words that disks are missing which
    might be this volume's; ``open_ended`` that it is not known how many there are.
    """

    disks: tuple[Disk, ...] = ()
    own: tuple[Carrier, ...] = ()
    strays: tuple[Carrier, ...] = ()
    free: tuple[Disk, ...] = ()
    against: Reasons = ()
    undecided: Reasons = ()
    spare: tuple[Disk, ...] = ()
    wanted: int | None = None
    absent: tuple[str, ...] = ()
    late: str = ""
    open_ended: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One volume that is decided about, and its disks.

    ``waited``: the time that a late disk is given has passed; what would be ``wait`` is then
    decided. ``settled``: no disk has come for a while, which is all that can be waited for where
    their number is not known. ``grow``: the operator confirms the plan, and lets the volume take
    what room there is.
    """

    seen: Evidence
    volume: Volume
    pool: Pool
    waited: bool
    settled: bool
    grow: bool


def allot(seen: Evidence, layout: Layout) -> tuple[Pool, ...]:
    """A pool for each volume of ``layout``, in its order."""
    matched = _matched(seen, layout)
    undecided = {key: _undecided(seen, disks) for key, disks in matched.items()}
    declared = set(layout.volume_names)
    remaining: dict[tuple[str, ...], list[Disk]] = {}
    for key, disks in matched.items():
        # What carries a declared volume is not given out, whether or not it is brought up.
        unknown = {disk.id for disk, _ in undecided[key]}
        remaining[key] = [
            disk
            for disk in disks
            if disk.id not in unknown
            and ((trace := seen.traces.get(disk.id)) is None or trace.volume not in declared)
        ]
    counted = [
        one for one in layout.volumes if one.select.count is not None and not one.select.serials
    ]
    own: dict[str, list[Carrier]] = {}
    for volume in layout.volumes:
        ids = {disk.id for disk in matched[_key(volume.select)]}
        carriers = seen.carriers.get(volume.name, ())
        own[volume.name] = [one for one in carriers if one.disk.id in ids]
    taken: dict[str, tuple[tuple[Disk, ...], Reasons]] = {}
    # Those that count take first.
    for volume in (*counted, *(one for one in layout.volumes if one not in counted)):
        key, count = _key(volume.select), volume.select.count
        lacks = max(0, (count or 0) - len(own[volume.name])) if volume in counted else None
        free, against, remaining[key] = _take(seen, volume, remaining[key], lacks)
        taken[volume.name] = (free, against)
    uncounted = {_key(one.select) for one in layout.volumes if one not in counted}
    pools = []
    for volume in layout.volumes:
        key = _key(volume.select)
        carriers = seen.carriers.get(volume.name, ())
        ids = {disk.id for disk in matched[key]}
        free, against = taken[volume.name]
        pool = Pool(
            disks=tuple(matched[key]),
            own=tuple(own[volume.name]),
            strays=tuple(one for one in carriers if one.disk.id not in ids),
            free=free,
            against=against,
            undecided=undecided[key],
            spare=() if key in uncounted else tuple(remaining[key]),
        )
        pools.append(_expected(seen, layout, volume, pool))
    return tuple(pools)


def _key(select: Selector) -> tuple[str, ...]:
    if select.serials:
        return ("serials", *select.serials)
    return ("role", select.role) if select.role else ("kind", select.kind or "")


def _matched(seen: Evidence, layout: Layout) -> dict[tuple[str, ...], list[Disk]]:
    """The disks of each selector, the most exact one first."""
    by_serial: dict[str, tuple[str, ...]] = {}
    for volume in layout.volumes:
        for serial in volume.select.serials:
            by_serial.setdefault(serials.plain(serial), _key(volume.select))
    matched: dict[tuple[str, ...], list[Disk]] = {
        _key(volume.select): [] for volume in layout.volumes
    }
    for disk in seen.disks:
        if disk.kind is DiskKind.SYSTEM or disk.holds_root:
            continue
        if key := by_serial.get(serials.plain(disk.serial)) if disk.serial else None:
            matched[key].append(disk)
        elif disk.role:
            # The operator singled it out: it no longer counts by its kind.
            matched.get(("role", disk.role), []).append(disk)
        elif disk.kind is DiskKind.INSTANCE_STORE:
            matched.get(("kind", disk.kind), []).append(disk)
    return matched


def _undecided(seen: Evidence, disks: Sequence[Disk]) -> Reasons:
    return tuple(
        (disk, why)
        for disk in disks
        if disk.id not in seen.traces
        and (why := exclusions.undecidable(disk, privileged=seen.privileged))
    )


def _take(
    seen: Evidence, volume: Volume, disks: Sequence[Disk], lacks: int | None
) -> tuple[tuple[Disk, ...], Reasons, list[Disk]]:
    """(free, against, what is left): ``lacks`` free disks, or all for ``None``."""
    free: list[Disk] = []
    against: list[tuple[Disk, str]] = []
    left: list[Disk] = []
    for disk in disks:
        if lacks is not None and len(free) >= lacks:
            left.append(disk)
            continue
        problem = exclusions.to_taking(
            disk, seen.traces.get(disk.id), volume.name, privileged=seen.privileged
        )
        if problem:
            against.append((disk, problem))
        else:
            free.append(disk)
    if lacks is not None:
        left += [disk for disk, _ in against]
        if len(free) >= lacks:
            against = []
    return tuple(free), tuple(against), left


def _expected(seen: Evidence, layout: Layout, volume: Volume, pool: Pool) -> Pool:
    """``pool`` with how many disks there should be, and which of them are not here."""
    select, disks = volume.select, pool.disks
    here = {serials.plain(disk.serial) for disk in disks}
    absent = tuple(one for one in select.serials if serials.plain(one) not in here)
    wanted, late, open_ended = select.count, "", select.count is None
    if select.serials:
        wanted, open_ended = len({serials.plain(one) for one in select.serials}), False
        late = f"not here: the disks with serial {', '.join(absent)}" if absent else ""
    elif select.kind is DiskKind.INSTANCE_STORE and not select.role:
        wanted, late, open_ended = _by_kind(seen, layout, volume)
    elif wanted is not None:
        open_ended = True
        if len(pool.own) + len(pool.free) + len(pool.against) + len(pool.undecided) < wanted:
            late = f"found {count_disks(len(disks))} with role '{select.role}'"
            late += f", the layout counts {wanted}"
    return replace(pool, wanted=wanted, absent=absent, late=late, open_ended=open_ended)


def _by_kind(seen: Evidence, layout: Layout, volume: Volume) -> tuple[int | None, str, bool]:
    """(wanted, late, open-ended) of a volume that takes instance storage."""
    machine = seen.machine
    count, expected = volume.select.count, machine.expected_disks
    if expected is None:
        return count, "", True
    stores = [disk for disk in seen.disks if disk.kind is DiskKind.INSTANCE_STORE]
    late = ""
    if len(stores) < expected:
        late = f"found {count_disks(len(stores))} of instance storage,"
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
