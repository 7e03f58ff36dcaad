"""Drift on the running image: looked for by timer and events, told, acknowledged; schedules.

One guest for all of it. The tests go on from one another.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from appliance.drift.codes import CODES
from appliance.system.journal import Event
from tests.image.waiting import RUNNING, wait_for_finding, wait_for_row
from tests.rig.drives import blank_drives
from tests.rig.machine import Guest, Machine
from tests.rig.ssh import Shell
from tests.rig.uml_machine import UmlMachine

DRIVES = blank_drives()
PULLED = 2
CHECK = "stripewright-drift.service"
SMOKE = "stripewright-bench@smoke"
# Two looks behind an event, on a busy host; the timer alone takes longer.
SOON = 120.0


@pytest.fixture(scope="module")
def guest(new_machine: Callable[..., Machine]) -> Iterator[Guest]:
    with new_machine(UmlMachine, DRIVES).up() as running:
        yield running


def findings(operator: Shell, *options: str) -> list[dict[str, Any]]:
    text = operator.run(["stripewright", "drift", "list", "--json", *options]).stdout
    found: list[dict[str, Any]] = json.loads(text)["findings"]
    return found


def open_codes(operator: Shell) -> set[str]:
    return {one["code"] for one in findings(operator)}


def look(operator: Shell) -> int:
    """Have drift looked for, as an operator may; the exit status of the look."""
    operator.sh(f"systemctl --no-ask-password start {CHECK}")
    return int(operator.sh(f"systemctl show -P ExecMainStatus {CHECK}"))


def wait_until(what: str, is_so: Callable[[], bool], deadline_seconds: float) -> None:
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < deadline_seconds, what
        time.sleep(3)


def told(guest: Guest, code: str) -> list[dict[str, Any]]:
    text = guest.root.sh(f"journalctl -b -o json MESSAGE_ID={CODES[code].message_id}")
    return [json.loads(line) for line in text.splitlines()]


def noticed(guest: Guest) -> str:
    """What the events said that made looks due."""
    return guest.root.sh(f"journalctl -b -o cat MESSAGE_ID={Event.DRIFT_NOTICED.value}")


def active(shell: Shell, unit: str) -> str:
    return shell.run(["systemctl", "is-active", unit], check=False).stdout.strip()


# -------------------------------------------------------------------------- after the boot


def test_after_boot_nothing_has_drifted_and_a_look_writes_nothing(
    guest: Guest, operator: Shell
) -> None:
    units = ("drift.timer", "confirm.path", "schedule.path", "watch.service")
    for unit in units:
        assert active(operator, f"stripewright-{unit}") == "active", unit
    assert look(operator) == 0, findings(operator)
    assert findings(operator) == []
    array = guest.root.sh("readlink -f /dev/stripewright/scratch").strip().rpartition("/")[2]

    def written() -> list[str]:
        # Writes and discards, begun and merged, and sectors of each (Documentation/block/stat).
        fields = guest.root.sh(f"cat /sys/block/{array}/stat").split()
        return fields[4:7] + fields[11:14]

    # The filesystem may have something left to write by itself, once or twice; a look that
    # wrote would do it each time.
    guest.root.sh("sync -f /mnt/scratch")
    for _ in range(3):
        before = written()
        assert look(operator) == 0
        if written() == before:
            break
    else:
        raise AssertionError("each look wrote to the stripe")


# --------------------------------------- schedules, and while the acceptance holds the disks


def test_acceptance_begins(guest: Guest, operator: Shell) -> None:
    unit = "stripewright-acceptance.service"
    operator.sh(f"systemctl --no-ask-password start --no-block {unit}")
    wait_for_row(guest, RUNNING, SOON)


def test_a_missed_run_is_made_up_for_once_and_waits_for_its_turn(
    guest: Guest, operator: Shell
) -> None:
    stamp = f"/var/lib/systemd/timers/stamp-{SMOKE}.timer"
    # systemd has it begin as long after the boot as the timer's delay, up to half an hour.
    at_once = f"/run/systemd/system/{SMOKE}.timer.d"
    no_delay = r"[Timer]\nRandomizedDelaySec=0\n"
    guest.root.sh(f"mkdir -p {at_once}; printf '{no_delay}' > {at_once}/90-at-once.conf")
    guest.root.sh(f"systemctl daemon-reload; systemctl stop {SMOKE}.timer")
    guest.root.sh(f"touch -d '2 days ago' {stamp}")
    guest.root.sh(f"systemctl start {SMOKE}.timer")
    wait_until("the missed run", lambda: active(operator, f"{SMOKE}.service") == "active", SOON)
    # The acceptance has the disks: it is not disturbed, and no row says that this was skipped.
    time.sleep(5)
    assert active(operator, f"{SMOKE}.service") == "active"
    runs = json.loads(guest.root.run(["stripewright", "results", "--json"]).stdout)["runs"]
    assert [run["state"] for run in runs] == ["running"]
    operator.sh(f"systemctl --no-ask-password stop {SMOKE}.service")
    # Eight times were missed. It was one run, and the next one is to come.
    listed = operator.sh(f"systemctl list-timers --output=json {SMOKE}.timer")
    assert json.loads(listed)[0]["next"] / 1e6 > float(guest.root.sh("date +%s"))
    # "failed" where a busy emulated machine took longer to close the row than the unit waits.
    assert active(operator, f"{SMOKE}.service") in {"inactive", "failed"}
    guest.root.sh(f"rm -r {at_once}; systemctl daemon-reload")


def timer(operator: Shell, name: str, what: str) -> str:
    return operator.sh(f"systemctl show -P {what} stripewright-{name}.timer").strip()


def test_an_operator_sets_the_schedule(guest: Guest, operator: Shell) -> None:
    said = operator.sh("stripewright schedule set smoke --every 4h --jitter 0min")
    assert re.search(r"suite smoke +00/4:00, up to 0 min later +schedule\.toml", said), said
    assert "00/4:00" in timer(operator, "bench@smoke", "TimersCalendar")
    assert timer(operator, "bench@smoke", "RandomizedDelayUSec") == "0"
    # Nobody else's timer was touched, and what is not declared is as it was.
    assert "Sun" in timer(operator, "bench@full", "TimersCalendar")
    refused = operator.run(
        ["stripewright", "schedule", "set", "smoke", "--every", "5h"], check=False
    )
    assert refused.returncode == 2
    assert "'5h' is not allowed" in refused.stderr
    assert operator.run(["touch", "/etc/stripewright/schedule.toml"], check=False).returncode != 0
    # The operator's own word was not enough: root insists, too.
    guest.root.sh("echo '[suite.smoke]\nevery = \"5h\"' > /etc/stripewright/schedule.toml")
    wait_until(
        "the refusal",
        lambda: "not in effect" in operator.sh("stripewright status"),
        SOON,
    )
    assert "00/4:00" in timer(operator, "bench@smoke", "TimersCalendar")
    operator.sh('echo \'[suite.smoke]\nevery = "4h"\njitter = "0min"\' > /tmp/schedule.toml')
    operator.sh("stripewright schedule set --file /tmp/schedule.toml")
    assert "not in effect" not in operator.sh("stripewright status")


def test_the_operator_cancels_the_acceptance(guest: Guest, operator: Shell) -> None:
    operator.sh("systemctl --no-ask-password stop stripewright-acceptance.service")
    runs = json.loads(guest.root.run(["stripewright", "results", "--json"]).stdout)["runs"]
    assert [run["state"] for run in runs] == ["aborted"], runs


# ---------------------------------------------------------------------------- by events


def test_mount_options_changed_by_hand_are_found_at_once(guest: Guest, operator: Shell) -> None:
    guest.root.sh("mount -o remount,dev,suid,relatime /mnt/scratch")
    wait_for_finding(guest, "MOUNT-OPTIONS", SOON)
    assert "a mount changed" in noticed(guest), "not by the timer"
    (event,) = told(guest, "MOUNT-OPTIONS")
    assert event["STRIPEWRIGHT_DRIFT_VOLUME"] == "scratch"
    catalog = guest.root.sh(f"journalctl -b -x MESSAGE_ID={CODES['MOUNT-OPTIONS'].message_id}")
    assert "Subject: " in catalog


def test_an_operator_acknowledges(guest: Guest, operator: Shell) -> None:
    for one in findings(operator):
        if one["severity"] != "notice":
            operator.sh(f"stripewright drift ack {one['id']} --note 'known, see ticket'")
    (options,) = [one for one in findings(operator) if one["code"] == "MOUNT-OPTIONS"]
    assert (options["state"], options["note"]) == ("acknowledged", "known, see ticket")
    assert options["acknowledged_by"] == "operator"
    assert look(operator) == 0
    guest.root.sh("mount -o remount,nodev,nosuid,noatime /mnt/scratch")
    wait_for_finding(guest, "MOUNT-OPTIONS", SOON, gone=True)


def test_a_scheduler_changed_by_hand(guest: Guest, operator: Shell) -> None:
    file = f"/sys/block/{guest.node(DRIVES[0].serial)}/queue/scheduler"
    before = re.findall(r"\[(\S+)\]", guest.root.sh(f"cat {file}"))[0]
    guest.root.sh(f"echo none > {file}")
    assert look(operator) == 5
    (found,) = [one for one in findings(operator) if one["code"] == "ENV-SCHEDULER"]
    assert found["member"] == DRIVES[0].serial
    guest.root.sh(f"echo {before} > {file}")
    assert look(operator) == 0, findings(operator)
    assert "ENV-SCHEDULER" not in open_codes(operator)


EVENTS = """
import sqlite3
db = sqlite3.connect("file:/var/lib/stripewright/history.db?mode=ro", uri=True)
for row in db.execute("SELECT code, message, fields FROM event"):
    print(*row)
