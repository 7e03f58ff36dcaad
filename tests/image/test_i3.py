"""An i3.4xlarge as far as QEMU has one: BIOS, Xen's DMI, the type told by the metadata alone, two
drives with EC2's model. Its root disk is virtio's: QEMU emulates Xen's with KVM only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.image.test_rehearsal import AWS, MOST_SECONDS
from tests.rig.build import TREE
from tests.rig.drives import blank_drives
from tests.rig.machine import Guest
from tests.rig.qemu import QemuMachine

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.geteuid() != 0, reason="a cloud's network needs root"),
]

I3 = replace(AWS, machine_type="i3.4xlarge", xen=True, user_data="")
DIARY = TREE / "tests" / "corpus" / "diaries" / "i3-single-and-stripe.txt"


@pytest.fixture(scope="module")
def guest(new_machine: Callable[..., QemuMachine]) -> Iterator[Guest]:
    machine = new_machine(
        QemuMachine, blank_drives(2), firmware="bios", root_bus="virtio", instance=I3
    )
    with machine.boot() as guest:
        guest.wait_for_root(MOST_SECONDS)
        yield guest


def test_its_two_disks_become_the_stripe(guest: Guest) -> None:
    state = guest.wait_for_outcome()
    assert (state["outcome"], state["volumes"][0]["decision"]) == ("mounted", "create"), state
    machine = state["inventory"]["machine"]
    assert (machine["provider"], machine["machine_type"]) == ("aws", "i3.4xlarge")
    kinds = [disk["kind"] for disk in state["inventory"]["disks"]]
    assert kinds.count("instance-store") == 2
    # Their number was known when the stripe was made: cloud-init told the type.
    assert "i3.4xlarge has" in state["volumes"][0]["reason"]
    assert not guest.root.sh("ls -d /sys/firmware/efi 2>/dev/null || :")


def test_its_suite_is_compared_with_the_diary_of_that_type(guest: Guest) -> None:
    """Emulated it is a thousandth as fast: what is seen is that the same work lies side by side."""
    run = "stripewright bench run i3-stripe --target /mnt/scratch/i3 --time-factor 0.05"
    guest.root.sh(f"mkdir /mnt/scratch/i3 && {run} --db here.db", timeout_seconds=600)
    guest.root.sh(f"cat > diary.txt <<'END OF DIARY'\n{DIARY.read_text()}\nEND OF DIARY")
    guest.root.sh("stripewright bench import diary.txt --db here.db", check=False)
    said = guest.root.sh("stripewright compare import:1:md0 1 --db here.db")
    print(said)
    rows = re.findall(r"^(\w+(?: \w+)? \d+ KiB QD 32 × 16) +(\S+)k +(\S+?)k? ", said, re.MULTILINE)
    assert len(rows) == 7
    assert "824.7" in dict(row[:2] for row in rows)["randread 4 KiB QD 32 × 16"]
    assert all(float(diary) > 90 and float(here) > 0 for _, diary, here in rows)
