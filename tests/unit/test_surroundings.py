"""What the boot unit notes of the surroundings, and what of it stays when it looks again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from appliance.storage.execute import state_document
from appliance.storage.probe import settings as probed
from appliance.system import process
from tests.unit.drift_machine import LAYOUT, OTHER_UUID, ROOT_MOUNT, Machine
from tests.unit.fake_machine import FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.boot()
    return made


def noted(machine: Machine) -> dict[str, Any]:
    return dict(machine.state()["surroundings"])


def test_what_is_noted(machine: Machine) -> None:
    found = noted(machine)
    volume = found["volumes"]["scratch"]
    assert [one.rpartition("_")[2] for one in volume["slots"]] == ["AWS1", "AWS2", "AWS3", "AWS4"]
    assert volume["mount"]["super_options"].startswith("rw,attr2")
    assert found["values"]["disk.io_timeout_ms:AWS2"] == "30000"
    assert found["values"]["machine_type"] == "i4i.16xlarge"
    assert list(found["built"].values()) == ["stripewright:scratch"]
    assert found["tuning"]["scheduler"] is None


def _changed_by_hand(machine: Machine) -> None:
    machine.put("nvme1n1/queue/scheduler", "none [kyber]")
    machine.put("nvme1n1/device/firmware_rev", "9")
    machine.mounts(ROOT_MOUNT, machine.line("rw,relatime"))
    machine.udev("9:127", MD_NAME="stripewright:scratch", MD_UUID=machine.look().volumes[0].uuid)


def test_another_look_keeps_what_was_noted_first(machine: Machine) -> None:
    before = noted(machine)
    _changed_by_hand(machine)
    machine.boot(changed=())
    assert noted(machine) == before


def test_a_volume_that_a_plan_changed_is_noted_anew(machine: Machine) -> None:
    _changed_by_hand(machine)
    machine.boot(changed=("scratch",))
    assert noted(machine)["volumes"]["scratch"]["mount"]["options"] == "rw,relatime"
    assert noted(machine)["values"]["disk.scheduler:AWS1"] == "none", "which the plan did not"


def test_a_volume_that_was_made_again_is_noted_anew(machine: Machine) -> None:
    machine.udev("9:127", MD_NAME="stripewright:scratch", MD_UUID=OTHER_UUID)
    machine.mounts(ROOT_MOUNT, machine.line("rw,relatime"))
    machine.boot(changed=())
    assert noted(machine)["volumes"]["scratch"]["mount"]["options"] == "rw,relatime"


def test_settings_that_are_declared_are_noted_as_they_were_set(machine: Machine) -> None:
    text = LAYOUT + '[tuning]\nscheduler = "kyber"\n'
    (machine.root / "layout.toml").write_text(text)
    _changed_by_hand(machine)
    machine.boot(changed=())
    assert noted(machine)["values"]["disk.scheduler:AWS1"] == "kyber"
    machine.put("nvme1n1/queue/scheduler", "none [kyber] mq-deadline")
    machine.put("nvme1n1/device/firmware_rev", "10")
    machine.boot(changed=())
    assert noted(machine)["values"]["disk.firmware:AWS1"] == "9", "the first of this declaration"


def test_another_boot_starts_over(machine: Machine) -> None:
    file = machine.root / "state.json"
    assert state_document.of_this_boot(file, machine.fake.kernel) is not None
    (machine.root / "proc/sys/kernel/random/boot_id").write_text("another\n")
    assert state_document.of_this_boot(file, machine.fake.kernel) is None


def test_the_boot_unit_notes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, state = FakeMachine(tmp_path, monkeypatch).boot()
    assert state["surroundings"]["values"]["fio"] == "fio-3.39"


def test_the_version_of_fio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fio = tmp_path / "fio"
    monkeypatch.setattr(process, "find_program", lambda name: str(fio))
    fio.write_bytes(b"ELF\0fio-3.39-12-g0123abc\0fio-\0")
    assert probed.fio_version(ask=False) == "fio-3.39-12-g0123abc"
    fio.write_bytes(b"#!/bin/sh\n")
    assert probed.fio_version(ask=False) == "", "it is not started only for this"
    done = process.Completed(("fio",), 0, "fio-3.40\n", "")
    monkeypatch.setattr(process, "run", lambda *_, **__: done)
    assert probed.fio_version(ask=True) == "fio-3.40"
    monkeypatch.setattr(process, "find_program", lambda name: None)
    assert probed.fio_version(ask=False) == "none"
