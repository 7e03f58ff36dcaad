"""How full a mounted filesystem is: asked in a process of its own, because it may never answer."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from appliance.client.machine_status import read_status
from appliance.state.boot_state import BootVolume
from appliance.storage.execute import state_document
from appliance.storage.probe import mounted
from appliance.system import child
from appliance.system.kernel import MdArray, Mount

REAL = os.statvfs


@pytest.fixture(autouse=True)
def dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """/mnt/dead never answers; all others are as large as the root filesystem."""

    def statvfs(path: str) -> os.statvfs_result:
        if "dead" in path:
            time.sleep(60)
        return REAL("/")

    monkeypatch.setattr(os, "statvfs", statvfs)
    monkeypatch.setattr(mounted, "ANSWER_SECONDS", 0.5)


@pytest.fixture
def unkillable(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Children that no signal ends, as one in the kernel's hands; the list has them."""
    forked: list[int] = []
    fork = os.fork

    def counted() -> int:
        pid = fork()
        if pid:
            forked.append(pid)
        return pid

    kill = os.kill
    monkeypatch.setattr(os, "fork", counted)
    monkeypatch.setattr(os, "kill", lambda *_: None)
    monkeypatch.setattr(child, "_REAP_SECONDS", 0.05)
    yield forked
    for pid in list(child._left):
        kill(pid, signal.SIGKILL)
    while child._still_waiting():
        time.sleep(0.01)


def test_status_does_not_wait_for_a_dead_filesystem(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text(
        json.dumps(
            {
                "outcome": "mounted",
                "volumes": [
                    {"name": name, "outcome": "mounted", "mount": f"/mnt/{name}"}
                    for name in ("dead", "data", "none")
                ],
            }
        )
    )
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(
        "30 22 9:127 / /mnt/dead rw - xfs /dev/md127 rw\n"
        "31 22 9:126 / /mnt/data rw - xfs /dev/md126 rw\n"
    )
    began = time.monotonic()
    found = read_status(
        state_file=state, db=tmp_path / "no.db", mountinfo=mountinfo, sys_block=tmp_path,
        next_run=lambda: None,
    )  # fmt: skip
    assert time.monotonic() - began < 10
    free = {one.name: one.free_bytes for one in found.volumes}
    assert (free["dead"], free["none"]) == (None, None)
    assert free["data"]
    assert [one.mounted for one in found.volumes] == [True, True, False]


def test_the_boot_unit_does_not_wait_for_a_dead_filesystem() -> None:
    mount = Mount("9:127", "/mnt/dead", "xfs", "/dev/md127", "rw", "rw")
    kernel: Any = SimpleNamespace(mount_at=lambda _: mount, md=lambda _: MdArray())
    dead = BootVolume("dead", uuid="u", mount="/mnt/dead", device="/dev/md127")
    began = time.monotonic()
    noted = state_document._note(kernel, dead).mount
    assert noted is not None
    assert noted.size_bytes is None
    assert time.monotonic() - began < 10
    noted = state_document._note(kernel, replace(dead, mount="/mnt/data")).mount
    assert noted is not None
    assert noted.size_bytes


def test_without_a_process_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", no_process)
    assert mounted.usages(["/mnt/data"]) == {}


def test_a_filesystem_with_an_error_has_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> os.statvfs_result:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "statvfs", fail)
    assert mounted.usages(["/mnt/data"]) == {}


def test_a_screen_that_asks_every_second_leaves_no_child_for_each(unkillable: list[int]) -> None:
    mounts = ["/mnt/data", "/mnt/dead"]
    assert set(mounted.usages(mounts)) == {"/mnt/data"}
    stuck = set(child._left)
    assert len(stuck) == 2, "one for both, and one for the dead alone"
    began = time.monotonic()
    for _ in range(5):
        assert set(mounted.usages(mounts)) == {"/mnt/data"}
        assert mounted.usages(["/mnt/dead"]) == {}
    assert time.monotonic() - began < 5
    assert set(child._left) == stuck
    # Another question to the same is another question.
    assert child.each(["/mnt/dead"], len, timeout_seconds=5) == {"/mnt/dead": 9}


def test_when_the_child_has_ended_it_is_asked_again(
    unkillable: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mounted.usages(["/mnt/dead"]) == {}
    monkeypatch.setattr(os, "statvfs", lambda _: REAL("/"))
    assert mounted.usages(["/mnt/dead"]) == {}
    for pid in list(child._left):
        signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)
    deadline = time.monotonic() + 5
    while not (found := mounted.usages(["/mnt/dead"])) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(found) == {"/mnt/dead"}


def test_a_child_that_stays_holds_nothing_of_its_parent(
    unkillable: list[int], tmp_path: Path
) -> None:
    """A pipe that is read to its end, and a lock: both are free when we are gone."""
    ours, theirs = os.pipe()
    with (tmp_path / "lock").open("w") as lock:
        assert mounted.usages(["/mnt/dead"]) == {}
        held = {
            str(one.readlink()) for pid in child._left for one in Path(f"/proc/{pid}/fd").iterdir()
        }
        assert lock.name not in held
    os.close(theirs)
    assert os.read(ours, 1) == b""
    os.close(ours)
    assert {one for one in held if not one.startswith("pipe:")} == {os.devnull}
