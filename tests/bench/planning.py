"""How long the planner takes for machines of many disks; pure, so no guest is needed."""

from __future__ import annotations

import statistics
import time

from appliance.model.disks import Disk, DiskKind, Inventory, Machine
from appliance.model.plans import Layout, Selector, Volume
from appliance.storage.policy import identity, planner

COUNTS = (8, 64, 1000)
_REPEATS = 7
_INSTANCE_STORE = "Amazon EC2 NVMe Instance Storage"


def _inventory(count: int) -> Inventory:
    disks = tuple(
        Disk(
            path=f"/dev/nvme{number}n1",
            id=f"nvme-Amazon_EC2_NVMe_Instance_Storage_AWS{number:05d}",
            model=_INSTANCE_STORE,
            serial=f"AWS{number:05d}",
            size_bytes=900 * 10**9,
            transport="nvme",
            blank=True,
            stable_path=f"/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS{number:05d}",
        )
        for number in range(count)
    )
    machine = Machine(provider="aws", expected_disks=count, host_tag="0123456789abcdef")
    return Inventory(
        machine=machine,
        disks=identity.identify_all(disks, machine=machine),
        privileged=True,
    )


def measure() -> dict[str, float]:
    """Median seconds of a plan that creates one stripe of all disks, by their number."""
    volume = Volume(
        name="scratch", mount="/mnt/scratch", select=Selector(kind=DiskKind.INSTANCE_STORE)
    )
    layout = Layout(volumes=(volume,))
    found = {}
    for count in COUNTS:
        inventory = _inventory(count)
        times = []
        for _ in range(_REPEATS):
            began = time.perf_counter()
            made = planner.plan(inventory, layout, waited=True)
            times.append(time.perf_counter() - began)
        assert made.steps, made
        found[str(count)] = statistics.median(times)
    return found
