"""A machine of files on which volumes came up, and which can then be changed by hand."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from appliance.drift.looks import observe
from appliance.drift.looks.observation import Observation
from appliance.drift.rules import environment_rules
from appliance.drift.rules import layout_rules as layout
from appliance.model.disks import Filesystem, Inventory
from appliance.model.findings import Fact
from appliance.model.plans import Decision, Layout, Plan, VolumePlan
from appliance.model.runs import EpochRecord
from appliance.state import boot_state
from appliance.storage.execute import state_document
from appliance.storage.policy import layout as layouts
from appliance.storage.probe import devices
from appliance.storage.probe import settings as probed
from tests.unit.fakesysfs import FakeSysfs

CHUNK = 262144
UUID = "6e1d7c5a:0a3b1f44:9d2c8e11:77aa0042"
OTHER_UUID = "11111111:22222222:33333333:44444444"
BOOT = "5f1c2a9e-0000-4000-8000-000000000001"
STORE = "Amazon EC2 NVMe Instance Storage"
ROOT_MOUNT = "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw"
XFS = "rw,attr2,inode64,logbufs=8,logbsize=256k,sunit=512,swidth=2048,noquota"
LAYOUT = """
[[volume]]
name = "scratch"
mount = "/mnt/scratch"
"""


class Machine:
    """An i4i.16xlarge with four local disks and a volume ``scratch`` on all of them."""

    def __init__(self, root: Path, *, layout: str = LAYOUT, count: int = 4) -> None:
        self.fake = FakeSysfs(root)
        self.root = root
        self.mount = "/mnt/scratch"
        (root / "dev/stripewright").mkdir(parents=True)
        (root / "run/udev/data").mkdir(parents=True)
        (root / "proc/1").mkdir()
        # Whoever writes state.json is there, until a test takes him away.
        self.worker = root / "proc" / str(os.getpid())
        self.worker.mkdir()
        boot = root / "proc/sys/kernel/random/boot_id"
        boot.parent.mkdir(parents=True)
        boot.write_text(BOOT + "\n")
        self.fake.put("class/dmi/id/sys_vendor", "Amazon EC2")
        self.fake.put("class/dmi/id/product_name", "i4i.16xlarge")
        self.fake.disk("nvme0n1", "259:0", model="Amazon Elastic Block Store", serial="vol0f00")
        self.fake.partition("nvme0n1", "nvme0n1p2", "259:2")
        self.names = [f"nvme{number}n1" for number in range(1, count + 1)]
        for number, name in enumerate(self.names, start=1):
            self.local_disk(name, f"259:{number * 10}", f"AWS{number}")
        self.fake.array("md127", "9:127", self.names)
        self.fake.put("block/md127/md/degraded", "0")
        self.udev("9:127", MD_NAME="stripewright:scratch", MD_UUID=UUID)
        (root / "dev/md127").touch()
        (root / "dev/stripewright/scratch").symlink_to(root / "dev/md127")
        self.lines = [ROOT_MOUNT, self.line()]
        for cpu in range(2):
            for at, state in enumerate(("POLL", "C1", "C6")):
                folder = f"devices/system/cpu/cpu{cpu}/cpuidle/state{at}"
                self.fake.put(f"{folder}/name", state)
                self.fake.put(f"{folder}/disable", "0")
        self.fake.put("module/intel_idle/parameters/max_cstate", "9")
        (root / "layout.toml").write_text(layout)
        self.sources = observe.Sources(
            kernel=self.fake.kernel,
            state=root / "state.json",
            seen=root / "seen.json",
            layout=root / "layout.toml",
            cpu_latency=root / "cpu-latency",
            links=root / "dev/stripewright",
        )
        self.mounts(*self.lines)

    # ---- the machine

    def local_disk(self, name: str, number: str, serial: str) -> None:
        self.fake.disk(name, number, model=STORE, serial=serial)
        self.fake.put(f"block/{name}/device/state", "live")
        self.fake.put(f"block/{name}/device/firmware_rev", "0       ")
        self.fake.put(f"block/{name}/queue/scheduler", "[none] mq-deadline kyber")
        self.fake.put(f"block/{name}/queue/io_timeout", "30000")
        self.udev(number, links=[f"disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_{serial}"])

    def udev(self, number: str, *, links: Sequence[str] = (), **facts: str) -> None:
        lines = [f"S:{one}" for one in links] + [f"E:{key}={facts[key]}" for key in facts]
        (self.root / "run/udev/data" / f"b{number}").write_text("\n".join(["I:1", *lines]) + "\n")

    def line(
        self, options: str = "rw,nosuid,nodev,noatime", more: str = XFS, *, device: str = "9:127"
    ) -> str:
        return f"40 22 {device} / {self.mount} {options} shared:2 - xfs /dev/md127 {more}"

    def mounts(self, *lines: str) -> None:
        """As the first process has them; the unit's own copy is read-only."""
        (self.root / "proc/1/mountinfo").write_text("\n".join(lines) + "\n")
        own = [one.replace(" rw,", " ro,") for one in lines]
        (self.root / "proc/self/mountinfo").write_text("\n".join(own) + "\n")

    def put(self, path: str, text: str) -> None:
        self.fake.put(f"block/{path}", text)

    def pull(self, name: str) -> None:
        """The disk leaves; md keeps its directory for it."""
        number = (self.root / "sys/block" / name / "dev").read_text().strip()
        (self.root / "sys/dev/block" / number).unlink()
        (self.root / "run/udev/data" / f"b{number}").unlink()
        (self.root / "sys/block" / name).rename(self.root / f"gone-{name}")

    def remove(self, path: str) -> None:
        """Something below /sys/block."""
        folder = self.root / "sys/block" / path
        for one in sorted(folder.rglob("*"), reverse=True):
            one.rmdir() if one.is_dir() and not one.is_symlink() else one.unlink()
        folder.rmdir()

    # ---- the boot unit

    @property
    def layout(self) -> Layout:
        return layouts.load_layout(self.root / "layout.toml")

    def inventory(self) -> Inventory:
        found = devices.probe(layout=self.layout, kernel=self.fake.kernel, privileged=False)
        made = Filesystem("xfs", "scratch", "fs-uuid", CHUNK, CHUNK * len(self.names))
        return replace(found, arrays=tuple(replace(one, filesystem=made) for one in found.arrays))

    def boot(self, *, outcome: str = "mounted", changed: Sequence[str] = ("scratch",)) -> None:
        """What the boot unit leaves behind when it is done."""
        # It is not in a sandbox with a copy of the mounts.
        own = self.root / "proc/self/mountinfo"
        own.write_text((self.root / "proc/1/mountinfo").read_text())
        inventory, wanted = self.inventory(), self.layout
        decision = Decision.ASSEMBLE
        plan = Plan(
            decision, "", tuple(VolumePlan(v.name, decision, "") for v in wanted.volumes), ()
        )
        up = state_document.volumes_up(inventory, wanted, plan)
        at_device = [
            replace(one, device=str(self.root / "dev/stripewright" / one.name)) for one in up
        ]
        before = boot_state.find(self.root / "state.json")
        noted = state_document.surroundings(
            self.fake.kernel,
            inventory,
            at_device,
            wanted,
            fio_version=probed.fio_version(ask=False),
            cpu_latency=self.root / "cpu-latency",
            changed=changed,
            before=before.surroundings if before else None,
        )
        up = [replace(one, device=f"/dev/stripewright/{one.name}") for one in up]
        state = state_document.state_of(
            inventory,
            plan,
            wanted,
            outcome=outcome,
            message="",
            hint="",
            up=up,
            failed={},
            surroundings=noted,
        )
        self.write(state.document())
        self.mounts(*own.read_text().splitlines())

    def state(self) -> dict[str, Any]:
        file = self.root / "state.json"
        return dict(json.loads(file.read_text())) if file.exists() else {}

    def write(self, state: Mapping[str, Any]) -> None:
        (self.root / "state.json").write_text(json.dumps(state))

    # ---- root's look

    def seen(self, **what: object) -> None:
        lists: dict[str, object] = {"groups": [], "hardware_drives": [], "virtual_drives": []}
        document = {"boot_id": BOOT, "at": time.time(), **lists, **what}
        (self.root / "seen.json").write_text(json.dumps(document))

    # ---- drift

    def look(self) -> Observation:
        return observe.look(self.sources)

    def layout_facts(self) -> tuple[Fact, ...]:
        return layout.judge(self.look())

    def environment_facts(
        self, *, epoch: EpochRecord | None = None, before: Mapping[str, str] | None = None
    ) -> tuple[Fact, ...]:
        return environment_rules.judge(self.look(), epoch=epoch, before=before)


def codes(facts: Sequence[Fact]) -> list[str]:
    return sorted(one.code for one in facts)


def no_process() -> int:
    """In place of :func:`os.fork` on a machine that can have no more processes."""
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


def only(facts: Sequence[Fact], code: str) -> Fact:
    """The one fact there is, which has this code."""
    assert codes(facts) == [code]
    return facts[0]


def booted(folder: Path) -> Machine:
    """A machine in ``folder`` on which the boot unit and root's look have been."""
    made = Machine(folder)
    made.boot()
    made.seen()
    return made
