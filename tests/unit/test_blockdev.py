from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.model.disks import MarkState, Signature
from appliance.storage.formats import marks
from appliance.storage.formats.marks import Note
from appliance.storage.probe import blockdev, probers
from tests.unit.formats import physical_volume

_DATA = Path(__file__).parent / "data/storage"
MIB = 1024 * 1024
SIZE = 64 * MIB
SERIAL = "AWS00001"
NOTE = Note(MarkState.MAKING, "scratch", "", SERIAL, SIZE, "ab" * 16)
FRONT, END = marks.offsets(SIZE)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A zero disk as a file, on which neither prober finds anything."""
    monkeypatch.setattr(probers, "ask", lambda nodes: [()] * len(nodes))
    path = tmp_path / "disk"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return str(path)


def put(node: str, offset: int, data: bytes) -> None:
    descriptor = os.open(node, os.O_WRONLY)
    os.pwrite(descriptor, data, offset)
    os.close(descriptor)


def released(node: str) -> Note:
    samples = blockdev.samples_digest(node, SIZE, seed="cd" * 16)
    return replace(NOTE, state=MarkState.RELEASED, samples=samples, nonce="cd" * 16)


@pytest.mark.parametrize("offset", [FRONT, END])
def test_a_mark_is_read_where_it_was_written_and_leaves_the_disk_blank(
    node: str, offset: int
) -> None:
    blockdev.write_block(node, offset, marks.encode(NOTE))
    found = blockdev.read_disk(node, SIZE, SERIAL)
    assert found.mark is not None
    assert (found.mark.state, found.mark.offset_bytes) == (MarkState.MAKING, offset)
    assert found.blank
    assert not blockdev.read_disk(node, SIZE, "AWS00002").blank
    blockdev.clear(node, offset, 4096)
    assert blockdev.read_disk(node, SIZE, SERIAL).mark is None
    assert Path(node).read_bytes() == bytes(SIZE)


def test_bytes_beside_a_mark_still_count(node: str) -> None:
    blockdev.write_block(node, FRONT, marks.encode(NOTE))
    for at in (FRONT - 1, FRONT + 4096):
        put(node, at, b"\1")
        assert blockdev.read_disk(node, SIZE, SERIAL).nonzero_offset_bytes == at
        put(node, at, b"\0")


def test_what_lies_where_a_mark_could_be_is_data(node: str) -> None:
    put(node, FRONT + 17, b"\1")
    found = blockdev.read_disk(node, SIZE, SERIAL)
    assert (found.mark, found.nonzero_offset_bytes) == (None, FRONT + 17)


def test_a_released_disk_is_intact_until_somebody_writes(node: str) -> None:
    put(node, 9 * MIB + 9, b"old contents")
    blockdev.write_block(node, FRONT, marks.encode(released(node)))

    def intact() -> bool | None:
        found = blockdev.read_disk(node, SIZE, SERIAL)
        assert found.mark is not None
        return found.mark.intact

    assert intact() is True
    # Whoever begins to use the disk begins at its edges or anywhere else.
    for at in (0, 8192, FRONT + 4096, MIB, 4 * MIB + 9, 41000003, SIZE - 2 * MIB, SIZE - 1):
        put(node, at, b"\1")
        assert intact() is False
        put(node, at, b"\0")
        assert intact() is True


def test_what_a_release_clears_is_foreseen_in_its_digest(node: str) -> None:
    put(node, 4096 + 7, b"a superblock")
    foreseen = blockdev.samples_digest(node, SIZE, seed="x", cleared=(4096,))
    assert foreseen != blockdev.samples_digest(node, SIZE, seed="x")
    blockdev.clear(node, 4096, 4096)
    assert foreseen == blockdev.samples_digest(node, SIZE, seed="x")


def test_of_two_marks_that_of_the_creation_counts(node: str) -> None:
    blockdev.write_block(node, FRONT, marks.encode(released(node)))
    blockdev.write_block(node, END, marks.encode(NOTE))
    found = blockdev.read_marks(node, SIZE, SERIAL)
    assert [mark.state for mark in found] == [MarkState.MAKING, MarkState.RELEASED]
    assert blockdev.read_disk(node, SIZE, SERIAL).mark == found[0]
    assert blockdev.read_disk(node, SIZE, SERIAL).blank


def test_only_whole_aligned_blocks_are_written(node: str) -> None:
    with pytest.raises(ValueError, match="one aligned block"):
        blockdev.write_block(node, FRONT + 512, marks.encode(NOTE))
    with pytest.raises(ValueError, match="one aligned block"):
        blockdev.write_block(node, FRONT, b"short")
    with pytest.raises(ValueError, match="whole aligned"):
        blockdev.clear(node, 0, 100)
    assert Path(node).read_bytes() == bytes(SIZE)


def test_a_write_that_does_not_read_back_is_an_error(
    node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", lambda _, data, __: len(data))
    with pytest.raises(OSError, match="something else"):
        blockdev.write_block(node, FRONT, marks.encode(NOTE))


def test_remains_of_a_table_are_named_beside_the_data(node: str) -> None:
    put(node, 4096, b"EFI PART")
    found = blockdev.read_disk(node, SIZE, SERIAL)
    assert found.signatures == (Signature("damaged-gpt", 4096),)
    # A disk that an operator had erased and released is judged by its samples.
    blockdev.write_block(node, FRONT, marks.encode(released(node)))
    assert blockdev.read_disk(node, SIZE, SERIAL).signatures == ()


def test_filesystem_at_an_offset(node: str) -> None:
    put(node, MIB, (_DATA / "xfs-superblock.bin").read_bytes())
    found = blockdev.read_filesystem(node, MIB)
    assert found is not None
    assert (found.kind, found.label) == ("xfs", "scratch")
    assert blockdev.read_filesystem(node) is None


def test_a_disk_too_small_for_marks_has_none(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(bytes(MIB))
    assert blockdev.read_marks(str(path), MIB, SERIAL) == ()


# ---------------------------------------------------------------------------- places


@pytest.mark.parametrize("at", [0, 5000, MIB, 4 * MIB + 9, 62 * MIB, 63 * MIB + 17, SIZE - 1])
def test_a_byte_that_is_not_zero_is_found_at_either_end(node: str, at: int) -> None:
    assert blockdev.first_nonzero(node, SIZE) is None
    put(node, at, b"\1")
    assert blockdev.first_nonzero(node, SIZE) == at


def test_a_short_read_is_an_error_not_a_blank_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(4096))
    with pytest.raises(OSError, match="short read"):
        blockdev.first_nonzero(str(disk), SIZE)


@pytest.mark.parametrize("at", [MIB, 2 * MIB + 7, 4 * MIB + 4095, SIZE - 2 * MIB])
def test_data_that_no_prober_knows_is_no_blank_disk(node: str, at: int) -> None:
    """Where only the probers' edges were read and nothing was found, it once was."""
    put(node, at, b"a database's")
    found = blockdev.read_disk(node, SIZE, SERIAL)
    assert (found.blank, found.nonzero_offset_bytes) == (False, at)
    (array,) = blockdev.read_contents([blockdev.Device(node, SIZE)])
    assert isinstance(array, blockdev.Contents)
    assert not array.blank


