"""Plans: asked of root, carried out by root's unit, and looked at while others do the same.

Where no unit can be asked (a laptop, a document from elsewhere) a plan is a preview and says why
it cannot be confirmed. Two operators see each other: root's store has what either planned, and
what is carried out stands in one file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from appliance import paths
from appliance.client import answers
from appliance.client.answers import store
from appliance.errors import EXIT_OK, OperatorError, StalePlan
from appliance.model.disks import Inventory
from appliance.model.plans import Decision, Layout, Orders, Plan
from appliance.state import codec
from appliance.storage.execute import request_spool
from appliance.storage.execute.request_spool import Request
from appliance.storage.policy.layout import load_layout, parse_layout, render_layout
from appliance.system import services
from appliance.system.kernel import Kernel

# A unit that was asked for is 'inactive' until systemd gets to it; a slow machine takes a while.
_UNIT_GRACE_SECONDS = 20.0
_NO_UNITS = "only root can read the disks, and its units are not installed here"

AsRoot = Callable[[Request], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PlannedHere:
    """A plan and what it was made from.

    ``made_at_monotonic_s`` is in seconds of ``time.monotonic()``. ``why_not`` says why it cannot
    be confirmed, if it cannot. ``late``, of a preview that waits for disks: what is done if no more
    come.
    """

    plan: Plan
    inventory: Inventory
    request: Request
    made_at_monotonic_s: float
    why_not: str
    late: Plan | None = None

    @property
    def confirmable(self) -> bool:
        return not self.why_not


# -------------------------------------------------------------------------- what is asked for


def current_layout() -> Layout:
    """The installed layout, else the built-in default. Raises :class:`UsageError`."""
    return load_layout(paths.LAYOUT_FILE)


def make_request(
    text: str | None = None,
    *,
    remove: Sequence[str] = (),
    erase: Sequence[str] = (),
    source: str = "layout",
) -> Request:
    """What root is asked for: the layout in ``text``, ``None`` for the installed one.

    ``remove`` are volumes to be taken down, which are also taken out of the layout, ``erase``
    serials. ``source`` stands for ``text`` in the :class:`UsageError` that says what is wrong.
    """
    layout = current_layout() if text is None else parse_layout(text, source)
    if leaving := set(remove) & set(layout.volume_names):
        left = tuple(one for one in layout.volumes if one.name not in leaving)
        text = render_layout(replace(layout, volumes=left))
        parse_layout(text, layout.source)
    return Request(text, tuple(dict.fromkeys(remove)), tuple(dict.fromkeys(erase)))


def ask_plan(request: Request, *, as_root: AsRoot | None = None) -> PlannedHere:
    """The plan for ``request``: of root's unit, or a preview where there is none.

    ``as_root`` makes root's answer in this process; it is used by root alone. Blocks as long as
    the disks take to be read. Raises :class:`OperatorError`, also what root said no to.
    """
    if as_root is not None and os.geteuid() == 0:
        # Through JSON, as an operator reads it: one way to read an answer, not two.
        document = json.loads(json.dumps(as_root(request)))
        answers.raise_error(document)
    elif answers.units_are_here(services.PLAN_TEMPLATE):
        document = answers.ask(
            lambda: request_spool.leave(paths.SPOOL_DIR, request),
            services.PLAN_UNIT,
            missing="the plan unit left no plan",
        )
    else:
        return _preview(request)
    return _planned(document)


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Made:
    """What root's unit leaves of a plan."""

    plan: Plan
    request: Request
    at_monotonic_s: float


@dataclass(frozen=True, slots=True)
class _Answer(_Made):
    """All of it; the inventory takes far longer to decode than the rest."""

    inventory: Inventory


def _left(kind: type[_T], document: Mapping[str, Any]) -> _T:
    """What root's unit left, read back; :class:`OperatorError` names the field that is wrong."""
    try:
        return codec.decode(kind, document)
    except codec.DecodeError as error:
        raise OperatorError(f"what root left cannot be read: {error}", "plan again") from error


def _planned(document: Mapping[str, Any]) -> PlannedHere:
    found = _left(_Answer, document)
    why_not = "the plan is a refusal" if found.plan.decision is Decision.REFUSE else ""
    return PlannedHere(found.plan, found.inventory, found.request, found.at_monotonic_s, why_not)


# ----------------------------------------------------------------------------------- preview


def plan_document(request: Request, inventory_file: Path) -> PlannedHere:
    """The plan for ``request`` on the machine that an inventory document describes."""
    from appliance.storage.policy.documents import load_inventory

    layout = _layout_of(request)
    found = load_inventory(inventory_file, layout=layout)
    why_not = "it was made for a document, not for this machine"
    return _previewed(request, layout, found, why_not)


def _preview(request: Request) -> PlannedHere:
    from appliance.storage.execute.builtin_steps import sha256_of
    from appliance.storage.probe.devices import probe

    layout = _layout_of(request)
    declare = "" if request.layout_text is None else sha256_of(request.layout_text)
    return _previewed(request, layout, probe(layout=layout), _NO_UNITS, declare=declare)


def _layout_of(request: Request) -> Layout:
    if request.layout_text is None:
        return current_layout()
    return parse_layout(request.layout_text, str(paths.LAYOUT_FILE))


