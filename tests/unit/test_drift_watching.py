"""What makes a look for drift due, how soon and how often."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from appliance.cli import units
from appliance.drift.looks import watch_machine
from appliance.errors import CommandFailed
from appliance.system import journal, process, services

MOUNT = "36 35 9:127 / /mnt/scratch rw,nodev,noatime shared:5 - xfs /dev/md127 rw\n"
LOGIN = "90 22 0:48 / /run/user/1000 rw,nosuid - tmpfs tmpfs rw\n"


@dataclass
class Event:
    action: str
    sys_name: str
    device_type: str = "disk"
    properties: Mapping[str, str] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("event", "matters"),
    [
        (Event("remove", "nvme1n1"), True),
        (Event("add", "nvme1n1"), True),
        (Event("change", "nvme1n1"), False),
        (Event("change", "nvme1n1", properties={"RESIZE": "1"}), True),
        (Event("change", "md127"), True),
        (Event("remove", "md127"), True),
        (Event("change", "dm-0"), True),
        (Event("bind", "md127"), False),
        (Event("add", "nvme1n1p1", "partition"), False),
        (Event("remove", "loop0"), False),
        (Event("add", "mdisk"), True),
        (Event("change", "mdisk"), False),
    ],
)
def test_which_events_of_block_devices_matter(event: Event, matters: bool) -> None:
    assert watch_machine.matters(event) is matters


def test_only_mounts_of_volumes_matter() -> None:
    seen = watch_machine.our_mounts(MOUNT + LOGIN + "broken\n")
    assert seen == {MOUNT.strip()}
    assert watch_machine.our_mounts(MOUNT) == seen, "a login is none of ours"
    assert watch_machine.our_mounts(MOUNT.replace("noatime", "relatime")) != seen
    # What hides all volumes is one of ours, what is only called alike is not.
    assert watch_machine.our_mounts("1 2 0:3 / /mnt rw - tmpfs x rw\n")
    assert not watch_machine.our_mounts("1 2 0:3 / /mnt2 rw - tmpfs x rw\n")


class Over(Exception):
    """Nothing more happens: a real one would wait for ever."""


class Script:
    """Events at given seconds of a clock that the waiting alone moves on."""

    def __init__(self, *at: float) -> None:
        self.left = list(at)
        self.now = 0.0
        self.looks: list[float] = []

    def clock(self) -> float:
        return self.now

    def wait(self, timeout: float | None) -> tuple[str, ...]:
        until = None if timeout is None else self.now + timeout
        if self.left and (until is None or self.left[0] <= until):
            self.now = max(self.now, self.left.pop(0))
            return ("md127 change",)
        if until is None:
            raise Over
        self.now = until
        return ()

    def look(self) -> None:
        self.looks.append(self.now)
        self.now += 1.0

    def play(self) -> list[float]:
        with pytest.raises(Over):
            watch_machine.follow(self, self.look, self.clock)
        return self.looks


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(journal, "event", lambda _, said, **__: found.append(said))
    return found


def test_one_event_is_looked_at_when_it_is_quiet(told: list[str]) -> None:
    assert Script(100.0).play() == [102.0]
    assert told == ["md127 change: looking for drift at once"]


def test_each_look_says_what_made_it_due_and_no_more(told: list[str]) -> None:
    class Named(Script):
        def wait(self, timeout: float | None) -> tuple[str, ...]:
            return tuple(f"md{self.now:.0f} change" for _ in super().wait(timeout))

    Named(100.0, 500.0).play()
    assert [said.partition(":")[0] for said in told] == ["md100 change", "md500 change"]


def test_a_burst_is_one_look() -> None:
    assert Script(100.0, 100.5, 101.0, 102.5).play() == [104.5]


def test_a_burst_without_end_is_looked_at_all_the_same() -> None:
    looks = Script(*(100.0 + n for n in range(60))).play()
    # After ten seconds, and then no more often than every twenty, from the end of a look.
    assert looks == [110.0, 131.0, 152.0, 173.0]


def test_what_happens_during_a_look_is_looked_at_after_it() -> None:
    # The look lasts from 102 to 103; at 102.5 something happens that it may have passed by.
    assert Script(100.0, 102.5).play() == [102.0, 123.0]


def test_after_a_quiet_time_it_is_prompt_again() -> None:
    assert Script(100.0, 500.0).play() == [102.0, 502.0]


# -------------------------------------------------------------------- the kernel's own word


class Monitor:
    """A pipe in place of a netlink socket, and what udev says."""

    def __init__(self) -> None:
        self.read, self.write = os.pipe()
        self.said: list[Event] = []

    def fileno(self) -> int:
        return self.read

    def poll(self, timeout: float | None = None) -> Event | None:
        if self.said:
            return self.said.pop(0)
        os.read(self.read, 100)
        return None

    def say(self, *events: Event) -> None:
        self.said += events
        os.write(self.write, b"x")


@pytest.fixture
def monitor() -> Iterator[Monitor]:
    made = Monitor()
    yield made
    os.close(made.read)
    os.close(made.write)


class Poll:
    """select.poll over files that say nothing by themselves; ``woken`` are descriptors."""

    def __init__(self) -> None:
        self.registered: list[int] = []
        self.woken: list[int] = []

    def register(self, descriptor: int, _: int) -> None:
        self.registered.append(descriptor)

    def poll(self, _: float | None) -> list[tuple[int, int]]:
        woken, self.woken = self.woken, []
        return [(one, 0) for one in woken]


def test_the_kernels_events(
    tmp_path: Path, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = Poll()
    monkeypatch.setattr(watch_machine.select, "poll", lambda: poll)
    mounts, mdstat = tmp_path / "mountinfo", tmp_path / "mdstat"
    mounts.write_text(MOUNT)
    mdstat.write_text("Personalities : [raid0]\n")
    events = watch_machine.KernelEvents(monitor, mdstat=mdstat, mountinfo=mounts)
    netlink, table, arrays = poll.registered

    mounts.write_text(MOUNT + LOGIN)
    poll.woken = [table]
    assert events.wait(1.0) == ()
    mounts.write_text(MOUNT.replace("noatime", "relatime"))
    poll.woken = [table]
    assert events.wait(1.0) == ("a mount changed",)
    poll.woken = [table]
    assert events.wait(1.0) == (), "told once"
    mdstat.write_text("Personalities : [raid0]\nmd127 : active raid0\n")
    poll.woken = [arrays]
    assert events.wait(1.0) == ("an array changed",)
    # Not read to its end it would wake at once again.
    assert os.lseek(arrays, 0, os.SEEK_CUR) == mdstat.stat().st_size
    monitor.say(Event("remove", "nvme1n1"), Event("change", "sda"), Event("remove", "loop1"))
    poll.woken = [netlink]
    assert events.wait(1.0) == ("nvme1n1 remove",)


def test_arrays_are_listened_to_from_the_first_one_on(
    tmp_path: Path, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module of md may be loaded long after the watch began: mdstat is not there before."""
    poll = Poll()
    monkeypatch.setattr(watch_machine.select, "poll", lambda: poll)
    mounts, mdstat = tmp_path / "mountinfo", tmp_path / "mdstat"
    mounts.write_text(MOUNT)
    events = watch_machine.KernelEvents(monitor, mdstat=mdstat, mountinfo=mounts)
    netlink, _ = poll.registered
    monitor.say(Event("add", "nvme9n1"))
    poll.woken = [netlink]
    assert events.wait(1.0) == ("nvme9n1 add",)
    assert len(poll.registered) == 2

    mdstat.write_text("Personalities : [raid0]\nmd127 : active raid0\n")
    # Of an array that is being made: nothing to look for yet, and the kernel's first word of md.
    monitor.say(Event("add", "md127"))
    poll.woken = [netlink]
    events.wait(1.0)
    (arrays,) = poll.registered[2:]
    assert os.lseek(arrays, 0, os.SEEK_CUR) == mdstat.stat().st_size, "or it wakes at once"
    poll.woken = [arrays]
    assert events.wait(1.0) == ("an array changed",)

    monitor.say(Event("add", "nvme8n1"))
    poll.woken = [netlink]
    events.wait(1.0)
    assert len(poll.registered) == 3, "opened once"


