"""A machine for the executor: disks, a planner and programs that stand in for the real ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import CommandFailed
from appliance.model.disks import Array, Disk, DiskKind, Filesystem, Inventory, Machine
from appliance.model.plans import Decision, Destruction, Layout, Orders, Plan, Step, VolumePlan
from appliance.model.runs import EpochRecord
from appliance.storage.execute import (
    apply,
    bench_dir,
    builtin_steps,
    finalizer,
    history_proxy,
    recheck,
    record,
    verify,
)
from appliance.storage.execute.executor import Places, boot
from appliance.storage.policy import planner, steps
from appliance.storage.probe import devices, events
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
            assembling=root / "assembling",
            audit_spools=(root / "audit",),
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
        monkeypatch.setattr(events, "BlockEvents", lambda: self)
        monkeypatch.setattr(verify, "check", lambda *_: None)
        monkeypatch.setattr(apply, "refusals", lambda *_: {})
        monkeypatch.setattr(apply, "_unmarked", lambda *_: "")
        monkeypatch.setattr(apply, "_mount_problem", lambda *_: "")
        monkeypatch.setattr(apply, "_make_mountpoint", lambda _: None)
        monkeypatch.setattr(builtin_steps, "run", self._chore)
        monkeypatch.setattr(recheck, "look_again", self._look_again)
        monkeypatch.setattr(events, "settle", lambda *_: None)
        monkeypatch.setattr(finalizer, "_fio_version", lambda: "fio-3.39")
        monkeypatch.setattr(verify, "wait_for_udev", lambda _: None)
        monkeypatch.setattr(bench_dir, "have", lambda *_: None)
        monkeypatch.setattr(journal, "event", self._event)
        monkeypatch.setattr(record, "HistoryProxy", lambda _: self)

    # ---- the clerk, without a process of its own

    def ask(self, call: str, _seconds: float | None = None, /, **values: object) -> Any:
        try:
            if call == "open":
                return self.history.open()
            return history_proxy.answer_with(self.history, {"call": call, **values})  # type: ignore[arg-type]
        except RuntimeError as error:
            raise history_proxy.ProxyError(str(error)) from error

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

    def _chore(self, argv: Sequence[str], bench: builtin_steps.StepContext) -> None:
        self.ran.append(f"chore {argv[2]}")
        if argv[2] == "declare":
            assert bench.layout_text is not None
            bench.layout_file.write_text(bench.layout_text)

    def _event(self, what: journal.Event, message: str, **_: object) -> None:
        self.journal.append((what.name, message))

    def declare_no_wait(self) -> None:
        """For volume ``data``: then it is over when no more disks come."""
        self.places.layout.write_text(TWO.replace('wait = "60s"\n', ""))

    def boot(self) -> tuple[int, dict[str, Any]]:
        code = boot(self.places.layout, places=self.places)
        return code, self.state()

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.places.state.read_text())
        return found


def outcomes(places: Places) -> tuple[str, dict[str, str]]:
    state = json.loads(places.state.read_text())
    return state["outcome"], {one["name"]: one["outcome"] for one in state["volumes"]}
