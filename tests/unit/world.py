"""A machine in memory on which a plan's steps are carried out, as far as the planner can see."""

from __future__ import annotations

import pickle
from typing import Any

from appliance.model.disks import (
    Array,
    Disk,
    Filesystem,
    Inventory,
    LogicalVolume,
    LvmMember,
    Machine,
    MdMember,
    Signature,
    VolumeGroup,
)
from appliance.model.plans import Layout
from appliance.storage.policy.identity import identify_all
from tests.unit.boxes import DATA_OFFSET, MIB, Box, Running, is_making
from tests.unit.programs import Programs


class World(Programs):
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.boxes: list[Box] = []
        self.arrays: list[Running] = []
        self.groups: dict[str, dict[str, Any]] = {}
        # What an array or logical volume holds is on its disks: by uuid of array or group.
        self.inside: dict[str, Filesystem | None] = {}
        self.counter = 0

    def copy(self) -> World:
        # Quicker than deepcopy, and this is done thousands of times.
        return pickle.loads(pickle.dumps(self))  # noqa: S301

    def add(self, number: int, model: str, size: int, serial: str = "") -> Box:
        box = Box(serial or f"AWS{number:05d}", size, model, number)
        self.boxes.append(box)
        return box

    def power_cut(self) -> None:
        """Everything that the kernel knows is gone."""
        self.arrays = []
        for box in self.boxes:
            box.mounts = []
        for group in self.groups.values():
            if group["lv"] is not None:
                group["lv"]["active"] = False
                group["lv"]["mount"] = ""

    # ------------------------------------------------------------------------- seen

    def inventory(self, layout: Layout) -> Inventory:
        arrays = tuple(self._array(one) for one in self.arrays)
        groups = tuple(found for name in self.groups if (found := self._group(name)))
        disks = tuple(self._disk(box) for box in self.boxes)
        return Inventory(
            machine=self.machine,
            disks=identify_all(disks, arrays, groups, layout, self.machine),
            arrays=arrays,
            groups=groups,
            privileged=True,
        )

    def _disk(self, box: Box) -> Disk:
        signatures: tuple[Signature, ...] = ()
        member = lvm = None
        holders: tuple[str, ...] = ()
        if box.md:
            signatures = (Signature("linux_raid_member", 4096, str(box.md["name"])),)
            member = self._member(box)
            holders = tuple(
                one.path.rpartition("/")[2] for one in self.arrays if box.id in one.members
            )
        elif box.pv:
            signatures = (Signature("LVM2_member", 536),)
            group = self.groups.get(str(box.pv["group"]))
            tags = tuple(group["tags"]) if group else ()
            lvm = LvmMember(
                str(box.pv["uuid"]), str(box.pv["group"]), str(group["uuid"]) if group else "", tags
            )
            lv = group["lv"] if group else None
            if lv and lv["active"] and any(box.id in one for one in lv["segments"]):
                holders = ("dm-0",)
        elif box.fs:
            signatures = (Signature(box.fs.kind, 0, box.fs.label, box.fs.uuid),)
        elif box.foreign:
            signatures = (Signature(box.foreign, 0x438),)
        notes = ()
        if box.pv and holders:
            name = str(box.pv["group"])
            volume = name.removeprefix("stripewright-")
            notes = (f"LVM volume '{name.replace('-', '--')}-{volume.replace('-', '--')}'",)
        return Disk(
            path=box.path,
            id=box.id,
            model=box.model,
            serial=box.serial,
            size_bytes=box.size,
            transport="nvme",
            signatures=signatures,
            blank=not signatures and not box.data,
            holders=holders,
            holder_notes=notes,
            busy=bool(holders or box.mounts),
            mountpoints=tuple(box.mounts),
            md_member=member,
            lvm_member=lvm,
            filesystem=box.fs,
            mark=box.mark,
            stable_path=box.link,
        )

    def _member(self, box: Box) -> MdMember:
        found = box.md or {}
        return MdMember(
            array_name=str(found["name"]),
            array_uuid=str(found["uuid"]),
            member_uuid=f"0:0:0:{box.number}",
            level=str(found["level"]),
            member_count=found["count"],
            chunk_bytes=found["chunk"],
            slot=found["slot"],
            data_offset_bytes=DATA_OFFSET,
            filesystem=self.inside.get(str(found["uuid"])) if found["slot"] == 0 else None,
            layout="near=2" if found["level"] == "raid10" else "",
            events=found["events"],
            device_bytes=found["bytes"],
            active_slots=found["active"],
        )

    def _array(self, one: Running) -> Array:
        first = next(box.md for box in self.boxes if box.id in one.members and box.md)
        present = [box.md for box in self.boxes if box.id in one.members and box.md]
        used = [member["bytes"] for member in present]
        level, chunk, count = (
            str(first["level"]),
            first["chunk"],
            first["count"],
        )
        size = sum(one // chunk * chunk for one in used)
        if level == "raid10":
            size = min(used) * count // 2
        return Array(
            path=one.path,
            name=one.name,
            uuid=one.uuid,
            level=level,
            chunk_bytes=chunk,
            member_count=count,
            members=tuple(one.members),
            state="clean",
            size_bytes=size,
            filesystem=self.inside.get(one.uuid),
            mountpoint=one.mount,
            blank=self.inside.get(one.uuid) is None,
            layout="near=2" if level == "raid10" else "",
            degraded=count - len(one.members) if level == "raid10" else 0,
            sync_action="idle",
            member_bytes=min(used) if level == "raid10" else 0,
        )

    def _group(self, name: str) -> VolumeGroup | None:
        group = self.groups[name]
        members = [box for box in self.boxes if box.pv and box.pv["group"] == name]
        if not members:
            return None
        lv = group["lv"]
        volumes: tuple[LogicalVolume, ...] = ()
        if lv is not None:
            volumes = (
                LogicalVolume(
                    name=str(lv["name"]),
                    path=f"/dev/{name}/{lv['name']}",
                    size_bytes=lv["size"],
                    stripe_bytes=lv["chunk"],
                    segments=tuple(lv["segments"]),
                    active=lv["active"],
                    # Asleep, it is read only where a mark says that it was being made.
                    filesystem=self.inside.get(str(group["uuid"]))
                    if lv["active"] or any(map(is_making, filter(self._is_first, members)))
                    else None,
                    mountpoint=lv["mount"],
                ),
            )
        return VolumeGroup(
            name=name,
            uuid=str(group["uuid"]),
            tags=tuple(group["tags"]),
            members=tuple(box.id for box in members),
            member_count=group["count"],
            extent_bytes=4 * MIB,
            free_bytes=sum(box.pv["bytes"] for box in members if box.pv)
            - (lv["size"] if lv else 0),
            volumes=volumes,
            member_bytes=tuple(box.pv["bytes"] for box in members if box.pv),
        )
