"""Whole checks: a machine of files is looked at, judged, kept and told."""

from __future__ import annotations

import json

import pytest

from appliance import paths
from appliance.cli.main import main
from appliance.drift.looks import observe
from appliance.errors import EXIT_DRIFT, EXIT_OK
from appliance.system import journal
from tests.unit import drift_machine


@pytest.fixture
def machine(tmp_path, monkeypatch):
    made = drift_machine.Machine(tmp_path)
    made.boot()
    look = observe.look
    monkeypatch.setattr(observe, "look", lambda: look(made.sources))
    monkeypatch.setattr(paths, "STATE_FILE", tmp_path / "state.json")
    monkeypatch.setattr(paths, "HISTORY_DB", tmp_path / "history.db")
    monkeypatch.setattr(paths, "DRIFT_RUN_DIR", tmp_path / "none")
    return made


def test_a_member_is_pulled_and_told_once(machine, tmp_path, capsys, monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(journal, "message", lambda name, *_, **__: told.append(name))

    def check():
        status = main(["drift", "check", "--json", "--db", str(tmp_path / "history.db")])
        found = json.loads(capsys.readouterr().out)
        assert found["looked_at"]["layout"]["judged"]
        return status, [(one["code"], one["volume"]) for one in found["findings"]]

    assert check() == (EXIT_OK, [])
    machine.pull("nvme3n1")
    status, found = check()
    assert status == EXIT_DRIFT
    assert ("MEMBER-MISSING", "scratch") in found
    assert told.count("drift-member-missing") == 1
    assert check() == (status, found)
    assert told.count("drift-member-missing") == 1
