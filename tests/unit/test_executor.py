"""Boot, with a planner and programs that stand in for the real ones."""

from __future__ import annotations

import fcntl
import signal
import uuid
from pathlib import Path

import pytest

from appliance import paths
from appliance.errors import OperatorError, Refused, UsageError
from appliance.model.plans import Decision
from appliance.storage.execute import apply, bench_dir, executor, verify
from appliance.storage.execute.executor import apply_confirmed, boot
from appliance.storage.execute.request_spool import Request
from appliance.system import liveness, process
from tests.unit.fake_machine import (
    TWO,
    FakeMachine,
)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    return FakeMachine(tmp_path, monkeypatch)


def test_blank_disks_are_created_audited_and_recorded(machine: FakeMachine) -> None:
    code, state = machine.boot()
    assert (code, state["outcome"]) == (0, "mounted")
    assert machine.ran == [
        "mdadm data", "mkfs.xfs data", "mount data", "mdadm logs", "mkfs.xfs logs", "mount logs",
    ]  # fmt: skip
    assert machine.history.rows[:3] == [
        (0, "mdadm", "started"), (0, "mdadm", "done"), (1, "mkfs.xfs", "started"),
    ]  # fmt: skip
    data, logs = state["volumes"]
    assert (data["outcome"], data["epoch_id"], data["level"]) == ("mounted", 1, "raid0")
    assert [one["serial"] for one in logs["members"]] == ["S3", "S4"]
    assert machine.history.epoch is not None
    fingerprint = machine.history.epoch.fingerprint
    assert fingerprint["serials"] == "S1,S2; S3,S4"
    assert fingerprint["fio"] == "fio-3.39"
    assert [name for name, _ in machine.journal][-2:] == ["VOLUME_MOUNTED", "VOLUME_MOUNTED"]
    assert oct(machine.places.state.stat().st_mode & 0o777) == "0o644"
    assert sorted(path.name for path in machine.places.units.iterdir()) == [
        "mnt-data.mount", "mnt-logs.mount",
    ]  # fmt: skip


def test_a_second_boot_finds_nothing_to_do_and_keeps_the_epoch(machine: FakeMachine) -> None:
    machine.up = {"data", "logs"}
    assert machine.boot()[1]["volumes"][0]["epoch_id"] == 1
    code, state = machine.boot()
    assert (code, state["outcome"], state["volumes"][0]["epoch_id"]) == (0, "nothing", 1)
    assert machine.ran == []


@pytest.mark.parametrize(
    ("problem", "code", "outcome"), [("refuse", 3, "refused"), ("fail", 1, "failed")]
)
def test_one_volume_does_not_stop_the_other(
    machine: FakeMachine, problem: str, code: int, outcome: str
) -> None:
    if problem == "refuse":
        machine.decide["data"] = Decision.REFUSE
    else:
        machine.fails = "mkfs.xfs data"
    ended, state = machine.boot()
    assert (ended, state["outcome"]) == (code, outcome)
    assert {one["name"]: one["outcome"] for one in state["volumes"]} == {
        "data": outcome, "logs": "mounted",
    }  # fmt: skip
    assert machine.ran[-1] == "mount logs"
    assert "mount data" not in machine.ran
    assert machine.history.epoch is not None
    assert machine.history.epoch.fingerprint["serials"] == "S3,S4"


def test_a_volume_that_waits_does_not_hold_up_the_other(machine: FakeMachine) -> None:
    machine.decide["data"] = Decision.WAIT
    code, state = machine.boot()
    assert code == 3
    assert machine.ran == ["mdadm logs", "mkfs.xfs logs", "mount logs"]
    # While the one was waited for, everybody could see that the other was up.
    assert ("waiting", {"data": "waiting", "logs": "mounted"}) in machine.states
    assert "data is refuse" in state["volumes"][0]["reason"]


def test_each_volume_waits_for_its_own_time(machine: FakeMachine) -> None:
    machine.decide = {"data": Decision.WAIT, "logs": Decision.WAIT}
    machine.late = {"logs": Decision.CREATE}
    assert machine.boot()[0] == 3
    assert [round(one) for one in machine.waits] == [20, 60]
    assert machine.ran[-1] == "mount logs"


