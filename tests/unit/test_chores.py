"""Marks and releases on files that stand in for disks: order, and what they refuse to touch."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import OperatorError, UsageError
from appliance.model.disks import Disk, LvmMember, MarkState, MdMember, Signature
from appliance.model.plans import Step
from appliance.storage.execute import builtin_steps, verify
from appliance.storage.execute.builtin_steps import StepContext
from appliance.storage.formats import marks, md
from appliance.storage.probe import blockdev, probers
from appliance.system import journal, process
from appliance.system.kernel import Kernel
from tests.unit.formats import physical_volume

MIB = 2**20
SIZE = 64 * MIB
_DATA = Path(__file__).parent / "data/storage"
_CHORE = ("stripewright", "chore")


class Desk:
    """Files for disks; the probers say ``kinds`` of each while its start is not zero."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.kinds: dict[str, str] = {}
        self.ran: list[tuple[str, ...]] = []
        monkeypatch.setattr(probers, "ask", lambda nodes: [self._signatures(one) for one in nodes])
        monkeypatch.setattr(process, "run", self._run)
        monkeypatch.setattr(journal, "event", lambda *_, **__: None)

    def disk(self, serial: str, kind: str = "", **facts: Any) -> Disk:
        path = self.root / serial
        with path.open("wb") as file:
            file.truncate(SIZE)
            if kind:
                file.write(b"\1" * 8192)
            file.seek(32 * 2**20)
            file.write(b"data" * 1024)
        self.kinds[str(path)] = kind
        made = Disk(str(path), f"id-{serial}", "m", serial, SIZE, stable_path=f"/by-id/{serial}")
        return replace(made, **facts)

    def bench(self, *disks: Disk, **more: Any) -> StepContext:
        return StepContext(builtin_steps.by_path(disks), "0123456789abcdef", **more)

    def marks(self, disk: Disk) -> list[tuple[str, str, int]]:
        found = blockdev.read_marks(disk.path, SIZE, disk.serial)
        return [(mark.state.value, mark.volume, mark.offset_bytes) for mark in found]

    def _signatures(self, node: str) -> tuple[Signature, ...]:
        at = 4096 if self.kinds[node] == "linux_raid_member" else 0
        there = any(blockdev.read_at(node, at, 512))
        return (Signature(self.kinds[node], at),) if self.kinds[node] and there else ()

    def _run(self, argv: tuple[str, ...], **_: Any) -> process.Completed:
        self.ran.append(tuple(argv))
        if argv[0] == "mdadm":
            assert blockdev.read_marks(argv[-1], SIZE, Path(argv[-1]).name), "the mark comes first"
            blockdev.clear(argv[-1], 4096, 4096)
        return process.Completed(tuple(argv), 0, "", "")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def run(bench: StepContext, *words: str) -> None:
    builtin_steps.run((*_CHORE, *words), bench)


def test_a_mark_is_made_and_cleared_again(desk: Desk) -> None:
    one, two = desk.disk("A1"), desk.disk("A2")
    before = Path(one.path).read_bytes()
    bench = desk.bench(one, two)
    run(bench, "mark", "data", "front", "/by-id/A1", two.path)
    assert desk.marks(one) == [("making", "data", marks.front_offset())]
    # At the other place it replaces the first: only one of them counts.
    run(bench, "mark", "data", "end", one.path)
    assert desk.marks(one) == [("making", "data", marks.end_offset(SIZE))]
    run(bench, "unmark", "data", one.path, two.path)
    assert desk.marks(one) == desk.marks(two) == []
    assert Path(one.path).read_bytes() == before, "and not a byte besides"


UUID = "0123456789abcdef" * 2


def test_a_mark_says_which_filesystem_is_being_made(desk: Desk) -> None:
    one = desk.disk("A1")
    run(desk.bench(one), "mark", "data", "front", f"uuid={UUID}", one.path)
    (found,) = blockdev.read_marks(one.path, SIZE, one.serial)
    assert found.filesystem_uuid == UUID
    with pytest.raises(OperatorError, match="cannot be marked"):
        run(desk.bench(one), "mark", "data", "front", "uuid=mine", one.path)


