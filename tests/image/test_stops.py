"""What stops the appliance itself, on the running image: each is said.

One guest for all of it. The tests go on from one another.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from appliance.drift.codes import CODES
from appliance.system.journal import Event
from tests.rig.drives import blank_drives
from tests.rig.machine import Guest, Machine
from tests.rig.uml_machine import UmlMachine

CHECK = "stripewright-drift.service"
SMOKE = "stripewright-bench@smoke"


@pytest.fixture(scope="module")
def guest(new_machine: Callable[..., Machine]) -> Iterator[Guest]:
    with new_machine(UmlMachine, blank_drives()).up() as running:
        yield running


def look(guest: Guest) -> int:
    """Have drift looked for; the exit status of the look."""
    guest.root.sh(f"systemctl start {CHECK}")
    return int(guest.root.sh(f"systemctl show -P ExecMainStatus {CHECK}"))


def findings(guest: Guest) -> dict[tuple[str, str], dict[str, Any]]:
    """The open ones, by code and subject."""
    text = guest.root.sh("stripewright drift list --json")
    return {(one["code"], one["subject"]): one for one in json.loads(text)["findings"]}


def told(guest: Guest, message_id: str) -> str:
    return guest.root.sh(f"journalctl -b -o cat MESSAGE_ID={message_id}")


def said(guest: Guest) -> str:
    """What status and doctor say."""
    doctor = guest.root.run(["stripewright", "doctor"], check=False).stdout
    return guest.root.sh("stripewright status") + doctor


def test_a_full_disk_is_said_and_over_when_there_is_room(guest: Guest) -> None:
    assert look(guest) == 0, findings(guest)
    # What is left of extents that fallocate does not take goes with cat.
    guest.root.sh("fallocate -l $(df --output=avail -B1 / | tail -n 1) /fill || true")
    guest.root.sh("cat /dev/zero > /fill-more || true")
    assert look(guest) == 5
    assert "/ has 0 B left" in told(guest, CODES["HOST-DISK-FULL"].message_id)
    now = said(guest)
    assert "! HOST-DISK-FULL: / has 0 B left" in now, now
    assert "HOST-DISK-FULL: find what fills it: df -h /" in now, now
    guest.root.sh("rm /fill /fill-more")
    assert look(guest) == 0, findings(guest)
    assert "HOST-" not in said(guest)


def test_a_full_run_is_said(guest: Guest) -> None:
    guest.root.sh("cat /dev/zero > /run/fill || true")
    try:
        assert look(guest) == 5
        assert "/run has 0 B left" in told(guest, CODES["HOST-RUN"].message_id)
        assert "HOST-RUN" in said(guest)
        assert "HOST-RUN" in guest.operator.sh("stripewright status")
    finally:
        guest.root.sh("rm /run/fill")
    assert look(guest) == 0, findings(guest)


def test_a_timer_that_fired_ten_years_ahead_fires_again(guest: Guest) -> None:
    timer = f"{SMOKE}.timer"
    # That suite was missed for ten years, too, and takes an hour.
    guest.root.sh("systemctl stop stripewright-bench@full.timer")
    guest.root.sh("date -s '+10 years'")
    # Not by the hour: started by its timer, and at work when the clock is put back.
    soon = f"/run/systemd/system/{timer}.d"
    lines = r"[Timer]\nOnCalendar=\nOnCalendar=*:*:00/10\nRandomizedDelaySec=0\nAccuracySec=1s\n"
    guest.root.sh(f"mkdir -p {soon}; printf '{lines}' > {soon}/90-soon.conf")
    guest.root.sh(f"systemctl daemon-reload; systemctl restart {timer}")
    deadline = time.monotonic() + 60
    while guest.root.sh(f"systemctl show -P SubState {timer}").strip() != "running":
        assert time.monotonic() < deadline, guest.root.sh(f"systemctl status {timer}")
        time.sleep(1)
    guest.root.sh(f"rm -r {soon}; systemctl daemon-reload")
    assert look(guest) == 5
    said_of_it = findings(guest)["HOST-CLOCK", "clock"]["summary"]
    assert "the clock was set forward by 10 years" in said_of_it
    guest.root.sh("date -s '-10 years'")
    deadline = time.monotonic() + 120
    while timer not in told(guest, Event.TIMERS_REWOUND.value):
        assert time.monotonic() < deadline, guest.root.sh("journalctl -b -n 50")
        time.sleep(1)
    guest.root.sh(f"systemctl stop {SMOKE}.service 2>/dev/null")
    listed = guest.root.sh(f"systemctl list-timers --all --output=json {timer}")
    assert json.loads(listed)[0]["next"] / 1e6 < time.time() + 86_400, listed
    look(guest)
    clock = {subject for code, subject in findings(guest) if code == "HOST-CLOCK"}
    assert clock == {"history"}, "the run that began ten years ahead, and nothing else"


def test_a_read_only_disk_is_said(guest: Guest) -> None:
    """Last: nothing is written after it."""
    # As after an error: mount(8) refuses while files are open for writing.
    guest.root.sh("echo u > /proc/sysrq-trigger")
    deadline = time.monotonic() + 60
    while guest.root.sh("findmnt -no FS-OPTIONS /").startswith("rw"):
        assert time.monotonic() < deadline, "the root file system is still writable"
        time.sleep(1)
    assert look(guest) == 5
    assert "! HOST-READ-ONLY: / is read-only" in said(guest)
    assert "! HOST-READ-ONLY: / is read-only" in guest.operator.sh("stripewright status")
