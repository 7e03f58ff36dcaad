"""Before a mount, which replays a log, the filesystem has to be the one that was declared."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import Refused
from appliance.model.disks import Disk, Inventory, LogicalVolume, Machine, VirtualDrive
from appliance.model.plans import Decision, Layout, Plan, Step, Volume, VolumePlan
from appliance.storage.execute import apply, verify
from appliance.storage.execute.record import Record
from appliance.storage.formats import hwraid
from appliance.storage.policy import steps
from appliance.storage.probe import blockdev
from appliance.system import journal, process, services
from appliance.system.kernel import Kernel
from tests.unit.disks import disk, group, member, pv

KIB = 1024
_DATA = Path(__file__).parent / "data/storage"
# Two members of 256 KiB, as the superblock has it.
LOGS = Volume("logs", "/mnt/logs", filesystem="ext4", stripe="lvm-stripe")
# Four.
SCRATCH = Volume("scratch", "/mnt/scratch")


def ext4(**fields: tuple[int, bytes]) -> bytes:
    """The superblock of a real ext4, with ``fields`` (offset, bytes) put into it."""
    block = bytearray((_DATA / "ext4-superblock.bin").read_bytes().ljust(4096, b"\0"))
    for offset, data in fields.values():
        block[1024 + offset : 1024 + offset + len(data)] = data
    return bytes(block)


def xfs(**fields: tuple[int, bytes]) -> bytes:
    block = bytearray((_DATA / "xfs-superblock.bin").read_bytes().ljust(4096, b"\0"))
    for offset, data in fields.values():
        block[offset : offset + len(data)] = data
    return bytes(block)


class Room:
    """A device whose mount is the last step of a plan, and what was run."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.device = root / "device"
        self.ran: list[str] = []
        self._record = _NoRecord(root / "db")
        self._file = root / "layout.toml"
        monkeypatch.setattr(process, "run", self._run)
        monkeypatch.setattr(services, "systemd_is_running", lambda: False)
        monkeypatch.setattr(verify, "check", lambda *_: None)
        monkeypatch.setattr(verify, "mountpoint_problem", lambda *_, **__: "")
        monkeypatch.setattr(apply, "_make_mountpoint", lambda _: None)
        monkeypatch.setattr(apply, "_unmarked", lambda *_: "")
        monkeypatch.setattr(journal, "event", lambda *_, **__: None)

    def _run(self, argv: tuple[str, ...], **_: Any) -> process.Completed:
        self.ran.append(argv[0])
        return process.Completed(tuple(argv), 0, "", "")

    def mount(
        self, volume: Volume, inventory: Inventory, *before: str, content: bytes | None = None
    ) -> Refused | None:
        """Run the programs ``before`` and the mount; the refusal if it was refused."""
        self.ran.clear()
        if content is not None:
            self.device.write_bytes(content)
        made = [Step((one, "--x"), "", volume=volume.name) for one in before]
        plan = Plan(
            Decision.ASSEMBLE,
            "d" * 64,
            (
                VolumePlan(
                    volume.name, Decision.ASSEMBLE, "", tuple(one.path for one in inventory.disks)
                ),
            ),
            (*made, steps.mount_step(volume, str(self.device))),
        )
        work = apply.work_of(plan, Layout((volume,)), inventory, Kernel(), layout_file=self._file)
        error = apply.run_plan(work, record=self._record).failed.get(volume.name)
        assert error is None or isinstance(error, Refused)
        assert ("mount" in self.ran) == (error is None)
        return error


class _NoRecord(Record):
    def audit(self, *_: object) -> None: ...


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    return Room(tmp_path, monkeypatch)


def seen(*disks: Disk, **more: Any) -> Inventory:
    return Inventory(Machine(), disks, privileged=True, **more)


def logs_group(count: int = 2, width: int = 2) -> Inventory:
    """Our group with ``count`` disks, its logical volume asleep and ``width`` disks wide."""
    disks = tuple(pv(number) for number in range(count))
    ids = [one.id for one in disks]
    segments = tuple(tuple(ids[at : at + width]) for at in range(0, count, width))
    logical = LogicalVolume("logs", "/dev/x", 10**9, 256 * KIB, segments, active=False)
    return seen(*disks, groups=(group(*disks, logical=logical),))


