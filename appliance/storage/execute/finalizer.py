"""What an executor leaves behind: the state for everybody, the epoch, benchmark directories,
mount units and tuning, each for the volumes that are up.

None of it is a step of the plan: a volume that is up stays up if one of these cannot be had,
and the state says what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from appliance import paths
from appliance.errors import EXIT_FAILED, EXIT_OK, EXIT_REFUSED, OperatorError, Refused
from appliance.model.disks import Inventory
from appliance.model.plans import Decision, Layout, Plan, VolumePlan
from appliance.model.runs import EpochRecord
from appliance.state.boot_state import BootVolume
from appliance.storage.execute import (
    bench_dir,
    mounting,
    state_document,
    tuning,
)
from appliance.storage.execute.apply import StepFailed
from appliance.storage.execute.record import Record, write_state
from appliance.storage.policy import planner
from appliance.storage.probe import devices
from appliance.storage.probe import settings as probed
from appliance.system import journal, services
from appliance.system.kernel import Kernel


class Finalizer:
    """Everything that is written about one run of an executor."""

    def __init__(self, places: Places, record: Record, kernel: Kernel) -> None:
        self._places, self._record, self._kernel = places, record, kernel
        self._before = state_document.of_this_boot(places.state, kernel)
        # As first noted at this boot; what is written here is not read again.
        self._noted = self._before.surroundings if self._before else None
        self._is_first = True

    def looking(self, layout: Layout) -> None:
        """Before the first look of this boot; a later one leaves the state as it is until it
        knows better.
        """
        self._is_first = self._before is None
        if self._is_first:
            write_state(self._places.state, state_document.looking(layout).document())

    def waiting(
        self,
        layout: Layout,
        inventory: Inventory,
        plan: Plan,
        ended: Mapping[str, OperatorError],
    ) -> None:
        """Some volumes are waited for."""
        late = [one for one in plan.volumes if one.decision is Decision.WAIT]
        message = "; ".join(one.reason for one in late)
        self._state(layout, inventory, plan, "waiting", message, failed=ended)

    def applying(self, layout: Layout, inventory: Inventory, plan: Plan) -> None:
        """Steps are about to be run."""
        self._state(layout, inventory, plan, "applying", _story(plan.volumes))

    @staticmethod
    def told(plan: Plan, first: Mapping[str, VolumePlan]) -> Plan:
        """``plan`` with the decisions as they were first told, before they were carried out."""
        volumes = tuple(
            replace(first[one.name], disks=one.disks or first[one.name].disks)
            if one.name in first and one.decision is Decision.NOTHING
            else one
            for one in plan.volumes
        )
        return replace(plan, volumes=volumes)

    def settle(
        self,
        layout: Layout,
        plan: Plan,
        *,
        failed: Mapping[str, OperatorError],
        inventory: Inventory | None = None,
        after: Plan | None = None,
    ) -> int:
        """Write down how it ended; the exit code: 3 refused, 1 failed, 0.

        ``plan`` is what was decided; ``inventory`` and ``after`` the last look, which
        is made if they are not given.
        """
        failed = dict(failed)
        if inventory is None or after is None:
            inventory = devices.probe(layout=layout, kernel=self._kernel)
            after = planner.plan(inventory, layout, waited=True)
            _not_as_declared(after, layout, failed)
        up = state_document.volumes_up(inventory, layout, after)
        story = _story(plan.volumes) + self._other_disks(plan, inventory)
        story += "".join(self._bench_dir(volume) for volume in up if volume.mount)
        epoch = self._epoch(inventory, up)
        story += self._mount_units(layout, up)
        story += self._tuning(layout, up)
        if self._record.problem:
            story += f"; {self._record.problem}"
        self._tell(plan, up, failed, story)
        outcome = _outcome(plan, failed)
        if failed:
            story = "; ".join(error.message for error in failed.values())
        self._state(
            layout,
            inventory,
            plan,
            outcome,
            story,
            failed=failed,
            up=[replace(volume, epoch_id=epoch.id if epoch else None) for volume in up],
            hint=next((error.hint for error in failed.values()), ""),
        )
        return {"refused": EXIT_REFUSED, "failed": EXIT_FAILED}.get(outcome, EXIT_OK)

    # ---- the parts

    def _other_disks(self, plan: Plan, inventory: Inventory) -> str:
        """Told only, and it decides nothing: these are not the disks of the last epoch."""
        before = self._record.current_epoch()
        if before is None or all(one.decision is not Decision.CREATE for one in plan.volumes):
            return ""
        serials = {disk.path: disk.serial for disk in inventory.disks}
        now = state_document.each(
            [",".join(serials.get(path, "") for path in one.disks) for one in plan.volumes]
        )
        then = before.fingerprint.get("serials", "")
        if not then or then == now:
            return ""
        return f"; the disks are not those of before (stop/start?): serials {then} -> {now}"

    def _bench_dir(self, volume: BootVolume) -> str:
        """Make the volume's benchmark directory; without it the volume is still good."""
        number = self._kernel.device_number(volume.device)
        try:
            bench_dir.have(volume.name, volume.mount, number)
        except OperatorError as error:
            journal.event(
                journal.Event.STEP_FAILED,
                f"{error.message}. {error.hint}",
                priority=journal.Priority.WARNING,
                volume=volume.name,
                hint=error.hint,
            )
            return f"; no benchmarks: {error.message}"
        return ""

    def _epoch(self, inventory: Inventory, up: Sequence[BootVolume]) -> EpochRecord | None:
        if not up:
            return None
        before = self._record.current_epoch()
        epoch = self._record.ensure_epoch(
            state_document.fingerprint(inventory, up, fio_version=_fio_version())
        )
        if epoch and (before is None or before.id != epoch.id):
            _journal_epoch(epoch)
        return epoch

    def _mount_units(self, layout: Layout, up: Sequence[BootVolume]) -> str:
        if not self._places.units.is_dir():
            return ""
        devices = {one.name: one.device for one in up}
        try:
            changed = mounting.sync_units(self._places.units, layout.volumes, devices)
            if changed and services.systemd_is_running():
                services.reload_manager()
        except (OSError, OperatorError) as error:
            return f"; the mount units are not written: {error}"
        return ""

    def _tuning(self, layout: Layout, up: Sequence[BootVolume]) -> str:
        members = sorted({one.kernel_name for volume in up for one in volume.members})
        wanted = tuning.declared(
            layout.tuning,
            members,
            sys_root=self._kernel.sys_root,
            proc_root=self._kernel.proc_root,
        )
        try:
            problems = tuning.bring_about(wanted, self._places.tuning)
            tuning.announce_cpu_latency(layout.tuning, self._places.cpu_latency)
        except OSError as error:
            problems = [f"tuning is not set: {error}"]
        return "".join(f"; {problem}" for problem in problems)

    def _tell(
        self,
        plan: Plan,
        up: Sequence[BootVolume],
        failed: Mapping[str, OperatorError],
        story: str,
    ) -> None:
        done = {one.name for one in plan.volumes if one.decision is not Decision.NOTHING}
        for volume in up:
            if volume.name in failed or not (self._is_first or volume.name in done):
                continue
            journal.event(
                journal.Event.VOLUME_MOUNTED,
                f"volume {volume.name} is up at {volume.mount or volume.device}: {story}",
                volume=volume.name,
                mount=volume.mount,
                device=volume.device,
                sunit_bytes=volume.sunit_bytes or 0,
                swidth_bytes=volume.swidth_bytes or 0,
            )
        for name, error in failed.items():
            if isinstance(error, Refused):
                journal.event(
                    journal.Event.VOLUME_REFUSED,
                    f"volume {name} refused: {error.message}. {error.hint}",
                    priority=journal.Priority.ERROR,
                    volume=name,
                    reason=error.message,
                    hint=error.hint,
                )
            elif not isinstance(error, StepFailed):
                journal_failure(error)

    def _state(
        self,
        layout: Layout,
        inventory: Inventory,
        plan: Plan,
        outcome: str,
        message: str,
        *,
        failed: Mapping[str, OperatorError] | None = None,
        up: Sequence[BootVolume] | None = None,
        hint: str = "",
    ) -> None:
        if up is None:
            up = state_document.volumes_up(inventory, layout, plan)
        self._noted = state_document.surroundings(
            self._kernel,
            inventory,
            up,
            layout,
            fio_version=_fio_version(),
            cpu_latency=self._places.cpu_latency,
            changed={one.name for one in plan.volumes if one.decision is not Decision.NOTHING},
            before=self._noted,
        )
        state = state_document.state_of(
            inventory,
            plan,
            layout,
            outcome=outcome,
            message=message,
            hint=hint,
            up=up,
            failed=failed or {},
            surroundings=self._noted,
        )
        write_state(self._places.state, state.document())


