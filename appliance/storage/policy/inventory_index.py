"""One inventory, sorted by what the planner asks of it. Pure; built once for each plan.

Everything that is asked for each disk or each volume is a look-up here: a machine may have a
thousand disks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from appliance.model import Array, Disk, Inventory, LogicalVolume, Machine, VolumeGroup
from appliance.storage.formats import md
from appliance.storage.policy import exclusions, identity, ownership
from appliance.storage.policy.ownership import Carrier, Form, Trace

# array_state of an array that exists but does not run (Documentation/admin-guide/md.rst).
_NOT_RUNNING = frozenset({"clear", "inactive"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen, by disk id and by volume name."""

    inventory: Inventory
    disks: tuple[Disk, ...]
    by_id: dict[str, Disk]
    traces: dict[str, Trace]
    carriers: dict[str, tuple[Carrier, ...]]
    twins: frozenset[str] = frozenset()
    arrays_of: dict[str, tuple[Array, ...]] = field(default_factory=dict)
    groups: dict[str, tuple[VolumeGroup, ...]] = field(default_factory=dict)

    @property
    def machine(self) -> Machine:
        return self.inventory.machine

    @property
    def privileged(self) -> bool:
        return self.inventory.privileged

    def arrays_on(self, disks: Iterable[Disk]) -> tuple[Array, ...]:
        """The arrays that the kernel has on any of ``disks``, each once."""
        found = {id(one): one for disk in disks for one in self.arrays_of.get(disk.id, ())}
        return tuple(sorted(found.values(), key=lambda one: (one.uuid, one.path)))

    def group(self, volume: str, uuid: str = "") -> VolumeGroup | None:
        """The volume's group, by uuid where one is given."""
        found = self.groups.get(ownership.group_name(volume), ())
        return next((one for one in found if not uuid or one.uuid == uuid), None)

    def holders(self, disk: Disk) -> frozenset[str]:
        """The kernel names of what is ours on ``disk``: our array, our logical volumes."""
        trace = self.traces.get(disk.id)
        if trace is None:
            return frozenset()
        if trace.form is Form.LVM:
            return self._mapped(disk, trace)
        return frozenset(
            array.path.rpartition("/")[2]
            for array in self.arrays_of.get(disk.id, ())
            if md.volume_of(array.name) == trace.volume or not array.name
        )

    def _mapped(self, disk: Disk, trace: Trace) -> frozenset[str]:
        """Kernel names (dm-0) say nothing: as many are ours as are active on this disk.

        An extension that was killed may have loaded its table and not written the group: then
        our volume holds a disk on which it has no segment, and only its own name tells.
        """
        group = self.group(trace.volume)
        ours = [
            one
            for one in (group.volumes if group else ())
            if one.active and any(disk.id in segment for segment in one.segments)
        ]
        mapped = [name for name in disk.holders if name.startswith("dm-")]
        known = {one.path.rpartition("/")[2] for one in ours}
        if group is not None and disk.id in group.members:
            own = {exclusions.lvm_note(group.name, one.name) for one in group.volumes if one.active}
            notes = zip(disk.holders, disk.holder_notes, strict=False)
            known |= {name for name, note in notes if note in own}
        return frozenset(mapped) if len(mapped) <= len(ours) else frozenset(known)


def gather(inventory: Inventory, names: Collection[str]) -> Evidence:
    """Sort ``inventory``; ``names`` are the volumes whose label is ours on a plain disk."""
    disks = tuple(sorted(inventory.disks, key=_order))
    by_id = {disk.id: disk for disk in disks}
    seen = [(disk, ownership.trace(disk, names)) for disk in disks]
    carriers: defaultdict[str, list[Carrier]] = defaultdict(list)
    for disk, trace in seen:
        if trace is not None:
            carriers[trace.volume].append(Carrier(disk, trace))
    arrays_of: defaultdict[str, list[Array]] = defaultdict(list)
    for array in inventory.arrays:
        for member in set(array.members):
            arrays_of[member].append(array)
    groups: defaultdict[str, list[VolumeGroup]] = defaultdict(list)
    for group in inventory.groups:
        groups[group.name].append(group)
    return Evidence(
        inventory=inventory,
        disks=disks,
        by_id=by_id,
        traces={disk.id: trace for disk, trace in seen if trace is not None},
        carriers={name: tuple(found) for name, found in carriers.items()},
        twins=frozenset(one.id for one, _, _ in identity.twins(disks)),
        arrays_of={name: tuple(found) for name, found in arrays_of.items()},
        groups={name: tuple(found) for name, found in groups.items()},
    )


def runs(array: Array) -> bool:
    return array.state not in _NOT_RUNNING


def volume_in(group: VolumeGroup, name: str) -> LogicalVolume | None:
    return next((one for one in group.volumes if one.name == name), None)


def _order(disk: Disk) -> tuple[str, str, int, str]:
    return (disk.id, disk.serial, disk.size_bytes, disk.path)
