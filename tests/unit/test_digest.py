"""What a plan's digest sees, and what it does not depend on."""

from __future__ import annotations

import itertools
from dataclasses import replace

from appliance.model.disks import Disk
from appliance.model.plans import Layout, Plan
from appliance.storage.policy.planner import plan
from tests.unit.disks import LAYOUT, SCRATCH, disk, inventory, member

FOUR_BLANK = tuple(disk(number) for number in (1, 2, 3, 4))
OURS = tuple(member(slot) for slot in range(4))
ACCEPT = Layout(volumes=(replace(SCRATCH, on_short="accept"),))


def decide(*disks: Disk, layout: Layout = LAYOUT) -> Plan:
    return plan(inventory(*disks), layout, waited=True)


def test_the_digest_ignores_order_and_kernel_names() -> None:
    first = decide(*FOUR_BLANK)
    for order in itertools.permutations(FOUR_BLANK):
        renamed = [replace(one, path=f"/dev/nvme{8 + at}n1") for at, one in enumerate(order)]
        assert decide(*renamed).digest == first.digest


def test_the_digest_sees_what_matters() -> None:
    digests = {
        decide(*FOUR_BLANK).digest,
        decide(*FOUR_BLANK[:3], disk(5)).digest,
        decide(*FOUR_BLANK[:3], replace(FOUR_BLANK[3], size_bytes=1)).digest,
        decide(*FOUR_BLANK[:3], replace(FOUR_BLANK[3], busy=True)).digest,
        decide(*FOUR_BLANK[:3], replace(FOUR_BLANK[3], wwid="eui.1")).digest,
        decide(*FOUR_BLANK[:3], replace(FOUR_BLANK[3], slot="pci-0000:00:1f.0")).digest,
        decide(*FOUR_BLANK, layout=ACCEPT).digest,
        decide(*OURS).digest,
    }
    assert len(digests) == 8