def _not_as_declared(after: Plan, layout: Layout, failed: dict[str, OperatorError]) -> None:
    # A virtual drive gets its filesystem in the next plan, when its disk can be read.
    in_parts = {one.name for one in layout.volumes if one.stripe == "hw-raid0"}
    for one in after.volumes:
        if one.name in in_parts:
            continue
        if one.decision is not Decision.NOTHING and one.name not in failed:
            failed[one.name] = OperatorError(
                f"volume {one.name} is not as declared after all steps: {one.reason}",
                "see 'stripewright plan'",
            )


def _outcome(plan: Plan, failed: Mapping[str, OperatorError]) -> str:
    if any(isinstance(error, Refused) for error in failed.values()):
        return "refused"
    if failed:
        return "failed"
    idle = all(one.decision is Decision.NOTHING for one in plan.volumes)
    return "nothing" if idle else "mounted"


def _story(volumes: Sequence[VolumePlan]) -> str:
    """What happens, in one sentence."""
    said = "; ".join(f"{one.name}: {one.decision}: {one.reason}" for one in volumes)
    return said or "no volume is declared"


def journal_failure(error: OperatorError) -> None:
    """An error that belongs to no step."""
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
        epoch=epoch.id,
        changes=changes,
    )


@cache
def _fio_version() -> str:
    return probed.fio_version(ask=True)


# --------------------------------------------------------------------------------------- places


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one machine. ``units`` is where mount units go."""

    layout: Path = paths.LAYOUT_FILE
    db: Path = paths.HISTORY_DB
    state: Path = paths.STATE_FILE
    lock: Path = paths.LOCK_FILE
    plans: Path = paths.PLANS_DIR
    digests: Path = paths.DIGESTS_DIR
    progress: Path = paths.APPLY_FILE
    tuning: Path = paths.TUNING_FILE
    cpu_latency: Path = paths.CPU_LATENCY_FILE
    units: Path = paths.UNIT_DIR
    assembling: Path = paths.ASSEMBLING_FILE
    audit_spools: tuple[Path, ...] = paths.AUDIT_SPOOLS
