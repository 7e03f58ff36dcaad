"""Two operators and one set of disks: what each sees of the other, and what neither can do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance import paths
from appliance.cli.apply_plan import apply_request
from appliance.client import answers, plan_requests
from appliance.client.plan_requests import ApplyEnd, ApplyProgress
from appliance.errors import EXIT_STALE, OperatorError, Refused, StalePlan, UsageError
from appliance.model.plans import Decision, Layout, Orders, Plan, VolumePlan
from appliance.storage.execute import executor
from appliance.storage.execute.request_spool import Request
from appliance.storage.policy.layout import DEFAULT_LAYOUT, parse_layout, render_layout
from appliance.system import files, services
from tests.unit import test_planning
from tests.unit.test_planning import DIGEST, FOUND, LAYOUT, PLAN, Unit

# Fixtures, asked for by name.
places, operator = test_planning.places, test_planning.operator
OTHER = "cd" * 32
LOGS = LAYOUT.replace("data", "logs")


@pytest.fixture
def each_its_own(operator: Unit, monkeypatch: pytest.MonkeyPatch) -> Unit:
    """Every request has a plan of its own: with the digest OTHER unless it is for LAYOUT."""

    def planned(request: Request, **_: Any) -> executor.Planned:
        digest = DIGEST if request.layout_text == LAYOUT else OTHER
        plan = replace(PLAN, digest=digest)
        if request.remove:
            gone = VolumePlan("old", Decision.REFUSE, "no")
            plan = replace(plan, decision=Decision.REFUSE, volumes=(gone, *plan.volumes))
        return executor.Planned(request, Layout(()), FOUND, Orders(), plan)

    monkeypatch.setattr(executor, "plan_request", planned)
    return operator


# ------------------------------------------------------------------------------ requests


def test_a_request_is_the_installed_layout_or_another(places: Path) -> None:
    assert plan_requests.current_layout() == DEFAULT_LAYOUT
    assert plan_requests.make_request() == Request()
    paths.LAYOUT_FILE.write_text(LAYOUT)
    assert plan_requests.current_layout().volume_names == ("data",)
    layout = parse_layout(LOGS, "layout")
    text = render_layout(layout)
    request = plan_requests.make_request(text, remove=["data", "data"], erase=["S1"])
    assert request == Request(text, ("data",), ("S1",)), "what is not declared stays as written"
    assert parse_layout(text, "layout") == layout
    removed = plan_requests.make_request(
        LAYOUT + LOGS + 'select = {serials=["A"]}\n', remove=["data"]
    )
    assert parse_layout(removed.layout_text or "", "x").volume_names == ("logs",)
    with pytest.raises(UsageError, match=r"mine\.toml.*colour"):
        plan_requests.make_request(LAYOUT + 'colour = "red"\n', source="mine.toml")


# ---------------------------------------------------------------------------------- plans


def test_the_unit_plans_for_root_as_well(operator: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    for uid in (1000, 0):
        monkeypatch.setattr("os.geteuid", lambda uid=uid: uid)
        made = plan_requests.ask_plan(Request(LAYOUT))
        assert (made.plan, made.request, made.confirmable, made.why_not) == (
            PLAN,
            Request(LAYOUT),
            True,
            "",
        )
        assert made.inventory == FOUND
    assert len(operator.started) == 2


def test_the_second_sees_what_the_first_planned(each_its_own: Unit) -> None:
    plan_requests.ask_plan(Request(LAYOUT))
    second = plan_requests.ask_plan(Request(LOGS, ("old",)))
    assert (second.confirmable, second.why_not) == (False, "the plan is a refusal")
    # A schedule's answer, and a request that came to nothing, lie in the same place.
    answers.store().keep_plan("0" * 64, {"at_monotonic_s": 1.0, "error": None})
    set_times(paths.PLANS_DIR)
    notes = plan_requests.recent_plans()
    assert {(one.digest, one.decision, one.words, one.steps) for one in notes} == {
        (DIGEST, Decision.CREATE, "data: create", 1),
        (OTHER, Decision.REFUSE, "old: refuse; data: create", 1),
    }
    assert {one.digest: one.request for one in notes} == {
        DIGEST: Request(LAYOUT),
        OTHER: Request(LOGS, ("old",)),
    }
    assert plan_requests.planned_before(DIGEST).plan == PLAN
    with pytest.raises(StalePlan):
        plan_requests.planned_before("0" * 64)


def set_times(folder: Path) -> None:
    """Files in the order of their names, the last one the latest."""
    for at, path in enumerate(sorted(folder.glob("*.json")), 1):
        os.utime(path, (at, at))


def test_the_latest_comes_first_and_a_digest_once(each_its_own: Unit) -> None:
    made = [plan_requests.ask_plan(Request(LAYOUT, (), (serial,))) for serial in "ABC"]
    made.append(plan_requests.ask_plan(Request(LAYOUT)))
    set_times(paths.PLANS_DIR)
    latest = sorted(paths.PLANS_DIR.glob("*.json"))[-1]
    (first, *others) = plan_requests.recent_plans()
    assert first.made_at_monotonic_s == json.loads(latest.read_text())["at_monotonic_s"]
    assert len({first.digest, *(one.digest for one in others)}) == 1 + len(others) == 1
    assert {one.plan.digest for one in made} == {DIGEST}


def test_nothing_planned_yet_is_no_error(places: Path) -> None:
    assert plan_requests.recent_plans() == ()
    assert plan_requests.applying() is None


# ---------------------------------------------------------------------------------- apply


@pytest.fixture
def started(each_its_own: Unit, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A plan that was made, and what is started then: nothing runs it."""
    plan_requests.ask_plan(Request(LAYOUT))
    found: list[str] = []
    monkeypatch.setattr(services, "start_unit", found.append)
    unit_is(monkeypatch, active="activating")
    return found


