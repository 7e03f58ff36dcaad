"""history.db: what is written is read back."""

import dataclasses
import json
import os
import sqlite3
from pathlib import Path

import pytest

from appliance.errors import OperatorError
from appliance.history import format as file_format
from appliance.history import queries, schema
from appliance.history.store import History
from appliance.model.runs import RunState, Sample
from appliance.system import liveness
from tests.unit.histories import FINGERPRINT, RESULT, begin, select

pytestmark = pytest.mark.usefixtures("journalled")


def test_a_result_comes_back_as_it_went_in(db):
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.add_result(run_id, RESULT, raw_report='{"jobs": []}')
        history.add_result(run_id, dataclasses.replace(RESULT, findings=()), raw_report="x")
    with queries.open_readonly(db) as reader:
        assert reader.results(run_id) == (RESULT, dataclasses.replace(RESULT, findings=()))
        assert reader.results(run_id + 1) == ()


def test_a_run_goes_through_its_phases_and_ends(db):
    with History.open_writable(db) as history, queries.open_readonly(db) as reader:
        run_id = begin(history)
        running = reader.run(run_id)
        assert running.state is RunState.RUNNING
        assert (running.phase, running.job_index, running.job_count) == ("check", 0, 5)
        assert running.pid == os.getpid()
        assert running.time_factor == 0.5
        history.begin_phase(run_id, "rand-read-4k", job_index=2, seconds=15)
        history.update_run(run_id, engine="libaio", notes=["io_uring does not work here"])
        now = reader.run(run_id)
        assert (now.phase, now.job_index, now.phase_seconds) == ("rand-read-4k", 2, 15)
        assert now.phase_started_at >= running.phase_started_at
        assert (now.engine, now.notes) == ("libaio", ("io_uring does not work here",))
        assert now.members == ("nvme0n1", "nvme1n1")
        history.finish_run(run_id, RunState.ABORTED, "stopped by SIGTERM")
        (ended,) = reader.runs(limit=1)
        assert (ended.state, ended.reason) == (RunState.ABORTED, "stopped by SIGTERM")
        assert ended.ended_at is not None


def test_runs_come_latest_first(db):
    with History.open_writable(db) as history:
        first, second, third = begin(history), begin(history), begin(history)
    with queries.open_readonly(db) as reader:
        assert [run.id for run in reader.runs(limit=2)] == [third, second]
        assert first < second < third


def test_samples_are_kept_as_they_are(db):
    samples = [Sample(at, "md0", 1.5, 2.5, 3.5, 4.5, 0.25, 0.5) for at in (10, 20, 30)]
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.add_samples(run_id, samples)
        history.add_samples(run_id, [])
    columns = ", ".join(field.name for field in dataclasses.fields(Sample))
    found = select(db, f"SELECT {columns} FROM sample WHERE run_id = ?", run_id)  # noqa: S608
    assert [Sample(*row) for row in found] == samples  # type: ignore[arg-type]


def test_the_same_surroundings_are_the_same_epoch(db):
    with History.open_writable(db) as history:
        assert history.current_epoch() is None
        first = history.ensure_epoch(FINGERPRINT)
        assert first.changed == {}
        assert history.ensure_epoch(dict(FINGERPRINT)) == first


def test_other_disks_open_an_epoch_that_says_what_changed(db):
    with History.open_writable(db) as history:
        first = history.ensure_epoch(FINGERPRINT)
        second = history.ensure_epoch({**FINGERPRINT, "serials": "AWS3,AWS4"})
        assert second.id > first.id
        assert second.changed == {"serials": ("AWS1,AWS2", "AWS3,AWS4")}
    with queries.open_readonly(db) as reader:
        assert reader.current_epoch() == second


def test_another_directory_has_epochs_of_its_own(db):
    with History.open_writable(db) as history:
        volume = history.ensure_epoch(FINGERPRINT)
        home = history.ensure_epoch({"kernel": "1"}, subject="directory /home")
        assert home.changed == {}
        assert history.current_epoch() == volume
        assert history.current_epoch("directory /home") == home


def test_the_audit_trail_keeps_argv_as_it_was(db):
    argv = ("mkfs.xfs", "-L", "a b\n", "/dev/md/x")
    with History.open_writable(db) as history:
        history.audit(plan_digest="d", step_index=1, argv=argv, state="started")
        history.audit(plan_digest="d", step_index=1, argv=argv, state="failed", detail="why")
        history.event("STEP_FAILED", "it failed", {"step": 1})
    before, last = select(db, "SELECT state, detail, argv FROM audit_step ORDER BY id")
    assert last[:2] == ("failed", "why")
    assert tuple(json.loads(str(last[2]))) == argv
    assert before[0] == "started"


@pytest.mark.parametrize("number", [7, 1 << 63, -(1 << 70)])
def test_a_run_that_is_not_there(db, number):
    with (
        History.open_writable(db),
        queries.open_readonly(db) as reader,
        pytest.raises(OperatorError, match="no run"),
    ):
        reader.run(number)


def test_half_a_result_is_no_result(db):
    with History.open_writable(db) as history:
        run_id = begin(history)
        twice = dataclasses.replace(RESULT, device_io=RESULT.device_io[:1] * 2)
        with pytest.raises(OperatorError):
            history.add_result(run_id, twice, raw_report="x")
    with queries.open_readonly(db) as reader:
        assert reader.results(run_id) == ()


def test_the_file_is_readable_by_all_and_needs_no_side_file(db):
    old = os.umask(0o077)
    try:
        with History.open_writable(db) as history:
            begin(history)
    finally:
        os.umask(old)
    assert db.stat().st_mode & 0o777 == 0o644
    assert [entry.name for entry in db.parent.iterdir()] == ["history.db"]


def test_opening_twice_makes_the_tables_once_and_references_are_enforced(db):
    for _ in range(2):
        with History.open_writable(db) as history:
            made = history._writer.all("SELECT name FROM sqlite_master WHERE type = 'table'")
            assert {row["name"] for row in made} == set(schema.TABLES)
            with pytest.raises(OperatorError, match="FOREIGN KEY"):
                history.add_result(99, RESULT, raw_report="x")


def test_reading_does_not_import_the_library_that_writes():
    import ast

    for module in (queries, file_format, liveness):
        tree = ast.parse(Path(module.__file__).read_text())
        named = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        } | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not any("sqlite_utils" in name or "schema" in name for name in named if name)


def test_a_writer_waits_for_another_and_then_says_busy(db, monkeypatch):
    with History.open_writable(db) as history:
        history._writer._connection.execute("PRAGMA busy_timeout = 50")
        other = sqlite3.connect(db)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(file_format.HistoryBusyError):
            begin(history)
        other.rollback()
        other.close()
        assert begin(history) == 1
