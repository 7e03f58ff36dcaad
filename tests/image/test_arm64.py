"""The image for arm64, by UEFI on an emulated Neoverse N1: to the stripe, a suite, the screens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.rig.architecture import ARM64
from tests.rig.build import build
from tests.rig.drives import blank_drives
from tests.rig.machine import Guest
from tests.rig.qemu import QemuMachine
from tests.rig.terminal import Terminal

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    machine = QemuMachine(
        build(ARM64),
        tmp_path_factory.mktemp("arm64"),
        blank_drives(),
        firmware="uefi",
        time_factor=0.1,
    )
    with machine.up() as guest:
        yield guest


def test_it_makes_the_stripe(guest: Guest) -> None:
    assert guest.root.sh("uname -m").strip() == "aarch64"
    state = guest.wait_for_outcome()
    assert (state["outcome"], state["volumes"][0]["decision"]) == ("mounted", "create"), state
    assert state["inventory"]["machine"]["machine_type"] == "i4g.16xlarge"
    assert guest.root.sh("systemctl --failed --no-legend") == ""


def test_a_suite_is_kept_and_shown(
    guest: Guest, keep_screen: Callable[[str, Terminal], None]
) -> None:
    guest.operator.sh("systemctl start --no-block stripewright-bench@smoke")
    with Terminal(
        guest.operator.argv(["stripewright"], terminal=True), guest.machine.folder
    ) as one:
        one.wait_for("HEALTHY", deadline_seconds=600)
        keep_screen("live-arm64-overview", one)
        one.keys("4")
        one.wait_for("ENDED smoke", "5 of 5 results valid", deadline_seconds=900)
        keep_screen("live-arm64-suites", one)
    run = json.loads(guest.root.sh("stripewright results --json"))["runs"][0]
    assert (run["suite"], run["state"]) == ("smoke", "complete")
