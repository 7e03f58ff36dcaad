"""What must not be touched is not touched, and the machine comes up all the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.rig.drives import GIB, Carrier, blank_drives, ext4_content
from tests.rig.machine import Guest, Machine
from tests.rig.qemu import FOUR_DISK_TYPE, QemuMachine

pytestmark = pytest.mark.soak

FOREIGN = "somebody-elses-file"


@pytest.fixture(scope="module")
def machine(new_machine: Callable[..., Machine]) -> Machine:
    return new_machine(QemuMachine, blank_drives())


def hashes(carrier: Carrier) -> list[str]:
    return [carrier.sha256(number) for number in range(len(carrier.drives))]


def operator_reads(guest: Guest) -> str:
    """SSH is up, and says why there is no stripe."""
    return guest.operator.run(["stripewright", "status"]).stdout


def test_a_disk_with_a_filesystem_is_refused_and_unchanged(machine: Machine) -> None:
    foreign = ext4_content(machine.folder / "foreign.img", GIB, {FOREIGN: b"precious\n" * 5000})
    blank = blank_drives()
    machine.carrier.replace((*blank[:2], replace(blank[2], holds=foreign), blank[3]))
    before = hashes(machine.carrier)
    with machine.boot() as guest:
        guest.wait_for_ssh()
        guest.wait_for_root()
        state = guest.wait_for_outcome()
        assert state["outcome"] == "refused", state
        assert state["volumes"][0]["decision"] == "refuse"
        said = operator_reads(guest)
        assert "ext4" in said
        assert blank[2].serial in said
        assert guest.root.run(["findmnt", "/mnt/scratch"], check=False).returncode == 1
        assert guest.root.sh("cat /proc/mdstat").count("md1") == 0
        # A workload that requires the volumes does not start on the root disk.
        target = guest.root.run(["systemctl", "is-active", "stripewright.target"], check=False)
        assert target.stdout.strip() != "active"
        guest.shutdown()
    assert machine.carrier.unmounted_cleanly()
    assert hashes(machine.carrier) == before


def test_three_of_four_drives_wait_and_are_refused(machine: Machine) -> None:
    machine.carrier.replace(blank_drives(3))
    before = hashes(machine.carrier)
    with machine.boot() as guest:
        guest.wait_for_ssh()
        guest.wait_for_root()
        # SSH is here while the stripe is still being waited for.
        seen_waiting = False
        deadline = time.monotonic() + 300
        while (state := guest.state()).get("outcome") in (None, "waiting"):
            seen_waiting = seen_waiting or state.get("outcome") == "waiting"
            assert time.monotonic() < deadline, state
            time.sleep(1)
        assert seen_waiting
        assert state["outcome"] == "refused", state
        reason = state["volumes"][0]["reason"]
        assert FOUR_DISK_TYPE in reason
        assert "3" in reason
        assert "4" in reason
        assert FOUR_DISK_TYPE in operator_reads(guest)
        guest.shutdown()
    assert hashes(machine.carrier) == before
