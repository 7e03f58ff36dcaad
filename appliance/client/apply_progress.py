"""A plan that is being carried out, as far as it was seen. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from appliance.client.plan_requests import ApplyEnd, ApplyProgress, AskedApply
from appliance.errors import EXIT_OK
from appliance.model.plans import Decision, Plan

# The executor's words for a step that failed.
_FAILED = re.compile(r"step (\d+) of \d+ failed")


class StepState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    NOT_RUN = "not run"
    UNKNOWN = "unclear"


@dataclass(frozen=True, slots=True)
class Watched:
    """``plan`` is ``None`` where only its progress is known. ``began_s`` says when each step that
    was seen began, ``ended_s`` when the plan did, in seconds of ``time.monotonic()``. ``problem``
    says why the last reading of the progress failed; ``is_lost``: it failed so often that reading
    has stopped.
    """

    asked: AskedApply
    plan: Plan | None = None
    began_s: Mapping[int, float] = field(default_factory=dict)
    latest: ApplyProgress | None = None
    end: ApplyEnd | None = None
    problem: str = ""
    is_lost: bool = False

    @property
    def digest(self) -> str:
        return self.asked.digest

    @property
    def is_over(self) -> bool:
        return self.end is not None

    def seen(self, progress: ApplyProgress | ApplyEnd | None) -> Watched:
        """After one more look."""
        if progress is None:
            return replace(self, problem="")
        if isinstance(progress, ApplyEnd):
            return replace(self, end=progress, problem="")
        began = {**self.began_s}
        began.setdefault(progress.step, progress.at_monotonic_s)
        return replace(self, began_s=began, latest=progress, problem="")

    def state(self, number: int) -> StepState:
        """How far step ``number`` is, counted from 1."""
        at = 0 if self.latest is None else self.latest.step
        if self.end is None:
            if self.is_lost and number >= at:
                return StepState.UNKNOWN
            if number == at:
                return StepState.RUNNING
            return StepState.DONE if number < at else StepState.WAITING
        if self.end.exit_code == EXIT_OK:
            return StepState.DONE
        return self._state_after_failure(number, at)

    def _state_after_failure(self, number: int, at: int) -> StepState:
        """A step that fails ends its volume's part; one of no declared volume ends everything."""
        failed = self.failed_step
        if failed is None:
            # Refused or stale before the first step, or ended by something that names none.
            if number == at:
                return StepState.UNKNOWN
            return StepState.DONE if number < at else StepState.NOT_RUN
        if number <= failed:
            return StepState.FAILED if number == failed else StepState.DONE
        if self._is_ground(failed) or self._volume(number) == self._volume(failed):
            return StepState.NOT_RUN
        return StepState.DONE if number <= at else StepState.UNKNOWN

    def _is_ground(self, number: int) -> bool:
        """Whether step ``number`` is for what the rest of the plan stands on."""
        volumes = () if self.plan is None else self.plan.volumes
        declared = {one.name for one in volumes if one.decision is not Decision.REMOVE}
        return self._volume(number) not in declared

    @property
    def failed_step(self) -> int | None:
        """Which step failed, if the end names it."""
        found = None if self.end is None else _FAILED.search(self.end.message)
        return int(found[1]) if found else None

    def _volume(self, number: int) -> str:
        steps = () if self.plan is None else self.plan.steps
        return steps[number - 1].volume if 0 < number <= len(steps) else ""

    def seconds(self, number: int, now: float) -> float | None:
        """How long step ``number`` took or has taken; ``None`` if its beginning or end was not
        seen.
        """
        began = self.began_s.get(number)
        if began is None:
            return None
        if (after := self.began_s.get(number + 1)) is not None:
            return max(0.0, after - began)
        if self.is_lost or self.latest is None or self.latest.step != number:
            return None
        ended = now if self.end is None else self.end.at_monotonic_s
        return max(0.0, ended - began)