def unit_is(monkeypatch: pytest.MonkeyPatch, *, active: str) -> None:
    monkeypatch.setattr(
        services, "unit_state", lambda name: services.UnitState(name, active, "", "success")
    )


def step(number: int, **facts: object) -> None:
    """What the apply unit writes before each step."""
    document = {
        "digest": DIGEST,
        "step": number,
        "steps": 3,
        "why": "make it",
        "argv": ["mdadm", "[red]"],
        "volume": "data",
        "at_monotonic_s": 1e12,
        "pid": os.getpid(),
        **facts,
    }
    files.replace_json(paths.APPLY_FILE, document)


def test_a_plan_is_followed_to_its_end_by_looks(started: list[str]) -> None:
    asked = plan_requests.start_apply(DIGEST)
    assert started == [asked.unit] == [f"stripewright-apply@{DIGEST}.service"]
    assert plan_requests.poll_apply(asked) is None
    step(2)
    at_two = ApplyProgress(DIGEST, 2, 3, "make it", ("mdadm", "[red]"), "data", 1e12)
    assert plan_requests.poll_apply(asked) == at_two
    # Whoever else looks sees the same, without having asked for anything.
    assert plan_requests.applying() == at_two
    answers.store().keep_result(
        DIGEST,
        {"at_monotonic_s": 1e12, "digest": DIGEST, "exit_code": 0, "message": "ok", "hint": ""},
    )
    end = plan_requests.poll_apply(asked)
    assert end == ApplyEnd(DIGEST, 0, "ok", "", 1e12)
    assert end.error is None


def test_another_plan_at_work_is_not_ours(started: list[str]) -> None:
    asked = plan_requests.start_apply(DIGEST)
    step(1, digest=OTHER)
    assert plan_requests.poll_apply(asked) is None
    other = plan_requests.applying()
    assert other is not None
    assert other.digest == OTHER
    # Nor is what was done for the same digest before.
    step(1, at_monotonic_s=0.5)
    assert plan_requests.poll_apply(asked) is None


