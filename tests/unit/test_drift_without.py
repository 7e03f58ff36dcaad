"""A drift check without an appliance, without a history, or with one that cannot be written."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import platform
import sqlite3
from pathlib import Path

import pytest

from appliance import paths
from appliance.cli.main import main
from appliance.drift import collect
from appliance.drift.rules import environment_rules
from appliance.drift.series import evaluate
from appliance.errors import EXIT_DRIFT, EXIT_FAILED, EXIT_OK, EXIT_USAGE
from appliance.history import opening, published, queries
from appliance.history.format import HistoryBusyError
from appliance.model.findings import DriftState
from tests.unit.drift_checks import KERNEL
from tests.unit.histories import select
from tests.unit.test_drift_history import FACT, SLOWER

# -------------------------------------------------------------------- no appliance, no history


def test_on_a_laptop_only_the_runs_of_the_history_are_judged(watched, drift):
    watched.has_run()
    watched.state.unlink()
    watched.layout, watched.performance = [FACT], [SLOWER]
    status, found = drift("check")
    assert (status, [one["code"] for one in found["findings"]]) == (EXIT_OK, ["PERF-SLOWER"])
    assert found["looked_at"]["layout"]["why"] == "there is no appliance here"
    assert found["notes"] == ["only the runs in the history were judged"]
    assert watched.told == [], "nothing about another machine goes into this one's journal"


@pytest.mark.parametrize("name", ["another", platform.node(), ""])
def test_on_the_appliance_a_copied_history_is_not_mixed_up(watched, drift, name):
    watched.has_run()
    select(watched.db, "UPDATE host SET name = ?", name)
    copy = watched.db.with_name("copy.db")
    copy.write_bytes(watched.db.read_bytes())
    watched.layout = [FACT]
    status, found = drift("check", db=copy)
    assert (status, found["findings"]) == (EXIT_OK, [])
    assert found["looked_at"]["layout"]["why"] == f"{copy} is not this machine's own history"
    assert watched.told == []
    assert drift("check")[0] == EXIT_DRIFT, "a machine that was given another name is still itself"


def test_no_history_and_no_appliance_is_an_error(watched, drift):
    watched.state.unlink()
    status, said = drift("check")
    assert status == EXIT_FAILED
    assert "there is no history at" in said


def test_a_file_that_is_no_history_is_an_error_and_left_alone(watched, drift, tmp_path):
    foreign = tmp_path / "notes.txt"
    foreign.write_text("not a database\n" * 100)
    watched.layout = [FACT]
    status, said = drift("check", db=foreign)
    assert (status, "is not a Stripewright history" in said) == (EXIT_USAGE, True)
    assert foreign.read_text() == "not a database\n" * 100
    status, said = drift("check", db=tmp_path / "none.db")
    assert (status, "there is no history at" in said) == (EXIT_FAILED, True)
    assert not (tmp_path / "none.db").exists()
    assert watched.told == []


def test_what_is_read_from_a_history_is_not_closed_while_it_cannot_be_read(
    watched, drift, monkeypatch
):
    watched.has_run()
    kernel = [KERNEL]
    monkeypatch.setattr(environment_rules, "judge", lambda _, **__: tuple(kernel))
    drift("check")
    kernel.clear()
    with monkeypatch.context() as patched:
        patched.setattr(collect.queries, "open_readonly", _busy)
        status, found = drift("check")
    assert (status, [one["id"] for one in found["findings"]]) == (EXIT_OK, [1])
    assert "cannot be read" in found["looked_at"]["environment"]["why"]


def test_a_defect_in_judging_runs_does_not_hide_what_the_disks_are_like(
    watched, drift, monkeypatch, capsys
):
    watched.has_run()
    watched.performance = [dataclasses.replace(SLOWER, state=DriftState.CONFIRMED)]
    drift("check")
    watched.has_run()
    watched.layout = [FACT]
    with monkeypatch.context() as patched:
        patched.setattr(evaluate, "performance_facts", _divide)
        for times in range(2):
            status = main(["drift", "check", "--db", str(watched.db), "--json"])
            printed = capsys.readouterr()
            found = json.loads(printed.out)
            codes = {one["code"] for one in found["findings"]}
            assert (status, codes) == (EXIT_DRIFT, {"MEMBER-SWAPPED", "PERF-SLOWER"})
            assert found["looked_at"]["performance"] == {
                "judged": False,
                "why": "an internal error: ZeroDivisionError: by what?",
            }
            # Whoever mends it needs the place; once a day is enough for the journal.
            assert ("in _divide" in printed.err) == (times == 0)
    watched.performance = []
    assert [one["code"] for one in drift("check")[1]["findings"]] == ["MEMBER-SWAPPED"]


def _divide(*_: object, **__: object) -> None:
    raise ZeroDivisionError("by what?")


def _busy(_: Path) -> queries.Reader:
    raise HistoryBusyError("history is in use by another process", "try again")


# ------------------------------------------------------------------------- cannot be written


@pytest.fixture
def read_only(watched, monkeypatch):
    """Files that the user may only read; root may write everything, so SQLite is told instead."""
    make = sqlite3.connect

    def connect(name, **kwargs):
        if str(name).startswith("file:"):
            return make(name, **kwargs)
        return make(f"file:{name}?mode=ro", uri=True)

    monkeypatch.setattr(opening.sqlite3, "connect", connect)


def test_what_cannot_be_kept_is_printed_and_told_once(watched, drift, monkeypatch, request):
    watched.has_run()
    watched.layout = [FACT]
    request.getfixturevalue("read_only")
    for _ in range(3):
        status, found = drift("check")
        assert status == EXIT_DRIFT
        assert [one["id"] for one in found["findings"]] == [None]
        assert any(note.startswith("nothing was kept: ") for note in found["notes"])
    assert [told["drift_finding"] for told in watched.told] == [""]


def test_what_was_judged_and_could_not_be_kept_is_judged_again(watched, drift, monkeypatch):
    watched.has_run()
    watched.performance = [SLOWER]
    with monkeypatch.context() as patched:
        patched.setattr(opening, "_WAIT_SECONDS", 0.05)
        with contextlib.closing(sqlite3.connect(published.live(watched.db))) as other:
            other.execute("BEGIN IMMEDIATE")
            assert [one["id"] for one in drift("check")[1]["findings"]] == [None]
            other.rollback()
    assert [one["id"] for one in drift("check")[1]["findings"]] == [1]


def test_somebody_who_cannot_remember_tells_the_journal_nothing(
    watched, drift, request, monkeypatch
):
    watched.has_run()
    watched.layout = [FACT]
    request.getfixturevalue("read_only")
    monkeypatch.setattr(paths, "DRIFT_RUN_DIR", watched.folder / "none")
    assert drift("check")[0] == EXIT_DRIFT
    assert watched.told == []


def test_a_locked_history_is_busy_and_the_answer_still_right(watched, drift, monkeypatch):
    watched.has_run()
    watched.layout = [FACT]
    monkeypatch.setattr(opening, "_WAIT_SECONDS", 0.05)
    with contextlib.closing(sqlite3.connect(published.live(watched.db))) as other:
        other.execute("BEGIN IMMEDIATE")
        status, found = drift("check")
        other.rollback()
    assert status == EXIT_DRIFT
    assert any("in use by another process" in note for note in found["notes"])
    status, found = drift("check")
    assert [one["id"] for one in found["findings"]] == [1]