def test_the_proof_of_a_mark_is_the_whole_mark(desk: Desk) -> None:
    one = desk.disk("A1")
    bench = desk.bench(one)
    words = (*_CHORE, "mark", "data", "front", f"uuid={UUID}", one.path)
    scene = verify.VerifyContext(None, (one,), Kernel(), bench)
    builtin_steps.run(words, bench)
    verify.check_marks(Step(words, ""), scene)
    for other in (f"uuid={UUID[::-1]}", ""):
        builtin_steps.run(tuple(word for word in (*words[:5], other, one.path) if word), bench)
        with pytest.raises(OperatorError, match="does not have its mark"):
            verify.check_marks(Step(words, ""), scene)


def _older(desk: Desk, serial: str, kind: str) -> tuple[Disk, int]:
    """A disk of an older array or group with a filesystem inside; and where that begins."""
    facts = {"lvm_member": LvmMember("u", "stripewright-data")} if kind == "lvm" else {}
    one = desk.disk(serial, **facts)
    if kind == "md":
        superblock = (_DATA / "md-superblock-1.2.bin").read_bytes()
        _put(one, 4096, superblock)
        desk.kinds[one.path] = "linux_raid_member"
        member = md.parse_superblock(superblock)
        assert member is not None
        assert member.data_offset_bytes is not None
        at = member.data_offset_bytes
    else:
        at = 2**20
        _put(one, 0, physical_volume(SIZE, at))
        desk.kinds[one.path] = "LVM2_member"
    _put(one, at, (_DATA / "xfs-superblock.bin").read_bytes())
    return one, at


