"""Files in place of disks: what is found, how far it is read, and what is sightings."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.model.disks import Disk, Scan
from appliance.storage.formats import scan
from appliance.storage.formats.scan import GIB, MIB
from appliance.storage.probe import scanning, sightings
from appliance.storage.probe.scanning import Scanned

SIZE = 64 * MIB


@pytest.fixture
def node(tmp_path: Path) -> str:
    return sparse(tmp_path / "disk", SIZE)


def sparse(path: Path, size: int) -> str:
    with path.open("wb") as file:
        file.truncate(size)
    return str(path)


def put(node: str, at: int, data: bytes = b"\1") -> None:
    with Path(node).open("r+b") as file:
        file.seek(at)
        file.write(data)


@pytest.mark.parametrize("at", [0, 8 * MIB - 1, 8 * MIB, 41000003, SIZE - 1])
def test_a_small_device_is_read_in_full(node: str, at: int) -> None:
    assert scanning.scan_device(node, SIZE, seconds=5) == Scanned(Scan(SIZE, 0, 0))
    put(node, at)
    assert scanning.scan_device(node, SIZE, seconds=5).nonzero == at


@pytest.mark.parametrize("byte", [b"\1", b"\xff"])
def test_one_byte_repeated_is_not_blank(node: str, byte: bytes) -> None:
    put(node, 0, byte * SIZE)
    assert scanning.scan_device(node, SIZE, seconds=5).nonzero == 0
    with scanning.Reader(node) as reader:
        for length in (4096, scan.SAMPLE_BYTES, 2 * MIB):
            assert reader.read_nonzero(0, length) == byte * length


@pytest.mark.parametrize("length", [0, 2 * MIB + 1])
def test_what_the_buffer_does_not_hold_is_not_read(node: str, length: int) -> None:
    with scanning.Reader(node) as reader, pytest.raises(ValueError, match="at once"):
        reader.read_nonzero(0, length)


def test_our_marks_count_as_zero(node: str) -> None:
    put(node, 512 * 1024, b"x" * 4096)
    assert scanning.scan_device(node, SIZE, seconds=5).nonzero == 512 * 1024
    assert scanning.scan_device(node, SIZE, seconds=5, skip=[512 * 1024]).nonzero is None


def test_a_large_device_is_sampled_and_says_so(tmp_path: Path) -> None:
    size = 4096 * GIB
    node = sparse(tmp_path / "large", size)
    found = scanning.scan_device(node, size, seconds=0.2)
    assert found.nonzero is None
    assert found.scan.samples >= scan.STRATA
    assert found.scan.read_bytes >= found.scan.samples * scan.SAMPLE_BYTES
    assert 0 < found.scan.unseen_bytes < size // 400


def test_a_start_that_takes_long_does_not_make_a_device_large(
    node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a making left at the front of a disk is looked at block by block."""
    size = GIB
    os.truncate(node, size)
    put(node, 0, b"x" * MIB)
    now = 0.0
    read = scanning.Reader.read_nonzero

    def timed_read(self: scanning.Reader, offset: int, length: int) -> bytes:
        nonlocal now
        now += length / GIB
        return read(self, offset, length)

    def accepts(_: int, __: bytes) -> bool:
        nonlocal now
        now += 0.01
        return True

    monkeypatch.setattr(scanning.Reader, "read_nonzero", timed_read)
    monkeypatch.setattr(scanning.time, "monotonic", lambda: now)
    found = scanning.scan_device(node, size, seconds=4, accepts=accepts)
    assert found == Scanned(Scan(size, 0, 0))


def test_a_small_device_is_read_in_full_however_long_it_takes(node: str) -> None:
    put(node, 0, b"x" * MIB)
    found = scanning.scan_device(node, SIZE, seconds=0, accepts=lambda _, __: True)
    assert found == Scanned(Scan(SIZE, 0, 0))


def test_samples_are_drawn_anew_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 4096 * GIB
    node = sparse(tmp_path / "large", size)
    seen: list[set[int]] = []
    read = scanning.Reader.read_nonzero

    def noted(self: scanning.Reader, offset: int, length: int) -> bytes:
        if length == scan.SAMPLE_BYTES:
            seen[-1].add(offset)
        return read(self, offset, length)

    monkeypatch.setattr(scanning.Reader, "read_nonzero", noted)
    for _ in range(2):
        seen.append(set())
        scanning.scan_device(node, size, seconds=0.1)
    assert len(seen[0] & seen[1]) < len(seen[0]) / 100


