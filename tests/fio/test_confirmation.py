"""Suspects that real fio repeats: what is so is confirmed, and what is not is forgotten."""

from __future__ import annotations

import dataclasses
import functools
import random
import shutil
import time
from pathlib import Path

import pytest

from appliance.bench import directory, fingerprint, idle_check, job_order, runner, validity
from appliance.bench.suite import content_hash
from appliance.drift.series import acceptance, evaluate, remeasure
from appliance.history import queries, series_slots
from appliance.history.store import History
from appliance.model.confirmations import CONFIRM_SUITE, Verdict
from appliance.model.findings import DriftState
from appliance.model.measurement import JobResult
from appliance.model.runs import Job, RunState, Suite
from tests.unit.histories import select

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
_run_suite = runner.run_suite


def job(name: str) -> Job:
    return Job(name, "randread", 4096, iodepth=4, jobs=1, runtime_seconds=1.0)


def suite(*names: str) -> Suite:
    made = Suite("mini", "two short jobs", tuple(map(job, names)), "", files=1)
    return dataclasses.replace(made, content_hash=content_hash(made))


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_check, "WINDOW_SECONDS", 0.2)
    monkeypatch.setattr(directory, "MAX_BUDGET_BYTES", directory.MIN_BUDGET_BYTES)
    monkeypatch.setattr(job_order, "CONTROL_SECONDS", 1.0)
    # Valid wherever this test runs, whatever else uses the disk.
    monkeypatch.setattr(validity, "judge", lambda _: ())
    _hasten(monkeypatch, idle_check.Patience(1.0))
    # This machine's shell may itself be a unit's.
    monkeypatch.delenv("INVOCATION_ID", raising=False)


def _hasten(monkeypatch: pytest.MonkeyPatch, patience: idle_check.Patience) -> None:
    monkeypatch.setattr(runner, "run_suite", functools.partial(_run_suite, patience=patience))


def measured(place: Path) -> dict[str, JobResult]:
    """One real run, and what its jobs did. Its epoch is that of the directory."""
    run_id = runner.run_suite(suite("honest", "slower"), target=place, db=place / "history.db")
    with queries.open_readonly(place / "history.db") as reader:
        assert reader.run(run_id).state is RunState.COMPLETE
        return {result.job: result for result in reader.results(run_id)}


def add_slots(place: Path, slots: list[dict[str, JobResult]]) -> None:
    """Older runs, six hours apart, the last one now."""
    with History.open_writable(place / "history.db") as history:
        history._writer._connection.execute("PRAGMA synchronous = OFF")
        with queries.open_readonly(place / "history.db") as reader:
            (first,) = reader.runs(1)
        for results in slots:
            run_id = history.begin_run(
                suite("honest", "slower"),
                target=first.target,
                device=first.device,
                members=first.members,
                machine_type=first.machine_type,
                fio_version=first.fio_version,
                time_factor=1.0,
            )
            history.update_run(run_id, epoch_id=first.epoch_id)
            for result in results.values():
                history.add_result(run_id, result, raw_report="{}")
            history.finish_run(run_id, RunState.COMPLETE)
    now = time.time()
    for index, (run_id,) in enumerate(select(place / "history.db", "SELECT id FROM run")):
        at = now - (len(slots) - index) * 6 * 3600
        select(place / "history.db", "UPDATE run SET started_at = ? WHERE id = ?", at, run_id)


