"""The suites with their runs out of a history, the units by name, and what is typed of times."""

import pytest

from appliance.bench.suite import suite_names
from appliance.client.schedule_fields import (
    FIELDS,
    Judged,
    built_in,
    holds,
    judged,
    why_not_default,
    why_not_off,
)
from appliance.client.schedule_requests import When
from appliance.errors import OperatorError
from appliance.history.store import History
from appliance.model.runs import RunState
from appliance.system import journal, services
from tests.tui.fake_suites import SCHEDULE
from tests.unit.histories import RESULT, begin
from tui.sources.machine import MachineControl
from tui.sources.suites import Suites

NAMES = ("full", "latency-probe", "smoke")


def test_the_catalog_has_every_suite_and_the_last_run_of_each(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    db = tmp_path / "history.db"
    with History.open_writable(db) as history:
        for state in (RunState.COMPLETE, RunState.ABORTED):
            run = begin(history, "smoke", 1.0)
            history.add_result(run, RESULT, raw_report="x")
            history.finish_run(run, state)
    found = Suites(db).catalog()
    assert [suite.name for suite in found.suites] == list(suite_names())
    assert {name: one.run.state for name, one in found.last.items()} == {"smoke": RunState.ABORTED}
    assert found.problem == ""


def test_without_a_history_the_suites_are_known_all_the_same(tmp_path):
    found = Suites(tmp_path / "none.db").catalog()
    assert len(found.suites) == len(suite_names())
    assert found.last == {}
    assert "none.db" in found.problem


@pytest.fixture
def units(monkeypatch):
    asked = []
    monkeypatch.setattr(services, "start_unit", lambda name: asked.append(f"start {name}"))
    monkeypatch.setattr(services, "stop_unit", lambda name: asked.append(f"stop {name}"))
    return asked


def test_units_are_named_by_suite_and_volume_and_stopped_by_the_process(units, monkeypatch):
    control = MachineControl()
    control.start("smoke", "")
    control.start("smoke", "data")
    control.stop("smoke", "data", 0)
    monkeypatch.setattr(services, "unit_of_process", lambda _: "stripewright-confirm.service")
    control.stop("confirm", "", 812)
    assert units == [
        "start stripewright-bench@smoke.service",
        "start stripewright-bench@smoke:data.service",
        "stop stripewright-bench@smoke:data.service",
        "stop stripewright-confirm.service",
    ]


@pytest.mark.parametrize("unit", ["", "sshd.service"])
def test_what_was_started_by_hand_is_not_stopped_but_told(units, monkeypatch, unit):
    monkeypatch.setattr(services, "unit_of_process", lambda _: unit)
    with pytest.raises(OperatorError, match="started by hand") as caught:
        MachineControl().stop("smoke", "", 812)
    assert "kill -INT 812" in caught.value.hint
    assert units == []


@pytest.mark.parametrize(
    ("suite", "when", "field", "words"),
    [
        ("smoke", When(every="5h"), "every", "'5h' is not allowed: one of"),
        ("smoke", When(at="tomorrow"), "at", "'tomorrow' is not allowed"),
        ("smoke", When(every="1h", jitter="40min"), "jitter", 'from "0min" to "30min"'),
        ("smoke", When(every="1h", at="Sun 02:00"), "at", "every is set too"),
        ("latency-probe", When(jitter="5min"), "", "no time given"),
        ("latency-probe", When(state="off"), "", "this suite has no timer"),
    ],
)
def test_a_mistake_is_of_its_field(suite, when, field, words):
    found = judged(suite, when, NAMES)
    assert (found.field, found.comes_to) == (field, "")
    assert words in found.problem


def test_what_is_typed_comes_to_words():
    assert judged("smoke", When(), NAMES) == Judged()
    every = judged("smoke", When(every="4h"), NAMES)
    assert every == Judged(comes_to="00/4:00, up to 30 min later")
    assert judged("latency-probe", When(at="Sun 05:00", jitter="0min"), NAMES).comes_to == (
        "Sun 05:00, up to 0 min later"
    )
    assert judged("smoke", When(state="off"), NAMES).comes_to == "never"
    assert FIELDS == ("every", "at", "jitter")


def test_what_holds_is_found_with_its_next_time():
    found = holds(SCHEDULE, "smoke")
    assert (found.when, found.source) == ("00/6:00, up to 30 min later", "built in")
    assert found.next_at == SCHEDULE.next_at["stripewright-bench@smoke.timer"]
    assert not holds(SCHEDULE, "latency-probe").runs
    assert holds(None, "smoke") is None
    assert why_not_off("smoke", SCHEDULE) == ""
    assert why_not_off("latency-probe", SCHEDULE) != ""
    assert why_not_default("smoke", SCHEDULE) != ""
    assert built_in("smoke") == "00/6:00, up to 30 min later"
    assert built_in("latency-probe") == "never"
