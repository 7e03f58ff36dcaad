"""The ways in which disks are changed: at boot, and by a plan that an operator confirmed.

The order is the design: one lock, so that two executors never meet; a plan made from the
disks alone, and carried out at once; where time passed since, because an operator read it or
disks were waited for, the disks are looked at again first, and it has to be the same plan; each
disk read again in full, and opened exclusively, right before the first write to it; every step
verified; and at the end the planner asked again, which must find nothing to do.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from appliance import paths
from appliance.errors import OperatorError, Refused, StalePlan
from appliance.model.disks import Inventory
from appliance.model.plans import Decision, Layout, Orders, Plan, Step
from appliance.storage.execute import (
    apply,
    builtin_steps,
    finalizer,
    mounting,
    state_document,
)
from appliance.storage.execute import boot as bootloop
from appliance.storage.execute.finalizer import Places
from appliance.storage.execute.record import Record, write_state
from appliance.storage.execute.request_spool import Request
from appliance.storage.policy import planner
from appliance.storage.policy.layout import load_layout, parse_layout
from appliance.storage.probe import devices
from appliance.system import files, journal, liveness, stopping
from appliance.system.kernel import Kernel

__all__ = ["Places", "Planned", "apply_confirmed", "boot", "plan_request"]

_LOCK_STEP_SECONDS = 0.5
_AGAIN = "then plan and apply again, or reboot"


def boot(
    layout_path: Path = paths.LAYOUT_FILE,
    *,
    places: Places | None = None,
    patience_seconds: float = 0.0,
) -> int:
    """Bring up every declared volume, each for itself. Returns the exit code: 3 if one was
    refused, else 1 if one failed, else 0.

    Called again, it looks at what is new and never touches a volume that is up.
    ``patience_seconds`` is how long another executor is waited for. Raises
    :class:`OperatorError` for what is wrong before there is a plan: a layout that cannot be
    used, the lock taken, no root, no udev, or too many boots in which this was cut off.
    """
    places = replace(places or Places(), layout=layout_path)
    _need_root("bring up volumes", "it is the boot unit's work")
    with (
        stopping.heeded(),
        lock(places.lock, patience_seconds),
        _early_failures_in_state(places),
        _counted(places.assembling, liveness.boot_id()),
    ):
        layout = load_layout(places.layout)
        with Record(places.db, places.audit_spools) as record:
            return bootloop.BootLoop(places, layout, record).run()


@dataclass(frozen=True, slots=True)
class Planned:
    """What would be done for a request, and what it was made from."""

    request: Request
    layout: Layout
    inventory: Inventory
    orders: Orders
    plan: Plan


def plan_request(
    request: Request, *, places: Places | None = None, kernel: Kernel | None = None
) -> Planned:
    """Look at the disks and plan ``request``; writes nothing.

    Late disks are not waited for: what is confirmed is what would be done now.
    """
    places = places or Places()
    layout, orders = resolve(request, places)
    inventory = devices.probe(layout=layout, kernel=kernel or Kernel(), to_confirm=True)
    plan = planner.plan(inventory, layout, waited=True, orders=orders)
    return Planned(request, layout, inventory, orders, plan)


def resolve(request: Request, places: Places) -> tuple[Layout, Orders]:
    """The layout that holds after ``request``, and what is asked for beyond it."""
    declare = ""
    if request.layout_text is None:
        layout = load_layout(places.layout)
    else:
        layout = parse_layout(request.layout_text, str(places.layout))
        if request.layout_text != _installed(places.layout):
            declare = builtin_steps.sha256_of(request.layout_text)
    return layout, Orders(request.remove, request.erase, grow=True, declare=declare)


def _installed(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def apply_confirmed(
    request: Request,
    digest: str,
    *,
    places: Places | None = None,
    patience_seconds: float = 0.0,
    on_step: Callable[[Plan, int, Step], None] = lambda _plan, _index, _step: None,
) -> int:
    """Carry out the plan for ``request`` that has ``digest``; 0, or 1 if a step failed.

    Raises :class:`StalePlan` if there would now be another plan, and :class:`Refused` if the
    plan is a refusal or a disk changed in the last moment. The same request can be planned
    again at any time: it goes on from what is on the disks.
    """
    places = places or Places()
    _need_root("change volumes", "operators use: stripewright apply --confirm DIGEST")
    with (
        stopping.heeded(),
        lock(places.lock, patience_seconds),
        Record(places.db, places.audit_spools) as record,
    ):
        kernel = Kernel()
        made = plan_request(request, places=places, kernel=kernel)
        _must_be(made, digest, kernel)
        journal.event(
            journal.Event.PLAN_CONFIRMED,
            f"plan {digest[:12]}… is carried out: {len(made.plan.steps)} steps",
            plan_digest=digest,
        )
        work = apply.work_of(
            made.plan,
            made.layout,
            made.inventory,
            kernel,
            layout_file=places.layout,
            layout_text=request.layout_text,
            units=places.units,
        )
        final = finalizer.Finalizer(places, record, kernel)
        final.applying(made.layout, made.inventory, made.plan)
        ended = apply.run_plan(
            work, record=record, on_step=lambda index, step: on_step(made.plan, index, step)
        )
        # Whatever failed, the layout that is installed now is what the machine is held to.
        layout = load_layout(places.layout)
        code = final.settle(layout, made.plan, failed=ended.failed)
        _journal_removals(made, ended.failed)
    if error := next(iter(ended.failed.values()), None):
        raise error
    return code


def _must_be(made: Planned, digest: str, kernel: Kernel) -> None:
    """The plan that was confirmed, and one that can begin; nothing was written before."""
    if made.plan.digest != digest:
        raise StalePlan(
            "the disks or the layout are no longer what the plan was made for; nothing was written",
            "plan again and confirm the new digest: stripewright plan",
        )
    if made.plan.decision is Decision.REFUSE:
        refused = [one for one in made.plan.volumes if one.decision is Decision.REFUSE]
        raise Refused(
            "; ".join(f"{one.name}: {one.reason}" for one in refused),
            "; ".join(one.hint for one in refused if one.hint) or "nothing was written",
        )
    if problems := apply.refusals(made.plan, made.layout, kernel):
        raise Refused(
            "; ".join(problems.values()),
            f"nothing was written. Free the mount point or name another in the layout, {_AGAIN}",
        )


def _journal_removals(made: Planned, failed: dict[str, OperatorError]) -> None:
    for one in made.plan.volumes:
        if one.name in made.orders.remove and one.decision is Decision.REMOVE and not failed:
            journal.event(
                journal.Event.VOLUME_REMOVED,
                f"volume {one.name} was removed; its disks were released",
                volume=one.name,
            )


def _need_root(what: str, hint: str) -> None:
    if os.geteuid() != 0:
        raise OperatorError(f"only root can {what}", hint)


@contextlib.contextmanager
def _early_failures_in_state(places: Places) -> Iterator[None]:
    """What stopped the boot unit early has to be in the state."""
    try:
        yield
    except OperatorError as error:
        finalizer.journal_failure(error)
        write_state(places.state, state_document.failed_early(str(places.layout), error).document())
        raise


@contextlib.contextmanager
def lock(path: Path, patience_seconds: float = 0.0) -> Iterator[None]:
    """Hold the one lock under which disks are changed."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    # Only root's: any process that can open it could hold the lock, and with it the boot.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience_seconds
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if stopping.asked() or time.monotonic() >= deadline:
                    raise OperatorError(
                        "storage is being changed by another stripewright",
                        f"wait until it is done, {_AGAIN}",
                    ) from error
            time.sleep(_LOCK_STEP_SECONDS)
        mounting.forbid()
        yield


# ---------------------------------------------------------------------- boots that were cut off


MOST_CUT_OFF = 3
_MAX_CHARACTERS = 1024


@contextlib.contextmanager
def _counted(path: Path, boot_id: str) -> Iterator[None]:
    """Keep ``boot_id`` in ``path``, durably, while volumes are brought up.

    Raises :class:`Refused` if ``path`` holds :data:`MOST_CUT_OFF` other boots: each was cut off. If
    ``path`` cannot be written, nothing is counted and nothing is refused.
    """
    before = [one for one in _boots_in(path) if one != boot_id]
    if len(before) >= MOST_CUT_OFF:
        raise Refused(
            f"bringing volumes up was cut off in each of the last {len(before)} boots;"
            " this time no disk is touched",
            "find out why (stripewright drift list, journalctl -b -1), then as root:"
            f" rm {path} && systemctl restart stripewright-assemble.service",
        )
    with contextlib.suppress(OSError):
        files.replace_text(path, "\n".join([*before, boot_id, ""]), durable=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            files.sync_folder(path.parent)


def _boots_in(path: Path) -> list[str]:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            return file.read(_MAX_CHARACTERS).split()
    except OSError:
        return []
