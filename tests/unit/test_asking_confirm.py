"""An operator asks for the runs that confirm a finding: its unit makes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import paths
from appliance.cli import main, output
from appliance.client import finding_actions
from appliance.drift.series import evaluate
from appliance.errors import OperatorError, Refused
from appliance.history import queries
from appliance.history.store import History
from appliance.model.confirmations import Confirmation, Repeated, Verdict
from appliance.model.findings import DriftState, Fact
from appliance.model.runs import RunState
from appliance.system import services
from appliance.system.services import CONFIRM_UNIT, UnitState
from tests.unit.histories import begin
from tests.unit.test_confirming import NOW, stripe, with_history

DONE = UnitState(CONFIRM_UNIT, "inactive", "dead", "success")
BUSY = UnitState(CONFIRM_UNIT, "activating", "start", "success", queued=True)


class Unit:
    """The unit, as its own user runs it: what it does at each look, and in between."""

    def __init__(self, db: Path) -> None:
        self.db = db
        self.asked: list[tuple[str, str]] = []
        self.looks: list[UnitState] = [DONE]
        self.makes: Confirmation | None = None
        self.skips = ""

    def start(self, name: str) -> None:
        self.asked.append(("start", name))
        with History.open_writable(self.db) as history:
            if self.makes is not None:
                history.drift.add_confirmation(self.makes)
            if self.skips:
                self.skip(history, self.skips)

    def skip(self, history: History, why: str) -> int:
        run_id = begin(history)
        with history._writer._connection as connection:
            connection.execute(
                "UPDATE run SET suite = 'confirm', target = (SELECT target FROM run WHERE id = 1)"
                " WHERE id = ?",
                (run_id,),
            )
        history.finish_run(run_id, RunState.SKIPPED, why)
        return run_id

    def state(self, name: str) -> UnitState:
        assert name == CONFIRM_UNIT
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]


@pytest.fixture
def unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Unit:
    """An appliance with a suspect, and somebody who may not write its history."""
    db = tmp_path / "history.db"
    monkeypatch.setattr(paths, "HISTORY_DB", db)
    monkeypatch.setattr(paths, "STATE_FILE", tmp_path / "none")
    monkeypatch.setattr(finding_actions.time, "time", lambda: NOW)
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    made = Unit(db)
    monkeypatch.setattr(finding_actions, "is_ours_to_write", lambda _: False)
    monkeypatch.setattr(services, "systemd_is_running", lambda: True)
    monkeypatch.setattr(services, "is_installed", lambda _: True)
    monkeypatch.setattr(services, "start_unit", made.start)
    monkeypatch.setattr(services, "stop_unit", lambda name: made.asked.append(("stop", name)))
    monkeypatch.setattr(services, "unit_state", made.state)
    monkeypatch.setattr(output, "_POLL_SECONDS", 0.0)
    return made


def suspect(db: Path) -> Fact:
    (fact,) = [one for one in evaluate.facts_of(db, now=NOW) if one.state is DriftState.SUSPECT]
    return fact


def answer(fact: Fact, run_id: int) -> Confirmation:
    return Confirmation(
        code=fact.code,
        subject=fact.subject,
        identity=fact.identity,
        target=str(fact.evidence["target"]),
        change_run=int(fact.evidence["change_run"]),
        run_id=run_id,
        at=NOW,
        verdict=Verdict.CONFIRMED,
        words="all of five are below",
        repeats=(900.0,) * 5,
    )


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main.main(["drift", "confirm", *words])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_an_operator_has_it_repeated_by_the_unit(
    unit: Unit, capsys: pytest.CaptureFixture[str]
) -> None:
    unit.makes = answer(suspect(unit.db), last_run(unit.db))
    unit.looks = [BUSY, BUSY, DONE]
    status, out, err = command(capsys, "--db", str(unit.db), "--json")
    assert (status, unit.asked) == (0, [("start", CONFIRM_UNIT)])
    document = json.loads(out)
    assert [one["verdict"] for one in document["confirmations"]] == ["confirmed"]
    assert document["waiting"] == []
    assert CONFIRM_UNIT in err
    assert unit.looks == [DONE], "it was waited for"


def last_run(db: Path) -> int:
    with queries.open_readonly(db) as reader:
        return reader.runs(1)[0].id


def test_what_could_not_be_repeated_says_why(
    unit: Unit, capsys: pytest.CaptureFixture[str]
) -> None:
    with History.open_writable(unit.db) as history:
        unit.skip(history, "yesterday's load")
    unit.skips = "something else uses the disks"
    status, out, _ = command(capsys, "--db", str(unit.db))
    assert status == 0
    assert "waits: something else uses the disks" in out
    # No run came of it: the reason of an older one is not taken for this one's.
    unit.skips = ""
    unit.looks = [UnitState(CONFIRM_UNIT, "failed", "failed", "exit-code")]
    status, out, _ = command(capsys, "--db", str(unit.db))
    assert status == 1
    words = " ".join(out.split())
    assert f"waits: look at: journalctl -b -u {CONFIRM_UNIT}" in words


def test_an_answer_of_before_is_not_given_again(unit: Unit) -> None:
    with History.open_writable(unit.db) as history:
        run_id = unit.skip(history, "")
        history.drift.add_confirmation(answer(suspect(unit.db), run_id))
    end = finding_actions.poll_confirm(finding_actions.confirm_now(unit.db))
    assert end is not None
    assert end.made == ()


def test_whoever_stops_waiting_leaves_the_unit_at_work(
    unit: Unit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(finding_actions, "poll_confirm", interrupted)
    with pytest.raises(SystemExit) as ended:
        command(capsys, "--db", str(unit.db))
    assert ended.value.code == 130
    assert f"{CONFIRM_UNIT} keeps running" in capsys.readouterr().err
    assert unit.asked == [("start", CONFIRM_UNIT)]


def test_the_runs_can_be_ended(unit: Unit) -> None:
    finding_actions.stop_confirming()
    assert unit.asked == [("stop", CONFIRM_UNIT)]


def test_who_is_no_operator_is_told(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(name: str) -> None:
        raise Refused(f"not allowed to start {name}", "operators are …")

    monkeypatch.setattr(services, "start_unit", denied)
    with pytest.raises(Refused, match="not allowed"):
        finding_actions.confirm_now(unit.db)


def test_no_unit_writes_another_history_or_where_there_is_none(
    unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OperatorError, match="no unit is here"):
        finding_actions.confirm_now(tmp_path / "copy.db")
    monkeypatch.setattr(services, "is_installed", lambda _: False)
    with pytest.raises(OperatorError, match="no unit is here"):
        finding_actions.confirm_now(unit.db)
    assert unit.asked == []


def test_who_may_write_the_history_needs_no_unit(
    unit: Unit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from appliance.drift.series import remeasure

    monkeypatch.setattr(finding_actions, "is_ours_to_write", lambda _: True)
    monkeypatch.setattr(paths, "CONFIRM_WANTED", unit.db.with_name("wanted"))
    monkeypatch.setattr(remeasure, "repeat_suspects", lambda *_, **__: Repeated((), ()))
    assert command(capsys, "--db", str(unit.db))[:2] == (0, "nothing is suspect\n")
    assert unit.asked == []