@pytest.mark.parametrize(
    "break_it",
    [
        lambda: step(1, pid=2**22 + 1),
        lambda: step(1, pid="1"),
        lambda: step(1, argv=None),
        lambda: step(1, step="one"),
        lambda: paths.APPLY_FILE.write_text("[]"),
        lambda: paths.APPLY_FILE.write_text("{"),
        lambda: paths.APPLY_FILE.write_bytes(b"\xff"),
        lambda: paths.APPLY_FILE.mkdir(mode=0o755),
    ],
)
def test_nothing_is_carried_out_by_who_is_not_there(
    places: Path, break_it: Callable[[], object]
) -> None:
    break_it()
    assert plan_requests.applying() is None


def test_a_stale_digest_is_told_before_anything_is_started(started: list[str]) -> None:
    with pytest.raises(StalePlan):
        plan_requests.start_apply("0" * 64)
    with pytest.raises(UsageError):
        plan_requests.start_apply("yes")
    assert started == []


def test_a_plan_that_another_made_stale_ends_as_such(
    started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both planned; the first was carried out, so that the disks are others."""

    def stale(*_: object, **__: object) -> int:
        raise StalePlan("the disks are no longer what the plan was made for", "plan again")

    asked = plan_requests.start_apply(DIGEST)
    with monkeypatch.context() as root:
        root.setattr("os.geteuid", lambda: 0)
        root.setattr(executor, "apply_confirmed", stale)
        assert apply_request(name=DIGEST) == EXIT_STALE
    end = plan_requests.poll_apply(asked)
    assert isinstance(end, ApplyEnd)
    assert isinstance(end.error, StalePlan)
    assert end.error.hint == "plan again"


def test_an_end_of_another_kind_is_that_kind() -> None:
    assert type(ApplyEnd(DIGEST, 3, "no", "", 1.0).error) is Refused
    assert type(ApplyEnd(DIGEST, 1, "failed", "", 1.0).error) is OperatorError


def test_a_unit_that_was_killed_is_told(
    started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = plan_requests.start_apply(DIGEST)
    step(2, pid=2**22 + 1)
    # It may not have begun yet, or just have ended.
    unit_is(monkeypatch, active="inactive")
    assert plan_requests.poll_apply(asked) is None
    unit_is(monkeypatch, active="failed")
    with pytest.raises(OperatorError, match="ended without a result"):
        plan_requests.poll_apply(asked)
    unit_is(monkeypatch, active="inactive")
    monkeypatch.setattr(plan_requests, "_UNIT_GRACE_SECONDS", -1.0)
    with pytest.raises(OperatorError, match="ended without a result"):
        plan_requests.poll_apply(asked)


def test_a_result_that_comes_while_systemd_is_asked_counts(
    started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = plan_requests.start_apply(DIGEST)

    def ends_meanwhile(name: str) -> services.UnitState:
        document = {"digest": DIGEST, "exit_code": 0, "message": "ok", "hint": ""}
        answers.store().keep_result(DIGEST, {"at_monotonic_s": 1e12, **document})
        return services.UnitState(name, "failed", "", "")

    monkeypatch.setattr(services, "unit_state", ends_meanwhile)
    assert isinstance(plan_requests.poll_apply(asked), ApplyEnd)


def test_without_units_no_plan_is_carried_out_from_a_screen(
    started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(services, "is_installed", lambda _: False)
    with pytest.raises(OperatorError, match="units are not installed"):
        plan_requests.start_apply(DIGEST)
    assert started == []


def test_a_preview_says_what_comes_if_no_more_disks_do(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from appliance.storage.policy import planner
    from appliance.storage.probe import devices

    waiting = Plan(Decision.WAIT, OTHER, (), ())
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(devices, "probe", lambda **_: FOUND)
    monkeypatch.setattr(planner, "plan", lambda *_, waited, **__: PLAN if waited else waiting)
    made = plan_requests.ask_plan(Request(LAYOUT))
    assert (made.plan, made.late, made.confirmable) == (waiting, PLAN, False)
    assert "only root can read the disks" in made.why_not
