"""Disks that this machine has seen before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.model.disks import Machine
from appliance.storage.probe import sightings
from tests.unit.disks import disk

FIRST = Machine(boot_id="first", host_tag="here")
LATER = replace(FIRST, boot_id="later")
ONE, TWO = disk(1), disk(2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "disks.json"


def note(file: Path, machine: Machine, **written: str) -> None:
    disks = [(disk(int(name[1:])), writes) for name, writes in written.items()]
    sightings.read(file, machine).note(file, machine, disks)


def test_a_disk_is_new_until_it_is_written_to_or_the_machine_boots_again(file: Path) -> None:
    assert not sightings.read(file, FIRST).seen_before(ONE, "7 0")
    note(file, FIRST, d1="7 0")
    assert not sightings.read(file, FIRST).seen_before(ONE, "7 0")
    assert sightings.read(file, FIRST).seen_before(ONE, "7 8")
    # Another that was plugged in at its place.
    assert sightings.read(file, FIRST).seen_before(ONE, "9 0")
    assert sightings.read(file, LATER).seen_before(ONE, "7 0")
    assert not sightings.read(file, LATER).seen_before(TWO, "7 0")
    assert not sightings.read(file, LATER).seen_before(replace(ONE, size_bytes=1), "7 0")


def test_a_later_look_does_not_make_it_new(file: Path) -> None:
    note(file, FIRST, d1="7 0")
    note(file, FIRST, d1="7 8", d2="8 0")
    assert sightings.read(file, FIRST).seen_before(ONE, "7 8")
    assert not sightings.read(file, FIRST).seen_before(TWO, "8 0")
    note(file, LATER, d1="7 0", d2="8 0")
    assert sightings.read(file, LATER).seen_before(ONE, "7 0")
    assert sightings.read(file, LATER).seen_before(TWO, "8 0")


def test_a_copy_of_the_machine_has_seen_nothing(file: Path) -> None:
    note(file, FIRST, d1="7 0")
    copy = replace(LATER, host_tag="there")
    assert not sightings.read(file, copy).seen_before(ONE, "7 0")
    note(file, copy, d2="7 0")
    assert not sightings.read(file, LATER).seen_before(ONE, "7 0")


def test_a_machine_without_identity_remembers_nothing(file: Path) -> None:
    note(file, replace(FIRST, host_tag=""), d1="7 0")
    assert not file.exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"host": "here"}', '{"host": "here", "disks": []}', "[" * 9999]
)
def test_of_a_damaged_file_any_disk_may_have_been_seen(file: Path, text: str) -> None:
    file.write_text(text)
    assert sightings.read(file, FIRST).seen_before(ONE, "7 0")
    note(file, FIRST, d1="7 0")
    assert sightings.read(file, FIRST).seen_before(ONE, "7 0")
    # Nor is one new that comes later.
    assert sightings.read(file, FIRST).seen_before(TWO, "7 0")
    note(file, LATER, d2="8 0")
    assert sightings.read(file, LATER).seen_before(TWO, "8 0")


def test_what_is_not_text_and_what_cannot_be_written(file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    assert sightings.read(file, FIRST).lost
    note(tmp_path / "a-file" / "disks.json", FIRST, d1="7 0")
    (tmp_path / "file").touch()
    note(tmp_path / "file" / "disks.json", FIRST, d1="7 0")


def test_only_so_many_are_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sightings, "_MOST", 3)
    note(file, FIRST, d1="1", d2="1")
    note(file, FIRST, d3="1", d4="1")
    kept = sightings.read(file, LATER)
    assert [kept.seen_before(disk(n), "1") for n in (1, 2, 3, 4)] == [False, True, True, True]