def test_a_late_disk_is_waited_for_by_its_event(machine: FakeMachine) -> None:
    machine.decide["data"] = Decision.WAIT
    machine.events = [lambda: machine.decide.update(data=Decision.CREATE)]
    code, _ = machine.boot()
    assert code == 0
    assert machine.ran[-1] == "mount data"


def test_where_the_number_is_unknown_boot_waits_until_no_more_disks_come(
    machine: FakeMachine,
) -> None:
    machine.declare_no_wait()
    machine.decide["data"] = Decision.WAIT
    machine.late, machine.settles = {"data": Decision.CREATE}, {"data"}
    machine.events = [lambda: None]
    assert machine.boot()[0] == 0
    assert [round(one) for one in machine.waits] == [10, 10]


def test_a_wait_that_is_declared_is_given_in_full(machine: FakeMachine) -> None:
    machine.decide["data"] = Decision.WAIT
    machine.late, machine.settles = {"data": Decision.CREATE}, {"data"}
    machine.events = [lambda: None]
    assert machine.boot()[0] == 0
    assert [round(one) for one in machine.waits] == [60, 60]


def test_quiet_is_not_the_end_of_a_volumes_time(machine: FakeMachine) -> None:
    """What is decided only after the whole wait is not decided after ten quiet seconds."""
    machine.declare_no_wait()
    machine.decide["data"] = Decision.WAIT
    machine.settles = {"data"}
    machine.late = {"data": Decision.WAIT}
    assert machine.boot()[0] == 3
    assert [round(one) for one in machine.waits] == [10, 60]


def test_a_plan_that_waits_for_ever_is_a_refusal(machine: FakeMachine) -> None:
    machine.decide["data"], machine.late = Decision.WAIT, {"data": Decision.WAIT}
    assert machine.boot()[0] == 3


def test_asked_to_stop_nothing_more_is_begun(machine: FakeMachine) -> None:
    def in_mid_step() -> None:
        if machine.ran[-1:] == ["mkfs.xfs data"]:
            signal.raise_signal(signal.SIGTERM)

    machine.after_step = in_mid_step
    code, state = machine.boot()
    assert code == 1
    assert machine.ran == ["mdadm data", "mkfs.xfs data"]
    assert state["outcome"] == "failed"
    assert "stopped between steps" in state["volumes"][1]["reason"]
    # The next start goes on.
    machine.after_step = lambda: None
    assert machine.boot()[0] == 0


@pytest.mark.parametrize("up", [set(), {"logs"}])
def test_asked_to_stop_nothing_is_waited_for(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, up: set[str]
) -> None:
    machine.decide = {"data": Decision.WAIT, "logs": Decision.CREATE}
    machine.up = set(up)

    def wait(_: float) -> bool:
        assert machine.waits == []
        machine.waits.append(0)
        signal.raise_signal(signal.SIGTERM)
        return False

    monkeypatch.setattr(machine, "wait", wait)
    code, state = machine.boot()
    assert code == 1, "its time is not over: that is no refusal"
    assert "stopped between steps" in state["volumes"][0]["reason"]
    assert machine.up == {"logs"}, "what is up stays, and is not told as stopped"
    assert state["volumes"][1]["outcome"] == "mounted"


def test_asked_to_stop_nobody_waits_for_another_executor(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: signal.raise_signal(signal.SIGTERM))
    with (
        executor.lock(machine.places.lock),
        pytest.raises(OperatorError, match="by another stripewright"),
    ):
        boot(machine.places.layout, places=machine.places, patience_seconds=3600)
    assert machine.ran == []


def test_new_disks_after_stop_and_start_are_told(machine: FakeMachine) -> None:
    machine.history.ensure_epoch({"serials": "OLD1,OLD2"})
    _, state = machine.boot()
    assert "serials OLD1,OLD2 -> S1,S2; S3,S4" in state["message"]
    assert state["volumes"][0]["epoch_id"] == 2


