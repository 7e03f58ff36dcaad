"""What volumes work in: what changed is told with its disk, and only against what was noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.model.findings import DriftSeverity, Fact
from appliance.model.runs import EpochRecord
from appliance.storage.probe import settings as probed
from tests.unit.drift_machine import LAYOUT, Machine, booted, codes, only

IDS = {f"AWS{at}": f"nvme-Amazon_EC2_NVMe_Instance_Storage_AWS{at}" for at in range(1, 5)}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(probed, "fio_version", lambda *, ask: "fio-3.39")
    return booted(tmp_path)


def test_nothing_has_changed(machine: Machine) -> None:
    now = machine.look()
    assert machine.environment_facts(before=now.surroundings) == ()
    assert now.surroundings["disk.scheduler:AWS1"] == "none"
    assert now.surroundings["disk.firmware:AWS4"] == "0"
    assert now.surroundings["cpu.idle_states"] == "POLL, C1, C6"


# ------------------------------------------------------------------------------- the epoch


def test_a_kernel_is_told_for_as_long_as_its_epoch_lasts(machine: Machine) -> None:
    changed = {
        "kernel": ("6.1.0-1", "6.12.0-2"),
        "fio": ("fio-3.33", "fio-3.39"),
        "machine_type": ("i4i.8xlarge", "i4i.16xlarge"),
        "serials": ("a", "b"),
    }
    facts = machine.environment_facts(epoch=EpochRecord(7, 0.0, {}, changed))
    assert codes(facts) == ["ENV-FIO", "ENV-KERNEL", "ENV-MACHINE-TYPE"]
    kernel = next(one for one in facts if one.code == "ENV-KERNEL")
    assert (kernel.expected, kernel.observed) == ("6.1.0-1", "6.12.0-2")
    assert kernel.identity == "epoch 7: 6.1.0-1 -> 6.12.0-2"
    assert kernel.severity is DriftSeverity.NOTICE
    assert machine.environment_facts(epoch=EpochRecord(8, 0.0, {}, {})) == ()


def test_another_fio_since_boot(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probed, "fio_version", lambda *, ask: "fio-3.40")
    fio = only(machine.environment_facts(), "ENV-FIO")
    assert (fio.expected, fio.observed) == ("fio-3.39", "fio-3.40")
    monkeypatch.setattr(probed, "fio_version", lambda *, ask: "")
    assert machine.environment_facts() == (), "not known is not changed"


def test_the_next_step_for_another_fio_ends_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probed, "fio_version", lambda *, ask: "fio-3.40")
    assert "reload" in only(machine.environment_facts(), "ENV-FIO").next_step
    machine.boot(changed=())
    assert machine.environment_facts() == ()


# ------------------------------------------------------------------------------- the disks


def test_the_scheduler_of_one_disk(machine: Machine) -> None:
    machine.put("nvme2n1/queue/scheduler", "none [mq-deadline] kyber")
    found = only(machine.environment_facts(), "ENV-SCHEDULER")
    assert (found.member, found.subject, found.volume) == ("AWS2", "AWS2", "scratch")
    assert found.next_step.endswith("as root: echo none > /sys/block/nvme2n1/queue/scheduler")
    machine.boot(changed=())
    assert codes(machine.environment_facts()) == ["ENV-SCHEDULER"], "a later look takes no part"


def test_disks_that_changed_alike_are_one_fact(machine: Machine) -> None:
    for name in machine.names[:3]:
        machine.put(f"{name}/queue/io_timeout", "60000")
    machine.put("nvme4n1/queue/io_timeout", "1000")
    facts = machine.environment_facts()
    assert codes(facts) == ["ENV-IO-TIMEOUT", "ENV-IO-TIMEOUT"]
    together = next(one for one in facts if one.subject == "scratch")
    assert together.evidence["members"] == "AWS1, AWS2, AWS3"
    assert together.observed == "I/O timeout 60000 ms"
    assert next(one for one in facts if one.member).member == "AWS4"


def test_what_the_layout_declares_is_what_is_expected(machine: Machine) -> None:
    for name in machine.names:
        machine.put(f"{name}/queue/scheduler", "none [mq-deadline]")
    (machine.root / "layout.toml").write_text(LAYOUT + '[tuning]\nscheduler = "mq-deadline"\n')
    before = machine.look().surroundings
    machine.boot()
    assert machine.environment_facts(before=before) == (), "wanted, and so for the boot before"
    machine.put("nvme1n1/queue/scheduler", "[none] mq-deadline")
    found = only(machine.environment_facts(), "ENV-SCHEDULER")
    assert found.next_step.endswith("as root: systemctl reload stripewright-assemble.service")


def test_firmware_that_changed_while_the_machine_was_off(machine: Machine) -> None:
    before = {**machine.look().surroundings, "disk.firmware:AWS3": "1.0", "disk.firmware:GONE": "2"}
    found = only(machine.environment_facts(before=before), "ENV-FIRMWARE")
    assert (found.member, found.expected) == ("AWS3", "firmware 1.0")
    assert "at the boot before" in found.summary


def test_a_disk_that_is_gone_has_no_settings(machine: Machine) -> None:
    machine.pull("nvme2n1")
    assert machine.environment_facts() == ()


# -------------------------------------------------------------------------- the processors


def test_idle_states_that_were_switched_off(machine: Machine) -> None:
    machine.fake.put("devices/system/cpu/cpu0/cpuidle/state2/disable", "1")
    found = only(machine.environment_facts(), "ENV-CSTATE")
    assert found.observed.endswith("POLL, C1, C6 off on 1 of 2")
    machine.fake.put("devices/system/cpu/cpu1/cpuidle/state2/disable", "1")
    assert only(machine.environment_facts(), "ENV-CSTATE").observed.endswith("POLL, C1, C6 off")


def test_a_deepest_state_that_is_another_than_at_the_boot_before(machine: Machine) -> None:
    before = {**machine.look().surroundings, "cpu.max_cstate": "1"}
    assert (
        "max_cstate: 9, not 1"
        in only(machine.environment_facts(before=before), "ENV-CSTATE").summary
    )
    before["machine_type"] = "m5d.24xlarge"
    assert machine.environment_facts(before=before) == (), "another machine has other processors"


def test_a_latency_that_is_no_longer_asked_for(machine: Machine) -> None:
    (machine.root / "cpu-latency").write_text("1\n")
    machine.boot()
    assert machine.environment_facts() == ()
    (machine.root / "cpu-latency").unlink()
    found = only(machine.environment_facts(), "ENV-CSTATE")
    assert "none, not 1" in found.summary
    assert found.next_step.endswith("as root: systemctl reload stripewright-assemble.service")


# ------------------------------------------------------------------------------ the health


def health(**more: int) -> dict[str, int]:
    usual = {
        "critical_warning": 0, "available_spare": 100, "available_spare_threshold": 10,
        "percentage_used": 3, "media_errors": 0, "first_media_errors": 0,
        "temperature_celsius": 41,
    }  # fmt: skip
    return {**usual, **more}


def warned(machine: Machine, **more: int) -> tuple[Fact, ...]:
    machine.seen(health={IDS["AWS1"]: health(), IDS["AWS2"]: health(**more)})
    return machine.environment_facts()


def test_healthy_disks(machine: Machine) -> None:
    assert warned(machine) == ()
    assert warned(machine, media_errors=4, first_media_errors=4) == (), "errors of long ago"


@pytest.mark.parametrize(
    ("bits", "words", "severity"),
    [
        (1, "spare blocks", DriftSeverity.CRITICAL),
        (2, "temperature", DriftSeverity.WARNING),
        (4, "reliability", DriftSeverity.CRITICAL),
        (8, "read-only", DriftSeverity.CRITICAL),
        (16, "backup", DriftSeverity.CRITICAL),
        (32, "persistent memory", DriftSeverity.CRITICAL),
        (12, "reliability degraded by media or internal errors; it has", DriftSeverity.CRITICAL),
        (64, "does not know", DriftSeverity.CRITICAL),
    ],
)
def test_a_disk_that_warns(
    machine: Machine, bits: int, words: str, severity: DriftSeverity
) -> None:
    found = only(warned(machine, critical_warning=bits), "DISK-HEALTH")
    assert (found.member, found.severity) == ("AWS2", severity)
    assert words in found.summary
    assert found.observed == f"critical_warning 0x{bits:02x}"
    # Heat alone wears no disk out.
    assert ("cooling" in found.next_step, "replace" in found.next_step) == (bits == 2, bits != 2)


def test_a_disk_that_is_worn_out(machine: Machine) -> None:
    assert only(warned(machine, percentage_used=100), "DISK-HEALTH").observed.endswith("100 %")
    assert warned(machine, percentage_used=99) == ()
    assert "9 %" in only(warned(machine, available_spare=9), "DISK-HEALTH").observed
    assert warned(machine, available_spare=10) == ()


def test_media_errors_that_grow(machine: Machine) -> None:
    found = only(warned(machine, media_errors=7, first_media_errors=4), "DISK-HEALTH")
    assert "3 new media errors (7 in all)" in found.summary
    more = only(warned(machine, media_errors=9, first_media_errors=4), "DISK-HEALTH")
    assert more.identity == found.identity
    # They came before this boot's first look, and after the last boot's.
    machine.seen(health={IDS["AWS2"]: health(media_errors=7, first_media_errors=7)})
    before = {"disk.media_errors:AWS2": "5"}
    assert only(machine.environment_facts(before=before), "DISK-HEALTH").expected.startswith("5 ")
    assert machine.look().surroundings["disk.media_errors:AWS2"] == "7"
