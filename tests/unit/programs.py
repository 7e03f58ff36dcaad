"""What each program of a plan does to disks, and what is left if it is killed half way.

It insists on what the real programs insist on: whoever makes something over contents without
having been told to fails, and so does who uses a disk twice.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from appliance.model.disks import Array, Filesystem, Machine, Mark, MarkState
from appliance.model.plans import Step
from appliance.storage.execute.builtin_steps import Marking
from appliance.storage.formats import filesystem, md
from tests.unit.boxes import DATA_OFFSET, FRONT, Box, Running, is_making
from tests.unit.lvm_programs import LvmPrograms


class Programs(LvmPrograms):
    """Everything that changes a :class:`tests.unit.world.World`."""

    machine: Machine
    boxes: list[Box]
    arrays: list[Running]
    groups: dict[str, dict[str, Any]]
    inside: dict[str, Filesystem | None]
    counter: int

    def _array(self, one: Running) -> Array:
        raise NotImplementedError

    def box(self, path: str) -> Box:
        return next(box for box in self.boxes if path in {box.path, box.link})

    def run(self, step: Step, *, only: int | None = None) -> None:
        """Carry out ``step``; ``only``: it was killed after so many of its disks."""
        argv = step.argv
        for lost in step.destroys:
            found = self.box(lost.path)
            assert not found.mounts, f"{lost.path} is mounted: {argv}"
            assert not self._held(found), f"{lost.path} is held: {argv}"
        if argv[:2] == ("stripewright", "chore"):
            self._chore(argv[2], argv[3:], only)
        else:
            name = argv[0].partition(".")[0] if argv[0].startswith("mkfs") else argv[0]
            getattr(self, "_" + name.replace("-", "_"))(argv, only)

    def _held(self, box: Box) -> bool:
        up = any(box.id in one.members for one in self.arrays)
        group = self.groups.get(str(box.pv["group"])) if box.pv else None
        return up or bool(group and group["lv"] and group["lv"]["active"])

    def _chore(self, name: str, words: tuple[str, ...], only: int | None) -> None:
        if name == "mark":
            wanted = Marking.of(words)
            boxes = sorted((self.box(path) for path in wanted.disks), key=self._is_first)
            if only is None or only == len(boxes):
                self._empty_inside(boxes[-1])
            # Killed after as many as there are: before the last mark, with the inside gone.
            for box in boxes if only is None else boxes[: min(only, len(boxes) - 1)]:
                self.counter += 1
                assert not box.foreign, f"{box.path} holds {box.foreign}"
                box.mark = Mark(
                    MarkState.MAKING,
                    wanted.volume,
                    self.machine.host_tag,
                    FRONT,
                    f"{self.counter:x}",
                    intact=True,
                    filesystem_uuid=wanted.filesystem_uuid,
                )
        elif name == "unmark":
            volume, *paths = words
            for path in paths[:only]:
                box = self.box(path)
                if box.mark and (box.mark.state is MarkState.RELEASED or box.mark.volume == volume):
                    box.mark = None
        elif name in {"release", "release-foreign"}:
            box = self.box(words[-1])
            assert not self._held(box)
            assert not box.mounts
            assert name == "release" or not box.foreign
            self.counter += 1
            volume = words[0] if name == "release" else "erased"
            box.mark = Mark(
                MarkState.RELEASED, volume, self.machine.host_tag, FRONT, f"{self.counter:x}", True
            )
            box.data = True
            if only is None:
                self._empty_inside(box)
                self._forget(box)
        else:
            assert name == "declare"

    def _empty_inside(self, box: Box) -> None:
        """What md or LVM made of the disk begins with no filesystem any more."""
        if self._is_first(box):
            self.inside[self._key_of(box)] = None

    def _is_first(self, box: Box) -> bool:
        if box.md:
            return bool(box.md["slot"] == 0)
        group = self.groups.get(str(box.pv["group"])) if box.pv else None
        return bool(group and group["lv"] and group["lv"]["segments"][0][0] == box.id)

    def _forget(self, box: Box) -> None:
        if box.md and box.md["slot"] == 0:
            box.ghost = self.inside.get(str(box.md["uuid"]))
        box.md = box.pv = box.fs = None

    def _empty(self, box: Box, *, force: bool) -> None:
        assert not box.foreign, f"{box.path} holds {box.foreign}"
        assert is_making(box), f"{box.path}: no mark"
        assert not self._held(box), f"{box.path} is held"
        # A tool that has not been told not to ask does so wherever it finds a signature.
        assert force or not (box.md or box.pv or box.fs), f"{box.path}: would be asked"
        box.data = True

    def _mdadm(self, argv: tuple[str, ...], only: int | None) -> None:
        options = dict(
            word[2:].split("=", 1) for word in argv if word.startswith("--") and "=" in word
        )
        if argv[1] == "--create":
            count = int(options["raid-devices"])
            self.counter += 1
            uuid = options.get("uuid", md.format_uuid(self.counter.to_bytes(16, "big")))
            boxes = [self.box(path) for path in argv[-count:]]
            for slot, box in enumerate(boxes[:only]):
                self._empty(box, force="--run" in argv)
                self._forget(box)
                box.md = {
                    "name": f"stripewright:{options['name']}",
                    "uuid": uuid,
                    "level": f"raid{options['level']}",
                    "count": count,
                    "chunk": int(options["chunk"].removesuffix("K")) * 1024,
                    "slot": slot,
                    "events": 1,
                    "bytes": box.size - DATA_OFFSET,
                    "active": tuple(range(count)),
                }
            if only is None:
                # Whatever an older array of the same shape held shines through the new one.
                self.inside[uuid] = boxes[0].ghost
                self._up(uuid, f"stripewright:{options['name']}", boxes)
        elif argv[1] == "--assemble":
            boxes = [self.box(word) for word in argv if word.startswith("/dev/disk/")]
            uuid = options["uuid"]
            for box in boxes:
                assert (box.md or {}).get("uuid") == uuid, f"{box.path} is no member"
            first = boxes[0].md or {}
            assert "--run" in argv or len(boxes) == first["count"], "not all members"
            if options.get("update") == "devicesize":
                for box in boxes:
                    assert box.md
                    box.md["bytes"] = box.size - DATA_OFFSET
            self._up(uuid, str(first["name"]), boxes)
        elif argv[1] == "--stop":
            found = self._running(argv[2])
            assert not found.mount, "still mounted"
            self.arrays.remove(found)
        elif argv[1] == "--manage":
            found = self._running(argv[2])
            assert argv[3] == "--add"
            for path in argv[4:]:
                box = self.box(path)
                template = next(one.md for one in self.boxes if one.id in found.members and one.md)
                taken = {one.md["slot"] for one in self.boxes if one.id in found.members and one.md}
                count = template["count"]
                slot = next(slot for slot in range(count) if slot not in taken)
                assert not box.foreign
                assert box.md is None or box.md["uuid"] == found.uuid
                box.md = {**template, "slot": slot, "bytes": box.size - DATA_OFFSET}
                box.data = True
                found.members.append(box.id)
                order = {one.id: one.md["slot"] for one in self.boxes if one.md}
                found.members.sort(key=lambda one: order[one])
                self._written(found)
        elif argv[1] == "--grow":
            found = self._running(argv[2])
            for box in self.boxes:
                if box.id in found.members and box.md:
                    box.md["bytes"] = box.size - DATA_OFFSET
        else:
            raise AssertionError(argv)

    def _up(self, uuid: str, name: str, boxes: list[Box]) -> None:
        for box in boxes:
            assert not self._held(box), f"{box.path} is held"
        found = Running(f"/dev/md{127 - len(self.arrays)}", uuid, name, [box.id for box in boxes])
        self.arrays.append(found)
        self._written(found)

    def _written(self, found: Running) -> None:
        """The superblocks of those that take part say who does."""
        members = [box for box in self.boxes if box.id in found.members and box.md]
        events = max(box.md["events"] for box in members if box.md) + 2
        active = tuple(sorted(box.md["slot"] for box in members if box.md))
        for box in members:
            assert box.md
            box.md["events"], box.md["active"] = events, active

    def _running(self, path: str) -> Running:
        return next(
            one
            for one in self.arrays
            if path in {one.path, md.array_path(one.name.partition(":")[2])}
        )

    def _mkfs(self, argv: tuple[str, ...], only: int | None) -> None:
        kind = argv[0].removeprefix("mkfs.")
        label = argv[argv.index("-L") + 1]
        device = filesystem.mkfs_device(argv)
        self.counter += 1
        uuid = next((word[5:] for word in argv if word.startswith("uuid=")), "")
        if "-U" in argv:
            uuid = argv[argv.index("-U") + 1]
        force = bool({"-f", "-F"} & set(argv))
        geometry = next((word for word in argv if "su=" in word), "")
        sunit = swidth = None
        if geometry:
            sunit = int(geometry.partition("su=")[2].partition(",")[0])
            swidth = sunit * int(geometry.partition("sw=")[2])
        made = Filesystem(
            kind, label, uuid or f"fs{self.counter}", sunit, swidth, unfinished=only is not None
        )
        if only == 0:
            return
        if device.startswith("/dev/disk/"):
            box = self.box(device)
            self._empty(box, force=force)
            self._forget(box)
            size = filesystem.plain_size(box.size)
            box.fs = Filesystem(
                kind, label, made.uuid, 0, 0, unfinished=made.unfinished, size_bytes=size
            )
            return
        key, size = self._device(device)
        assert force or self.inside.get(key) is None
        for box in self.boxes:
            if self._key_of(box) == key:
                assert is_making(box), f"{box.path}: no mark"
        self.inside[key] = Filesystem(
            kind, label, made.uuid, sunit, swidth, unfinished=made.unfinished, size_bytes=size
        )

    def _key_of(self, box: Box) -> str:
        if box.md:
            return str(box.md["uuid"])
        group = self.groups.get(str(box.pv["group"])) if box.pv else None
        return str(group["uuid"]) if group else ""

    def _device(self, path: str) -> tuple[str, int]:
        for name, group in self.groups.items():
            lv = group["lv"]
            if lv and lv["active"] and path == f"/dev/{name}/{lv['name']}":
                return str(group["uuid"]), lv["size"]
        found = self._running(path)
        return found.uuid, self._array(found).size_bytes

    def _mount(self, argv: tuple[str, ...], only: int | None) -> None:
        device, where = argv[-2], argv[-1]
        if device.startswith("/dev/disk/"):
            box = self.box(device)
            assert box.fs is not None
            assert not box.fs.unfinished
            self._used(box)
            box.mounts.append(where)
            return
        key, _ = self._device(device)
        found = self.inside[key]
        assert found is not None
        assert not found.unfinished
        for box in self.boxes:
            if self._key_of(box) == key:
                self._used(box)
        for name, group in self.groups.items():
            if group["uuid"] == key:
                group["lv"]["mount"] = where
                assert device.startswith(f"/dev/{name}/")
        for one in self.arrays:
            if one.uuid == key:
                one.mount = where

    def _used(self, box: Box) -> None:
        """What is mounted holds more than its making wrote."""
        if is_making(box) and box.mark:
            box.mark = replace(box.mark, intact=False)

    def _umount(self, argv: tuple[str, ...], only: int | None) -> None:
        for box in self.boxes:
            box.mounts = [one for one in box.mounts if one != argv[1]]
        for one in self.arrays:
            one.mount = "" if one.mount == argv[1] else one.mount
        for group in self.groups.values():
            if group["lv"] and group["lv"]["mount"] == argv[1]:
                group["lv"]["mount"] = ""

    def _wipefs(self, argv: tuple[str, ...], only: int | None) -> None:
        device = argv[-1]
        if device.startswith("/dev/disk/"):
            box = self.box(device)
            assert not box.mounts
            assert not self._held(box)
            self._forget(box)
            box.foreign = ""
            box.data = True
            return
        self.inside[self._device(device)[0]] = None

    def _xfs_growfs(self, argv: tuple[str, ...], only: int | None) -> None:
        self._grow_mounted(argv[-1])

    def _resize2fs(self, argv: tuple[str, ...], only: int | None) -> None:
        device = next(word for word in argv if word.startswith("/dev/"))
        if device.startswith("/dev/disk/"):
            self._grow_mounted(self.box(device).mounts[0])
            return
        key, _ = self._device(device)
        mounts = [one.mount for one in self.arrays if one.uuid == key]
        mounts += [str(one["lv"]["mount"]) for one in self.groups.values() if one["uuid"] == key]
        self._grow_mounted(mounts[0])

    def _grow_mounted(self, mount: str) -> None:
        assert mount
        for box in self.boxes:
            if mount in box.mounts and box.fs:
                box.fs = copy.copy(box.fs)
                box.fs = Filesystem(
                    box.fs.kind, box.fs.label, box.fs.uuid, 0, 0,
                    size_bytes=filesystem.plain_size(box.size),
                )  # fmt: skip
                return
        for one in self.arrays:
            if one.mount == mount:
                self._set_size(one.uuid, self._array(one).size_bytes)
                return
        for group in self.groups.values():
            if group["lv"] and group["lv"]["mount"] == mount:
                self._set_size(str(group["uuid"]), group["lv"]["size"])
                return
        raise AssertionError(f"{mount} is not mounted")

    def _set_size(self, key: str, size: int) -> None:
        found = self.inside[key]
        assert found
        self.inside[key] = Filesystem(
            found.kind, found.label, found.uuid, found.sunit_bytes, found.swidth_bytes,
            size_bytes=size,
        )  # fmt: skip
