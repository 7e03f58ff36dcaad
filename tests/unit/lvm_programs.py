"""What LVM's programs do to the machine in memory (:mod:`tests.unit.world`)."""

from __future__ import annotations

from typing import Any

from appliance.model.disks import Filesystem
from tests.unit.boxes import MIB, Box


class LvmPrograms:
    """``only``: killed after so many disks."""

    boxes: list[Box]
    groups: dict[str, dict[str, Any]]
    inside: dict[str, Filesystem | None]
    counter: int

    def box(self, path: str) -> Box:
        raise NotImplementedError

    def _empty(self, box: Box, *, force: bool) -> None:
        raise NotImplementedError

    def _forget(self, box: Box) -> None:
        raise NotImplementedError

    def _vgcreate(self, argv: tuple[str, ...], only: int | None) -> None:
        at = next(
            at
            for at, word in enumerate(argv)
            if word.startswith("stripewright-") and ":" not in word
        )
        name, boxes = argv[at], [self.box(path) for path in argv[at + 1 :]]
        for box in boxes[:only]:
            self._empty(box, force="--yes" in argv)
            assert box.pv is None or not box.pv["group"], f"{box.path} is in a group"
            self.counter += 1
            self._forget(box)
            box.pv = {"uuid": f"pv{self.counter}", "group": "", "bytes": self._extents(box)}
        if only is not None:
            return
        self.counter += 1
        tags = [argv[at + 1] for at, word in enumerate(argv) if word == "--addtag"]
        self.groups[name] = {
            "uuid": f"vg{self.counter}", "tags": tags, "count": len(boxes), "lv": None,
        }  # fmt: skip
        for box in boxes:
            assert box.pv
            box.pv["group"] = name

    @staticmethod
    def _extents(box: Box) -> int:
        return (box.size - MIB) // (4 * MIB) * (4 * MIB)

    def _lvcreate(self, argv: tuple[str, ...], only: int | None) -> None:
        group = self.groups[argv[-1]]
        assert group["lv"] is None
        members = [box for box in self.boxes if box.pv and box.pv["group"] == argv[-1]]
        width = int(argv[argv.index("--stripes") + 1])
        assert width == len(members) == group["count"]
        self.inside[str(group["uuid"])] = None
        group["lv"] = {
            "name": argv[argv.index("--name") + 1],
            "size": min(box.pv["bytes"] for box in members if box.pv) * width,
            "chunk": int(argv[argv.index("--stripesize") + 1].removesuffix("k")) * 1024,
            "segments": [tuple(box.id for box in members)],
            "active": True,
            "mount": "",
        }

    def _lvchange(self, argv: tuple[str, ...], only: int | None) -> None:
        group = self.groups[argv[-1].partition("/")[0]]
        members = [
            box for box in self.boxes if box.pv and box.pv["group"] == argv[-1].partition("/")[0]
        ]
        assert len(members) == group["count"], "incomplete"
        group["lv"]["active"] = True

    def _vgchange(self, argv: tuple[str, ...], only: int | None) -> None:
        lv = self.groups[argv[-1]]["lv"]
        if lv is not None:
            assert not lv["mount"]
            lv["active"] = False

    def _pvresize(self, argv: tuple[str, ...], only: int | None) -> None:
        for path in [word for word in argv if word.startswith("/dev/disk/") and "," not in word]:
            box = self.box(path)
            assert box.pv
            box.pv["bytes"] = self._extents(box)

    def _vgextend(self, argv: tuple[str, ...], only: int | None) -> None:
        at = next(
            at
            for at, word in enumerate(argv)
            if word.startswith("stripewright-") and ":" not in word
        )
        boxes = [self.box(path) for path in argv[at + 1 :]]
        for box in boxes[:only]:
            assert box.pv is None or not box.pv["group"]
            self._empty(box, force="--yes" in argv or box.pv is not None)
            self.counter += 1
            box.pv = {"uuid": f"pv{self.counter}", "group": "", "bytes": self._extents(box)}
        if only is None:
            for box in boxes:
                assert box.pv
                box.pv["group"] = argv[at]
            group = self.groups[argv[at]]
            group["count"] = group["count"] + len(boxes)

    def _lvextend(self, argv: tuple[str, ...], only: int | None) -> None:
        name = argv[-1].partition("/")[0]
        group = self.groups[name]
        lv = group["lv"]
        members = [box for box in self.boxes if box.pv and box.pv["group"] == name]
        width = int(argv[argv.index("--stripes") + 1])
        used = {one for segment in lv["segments"] for one in segment}
        idle = [box.id for box in members if box.id not in used]
        for at in range(0, len(idle) // width * width, width):
            lv["segments"].append(tuple(idle[at : at + width]))
        by_id = {box.id: box.pv["bytes"] for box in members if box.pv}
        lv["size"] = sum(min(by_id[one] for one in segment) * width for segment in lv["segments"])
