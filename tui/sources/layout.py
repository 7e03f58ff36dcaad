"""Volumes as the Layout screen asks for them: the installed layout, plans, what is carried out."""

from __future__ import annotations

from appliance import paths
from appliance.client import plan_requests
from appliance.client.plan_requests import (
    ApplyEnd,
    ApplyProgress,
    AskedApply,
    PlannedHere,
    PlanNote,
)
from appliance.model.disks import Inventory
from appliance.model.plans import Layout
from appliance.storage.execute.request_spool import Request
from appliance.storage.policy.preview import Preview, preview
from appliance.system import services


class Layouts:
    """What this machine has, and what its root's units do. Every method but :meth:`follow` may
    block for seconds and raises OperatorError; none of those is called in the application's thread.
    """

    def __init__(self) -> None:
        self._notes: tuple[PlanNote, ...] = ()
        self._notes_of = -1

    def current(self) -> Layout:
        """What is installed, or the built-in default."""
        return plan_requests.current_layout()

    def preview(self, layout: Layout, inventory: Inventory, remove: tuple[str, ...]) -> Preview:
        """Preview ``layout`` on ``inventory`` with the planner; asks nothing of root."""
        return preview(layout, inventory, remove)

    def request(self, text: str | None, remove: tuple[str, ...]) -> Request:
        return plan_requests.make_request(text, remove=remove, source="the draft")

    def plan(self, request: Request) -> PlannedHere:
        return plan_requests.ask_plan(request)

    def apply(self, digest: str) -> AskedApply:
        return plan_requests.start_apply(digest)

    def look(self, asked: AskedApply) -> ApplyProgress | ApplyEnd | None:
        return plan_requests.poll_apply(asked)

    def follow(self, progress: ApplyProgress) -> AskedApply:
        """What to :meth:`look` at for another operator's plan."""
        unit = services.APPLY_UNIT.format(digest=progress.digest)
        return AskedApply(progress.digest, unit, progress.at_monotonic_s)

    def recent(self) -> tuple[PlanNote, ...]:
        # Every file there is replaced whole, so that the directory changes with each plan.
        try:
            changed = paths.PLANS_DIR.stat().st_mtime_ns
        except OSError:
            return ()
        if changed != self._notes_of:
            self._notes, self._notes_of = plan_requests.recent_plans(), changed
        return self._notes

    def before(self, digest: str) -> PlannedHere:
        return plan_requests.planned_before(digest)
