"""Repeats are asked for, cannot even begin, and are not asked for without end."""

from __future__ import annotations

import json
import os

import pytest

from appliance.bench import fio_process, runner
from appliance.cli import drift_confirm, main
from appliance.drift import check as checking
from appliance.drift import check_summary
from appliance.drift.series import evaluate
from appliance.errors import EXIT_FAILED, EXIT_OK, OperatorError, ProgramMissing
from appliance.history.store import History
from appliance.model.findings import DriftState
from appliance.model.runs import RunState
from tests.unit import drift_checks
from tests.unit.histories import begin
from tests.unit.test_confirming import NOW, stripe, with_history
from tests.unit.test_drift_history import SLOWER

JUDGE = evaluate.performance_facts


@pytest.fixture
def suspect(tmp_path, monkeypatch):
    """An appliance that has become slower on a target that is gone."""
    made = drift_checks.set_up(tmp_path, monkeypatch)
    monkeypatch.setattr(evaluate, "performance_facts", JUDGE)
    monkeypatch.setattr(fio_process, "find_fio", lambda: "fio-3.39")
    with_history(made.db, (40, stripe(1000.0)), (5, stripe(900.0)))
    with History.open_writable(made.db) as history, history._writer._connection as connection:
        connection.execute("UPDATE run SET target = ?", (str(tmp_path / "gone"),))
    return made


def asked(suspect, status, minutes):
    """At which minutes repeats were asked for and tried; a check every five."""
    found = []
    for minute in range(0, minutes, 5):
        checked = checking.check(suspect.db, now=NOW + minute * 60)
        # Rows of the future are a finding of their own.
        states = [one.state for one in checked.findings if one.fact.code != "HOST-CLOCK"]
        assert states == [DriftState.SUSPECT]
        if suspect.wanted.exists():
            found.append(minute)
            assert drift_confirm.confirm(db=suspect.db, as_json=False) == status
    return found


def test_a_target_that_is_gone_is_tried_every_half_hour(suspect, capsys):
    assert asked(suspect, EXIT_OK, 70) == [0, 30, 60]
    assert "PERF-SLOWER smoke/rand-read-4k read waits: " in capsys.readouterr().out


@pytest.mark.parametrize(
    "error", [ProgramMissing("fio"), OperatorError("the history is full", "make room")]
)
def test_so_is_what_failed_and_that_is_told(suspect, monkeypatch, capsys, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(runner, "run_suite", fail)
    assert asked(suspect, EXIT_FAILED, 70) == [0, 30, 60]
    assert f"waits: {error.message}" in capsys.readouterr().out


def test_a_clock_that_was_put_back_does_not_keep_it_from_being_asked(suspect):
    for now in (NOW + 86_400.0, NOW):
        checking.check(suspect.db, now=now)
        assert suspect.wanted.exists()
        suspect.wanted.unlink()
        assert check_summary.load(suspect.folder).asked_at == now


def test_repeats_that_were_made_when_the_clock_was_ahead_do_not_hide_it(suspect):
    with History.open_writable(suspect.db) as history:
        run_id = begin(history)
        history.finish_run(run_id, RunState.SKIPPED, "foreign load")
        with history._writer._connection as connection:
            connection.execute(
                "UPDATE run SET suite = 'confirm', started_at = ? WHERE id = ?",
                (NOW + 1e8, run_id),
            )
    assert asked(suspect, EXIT_OK, 40) == [0, 30]


def test_what_lies_in_its_place_is_neither_followed_nor_waited_for(watched, tmp_path):
    watched.has_run()
    watched.performance = [SLOWER]
    watched.wanted.symlink_to(tmp_path / "elsewhere")
    checking.check(watched.db)
    assert not (tmp_path / "elsewhere").exists()
    watched.wanted.unlink()
    os.mkfifo(watched.wanted)
    checking.check(watched.db)
    watched.wanted.unlink()
    assert check_summary.load(watched.folder).asked_at == 0.0, "nothing was asked"
    checking.check(watched.db)
    assert watched.wanted.exists()


@pytest.mark.parametrize("count", [5, 12])
def test_what_has_no_baseline_yet_is_not_called_judged(tmp_path, monkeypatch, capsys, count):
    made = drift_checks.set_up(tmp_path, monkeypatch)
    monkeypatch.setattr(evaluate, "performance_facts", JUDGE)
    with_history(made.db, (count, stripe(1000.0)))
    assert main.main(["drift", "check", "--db", str(made.db), "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)["looked_at"]["performance"]
    assert judged["judged"] is (count == 12)
    assert ("the longest series has 5" in judged["why"]) is (count == 5)
