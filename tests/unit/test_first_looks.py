"""What is remembered of a disk, and read of it, from one look to the next."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from appliance.model.disks import Disk, Inventory, Mark, MarkState
from appliance.model.plans import Layout, Volume
from appliance.storage.formats import marks, md, scan
from appliance.storage.formats.md import Area, Stripe
from appliance.storage.policy import identity
from appliance.storage.policy.layout import parse_layout
from appliance.storage.probe import devices, halfmade, probers, scanning
from appliance.system.kernel import Kernel
from tests.unit.fakesysfs import FakeSysfs

MIB, GIB = 1 << 20, 1 << 30
STORE = "Amazon EC2 NVMe Instance Storage"
LAYOUT = '[[volume]]\nname = "data"\nselect = { kind = "instance-store" }\nmount = "/mnt/data"\n'
RULE = '[[rule]]\nmodel = "Strange Disk"\nkind = "KIND"\nrole = "x"\n'
BY_ROLE = (
    '[scan]\ntime = "500ms"\n'
    + RULE
    + '[[volume]]\nname = "data"\nselect = { role = "x" }\nstripe = "single"\nmount = "/mnt/data"\n'
)


class Machine:
    """One disk, ``nvme1n1``, which is a file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sysfs = FakeSysfs(root)
        self.node = root / "dev/nvme1n1"

    def disk(self, model: str, size: int) -> None:
        self.sysfs.disk("nvme1n1", "259:10", model=model, serial="AWS1")
        self.sysfs.put("block/nvme1n1/size", str(size // 512))
        self.sysfs.put("block/nvme1n1/diskseq", "9")
        self.wrote(0)
        self.boot("one")
        (self.root / "etc").mkdir(exist_ok=True)
        (self.root / "etc/machine-id").write_text("ab" * 16 + "\n")
        self.node.parent.mkdir(parents=True, exist_ok=True)
        with self.node.open("wb") as file:
            file.truncate(size)

    def wrote(self, sectors: int) -> None:
        self.sysfs.put("block/nvme1n1/stat", f"0 0 0 0 0 0 {sectors}" + " 0" * 10)

    def boot(self, name: str) -> None:
        file = self.root / "proc/sys/kernel/random/boot_id"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name}\n")

    def look(self, layout: str = LAYOUT, *, note: bool = False) -> Inventory:
        return devices.probe(
            layout=parse_layout(layout, "x"),
            kernel=self.sysfs.kernel,
            privileged=True,
            note=note,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def of_kind(kind: str) -> str:
    return BY_ROLE.replace("KIND", kind)


def test_samples_are_no_beginning_of_reading_in_full(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.disk("Strange Disk", 4 * GIB)
    with machine.node.open("r+b") as file:
        file.seek(5 * MIB + 123 * 4096)
        file.write(b"precious")
    real = scanning.scan_device

    def slow(node: str, size: int, **how: object) -> scanning.Scanned:
        if how.get("in_full"):
            return real(node, size, **{**how, "seconds": 60})  # type: ignore[arg-type]
        return scanning.Scanned(scan.sampled(size, 300 * MIB, 4800))

    monkeypatch.setattr(scanning, "scan_device", slow)
    (sampled,) = machine.look(of_kind("instance-store")).disks
    assert sampled.blank is True
    (read,) = machine.look(of_kind("network")).disks
    assert read.blank is False


def test_a_beginning_of_reading_in_full_is_no_answer_by_samples(machine: Machine) -> None:
    machine.disk("Strange Disk", 4096 * GIB)
    (begun,) = machine.look(of_kind("network")).disks
    assert identity.being_read(begun)
    (sampled,) = machine.look(of_kind("instance-store")).disks
    assert not identity.being_read(sampled)
    assert sampled.blank is True


def test_what_is_written_during_the_first_look_is_noticed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.disk(STORE, 256 * MIB)
    real = scanning.scan_device

    def written(*arguments: object, **options: object) -> scanning.Scanned:
        machine.wrote(8)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(scanning, "scan_device", written)
    assert not machine.look(note=True).disks[0].seen_before
    assert machine.look(note=True).disks[0].seen_before


def test_a_disk_that_a_later_layout_knows_was_seen_before(machine: Machine) -> None:
    machine.disk("Strange Disk", 256 * MIB)
    machine.look(note=True)
    machine.boot("two")
    assert machine.look(RULE.replace("KIND", "instance-store") + LAYOUT).disks[0].seen_before


@pytest.mark.parametrize("sectors", [1 << 54, 1 << 63])
def test_a_superblock_whose_array_begins_behind_every_disk(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, sectors: int
) -> None:
    machine.disk(STORE, 256 * MIB)
    block = bytearray(4096)
    struct.pack_into("<III", block, 0, 0xA92B4EFC, 1, 0)
    block[32:50] = f"{md.HOMEHOST}:data".encode().ljust(18, b"\0")
    struct.pack_into("<iIQII", block, 72, 0, 0, 0, 512, 2)
    struct.pack_into("<QQQ", block, 128, sectors, 1000, 8)
    struct.pack_into("<QQII", block, 200, 1, 0, 0, 2)
    struct.pack_into("<HH", block, 256, 0, 1)
    struct.pack_into("<I", block, 216, md._checksum(bytes(block[:260])))
    member = md.parse_superblock(bytes(block))
    assert member is not None
    with machine.node.open("r+b") as file:
        file.seek(4096)
        file.write(block)
    monkeypatch.setattr(probers, "ask", lambda nodes: [(md.signature(member),) for _ in nodes])
    (disk,) = machine.look().disks
    assert disk.blank is not True


def test_mkfs_shows_once_what_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size, uuid, disks = 64 * MIB, "9c4f34e5" * 4, []
    for number in range(4):
        node = tmp_path / f"d{number}"
        note = marks.Note(
            MarkState.MAKING, "data", "", "S", size, "ab" * 16, filesystem_uuid=uuid, blank=True
        )
        with node.open("wb") as file:
            file.truncate(size)
            file.seek(marks.front_offset())
            file.write(marks.encode(note))
            file.seek(40 * MIB)
            file.write(b"a bitmap")
        mark = Mark(MarkState.MAKING, "data", "", marks.front_offset(), "n", filesystem_uuid=uuid)
        disks.append(Disk(str(node), str(number), "m", "S", size, blank=False, mark=mark))
    stripe = Stripe(tuple(Area(MIB, 62 * MIB) for _ in disks), 262144)
    made = halfmade._Made(stripe, tuple(disks), 248 * MIB)
    monkeypatch.setattr(halfmade, "_made", lambda *_: made)
    asked: list[int] = []

    def mkfs(*_: object) -> Mapping[int, Mapping[int, bytes]]:
        asked.append(threading.get_ident())
        time.sleep(0.1)
        return {}

    monkeypatch.setattr(halfmade, "_written_by_mkfs", mkfs)
    layout = Layout((Volume("data", "md-raid0", "ext4", "/mnt/data"),), scan_seconds=0.2)
    halfmade.look(disks, (), (), layout, Kernel(dev_root=tmp_path / "dev"))
    assert len(asked) == 1
