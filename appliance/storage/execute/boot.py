"""Boot: each volume is looked at, waited for, made or assembled, and proved for itself.

All volumes are planned together, because they share disks; but a volume that is refused,
late or failing does not hold up another. What is ready is done first, at once: between the
look and the first write is nothing but the last look at each disk (:mod:`.recheck`). Then, and
after each wait, there is a new look, and a new plan, for the rest.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from appliance.errors import EXIT_OK, OperatorError, Refused
from appliance.model.disks import Inventory
from appliance.model.plans import Decision, Layout, Plan, VolumePlan
from appliance.storage.execute import apply, finalizer
from appliance.storage.execute.finalizer import Places
from appliance.storage.execute.record import Record
from appliance.storage.policy import planner
from appliance.storage.probe import devices, events
from appliance.system import journal, stopping
from appliance.system.kernel import Kernel

# Where neither the machine type nor the layout says how long: so long after the last disk came.
_SETTLE_SECONDS = 10.0
# Disks that change between decision and first write are decided about again, not for ever.
_LOOKS = 3
_AGAIN = "reboot"


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at the machine: ``plan`` is for volumes that may still wait, ``quiet`` for those
    for which no more disks came for a while, ``late`` for those whose time is over.
    """

    inventory: Inventory
    plan: Plan
    quiet: Plan
    late: Plan

    def plan_of(self, name: str, volumes: _Volumes) -> Plan:
        if name in volumes.overdue:
            return self.late
        return self.quiet if name in volumes.settled else self.plan

    def of(self, name: str, volumes: _Volumes) -> VolumePlan:
        plan = self.plan_of(name, volumes)
        return next(one for one in plan.volumes if one.name == name)


@dataclass(slots=True)
class _Volumes:
    """Where each volume stands, by name."""

    pending: set[str]
    overdue: set[str] = field(default_factory=set)
    # The number of their disks is unknown, and it was quiet: that is not all of their time.
    settled: set[str] = field(default_factory=set)
    acted: set[str] = field(default_factory=set)
    ended: dict[str, OperatorError] = field(default_factory=dict)
    changed: int = 0

    def end(self, name: str, error: OperatorError) -> None:
        self.ended[name] = error
        self.pending.discard(name)


