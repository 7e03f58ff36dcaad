"""Boot: look, decide, wait if that helps, act, prove, record.

The order is the design: one lock, so that two executors never meet; a plan made from the
disks alone; a second look right before the first write, and the same digest or nothing;
every step verified; and at the end the planner asked again, which must find nothing to do.
The benchmark directory is made last and by descriptor (:mod:`appliance.storage.benchdir`):
it is no step of the plan, and a volume is not refused for the want of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.errors import (
    EXIT_FAILED,
    EXIT_OK,
    EXIT_REFUSED,
    OperatorError,
    Refused,
    StalePlan,
)
from appliance.model import Decision, EpochRecord, Inventory, Layout, Plan
from appliance.storage import apply, benchdir, devices, document, hotplug, planner, summary
from appliance.storage.kernel import Kernel
from appliance.storage.layout import load_layout
from appliance.storage.record import Record, write_state
from appliance.system import journal, process

# Where nobody knows how many disks there are: so long after the last one came, that was all.
_SETTLE_SECONDS = 10.0
# Disks that change between decision and first step are decided about again, not for ever.
_LOOKS = 3
_AGAIN = "reboot"


@dataclass(frozen=True, slots=True)
class Places:
    """Where boot reads and writes; tests give their own."""

    layout: Path = paths.LAYOUT_FILE
    db: Path = paths.HISTORY_DB
    state: Path = paths.STATE_FILE
    lock: Path = paths.LOCK_FILE


def boot(layout_path: Path = paths.LAYOUT_FILE, *, places: Places | None = None) -> int:
    """Bring up every declared volume. Returns the exit code: 0, 1 failed, 3 refused.

    Raises :class:`OperatorError` for what is wrong before there is a plan: a layout that
    cannot be used, the lock taken, no root, no udev.
    """
    places = replace(places or Places(), layout=layout_path)
    if os.geteuid() != 0:
        raise OperatorError("only root can bring up volumes", "it is the boot unit's work")
    with _lock(places.lock), _early_failures_in_state(places):
        layout = load_layout(places.layout)
        with Record(places.db) as record:
            return _Boot(places, layout, record).run()


@contextlib.contextmanager
def _early_failures_in_state(places: Places) -> Iterator[None]:
    """Whoever looks at the state must find there what stopped the boot unit."""
    try:
        yield
    except OperatorError as error:
        _journal_failure(error)
        write_state(places.state, summary.failed_early(str(places.layout), error))
        raise


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    # Only root's: whoever can open it could hold the lock, and with it the boot.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OperatorError(
                "storage is being changed by another stripewright",
                f"wait until it is done, then {_AGAIN}",
            ) from error
        yield


class _Boot:
    """One boot, under the lock."""

    def __init__(self, places: Places, layout: Layout, record: Record) -> None:
        self._places, self._layout, self._record = places, layout, record
        self._kernel = Kernel()

    def run(self) -> int:
        write_state(self._places.state, summary.looking(self._layout))
        for _ in range(_LOOKS - 1):
            try:
                return self._once()
            except StalePlan as error:
                journal.event(
                    journal.Event.BOOT_DECISION,
                    f"{error.message}; deciding again",
                    priority=journal.Priority.NOTICE,
                )
        return self._once(last=True)

    def _once(self, *, last: bool = False) -> int:
        inventory, plan, waited = self._decide()
        for volume in plan.volumes:
            self._journal_decision(plan, volume.name)
        if plan.decision is Decision.REFUSE:
            return self._refused(inventory, plan)
        story = self._story(inventory, plan)
        try:
            if plan.steps:
                self._state(inventory, plan, outcome="applying", message=story)
                self._apply(plan, inventory, waited=waited)
            return self._mounted(plan, story)
        except Refused as error:
            if isinstance(error, StalePlan) and not last:
                raise
            return self._refused(inventory, summary.refused_plan(plan, error))
        except OperatorError as error:
            if not isinstance(error, apply.StepFailed):
                _journal_failure(error)
            self._state(inventory, plan, outcome="failed", message=error.message, hint=error.hint)
            return EXIT_FAILED

    # ---- deciding

    def _look(self, *, waited: bool) -> tuple[Inventory, Plan]:
        inventory = devices.probe(volume_names=self._layout.volume_names, kernel=self._kernel)
        return inventory, planner.plan(inventory, self._layout, waited=waited, settled=False)

    def _decide(self) -> tuple[Inventory, Plan, bool]:
        """Look until there is a decision that waiting cannot better, or the time is over."""
        events = hotplug.BlockEvents()
        hotplug.settle()
        deadline = time.monotonic() + max(v.wait_seconds for v in self._layout.volumes)
        inventory, plan = self._look(waited=False)
        while plan.decision is Decision.WAIT:
            self._state(
                inventory,
                plan,
                outcome="waiting",
                message="; ".join(volume.reason for volume in plan.volumes),
            )
            left_seconds = deadline - time.monotonic()
            if all(one.settles for one in plan.volumes if one.decision is Decision.WAIT):
                left_seconds = min(left_seconds, _SETTLE_SECONDS)
            happened = left_seconds > 0 and events.wait(left_seconds)
            inventory, plan = self._look(waited=not happened)
            if not happened:
                return inventory, plan, True
        return inventory, plan, False

    def _story(self, inventory: Inventory, plan: Plan) -> str:
        """What happens, in one sentence; with the disks' history if they were changed for others.

        The epoch on record is only told about here. It decides nothing.
        """
        said = "; ".join(f"{one.name}: {one.decision}: {one.reason}" for one in plan.volumes)
        before = self._record.current_epoch()
        if before is None or plan.decision is not Decision.CREATE:
            return said
        serials = {disk.path: disk.serial for disk in inventory.disks}
        now = ",".join(serials[path] for one in plan.volumes for path in one.disks)
        then = before.fingerprint.get("serials", "")
        if then and then != now:
            said += f"; the disks are not those of before (stop/start?): serials {then} -> {now}"
        return said

    # ---- acting

    def _apply(self, plan: Plan, inventory: Inventory, *, waited: bool) -> None:
        if problems := apply.refusals(plan, self._layout, self._kernel):
            raise Refused(
                "; ".join(problems.values()),
                f"nothing was written. Free the mount point or name another in the layout,"
                f" then {_AGAIN}",
            )
        inventory, again = self._look(waited=waited)
        if again.digest != plan.digest:
            raise StalePlan(
                "the disks changed between the decision and the first step; nothing was written",
                _AGAIN,
            )
        apply.run_plan(again, self._layout, inventory, record=self._record, kernel=self._kernel)

    # ---- outcomes

    def _mounted(self, plan: Plan, story: str) -> int:
        inventory, after = self._look(waited=True)
        if after.decision is not Decision.NOTHING:
            raise OperatorError(
                "the volume is not as declared after all steps: "
                + "; ".join(volume.reason for volume in after.volumes),
                f"see 'stripewright plan', then {_AGAIN}",
            )
        facts = summary.volume_facts(inventory, self._layout, self._kernel)
        for fact in facts:
            story += self._bench_dir(fact)
        before = self._record.current_epoch()
        epoch = self._record.ensure_epoch(
            summary.fingerprint(inventory, facts, fio_version=_fio_version())
        )
        if epoch and (before is None or before.id != epoch.id):
            _journal_epoch(epoch)
        if self._record.problem:
            story += f"; {self._record.problem}"
        for fact in facts:
            journal.event(
                journal.Event.VOLUME_MOUNTED,
                f"volume {fact['name']} is mounted at {fact['mount']}: {story}",
                priority=journal.Priority.NOTICE,
                volume=fact["name"],
                mount=fact["mount"],
                device=fact["device"],
                sunit_bytes=fact["sunit_bytes"] or 0,
                swidth_bytes=fact["swidth_bytes"] or 0,
            )
        self._state(
            inventory,
            plan,
            outcome="nothing" if plan.decision is Decision.NOTHING else "mounted",
            message=story,
            facts=[{**fact, "epoch_id": epoch.id if epoch else None} for fact in facts],
            mounted_at=time.clock_gettime(time.CLOCK_MONOTONIC),
        )
        return EXIT_OK

    def _bench_dir(self, fact: Mapping[str, Any]) -> str:
        """Make the volume's benchmark directory; without it the volume is still good."""
        number = self._kernel.device_number(fact["device"])
        try:
            benchdir.ensure(fact["mount"], number)
        except OperatorError as error:
            journal.event(
                journal.Event.STEP_FAILED,
                f"{error.message}. {error.hint}",
                priority=journal.Priority.WARNING,
                volume=fact["name"],
                hint=error.hint,
            )
            return f"; no benchmarks: {error.message}"
        return ""

    def _refused(self, inventory: Inventory, plan: Plan) -> int:
        for volume in plan.volumes:
            if volume.decision is Decision.REFUSE:
                journal.event(
                    journal.Event.VOLUME_REFUSED,
                    f"volume {volume.name} refused: {volume.reason}. {volume.hint}",
                    priority=journal.Priority.ERROR,
                    volume=volume.name,
                    reason=volume.reason,
                    hint=volume.hint,
                )
        self._state(
            inventory,
            plan,
            outcome="refused",
            message="; ".join(volume.reason for volume in plan.volumes),
        )
        return EXIT_REFUSED

    def _state(
        self,
        inventory: Inventory,
        plan: Plan,
        *,
        outcome: str,
        message: str,
        hint: str = "",
        facts: list[Mapping[str, Any]] | None = None,
        mounted_at: float | None = None,
    ) -> None:
        state = summary.state_document(
            inventory,
            plan,
            self._layout,
            outcome=outcome,
            message=message,
            hint=hint,
            facts=facts or [],
        )
        state["inventory"] = document.inventory_to_json(inventory)
        state["plan"] = document.plan_to_json(plan)
        state["mounted_at_monotonic_s"] = mounted_at
        write_state(self._places.state, state)

    def _journal_decision(self, plan: Plan, name: str) -> None:
        volume = next(one for one in plan.volumes if one.name == name)
        journal.event(
            journal.Event.BOOT_DECISION,
            f"volume {name}: {volume.decision}: {volume.reason}",
            priority=journal.Priority.NOTICE,
            volume=name,
            decision=volume.decision.value,
            reason=volume.reason,
            plan_digest=plan.digest,
            layout=self._layout.source,
        )


def _journal_failure(error: OperatorError) -> None:
    journal.event(
        journal.Event.STEP_FAILED,
        f"{error.message}. {error.hint}",
        priority=journal.Priority.ERROR,
        hint=error.hint,
    )


def _journal_epoch(epoch: EpochRecord) -> None:
    changes = "; ".join(f"{key}: {old} -> {new}" for key, (old, new) in epoch.changed.items())
    journal.event(
        journal.Event.EPOCH_OPENED,
        f"epoch {epoch.id} opened: {changes or 'the first on this machine'}",
        priority=journal.Priority.NOTICE,
        epoch=epoch.id,
        changes=changes,
    )


def _fio_version() -> str:
    try:
        done = process.run(["fio", "--version"], timeout_seconds=30, check=False)
    except OperatorError:
        return "none"
    return done.stdout.strip() or "none"