@pytest.mark.alone
def test_two_suspects_one_of_which_is_so(place):
    """Both series fell to a twentieth. What the disk does now is near the fallen level of the
    one, and above the old level of the other: by so much that no neighbour's load moves it.
    """
    db = place / "history.db"
    real = measured(place)
    source = random.Random(1)  # noqa: S311

    def slot(honest: float, slower: float) -> dict[str, JobResult]:
        return {
            name: dataclasses.replace(result, iops=result.iops * level * source.gauss(1.0, 0.01))
            for name, result, level in (
                ("honest", real["honest"], honest),
                ("slower", real["slower"], slower),
            )
        }

    add_slots(place, [slot(0.2, 20.0) for _ in range(39)])
    add_slots(place, [slot(0.01, 1.0) for _ in range(4)])
    # The only real run so far is one of the new level; both orders of time are by its number.
    suspects = evaluate.facts_of(db, now=time.time())
    assert {fact.code for fact in suspects} == {"PERF-SLOWER"}
    assert {fact.state for fact in suspects} == {DriftState.SUSPECT}
    assert len(suspects) == 2

    found = remeasure.repeat_suspects(db)
    assert found.waits == ()
    said = {one.subject: one for one in found.made}
    assert said["mini/slower read"].verdict is Verdict.CONFIRMED, said
    assert said["mini/honest read"].verdict is Verdict.NOT_REPEATED, said
    for one in found.made:
        assert len(one.repeats) == len(one.control) == 5
        # No disk is in it.
        assert min(one.control) > 2 * max(one.repeats)

    (fact,) = evaluate.facts_of(db, now=time.time())
    assert (fact.subject, fact.state) == ("mini/slower read", DriftState.CONFIRMED)
    with queries.open_readonly(db) as reader:
        (run,) = reader.runs(1)
        assert (run.suite, run.state) == (CONFIRM_SUITE, RunState.COMPLETE)
        # It is in the history, and in no series.
        (span,) = series_slots.spans(reader)
        assert {key.suite for key in span.series} == {"mini"}
        results = reader.results(run.id)
    order = [result.job for result in results]
    assert sorted(order[:4]) == ["control-honest", "control-slower", "honest", "slower"]
    assert len(order) == 20
    controls = [result for result in results if result.job.startswith("control-")]
    assert {(result.engine, result.findings) for result in controls} == {("null", ())}


def test_a_suspect_waits_while_others_use_the_disks(place, monkeypatch):
    db = place / "history.db"
    real = measured(place)
    add_slots(
        place,
        [
            {
                "slower": dataclasses.replace(
                    real["slower"], iops=(1000.0 if at < 16 else 500.0) + at % 7
                )
            }
            for at in range(21)
        ],
    )
    monkeypatch.setattr(idle_check, "foreign_load", lambda *_, **__: "foreign load: sda was busy")
    _hasten(monkeypatch, idle_check.Patience(seconds=0.0))
    found = remeasure.repeat_suspects(db)
    assert [(fact.subject, why) for fact, why in found.waits] == [
        ("mini/slower read", "foreign load: sda was busy")
    ]
    assert (found.made, found.failed) == ((), False)
    (fact,) = evaluate.facts_of(db, now=time.time())
    assert fact.state is DriftState.SUSPECT
    with queries.open_readonly(db) as reader:
        assert reader.runs(1)[0].state is RunState.SKIPPED


def test_acceptance_makes_the_run_that_is_missing(place, monkeypatch):
    db = place / "history.db"
    monkeypatch.setattr(remeasure, "load_suite", lambda _: dataclasses.replace(
        suite("honest"), name="smoke"))  # fmt: skip
    monkeypatch.setattr(fingerprint, "default_target", lambda: place)
    found = remeasure.accept(db)
    assert isinstance(found, acceptance.Acceptance)
    assert found.facts == ()
    with queries.open_readonly(db) as reader:
        suites = [run.suite for run in reader.runs(5)]
        assert suites == [CONFIRM_SUITE, "smoke"]
        (latest, _) = reader.runs(2)
        # The control jobs alone: no test files were written for them.
        assert {result.job for result in reader.results(latest.id)} == {"control-honest"}
        assert len(reader.results(latest.id)) == 3
        epoch = latest.epoch_id or 0
        assert len(series_slots.earlier_controls(reader, epoch, "control-honest", "read")) == 3
    # The second time the same run is judged.
    assert remeasure.accept(db).run_id == found.run_id
