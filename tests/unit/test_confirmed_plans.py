"""Plans that an operator has confirmed, on a machine of stand-ins."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.errors import OperatorError, Refused, StalePlan
from appliance.model.plans import Decision
from appliance.storage.execute import apply, builtin_steps
from appliance.storage.execute.executor import apply_confirmed, plan_request
from appliance.storage.execute.request_spool import Request
from tests.unit.fake_machine import (
    ONLY_DATA,
    FakeMachine,
)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    return FakeMachine(tmp_path, monkeypatch)


def test_a_confirmed_plan_declares_early_and_is_what_the_machine_is_held_to(
    machine: FakeMachine,
) -> None:
    machine.up = {"data", "logs"}
    assert machine.boot()[0] == 0
    request = Request(ONLY_DATA, ("logs",))
    made = plan_request(request, places=machine.places)
    assert made.orders.declare == builtin_steps.sha256_of(ONLY_DATA)
    assert made.orders.grow
    assert apply_confirmed(request, made.plan.digest, places=machine.places) == 0
    assert machine.ran == ["umount logs", "chore declare"]
    state = machine.state()
    assert [one["name"] for one in state["volumes"]] == ["data"]
    assert [path.name for path in machine.places.units.iterdir()] == ["mnt-data.mount"]
    assert "VOLUME_REMOVED" in dict(machine.journal)
    # Asked again, there is nothing left to declare.
    assert plan_request(request, places=machine.places).orders.declare == ""


def test_a_busy_volume_is_found_before_the_layout_changes(machine: FakeMachine) -> None:
    machine.up = {"data", "logs"}
    before = machine.places.layout.read_text()
    request = Request(ONLY_DATA, ("logs",))
    made = plan_request(request, places=machine.places)
    machine.fails = "umount logs"
    with pytest.raises(apply.StepFailed, match="umount"):
        apply_confirmed(request, made.plan.digest, places=machine.places)
    assert machine.ran == ["umount logs"]
    assert machine.places.layout.read_text() == before


def test_another_digest_is_stale_and_nothing_is_run(machine: FakeMachine) -> None:
    with pytest.raises(StalePlan, match="nothing was written") as caught:
        apply_confirmed(Request(), "e" * 64, places=machine.places)
    assert (caught.value.exit_code, machine.ran) == (4, [])
    assert not machine.places.state.exists()


def test_a_plan_that_refuses_cannot_be_carried_out(machine: FakeMachine) -> None:
    machine.decide["logs"] = Decision.REFUSE
    with pytest.raises(Refused, match="logs is refuse") as caught:
        apply_confirmed(Request(), "d" * 64, places=machine.places)
    assert (caught.value.exit_code, machine.ran) == (3, [])


def test_a_mount_point_that_is_taken_stops_the_whole_plan(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "refusals", lambda *_: {"data": "/mnt/data is not empty"})
    with pytest.raises(Refused, match="not empty"):
        apply_confirmed(Request(), "d" * 64, places=machine.places)
    assert machine.ran == []


def test_a_failed_step_stops_its_volume_and_is_raised(machine: FakeMachine) -> None:
    machine.fails = "mkfs.xfs data"
    with pytest.raises(OperatorError, match="step 2 of 6 failed"):
        apply_confirmed(Request(), "d" * 64, places=machine.places)
    assert machine.ran[-1] == "mount logs"
    assert machine.state()["outcome"] == "failed"
    machine.fails = ""
    assert apply_confirmed(Request(), "d" * 64, places=machine.places) == 0


def test_a_failed_removal_is_the_end_of_the_plan(machine: FakeMachine) -> None:
    machine.fails = "umount old"
    with pytest.raises(OperatorError, match="umount"):
        apply_confirmed(Request(None, ("old",)), "d" * 64, places=machine.places)
    assert machine.ran == ["umount old"]


def test_the_progress_of_a_plan_is_told(machine: FakeMachine) -> None:
    told: list[tuple[int, str]] = []
    apply_confirmed(
        Request(),
        "d" * 64,
        places=machine.places,
        on_step=lambda plan, index, step: told.append((index, f"{step.why} of {len(plan.steps)}")),
    )
    assert told[0] == (0, "make of 6")
    assert len(told) == 6
