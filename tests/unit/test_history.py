"""history.db: what is written is read back, and a broken file costs nothing but itself."""

import dataclasses
import json
import os
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from appliance import paths
from appliance.bench.suite import load_suite
from appliance.errors import OperatorError, UsageError
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
    rw="randread",
    host_cpu_percent=12.5,
)


@pytest.fixture
def db(tmp_path):
    return tmp_path / "history.db"


@pytest.fixture
def own_place(db, monkeypatch):
    """The appliance's own history, which is set aside whatever it holds."""
    monkeypatch.setattr(paths, "HISTORY_DB", db)
    return db


def select(db, sql: str, *values: object) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(db)
    try:
        with connection:
            return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


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


def test_old_samples_and_reports_go_when_a_run_ends_and_nothing_else_does(db):
    now, day = time.time(), 86_400
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.add_samples(
            run_id,
            [
                Sample(int((now - days * day) * 1e9), "md0", days, 0, 0, 0, 0, 0)
                for days in (13, 15, 400)
            ],
        )
        for days in (13, 89, 91):
            history.add_result(run_id, RESULT, raw_report="x")
            select(
                db,
                "UPDATE raw_report SET at = ? WHERE id = (SELECT max(id) FROM raw_report)",
                now - days * day,
            )
        history.finish_run(run_id, RunState.COMPLETE)
    assert select(db, "SELECT read_iops FROM sample") == [(13.0,)]
    assert select(db, "SELECT count(*), max(? - at) < 90 * 86400 FROM raw_report", now) == [(2, 1)]
    with queries.open_readonly(db) as reader:
        assert reader.results(run_id) == (RESULT,) * 3


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
    select(db, "UPDATE run SET seen_at = 1234.5")
    select(db, changed)
    with queries.open_readonly(db) as reader:
        seen = reader.run(run_id)
        assert reader.runs(limit=1) == (seen,)
    assert seen.state is RunState.ABORTED, "a reader cannot record it, and must not say running"
    assert seen.ended_at == 1234.5
    assert ("restarted" in seen.reason) == ("boot_id" in changed)
    assert ("bench reap" in seen.reason) == ("boot_id" not in changed)
    assert select(db, "SELECT state FROM run") == [("running",)]
    with History.open_writable(db) as history:
        assert [run.id for run in history.reaped] == [run_id]
        assert history.left_behind() == ("/mnt/scratch/.stripewright-bench",)
        history.mark_cleaned("/mnt/scratch/.stripewright-bench")
        assert history.left_behind() == ()
    with queries.open_readonly(db) as reader:
        run = reader.run(run_id)
    assert run.state is RunState.ABORTED
    assert run.ended_at == 1234.5
    assert "killed" in run.reason
    assert [name for name, _ in journalled] == ["RUN_ABORTED"]


def test_a_run_that_ends_while_it_is_read_has_not_been_killed(db, monkeypatch):
    with History.open_writable(db) as history:
        run_id = begin(history)

        def ends(*_: object) -> bool:
            history.finish_run(run_id, RunState.COMPLETE)
            return False

        monkeypatch.setattr(liveness, "is_alive", ends)
        with queries.open_readonly(db) as reader:
            assert reader.run(run_id).state is RunState.COMPLETE


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


@pytest.mark.parametrize(
    "content", [b"my thesis\n", b"x" * 5000, b"SQLite format 3\0" + b"\1" * 99]
)
def test_a_file_that_is_not_ours_is_never_touched(db, content, journalled):
    db.write_bytes(content)
    for opener in (History.open_writable, queries.open_readonly):
        with pytest.raises(UsageError, match="not a Stripewright history") as caught:
            opener(db)
        assert "--db" in caught.value.hint
    assert db.read_bytes() == content
    assert [entry.name for entry in db.parent.iterdir()] == ["history.db"]
    assert journalled == []


def test_an_empty_file_may_be_begun_in(db):
    db.touch()
    with History.open_writable(db) as history:
        assert begin(history) == 1


def test_no_link_is_followed_by_a_writer(db, tmp_path, monkeypatch):
    victim = tmp_path / "victim.db"
    with History.open_writable(victim):
        pass
    before = victim.read_bytes()
    db.symlink_to(victim)
    for own in (Path("/nowhere"), db):
        monkeypatch.setattr(paths, "HISTORY_DB", own)
        with pytest.raises(UsageError, match="symbolic link"):
            History.open_writable(db)
    assert db.is_symlink()
    assert victim.read_bytes() == before


def test_a_file_that_is_swapped_while_it_is_opened_is_not_written(db, tmp_path, monkeypatch):
    with History.open_writable(db):
        pass
    other = tmp_path / "other.db"
    shutil.copy(db, other)
    real = sqlite3.connect

    def swap(*args: object, **kwargs: object) -> sqlite3.Connection:
        db.unlink()
        db.symlink_to(other)
        return real(*args, **kwargs)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", swap)
    with pytest.raises(OperatorError, match="replaced while"):
        History.open_writable(db)


@pytest.mark.parametrize("made", ["directory", "fifo"])
def test_what_is_no_file_is_a_mistake(db, made):
    db.mkdir() if made == "directory" else os.mkfifo(db)
    with pytest.raises(UsageError, match=f"{db}.* (directory|regular)"):
        History.open_writable(db)
    if made == "directory":
        with pytest.raises(UsageError, match="directory"):
            queries.open_readonly(db)
    for opener in (History.open_writable, queries.open_readonly):
        with pytest.raises(UsageError, match="directory"):
            opener(Path())


