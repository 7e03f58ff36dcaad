"""The look itself: what it takes for granted, what it leaves alone, and what it does not know."""

from __future__ import annotations

import ctypes
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from appliance.drift import layout, looking, rootlook
from appliance.drift.observation import Answer
from appliance.errors import CommandFailed
from appliance.storage import lvm
from appliance.storage.probe import blockdev, built, nvme, surroundings
from appliance.system import bounded, process
from tests.unit.drift_machine import BOOT, CHUNK, Machine, codes


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.boot()
    made.seen()
    return made


# ----------------------------------------------------------------------- what is not known


def test_a_look_before_the_boot_unit_has_one(machine: Machine) -> None:
    (machine.root / "state.json").unlink()
    seen = machine.look()
    assert seen.blind == (("*", ""),)
    assert seen.notes == ("the boot unit has left no state at this boot",)
    assert seen.surroundings == {}
    assert (machine.layout_facts(), machine.environment_facts()) == ((), ())


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"boot_id": "another"}, "the boot unit's state is not of this boot"),
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
        layout.judge(seen)
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
    del state["surroundings"]
    machine.write(state)
    assert machine.look().blind == (("*", "scratch"),)


def test_a_layout_that_cannot_be_read(machine: Machine) -> None:
    (machine.root / "layout.toml").write_text("[[volume]]\nname = 5\n")
    assert "the layout was not compared" in machine.look().notes[0]
    assert machine.layout_facts() == ()


def test_roots_look_that_is_missing_or_old(machine: Machine) -> None:
    root = {("LVM-SEGMENTS", ""), ("HWRAID-STATE", ""), ("DISK-HEALTH", ""), ("FS-GEOMETRY", "")}
    machine.seen(at=time.time() - looking.STALE_SECONDS - 60)
    assert set(machine.look().blind) == root
    assert "root has not looked for 1 h" in machine.look().notes[0]
    machine.seen(boot_id="another")
    assert set(machine.look().blind) == root
    assert "root has not looked at this boot" in machine.look().notes[0]


def test_what_did_not_answer_to_root(machine: Machine) -> None:
    ids = [one["id"] for one in machine.state()["volumes"][0]["members"]]
    machine.seen(virtual_drives=None, health={ids[0]: None}, filesystems={"scratch": None})
    assert set(machine.look().blind) == {
        ("HWRAID-STATE", ""),
        ("DISK-HEALTH", "scratch"),
        ("FS-GEOMETRY", "scratch"),
    }


