"""What a confirmed plan covers of the disks that it overwrites: docs/decisions/0038."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import StalePlan
from appliance.model.disks import Disk, Inventory, Signature
from appliance.model.plans import Decision, Orders, Plan, Step
from appliance.storage.execute import apply, builtin_steps, executor, recheck, verify
from appliance.storage.execute.request_spool import PLAN_LIFETIME_SECONDS, Request, Store
from appliance.storage.policy import steps
from appliance.storage.policy.planner import plan
from appliance.storage.probe import blockdev, devices, probers
from appliance.system import process
from appliance.system.kernel import Kernel
from tests.unit.disks import LAYOUT, disk, inventory, member
from tests.unit.fakesysfs import FakeSysfs, three_disks

MIB = 1024 * 1024
SIZE = 64 * MIB
EXT4 = Signature("ext4", 0x438, "pgdata", "u-1")
# Neither at an edge nor in a sample.
STAT = "7 0 56 1 {ios} 0 {written} 2 0 3 3 {ios} 0 {discarded} 0 1 1"

FOREIGN = replace(
    disk(4), signatures=(EXT4,), blank=False, nonzero_offset_bytes=1024, contents_digest="a"
)
BLANK = tuple(disk(number) for number in (1, 2, 3))


def digest_of(*disks: Disk, erase: Sequence[Disk] = ()) -> str:
    orders = Orders(erase=tuple(one.serial for one in erase), grow=True)
    return plan(inventory(*disks), LAYOUT, waited=True, orders=orders).digest


# -------------------------------------------------------------------------- the digest


def test_the_digest_covers_the_contents_of_what_is_erased() -> None:
    written = replace(FOREIGN, contents_digest="b")
    before = digest_of(*BLANK, FOREIGN, erase=[FOREIGN])
    assert digest_of(*BLANK, FOREIGN, erase=[FOREIGN]) == before
    assert digest_of(*BLANK, written, erase=[FOREIGN]) != before


def test_the_digest_covers_the_contents_of_blank_disks_that_are_used() -> None:
    before = digest_of(*BLANK, disk(4))
    assert digest_of(*BLANK, replace(disk(4), contents_digest="b")) != before


def test_the_digest_does_not_cover_the_contents_of_what_is_left() -> None:
    """A volume is only brought up: that its members were written to is no other plan."""
    ours = [member(slot) for slot in range(4)]
    before = digest_of(*ours)
    assert digest_of(*ours[:3], replace(ours[3], contents_digest="b")) == before


# --------------------------------------------------------------------------- the probe


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSysfs:
    """Two disks of instance storage, as files, with an ext4 on one."""
    monkeypatch.setattr(probers, "ask", lambda nodes: [(EXT4,)] * len(nodes))
    fake = three_disks(tmp_path)
    (tmp_path / "dev").mkdir(exist_ok=True)
    for name in ("nvme1n1", "nvme2n1"):
        fake.put(f"block/{name}/size", str(SIZE // 512))
        fake.put(f"block/{name}/diskseq", "9")
        count(fake, name)
        with (tmp_path / "dev" / name).open("wb") as file:
            file.truncate(SIZE)
    put(fake, 1080, b"\x53\xef")
    return fake


def count(fake: FakeSysfs, name: str = "nvme1n1", **counted: int) -> None:
    numbers = {"ios": 0, "written": 0, "discarded": 0, **counted}
    fake.put(f"block/{name}/stat", STAT.format(**numbers))


def put(fake: FakeSysfs, offset: int, data: bytes) -> None:
    descriptor = os.open(fake.root / "dev/nvme1n1", os.O_WRONLY)
    os.pwrite(descriptor, data, offset)
    os.close(descriptor)


def seen(fake: FakeSysfs) -> Disk:
    found = devices.probe(kernel=fake.kernel, privileged=True, to_confirm=True)
    return next(one for one in found.disks if one.path.endswith("nvme1n1"))


@pytest.mark.parametrize(
    "change",
    [
        lambda fake: put(fake, 1024 + 0x30, b"\1"),  # ext4's s_wtime
        lambda fake: put(fake, 512 * 1024, b"\1"),  # where a mark would be
        lambda fake: put(fake, SIZE - 1, b"\1"),
        lambda fake: count(fake, ios=1, written=8),
        lambda fake: count(fake, discarded=8),
        lambda fake: fake.put("block/nvme1n1/diskseq", "10"),
    ],
    ids=["superblock", "place of a mark", "last byte", "counted write", "discard", "replugged"],
)
def test_whatever_was_written_gives_other_contents(
    sysfs: FakeSysfs, change: Callable[[FakeSysfs], None]
) -> None:
    before = seen(sysfs)
    assert before.contents_digest
    assert seen(sysfs) == before
    change(sysfs)
    assert seen(sysfs).contents_digest != before.contents_digest


def test_what_was_only_read_has_the_same_contents(sysfs: FakeSysfs) -> None:
    before = seen(sysfs)
    sysfs.put("block/nvme1n1/stat", "99 0 9999 1 3 0 0 2 0 3 3 0 0 0 0 5 5")
    assert seen(sysfs) == before


def test_what_waits_in_the_cache_is_written_before_writes_are_counted(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = seen(sysfs)
    monkeypatch.setattr(os, "fsync", lambda _: count(sysfs, ios=1, written=8))
    assert seen(sysfs).contents_digest != before.contents_digest


def test_a_disk_in_use_changes_all_the_time(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blockdev, "is_busy", lambda _: True)
    assert seen(sysfs).contents_digest == ""


def test_boot_reads_no_more_than_it_did(sysfs: FakeSysfs) -> None:
    found = devices.probe(kernel=sysfs.kernel, privileged=True)
    assert {one.contents_digest for one in found.disks} == {""}


def test_a_disk_whose_contents_cannot_be_told_is_unreadable(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(blockdev, "contents_digest", fail)
    assert "unreadable" in {one.kind for one in seen(sysfs).signatures}


def test_a_plan_that_is_to_be_confirmed_asks_for_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, object]] = []

    def probe(**how: object) -> Inventory:
        asked.append(how)
        return inventory(*BLANK)

    monkeypatch.setattr(devices, "probe", probe)
    executor.plan_request(Request(), places=executor.Places(layout=tmp_path / "layout.toml"))
    assert [one["to_confirm"] for one in asked] == [True]


# ----------------------------------------------------------------------- the last look


def again(fake: FakeSysfs, before: Disk) -> str:
    found = recheck.look_again([before], fake.kernel)
    return found[1] if found else ""


def test_the_last_look_finds_what_was_written_since(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = seen(sysfs)
    assert again(sysfs, before) == ""
    count(sysfs, ios=1, written=8)
    assert again(sysfs, before) == "has been written to"
    # At boot nothing was confirmed, and decision and write follow at once.
    assert again(sysfs, replace(before, contents_digest="")) == ""

    def fail(*_: object) -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(blockdev, "contents_digest", fail)
    assert again(sysfs, before) == "can no longer be read"


class Tools:
    """The programs of an erasure; ``between`` is what happens after the first of them."""

    def __init__(self, sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[str] = []
        self.between: Callable[[], None] = lambda: None
        self.written = 0
        self._sysfs = sysfs
        monkeypatch.setattr(process, "run", self._run)
        monkeypatch.setattr(builtin_steps, "run", self._run)
        monkeypatch.setattr(verify, "check", lambda *_: None)
        monkeypatch.setattr(verify, "wait_for_udev", lambda _: None)

    def _run(self, argv: Sequence[str], *_: object, **__: object) -> Any:
        self.ran.append(apply.name_of(tuple(argv)))
        self.written += 8
        put(self._sysfs, 1080 + len(self.ran), b"\0")
        count(self._sysfs, ios=1, written=self.written)
        if len(self.ran) == 1:
            self.between()


class Quiet:
    def audit(self, *_: object) -> None:
        pass


def erase(sysfs: FakeSysfs, before: Disk) -> apply.Ended:
    todo: tuple[Step, ...] = (
        steps.wipe_disk_step(before, "ext4"),
        steps.release_foreign_step(before, "ext4"),
    )
    made = Plan(Decision.REMOVE, "d" * 64, (), todo)
    found = inventory(before)
    work = apply.work_of(made, LAYOUT, found, sysfs.kernel, layout_file=Path("/nonexistent"))
    return apply.run_plan(work, record=Quiet())  # type: ignore[arg-type]


def test_what_a_step_has_written_does_not_stop_the_next(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Tools(sysfs, monkeypatch)
    assert erase(sysfs, seen(sysfs)).failed == {}
    assert tools.ran == ["wipefs", "chore release-foreign"]


def test_what_somebody_writes_between_two_steps_stops_the_next(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Tools(sysfs, monkeypatch)
    before = seen(sysfs)
    # After the step was run and noted: when the next looks.
    noted = apply._note_contents

    def note(step: Step, work: apply.Work) -> None:
        noted(step, work)
        if len(tools.ran) == 1:
            count(sysfs, ios=2, written=800)

    monkeypatch.setattr(apply, "_note_contents", note)
    error = erase(sysfs, before).ground
    assert isinstance(error, apply.Changed)
    assert "has been written to since" in error.message
    assert error.begun
    assert tools.ran == ["wipefs"]


def test_an_erasure_of_what_was_written_since_writes_nothing(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Tools(sysfs, monkeypatch)
    before = seen(sysfs)
    count(sysfs, ios=1, written=8)
    assert isinstance(erase(sysfs, before).ground, apply.Changed)
    assert tools.ran == []


# ------------------------------------------------------------------------------ the age


DIGEST = "d" * 64


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "digests").mkdir()
    return Store(tmp_path / "plans", tmp_path / "digests")


@pytest.fixture
def uptime(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [5000.0]
    monkeypatch.setattr("appliance.storage.execute.request_spool.boot_seconds", lambda: now[0])
    return now


def test_a_plan_expires(store: Store, uptime: list[float]) -> None:
    asked = Request(erase=("S4",))
    store.keep_request(DIGEST, asked)
    uptime[0] += PLAN_LIFETIME_SECONDS
    assert store.request(DIGEST) == asked
    uptime[0] += 1
    with pytest.raises(StalePlan, match="is older than 15 min; nothing was written") as caught:
        store.request(DIGEST)
    assert caught.value.exit_code == 4
    assert "plan again" in caught.value.hint


def test_planned_again_it_can_be_confirmed_again(store: Store, uptime: list[float]) -> None:
    store.keep_request(DIGEST, Request())
    uptime[0] += PLAN_LIFETIME_SECONDS + 1
    store.keep_request(DIGEST, Request())
    assert store.request(DIGEST) == Request()


@pytest.mark.parametrize("age", [None, "1", True, float("nan"), 5001.0])
def test_a_plan_without_a_time_is_too_old(store: Store, uptime: list[float], age: object) -> None:
    store.keep_request(DIGEST, Request())
    file = store.digests / f"{DIGEST}.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "at_boot_s": age}))
    with pytest.raises(StalePlan, match="is older than"):
        store.request(DIGEST)


def test_the_kernel_may_not_count(tmp_path: Path) -> None:
    assert Kernel(tmp_path).writes("sda") == ""
