"""What doctor says of timers, paths, units and the last look for drift."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import paths
from appliance.cli import doctor
from appliance.cli.doctor import Check, Verdict
from appliance.client.machine_status import schedule_problem
from appliance.drift import check_summary
from appliance.drift.check_summary import Memory
from appliance.system import services
from appliance.system.services import UnitState

NOW = 1_800_000_000.0


@pytest.fixture
def units(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """``ActiveState`` of units; those that are not named are active."""
    found: dict[str, str] = {}
    monkeypatch.setattr(
        services,
        "unit_state",
        lambda name: UnitState(name, found.get(name, "active"), "x", "exit-code"),
    )
    return found


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "SCHEDULE_FILE", tmp_path / "schedule.toml")
    monkeypatch.setattr(paths, "DRIFT_RUN_DIR", tmp_path)
    monkeypatch.setattr("appliance.client.machine_status.schedule_problem", lambda: "")
    return tmp_path


def verdicts(checks: list[Check]) -> dict[str, Verdict]:
    return {check.name: check.verdict for check in checks}


def test_every_timer_is_looked_at(units: dict[str, str], folders: Path) -> None:
    assert verdicts(doctor._schedule()) == {
        "schedule": Verdict.OK,
        "stripewright-bench@smoke.timer": Verdict.OK,
        "stripewright-bench@full.timer": Verdict.OK,
        "stripewright-drift.timer": Verdict.OK,
    }
    units["stripewright-drift.timer"] = "inactive"
    assert verdicts(doctor._schedule())["stripewright-drift.timer"] is Verdict.WARN
    (folders / "schedule.toml").write_text(
        '[suite.full]\nenabled = false\n[suite.random-1m]\nat = "02:00"\n'
    )
    units["stripewright-bench@full.timer"] = "inactive"
    units["stripewright-bench@random-1m.timer"] = "failed"
    found = verdicts(doctor._schedule())
    assert found["stripewright-bench@full.timer"] is Verdict.OK, "off, as declared"
    assert found["stripewright-bench@random-1m.timer"] is Verdict.FAIL


def test_a_schedule_that_is_not_in_effect(
    units: dict[str, str], folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.client.machine_status.schedule_problem", lambda: "line 2: no")
    assert doctor._schedule()[0] == Check(
        "schedule",
        Verdict.FAIL,
        "not in effect: line 2: no",
        "look at: systemctl status stripewright-schedule.service",
    )
    (folders / "schedule.toml").write_text("[suite.smoke]\nevery = 'x'\n")
    broken = doctor._schedule()
    assert "suite.smoke.every (line 2)" in broken[0].found
    # The timers that there are in any case are looked at all the same.
    assert len(broken) == 4


def test_units_that_work_now_and_then(units: dict[str, str]) -> None:
    units["stripewright-look.service"] = "inactive"
    assert doctor._unit("stripewright-look.service", runs=False).verdict is Verdict.OK
    units["stripewright-look.service"] = "failed"
    assert doctor._unit("stripewright-look.service", runs=False).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("minutes_ago", "verdict"), [(None, Verdict.WARN), (6, Verdict.OK), (16, Verdict.FAIL)]
)
def test_the_last_look_for_drift(
    folders: Path, minutes_ago: float | None, verdict: Verdict
) -> None:
    if minutes_ago is not None:
        assert check_summary.save(folders, Memory(at=NOW - minutes_ago * 60))
    assert doctor._last_check(now=NOW).verdict is verdict
    # Longer intervals have longer patience.
    (folders / "schedule.toml").write_text('[drift]\nevery = "30min"\n')
    if minutes_ago is not None:
        assert doctor._last_check(now=NOW).verdict is Verdict.OK


def test_the_word_of_the_schedules_unit(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    assert schedule_problem(file) == ""
    for text in ("", "[]", '{"error": 3}', '{"error": {}}', '{"error": null}'):
        file.write_text(text)
        assert schedule_problem(file) == ""
    file.write_text(json.dumps({"error": {"message": "no", "hint": ""}}))
    assert schedule_problem(file) == "no"
