"""Which runs are asked for to confirm a suspect, and of which history."""

from __future__ import annotations

import dataclasses

from appliance.bench.suite import load_suite
from appliance.drift.series import remeasure
from appliance.model.measurement import Finding, Severity
from tests.unit import test_confirming
from tests.unit.test_confirming import EVEN, MODE, SLOW, confirm, measures, stripe, with_history

own, runs = test_confirming._own, test_confirming.runs


def test_the_own_history_is_its_own_under_another_name(tmp_path, runs, capsys, monkeypatch):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    measures["suspect"] = lambda job, index: stripe(900.0)
    monkeypatch.setattr(remeasure.platform, "node", lambda: "renamed")
    assert confirm(db, capsys)["waiting"] == []
    assert len(runs) == 1


def test_the_steady_state_of_the_suite_is_asked_of_its_repeats(tmp_path, runs, capsys, monkeypatch):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    measures["suspect"] = lambda job, index: stripe(900.0)
    steady = dataclasses.replace(load_suite("smoke"), steady=True)
    monkeypatch.setattr(remeasure, "load_suite", lambda _: steady)
    confirm(db, capsys)
    ((suite, _),) = runs
    assert suite.steady


def test_a_suite_that_was_changed_since_is_repeated_as_it_was(tmp_path, runs, capsys, monkeypatch):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (5, stripe(900.0)))
    measures["suspect"] = lambda job, index: stripe(900.0)
    smoke = load_suite("smoke")
    others = tuple(dataclasses.replace(job, block_size_bytes=8192) for job in smoke.jobs)
    changed = dataclasses.replace(smoke, jobs=others, content_hash="another")
    monkeypatch.setattr(remeasure, "load_suite", lambda _: changed)
    confirm(db, capsys)
    ((suite, _),) = runs
    assert suite.jobs[0] == next(job for job in smoke.jobs if job.name == "rand-read-4k")


def test_another_member_that_is_slow_is_no_answer(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0, EVEN)), (5, stripe(500.0, SLOW)))
    measures["suspect"] = lambda job, index: stripe(500.0, tuple(reversed(SLOW)))
    found = {one["code"]: one for one in confirm(db, capsys)["confirmations"]}
    assert found["PERF-MEMBER"]["verdict"] == "not_repeated"
    assert found["PERF-MEMBER"]["words"] == "AWS3 is the slow member in 0 of 5 repeats"


def test_a_mode_in_results_that_are_not_valid_is_no_answer(tmp_path, runs, capsys):
    db = tmp_path / "history.db"
    with_history(db, (40, stripe(1000.0)), (3, stripe(1000.0, bins=MODE)))
    blocked = (Finding("COVERAGE", Severity.BLOCK, "71 %"),)
    measures["suspect"] = lambda job, index: dataclasses.replace(
        stripe(1000.0, bins=MODE), findings=blocked
    )
    (one,) = confirm(db, capsys)["confirmations"]
    assert (one["code"], one["verdict"]) == ("PERF-LATENCY-MODE", "unclear")
    assert one["words"] == "only 0 of 5 repeats gave valid results; 4 are needed"
