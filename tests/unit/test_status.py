"""What the first screen says, from a state file and what can be checked without privilege."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from appliance.client import machine_status as status_room
from appliance.client.machine_status import Health, read_status
from appliance.state import boot_state
from appliance.system import liveness
from tests.unit.disks import array, disk, inventory


class Appliance:
    """A state file, a mount table and a sysfs with one array, all in a folder."""

    def __init__(self, root: Path) -> None:
        self.mount = root / "mnt"
        self.mount.mkdir()
        self.device = root / "dev" / "md127"
        self.device.parent.mkdir()
        self.device.touch()
        self.block = root / "block"
        (self.block / "md127" / "md").mkdir(parents=True)
        (self.block / "md127" / "dev").write_text("9:127\n")
        self.array_state("clean")
        self.mountinfo = root / "mountinfo"
        self.mounted("9:127")
        self.file = root / "state.json"
        self.state: dict[str, Any] = {
            "at": 1_700_000_000,
            "outcome": "mounted",
            "message": "scratch is mounted",
            "volumes": [
                {
                    "name": "scratch",
                    "decision": "create",
                    "reason": "four blank disks",
                    "hint": "",
                    "outcome": "mounted",
                    "device": str(self.device),
                    "mount": str(self.mount),
                    "members": [{"path": f"/dev/nvme{n}n1", "serial": f"S{n}"} for n in range(4)],
                    "level": "raid0",
                    "chunk_bytes": 262144,
                    "sunit_bytes": 262144,
                    "swidth_bytes": 1048576,
                    "size_bytes": 4 << 30,
                }
            ],
        }

    def array_state(self, word: str) -> None:
        (self.block / "md127" / "md" / "array_state").write_text(word + "\n")

    def mounted(self, *devices: str) -> None:
        lines = [f"36 35 {dev} / {self.mount} rw - xfs {self.device} rw\n" for dev in devices]
        self.mountinfo.write_text("".join(lines))

    def read(self) -> status_room.Status:
        self.file.write_text(json.dumps(self.state))
        return read_status(
            state_file=self.file,
            seen_file=self.file.with_name("seen.json"),
            db=self.file.with_name("none.db"),
            mountinfo=self.mountinfo,
            sys_block=self.block,
        )


@pytest.fixture
def appliance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    monkeypatch.setattr(status_room.services, "systemd_is_running", lambda: False)
    return Appliance(tmp_path)


def test_a_mounted_volume_with_proved_geometry_is_ok(appliance: Appliance) -> None:
    now = appliance.read()
    words = f"scratch is mounted at {appliance.mount}, 4 disks"
    assert (now.health, now.summary) == (Health.OK, words)
    assert now.volumes[0].mounted
    assert now.volumes[0].geometry_proved
    assert now.volumes[0].member_serials == ("S0", "S1", "S2", "S3")
    assert "none.db" in now.history_problem


def test_the_number_of_disks_stands_beside_what_the_type_has(appliance: Appliance) -> None:
    appliance.state["inventory"] = {"machine": {"expected_disks": 6}, "disks": []}
    assert appliance.read().summary.endswith("4 of 6 disks")


@pytest.mark.parametrize(
    ("key", "value"), [("sunit_bytes", 65536), ("swidth_bytes", 786432), ("sunit_bytes", None)]
)
def test_other_geometry_is_not_called_proved(
    appliance: Appliance, key: str, value: int | None
) -> None:
    appliance.state["volumes"][0][key] = value
    assert not appliance.read().volumes[0].geometry_proved


def test_a_volume_that_was_unmounted_since_is_a_failure(appliance: Appliance) -> None:
    appliance.mounted()
    now = appliance.read()
    assert now.health is Health.FAILED
    assert now.summary == f"{appliance.mount} is no longer mounted"


def test_something_mounted_on_top_is_a_failure(appliance: Appliance) -> None:
    appliance.mounted("9:127", "8:1")
    now = appliance.read()
    assert (now.health, now.summary) == (
        Health.FAILED,
        f"something else is mounted at {appliance.mount}",
    )


def test_a_broken_raid0_is_a_failure_although_it_is_still_mounted(appliance: Appliance) -> None:
    appliance.array_state("broken")
    now = appliance.read()
    assert now.health is Health.FAILED
    assert now.summary.endswith("is broken")


@pytest.mark.parametrize("outcome", ["refused", "failed"])
def test_a_refusal_and_a_failure_say_why_and_what_next(appliance: Appliance, outcome: str) -> None:
    volume = appliance.state["volumes"][0]
    volume.update(outcome=outcome, reason="nvme3n1 holds ext4", hint="move the data away")
    appliance.state["outcome"] = outcome
    appliance.mounted()
    now = appliance.read()
    assert (now.health.value, now.summary, now.hint) == (
        outcome,
        "nvme3n1 holds ext4",
        "move the data away",
    )


def test_while_the_boot_unit_waits_that_is_said(appliance: Appliance) -> None:
    appliance.state.update(outcome="waiting", message="3 of 4 disks", volumes=[], pid=os.getpid())
    now = appliance.read()
    assert (now.health, now.summary) == (Health.WORKING, "3 of 4 disks")


@pytest.mark.parametrize("pid", [None, 0, -1, 2**22 + 1])
def test_whoever_was_killed_at_work_is_a_failure(appliance: Appliance, pid: object) -> None:
    appliance.state.update(outcome="applying", message="step 2 of 4", volumes=[], pid=pid)
    now = appliance.read()
    assert now.health is Health.FAILED
    assert "step 2 of 4" in now.summary


def _second(appliance: Appliance, **facts: object) -> None:
    appliance.state["volumes"].append(
        {**appliance.state["volumes"][0], "name": "logs", "mount": "/mnt/logs", **facts}
    )


def test_one_volume_up_and_one_refused_says_both(appliance: Appliance) -> None:
    _second(appliance, outcome="refused", reason="nvme3n1 holds ext4", hint="move it")
    appliance.state["outcome"] = "refused"
    now = appliance.read()
    assert (now.health, now.hint) == (Health.REFUSED, "move it")
    assert now.summary == (
        f"logs: nvme3n1 holds ext4; scratch is mounted at {appliance.mount}, 4 disks"
    )


def test_a_volume_without_a_filesystem_is_up_while_its_device_is_there(
    appliance: Appliance,
) -> None:
    volume = appliance.state["volumes"][0]
    volume.update(outcome="up", mount="", filesystem="none", sunit_bytes=None, swidth_bytes=None)
    appliance.mounted()
    now = appliance.read()
    assert (now.health, now.volumes[0].is_up) == (Health.OK, True)
    assert now.volumes[0].geometry_proved
    assert "scratch is up as" in now.summary
    (appliance.block / "md127" / "dev").unlink()
    assert appliance.read().health is Health.FAILED


def test_a_degraded_raid10_is_told_with_what_it_does(appliance: Appliance) -> None:
    md = appliance.block / "md127" / "md"
    (md / "degraded").write_text("1\n")
    (md / "sync_action").write_text("recover\n")
    (md / "sync_completed").write_text("250 / 1000\n")
    now = appliance.read()
    assert (now.health, now.hint) == (Health.DEGRADED, "")
    assert now.summary == "scratch lacks 1 of 4 members (recover 25 %)"
    (md / "sync_action").write_text("idle\n")
    assert "blank disk" in appliance.read().hint


def test_half_of_a_near_raid10_holds_copies(appliance: Appliance) -> None:
    volume = appliance.state["volumes"][0]
    volume.update(level="raid10", data_disks=2, swidth_bytes=2 * 262144)
    assert appliance.read().volumes[0].geometry_proved


@pytest.mark.parametrize("name", ["données", "with blank", "back\\slash", "\udcff"])
def test_a_mount_point_with_odd_letters_is_found(appliance: Appliance, name: str) -> None:
    odd = appliance.mount / name
    odd.mkdir()
    text = str(odd).replace("\\", "\\134").replace(" ", "\\040")
    appliance.mountinfo.write_text(
        f"36 35 9:127 / {text} rw - xfs x rw\n", errors="surrogateescape"
    )
    appliance.state["volumes"][0]["mount"] = str(odd)
    assert appliance.read().health is Health.OK


@pytest.mark.parametrize(
    "content", [None, "", "[]", "{not json", '{"volumes": [1]}', '{"volumes": [], "pid": "1"}']
)
def test_a_state_file_that_is_missing_or_torn_is_unknown_not_ok(
    appliance: Appliance, content: str | None
) -> None:
    if content is not None:
        appliance.file.write_text(content)
    now = read_status(
        state_file=appliance.file,
        db=appliance.file.with_name("none.db"),
        mountinfo=appliance.mountinfo,
        sys_block=appliance.block,
    )
    assert now.health is Health.UNKNOWN


def test_all_that_the_boot_unit_saw_is_there_and_read_once(appliance: Appliance) -> None:
    seen = inventory(disk(1), arrays=(array(disk(1)),))
    appliance.state["inventory"] = asdict(seen)
    assert appliance.read().inventory == seen
    assert (appliance.read().machine, appliance.read().disks) == (seen.machine, seen.disks)
    # The same file again costs no reading of a hundred disks; another one is noticed.
    before = boot_state._parsed.cache_info().misses
    appliance.read()
    assert boot_state._parsed.cache_info().misses == before
    appliance.state["message"] = "another"
    appliance.read()
    assert boot_state._parsed.cache_info().misses == before + 1


def test_an_inventory_that_is_none_hides_nothing_else(appliance: Appliance) -> None:
    appliance.state["inventory"] = {"disks": 5}
    now = appliance.read()
    assert (now.health, now.inventory, now.disks) == (Health.OK, None, ())


def test_what_disks_say_of_their_health_is_root_s_last_scan(appliance: Appliance) -> None:
    assert appliance.read().smart_problem == "no privileged scan in this boot"
    log = {
        "critical_warning": 4, "available_spare": 100, "available_spare_threshold": 10,
        "percentage_used": 3, "media_errors": 2, "first_media_errors": 2,
        "temperature_celsius": None,
    }  # fmt: skip
    scan = {"boot_id": liveness.boot_id(), "at": time.time(), "health": {"a": log, "b": None}}
    appliance.file.with_name("seen.json").write_text(json.dumps(scan))
    now = appliance.read()
    assert now.smart_problem == ""
    assert now.smart["b"] is None
    health = now.smart["a"]
    assert health is not None
    assert (health.percentage_used, health.temperature_celsius) == (3, None)
    assert health.warnings == ("reliability degraded by media or internal errors",)
