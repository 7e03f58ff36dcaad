"""``plan`` and ``apply`` on the command line: what is printed, asked for and left behind."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from appliance import paths
from appliance.cli.apply_plan import apply_request
from appliance.cli.main import main
from appliance.cli.plan import plan_request
from appliance.client import answers, plan_requests
from appliance.errors import EXIT_DRIFT, OperatorError, Refused, StalePlan, UsageError
from appliance.model.disks import Disk, Inventory, Machine
from appliance.model.plans import (
    Decision,
    Destruction,
    Layout,
    Orders,
    Plan,
    Step,
    Volume,
    VolumePlan,
)
from appliance.state import codec
from appliance.storage.execute import executor, request_spool
from appliance.storage.execute.request_spool import Request
from appliance.system import journal, services

DIGEST = "ab" * 32
DISK = Disk("/dev/nvme1n1", "id1", "m", "S[red]1", 10**9, reason="instance storage, \x1b[2J blank")
PLAN = Plan(
    Decision.CREATE,
    DIGEST,
    (VolumePlan("data", Decision.CREATE, "one blank disk", (DISK.path,)),),
    (
        Step(
            ("vgcreate", "--config", "a=1 b=2", "x"),
            "make the group",
            (Destruction(DISK.path, DISK.id, DISK.serial, DISK.size_bytes, "blank"),),
            volume="data",
        ),
    ),
)
FOUND = Inventory(Machine(), (DISK,), privileged=True)
LAYOUT = '[[volume]]\nname = "data"\nmount = "/mnt/data"\n'


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All files of the appliance below a temporary directory, and an executor that stands in."""
    for name in ("LAYOUT_FILE", "PLANS_DIR", "DIGESTS_DIR", "SPOOL_DIR", "APPLY_FILE"):
        monkeypatch.setattr(paths, name, tmp_path / name.lower())
    paths.SPOOL_DIR.mkdir()
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    monkeypatch.setattr(services, "systemd_is_running", lambda: False)
    monkeypatch.setattr("os.geteuid", lambda: 0)

    def planned(request: Request, **_: Any) -> executor.Planned:
        return executor.Planned(request, Layout(()), FOUND, Orders(), PLAN)

    monkeypatch.setattr(executor, "plan_request", planned)
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    try:
        status = main(argv)
    except SystemExit as ended:
        status = int(ended.code or 0)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_a_plan_says_everything_and_how_to_confirm(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = call(capsys, "plan")
    assert (status, err) == (0, "")
    assert re.search(rf"^digest: +{DIGEST}$", out, re.M)
    assert "   $ vgcreate --config 'a=1 b=2' x\n" in out, "it can be pasted into a shell"
    assert "overwrites /dev/nvme1n1 (serial S[red]1" in out
    assert "\x1b" not in out
    assert out.splitlines()[-1] == f"to do exactly this: stripewright apply --confirm {DIGEST}"


def test_the_contract_keys_and_the_disks_are_in_json(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(call(capsys, "plan", "--json")[1])
    assert {"decision", "digest", "volumes", "steps", "disks", "confirmable"} == set(document)
    assert document["disks"][0]["volume"] == "data"
    assert document["confirmable"] is True


def test_removing_takes_the_volume_out_of_the_layout(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> dict[str, Any]:
        asked.append(request)
        raise OperatorError("enough", "")

    monkeypatch.setattr("appliance.cli.plan.answer", answer)
    both = LAYOUT + '[[volume]]\nname = "logs"\nmount = "/mnt/logs"\nselect = {serials=["A"]}\n'
    paths.LAYOUT_FILE.write_text(both)
    for options, remove, names in (
        ([], (), None),
        (["--remove", "logs"], ("logs",), ["data"]),
        (["--remove", "logs", "--remove", "data"], ("logs", "data"), []),
        # Not declared any more, or never: what is on the disks is released all the same.
        (["--remove", "old"], ("old",), None),
    ):
        assert main(["plan", *options]) == 1
        request = asked.pop()
        assert request.remove == remove
        if names is None:
            assert request.layout_text is None
        else:
            from appliance.storage.policy.layout import parse_layout

            assert request.layout_text is not None
            assert list(parse_layout(request.layout_text, "x").volume_names) == names
    main(["plan", "--erase", "S1", "--erase", "S1"])
    assert asked.pop().erase == ("S1",)


def test_without_root_and_units_it_is_a_preview(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from appliance.storage.policy import planner
    from appliance.storage.probe import devices

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(devices, "probe", lambda **_: FOUND)
    monkeypatch.setattr(planner, "plan", lambda *_, **__: PLAN)
    out = call(capsys, "plan")[1]
    assert out.splitlines()[-1].startswith("this plan cannot be confirmed: only root")


class Unit:
    """The plan unit: what the operator started, run at once as root."""

    def __init__(self) -> None:
        self.started: list[str] = []

    def __call__(self, unit: str) -> None:
        self.started.append(unit)
        name = unit.removeprefix("stripewright-plan@").removesuffix(".service")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.geteuid", lambda: 0)
            assert plan_request(name=name) == 0


@pytest.fixture
def operator(places: Path, monkeypatch: pytest.MonkeyPatch) -> Unit:
    unit = Unit()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(services, "systemd_is_running", lambda: True)
    monkeypatch.setattr(services, "is_installed", lambda _: True)
    monkeypatch.setattr(services, "start_and_wait", unit)
    return unit


def test_an_operator_has_it_planned_by_root(
    operator: Unit, places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = places / "new.toml"
    layout.write_text(LAYOUT)
    status, out, _ = call(capsys, "plan", "--layout", str(layout))
    assert status == 0
    assert f"apply --confirm {DIGEST}" in out
    request = Request(LAYOUT)
    name = hashlib.sha256(request_spool.encode(request)).hexdigest()
    assert operator.started == [f"stripewright-plan@{name}.service"]
    assert answers.store().request(DIGEST) == request
    assert list(paths.SPOOL_DIR.iterdir()) == []


def test_what_root_says_is_said_to_the_operator(
    operator: Unit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: Request, **__: Any) -> executor.Planned:
        raise UsageError("layout.toml: no", "write yes")

    monkeypatch.setattr(executor, "plan_request", refuse)
    status, _, err = call(capsys, "plan")
    assert (status, err) == (2, "error: layout.toml: no\nhint: write yes\n")


def test_an_old_answer_is_not_taken_for_a_new_one(
    operator: Unit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(capsys, "plan")[0] == 0
    monkeypatch.setattr(services, "start_and_wait", lambda _: None)
    status, _, err = call(capsys, "plan")
    assert status == 1
    assert "left no plan" in err


def test_a_digest_that_nobody_planned_is_stale(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = call(capsys, "apply", "--confirm", "0" * 64)
    assert status == 4
    assert "nothing was written" in err
    assert call(capsys, "apply", "--confirm", "yes")[0] == 2
    assert call(capsys, "apply")[0] == 2


def test_root_carries_out_what_was_planned(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[Request, str]] = []

    def carry_out(request: Request, digest: str, *, on_step: Any, **_: Any) -> int:
        seen.append((request, digest))
        on_step(PLAN, 0, PLAN.steps[0])
        assert json.loads(paths.APPLY_FILE.read_text())["steps"] == 1
        return 0

    monkeypatch.setattr(executor, "apply_confirmed", carry_out)
    call(capsys, "plan")
    status, out, err = call(capsys, "apply", "--confirm", DIGEST)
    assert (status, seen) == (0, [(Request(), DIGEST)])
    assert out.startswith("done in ")
    assert err == "step 1 of 1: make the group\n"
    assert not paths.APPLY_FILE.exists()
    result = answers.store().result(DIGEST)
    assert result is not None
    assert result["exit_code"] == 0


def test_a_full_run_stops_no_plan_between_its_steps(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    carried_out = []

    def carry_out(_: Request, __: str, *, on_step: Any, **___: Any) -> int:
        (places / "full").touch()
        for name in ("APPLY_FILE", "DIGESTS_DIR"):
            monkeypatch.setattr(paths, name, places / "full" / name)
        on_step(PLAN, 0, PLAN.steps[0])
        carried_out.append(0)
        return 0

    monkeypatch.setattr(executor, "apply_confirmed", carry_out)
    call(capsys, "plan")
    assert (call(capsys, "apply", "--confirm", DIGEST)[0], carried_out) == (0, [0])


def test_a_refusal_at_the_last_moment_reaches_whoever_waits(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any, **__: Any) -> int:
        raise Refused("nvme1n1 is in use", "free it")

    monkeypatch.setattr(executor, "apply_confirmed", refuse)
    call(capsys, "plan")
    status, _, err = call(capsys, "apply", "--confirm", DIGEST)
    assert (status, err) == (3, "error: nvme1n1 is in use\nhint: free it\n")


def test_an_operators_apply_is_the_unit_and_its_result(
    operator: Unit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(capsys, "plan")
    started: list[str] = []

    def start(unit: str) -> None:
        started.append(unit)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.geteuid", lambda: 0)
            patch.setattr(executor, "apply_confirmed", lambda *_, **__: 0)
            patch.setattr(services, "start_unit", started.append)
            assert apply_request(name=DIGEST) == 0

    monkeypatch.setattr(services, "start_unit", start)
    status, out, _ = call(capsys, "apply", "--confirm", DIGEST, "--json")
    assert (status, json.loads(out)["exit_code"]) == (0, 0)
    assert started == [f"stripewright-apply@{DIGEST}.service", "stripewright.target"]


def test_whoever_stops_waiting_leaves_the_unit_at_work(
    operator: Unit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(capsys, "plan")
    monkeypatch.setattr(services, "start_unit", lambda _: None)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(plan_requests, "poll_apply", interrupted)
    status, _, err = call(capsys, "apply", "--confirm", DIGEST)
    assert status == 130
    assert f"stripewright-apply@{DIGEST}.service keeps running" in err


def test_a_unit_that_ends_without_a_result_is_told(
    operator: Unit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(capsys, "plan")
    monkeypatch.setattr(services, "start_unit", lambda _: None)
    monkeypatch.setattr(
        services, "unit_state", lambda name: services.UnitState(name, "failed", "", "signal")
    )
    status, _, err = call(capsys, "apply", "--confirm", DIGEST)
    assert status == 1
    assert "ended without a result" in err


@pytest.mark.parametrize("words", [["chore", "mark"], ["plan-request", "x"], ["tune-undo"]])
def test_what_units_run_is_for_root(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    status, _, err = call(capsys, *words)
    assert status == 1
    assert "only root" in err


def test_a_chore_by_hand_finds_the_layout_that_it_is_to_install(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from appliance.storage.execute import builtin_steps
    from appliance.storage.probe import devices

    monkeypatch.setattr(paths, "LOCK_FILE", places / "lock")
    monkeypatch.setattr(devices, "probe", lambda **_: FOUND)
    done: list[builtin_steps.StepContext] = []
    monkeypatch.setattr(builtin_steps, "run", lambda _, bench: done.append(bench))
    answers.store().keep_request(DIGEST, Request(LAYOUT))
    assert main(["chore", "declare", builtin_steps.sha256_of(LAYOUT)]) == 0
    assert done[0].layout_text == LAYOUT
    assert main(["chore", "declare", "0" * 64]) == 0
    assert done[1].layout_text is None


def test_hidden_commands_are_not_in_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    out = call(capsys, "--help")[1]
    assert "apply" in out
    assert "chore" not in out
    assert "plan-request" not in out


def test_a_plan_comes_back_from_json_as_it_was() -> None:

    found = json.loads(json.dumps(asdict(PLAN)))
    assert codec.decode(Plan, found) == PLAN
    assert Volume("data", "/mnt/data").name == found["volumes"][0]["name"]


# ----------------------------------------------------------------- plans that are too old


def test_a_plan_that_is_too_old_is_not_carried_out(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(executor, "apply_confirmed", lambda *_, **__: pytest.fail("carried out"))
    assert call(capsys, "plan")[0] == 0
    later = request_spool.boot_seconds() + request_spool.PLAN_LIFETIME_SECONDS + 1
    monkeypatch.setattr(request_spool, "boot_seconds", lambda: later)
    status, _, err = call(capsys, "apply", "--confirm", DIGEST)
    assert status == 4
    assert f"error: the plan {DIGEST[:12]}… is older than 15 min; nothing was written\n" in err
    assert "hint: plan again" in err
    # It grew too old after the unit was asked for: the operator gets the same answer.
    assert apply_request(name=DIGEST) == 4
    result = answers.store().result(DIGEST)
    assert result is not None
    assert (result["exit_code"], "older than 15 min" in result["message"]) == (4, True)


def test_the_unit_leaves_nothing_under_a_name_that_is_no_digest(places: Path) -> None:
    with pytest.raises(UsageError):
        apply_request(name="../../layout")
    assert not list(places.rglob("*.result.json"))


class _Other(OperatorError):
    """A failure with an exit code of its own."""

    exit_code = EXIT_DRIFT


@pytest.mark.parametrize(
    ("error", "rejected"),
    [(Refused, True), (StalePlan, True), (OperatorError, False), (UsageError, False),
     (_Other, False)],
)  # fmt: skip
def test_a_refusal_is_known_by_its_kind_and_not_by_its_number(
    error: type[OperatorError], rejected: bool, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise error("no", "do something else")

    events: list[journal.Event] = []
    monkeypatch.setattr(journal, "event", lambda what, *_, **__: events.append(what))
    monkeypatch.setattr(executor, "apply_confirmed", fail)
    answers.store().keep_request(DIGEST, Request())
    assert apply_request(name=DIGEST) == error.exit_code
    assert (journal.Event.PLAN_REJECTED in events) is rejected
