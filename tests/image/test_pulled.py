"""Drives that QEMU emulates itself, so that one can be slowed down and one pulled out of its slot:
acceptance names the one, drift the other.

One guest; the tests go on from one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.image.test_drift import CHECK, active, findings, look, noticed, told, wait_until
from tests.image.waiting import RUNNING, wait_for_finding, wait_for_row
from tests.rig.drives import blank_drives
from tests.rig.qemu import QemuGuest, QemuMachine
from tests.rig.ssh import Shell

# QEMU's own drives have its model and not a cloud's: the layout says what they are.
LAYOUT = """[[volume]]
name = "scratch"
mount = "/mnt/scratch"

[[rule]]
model = "QEMU NVMe Ctrl"
kind = "instance-store"
"""
MIB = 1 << 20
# Below what the emulated drives do, so that it is the limit that is measured.
RATE = 24 * MIB
DRIVES = blank_drives()
SLOW, PULLED = 1, 2
# Two looks of an emulated machine, behind an event, on a busy host; the timer alone takes longer.
SOON = 240.0
pytestmark = pytest.mark.soak

ACCEPTANCE = "stripewright-acceptance.service"


@pytest.fixture(scope="module")
def guest(new_machine: Callable[..., QemuMachine]) -> Iterator[QemuGuest]:
    with new_machine(QemuMachine, (), plugged=DRIVES, layout=LAYOUT).up() as running:
        assert isinstance(running, QemuGuest)
        yield running


def test_acceptance_names_the_slow_drive(guest: QemuGuest, operator: Shell) -> None:
    for number in range(len(DRIVES)):
        guest.limit(number, RATE // 2 if number == SLOW else RATE)
    operator.sh(f"systemctl --no-ask-password start --no-block {ACCEPTANCE}")
    wait_for_row(guest, RUNNING, SOON)
    wait_until(
        "the acceptance to end",
        lambda: active(operator, ACCEPTANCE) in {"active", "failed"},
        1200,
    )
    journal = guest.root.sh(f"journalctl -b -o cat -u {ACCEPTANCE}")
    assert active(operator, ACCEPTANCE) == "failed", journal
    named = [one["member"] for one in findings(operator) if one["code"] == "PERF-MEMBER"]
    assert named == [DRIVES[SLOW].serial], journal
    for number in range(len(DRIVES)):
        guest.limit(number, 0)


def test_a_drive_pulled_under_load_is_found_by_serial(guest: QemuGuest, operator: Shell) -> None:
    load = "while :; do dd if=/mnt/scratch/load of=/dev/null bs=1M iflag=direct; sleep 0.2; done"
    guest.root.sh("head -c 64M /dev/urandom > /mnt/scratch/load; sync -f /mnt/scratch")
    guest.root.run(["systemd-run", "--unit=load", "sh", "-c", load])
    pulled = guest.node(DRIVES[PULLED].serial)
    guest.pull(PULLED)
    wait_for_finding(guest, "ARRAY-BROKEN", SOON)
    wait_for_finding(guest, "MEMBER-MISSING", SOON)
    assert f"{pulled} remove" in noticed(guest)
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
