"""Root's part of a look: what it leaves for everybody, and what does not answer."""

from __future__ import annotations

import ctypes
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from appliance.bench import log_page
from appliance.drift.looks import privileged_scan
from appliance.errors import CommandFailed
from appliance.model.measurement import Exceeded, Provisioned
from appliance.storage.formats import lvm
from appliance.storage.probe import blockdev, built, devices, nvme, settings
from appliance.system import child, process
from tests.unit.drift_machine import BOOT, CHUNK, Machine, booted, codes, no_process


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return booted(tmp_path)


@pytest.fixture
def root(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(process, "find_program", lambda name: None)
    monkeypatch.setattr(settings, "fio_version", lambda *, ask: "")
    log = nvme.Smart(0, 100, 10, 2, 3, 41)
    monkeypatch.setattr(nvme, "smart", lambda node: log if "nvme" in node else None)
    monkeypatch.setattr(
        blockdev,
        "read_filesystem",
        lambda node: built.Filesystem("xfs", "scratch", "fs-uuid", CHUNK, 4 * CHUNK),
    )
    return machine


def written(machine: Machine) -> dict[str, Any]:
    privileged_scan.look(machine.sources)
    return dict(json.loads((machine.root / "seen.json").read_text()))


def test_root_leaves_what_only_it_can_see(root: Machine) -> None:
    found = written(root)
    assert (found["boot_id"], found["groups"], found["virtual_drives"]) == (BOOT, [], [])
    assert len(found["health"]) == 4
    assert found["filesystems"]["scratch"] == {
        "kind": "xfs", "label": "scratch", "uuid": "fs-uuid", "sunit_bytes": CHUNK,
        "swidth_bytes": 4 * CHUNK, "unfinished": False, "size_bytes": None,
    }  # fmt: skip
    assert (root.root / "seen.json").stat().st_mode & 0o777 == 0o644
    seen = root.look()
    assert (seen.blind, seen.notes) == ((), ())
    assert (root.layout_facts(), root.environment_facts()) == ((), ())


def test_root_looks_at_what_whoever_was_killed_has_left(root: Machine) -> None:
    root.write({**root.state(), "outcome": "applying"})
    assert written(root)["health"] == {}
    root.worker.rmdir()
    assert len(written(root)["health"]) == 4


def test_root_remembers_the_errors_of_its_first_look(
    root: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(root)
    monkeypatch.setattr(nvme, "smart", lambda node: nvme.Smart(0, 100, 10, 2, 8, 41))
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
        return nvme.Smart(0, 100, 10, 2, 3, 41)

    monkeypatch.setattr(nvme, "smart", smart)
    monkeypatch.setattr(blockdev, "read_filesystem", lambda node: time.sleep(60))
    monkeypatch.setattr(privileged_scan, "_DISK_SECONDS", 1.0)
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

    def run(argv: Any, *, timeout_seconds: float, **_: Any) -> process.Completed:
        # Less than it has at boot: the process that waits for it is given up then.
        assert timeout_seconds == 30
        asked.append(argv)
        return process.Completed(tuple(argv), 5, json.dumps({"report": [_report(node)]}), "")

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(child, "call", lambda work, timeout_seconds: work())
    (group,) = written(root)["groups"]
    assert asked == [lvm.report_argv([node])]
    assert group["members"] == ["nvme-x_AWS8"], "ids, as everywhere else"


def test_root_writes_what_it_has_without_a_process(
    root: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fork", no_process)
    found = written(root)
    assert set(found["health"].values()) == {None}
    assert found["filesystems"] == {"scratch": None}


def test_a_disk_that_goes_while_root_looks(root: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = devices.Probe.disk, []

    def disk(self: devices.Probe, name: str) -> Any:
        asked.append(name)
        if len(asked) == 1:
            raise FileNotFoundError(name)
        return real(self, name)

    monkeypatch.setattr(devices.Probe, "disk", disk)
    assert written(root)["groups"] == []
    monkeypatch.setattr(devices.Probe, "disk", _gone)
    assert written(root)["groups"] is None, "not known, and no error"


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


def _gone(*_: object) -> None:
    raise FileNotFoundError("/sys/block")


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
    assert nvme.smart_log(bytes(page)) == nvme.Smart(5, 87, 10, 120, 2**70, None)
    page[1:3] = (273 + 41).to_bytes(2, "little")
    assert nvme.smart_log(bytes(page)) == nvme.Smart(5, 87, 10, 120, 2**70, 41)
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


def test_root_leaves_ec2s_counters_for_runs(root: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def exceeded(disks: list[str]) -> dict[str, Exceeded]:
        return {disk: Exceeded(7, Provisioned(1, 2, 3, 4)) for disk in disks if disk == "nvme1n1"}

    monkeypatch.setattr(privileged_scan.log_page, "read_exceeded", exceeded)
    began = time.monotonic()
    left = written(root)["exceeded"]
    assert began <= left["at_monotonic_s"] <= time.monotonic()
    assert log_page.recorded(root.root / "seen.json", began) == exceeded(["nvme1n1"])
    assert list(left["disks"]) == ["nvme1n1"]