def test_a_real_poll_wakes_for_netlink_and_else_waits(tmp_path: Path, monitor: Monitor) -> None:
    """With the mounts of this very process: they are there everywhere, and stand still."""
    events = watch_machine.KernelEvents(
        monitor, mdstat=tmp_path / "none", mountinfo=Path("/proc/self/mountinfo")
    )
    assert events.wait(0.01) == ()
    monitor.say(Event("add", "nvme9n1"))
    assert events.wait(5.0) == ("nvme9n1 add",)


# ------------------------------------------------------------------------------- the request


@pytest.mark.parametrize(("active", "starts"), [("inactive", 1), ("activating", 2)])
def test_a_look_that_is_at_work_is_followed_by_another(
    monkeypatch: pytest.MonkeyPatch, active: str, starts: int
) -> None:
    argvs: list[tuple[str, ...]] = []

    def run(argv: list[str], **options: object) -> process.Completed:
        if "show" in argv:
            return process.Completed(tuple(argv), 0, f"ActiveState={active}\nResult=success\n", "")
        assert options["check"] is False
        argvs.append(tuple(argv))
        return process.Completed(tuple(argv), 1, "", "")

    monkeypatch.setattr(process, "run", run)
    services.check_drift()
    one = ("systemctl", "--no-ask-password", "start", "--", "stripewright-drift.service")
    assert argvs == [one] * starts


def test_a_manager_that_does_not_answer_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(argv: list[str], **_: object) -> process.Completed:
        raise CommandFailed(argv, None, "")

    monkeypatch.setattr(process, "run", run)
    services.check_drift()


def test_half_a_watch_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(units.os, "_exit", ended.append)
    monkeypatch.setattr(traceback, "print_exc", lambda: None)

    def broken() -> None:
        raise OSError("no more netlink")

    units._or_end(broken)
    assert ended == [1]
