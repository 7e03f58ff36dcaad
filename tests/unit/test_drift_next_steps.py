"""What a finding says is to be done next can be done: an operator has no root, and some tools are
not on the image.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.drift.codes import CODES
from appliance.drift.rules import environment_rules, layout_rules
from appliance.storage.probe import settings
from tests.unit.drift_machine import LAYOUT, ROOT_MOUNT, UUID, XFS, Machine

ROOT = Path(__file__).parents[2]
# Not in an operator's PATH, or refused to everybody but root.
_ROOTS = re.compile(
    r"\b(?:mdadm|vgs|lvs|umount|mount -o|udevadm|dumpe2fs|xfs_info|nvme|storcli64|echo"
    r"|systemctl (?:start|stop|reload|restart))\b|--members",
    re.ASCII,
)
_NOT_ON_THE_IMAGE = re.compile(r"\b(?:fuser|cpupower|lsof|smartctl|sudo)\b|docs/", re.ASCII)


def for_an_operator(text: str) -> None:
    before, _, _ = re.sub(r"\s+", " ", text).replace("As root", "as root").partition("as root")
    assert not _ROOTS.findall(before), text
    assert not _NOT_ON_THE_IMAGE.findall(text), text


def unmounted(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT)


def covered(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT, machine.line(), "60 40 0:60 / /mnt/scratch rw - tmpfs tmpfs rw")


def without_options(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT, machine.line("rw,nosuid,nodev"))


def with_options(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT, machine.line(more=XFS + ",discard"))


def stopped(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT, machine.line(more=XFS + ",shutdown"))


def lies_otherwise(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT, machine.line(more=XFS.replace("sunit=512", "sunit=128")))


def no_link(machine: Machine) -> None:
    (machine.root / "dev/stripewright/scratch").unlink()


def broken(machine: Machine) -> None:
    machine.put("md127/md/array_state", "broken")


def readonly(machine: Machine) -> None:
    machine.put("md127/md/array_state", "readonly")


def another_order(machine: Machine) -> None:
    for name, slot in (("nvme1n1", "1"), ("nvme2n1", "0")):
        machine.put(f"md127/md/dev-{name}/slot", slot)


def another_disk(machine: Machine) -> None:
    machine.local_disk("nvme7n1", "259:70", "AWS7")
    machine.remove("md127/md/dev-nvme2n1")
    machine.put("md127/md/dev-nvme7n1/slot", "1")


def pulled(machine: Machine) -> None:
    machine.pull("nvme3n1")


def another_array(machine: Machine) -> None:
    machine.fake.disk("md0", "9:5")
    machine.put("md0/md/dev-nvme9n1/slot", "0")
    machine.udev("9:5", MD_NAME="other:x", MD_UUID=UUID[::-1])


def another_group(machine: Machine) -> None:
    group = {
        "name": "other", "uuid": "u", "tags": [], "members": [], "member_count": 1,
        "extent_bytes": 1, "free_bytes": 0, "volumes": [],
    }  # fmt: skip
    machine.seen(groups=[group])


def another_scheduler(machine: Machine) -> None:
    machine.put("nvme2n1/queue/scheduler", "none [kyber]")


def not_as_declared(machine: Machine) -> None:
    (machine.root / "layout.toml").write_text(LAYOUT + '[tuning]\nscheduler = "kyber"\n')


def another_latency(machine: Machine) -> None:
    (machine.root / "cpu-latency").write_text("1\n")


def other_idle_states(machine: Machine) -> None:
    machine.fake.put("devices/system/cpu/cpu0/cpuidle/state2/disable", "1")


def worn_out(machine: Machine) -> None:
    log = dict.fromkeys(("media_errors", "first_media_errors"), 0) | {
        "critical_warning": 4, "available_spare": 90, "available_spare_threshold": 10,
        "percentage_used": 3, "temperature_celsius": None,
    }  # fmt: skip
    machine.seen(health={machine.state()["volumes"][0]["members"][0]["id"]: log})


@pytest.mark.parametrize(
    ("deed", "code"),
    [
        (unmounted, "MOUNT-MISSING"),
        (covered, "MOUNT-COVERED"),
        (without_options, "MOUNT-OPTIONS"),
        (with_options, "MOUNT-OPTIONS"),
        (stopped, "FS-FAILED"),
        (lies_otherwise, "FS-GEOMETRY"),
        (no_link, "LINK-WRONG"),
        (broken, "ARRAY-BROKEN"),
        (readonly, "ARRAY-READONLY"),
        (another_order, "MEMBER-ORDER"),
        (another_disk, "MEMBER-SWAPPED"),
        (pulled, "MEMBER-MISSING"),
        (another_array, "ARRAY-APPEARED"),
        (another_group, "ARRAY-APPEARED"),
        (another_scheduler, "ENV-SCHEDULER"),
        (not_as_declared, "ENV-SCHEDULER"),
        (another_latency, "ENV-CSTATE"),
        (other_idle_states, "ENV-CSTATE"),
        (worn_out, "DISK-HEALTH"),
    ],
)
def test_an_operator_can_do_what_comes_next(
    deed: Callable[[Machine], None], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "fio_version", lambda *, ask: "fio-3.39")
    machine = Machine(tmp_path)
    machine.boot()
    machine.seen()
    deed(machine)
    seen = machine.look()
    facts = [
        one
        for one in (*layout_rules.judge(seen), *environment_rules.judge(seen))
        if one.code == code
    ]
    assert facts
    for fact in facts:
        assert fact.next_step
        for_an_operator(fact.next_step)


@pytest.mark.parametrize(
    "file", sorted((ROOT / "appliance/drift").rglob("*.py")), ids=lambda one: one.stem
)
def test_what_takes_the_whole_machine_is_roots(file: Path) -> None:
    """Steps of findings that need a history of runs before they are made."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and "--members" in str(node.value):
            for_an_operator(str(node.value))


@pytest.mark.parametrize("code", CODES)
def test_the_catalogs_first_step_is_for_an_operator(code: str) -> None:
    catalog = (ROOT / "units/catalog/stripewright.catalog").read_text()
    (text,) = (one for one in catalog.split("\n-- ") if one.startswith(CODES[code].message_id))
    for_an_operator(text.partition("\nFirst: ")[2])
    page = (ROOT / "docs/drift.md").read_text().partition(f"\n### {code}\n")[2]
    for_an_operator(page.partition("- **First**: ")[2].partition("- **Not**")[0])