def controllers(count: int) -> Inventory:
    """A virtual drive of ours made of ``count`` drives."""
    name = hwraid.virtual_name("scratch")
    drives = tuple(f"252:{at}" for at in range(count))
    drive = VirtualDrive(0, 1, name, "raid0", 256 * KIB, 10**9, "Optl", "", drives)
    return seen(disk(1), virtual_drives=(drive,))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (ext4(label=(0x78, b"pgdata\0")), "holds ext4 labelled 'pgdata'"),
        (xfs(label=(108, b"logs\0\0\0")), "holds xfs labelled 'logs'"),
        (bytes(4096), "holds neither XFS nor ext4"),
        (
            ext4(stride=(0x164, struct.pack("<H", 16))),
            "holds a filesystem with sunit 65536 and swidth 524288",
        ),
        (
            ext4(width=(0x170, struct.pack("<I", 64))),
            "holds a filesystem with sunit 262144 and swidth 262144",
        ),
    ],
)
def test_what_is_in_a_sleeping_group_is_read_before_it_is_mounted(
    room: Room, content: bytes, found: str
) -> None:
    error = room.mount(LOGS, logs_group(), "lvchange", content=content)
    assert error is not None
    assert room.ran == ["lvchange"]
    assert error.message.startswith(f"{room.device} {found}")
    assert "done before: lvchange" in error.message
    assert "it was not mounted" in error.hint
    assert room.device.read_bytes() == content


def test_what_was_expected_is_told(room: Room) -> None:
    error = room.mount(LOGS, logs_group(), content=ext4(label=(0x78, b"pgdata\0")))
    assert error is not None
    assert "not ext4 labelled 'logs'" in error.message
    error = room.mount(LOGS, logs_group(), content=bytes(4096))
    assert error is not None
    assert "should hold ext4 labelled 'logs'" in error.message
    error = room.mount(LOGS, logs_group(3, 3), content=ext4())
    assert error is not None
    assert "chunk and members make 262144 and 786432" in error.message


def test_a_device_that_cannot_be_read_is_not_mounted(room: Room) -> None:
    error = room.mount(LOGS, logs_group(), "lvchange")
    assert error is not None
    assert f"{room.device} cannot be read (No such file or directory)" in error.message


def test_what_lies_below_the_cache_is_what_counts(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blockdev, "read_at", lambda *_: ext4())
    assert room.mount(LOGS, logs_group(), content=bytes(4096))


@pytest.mark.parametrize(
    ("volume", "inventory", "content"),
    [
        (LOGS, logs_group(), ext4()),
        # Grown by a second set of disks: the stripe is as wide as before.
        (LOGS, logs_group(4, 2), ext4()),
        (SCRATCH, seen(*(member(slot) for slot in range(4))), xfs()),
        # Slot 0 is missing: eight members were, and a half of them hold data.
        (
            replace(SCRATCH, stripe="md-raid10"),
            seen(*(member(slot, count=8, level="raid10") for slot in range(1, 8)), disk(9)),
            xfs(),
        ),
        # Nothing is known of a stripe on one disk.
        (replace(SCRATCH, stripe="single"), seen(disk(1)), xfs()),
        (replace(SCRATCH, stripe="hw-raid0"), controllers(4), xfs()),
    ],
)
def test_the_volume_that_was_declared_is_mounted(
    room: Room, volume: Volume, inventory: Inventory, content: bytes
) -> None:
    assert room.mount(volume, inventory, content=content) is None


def test_the_width_of_what_is_made_is_that_of_its_disks(room: Room) -> None:
    """What an earlier attempt left on them was of fewer."""
    found = tuple(member(slot, count=3) for slot in range(4))
    assert room.mount(SCRATCH, seen(*found), "mkfs.xfs", content=xfs()) is None
    error = room.mount(SCRATCH, seen(*found), "mdadm", content=xfs())
    assert error is not None


def test_the_width_of_a_virtual_drive_is_that_of_its_drives(room: Room) -> None:
    error = room.mount(replace(SCRATCH, stripe="hw-raid0"), controllers(3), content=xfs())
    assert error is not None
    assert "chunk and members make 262144 and 786432" in error.message
