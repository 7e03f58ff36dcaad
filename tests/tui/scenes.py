"""What the documentation shows of the screens: walks through them on example data.

Each walk starts one application, presses keys, and names what is to be kept on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from appliance.client.plan_requests import ApplyEnd
from tests.tui.fake_fleet import fleet_stage
from tests.tui.fake_layout import STATUS_HERE, FakeLayouts, progress
from tests.tui.fakes import (
    REFUSED_STATUS,
    Stage,
    snapshot,
    stage,
)
from tests.tui.suites_stage import RUNS
from tui.screens.layout import LayoutScreen


@dataclass(frozen=True, slots=True)
class Step:
    """``keys`` are pressed one after the other, then ``happens`` is called, one by one; what is
    then on the screen is kept as ``name``, unless that is empty.
    """

    keys: str
    name: str = ""
    happens: tuple[Callable[[Stage], None], ...] = ()


@dataclass(frozen=True, slots=True)
class Walk:
    make: Callable[[], Stage]
    steps: tuple[Step, ...]


def _typed(text: str) -> str:
    """The keys of ``text``."""
    return " ".join("space" if letter == " " else letter for letter in text)


def _a_second_later(acted: Stage) -> None:
    acted.clock[0] += 1


def _look(acted: Stage, step: int, seconds: float) -> None:
    """The plan that is carried out has got to ``step``, or (0) to its end."""
    layouts = acted.app.world.layouts
    made = next(reversed(layouts.made.values()))
    acted.clock[0] += seconds
    now = acted.clock[0]
    looked = progress(made, step, now) if step else ApplyEnd(made.plan.digest, 0, _DONE, "", now)
    layouts.looks = [looked]
    acted.give(replace(snapshot(STATUS_HERE), taken_at=now, status_at=now, live_at=now))
    (screen,) = (one for one in acted.app._screen_stacks["layout"] if isinstance(one, LayoutScreen))
    screen.work.look()


_DONE = "carried out: data is mounted at /mnt/data, logs at /mnt/logs"


def _at(step: int) -> Callable[[Stage], None]:
    return lambda acted: _look(acted, step, 2.0)


def _at_rest() -> Stage:
    return stage(snapshot(STATUS_HERE))


def _measuring() -> Stage:
    return stage(RUNS)


def _refused() -> Stage:
    return stage(snapshot(REFUSED_STATUS, live=(), seconds=()))


def _drafting() -> Stage:
    return stage(snapshot(STATUS_HERE), layouts=FakeLayouts())


WALKS = (
    Walk(
        _at_rest,
        (
            Step("", "overview"),
            Step("r", "verdicts"),
            Step("escape s", "start"),
            Step("escape question_mark", "help"),
            Step("escape ctrl+p", "palette"),
            Step("escape 2 down down", "disks"),
            Step("down down down enter", "disk-detail"),
            Step("escape 4", "suites"),
            Step("enter", "suites-suite"),
            Step("escape S", "suites-schedule"),
            Step("escape 7", "log"),
            Step("f f", "log-warnings"),
            Step("f f v", "log-units"),
            Step("escape enter", "log-entry"),
        ),
    ),
    Walk(
        _measuring,
        (
            Step("", "running"),
            Step("x", "cancel"),
            Step("escape 4", "suites-running"),
            Step("T", "suites-numbers"),
        ),
    ),
    Walk(_refused, (Step("", "refused"),)),
    Walk(
        _drafting,
        (
            Step("3", "layout"),
            Step("plus " + _typed("logs") + " down right tab 2", "layout-form"),
            Step("escape i down", "layout-presets"),
            Step("enter", "layout-draft"),
            Step("p", "layout-plan"),
            Step(_typed("scratch data logs"), "layout-confirm"),
            Step("enter", happens=(_a_second_later,)),
            Step("enter", "layout-progress", tuple(map(_at, range(1, 9)))),
            Step("", "layout-done", tuple(map(_at, (*range(9, 16), 0)))),
            Step("escape P", "layout-plans"),
        ),
    ),
    Walk(
        _at_rest,
        (
            Step("5", "results"),
            Step("enter", "results-run"),
            Step("pagedown", "results-histogram"),
            Step("T", "results-numbers"),
            Step("escape t", "results-series"),
            Step("enter z left", "results-trend"),
            Step("escape escape c", "results-compare"),
            Step("escape l", "results-layouts"),
            Step("escape e", "results-export"),
        ),
    ),
    Walk(
        _at_rest,
        (
            Step("6 down", "drift"),
            Step("enter", "drift-finding"),
            Step("escape a " + _typed("seen, ticket 4711"), "drift-acknowledge"),
            Step("escape b", "drift-approve"),
            Step("escape R", "drift-confirm"),
        ),
    ),
    Walk(
        fleet_stage,
        (
            Step("", "fleet"),
            Step("enter", "fleet-odd"),
            Step("escape t", "fleet-types"),
            Step("escape p", "fleet-left-out"),
        ),
    ),
)
