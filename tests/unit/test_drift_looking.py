"""The look itself: what it takes for granted, what it leaves alone, and what it does not know."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from appliance.drift.looks import observation, observe
from appliance.drift.looks.observation import Answer
from appliance.drift.rules import layout_rules
from appliance.storage.probe import blockdev
from appliance.system import child, process
from tests.unit.drift_machine import BOOT, ROOT_MOUNT, Machine, booted, codes, no_process


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return booted(tmp_path)


# ----------------------------------------------------------------------- what is not known


def test_a_look_before_the_boot_unit_has_one(machine: Machine) -> None:
    (machine.root / "state.json").unlink()
    seen = machine.look()
    assert seen.blind == (("*", ""),)
    assert seen.notes == ("the boot unit has left no readable state in this boot",)
    assert seen.surroundings == {}
    assert (machine.layout_facts(), machine.environment_facts()) == ((), ())


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"boot_id": "another"}, "the boot unit's state is from another boot"),
        ({"outcome": "applying"}, "nothing was judged: a plan is being carried out"),
        (
            {"outcome": "waiting", "boot_id": ""},
            "nothing was judged: the boot unit is still at work",
        ),
    ],
)
def test_a_state_that_says_nothing_of_now(
    machine: Machine, change: dict[str, str], note: str
) -> None:
    machine.write({**machine.state(), **change})
    machine.mounts()
    assert machine.look().notes == (note,)
    assert machine.look().blind == (("*", ""),)
    assert machine.layout_facts() == ()


def test_whoever_was_killed_at_work_keeps_nobody_from_judging(machine: Machine) -> None:
    machine.write({**machine.state(), "outcome": "applying"})
    machine.mounts()
    assert machine.look().blind == (("*", ""),)
    machine.worker.rmdir()
    assert machine.look().blind == ()
    assert machine.look().notes == ("work on the volumes was interrupted",)
    assert codes(machine.layout_facts()) == ["MOUNT-MISSING"]
    machine.write({**machine.state(), "outcome": "waiting", "boot_id": ""})
    assert "ended before it had examined" in machine.look().notes[0]


def test_a_volume_that_is_not_up_is_not_judged(machine: Machine) -> None:
    state = machine.state()
    state["volumes"][0]["outcome"] = "refused"
    machine.write(state)
    machine.mounts()
    seen = machine.look()
    assert seen.blind == (("*", "scratch"),)
    assert seen.notes == ("volume 'scratch' is refused; it was not judged",)
    assert machine.layout_facts() == ()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "null", '{"boot_id": "%s"}', '{"boot_id": "%s", "volumes": [1, {}]}']
)
def test_files_that_say_nonsense(machine: Machine, text: str) -> None:
    for name in ("state.json", "seen.json", "layout.toml"):
        file = machine.root / name
        kept = file.read_text()
        file.write_text(text.replace("%s", BOOT))
        seen = machine.look()
        assert seen.blind or seen.notes or name == "seen.json"
        layout_rules.judge(seen)
        file.write_text(kept)


def test_a_state_of_an_older_version_is_judged_by_what_it_has(machine: Machine) -> None:
    state = machine.state()
    del state["surroundings"]
    machine.write(state)
    assert (machine.layout_facts(), machine.environment_facts()) == ((), ())
    machine.pull("nvme1n1")
    assert codes(machine.layout_facts()) == ["MEMBER-MISSING"]


def test_a_volume_of_which_the_state_says_nonsense(machine: Machine) -> None:
    state = machine.state()
    state["volumes"][0]["members"] = [{"path": 5}]
    machine.write(state)
    assert machine.look().blind == (("*", ""),)


def test_a_layout_that_cannot_be_read(machine: Machine) -> None:
    (machine.root / "layout.toml").write_text("[[volume]]\nname = 5\n")
    assert "the layout was not compared" in machine.look().notes[0]
    assert machine.layout_facts() == ()


def test_roots_look_that_is_missing_or_old(machine: Machine) -> None:
    root = {("LVM-SEGMENTS", ""), ("HWRAID-STATE", ""), ("DISK-HEALTH", ""), ("FS-GEOMETRY", "")}
    machine.seen(at=time.time() - observation.STALE_SECONDS - 60)
    assert set(machine.look().blind) == root
    assert "no privileged scan for 1 h" in machine.look().notes[0]
    machine.seen(boot_id="another")
    assert set(machine.look().blind) == root
    assert "no privileged scan in this boot" in machine.look().notes[0]


def test_what_did_not_answer_to_root(machine: Machine) -> None:
    ids = [one["id"] for one in machine.state()["volumes"][0]["members"]]
    machine.seen(virtual_drives=None, health={ids[0]: None}, filesystems={"scratch": None})
    assert set(machine.look().blind) == {
        ("HWRAID-STATE", ""),
        ("DISK-HEALTH", "scratch"),
        ("FS-GEOMETRY", "scratch"),
    }


def test_a_group_that_root_did_not_see_is_not_judged(machine: Machine) -> None:
    state = machine.state()
    state["volumes"][0] |= {"stripe": "lvm-stripe", "level": "lvm-stripe"}
    machine.write(state)
    assert ("LVM-SEGMENTS", "scratch") in machine.look().blind


def test_an_array_that_is_at_work_on_itself(machine: Machine) -> None:
    machine.put("md127/md/raid_disks", "5 (4)")
    machine.put("md127/md/chunk_size", "524288 (262144)")
    (array,) = machine.look().arrays
    assert (array.md.raid_disks, array.md.chunk_bytes) == (5, 524288)
    machine.put("md127/md/degraded", "1")
    for done, action, sync in (
        ("0 / 0", "reshape", "reshape"),
        ("512 / 2048", "reshape", "reshape 25 %"),
        ("512 / 2048", "frozen", ""),
        ("none", "idle", ""),
    ):
        machine.put("md127/md/sync_completed", done)
        machine.put("md127/md/sync_action", action)
        (degraded,) = (one for one in machine.layout_facts() if one.code == "ARRAY-DEGRADED")
        assert degraded.evidence["sync"] == sync


def test_a_spare_has_no_slot(machine: Machine) -> None:
    machine.put("md127/md/dev-nvme4n1/slot", "none")
    assert [one.slot for one in machine.look().arrays[0].slots] == [0, 1, 2]


def test_what_is_not_mounted_is_not_asked(machine: Machine) -> None:
    assert set(machine.look().answers) == {"/mnt/scratch"}
    machine.mounts(ROOT_MOUNT)
    assert machine.look().answers == {}, "an automount would be set off"


def test_a_pipe_in_place_of_a_file_of_root_holds_nobody_up(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, real, flags = machine.root / "seen.json", os.open, []

    def opened(path: Path, how: int) -> int:
        flags.append(how & os.O_NONBLOCK)
        return real(path, how | os.O_NONBLOCK)

    pipe.unlink()
    os.mkfifo(pipe)
    monkeypatch.setattr(os, "open", opened)
    assert observation.read_seen(pipe, BOOT) is None
    assert flags == [os.O_NONBLOCK], "without it the pipe's writer is waited for"


def test_a_file_without_end_is_none(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation, "MAX_SEEN_BYTES", (machine.root / "seen.json").stat().st_size)
    (machine.root / "seen.json").open("a").write(" ")
    assert observation.read_seen(machine.root / "seen.json", BOOT) is None


def test_a_file_that_is_nested_too_deep_is_none(machine: Machine) -> None:
    (machine.root / "seen.json").write_text("[" * 200_000)
    assert "no privileged scan" in machine.look().notes[0]


def test_disks_without_a_serial_are_not_all_the_same_member(machine: Machine) -> None:
    state = machine.state()
    state["volumes"][0]["members"][0]["serial"] = ""
    machine.write(state)
    before = machine.look().surroundings_now
    machine.local_disk("nvme9n1", "259:90", "")
    machine.put("nvme9n1/queue/scheduler", "none [bfq]")
    assert machine.look().surroundings_now == before


def test_a_device_that_goes_while_it_is_looked_at(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def once(sources: observe.Sources) -> object:
        looks.append(sources)
        if len(looks) == 1:
            raise FileNotFoundError("/sys/block/nvme3n1")
        return real(sources)

    real = observe._look
    monkeypatch.setattr(observe, "_look", once)
    assert machine.look().volumes
    monkeypatch.setattr(observe, "_look", _gone)
    assert machine.look().blind == (("*", ""),)
    assert "/sys/block" in machine.look().notes[0]


def _gone(*_: object) -> None:
    raise FileNotFoundError("/sys/block")


def test_a_plan_that_begins_while_it_is_looked_is_no_drift(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = observe._surroundings
    settled = machine.state()

    def meanwhile(*more: Any) -> dict[str, str]:
        machine.write({**machine.state(), "outcome": "applying"})
        return real(*more)

    # The plan has unmounted the volume already when the mounts are read.
    machine.mounts()
    monkeypatch.setattr(observe, "_surroundings", meanwhile)
    assert machine.layout_facts() == ()
    assert machine.look().notes == ("nothing was judged: a plan is being carried out",)

    def without_end(*more: Any) -> dict[str, str]:
        machine.write({**machine.state(), "at": machine.state()["at"] + 1})
        return real(*more)

    machine.write(settled)
    monkeypatch.setattr(observe, "_surroundings", without_end)
    assert machine.look().blind == (("*", ""),)
    assert "was at work meanwhile" in machine.look().notes[0]


# -------------------------------------------------------------------- what it leaves alone


def test_a_look_opens_no_device_and_writes_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("read_filesystem", "read_contents", "read_at", "is_busy", "read_marks"):
        monkeypatch.setattr(blockdev, name, _never)
    monkeypatch.setattr(process, "run", _never)
    opened = []
    real = os.open

    def watch(path: Any, flags: int, *more: Any, **options: Any) -> int:
        opened.append((str(path), flags))
        return real(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", watch)
    before = {one: one.lstat().st_mtime_ns for one in machine.root.rglob("*")}
    machine.look()
    assert {one: one.lstat().st_mtime_ns for one in machine.root.rglob("*")} == before
    assert not [path for path, _ in opened if "/dev/" in path]
    assert not [path for path, flags in opened if flags & (os.O_WRONLY | os.O_RDWR)]


def _never(*_: object, **__: object) -> None:
    raise AssertionError("a look does not do this")


def test_the_mounts_are_the_first_process_ones(machine: Machine) -> None:
    assert " ro," in (machine.root / "proc/self/mountinfo").read_text()
    assert [one.options for one in machine.look().mounts][1] == "rw,nosuid,nodev,noatime"
    (machine.root / "proc/1/mountinfo").unlink()
    assert [one.options for one in machine.look().mounts][1] == "ro,nosuid,nodev,noatime"


# ------------------------------------------------------------------------ bounded questions


def test_a_question_that_never_comes_back_is_left_behind() -> None:
    began = time.monotonic()
    with pytest.raises(child.NoAnswer, match=r"within 0\.2 seconds"):
        child.call(lambda: time.sleep(60), timeout_seconds=0.2)
    assert time.monotonic() - began < 5


def test_a_question_that_fails_is_no_answer() -> None:
    with pytest.raises(child.NoAnswer, match="without an answer"):
        child.call(lambda: 1 / 0, timeout_seconds=5)
    assert child.call(lambda: {"a": [1, None]}, timeout_seconds=5) == {"a": [1, None]}
    assert len(child.call(lambda: "x" * 300_000, timeout_seconds=5)) == 300_000


def test_only_what_hangs_is_without_an_answer(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(mount: str) -> tuple[int | None, int | None]:
        if mount.endswith("dead"):
            time.sleep(60)
        return 5, None

    monkeypatch.setattr(observe, "_ask", ask)
    monkeypatch.setattr(observe, "_ANSWER_SECONDS", 0.5)
    found = child.each(["/a", "/dead"], ask, timeout_seconds=0.5)
    assert found == {"/a": [5, None]}
    assert machine.look().answers == {"/mnt/scratch": Answer(5, None)}
    monkeypatch.setattr(observe, "_ask", lambda mount: ask("dead"))
    assert machine.look().answers == {"/mnt/scratch": Answer()}
    assert codes(machine.layout_facts()) == ["FS-FAILED"]


def test_without_a_process_nobody_was_asked(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fork", no_process)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(child.NotAsked, match="temporarily unavailable"):
        child.each(["/a"], len, timeout_seconds=5)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    seen = machine.look()
    assert (seen.answers, seen.blind) == ({}, (("FS-FAILED", ""), ("FS-GEOMETRY", "")))
    assert "were not checked" in seen.notes[0]
    assert machine.layout_facts() == (), "no filesystem has stopped because of it"


# -------------------------------------------------------------------------- udev's database


def test_udevs_database(machine: Machine) -> None:
    facts = machine.fake.kernel.udev("nvme1n1")
    assert facts["DEVLINKS"] == "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS1"
    assert machine.fake.kernel.udev("nothing") == {}
    assert machine.fake.kernel.udev("md127")["MD_NAME"] == ("stripewright:scratch")
