"""Operators at work in the screens, through SSH and tmux: 80×24, keyboard only, without root.

One guest for all of it; the tests go on from one another. Every step waits for words on the
screen. What was shown is kept as docs/screens/live-*.txt when STRIPEWRIGHT_KEEP_SCREENS is set.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.image.waiting import ENDED, RUNNING, wait_for_row
from tests.rig.drives import GIB
from tests.rig.errors import RigError
from tests.rig.machine import Guest
from tests.rig.terminal import Terminal

Keep = Callable[[str, Terminal], None]
# Long enough to be told of while it is measured, and short enough for an emulated machine.
SUITE = """summary = "Two short jobs"
file_size = "64MiB"

[[job]]
name = "rand-read-4k"
rw = "randread"
block_size = "4KiB"
iodepth = 4
jobs = 2
runtime_seconds = 20

[[job]]
name = "seq-write-1m"
rw = "write"
block_size = "1MiB"
iodepth = 2
jobs = 1
runtime_seconds = 6
"""
SUITES = "/usr/lib/stripewright/appliance/bench/suites"
LATE = "AWSLATE0000000000001"
NOTE = "known, ticket 4711"
# A screen of an emulated machine whose processors have something else to do, too.
SOON = 120.0
# A plan with two filesystems to make; a run with its files.
LONG = 400.0
# A key is answered after some seconds here; what waits for D-Bus would be 25 s behind.
PROMPTLY, HANG_SECONDS = 20.0, 35.0
HEADINGS = {"1": "HEALTHY", "2": "DISKS", "3": "LAYOUT", "4": "SUITES", "6": "DRIFT", "7": "LOG"}
HOLD = """import sqlite3, time
history = sqlite3.connect("/var/lib/stripewright/history.db", timeout=100)
history.execute("PRAGMA locking_mode=EXCLUSIVE")
history.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(600)
"""


@dataclass
class Seat:
    """An operator before a terminal that shows the screens."""

    terminal: Terminal
    keep_screen: Keep

    def press(self, *keys: str) -> None:
        for key in keys:
            self.terminal.keys(key)
            if key == "Escape":
                # A terminal tells Escape from Alt by the time to the next key.
                time.sleep(0.5)

    def type(self, text: str) -> None:
        self.terminal.write(text)

    def sees(self, *words: str, without: str = "", within: float = SOON) -> str:
        return self.terminal.wait_for(*words, without=without, deadline_seconds=within)

    def asks_until_told(self, key: str, words: str) -> None:
        """Press a key of which the answer stands on the screen for some seconds only."""
        for _ in range(3):
            self.press(key)
            try:
                self.sees(words, within=45)
            except RigError:
                continue
            return
        self.sees(words, within=45)

    def keeps(self, name: str) -> None:
        self.keep_screen(f"live-{name}", self.terminal)


@pytest.fixture(scope="module")
def guest(striped_machine: Guest) -> Guest:
    striped_machine.root.sh(f"cat > {SUITES}/brief.toml <<'END'\n{SUITE}END")
    return striped_machine


def _terminal(guest: Guest) -> Terminal:
    return Terminal(guest.operator.argv(["stripewright"], terminal=True), guest.machine.folder)


@pytest.fixture(scope="module")
def _first(guest: Guest) -> Iterator[Terminal]:
    with _terminal(guest) as terminal:
        yield terminal


@pytest.fixture(scope="module")
def _second(guest: Guest) -> Iterator[Terminal]:
    with _terminal(guest) as terminal:
        yield terminal


@pytest.fixture
def seat(_first: Terminal, keep_screen: Keep) -> Seat:
    """The operator who does things."""
    return Seat(_first, keep_screen)


@pytest.fixture
def other(_second: Terminal, keep_screen: Keep) -> Seat:
    """Another operator, on the same machine."""
    return Seat(_second, keep_screen)


def mounts(guest: Guest) -> dict[str, str]:
    """Mount point -> file system type of what is mounted below /mnt."""
    rows = json.loads(guest.root.sh("findmnt --json --list --output TARGET,FSTYPE"))["filesystems"]
    return {row["target"]: row["fstype"] for row in rows if row["target"].startswith("/mnt/")}


def runs(guest: Guest) -> list[dict[str, Any]]:
    """The runs in history, newest first."""
    text = guest.root.run(["stripewright", "results", "--json"]).stdout
    found: list[dict[str, Any]] = json.loads(text)["runs"]
    return found


# ------------------------------------------------------------------------------ looking


def test_nobody_is_root(guest: Guest, seat: Seat) -> None:
    seat.sees("HEALTHY", "aligned", within=LONG)
    seat.keeps("overview")
    # What has a terminal, which units have not.
    rows = [line.split() for line in guest.root.sh("ps -C stripewright -o tty=,user=").splitlines()]
    assert {user for tty, user in rows if tty.startswith("pts/")} == {"operator"}, rows


def test_the_journal_is_read_and_filtered(guest: Guest, seat: Seat) -> None:
    seat.press("7")
    seat.sees("LOG", "the journal", "following", "assemble")
    seat.keeps("log")
    # What is on the screen is what the journal has, and an operator may read it.
    last = guest.root.sh("journalctl -b -o cat -n 1 -u stripewright-assemble").strip()
    seat.press("v")
    seat.sees("Entries of which unit?", "stripewright-assemble.service")
    seat.press("Down")
    seat.press("Enter")
    seat.sees("unit assemble", last[:30])
    seat.press("f", "f", "f")
    seat.sees("error and above")
    seat.press("Escape")
    seat.sees("following")
    seat.press("/")
    seat.type("mounted")
    seat.press("Enter")
    shown = seat.sees("with: mounted")
    entries = [line for line in shown.splitlines() if re.match(r" +\d\d:\d\d:\d\d ", line)]
    assert entries
    seat.keeps("log-filtered")
    seat.press("Escape")


# -------------------------------------------------------------- measuring, and comparing


def test_a_suite_is_run_and_watched(guest: Guest, seat: Seat) -> None:
    seat.press("4")
    # It is the first in the alphabet, so that the cursor is on it.
    seat.sees("SUITES", "12 suites", "brief ─", "Two short jobs")
    seat.keeps("suites")
    seat.press("s")
    seat.sees("Start suite brief on scratch?")
    seat.keeps("suites-start")
    seat.press("Enter")
    seat.sees("RUNNING brief on scratch", "not judged", "p99 ", within=LONG)
    seat.keeps("suites-running")
    seat.sees("ENDED brief on scratch", "complete", within=LONG)
    seat.keeps("suites-finished")
    assert (runs(guest)[0]["suite"], runs(guest)[0]["state"]) == ("brief", "complete")


def test_the_other_operator_sees_the_run(guest: Guest, seat: Seat, other: Seat) -> None:
    other.sees("HEALTHY", within=LONG)
    seat.press("s")
    seat.sees("Start suite brief on scratch?")
    seat.press("Enter")
    # Beside fio an emulated machine's one processor draws the other screen when the run is over.
    wait_for_row(guest, RUNNING, LONG)
    guest.root.sh("for _ in $(seq 120); do pkill -STOP -x fio && exit; sleep 1; done; exit 1")
    try:
        seat.sees("RUNNING brief on scratch")
        other.sees("RUNNING brief")
        other.keeps("other-run")
        # Two at once would spoil both: that is said, and nothing is started.
        other.asks_until_told("s", "already running")
    finally:
        guest.root.run(["pkill", "-CONT", "-x", "fio"], check=False)
    seat.sees("ENDED brief on scratch", "complete", within=LONG)
    wait_for_row(guest, ENDED, LONG)
    assert [run["state"] for run in runs(guest)][:2] == ["complete", "complete"]
    # A key that was answered only now has asked whether to start one.
    other.press("Escape", "1")
    other.sees("HEALTHY")


def test_a_run_is_compared_with_the_one_before(guest: Guest, seat: Seat) -> None:
    seat.press("5")
    last = runs(guest)[0]["run"]
    seat.sees("RESULTS", f"{last} runs", "brief")
    seat.keeps("results")
    seat.press("c")
    seat.sees("COMPARE", f"{last - 1}: brief", f"{last}: brief", "write 1 MiB")
    seat.keeps("compare")
    seat.press("Escape")
    seat.sees("RESULTS")
    seat.press("Enter")
    seat.sees(f"RUN {last} brief", "rand-read-4k")
    # Below what failed, the figures and the findings, as many as there are.
    for _ in range(4):
        if "share of I/Os" in seat.terminal.text():
            break
        seat.press("PageDown")
        time.sleep(2)
    seat.sees("share of I/Os")
    seat.keeps("run")
    seat.press("Escape")


# ----------------------------------------------------------------------- what hangs


def test_what_hangs_holds_up_no_key(guest: Guest, seat: Seat) -> None:
    guest.root.run(["systemd-run", "--unit=hold", "python3", "-c", HOLD])
    deadline = time.monotonic() + SOON
    while "held" not in guest.root.sh("journalctl -b -o cat -u hold"):
        assert time.monotonic() < deadline, "the history was not to be had alone"
        time.sleep(1)
    # systemctl, as an operator, asks through it and waits.
    guest.root.run(["pkill", "-STOP", "-x", "dbus-daemon"])
    began = time.monotonic()
    try:
        seat.press("6")
        seat.sees("DRIFT")
        seat.press("d")
        while time.monotonic() - began < HANG_SECONDS:
            for key, words in HEADINGS.items():
                seat.press(key)
                seat.sees(words, within=PROMPTLY)
        seat.press("5")
        seat.sees("RESULTS", "in use by another process")
        seat.keeps("hang")
    finally:
        guest.root.run(["pkill", "-CONT", "-x", "dbus-daemon"])
        guest.root.run(["systemctl", "stop", "hold"])
    seat.press("u")
    seat.sees("RESULTS", "brief", without="in use")


# ------------------------------------------------------------------------------- drift


def test_a_finding_is_acknowledged_with_a_note(guest: Guest, seat: Seat) -> None:
    guest.root.sh("mount -o remount,dev,suid,relatime /mnt/scratch")
    seat.press("6")
    seat.sees("DRIFT")
    seat.press("d")
    seat.sees("MOUNT-OPTIONS ─", "expected", "observed", within=LONG)
    seat.keeps("drift")
    seat.press("a")
    seat.sees("Acknowledge finding", "MOUNT-OPTIONS")
    seat.type(NOTE)
    seat.keeps("drift-acknowledge")
    seat.press("Enter")
    seat.sees("– acknowledged", within=LONG)
    seat.keeps("drift-acknowledged")
    text = guest.operator.run(["stripewright", "drift", "list", "--json"]).stdout
    (found,) = (one for one in json.loads(text)["findings"] if one["code"] == "MOUNT-OPTIONS")
    assert (found["note"], found["acknowledged_by"]) == (NOTE, "operator")
    guest.root.sh("mount -o remount,nodev,nosuid,noatime /mnt/scratch")
    seat.press("Escape")


# ------------------------------------------------------------------------------ layouts


def confirm(seat: Seat) -> None:
    """Type the names that the plan on the screen asks for."""
    shown = seat.sees("WHAT IS DESTROYED", "type these 3 names:", within=LONG)
    found = re.search(r"type these 3 names: ([a-z0-9 ]+?) +│", shown)
    assert found, shown
    seat.type(found.group(1))
    seat.sees("enter goes to Carry out")


def carry_out(seat: Seat) -> None:
    """From the text to the button, and to the end of the plan."""
    seat.press("Enter")
    # The same key held down is not taken for a second one; a slow machine answers late.
    time.sleep(3)
    seat.press("Enter")
    # Where it waits for its turn, the line is broken behind this.
    seat.sees("it continues if you")
    seat.keeps("layout-progress")
    seat.sees("ended", "✓ DONE", within=LONG)


def test_the_default_becomes_two_volumes_and_the_other_sees_it(
    guest: Guest, seat: Seat, other: Seat
) -> None:
    seat.press("3")
    seat.sees("LAYOUT", "✓ mounted")
    seat.press("i")
    seat.sees("Start the draft from")
    seat.press("Down")
    seat.sees("data has 2 of 4, logs 2")
    seat.press("Enter")
    seat.sees("a draft", "✗ removed", "◆ new")
    seat.keeps("layout-draft")
    seat.press("p")
    seat.sees("WHAT IS DESTROYED", "scratch data logs", within=LONG)
    seat.keeps("layout-plan")

    # The other one finds that plan, and is about to confirm it, too.
    other.press("3")
    other.sees("LAYOUT", "✓ mounted")
    other.press("P")
    other.sees("Plans since boot, by anyone", "theirs")
    other.keeps("other-plans")
    other.press("Enter")
    confirm(other)

    confirm(seat)
    carry_out(seat)
    seat.keeps("layout-done")
    assert mounts(guest) == {"/mnt/data": "xfs", "/mnt/logs": "xfs"}

    other.sees("cannot be carried out: stale")
    other.keeps("other-stale")
    # That is Cancel: the line for the names is gone, and the other button cannot be reached.
    other.press("Enter")
    other.sees("LAYOUT", "data", "logs", without="cannot be carried out")
    assert mounts(guest) == {"/mnt/data": "xfs", "/mnt/logs": "xfs"}
    seat.press("Escape")


def test_and_back_to_the_default(guest: Guest, seat: Seat, other: Seat) -> None:
    seat.sees("LAYOUT", "data", "logs", "✓ mounted")
    seat.press("i")
    seat.sees("Start the draft from", "256 KiB chunks, XFS")
    seat.press("Enter")
    seat.sees("a draft", "✗ removed", "◆ new")
    seat.press("p")
    confirm(seat)
    carry_out(seat)
    assert mounts(guest) == {"/mnt/scratch": "xfs"}
    (volume,) = guest.state()["volumes"]
    assert len(volume["members"]) == 4
    seat.press("Escape")
    # Not typed by the other one: its screens show what is there now.
    other.sees("scratch", "all instance storage")


# ---------------------------------------------------------------------- a disk that is not used


def test_why_a_disk_is_not_used(guest: Guest, seat: Seat) -> None:
    guest.root.sh(guest.machine.carrier.add_script(5, LATE, GIB, "old-data"))
    seat.press("2")
    seat.sees("DISKS", LATE, within=LONG)
    seat.press("/")
    seat.type(LATE)
    seat.press("Enter")
    seat.sees("✗ no", "ext4 signature")
    seat.keeps("why-not-used")
    seat.press("Enter")
    seat.sees("signatures", "old-data")
    seat.keeps("why-not-used-detail")
    seat.press("Escape")
    seat.press("q")
