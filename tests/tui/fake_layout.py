"""Layouts, plans and their carrying out, made up for the screens: nothing is asked of root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from appliance.client.plan_requests import (
    ApplyEnd,
    ApplyProgress,
    AskedApply,
    PlannedHere,
    PlanNote,
)
from appliance.errors import OperatorError, StalePlan
from appliance.model.disks import Disk, Inventory, Machine
from appliance.model.plans import Layout, Orders, Volume
from appliance.storage.execute.request_spool import Request
from appliance.storage.policy import planner
from appliance.storage.policy.identity import identify_all
from appliance.storage.policy.layout import DEFAULT_LAYOUT, parse_layout, render_layout
from appliance.storage.policy.preview import Preview, preview
from tests.tui.fakes import MEMBERS, NOW, STATUS
from tests.unit.disks import member

FOUR = Machine("aws", "i4i.16xlarge", "Amazon EC2", "6.12.0", 64, "boot", 4)


def _member(number: int) -> Disk:
    shown = MEMBERS[number - 1]
    made = member(number - 1)
    return replace(made, serial=shown.serial, id=shown.id, size_bytes=shown.size_bytes)


def inventory(*disks: Disk, layout: Layout = DEFAULT_LAYOUT) -> Inventory:
    """The four disks of the machine of :mod:`tests.tui.fakes`, members of ``scratch``."""
    found = disks or tuple(_member(number) for number in range(1, 5))
    return Inventory(
        machine=FOUR,
        disks=identify_all(found, (), (), layout, FOUR),
        privileged=True,
    )


STATUS_HERE = replace(STATUS, inventory=inventory())


def planned(
    request: Request,
    *,
    found: Inventory | None = None,
    base: Layout = DEFAULT_LAYOUT,
    at_s: float = NOW,
    why_not: str = "",
) -> PlannedHere:
    """The plan that the planner makes for ``request``, as root would."""
    layout = base if request.layout_text is None else parse_layout(request.layout_text, "layout")
    inventory_now = found or inventory()
    orders = Orders(
        remove=request.remove,
        grow=True,
        declare="" if request.layout_text is None else "a" * 64,
    )
    plan = planner.plan(inventory_now, layout, waited=True, orders=orders)
    refused = plan.decision.value == "refuse"
    why = why_not or ("the plan is a refusal" if refused else "")
    return PlannedHere(plan, inventory_now, request, at_s, why)


def note_of(made: PlannedHere) -> PlanNote:
    words = "; ".join(f"{one.name}: {one.decision}" for one in made.plan.volumes)
    return PlanNote(
        made.plan.digest,
        made.made_at_monotonic_s,
        made.plan.decision,
        words,
        made.request,
        len(made.plan.steps),
    )


@dataclass
class FakeLayouts:
    """``looks`` is what comes of one look after the other; ``problem`` of a method is raised."""

    base: Layout = DEFAULT_LAYOUT
    found: Inventory | None = None
    notes: list[PlanNote] = field(default_factory=list)
    made: dict[str, PlannedHere] = field(default_factory=dict)
    looks: list[ApplyProgress | ApplyEnd | None] = field(default_factory=list)
    problems: dict[str, OperatorError] = field(default_factory=dict)
    why_not: str = ""
    at_s: float = NOW
    calls: list[str] = field(default_factory=list)
    hang: Callable[[str], None] = lambda _: None

    def _call(self, name: str, text: str = "") -> None:
        self.calls.append(f"{name} {text}".strip())
        self.hang(name)
        if name in self.problems:
            raise self.problems[name]

    def current(self) -> Layout:
        self._call("current")
        return self.base

    def preview(self, layout: Layout, found: Inventory, remove: tuple[str, ...]) -> Preview:
        self._call("preview")
        return preview(layout, found, remove)

    def request(self, text: str | None, remove: tuple[str, ...]) -> Request:
        return Request(text, remove, ())

    def plan(self, request: Request) -> PlannedHere:
        self._call("plan", f"remove={','.join(request.remove)}")
        made = planned(
            request, found=self.found, base=self.base, at_s=self.at_s, why_not=self.why_not
        )
        self.made[made.plan.digest] = made
        self.notes.insert(0, note_of(made))
        return made

    def apply(self, digest: str) -> AskedApply:
        self._call("apply", digest)
        return AskedApply(digest, "unit", self.at_s)

    def look(self, asked: AskedApply) -> ApplyProgress | ApplyEnd | None:
        self._call("look")
        return self.looks.pop(0) if self.looks else None

    def follow(self, progress: ApplyProgress) -> AskedApply:
        return AskedApply(progress.digest, "unit", progress.at_monotonic_s)

    def recent(self) -> tuple[PlanNote, ...]:
        self._call("recent")
        return tuple(self.notes)

    def before(self, digest: str) -> PlannedHere:
        self._call("before", digest[:6])
        if digest not in self.made:
            raise StalePlan("the plan is not kept any more", "plan again")
        return self.made[digest]


def progress(made: PlannedHere, step: int, since_s: float) -> ApplyProgress:
    one = made.plan.steps[step - 1]
    return ApplyProgress(
        made.plan.digest, step, len(made.plan.steps), one.why, one.argv, one.volume, since_s
    )


def text_of(*volumes: Volume) -> str:
    return render_layout(Layout(volumes))
