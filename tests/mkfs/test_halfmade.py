"""What a half-made volume holds, with the real mkfs on files in place of disks."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.model.disks import Disk, Mark, MarkState, MdMember
from appliance.model.plans import Layout, Volume
from appliance.storage.formats import filesystem, marks
from appliance.storage.formats.ext4 import Ext4Options
from appliance.storage.formats.xfs import XfsOptions
from appliance.storage.probe import blockdev, halfmade
from appliance.system.kernel import Kernel

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
UUID = "9c4f34e5" * 4
PATTERN = b"somebody's data "
PLAIN = Volume("data", "single", "xfs", "/mnt/data")
FRONT = marks.front_offset()


class Half:
    """A disk of ``size`` bytes that volume ``data`` is being made of."""

    def __init__(self, folder: Path, size: int, volume: Volume) -> None:
        self.folder, self.size, self.volume = folder, size, volume
        self.node = folder / "disk"
        self.node.write_bytes(b"")
        os.truncate(self.node, size)
        self.at = marks.end_offset(size)

    def disk(self, *, blank: bool | None = True) -> Disk:
        return Disk(str(self.node), "nvme-x", "m", "S1", self.size, blank=blank)

    def mark(self, *, blank: bool = True, uuid: str = UUID, front: bool = False) -> None:
        self.at = FRONT if front else marks.end_offset(self.size)
        nonce = "ab" * 16
        note = marks.Note(
            MarkState.MAKING, "data", "", "S1", self.size, nonce, filesystem_uuid=uuid, blank=blank
        )
        if not blank:
            disk = self.disk(blank=False)
            note = replace(note, fingerprint=halfmade.fingerprint(disk, note, self.at))
        self.put(self.at, marks.encode(note))

    def put(self, offset: int, data: bytes) -> None:
        with self.node.open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def mkfs(self, volume: Volume | None = None, uuid: str = UUID, members: int = 1) -> None:
        argv = filesystem.mkfs_argv(
            volume or self.volume,
            str(self.node),
            members=members,
            size_bytes=filesystem.plain_size(self.size),
            uuid=uuid,
            force=True,
        )
        subprocess.run(argv, check=True, capture_output=True)

    def intact(self, **facts: Any) -> bool | None:
        mark = Mark(MarkState.MAKING, "data", "", self.at, "n", filesystem_uuid=UUID)
        kernel = Kernel(dev_root=self.folder / "dev")
        layout = Layout((self.volume,), scan_seconds=1)
        disk = replace(self.disk(), mark=mark, **facts)
        (found,) = halfmade.look([disk], (), (), layout, kernel)
        assert found.mark is not None
        return found.mark.intact

    def zeroed(self, share: float, seed: int) -> None:
        """As if only some of what mkfs wrote had reached the disk."""
        chance = random.Random(seed)  # noqa: S311
        with self.node.open("r+b") as file:
            end = 0
            while end < self.size:
                try:
                    start = os.lseek(file.fileno(), end, os.SEEK_DATA)
                except OSError:
                    break
                end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                for at in range(start, end, 4096):
                    if at != self.at and chance.random() < share:
                        os.pwrite(file.fileno(), bytes(4096), at)


MakeHalf = Callable[[Volume, int], Half]


@pytest.fixture
def half(tmp_path: Path) -> MakeHalf:
    return lambda volume, size: Half(tmp_path, size, volume)


KINDS = [
    pytest.param(PLAIN, id="xfs"),
    pytest.param(replace(PLAIN, filesystem="ext4"), id="ext4"),
    pytest.param(
        replace(PLAIN, filesystem="ext4", options=Ext4Options(bytes_per_inode=65536)),
        id="ext4-inodes",
    ),
]


@pytest.mark.parametrize("volume", KINDS)
@pytest.mark.parametrize("size", [512 * MIB, 20 * GIB])
def test_whatever_mkfs_leaves_is_known(half: MakeHalf, volume: Volume, size: int) -> None:
    made = half(volume, size)
    made.mark()
    assert made.intact() is True
    made.mkfs()
    assert made.intact() is True
    for seed, share in enumerate((0.1, 0.5, 0.9)):
        made.zeroed(share, seed)
        assert made.intact() is True
        made.mkfs()
    # Not a superblock of another filesystem in the same places.
    made.mkfs(uuid="1" * 32)
    assert made.intact() is False


@pytest.mark.parametrize("volume", KINDS)
@pytest.mark.parametrize("at", [0, 512, 40 * 4096 + 7, MIB, 77 * MIB + 3, 500 * MIB])
@pytest.mark.parametrize("made", [True, False])
def test_what_mkfs_does_not_write_is_somebodys(
    half: MakeHalf, volume: Volume, at: int, made: bool
) -> None:
    here = half(volume, 512 * MIB)
    here.mark()
    if made:
        here.mkfs()
    here.put(at, PATTERN * 4096)
    assert here.intact() is False


@pytest.mark.parametrize("volume", KINDS[:2])
@pytest.mark.parametrize("sector", [0, 1])
def test_a_sector_in_a_block_of_the_filesystem_is_somebodys(
    half: MakeHalf, volume: Volume, sector: int
) -> None:
    """A partition table takes the first one; the rest of the block still bears the UUID."""
    made = half(volume, 512 * MIB)
    made.mark()
    made.mkfs()
    made.put(sector * 512, b"table".ljust(510, b"x") + b"\x55\xaa")
    assert made.intact() is False


@pytest.mark.parametrize("size", [512, 1024, 2048])
def test_larger_inodes(half: MakeHalf, size: int) -> None:
    made = half(replace(PLAIN, options=XfsOptions(inode_size_bytes=size)), 512 * MIB)
    made.mark()
    made.mkfs()
    assert made.intact() is True


@pytest.mark.parametrize("volume", KINDS[:2])
def test_other_filesystems_are_somebodys(half: MakeHalf, volume: Volume) -> None:
    made = half(volume, 512 * MIB)
    made.mark()
    other = KINDS[1] if volume.filesystem == "xfs" else KINDS[0]
    made.mkfs(other.values[0], uuid="2" * 32)
    assert made.intact() is False
    made.zeroed(0.5, 1)
    assert made.intact() is False


@pytest.mark.parametrize("chunk", [4 * KIB, 64 * KIB, 256 * KIB, MIB])
def test_xfs_over_a_stripe(half: MakeHalf, chunk: int) -> None:
    """Its log is aligned, too, and its first record has more headers."""
    made = half(replace(PLAIN, chunk_bytes=chunk), 2 * GIB)
    made.mark()
    made.mkfs(members=4)
    assert made.intact() is True


def test_ext4_that_was_mounted_is_somebodys(half: MakeHalf) -> None:
    made = half(replace(PLAIN, filesystem="ext4"), 512 * MIB)
    made.mark()
    made.mkfs()
    subprocess.run(
        ["debugfs", "-w", "-R", "ssv mnt_count 1", str(made.node)], check=True, capture_output=True
    )
    assert made.intact() is False


def test_xfs_whose_log_goes_on_is_somebodys(half: MakeHalf) -> None:
    made = half(PLAIN, 512 * MIB)
    made.mark()
    made.mkfs()
    start = made.node.read_bytes()[:4096]
    log = filesystem.log_offset(start)
    assert log
    with made.node.open("rb") as file:
        first = os.pread(file.fileno(), 4096, log)
    assert first[:4] == b"\xfe\xed\xba\xbe"
    later = bytearray(first)
    later[16:24] = (1 << 32 | 8).to_bytes(8, "big")
    made.put(log + 4096, bytes(later))
    assert made.intact() is False


@pytest.mark.parametrize(
    ("at", "intact"),
    [
        (0, False),
        (511, False),
        (600, True),
        (4096 + 7, True),
        (MIB - 1, True),
        (MIB, False),
        (41000003, False),
        (64 * MIB - 1, False),
    ],
)
def test_beside_a_mark_in_front_only_md_and_lvm_write(
    half: MakeHalf, at: int, *, intact: bool
) -> None:
    made = half(replace(PLAIN, stripe="md-raid0"), 64 * MIB)
    made.mark(front=True)
    assert made.intact() is True
    made.put(at, b"\1")
    assert made.intact() is intact


@pytest.mark.parametrize("front", [True, False])
@pytest.mark.parametrize("volume", KINDS[:2])
def test_a_disk_that_was_not_blank_is_compared(half: MakeHalf, volume: Volume, front: bool) -> None:
    made = half(volume, 64 * MIB)
    for at in range(0, 64 * MIB, MIB):
        made.put(at, random.Random(at).randbytes(MIB))  # noqa: S311
    if front:
        made.put(0, bytes(MIB))
    made.mark(blank=False, front=front)
    assert made.intact() is True
    if not front and volume.filesystem == "ext4":
        made.mkfs()
        assert made.intact() is True
        made.zeroed(0.2, 3)
        assert made.intact() is True
    made.put(MIB if front else 0, PATTERN * 2048)
    assert made.intact() is False


def test_a_disk_that_was_not_blank_may_be_torn_within_blocks(half: MakeHalf) -> None:
    one = half(PLAIN, 512 * MIB)
    one.put(0, os.urandom(64 * MIB))
    one.mark(blank=False)
    # As a kernel zeroes that cannot have the disk do it: each sector for itself.
    for at in range(0, 64 * MIB, 1024):
        one.put(at, bytes(512))
    assert one.intact()
    one.put(0, os.urandom(64 * MIB))
    assert not one.intact()


def test_a_superblock_that_claims_thousands_of_millions(half: MakeHalf) -> None:
    made = half(replace(PLAIN, stripe="md-raid0"), 64 * MIB)
    made.mark(front=True)
    many = MdMember("stripewright:data", "1:2:3:4", "5:6:7:8", "raid0", 2**32 - 2, 4096, 0)
    assert made.intact(md_member=many) is True
    assert made.intact(md_member=replace(many, level="raid10", layout="near=7")) is True


def test_a_mark_of_an_older_version_says_nothing(half: MakeHalf) -> None:
    made = half(PLAIN, 64 * MIB)
    made.mark(blank=False)
    block = made.node.read_bytes()[made.at : made.at + 4096]
    note = marks.note_in(block)
    assert note is not None
    made.put(made.at, marks.encode(replace(note, fingerprint="")))
    assert made.intact() is None


def test_a_disk_that_cannot_be_read_says_nothing(
    half: MakeHalf, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = half(PLAIN, 64 * MIB)
    made.mark()

    def fails(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(blockdev, "read_durable", fails)
    assert made.intact() is None