"""
FORGE = """
import sys
sys.path[:0] = ["/usr/lib/stripewright", "/usr/lib/stripewright/site-packages"]
from appliance.system import journal
journal.event(journal.Event.TUNING_SET, "forged")
"""


def test_what_root_did_gets_into_the_history_and_what_others_say_does_not(
    guest: Guest, operator: Shell
) -> None:
    # A session's own go to a journal of its own; this one has got among the system's.
    argv = ["systemd-run", "--wait", "--uid=operator", "python3", "-c", FORGE]
    guest.root.run(argv)
    assert "forged" in guest.root.sh(f"journalctl MESSAGE_ID={Event.TUNING_SET.value} -o cat")
    look(operator)
    kept = guest.root.sh(f"python3 -c '{EVENTS}'")
    assert re.search(r"STEP_DONE .*mkfs.xfs.*stripewright-assemble.service", kept)
    assert "forged" not in kept


def test_a_drive_pulled_under_load_is_found_by_serial(guest: Guest, operator: Shell) -> None:
    load = "while :; do dd if=/mnt/scratch/load of=/dev/null bs=1M iflag=direct; sleep 0.2; done"
    guest.root.sh("head -c 64M /dev/urandom > /mnt/scratch/load; sync -f /mnt/scratch")
    guest.root.run(["systemd-run", "--unit=load", "sh", "-c", load])
    pulled = guest.node(DRIVES[PULLED].serial)
    guest.root.sh(guest.machine.carrier.pull_script(PULLED))
    wait_for_finding(guest, "ARRAY-BROKEN", SOON)
    wait_for_finding(guest, "MEMBER-MISSING", SOON)
    # A look that was under way for another reason may have found it first.
    wait_until("the event", lambda: f"{pulled} remove" in noticed(guest), SOON)
    (missing,) = told(guest, "MEMBER-MISSING")
    assert missing["STRIPEWRIGHT_DRIFT_MEMBER"] == DRIVES[PULLED].serial
    assert missing["PRIORITY"] == "3"
    assert len(told(guest, "ARRAY-BROKEN")) == 1
    # It is an answer: the unit has not failed, and automation is told.
    assert look(operator) == 5
    assert active(operator, CHECK) == "inactive"
    assert operator.run(["stripewright", "drift", "check"], check=False).returncode == 5
    assert len(told(guest, "ARRAY-BROKEN")) == 1, "told once"
    assert active(operator, "load.service") == "active"