# ----------------------------------------------------------------- marks in users' data


def _xfs(size: int) -> bytes:
    block = bytearray((_DATA / "xfs-superblock.bin").read_bytes())
    struct.pack_into(">Q", block, 8, size // 4096)
    assert struct.unpack_from(">I", block, 4) == (4096,)
    return bytes(block)


_MD = (_DATA / "md-superblock-1.2.bin").read_bytes()
_FORMS = {
    "nothing": (0, b"", {FRONT, END}),
    "our xfs": (0, _xfs(END), {END}),
    "an xfs that covers the disk": (0, _xfs(SIZE), set()),
    "md": (4096, _MD, {FRONT}),
    "lvm": (512, physical_volume(SIZE, MIB), {FRONT}),
    "lvm without data": (1024, physical_volume(SIZE, 0), {FRONT}),
    "lvm with data before 512 KiB": (512, physical_volume(SIZE, 192 * 1024), set()),
}


@pytest.mark.parametrize("form", _FORMS)
def test_a_mark_counts_only_where_the_form_keeps_no_data(node: str, form: str) -> None:
    at, superblock, believed = _FORMS[form]
    put(node, at, superblock)
    for place in (FRONT, END):
        put(node, place, marks.encode(NOTE))
    assert {one.offset_bytes for one in blockdev.read_marks(node, SIZE, SERIAL)} == believed
    found = blockdev.read_disk(node, SIZE, SERIAL)
    assert (found.mark is not None) == bool(believed)
    assert found.blank == (not superblock)


@pytest.mark.parametrize(
    "kind", ["ntfs", "btrfs", "gpt", "linux_raid_member", "LVM2_member", "xfs"]
)
def test_where_a_form_is_not_understood_no_mark_counts(
    node: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probers, "ask", lambda nodes: [(Signature(kind, 3),)] * len(nodes))
    put(node, 2 * MIB, b"x")
    blockdev.write_block(node, FRONT, marks.encode(NOTE))
    found = blockdev.read_disk(node, SIZE, SERIAL)
    assert (found.mark, found.nonzero_offset_bytes) == (None, FRONT)


# --------------------------------------------------------------------- what is not asked


@pytest.mark.parametrize("at", [0, MIB, 2 * MIB + 7, 4 * MIB + 4095, SIZE - 3087 * 512, SIZE - 1])
def test_probers_are_asked_about_a_byte_where_they_look(
    node: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(nodes: Sequence[str]) -> list[tuple[Signature, ...]]:
        asked.extend(nodes)
        return [(Signature("vmfs", at),) for _ in nodes]

    monkeypatch.setattr(probers, "ask", ask)
    assert blockdev.read_disk(node, SIZE, SERIAL).blank
    blockdev.write_block(node, FRONT, marks.encode(NOTE))
    blockdev.write_block(node, END, marks.encode(NOTE))
    assert blockdev.read_disk(node, SIZE, SERIAL).blank
    assert asked == []
    put(node, at, b"\1")
    assert blockdev.read_disk(node, SIZE, SERIAL).signatures == (Signature("vmfs", at),)
    assert asked == [node]


def test_probers_are_not_asked_about_data_where_they_never_look(
    node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probers, "ask", lambda nodes: [(Signature("xfs"),) for _ in nodes])
    put(node, 32 * MIB, b"x" * MIB)
    found = blockdev.read_disk(node, SIZE, SERIAL)
    assert not found.blank
    assert found.signatures == ()


def test_one_that_cannot_be_read_does_not_stop_the_others(
    node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(node, 0, b"x")
    found = blockdev.read_contents(
        [
            blockdev.Device("/nowhere", SIZE, SERIAL),
            blockdev.Device(node, SIZE, SERIAL),
            blockdev.Device(node, SIZE),
        ]
    )
    assert isinstance(found[0], OSError)
    assert [one.nonzero_offset_bytes for one in found if isinstance(one, blockdev.Contents)] == [
        0, 0,
    ]  # fmt: skip
    monkeypatch.setattr(probers, "ask", lambda nodes: [ValueError("no JSON")] * len(nodes))
    (broken,) = blockdev.read_contents([blockdev.Device(node, SIZE, SERIAL)])
    assert isinstance(broken, ValueError)


def test_what_is_durable_is_read_past_the_cache(node: str) -> None:
    put(node, 4096, b"abc")
    assert blockdev.read_durable(node, 4096, 4096) == b"abc".ljust(4096, b"\0")


def test_writers_stay_open_for_as_long_as_a_plan_is_run(node: str) -> None:
    def writers() -> int:
        links = list(Path("/proc/self/fd").iterdir())
        return sum(os.path.realpath(link) == os.path.realpath(node) for link in links)

    with blockdev.writers_kept():
        blockdev.write_block(node, FRONT, marks.encode(NOTE))
        blockdev.clear(node, FRONT, 4096)
        blockdev.clear(node, 0, 4096, exclusive=False)
        assert writers() == 1
    assert writers() == 0
    blockdev.write_block(node, FRONT, marks.encode(NOTE))
    assert writers() == 0
    with blockdev.writers_kept():
        blockdev.write_block(node, FRONT, marks.encode(NOTE))
        with pytest.raises(FileNotFoundError):
            blockdev.clear("/nowhere", 0, 4096)
    assert writers() == 0
