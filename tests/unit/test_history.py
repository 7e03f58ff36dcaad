"""history.db: what is written is read back, and a broken file costs nothing but itself."""

import dataclasses
import os
import sqlite3

import pytest

from appliance.bench.suite import load_suite
from appliance.errors import OperatorError
from appliance.history import format as file_format
from appliance.history import liveness, queries
from appliance.history.store import History
from appliance.model import Counters, Finding, JobResult, RunState, Sample, Severity
from appliance.system import journal

FINGERPRINT = {
    "serials": "AWS1,AWS2",
    "stripe": "md-raid0 chunk=262144 members=2",
    "filesystem": "xfs",
    "mount_options": "rw,nodev",
    "kernel": "6.12.1",
    "fio": "fio-3.39",
    "machine_type": "i3.4xlarge",
}

RESULT = JobResult(
    job="rand-read-4k",
    direction="read",
    engine="io_uring",
    block_size_bytes=4096,
    iops=581_387.0,
    bandwidth_bytes=2.4e9,
    io_bytes=4096 * 1000,
    total_ios=1000,
    latency_mean_ns=879_880.5,
    percentiles_ns={"1.000000": 1000, "99.000000": 2_008_000},
    bins={1000: 10, 2_000_000: 990},
    runtime_ms=30_000,
    runtime_asked_ms=30_000,
    jobs=16,
    iodepth=32,
    errors=0,
    cpu_percent=55.5,
    device_bytes=4096 * 709,
    device_deltas=(
        Counters("md0", 709, 4096 * 709, 5, 0, 0, 0, 0, 30_000),
        Counters("nvme0n1", 355, 4096 * 355, 5, 0, 0, 0, 1, 29_000),
    ),
    findings=(
        Finding("COVERAGE", Severity.BLOCK, "71 %", 0.709, 0.98, 412_279.0, "iops"),
        Finding("DEPTH", Severity.WARN, "a reason"),
    ),
    published_iops=825_000.0,
)


@pytest.fixture
def db(tmp_path):
    return tmp_path / "history.db"


@pytest.fixture(autouse=True)
def journalled(monkeypatch):
    said = []
    monkeypatch.setattr(
        journal, "event", lambda event, message, **_: said.append((event.name, message))
    )
    return said


def begin(history: History) -> int:
    return history.begin_run(
        load_suite("smoke"),
        target="/mnt/scratch/.stripewright-bench",
        device="md0",
        members=("nvme0n1", "nvme1n1"),
        machine_type="i3.4xlarge",
        fio_version="fio-3.39",
        time_factor=0.5,
    )


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
        ended = reader.latest_run()
        assert ended is not None
        assert (ended.state, ended.reason) == (RunState.ABORTED, "stopped by SIGTERM")
        assert ended.ended_at is not None


def test_runs_come_latest_first(db):
    with History.open_writable(db) as history:
        first, second, third = begin(history), begin(history), begin(history)
    with queries.open_readonly(db) as reader:
        assert [run.id for run in reader.runs(limit=2)] == [third, second]
        assert first < second < third


def test_samples_after_a_moment(db):
    samples = [Sample(at, "md0", 1.5, 2.5, 3.5, 4.5, 0.25, 0.5) for at in (10, 20, 30)]
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.add_samples(run_id, samples)
        history.add_samples(run_id, [])
    with queries.open_readonly(db) as reader:
        assert reader.samples(run_id) == tuple(samples)
        assert reader.samples(run_id, since_ns=10) == tuple(samples[1:])


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
        assert reader.epoch(first.id) == first


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
    with queries.open_readonly(db) as reader:
        last, before = reader.audit(limit=5)
    assert (last.state, last.detail, last.argv) == ("failed", "why", argv)
    assert before.state == "started"


# --------------------------------------------------------------------------- dead runs


def test_a_run_of_a_living_process_is_left_alone(db):
    with History.open_writable(db) as history:
        run_id = begin(history)
    with History.open_writable(db) as again, queries.open_readonly(db) as reader:
        assert again.reaped == ()
        assert reader.run(run_id).state is RunState.RUNNING


@pytest.mark.parametrize(
    "changed",
    [
        "UPDATE run SET pid_start_ticks = 1",
        "UPDATE run SET boot_id = 'an earlier boot'",
        "UPDATE run SET pid = 4194305",
    ],
)
def test_a_run_without_its_process_is_aborted_at_its_last_sign_of_life(db, changed, journalled):
    with History.open_writable(db) as history:
        run_id = begin(history)
    connection = sqlite3.connect(db)
    connection.execute("UPDATE run SET seen_at = 1234.5")
    connection.execute(changed)
    connection.commit()
    connection.close()
    with History.open_writable(db) as history:
        assert [run.id for run in history.reaped] == [run_id]
    with queries.open_readonly(db) as reader:
        run = reader.run(run_id)
    assert run.state is RunState.ABORTED
    assert run.ended_at == 1234.5
    assert "killed" in run.reason
    assert [name for name, _ in journalled] == ["RUN_ABORTED"]


