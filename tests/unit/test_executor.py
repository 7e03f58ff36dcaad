"""Boot and confirmed plans, with a planner and programs that stand in for the real ones."""

from __future__ import annotations

import fcntl
import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import CommandFailed, OperatorError, Refused, StalePlan, UsageError
from appliance.model import (
    Array,
    Decision,
    Destruction,
    Disk,
    DiskKind,
    EpochRecord,
    Filesystem,
    Inventory,
    Layout,
    Machine,
    Orders,
    Plan,
    Step,
    VolumePlan,
)
from appliance.storage import devices, executor, planner
from appliance.storage.act import (
    apply,
    benchdir,
    chores,
    clerk,
    lastlook,
    record,
    settlement,
    verify,
)
from appliance.storage.act.requests import Request
from appliance.storage.decide import steps
from appliance.storage.executor import Places, apply_confirmed, boot, plan_request
from appliance.storage.probe import hotplug
from appliance.system import journal, process

MACHINE = Machine(machine_type="m5d.24xlarge", expected_disks=4, boot_id="b")
XFS = Filesystem("xfs", "", "u", 262144, 524288)
TWO = """
[[volume]]
name = "data"
mount = "/mnt/data"
select = { kind = "instance-store", count = 2 }
wait = "60s"
[[volume]]
name = "logs"
mount = "/mnt/logs"
select = { kind = "instance-store", count = 2 }
wait = "20s"
"""
ONLY_DATA = TWO.partition('[[volume]]\nname = "logs"')[0]


def disk(number: int) -> Disk:
    return Disk(
        f"/dev/nvme{number}n1", f"id{number}", "m", f"S{number}", 10**9,
        kind=DiskKind.INSTANCE_STORE, blank=True,
    )  # fmt: skip


class FakeHistory:
    """What the executor needs of history, in memory; ``broken`` makes every write fail."""

    broken = opens_not = False
    rows: list[tuple[int, str, str]]
    epoch: EpochRecord | None

    def __init__(self) -> None:
        self.rows, self.epoch = [], None

    def open(self) -> None:
        if self.opens_not:
            raise RuntimeError("read-only")

    def audit(self, *, step_index: int, argv: Sequence[str], state: str, **_: object) -> None:
        if self.broken:
            raise RuntimeError("disk full")
        self.rows.append((step_index, argv[0], state))

    def current_epoch(self) -> EpochRecord | None:
        return self.epoch

    def ensure_epoch(self, fingerprint: dict[str, str]) -> EpochRecord:
        if self.epoch is None or self.epoch.fingerprint != fingerprint:
            number = self.epoch.id + 1 if self.epoch else 1
            self.epoch = EpochRecord(number, 0.0, fingerprint, {})
        return self.epoch


