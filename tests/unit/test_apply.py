"""Running steps: the last look before a write, and what a failure stops."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import CommandFailed, Refused
from appliance.model.disks import Disk, Inventory, Machine, Mark, MarkState
from appliance.model.plans import Decision, Destruction, Layout, Plan, Step, Volume, VolumePlan
from appliance.storage.execute import apply, builtin_steps, recheck, verify
from appliance.storage.execute.record import Record
from appliance.storage.probe import blockdev
from appliance.system import journal, process, services, stopping
from appliance.system.kernel import Kernel

ONE = Disk("/dev/nvme1n1", "id1", "m", "S1", 10**9, stable_path="/dev/disk/by-id/x")
DATA = Volume("data", "/mnt/data")
LOST = (Destruction(ONE.path, ONE.id, ONE.serial, ONE.size_bytes, "blank"),)


class _NoRecord(Record):
    def audit(self, *_: object) -> None: ...


class Bench:
    """What steps need, and what was run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.ran: list[str] = []
        self.marks: tuple[Mark, ...] = (Mark(MarkState.MAKING, "data", "", 524288),)
        self.look = self.fails = ""
        self._record = _NoRecord(tmp_path / "db")
        self._file = tmp_path / "layout.toml"
        monkeypatch.setattr(process, "run", self._run)
        monkeypatch.setattr(services, "systemd_is_running", lambda: False)
        monkeypatch.setattr(
            builtin_steps, "run", lambda argv, _: self.ran.append(" ".join(argv[1:4]))
        )
        monkeypatch.setattr(verify, "check", lambda *_: None)
        monkeypatch.setattr(verify, "mountpoint_problem", lambda *_, **__: "")
        monkeypatch.setattr(recheck, "look_before_mount", lambda *_, **__: "")
        monkeypatch.setattr(apply, "_make_mountpoint", lambda _: None)
        monkeypatch.setattr(journal, "event", lambda *_, **__: None)
        monkeypatch.setattr(
            recheck,
            "look_again",
            lambda disks, *_, **__: (disks[0], self.look) if self.look else None,
        )
        monkeypatch.setattr(blockdev, "read_marks", lambda *_: self.marks)

    def _look_again(self, disks: Sequence[Disk], *_: object, **__: object) -> Any:
        return (disks[0], self.look) if self.look else None

    def run(self, *steps: Step, volume: Volume = DATA) -> apply.Ended:
        one = VolumePlan(volume.name, Decision.CREATE, "", (ONE.path,))
        plan = Plan(Decision.CREATE, "d" * 64, (one,), steps)
        work = apply.work_of(
            plan,
            Layout((volume, Volume("logs", "/mnt/logs"))),
            Inventory(Machine(), (ONE,)),
            Kernel(),
            layout_file=self._file,
        )
        return apply.run_plan(work, record=self._record)

    def _run(self, argv: tuple[str, ...], **_: Any) -> process.Completed:
        if argv[0] != "udevadm":
            self.ran.append(argv[0])
            if argv[0] == self.fails:
                raise CommandFailed(argv, 1, "it said no")
        return process.Completed(tuple(argv), 0, "", "")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    return Bench(monkeypatch, tmp_path)


MARK = Step(("stripewright", "chore", "mark", "data", "end", ONE.path), "", LOST, "marks", "data")
MKFS = Step(("mkfs.xfs", "-f", ONE.stable_path), "", (), "geometry", "data")
MOUNT = Step(("mount", ONE.stable_path, "/mnt/data"), "", (), "mount", "data")


def test_our_own_work_is_done_here_and_programs_are_started(bench: Bench) -> None:
    assert bench.run(MARK, MKFS, MOUNT).failed == {}
    assert bench.ran == ["chore mark data", "mkfs.xfs", "mount"]