@pytest.mark.parametrize(
    "planted",
    [
        "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM audit_step; END",
        "CREATE VIEW v AS SELECT * FROM run",
        "CREATE VIRTUAL TABLE f USING fts5(x)",
    ],
)
def test_a_schema_with_more_than_tables_is_set_aside(db, planted, journalled):
    with History.open_writable(db) as history:
        begin(history)
    select(db, planted)
    with History.open_writable(db) as history:
        assert history.set_aside is not None
        assert begin(history) == 1
    assert [name for name, _ in journalled] == ["HISTORY_DAMAGED"]


def test_both_sides_run_nothing_that_the_file_defines(db):
    with History.open_writable(db) as history, queries.open_readonly(db) as reader:
        for connection in (history._connection, reader._connection):
            assert connection.execute("PRAGMA trusted_schema").fetchone()[0] == 0
            assert connection.execute("PRAGMA cell_size_check").fetchone()[0] == 1


def test_setting_aside_twice_in_a_second_keeps_both(own_place):
    kept = set()
    for text in (b"one", b"two", b"three"):
        own_place.write_bytes(text)
        with History.open_writable(own_place) as history:
            assert history.set_aside is not None
            kept.add(history.set_aside.read_bytes())
    assert len(list(own_place.parent.glob("*.damaged-*"))) == len(kept) == 3


def test_another_programs_database_in_the_own_place_is_set_aside(own_place):
    select(own_place, "CREATE TABLE bookmarks (url TEXT)")
    with History.open_writable(own_place) as history:
        assert history.set_aside is not None
        assert begin(history) == 1


def test_a_file_that_is_no_database_is_set_aside_in_the_own_place(own_place, journalled):
    db = own_place
    db.write_bytes(b"this is not a database " * 500)
    with History.open_writable(db) as history:
        assert history.set_aside is not None
        assert history.set_aside.name.startswith("history.db.damaged-")
        assert history.set_aside.read_bytes().startswith(b"this is not")
        begin(history)
    assert [name for name, _ in journalled] == ["HISTORY_DAMAGED"]
    with queries.open_readonly(db) as reader:
        assert len(reader.runs(limit=1)) == 1


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


def test_a_reader_of_a_damaged_file_is_told(own_place):
    own_place.write_bytes(b"garbage" * 1000)
    with pytest.raises(OperatorError, match="damaged") as caught:
        queries.open_readonly(own_place)
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


def test_a_file_of_the_first_schema_is_read_as_it_is_and_brought_up_by_a_writer(db):
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.add_result(run_id, RESULT, raw_report="x")
        history.finish_run(run_id, RunState.ABORTED, "killed")
    for table, column in (("result", "rw"), ("result", "host_cpu_percent"), ("run", "files_left")):
        select(db, f"ALTER TABLE {table} DROP COLUMN {column}")
    select(db, "DELETE FROM _sqlite_migrations WHERE name LIKE 'm002%'")
    select(db, "PRAGMA user_version = 1")
    as_written_then = dataclasses.replace(RESULT, rw="", host_cpu_percent=None)
    with queries.open_readonly(db) as reader:
        assert reader.results(run_id) == (as_written_then,)
    with History.open_writable(db) as history:
        history.add_result(run_id, RESULT, raw_report="x")
        # Nobody wrote down then whether its files were removed: look once more.
        assert len(history.left_behind()) == 1
    with queries.open_readonly(db) as reader:
        assert reader.results(run_id) == (as_written_then, RESULT)


def test_a_reader_leaves_a_half_write_alone_though_it_might_undo_it(db, tmp_path):
    with History.open_writable(db) as history:
        begin(history)
        writing = history._connection
        writing.execute("PRAGMA cache_size = 5")
        writing.execute("BEGIN IMMEDIATE")
        for _ in range(500):
            writing.execute(
                "INSERT INTO event (at, code, message, fields) VALUES (1.0, 'X', ?, '{}')",
                ("y" * 500,),
            )
        # What a killed writer leaves: the same files, and nobody who holds a lock.
        killed = tmp_path / "killed" / "history.db"
        killed.parent.mkdir()
        for name in ("history.db", "history.db-journal"):
            shutil.copy(db.parent / name, killed.parent / name)
        writing.rollback()
    before = {file.name: file.read_bytes() for file in killed.parent.iterdir()}
    assert len(before) == 2
    with pytest.raises(OperatorError, match="unfinished write"):
        queries.open_readonly(killed)
    assert {file.name: file.read_bytes() for file in killed.parent.iterdir()} == before
    with History.open_writable(killed) as history:
        assert history._all("SELECT * FROM event") == []


def test_a_path_that_is_not_utf8(tmp_path):
    db = tmp_path / os.fsdecode(b"h\xffi#?%.db")
    with History.open_writable(db) as history:
        begin(history)
    with queries.open_readonly(db) as reader:
        assert len(reader.runs(limit=5)) == 1


def test_a_directory_that_cannot_be_read(db, monkeypatch):
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", forbidden)
    with pytest.raises(OperatorError, match="Permission denied") as caught:
        queries.open_readonly(db)
    assert caught.value.hint


@pytest.mark.parametrize("number", [7, 1 << 63, -(1 << 70)])
def test_a_run_that_is_not_there(db, number):
    with (
        History.open_writable(db),
        queries.open_readonly(db) as reader,
        pytest.raises(OperatorError, match="no run"),
    ):
        reader.run(number)


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
            assert applied[0]["name"] == "m001_first"
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be tricked like that")
def test_root_writes_no_history_in_somebody_elses_directory(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    with pytest.raises(UsageError, match="directory of another user"):
        History.open_writable(theirs / "history.db")
    assert list(theirs.iterdir()) == []