def test_samples_find_what_is_spread(tmp_path: Path) -> None:
    size = 64 * GIB
    node = sparse(tmp_path / "large", size)
    for at in range(5 * MIB, size, size // 2000):
        put(node, at, b"x" * 65536)
    at = scanning.scan_device(node, size, seconds=0.5).nonzero
    assert at is not None


def test_what_has_to_be_read_in_full_goes_on_where_it_ended(tmp_path: Path) -> None:
    size = 4096 * GIB
    node = sparse(tmp_path / "large", size)
    first = scanning.scan_device(node, size, seconds=0.1, in_full=True).scan
    assert 0 < first.read_bytes < size
    assert (first.samples, first.unseen_bytes) == (0, size - first.read_bytes)
    begin = first.read_bytes
    second = scanning.scan_device(node, size, seconds=0.1, in_full=True, begin_bytes=begin).scan
    assert second.read_bytes > begin
    near = size - 16 * MIB
    last = scanning.scan_device(node, size, seconds=5, in_full=True, begin_bytes=near)
    assert last == Scanned(Scan(size, 0, 0))
    put(node, size - 1)
    assert (
        scanning.scan_device(node, size, seconds=5, in_full=True, begin_bytes=near).nonzero
        == size - 1
    )


def test_a_child_that_reads_has_buffers_of_its_own(node: str) -> None:
    """Else what it reads would be taken for what its parent has read."""
    with scanning.Reader(node):
        pass
    child = os.fork()
    if not child:
        with scanning.Reader(node) as reader:
            reader._page[:4] = b"mine"
        os._exit(0)
    os.waitpid(child, 0)
    with scanning.Reader(node) as reader:
        assert reader._page[:4] != b"mine"


def test_a_short_read_is_an_error(node: str) -> None:
    os.truncate(node, SIZE - 4096)
    with pytest.raises(OSError, match="short read"):
        scanning.scan_device(node, SIZE, seconds=5)


# ------------------------------------------------------------------------- remembered


def a_disk(node: str) -> Disk:
    return Disk(path=node, id="nvme-x_AWS1", model="x", serial="AWS1", size_bytes=SIZE)


def test_what_was_read_is_remembered_until_something_is_written(node: str, tmp_path: Path) -> None:
    folder = tmp_path / "scans"
    disk = a_disk(node)
    found = Scanned(Scan(SIZE, 0, 0))
    assert sightings.recall(folder, disk, "9 0 0") is None
    sightings.remember(folder, disk, "9 0 0", found)
    assert sightings.recall(folder, disk, "9 0 0") == found
    assert sightings.recall(folder, disk, "9 8 0") is None
    assert sightings.recall(folder, disk, "10 0 0") is None
    for other in ({"serial": "AWS2"}, {"id": "y"}, {"size_bytes": SIZE + 4096}):
        assert sightings.recall(folder, replace(disk, **other), "9 0 0") is None


def test_what_was_found_has_to_be_there_still(node: str, tmp_path: Path) -> None:
    disk = a_disk(node)
    found = Scanned(Scan(MIB, 0, SIZE), 41000003)
    sightings.remember(tmp_path, disk, "9 0 0", found)
    assert sightings.recall(tmp_path, disk, "9 0 0") is None
    put(node, 41000003)
    assert sightings.recall(tmp_path, disk, "9 0 0") == found


def test_without_a_number_of_its_own_nothing_is_known_of_a_disk(node: str, tmp_path: Path) -> None:
    sightings.remember(tmp_path, a_disk(node), " 0 0", Scanned(Scan(SIZE, 0, 0)))
    assert sightings.recall(tmp_path, a_disk(node), " 0 0") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"of": 1}', '{"of": ["nvme-x_AWS1"'])
def test_a_file_that_says_nothing_is_no_memory(node: str, tmp_path: Path, text: str) -> None:
    disk = a_disk(node)
    sightings.remember(tmp_path, disk, "9 0 0", Scanned(Scan(SIZE, 0, 0)))
    (file,) = tmp_path.glob("*.json")
    file.write_text(text)
    assert sightings.recall(tmp_path, disk, "9 0 0") is None