def test_a_refusal_runs_nothing_and_says_why(machine: FakeMachine) -> None:
    machine.decide = dict.fromkeys(("data", "logs"), Decision.REFUSE)
    code, state = machine.boot()
    assert (code, state["outcome"], machine.ran) == (3, "refused", [])
    assert state["volumes"][0]["hint"] == "look"
    assert [name for name, _ in machine.journal].count("VOLUME_REFUSED") == 2
    assert machine.history.epoch is None


def test_a_disk_that_changed_before_the_first_write_is_decided_about_again(
    machine: FakeMachine,
) -> None:
    machine.changed, machine.looks = {"S1": "has another link"}, 2
    assert machine.boot()[0] == 0
    assert machine.up == {"data", "logs"}
    again = [message for _, message in machine.journal if "deciding again" in message]
    assert len(again) == 2
    assert "/dev/nvme1n1 (serial S1) has another link since it was decided" in again[0]


def test_what_was_begun_is_not_decided_about_again(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.changed = {"S1": "is now in use"}
    monkeypatch.setattr(apply, "_names", lambda *_: "chore mark")
    code, _ = machine.boot()
    assert code == 3
    assert not any("deciding again" in message for _, message in machine.journal)


def test_a_disk_that_changed_right_before_the_write_is_refused(machine: FakeMachine) -> None:
    machine.changed = {"S1": "is no longer blank"}
    code, state = machine.boot()
    assert (code, state["outcome"]) == (3, "refused")
    assert machine.ran == ["mdadm logs", "mkfs.xfs logs", "mount logs"]
    assert "/dev/nvme1n1 (serial S1) is no longer blank" in state["volumes"][0]["reason"]
    assert machine.history.rows[:2] == [(0, "mdadm", "started"), (0, "mdadm", "failed")]
    assert "STEP_FAILED" not in dict(machine.journal)


def test_before_the_first_look_the_state_says_so(machine: FakeMachine) -> None:
    machine.boot()
    assert machine.first_state["outcome"] == "waiting"
    assert machine.first_state["message"] == "looking at the disks"


def test_a_new_look_leaves_the_state_until_it_knows_better(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from appliance.state.boot_state import BootState
    from appliance.storage.execute import state_document

    machine.boot()
    monkeypatch.setattr(state_document, "of_this_boot", lambda *_: BootState(()))
    machine.states, machine.journal = [], []
    assert machine.boot()[0] == 0
    assert machine.states[0] == ("mounted", {"data": "mounted", "logs": "mounted"})
    assert "VOLUME_MOUNTED" not in dict(machine.journal), "nothing was mounted just now"


def test_a_step_that_fails_tells_what_was_done_and_what_not(machine: FakeMachine) -> None:
    machine.fails = "mkfs.xfs data"
    code, state = machine.boot()
    reason = state["volumes"][0]["reason"]
    assert code == 1
    assert "step 2 of 6 failed" in reason
    assert "done before: mdadm; not done: mount" in reason
    assert "it said no" in reason
    assert (1, "mkfs.xfs", "failed") in machine.history.rows
    assert [name for name, _ in machine.journal].count("STEP_FAILED") == 1


def test_a_check_that_fails_is_a_failed_step(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> None:
        raise OperatorError("sunit is 0", "look")

    monkeypatch.setattr(verify, "check", wrong)
    code, state = machine.boot()
    assert (code, machine.ran) == (1, ["mdadm data", "mdadm logs"])
    assert "sunit is 0" in state["message"]


def test_a_volume_that_is_not_as_declared_after_its_steps_has_failed(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "up", frozenset(), raising=False)
    monkeypatch.setattr(process, "run", lambda argv, **_: process.Completed(tuple(argv), 0, "", ""))
    code, state = machine.boot()
    assert code == 1
    assert "not as declared after all steps" in state["volumes"][0]["reason"]


@pytest.mark.parametrize("opens", [True, False])
def test_a_broken_history_never_stops_the_stripe(machine: FakeMachine, opens: bool) -> None:
    machine.history.broken, machine.history.opens_not = True, not opens
    code, state = machine.boot()
    assert (code, state["outcome"]) == (0, "mounted")
    assert "history is not written" in state["message"]
    assert [name for name, _ in machine.journal].count("HISTORY_UNAVAILABLE") == 1
    assert machine.dismissed == [True]


def test_a_benchmark_directory_that_cannot_be_had_stops_no_mount(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_volume: str, mount: str, _number: str) -> None:
        raise OperatorError(f"{mount}/x is a link", "remove it")

    monkeypatch.setattr(bench_dir, "have", refuse)
    code, state = machine.boot()
    assert (code, state["outcome"]) == (0, "mounted")
    assert "no benchmarks: /mnt/data/x is a link" in state["message"]
    assert ("STEP_FAILED", "/mnt/data/x is a link. remove it") in machine.journal


def test_a_mount_point_that_cannot_be_used_is_refused_before_the_first_step(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "refusals", lambda *_: {"data": "/mnt/data is not empty"})
    code, state = machine.boot()
    assert (code, machine.ran[0]) == (3, "mdadm logs")
    assert "/mnt/data is not empty" in state["volumes"][0]["reason"]


def test_an_empty_layout_is_nothing_to_do(machine: FakeMachine) -> None:
    machine.places.layout.write_text("volume = []\n")
    code, state = machine.boot()
    assert (code, state["outcome"], state["volumes"]) == (0, "nothing", [])


def test_a_layout_that_is_wrong_is_in_the_state_too(machine: FakeMachine) -> None:
    machine.places.layout.write_text(f"{TWO}colour = 1\n")
    with pytest.raises(UsageError, match="colour"):
        boot(machine.places.layout, places=machine.places)
    state = machine.state()
    assert (state["outcome"], machine.ran) == ("failed", [])
    assert "colour" in state["message"]


def test_after_three_boots_that_ended_in_the_middle_no_disk_is_touched(
    machine: FakeMachine,
) -> None:
    began = [str(uuid.UUID(int=number)) for number in range(executor.MOST_CUT_OFF)]
    machine.places.assembling.write_text("\n".join([*began, ""]))
    with pytest.raises(Refused, match="cut off in each of the last 3 boots"):
        boot(machine.places.layout, places=machine.places)
    state = machine.state()
    assert (state["outcome"], machine.ran) == ("failed", [])
    assert f"rm {machine.places.assembling}" in state["message"]
    machine.places.assembling.unlink()
    assert machine.boot()[0] == 0
    assert not machine.places.assembling.exists()


def test_a_boot_says_on_the_disk_that_it_is_bringing_volumes_up(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, now = (str(uuid.UUID(int=number)) for number in range(2))
    machine.places.assembling.write_text(f"{before}\n{now}\n")
    monkeypatch.setattr(liveness, "boot_id", lambda *_: now)
    seen: list[str] = []

    def look(*_: object) -> dict[str, str]:
        seen.append(machine.places.assembling.read_text())
        return {}

    monkeypatch.setattr(apply, "refusals", look)
    machine.boot()
    # Started twice in one boot it is one boot.
    assert seen == [f"{before}\n{now}\n"]
    assert not machine.places.assembling.exists()


def test_two_executors_never_meet(machine: FakeMachine) -> None:
    machine.places.lock.parent.mkdir()
    with machine.places.lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OperatorError, match="another stripewright"):
            boot(machine.places.layout, places=machine.places)
        with pytest.raises(OperatorError, match="another stripewright"):
            apply_confirmed(Request(), "d" * 64, places=machine.places)
    assert machine.ran == []


def test_only_root_can_hold_the_lock(machine: FakeMachine) -> None:
    machine.places.lock.parent.mkdir()
    machine.places.lock.touch(0o644)
    machine.boot()
    assert oct(machine.places.lock.stat().st_mode & 0o777) == "0o600"


def test_only_root_may(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(OperatorError, match="only root"):
        executor.boot(tmp_path / "layout.toml")
    with pytest.raises(OperatorError, match="only root"):
        executor.apply_confirmed(Request(), "d" * 64)


def test_a_mount_that_a_killed_executor_had_allowed_is_no_longer(
    machine: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "may-mount" / "mnt-data.mount"
    left.parent.mkdir()
    left.touch()
    monkeypatch.setattr(paths, "MAY_MOUNT_DIR", left.parent)
    machine.boot()
    assert not left.exists()