def test_asked_to_stop_the_step_is_ended_and_no_other_begun(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = process.run

    def run(argv: tuple[str, ...], **options: Any) -> process.Completed:
        if argv[0] == "mkfs.xfs":
            os.kill(os.getpid(), signal.SIGTERM)
        return real(argv, **options)

    monkeypatch.setattr(process, "run", run)
    logs = Step(("mount", "/dev/x", "/mnt/logs"), "", (), "mount", "logs")
    with stopping.heeded():
        ended = bench.run(MARK, MKFS, MOUNT, logs)
    assert bench.ran == ["chore mark data", "mkfs.xfs"]
    assert set(ended.failed) == {"data", "logs"}
    assert all(isinstance(error, apply.Stopped) for error in ended.failed.values())
    assert not stopping.asked()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(
    "marks",
    [
        (),
        (Mark(MarkState.MAKING, "logs", "", 524288),),
        (Mark(MarkState.RELEASED, "data", "", 524288),),
    ],
)
@pytest.mark.parametrize(
    "argv",
    [
        ("mkfs.xfs", "-f", ONE.stable_path),
        ("mkfs.ext4", "-F", ONE.stable_path),
        ("mdadm", "--create", "/dev/md/data", "--run"),
        ("vgcreate", "--yes"),
        ("lvcreate", "--yes"),
    ],
)
def test_nothing_is_made_where_the_disk_does_not_say_that_it_is_being_made(
    bench: Bench, marks: tuple[Mark, ...], argv: tuple[str, ...]
) -> None:
    """A tool that was told not to ask would write over anything."""
    bench.marks = marks
    error = bench.run(Step(argv, "", (), "", "data"), MOUNT).failed["data"]
    assert isinstance(error, Refused)
    assert "no longer says that 'data' is made of it" in error.message
    assert bench.ran == []


def test_a_disk_that_changed_is_not_overwritten(bench: Bench) -> None:
    bench.look = "is now in use"
    error = bench.run(MARK, MKFS).failed["data"]
    assert isinstance(error, Refused)
    assert "is now in use since it was decided to overwrite it" in error.message
    assert bench.ran == []


def test_a_mount_point_is_looked_at_again_right_before_the_mount(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "mountpoint_problem", lambda *_, **__: "/mnt/data is not empty")
    error = bench.run(MKFS, MOUNT).failed["data"]
    assert isinstance(error, Refused)
    assert "free the mount point" in error.hint
    assert bench.ran == ["mkfs.xfs"]


def test_a_failed_step_stops_its_volume_and_no_other(bench: Bench) -> None:
    bench.fails = "mkfs.xfs"
    logs = Step(("fsck", "x"), "", (), "", "logs")
    ended = bench.run(MKFS, MOUNT, logs)
    assert list(ended.failed) == ["data"]
    assert ended.ground is None
    assert bench.ran == ["mkfs.xfs", "fsck"]


@pytest.mark.parametrize("volume", ["", "gone"])
def test_what_belongs_to_no_declared_volume_is_the_ground_of_the_rest(
    bench: Bench, volume: str
) -> None:
    bench.fails = "wipefs"
    ended = bench.run(Step(("wipefs", "x"), "", (), "", volume), MKFS)
    assert ended.ground is not None
    assert bench.ran == ["wipefs"]


def test_mount_points_of_all_volumes_are_looked_at_before_the_first_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str, set[str]]] = []

    def problem(volume: Volume, _: Kernel, *, leaving: set[str]) -> str:
        seen.append((volume.name, leaving))
        return "is not empty"

    monkeypatch.setattr(verify, "mountpoint_problem", problem)
    leave = Step(("umount", "/mnt/old"), "", (), "", "old")
    plan = Plan(Decision.CREATE, "", (), (leave, MKFS, MOUNT))
    found = apply.refusals(plan, Layout((DATA, Volume("logs", "/mnt/logs"))), Kernel())
    assert found == {"data": "is not empty"}
    assert seen == [("data", {"/mnt/old"})]


def test_the_whole_disk_is_looked_at_before_the_first_write_only(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    monkeypatch.setattr(recheck, "look_again", lambda *_, **__: looks.append("all"))
    monkeypatch.setattr(recheck, "look_at_making", lambda *_, **__: looks.append("mark"))
    mark = Step(
        ("stripewright", "chore", "mark", "data", "front", ONE.path), "", LOST, "marks", "data"
    )
    make = Step(("mdadm", "--create", "/dev/md/data"), "", LOST, "array", "data")
    assert not bench.run(mark, make, replace(make, argv=("mkfs.xfs", ONE.path))).failed
    assert looks == ["all", "mark", "mark"]
    # Without a mark of this plan each write has the whole look.
    looks.clear()
    bench.run(make, make)
    assert looks == ["all", "all"]
