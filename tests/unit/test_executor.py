from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import CommandFailed, OperatorError, UsageError
from appliance.model import EpochRecord, Inventory, Signature
from appliance.storage import apply, benchdir, clerk, devices, executor, hotplug, record, verify
from appliance.storage.executor import Places, boot
from appliance.system import journal, process
from tests.unit.disks import XFS, array, disk, held, inventory, member

BLANK = inventory(*(disk(number) for number in (1, 2, 3, 4)))
SHORT = inventory(*(disk(number) for number in (1, 2, 3)))
_MEMBERS = held(*(member(slot) for slot in range(4)))


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
    """Disks that answer to the steps: a list of inventories to see, and what was run."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mount = root / "mnt"
        self.places = Places(
            root / "layout.toml", root / "history.db", root / "run/state.json", root / "run/lock"
        )
        self.dismissed: list[bool] = []
        self.looks: list[Inventory] = []
        self.after: Inventory | None = None
        self.ran: list[str] = []
        self.fails = self.changed = ""
        self.first_state: dict[str, Any] = {}
        self.waits: list[float] = []
        self.events: list[bool] = []
        self.journal: list[tuple[str, str]] = []
        self.history = FakeHistory()
        self.layout()
        monkeypatch.setattr("os.geteuid", lambda: 0)
        monkeypatch.setattr(devices, "probe", self._probe)
        monkeypatch.setattr(process, "run", self._run)
        monkeypatch.setattr(hotplug, "BlockEvents", lambda: self)
        monkeypatch.setattr(verify, "check", lambda *_: None)
        monkeypatch.setattr(devices, "look_again", lambda *_: self.changed)
        monkeypatch.setattr(benchdir, "ensure", lambda *_: None)
        monkeypatch.setattr(journal, "event", self._event)
        monkeypatch.setattr(record, "Clerk", lambda _: self)

    def ask(self, call: str, **values: object) -> Any:
        """The clerk, without a process of its own."""
        try:
            if call == "open":
                return self.history.open()
            return clerk.answer_with(self.history, {"call": call, **values})  # type: ignore[arg-type]
        except RuntimeError as error:
            raise clerk.ClerkError(str(error)) from error

    def dismiss(self, *, kill: bool = False) -> None:
        self.dismissed.append(kill)

    def layout(self, more: str = "") -> None:
        text = f'[[volume]]\nname = "scratch"\nmount = "/mnt/scratch"\nwait = "60s"\n{more}\n'
        self.places.layout.write_text(text)

    def wait(self, timeout_seconds: float) -> bool:
        self.waits.append(timeout_seconds)
        return self.events.pop(0) if self.events else False

    def boot(self) -> tuple[int, dict[str, Any]]:
        code = boot(self.places.layout, places=self.places)
        return code, json.loads(self.places.state.read_text())

    def _probe(self, **_: object) -> Inventory:
        self.first_state = self.first_state or json.loads(self.places.state.read_text())
        mounted = any(name == "mount" for name in self.ran)
        if mounted and self.after and not self.fails:
            return self.after
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def _run(self, argv: Sequence[str], **_: object) -> process.Completed:
        if argv[0] in {"udevadm", "fio"}:
            return process.Completed(tuple(argv), 0, "fio-3.39\n", "")
        self.ran.append(argv[0])
        if argv[0] == self.fails:
            raise CommandFailed(argv, 1, "it said no")
        return process.Completed(tuple(argv), 0, "", "")

    def _event(self, what: journal.Event, message: str, **_: object) -> None:
        self.journal.append((what.name, message))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    made = FakeMachine(tmp_path, monkeypatch)
    monkeypatch.setattr(apply, "refusals", lambda *_: {})
    monkeypatch.setattr(Path, "mkdir", _mkdir_below(tmp_path, Path.mkdir))
    return made


def _mkdir_below(root: Path, real: Callable[..., None]) -> Callable[..., None]:
    def mkdir(self: Path, *arguments: Any, **options: Any) -> None:
        if self.is_relative_to(root):
            real(self, *arguments, **options)

    return mkdir


def mounted_inventory(serial: str = "") -> Inventory:
    members = _MEMBERS
    if serial:
        members = tuple(replace(one, serial=f"{serial}{at}") for at, one in enumerate(members))
    running = array(*members, mountpoint="/mnt/scratch", mount_options="rw,noatime")
    return inventory(*members, arrays=(running,))


def test_blank_disks_are_created_audited_and_recorded(machine: FakeMachine) -> None:
    machine.looks, machine.after = [BLANK], mounted_inventory()
    code, state = machine.boot()
    assert (code, state["outcome"]) == (0, "mounted")
    assert machine.ran == ["mdadm", "mkfs.xfs", "mount"]
    assert machine.history.rows[:3] == [
        (0, "mdadm", "started"), (0, "mdadm", "done"), (1, "mkfs.xfs", "started"),
    ]  # fmt: skip
    (volume,) = state["volumes"]
    assert (volume["outcome"], volume["epoch_id"], volume["level"]) == ("mounted", 1, "raid0")
    assert (volume["sunit_bytes"], volume["swidth_bytes"]) == (XFS.sunit_bytes, XFS.swidth_bytes)
    assert [one["serial"] for one in volume["members"]] == [one.serial for one in _MEMBERS]
    assert machine.history.epoch is not None
    assert machine.history.epoch.fingerprint["stripe"] == "md-raid0 chunk=262144 members=4"
    assert machine.history.epoch.fingerprint["fio"] == "fio-3.39"
    assert [name for name, _ in machine.journal][-2:] == ["EPOCH_OPENED", "VOLUME_MOUNTED"]
    assert oct(machine.places.state.stat().st_mode & 0o777) == "0o644"


def test_a_second_boot_finds_nothing_to_do_and_keeps_the_epoch(machine: FakeMachine) -> None:
    machine.looks = [mounted_inventory()]
    assert machine.boot()[1]["volumes"][0]["epoch_id"] == 1
    code, state = machine.boot()
    assert (code, state["outcome"], state["volumes"][0]["epoch_id"]) == (0, "nothing", 1)
    assert machine.ran == []


def test_new_disks_after_stop_and_start_are_told(machine: FakeMachine) -> None:
    machine.history.ensure_epoch({"serials": "OLD1,OLD2"})
    machine.looks, machine.after = [BLANK], mounted_inventory()
    _, state = machine.boot()
    assert "serials OLD1,OLD2 -> AWS00001,AWS00002,AWS00003,AWS00004" in state["message"]
    assert state["volumes"][0]["epoch_id"] == 2


def test_a_refusal_runs_nothing_and_says_why(machine: FakeMachine) -> None:
    foreign = disk(4, signatures=(Signature("ext4", 0x438),), blank=False)
    machine.looks = [inventory(*BLANK.disks[:3], foreign)]
    code, state = machine.boot()
    assert (code, state["outcome"], machine.ran) == (3, "refused", [])
    assert "ext4" in state["volumes"][0]["reason"]
    assert state["volumes"][0]["hint"]
    assert ("VOLUME_REFUSED" in dict(machine.journal)) is True


def test_a_late_disk_is_waited_for_by_its_event(machine: FakeMachine) -> None:
    machine.looks, machine.after = [SHORT, BLANK], mounted_inventory()
    machine.events = [True]
    code, _ = machine.boot()
    assert code == 0
    assert machine.ran[0] == "mdadm"


def test_a_disk_that_never_comes_is_a_refusal_after_the_wait(machine: FakeMachine) -> None:
    machine.looks, machine.events = [SHORT], [True, False]
    code, state = machine.boot()
    assert (code, machine.ran) == (3, [])
    assert "found 3 disks of instance storage, m5d.24xlarge has 4" in state["message"]


def test_disks_that_change_before_the_first_step_are_decided_about_again(
    machine: FakeMachine,
) -> None:
    machine.looks = [BLANK, inventory(*BLANK.disks[:3], disk(9))]
    machine.after = mounted_inventory()
    code, state = machine.boot()
    assert (code, state["outcome"]) == (0, "mounted")
    assert machine.ran == ["mdadm", "mkfs.xfs", "mount"]


def test_disks_that_never_stop_changing_are_refused(machine: FakeMachine) -> None:
    machine.looks = [BLANK, inventory(*BLANK.disks[:3], disk(9))] * 3 + [BLANK]
    code, state = machine.boot()
    assert (code, machine.ran) == (3, [])
    assert "disks changed between the decision and the first step" in state["message"]


def test_a_disk_that_changed_right_before_the_write_is_refused(machine: FakeMachine) -> None:
    machine.looks, machine.changed = [BLANK], "is no longer blank"
    code, state = machine.boot()
    assert (code, state["outcome"], machine.ran) == (3, "refused", [])
    assert "/dev/nvme1n1 (serial AWS00001) is no longer blank" in state["volumes"][0]["reason"]
    assert [row[2] for row in machine.history.rows] == ["started", "failed"]
    assert "STEP_FAILED" not in dict(machine.journal)


def test_where_the_number_is_unknown_boot_waits_until_no_more_disks_come(
    machine: FakeMachine,
) -> None:
    unknown = replace(BLANK.machine, machine_type="n2-standard-8", expected_disks=None)
    looks = [replace(one, machine=unknown) for one in (SHORT, BLANK, BLANK)]
    machine.looks, machine.events = looks, [True, False]
    machine.after = mounted_inventory()
    code, state = machine.boot()
    assert (code, len(state["plan"]["volumes"][0]["disks"])) == (0, 4)
    assert machine.waits == [10.0, 10.0]


def test_before_the_first_look_the_state_says_so(machine: FakeMachine) -> None:
    machine.looks = [mounted_inventory()]
    machine.boot()
    assert machine.first_state["outcome"] == "waiting"
    assert machine.first_state["message"] == "looking at the disks"


def test_a_step_that_fails_tells_what_was_done_and_what_not(machine: FakeMachine) -> None:
    machine.looks, machine.fails = [BLANK], "mkfs.xfs"
    code, state = machine.boot()
    assert (code, state["outcome"], machine.ran) == (1, "failed", ["mdadm", "mkfs.xfs"])
    assert "step 2 of 3 failed" in state["message"]
    assert "done before: mdadm; not done: mount" in state["message"]
    assert "it said no" in state["message"]
    assert machine.history.rows[-1] == (1, "mkfs.xfs", "failed")
    assert [name for name, _ in machine.journal].count("STEP_FAILED") == 1
    assert state["volumes"][0]["outcome"] == "failed"


def test_a_check_that_fails_is_a_failed_step(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> None:
        raise OperatorError("sunit is 0", "look")

    monkeypatch.setattr(verify, "check", wrong)
    machine.looks = [BLANK]
    code, state = machine.boot()
    assert (code, machine.ran) == (1, ["mdadm"])
    assert "sunit is 0" in state["message"]


@pytest.mark.parametrize("opens", [True, False])
def test_a_broken_history_never_stops_the_stripe(machine: FakeMachine, opens: bool) -> None:
    machine.looks, machine.after = [BLANK], mounted_inventory()
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
    machine.looks = [mounted_inventory()]
    code, state = machine.boot()
    assert (code, state["outcome"]) == (0, "nothing")
    assert "no benchmarks: /mnt/scratch/x is a link" in state["message"]
    assert ("STEP_FAILED", "/mnt/scratch/x is a link. remove it") in machine.journal


def test_a_layout_that_is_wrong_is_in_the_state_too(machine: FakeMachine) -> None:
    machine.layout("colour = 1")
    with pytest.raises(UsageError, match="colour"):
        boot(machine.places.layout, places=machine.places)
    state = json.loads(machine.places.state.read_text())
    assert (state["outcome"], machine.ran) == ("failed", [])
    assert "colour" in state["message"]


def test_two_executors_never_meet(machine: FakeMachine) -> None:
    machine.places.lock.parent.mkdir()
    with machine.places.lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OperatorError, match="another stripewright"):
            boot(machine.places.layout, places=machine.places)
    assert machine.ran == []


def test_only_root_can_hold_the_lock(machine: FakeMachine) -> None:
    machine.looks = [mounted_inventory()]
    machine.places.lock.parent.mkdir()
    machine.places.lock.touch(0o644)
    machine.boot()
    assert oct(machine.places.lock.stat().st_mode & 0o777) == "0o600"


def test_only_root_may(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(OperatorError, match="only root"):
        executor.boot(tmp_path / "layout.toml")