def test_a_device_that_goes_while_it_is_looked_at(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def once(sources: looking.Sources) -> object:
        looks.append(sources)
        if len(looks) == 1:
            raise FileNotFoundError("/sys/block/nvme3n1")
        return real(sources)

    real = looking._look
    monkeypatch.setattr(looking, "_look", once)
    assert machine.look().volumes
    monkeypatch.setattr(looking, "_look", _gone)
    assert machine.look().blind == (("*", ""),)
    assert "/sys/block" in machine.look().notes[0]


def _gone(_: looking.Sources) -> None:
    raise FileNotFoundError("/sys/block")


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
    with pytest.raises(bounded.NoAnswer, match=r"within 0\.2 seconds"):
        bounded.call(lambda: time.sleep(60), timeout_seconds=0.2)
    assert time.monotonic() - began < 5


def test_a_question_that_fails_is_no_answer() -> None:
    with pytest.raises(bounded.NoAnswer, match="without an answer"):
        bounded.call(lambda: 1 / 0, timeout_seconds=5)
    assert bounded.call(lambda: {"a": [1, None]}, timeout_seconds=5) == {"a": [1, None]}
    assert len(bounded.call(lambda: "x" * 300_000, timeout_seconds=5)) == 300_000


def test_only_what_hangs_is_without_an_answer(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(mount: str) -> tuple[int | None, int | None]:
        if mount.endswith("dead"):
            time.sleep(60)
        return 5, None

    monkeypatch.setattr(looking, "_ask", ask)
    monkeypatch.setattr(looking, "_ANSWER_SECONDS", 0.3)
    found = bounded.each(["/a", "/dead"], ask, timeout_seconds=0.3)
    assert found == {"/a": [5, None]}
    assert machine.look().answers == {"/mnt/scratch": Answer(5, None)}
    monkeypatch.setattr(looking, "_ask", lambda mount: ask("dead"))
    assert machine.look().answers == {"/mnt/scratch": Answer()}
    assert codes(machine.layout_facts()) == ["FS-FAILED"]


# --------------------------------------------------------------------------- root's own look


@pytest.fixture
def root(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(process, "find_program", lambda name: None)
    monkeypatch.setattr(surroundings, "fio_version", lambda *, ask: "")
    log = nvme.Smart(0, 100, 10, 2, 3)
    monkeypatch.setattr(nvme, "smart", lambda node: log if "nvme" in node else None)
    monkeypatch.setattr(
        blockdev,
        "read_filesystem",
        lambda node: built.Filesystem("xfs", "scratch", "fs-uuid", CHUNK, 4 * CHUNK),
    )
    return machine


def written(machine: Machine) -> dict[str, Any]:
    rootlook.look(machine.sources)
    return dict(json.loads((machine.root / "seen.json").read_text()))


def test_root_leaves_what_only_it_can_see(root: Machine) -> None:
    found = written(root)
    assert (found["boot_id"], found["groups"], found["virtual_drives"]) == (BOOT, [], [])
    assert len(found["health"]) == 4
    assert found["filesystems"]["scratch"] == {
        "kind": "xfs", "uuid": "fs-uuid", "sunit_bytes": CHUNK, "swidth_bytes": 4 * CHUNK
    }  # fmt: skip
    assert (root.root / "seen.json").stat().st_mode & 0o777 == 0o644
    seen = root.look()
    assert (seen.blind, seen.notes) == ((), ())
    assert (root.layout_facts(), root.environment_facts()) == ((), ())


def test_root_remembers_the_errors_of_its_first_look(
    root: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(root)
    monkeypatch.setattr(nvme, "smart", lambda node: nvme.Smart(0, 100, 10, 2, 8))
    assert {one["first_media_errors"] for one in written(root)["health"].values()} == {3}
    assert codes(root.environment_facts()) == ["DISK-HEALTH"] * 4
    root.seen(boot_id="another", health=written(root)["health"])
    assert {one["first_media_errors"] for one in written(root)["health"].values()} == {8}


def test_disks_that_never_answer_do_not_hold_root_up(
    root: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def smart(node: str) -> nvme.Smart | None:
        if node.endswith("nvme3n1"):
            time.sleep(60)
        return nvme.Smart(0, 100, 10, 2, 3)

    monkeypatch.setattr(nvme, "smart", smart)
    monkeypatch.setattr(blockdev, "read_filesystem", lambda node: time.sleep(60))
    monkeypatch.setattr(rootlook, "_DISK_SECONDS", 0.3)
    found = written(root)
    assert [one is None for _, one in sorted(found["health"].items())] == [
        False,
        False,
        True,
        False,
    ]
    assert found["filesystems"] == {"scratch": None}


def test_root_asks_lvm_about_disks_that_may_be_read(
    root: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.local_disk("nvme8n1", "259:80", "AWS8")
    root.udev("259:80", links=["disk/by-id/nvme-x_AWS8"], ID_FS_TYPE="LVM2_member")
    root.fake.disk("sdz", "8:80", model="Somebody's", serial="Z")
    root.udev("8:80", ID_FS_TYPE="LVM2_member")
    node = str(root.root / "dev/nvme8n1")
    asked = []

    def run(argv: Any, **_: Any) -> process.Completed:
        asked.append(argv)
        return process.Completed(tuple(argv), 5, json.dumps({"report": [_report(node)]}), "")

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(bounded, "call", lambda work, timeout_seconds: work())
    (group,) = written(root)["groups"]
    assert asked == [lvm.report_argv([node])]
    assert group["members"] == ["nvme-x_AWS8"], "ids, as everywhere else"


def _report(node: str) -> dict[str, Any]:
    return {
        "vg": [
            {
                "vg_name": "stripewright-x", "vg_uuid": "u", "vg_tags": "",
                "vg_extent_size": "4194304", "vg_free": "0", "pv_count": "1",
            }
        ],
        "pv": [{"pv_name": node, "pv_uuid": "p", "pv_size": "4194304"}],
        "lv": [],
        "seg": [],
    }  # fmt: skip


def _fails(argv: Any, **_: Any) -> process.Completed:
    raise CommandFailed(argv, None, "")


def test_lvm_that_does_not_answer_is_not_an_empty_answer(
    root: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.local_disk("nvme8n1", "259:80", "AWS8")
    root.udev("259:80", ID_FS_TYPE="LVM2_member")
    monkeypatch.setattr(process, "run", _fails)
    assert written(root)["groups"] is None


def test_a_controller_that_does_not_answer(root: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "find_program", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(process, "run", _fails)
    assert written(root)["virtual_drives"] is None


# ------------------------------------------------------------------------------ SMART's page


def test_the_smart_log() -> None:
    page = bytearray(nvme.SMART_BYTES)
    page[0], page[3], page[4], page[5] = 0b101, 87, 10, 120
    page[160:176] = (2**70).to_bytes(16, "little")
    found = nvme.smart_log(bytes(page))
    assert found == nvme.Smart(5, 87, 10, 120, 2**70)
    assert nvme.smart_log(bytes(page[:511])) is None


def test_the_smart_log_is_asked_for_of_the_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []

    def ioctl(_: int, request: int, command: bytearray) -> int:
        sent.append((request, bytes(command)))
        (address,) = nvme.struct.unpack_from("<Q", command, 24)
        ctypes.memset(address + 5, 42, 1)
        return 0

    monkeypatch.setattr(nvme.fcntl, "ioctl", ioctl)
    found = nvme.smart("/dev/null")
    assert found is not None
    assert found.percentage_used == 42
    request, command = sent[0]
    opcode, namespace = nvme.struct.unpack_from("<B3xI", command)
    length, dword10 = nvme.struct.unpack_from("<II", command, 36)
    # NVMe base specification, Get Log Page: dwords less one above the page's id.
    assert (request, opcode, namespace) == (0xC0484E41, 0x02, 0xFFFFFFFF)
    assert (length, dword10) == (512, 127 << 16 | 0x02)
    assert nvme.smart("/no/such/node") is None


# -------------------------------------------------------------------------- udev's database


def test_udevs_database(machine: Machine) -> None:
    facts = surroundings.udev_database(machine.fake.kernel, "nvme1n1")
    assert facts["DEVLINKS"] == "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS1"
    assert surroundings.udev_database(machine.fake.kernel, "nothing") == {}
    assert surroundings.udev_database(machine.fake.kernel, "md127")["MD_NAME"] == (
        "stripewright:scratch"
    )