def test_start_ticks_survive_a_hostile_process_name(tmp_path):
    (tmp_path / "7").mkdir()
    fields = ["S", *("0" for _ in range(18)), "4711", "0"]
    (tmp_path / "7" / "stat").write_text(f"7 (a) b (c) {' '.join(fields)}\n")
    assert liveness.start_ticks(7, tmp_path) == 4711
    fields[0] = "Z"
    (tmp_path / "7" / "stat").write_text(f"7 (a) {' '.join(fields)}\n")
    assert liveness.start_ticks(7, tmp_path) is None
    assert liveness.start_ticks(8, tmp_path) is None


# ------------------------------------------------------------------------- broken files


def test_a_file_that_is_no_database_is_set_aside(db, journalled):
    db.write_bytes(b"this is not a database " * 500)
    with History.open_writable(db) as history:
        assert history.set_aside is not None
        assert history.set_aside.name.startswith("history.db.damaged-")
        assert history.set_aside.read_bytes().startswith(b"this is not")
        begin(history)
    assert [name for name, _ in journalled] == ["HISTORY_DAMAGED"]
    with queries.open_readonly(db) as reader:
        assert reader.latest_run() is not None


def test_pages_overwritten_in_the_middle_are_found_and_set_aside(db):
    with History.open_writable(db) as history:
        run_id = begin(history)
        for _ in range(20):
            history.add_result(run_id, RESULT, raw_report="x" * 10_000)
    with db.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(db.stat().st_size - 8192))
    with pytest.raises(OperatorError), queries.open_readonly(db) as reader:
        reader.results(run_id)
    with History.open_writable(db) as history:
        assert history.set_aside is not None
        assert begin(history) == 1


def test_a_reader_of_a_damaged_file_is_told(db):
    db.write_bytes(b"garbage" * 1000)
    with pytest.raises(OperatorError, match="damaged") as caught:
        queries.open_readonly(db)
    assert "sets it aside" in caught.value.hint


def test_a_value_that_cannot_be_decoded_is_an_operator_error(db):
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.add_result(run_id, RESULT, raw_report="x")
    connection = sqlite3.connect(db)
    connection.execute("UPDATE histogram SET bins = x'00'")
    connection.commit()
    connection.close()
    with queries.open_readonly(db) as reader, pytest.raises(OperatorError, match="damaged"):
        reader.results(run_id)


def test_no_file_and_an_empty_file_have_a_hint(db):
    for _ in range(2):
        with pytest.raises(OperatorError) as caught:
            queries.open_readonly(db)
        assert "bench run smoke" in caught.value.hint
        db.touch()


def test_another_programs_database_is_never_written(db):
    connection = sqlite3.connect(db)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.commit()
    connection.close()
    before = db.read_bytes()
    for opener in (History.open_writable, queries.open_readonly):
        with pytest.raises(OperatorError, match="not a Stripewright history"):
            opener(db)
    assert db.read_bytes() == before


def test_a_later_versions_file_is_left_alone(db):
    with History.open_writable(db):
        pass
    connection = sqlite3.connect(db)
    connection.execute(f"PRAGMA user_version = {file_format.SCHEMA_VERSION + 1}")
    connection.close()
    for opener in (History.open_writable, queries.open_readonly):
        with pytest.raises(OperatorError, match="schema version"):
            opener(db)


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(OperatorError, match="cannot make history") as caught:
        History.open_writable(tmp_path / "no" / "history.db")
    assert "--db" in caught.value.hint


def test_a_writer_waits_for_another_and_then_says_busy(db, monkeypatch):
    with History.open_writable(db) as history:
        history._connection.execute("PRAGMA busy_timeout = 50")
        other = sqlite3.connect(db)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(file_format.HistoryBusyError):
            begin(history)
        other.rollback()
        other.close()
        assert begin(history) == 1


def test_half_a_result_is_no_result(db):
    with History.open_writable(db) as history:
        run_id = begin(history)
        twice = dataclasses.replace(RESULT, device_deltas=RESULT.device_deltas[:1] * 2)
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


def test_opening_twice_migrates_once_and_references_are_enforced(db):
    for _ in range(2):
        with History.open_writable(db) as history:
            applied = history._all("SELECT name FROM _sqlite_migrations")
            assert [row["name"] for row in applied] == ["m001_first"]
            assert len(applied) == file_format.SCHEMA_VERSION
            with pytest.raises(OperatorError, match="FOREIGN KEY"):
                history.add_result(99, RESULT, raw_report="x")


def test_reading_does_not_import_the_library_that_writes():
    import ast
    from pathlib import Path

    for module in (queries, file_format, liveness):
        tree = ast.parse(Path(module.__file__).read_text())
        named = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        } | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not any("sqlite_utils" in name or "schema" in name for name in named if name)