class BootLoop:
    """One boot, or one new look after it, under the lock."""

    def __init__(self, places: Places, layout: Layout, record: Record) -> None:
        self._layout, self._record = layout, record
        self._places = places
        self._kernel = Kernel()
        self._finalizer = finalizer.Finalizer(places, record, self._kernel)
        self._quiet_since = 0.0
        self._told: dict[str, tuple[Decision, str]] = {}
        # What was done, for the story: the last look finds "nothing" for all that succeeded.
        self._first: dict[str, VolumePlan] = {}

    def run(self) -> int:
        self._finalizer.looking(self._layout)
        arrivals = None
        events.settle(self._kernel)
        started = self._quiet_since = time.monotonic()
        volumes = _Volumes(set(self._layout.volume_names))
        while True:
            look = self._look()
            self._judge(look, volumes)
            if stopping.asked():
                self._stop(look, volumes)
            if self._act(look, volumes):
                continue
            waiting = [
                name
                for name in sorted(volumes.pending)
                if look.of(name, volumes).decision is Decision.WAIT
            ]
            if not waiting:
                break
            if arrivals is None:
                # Hardly a boot waits. What came before this is in the next look, and may have come
                # just now: the quiet begins here.
                arrivals = events.BlockEvents()
                self._quiet_since = time.monotonic()
                continue
            self._wait(look, volumes, waiting, arrivals, started)
        plan = self._finalizer.told(look.late, self._first)
        code = self._finalizer.settle(
            self._layout, plan, failed=volumes.ended, inventory=look.inventory, after=look.late
        )
        return code or EXIT_OK

    # ---- deciding

    def _look(self) -> _Look:
        inventory = devices.probe(layout=self._layout, kernel=self._kernel, note=True)
        plan = planner.plan(inventory, self._layout, waited=False, settled=False)
        if all(one.decision is not Decision.WAIT for one in plan.volumes):
            # Time decides only about what waits.
            return _Look(inventory, plan, plan, plan)
        quiet = planner.plan(inventory, self._layout, waited=False, settled=True)
        late = planner.plan(inventory, self._layout, waited=True)
        return _Look(inventory, plan, quiet, late)

    def _judge(self, look: _Look, volumes: _Volumes) -> None:
        """End what is refused, and what is not as declared after its steps."""
        for name in sorted(volumes.pending):
            one = look.of(name, volumes)
            if name in volumes.acted:
                if one.decision is not Decision.NOTHING:
                    volumes.end(
                        name,
                        OperatorError(
                            f"the volume is not as declared after all steps: {one.reason}",
                            f"see 'stripewright plan', then {_AGAIN}",
                        ),
                    )
                continue
            self._tell(look, one)
            late = name in volumes.overdue
            if one.decision is Decision.REFUSE or (late and one.decision is Decision.WAIT):
                volumes.end(name, Refused(one.reason, one.hint))

    @staticmethod
    def _stop(look: _Look, volumes: _Volumes) -> None:
        """Begin and wait for nothing more; a volume that is up needs neither."""
        for name in sorted(volumes.pending - volumes.acted):
            if look.of(name, volumes).decision is not Decision.NOTHING:
                volumes.end(name, apply.Stopped())

    def _tell(self, look: _Look, one: VolumePlan) -> None:
        """Journal a decision once."""
        self._first[one.name] = one
        # How far reading is changes all the time; the state says it.
        told = (one.decision, "" if one.reading else one.reason)
        if self._told.get(one.name) == told:
            return
        self._told[one.name] = told
        journal.event(
            journal.Event.BOOT_DECISION,
            f"volume {one.name}: {one.decision}: {one.reason}",
            volume=one.name,
            decision=one.decision.value,
            reason=one.reason,
            plan_digest=look.plan.digest,
            layout=self._layout.source,
        )

    # ---- acting

    def _act(self, look: _Look, volumes: _Volumes) -> bool:
        """Run the steps of what is ready, out of one plan; whether there is to be a new look."""
        for plan in (look.plan, look.quiet, look.late):
            names = {
                one.name
                for one in plan.volumes
                if one.name in volumes.pending - volumes.acted
                and look.plan_of(one.name, volumes) is plan
                and one.decision not in {Decision.WAIT, Decision.NOTHING, Decision.REFUSE}
            }
            if names:
                self._run(look.inventory, plan, names, volumes)
                return True
        return False

    def _run(
        self,
        inventory: Inventory,
        plan: Plan,
        names: set[str],
        volumes: _Volumes,
    ) -> None:
        for name, problem in apply.refusals(plan, self._layout, self._kernel).items():
            if name in names:
                names.discard(name)
                hint = "nothing was written. Free the mount point or name another in the layout"
                volumes.end(name, Refused(problem, f"{hint}, then {_AGAIN}"))
        if not names:
            return
        # While this is done, the others are as they are known to be.
        self._finalizer.applying(self._layout, inventory, self._finalizer.told(plan, self._first))
        work = apply.work_of(
            plan,
            self._layout,
            inventory,
            self._kernel,
            layout_file=self._places.layout,
            units=self._places.units,
        )
        ended = apply.run_plan(work, record=self._record, only=names)
        for name, error in ended.failed.items():
            if not self._again(error, volumes):
                volumes.end(name, error)
        volumes.acted |= names - set(ended.failed)
        volumes.overdue |= volumes.acted

    @staticmethod
    def _again(error: OperatorError, volumes: _Volumes) -> bool:
        """Whether to decide again: the last look found a change, and nothing was written yet."""
        if not isinstance(error, apply.Changed) or error.begun:
            return False
        volumes.changed += 1
        if volumes.changed >= _LOOKS:
            return False
        journal.event(
            journal.Event.BOOT_DECISION,
            f"{error.message}; deciding again",
        )
        return True

    # ---- waiting

    def _wait(
        self,
        look: _Look,
        volumes: _Volumes,
        waiting: list[str],
        arrivals: events.BlockEvents,
        started: float,
    ) -> None:
        """Sleep until something happens or the first volume's time is over; not at all where a
        volume's disks are being read: the next look reads on.
        """
        self._finalizer.waiting(self._layout, look.inventory, look.plan, volumes.ended)
        reading = {name for name in waiting if look.of(name, volumes).reading}
        now = time.monotonic()
        settled_in = max(0.0, self._quiet_since + _SETTLE_SECONDS - now)
        left = {}
        quiet = set()
        for volume in self._layout.volumes:
            if volume.name not in waiting or volume.name in reading:
                continue
            seconds = max(0.0, started + volume.patience_seconds - now)
            settles = volume.wait_seconds is None and look.of(volume.name, volumes).settles
            if settles and seconds > settled_in:
                seconds = settled_in
                quiet.add(volume.name)
            left[volume.name] = seconds
        first = 0.0 if reading else min(left.values())
        if (first > 0 or reading) and (arrivals.wait(first) or stopping.asked()):
            self._quiet_since = time.monotonic()
            return
        over = {name for name, seconds in left.items() if seconds <= first}
        volumes.settled |= over & quiet
        volumes.overdue |= over - quiet
