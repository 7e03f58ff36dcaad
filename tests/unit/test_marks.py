from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.model.disks import MarkState
from appliance.storage.formats import marks
from appliance.storage.formats.marks import Note

SIZE = 900 * 10**9 + 512
NOTE = Note(
    state=MarkState.RELEASED,
    volume="scratch",
    host_tag="0123456789abcdef",
    serial="AWS00001",
    size_bytes=SIZE,
    nonce="ab" * 16,
    samples=hashlib.sha256(b"as it was").hexdigest(),
    at=1_760_000_000,
)


def sealed(facts: object) -> bytes:
    """A block with a right sum, whatever it says."""
    text = facts if isinstance(facts, bytes) else json.dumps(facts).encode()
    body = (b"STRIPEWRIGHT MARK 1\n" + text).ljust(4064, b"\0")[:4064]
    return body + hashlib.sha256(body).digest()


_FACTS = {
    "state": "released", "volume": "scratch", "host_tag": "", "serial": "AWS00001",
    "size_bytes": SIZE, "nonce": "00", "samples": "", "at": 0,
}  # fmt: skip


def test_the_places() -> None:
    assert marks.front_offset() == 512 * 1024
    assert marks.end_offset(16 * 1024 * 1024) == 15 * 1024 * 1024
    assert marks.end_offset(SIZE) % 4096 == 0
    assert SIZE - 1024 * 1024 - 4096 < marks.end_offset(SIZE) <= SIZE - 1024 * 1024
    assert marks.offsets(16 * 1024 * 1024 - 512) == ()


_notes = st.builds(
    Note,
    state=st.sampled_from(MarkState),
    volume=st.from_regex(r"\A[a-z][a-z0-9-]{0,11}\Z"),
    host_tag=st.sampled_from(["", "0123456789abcdef"]),
    serial=st.text(max_size=64),
    size_bytes=st.integers(16 * 1024 * 1024, 2**62),
    nonce=st.from_regex(r"\A[0-9a-f]{32}\Z"),
    samples=st.sampled_from(["", "0" * 64]),
    at=st.integers(0, 2**40),
    filesystem_uuid=st.sampled_from(["", "0123456789abcdef" * 2]),
    blank=st.booleans(),
)


@given(_notes, st.booleans())
def test_there_and_back(note: Note, at_end: bool) -> None:
    block = marks.encode(note)
    assert len(block) == 4096
    offset = marks.offsets(note.size_bytes)[at_end]
    found = marks.decode(
        block, serial=note.serial, size_bytes=note.size_bytes, offset=offset, samples="0" * 64
    )
    assert found is not None
    assert (found.state, found.volume, found.host_tag) == (note.state, note.volume, note.host_tag)
    assert (found.nonce, found.offset_bytes) == (note.nonce, offset)
    assert found.filesystem_uuid == note.filesystem_uuid
    known = {MarkState.RELEASED: bool(note.samples), MarkState.MAKING: None}
    assert found.intact is known[note.state]


@given(_notes, st.text(max_size=20), st.integers(16 * 1024 * 1024, 2**62))
def test_a_copy_on_another_disk_is_not_believed(note: Note, serial: str, size: int) -> None:
    block = marks.encode(note)
    for other in (replace(note, serial=serial), replace(note, size_bytes=size)):
        found = marks.decode(
            block, serial=other.serial, size_bytes=other.size_bytes, offset=512 * 1024
        )
        assert (found is None) == (other != note)


def test_a_mark_elsewhere_is_not_believed() -> None:
    block = marks.encode(NOTE)
    for offset in (0, 4096, 512 * 1024 + 4096, marks.end_offset(SIZE) + 4096):
        assert marks.decode(block, serial="AWS00001", size_bytes=SIZE, offset=offset) is None


def test_intact_is_what_the_samples_say() -> None:
    block = marks.encode(NOTE)

    def intact(note_block: bytes, samples: str | None) -> bool | None:
        found = marks.decode(
            note_block, serial="AWS00001", size_bytes=SIZE, offset=512 * 1024, samples=samples
        )
        assert found is not None
        return found.intact

    assert intact(block, NOTE.samples) is True
    assert intact(block, "0" * 64) is False
    assert intact(block, None) is None
    assert intact(marks.encode(replace(NOTE, samples="")), "") is False
    making = marks.encode(replace(NOTE, state=MarkState.MAKING))
    assert intact(making, NOTE.samples) is None


@given(st.integers(0, 4095), st.integers(1, 255))
def test_one_wrong_byte_is_enough(at: int, change: int) -> None:
    block = bytearray(marks.encode(NOTE))
    block[at] ^= change
    assert marks.decode(bytes(block), serial="AWS00001", size_bytes=SIZE, offset=512 * 1024) is None


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*_FACTS, "x"]), inner, max_size=9)
    ),
    max_leaves=12,
)


@given(st.binary(max_size=4200) | _json.map(sealed) | st.binary(max_size=200).map(sealed))
def test_nothing_raises(block: bytes) -> None:
    marks.decode(block, serial="AWS00001", size_bytes=SIZE, offset=512 * 1024)


@pytest.mark.parametrize(
    "facts",
    [
        {**_FACTS, "state": "mine"},
        {**_FACTS, "volume": "../x"},
        {**_FACTS, "volume": "scratch\n"},
        {**_FACTS, "volume": 7},
        {**_FACTS, "host_tag": "0123"},
        {**_FACTS, "nonce": ""},
        {**_FACTS, "samples": "zz"},
        {**_FACTS, "filesystem_uuid": "9c4f34e5-0000-0000-0000-000000000000"},
        {**_FACTS, "filesystem_uuid": None},
        {**_FACTS, "blank": 1},
        {**_FACTS, "size_bytes": float(SIZE)},
        {**_FACTS, "at": True},
        {key: value for key, value in _FACTS.items() if key != "nonce"},
        [_FACTS],
        b"[" * 4000,
        b"9" * 4000,
    ],
)
def test_a_right_sum_is_not_enough(facts: object) -> None:
    def decode(block: bytes) -> object:
        return marks.decode(block, serial="AWS00001", size_bytes=SIZE, offset=512 * 1024)

    assert decode(sealed(facts)) is None
    assert decode(sealed(_FACTS)) is not None


def test_marks_of_other_versions() -> None:
    older = {key: value for key, value in _FACTS.items() if key != "filesystem_uuid"}
    for facts in (older, {**_FACTS, "of a later version": 1}):
        found = marks.decode(
            sealed(facts), serial="AWS00001", size_bytes=SIZE, offset=512 * 1024, samples=""
        )
        assert found is not None
        assert found.filesystem_uuid == ""


@pytest.mark.parametrize(
    "wrong", [{"volume": "Scratch"}, {"nonce": "not hex"}, {"serial": "x" * 4000}]
)
def test_what_would_not_be_believed_is_not_written(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"place in a mark|too long"):
        marks.encode(replace(NOTE, **wrong))  # type: ignore[arg-type]