class FakeMachine:
    """Disks that answer to the steps of a planner that knows three words for each volume.

    ``decide`` has what the planner says of a volume until its ``mount`` step was run.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.places = Places(
            layout=root / "layout.toml",
            db=root / "history.db",
            state=root / "run/state.json",
            lock=root / "run/lock",
            tuning=root / "run/tuning.json",
            cpu_latency=root / "run/cpu-latency",
            units=root / "units",
        )
        self.places.units.mkdir()
        self.places.layout.write_text(TWO)
        self.decide: dict[str, Decision] = {"data": Decision.CREATE, "logs": Decision.CREATE}
        self.late: dict[str, Decision] = {}
        self.settles: set[str] = set()
        self.up: set[str] = set()
        self.digests: list[str] = []
        self.ran: list[str] = []
        self.fails = ""
        self.after_step: Callable[[], None] = lambda: None
        self.changed: dict[str, str] = {}
        # How often the last look finds that.
        self.looks = 99
        self.first_state: dict[str, Any] = {}
        self.states: list[tuple[str, dict[str, str]]] = []
        self.waits: list[float] = []
        self.events: list[Callable[[], None] | None] = []
        self.journal: list[tuple[str, str]] = []
        self.dismissed: list[bool] = []
        self.history = FakeHistory()
        self.orders: list[Orders] = []
        monkeypatch.setattr("os.geteuid", lambda: 0)
        monkeypatch.setattr(devices, "probe", self._probe)
        monkeypatch.setattr(planner, "plan", self._plan)
        monkeypatch.setattr(process, "run", self._run)
        monkeypatch.setattr(hotplug, "BlockEvents", lambda: self)
        monkeypatch.setattr(verify, "check", lambda *_: None)
        monkeypatch.setattr(apply, "_unmarked", lambda *_: "")
        monkeypatch.setattr(apply, "_mount_problem", lambda *_: "")
        monkeypatch.setattr(apply, "_make_mountpoint", lambda _: None)
        monkeypatch.setattr(chores, "run", self._chore)
        monkeypatch.setattr(lastlook, "look_again", self._look_again)
        monkeypatch.setattr(hotplug, "settle", lambda *_: None)
        monkeypatch.setattr(settlement, "_fio_version", lambda: "fio-3.39")
        monkeypatch.setattr(devices, "udev_properties", dict)
        monkeypatch.setattr(verify, "wait_for_udev", lambda _: None)
        monkeypatch.setattr(benchdir, "ensure", lambda *_: None)
        monkeypatch.setattr(journal, "event", self._event)
        monkeypatch.setattr(record, "Clerk", lambda _: self)

    # ---- the clerk, without a process of its own

    def ask(self, call: str, **values: object) -> Any:
        try:
            if call == "open":
                return self.history.open()
            return clerk.answer_with(self.history, {"call": call, **values})  # type: ignore[arg-type]
        except RuntimeError as error:
            raise clerk.ClerkError(str(error)) from error

    def dismiss(self, *, kill: bool = False) -> None:
        self.dismissed.append(kill)

    # ---- events

    def wait(self, timeout_seconds: float) -> bool:
        self.waits.append(timeout_seconds)
        happens = self.events.pop(0) if self.events else None
        if happens:
            happens()
        return happens is not None

    # ---- machine and planner

    def _look_again(self, disks: Sequence[Disk], *_: object, **__: object) -> Any:
        """The disks that are to be found changed, each for as often as it is named."""
        for one in disks:
            if problem := self.changed.get(one.serial):
                self.looks -= 1
                if self.looks >= 0:
                    return one, problem
        return None

    def disks(self, name: str) -> tuple[Disk, Disk]:
        first = 1 if name != "logs" else 3
        return disk(first), disk(first + 1)

    def _probe(self, **_: object) -> Inventory:
        if self.places.state.exists():
            self.first_state = self.first_state or json.loads(self.places.state.read_text())
            self.states.append(outcomes(self.places))
        arrays = tuple(
            Array(
                path=f"/dev/md/{name}",
                name=f"stripewright:{name}",
                uuid=name,
                level="raid0",
                chunk_bytes=262144,
                member_count=2,
                members=tuple(one.id for one in self.disks(name)),
                state="clean",
                size_bytes=10**9,
                filesystem=XFS,
                mountpoint=f"/mnt/{name}",
                mount_options="rw,noatime",
            )
            for name in sorted(self.up)
        )
        return Inventory(MACHINE, tuple(disk(n) for n in (1, 2, 3, 4)), arrays, privileged=True)

    def _plan(
        self,
        _: Inventory,
        layout: Layout,
        *,
        waited: bool,
        settled: bool = True,
        orders: Orders | None = None,
    ) -> Plan:
        volumes, made = [], []
        orders = orders or Orders()
        self.orders.append(orders)
        for name in orders.remove:
            volumes.append(VolumePlan(name, Decision.REMOVE, "asked for"))
            made.append(Step(("umount", f"/mnt/{name}"), "down", volume=name))
        if orders.declare:
            made.append(steps.declare_step(orders.declare))
        for name in layout.volume_names:
            decision = self.decide.get(name, Decision.NOTHING)
            settles = name in self.settles and decision is Decision.WAIT
            if (waited or (settled and settles)) and decision is Decision.WAIT:
                decision = self.late.get(name, Decision.REFUSE)
            if name in self.up:
                decision = Decision.NOTHING
            paths = tuple(one.path for one in self.disks(name))
            settles = settles and decision is Decision.WAIT and not settled
            reason = f"{name} is {decision}"
            volumes.append(VolumePlan(name, decision, reason, paths, "look", settles))
            if decision is Decision.CREATE:
                lost = tuple(
                    Destruction(one.path, one.id, one.serial, one.size_bytes, "blank")
                    for one in self.disks(name)
                )
                made += [
                    Step(("mdadm", "--create", f"/dev/md/{name}"), "make", lost, "array", name),
                    Step(("mkfs.xfs", f"/dev/md/{name}"), "make", (), "geometry", name),
                    Step(("mount", f"/dev/md/{name}", f"/mnt/{name}"), "mount", (), "mount", name),
                ]
        worst = [one.decision for one in volumes]
        digest = self.digests.pop(0) if self.digests else "d" * 64
        decision = Decision.REFUSE if Decision.REFUSE in worst else Decision.CREATE
        return Plan(decision, digest, tuple(volumes), tuple(made))

    def _run(self, argv: Sequence[str], **_: object) -> process.Completed:
        if argv[0] in {"udevadm", "fio"}:
            return process.Completed(tuple(argv), 0, "fio-3.39\n", "")
        name = argv[-1].rpartition("/")[2]
        self.ran.append(f"{argv[0]} {name}")
        if self.fails and self.fails in self.ran[-1]:
            raise CommandFailed(argv, 1, "it said no")
        if argv[0] == "mount":
            self.up.add(name)
        if argv[0] == "umount":
            self.up.discard(name)
        self.after_step()
        return process.Completed(tuple(argv), 0, "", "")

    def _chore(self, argv: Sequence[str], bench: chores.Bench) -> None:
        self.ran.append(f"chore {argv[2]}")
        if argv[2] == "declare":
            assert bench.layout_text is not None
            bench.layout_file.write_text(bench.layout_text)

    def _event(self, what: journal.Event, message: str, **_: object) -> None:
        self.journal.append((what.name, message))

    def boot(self) -> tuple[int, dict[str, Any]]:
        code = boot(self.places.layout, places=self.places)
        return code, self.state()

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.places.state.read_text())
        return found


def outcomes(places: Places) -> tuple[str, dict[str, str]]:
    state = json.loads(places.state.read_text())
    return state["outcome"], {one["name"]: one["outcome"] for one in state["volumes"]}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    monkeypatch.setattr(apply, "refusals", lambda *_: {})
    return FakeMachine(tmp_path, monkeypatch)


# ------------------------------------------------------------------------------- boot


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
    machine.decide["data"] = Decision.WAIT
    machine.late, machine.settles = {"data": Decision.CREATE}, {"data"}
    machine.events = [lambda: None]
    assert machine.boot()[0] == 0
    assert machine.waits == [10.0, 10.0]


def test_quiet_is_not_the_end_of_a_volumes_time(machine: FakeMachine) -> None:
    """What is decided only after the whole wait is not decided after ten quiet seconds."""
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
    from appliance.storage.act import summary

    machine.boot()
    monkeypatch.setattr(summary, "is_of_this_boot", lambda *_: True)
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
    def refuse(mount: str, _: str) -> None:
        raise OperatorError(f"{mount}/x is a link", "remove it")

    monkeypatch.setattr(benchdir, "ensure", refuse)
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


# ---------------------------------------------------------------------- confirmed plans


def test_a_confirmed_plan_declares_early_and_is_what_the_machine_is_held_to(
    machine: FakeMachine,
) -> None:
    machine.up = {"data", "logs"}
    assert machine.boot()[0] == 0
    request = Request(ONLY_DATA, ("logs",))
    made = plan_request(request, places=machine.places)
    assert made.orders.declare == chores.sha256_of(ONLY_DATA)
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