@pytest.mark.parametrize("kind", ["md", "lvm"])
def test_a_filesystem_inside_goes_right_before_the_last_mark(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """It would shine through what is made, and look as if somebody had made it since."""
    old, at = _older(desk, "A1", kind)
    other = desk.disk("A2")
    seen = []
    clear = blockdev.clear

    def watched(node: str, offset: int, length: int, **how: Any) -> None:
        seen.append((node, offset, desk.marks(old), desk.marks(other)))
        clear(node, offset, length, **how)

    monkeypatch.setattr(blockdev, "clear", watched)
    run(desk.bench(old, other), "mark", "data", "front", old.path, other.path)
    made = [("making", "data", marks.front_offset())]
    assert seen == [(old.path, at, [], made)]
    assert blockdev.read_filesystem(old.path, at) is None
    assert desk.marks(old) == made


@pytest.mark.parametrize("kind", ["md", "lvm"])
def test_a_filesystem_inside_is_given_up_with_its_disk(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    old, at = _older(desk, "A1", kind)
    if kind == "md":
        _md(monkeypatch, "stripewright:data", data_offset_bytes=at)
    run(desk.bench(old), "release", "data", old.path)
    assert blockdev.read_filesystem(old.path, at) is None
    found = blockdev.read_disk(old.path, SIZE, old.serial)
    assert found.signatures == ()
    assert found.mark is not None
    assert found.mark.intact


def test_only_its_own_mark_is_cleared(desk: Desk) -> None:
    one = desk.disk("A1")
    bench = desk.bench(one)
    run(bench, "mark", "logs", "front", one.path)
    run(bench, "unmark", "data", one.path)
    assert desk.marks(one) == [("making", "logs", marks.front_offset())]


def _put(disk: Disk, offset: int, data: bytes) -> None:
    with Path(disk.path).open("r+b") as file:
        file.seek(offset)
        file.write(data)


def _making(disk: Disk) -> bytes:
    note = marks.Note(MarkState.MAKING, "data", "", disk.serial, SIZE, "ab" * 16)
    return marks.encode(note)


@pytest.mark.parametrize("volume_data", ["front", "end"])
def test_what_looks_like_a_mark_in_a_volumes_data_is_not_cleared(
    desk: Desk, volume_data: str
) -> None:
    """A user of the volume wrote it into a file: it is the user's."""
    one = desk.disk("A1")
    places = (marks.front_offset(), marks.end_offset(SIZE))
    plain = volume_data == "front"
    forged, own = places if plain else reversed(places)
    if plain:
        superblock = bytearray((_DATA / "xfs-superblock.bin").read_bytes())
        superblock[8:16] = (marks.end_offset(SIZE) // 4096).to_bytes(8, "big")
        _put(one, 0, superblock)
    else:
        _put(one, 4096, (_DATA / "md-superblock-1.2.bin").read_bytes())
    _put(one, forged, _making(one))
    before = Path(one.path).read_bytes()
    bench = desk.bench(one)
    run(bench, "unmark", "data", one.path)
    assert Path(one.path).read_bytes() == before
    _put(one, own, _making(one))
    assert desk.marks(one) == [("making", "data", own)]
    run(bench, "unmark", "data", one.path)
    assert Path(one.path).read_bytes() == before


def test_what_was_being_made_in_another_form_makes_room_for_the_mark(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any write, the disk still says that the volume is being made of it."""
    one = desk.disk("A1")
    _put(one, 4096, (_DATA / "md-superblock-1.2.bin").read_bytes())
    bench = desk.bench(one)
    run(bench, "mark", "data", "front", one.path)
    assert any(blockdev.read_at(one.path, 4096, 512)), "md keeps the front free: nothing goes"
    clear, seen = blockdev.clear, []

    def watched(*words: Any, **how: Any) -> None:
        seen.append(desk.marks(one))
        clear(*words, **how)

    monkeypatch.setattr(blockdev, "clear", watched)
    run(bench, "mark", "data", "end", one.path)
    assert len(seen) == 2
    assert all({mark[:2] for mark in found} == {("making", "data")} for found in seen)
    assert desk.marks(one) == [("making", "data", marks.end_offset(SIZE))]


def test_a_disk_that_joins_a_volume_no_longer_says_that_it_was_given_up(desk: Desk) -> None:
    one = desk.disk("A1")
    bench = desk.bench(one)
    run(bench, "release-foreign", one.path)
    assert [state for state, _, _ in desk.marks(one)] == ["released"]
    run(bench, "unmark", "data", one.path)
    assert desk.marks(one) == []


def _md(
    monkeypatch: pytest.MonkeyPatch, name: str, *, data_offset_bytes: int | None = 2**20
) -> None:
    found = MdMember(name, "u", "m", "raid0", 2, 262144, 0, data_offset_bytes)
    monkeypatch.setattr(md, "parse_superblock", lambda _: found)


def test_a_member_is_marked_before_its_superblock_goes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _md(monkeypatch, "stripewright:data")
    one = desk.disk("A1", "linux_raid_member")
    run(desk.bench(one), "release", "data", one.path)
    assert desk.marks(one) == [("released", "data", marks.front_offset())]
    assert blockdev.read_at(one.path, 4096, 4096) == bytes(4096)
    found = blockdev.read_disk(one.path, SIZE, one.serial)
    assert found.signatures == ()
    assert found.mark is not None
    assert found.mark.intact


def test_a_physical_volume_loses_its_label_only(desk: Desk) -> None:
    one = desk.disk("A1", "LVM2_member", lvm_member=LvmMember("u", "stripewright-data"))
    run(desk.bench(one), "release", "data", one.path)
    assert desk.marks(one) == [("released", "data", marks.front_offset())]
    assert blockdev.read_at(one.path, 0, 8192) == bytes(4096) + b"\1" * 4096


def test_what_is_not_the_volumes_is_not_released(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _md(monkeypatch, "stripewright:logs")
    for serial, kind, facts in (
        ("A1", "linux_raid_member", {}),
        ("A2", "LVM2_member", {"lvm_member": LvmMember("u", "vg0")}),
        ("A3", "ntfs", {}),
        ("A4", "", {}),
    ):
        one = desk.disk(serial, kind, **facts)
        before = Path(one.path).read_bytes()
        with pytest.raises(OperatorError, match="does not hold volume 'data'"):
            run(desk.bench(one), "release", "data", one.path)
        assert Path(one.path).read_bytes() == before


def test_a_release_that_was_cut_off_is_finished(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between mark and superblock, and killed after both: the same words end it."""
    _md(monkeypatch, "stripewright:data")
    one = desk.disk("A1", "linux_raid_member")
    with pytest.MonkeyPatch.context() as patch:

        def killed(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(blockdev, "clear", killed)
        with pytest.raises(KeyboardInterrupt):
            run(desk.bench(one), "release", "data", one.path)
    assert desk.marks(one) == [("released", "data", marks.front_offset())]
    for _ in range(2):
        run(desk.bench(one), "release", "data", one.path)
        assert blockdev.read_disk(one.path, SIZE, one.serial).signatures == ()


def test_a_disk_whose_making_was_cut_off_is_released(desk: Desk) -> None:
    one = desk.disk("A1")
    bench = desk.bench(one)
    run(bench, "mark", "data", "end", one.path)
    run(bench, "release", "data", one.path)
    assert desk.marks(one) == [("released", "data", marks.end_offset(SIZE))]


def test_foreign_contents_are_given_up_after_their_signatures(desk: Desk) -> None:
    one = desk.disk("A1", "ntfs")
    with pytest.raises(OperatorError, match="still has ntfs"):
        run(desk.bench(one), "release-foreign", one.path)
    blockdev.clear(one.path, 0, 4096)
    run(desk.bench(one), "release-foreign", one.path)
    assert desk.marks(one) == [("released", "erased", marks.front_offset())]


def test_a_layout_is_installed_whole_and_the_one_before_is_kept(desk: Desk, tmp_path: Path) -> None:
    text, file = "volume = [] # é\n", tmp_path / "etc/layout.toml"
    name = hashlib.sha256(text.encode()).hexdigest()
    bench = desk.bench(layout_file=file, layout_text=text)
    run(bench, "declare", name)
    assert file.read_text() == text
    file.write_text("old")
    run(bench, "declare", name)
    assert (file.with_name("layout.toml.previous")).read_text() == "old"
    assert oct(file.stat().st_mode & 0o777) == "0o644"
    for wrong in ("0" * 64, ""):
        with pytest.raises(UsageError, match="no layout with that hash"):
            run(bench, "declare", wrong)
    assert file.read_text() == text


@pytest.mark.parametrize(
    "words",
    [("format",), ("mark", "data"), ("mark", "data", "middle", "x"), ("unmark", "data"),
     ("release", "data"), ("release-foreign",), ("release", "data", "/dev/none")],
)  # fmt: skip
def test_words_that_are_no_chore(desk: Desk, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        run(desk.bench(desk.disk("A1")), *words)


def test_a_disk_that_is_too_small_gets_no_mark(desk: Desk) -> None:
    one = replace(desk.disk("A1"), size_bytes=2 * 2**20)
    with pytest.raises(OperatorError, match="too small"):
        run(desk.bench(one), "mark", "data", "front", one.path)
    assert desk.marks(replace(one, size_bytes=SIZE)) == []


def test_marks_are_different_each_time(desk: Desk) -> None:
    one = desk.disk("A1")
    nonces = set()
    for _ in range(2):
        run(desk.bench(one), "mark", "data", "front", one.path)
        (found,) = blockdev.read_marks(one.path, SIZE, one.serial)
        nonces.add(found.nonce)
        assert found.state is MarkState.MAKING
    assert len(nonces) == 2


def test_a_member_that_uses_less_after_a_growth_that_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch)
    block = (_DATA / "md-superblock-near2.bin").read_bytes()[: md.SUPERBLOCK_SIZE_BYTES]
    member = md.parse_superblock(block)
    assert member is not None
    assert member.used_bytes is not None
    volume = md.volume_of(member.array_name)
    disk = desk.disk("one")
    blockdev.write_block(disk.path, md.SUPERBLOCK_OFFSET_BYTES, block.ljust(4096, b"\0"))
    before = Path(disk.path).read_bytes()
    for words in (
        ("another", str(MIB), disk.path),
        (volume, str(member.used_bytes), disk.path),
        (volume, "0", disk.path),
    ):
        with pytest.raises(OperatorError, match="no member of"):
            builtin_steps.run((*_CHORE, "shrink", *words), desk.bench(disk))
    with pytest.raises(UsageError, match="give a volume, bytes and disks"):
        builtin_steps.run((*_CHORE, "shrink", volume, "much", disk.path), desk.bench(disk))
    assert Path(disk.path).read_bytes() == before
    builtin_steps.run((*_CHORE, "shrink", volume, str(MIB), disk.path), desk.bench(disk))
    assert md.parse_superblock(blockdev.read_md_superblock(disk.path)) == replace(
        member, used_bytes=MIB
    )
    assert Path(disk.path).read_bytes()[8192:] == before[8192:]