def _previewed(
    request: Request, layout: Layout, found: Inventory, why_not: str, *, declare: str = ""
) -> PlannedHere:
    from appliance.storage.policy import planner

    orders = Orders(request.remove, request.erase, grow=True, declare=declare)
    made = planner.plan(found, layout, waited=False, orders=orders)
    late = None
    if made.decision is Decision.WAIT:
        late = planner.plan(found, layout, waited=True, orders=orders)
    return PlannedHere(made, found, request, time.monotonic(), why_not, late)


# ------------------------------------------------------------------------------------- apply


@dataclass(frozen=True, slots=True)
class AskedApply:
    """A plan that a unit was asked to carry out, when in seconds of ``time.monotonic()``."""

    digest: str
    unit: str
    asked_at_monotonic_s: float


@dataclass(frozen=True, slots=True)
class ApplyProgress:
    """The step that runs, counted from 1. ``at_monotonic_s`` is when it began, in seconds
    of ``time.monotonic()``; ``volume`` is empty for a step that is for all of them.
    """

    digest: str
    step: int
    steps: int
    why: str
    argv: tuple[str, ...]
    volume: str
    at_monotonic_s: float


@dataclass(frozen=True, slots=True)
class ApplyEnd:
    """How the carrying out of a plan ended; ``exit_code`` as in :mod:`appliance.errors`."""

    digest: str
    exit_code: int
    message: str
    hint: str
    at_monotonic_s: float

    @property
    def error(self) -> OperatorError | None:
        """What went wrong, as its own kind: :class:`StalePlan` for a plan that is not today's."""
        if self.exit_code == EXIT_OK:
            return None
        return answers.as_error(self.exit_code, self.message, self.hint)


def start_apply(digest: str) -> AskedApply:
    """Have the plan with ``digest`` carried out by its unit, which goes on when the caller leaves.

    Raises :class:`StalePlan` for a digest that root does not know (any more), :class:`Refused`
    for a user who is not an operator, :class:`OperatorError` where there is no unit. That the plan
    is still the one for these disks is checked by the unit: see :attr:`ApplyEnd.error`.
    """
    store().request(digest)
    if not answers.units_are_here(services.APPLY_TEMPLATE):
        raise OperatorError(
            "no plan can be carried out from here: the appliance's units are not installed",
            f"root can do it: stripewright apply --confirm {digest}",
        )
    unit = services.APPLY_UNIT.format(digest=digest)
    asked = AskedApply(digest, unit, time.monotonic())
    services.start_unit(unit)
    return asked


def poll_apply(asked: AskedApply) -> ApplyProgress | ApplyEnd | None:
    """One look at how far it is; ``None`` if it has not begun, or is between two steps.

    :class:`OperatorError` if the unit ended without leaving a result.
    """
    if end := _end(asked):
        return end
    progress = applying()
    if (
        progress is not None
        and progress.digest == asked.digest
        and progress.at_monotonic_s >= asked.asked_at_monotonic_s
    ):
        return progress
    state = services.unit_state(asked.unit)
    late = time.monotonic() - asked.asked_at_monotonic_s > _UNIT_GRACE_SECONDS
    if state.busy or not (late or state.active == "failed"):
        return None
    # It may have left its result since.
    if end := _end(asked):
        return end
    raise OperatorError(f"{asked.unit} ended without a result", answers.see_journal(asked.unit))


def _end(asked: AskedApply) -> ApplyEnd | None:
    found = store().result(asked.digest)
    if found is None or answers.is_older(found, asked.asked_at_monotonic_s):
        return None
    return _left(ApplyEnd, found)


# ------------------------------------------------------------------------------- what others do


@dataclass(frozen=True, slots=True)
class PlanNote:
    """A plan in root's store; ``words`` say in a line what becomes of each volume."""

    digest: str
    made_at_monotonic_s: float
    decision: Decision
    words: str
    request: Request
    steps: int


def applying() -> ApplyProgress | None:
    """What is carried out right now, by any operator; ``None`` also if its writer was killed."""
    try:
        document = json.loads(paths.APPLY_FILE.read_text(encoding="utf-8"))
        progress = codec.decode(ApplyProgress, document)
        at_work = Kernel().has_process(document.get("pid"))
    except (OSError, ValueError):
        return None
    return progress if at_work else None


def recent_plans() -> tuple[PlanNote, ...]:
    """What was planned since boot, by any operator, the latest first; a plan that led to the same
    digest again is there once. Refusals are among them.
    """
    notes: dict[str, PlanNote] = {}
    for document in store().recent():
        if "plan" in document:
            note = _note(document)
            notes.setdefault(note.digest, note)
    return tuple(notes.values())


def _note(document: Mapping[str, Any]) -> PlanNote:
    found = _left(_Made, document)
    return PlanNote(
        digest=found.plan.digest,
        made_at_monotonic_s=found.at_monotonic_s,
        decision=found.plan.decision,
        words="; ".join(f"{one.name}: {one.decision}" for one in found.plan.volumes)
        or "no volumes",
        request=found.request,
        steps=len(found.plan.steps),
    )


def planned_before(digest: str) -> PlannedHere:
    """The plan with ``digest`` as it was made, also by another operator.

    :class:`StalePlan` if root keeps it no more.
    """
    for document in store().recent():
        if document.get("plan", {}).get("digest") == digest:
            return _planned(document)
    raise StalePlan(
        f"the plan {digest[:12]}… is no longer kept: many others were made since",
        "plan again",
    )
