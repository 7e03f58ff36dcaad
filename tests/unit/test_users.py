"""Who uses a disk that nobody holds: loop devices, kernel targets, programs, as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from appliance.storage.probe import claims
from appliance.system.kernel import Kernel
from tests.unit.fakesysfs import FakeSysfs

NUMBERS = {"/dev/sdb": "8:16", "/dev/sdb1": "8:17", "/dev/sdc": "8:32"}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSysfs:
    made = FakeSysfs(tmp_path)
    made.disk("sdb", "8:16")
    made.disk("sdc", "8:32")
    made.partition("sdb", "sdb1", "8:17")

    def number(_: Kernel, path: str) -> str:
        file = Path(path)
        return NUMBERS.get(str(file.readlink()) if file.is_symlink() else path, "")

    monkeypatch.setattr(Kernel, "device_number", number)
    return made


def process(machine: FakeSysfs, pid: int, name: str, path: str, flags: int) -> None:
    folder = machine.root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "fdinfo").mkdir()
    (folder / "comm").write_text(f"{name}\n")
    (folder / "fd/3").symlink_to(path)
    (folder / "fdinfo/3").write_text(f"pos:\t0\nflags:\t0{flags:o}\nmnt_id:\t15\n")


def test_loop_devices_by_what_is_behind_them(machine: FakeSysfs) -> None:
    machine.put("block/loop0/loop/backing_file", "/dev/sdb1")
    machine.put("block/loop1/loop/backing_file", "/var/images/root.raw")
    assert claims.users(machine.kernel) == {"sdb": (("loop0", "loop device"),)}


def test_what_the_kernel_exports(machine: FakeSysfs) -> None:
    space = "kernel/config/nvmet/subsystems/nqn.x/namespaces"
    for number, path, enabled in ((1, "/dev/sdb", "1"), (2, "/dev/sdc", "0")):
        machine.put(f"{space}/{number}/device_path", path)
        machine.put(f"{space}/{number}/enable", enabled)
    info = "Status: ACTIVATED  Max Queue Depth: 0\n        TCM FILEIO ID: 0        File: /dev/sdc"
    machine.put("kernel/config/target/core/fileio_0/lun/info", f"{info}  Size: 1  Mode: Buffered")
    assert claims.users(machine.kernel) == {
        "sdb": (("nqn.x/1", "exported by nvmet"),),
        "sdc": (("lun", "exported by LIO"),),
    }


@pytest.mark.parametrize(
    ("flags", "found"), [(os.O_RDONLY, False), (os.O_WRONLY, True), (os.O_RDWR, True)]
)
def test_programs_that_can_write(machine: FakeSysfs, flags: int, *, found: bool) -> None:
    process(machine, 77, "qemu\x1b[2J", "/dev/sdb", flags | os.O_DIRECT | os.O_CLOEXEC)
    process(machine, os.getpid(), "python3", "/dev/sdc", os.O_RDWR)
    process(machine, 78, "tail", "/var/log/syslog", os.O_RDWR)
    seen = claims.users(machine.kernel)
    assert set(seen) == ({"sdb"} if found else set())
    if found:
        ((who, what),) = seen["sdb"]
        assert who == "process 77"
        assert "\x1b" not in what


def test_a_process_that_has_ended_is_no_error(machine: FakeSysfs) -> None:
    (machine.root / "proc/79").mkdir()
    process(machine, 80, "qemu", "/dev/sdc", os.O_RDWR)
    assert set(claims.users(machine.kernel)) == {"sdc"}


def test_a_user_is_shown_as_a_holder_of_a_free_disk(machine: FakeSysfs) -> None:
    process(machine, 80, "qemu", "/dev/sdc", os.O_RDWR)
    for privileged, holders in ((True, ("process 80",)), (False, ())):
        found = {
            one.path.rpartition("/")[2]: one for one in machine.probe(privileged=privileged).disks
        }
        assert found["sdc"].holders == holders
        assert found["sdb"].holders == ()
