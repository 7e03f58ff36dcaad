"""Real fio on real files: a run and every way in which it can end.

Needs fio; some tests need root and are skipped without. Run times are one second a job.
"""

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from appliance.bench import directory, idle_check, run_log, runner
from appliance.bench import fio as fio_module
from appliance.bench.suite import load_suite, parse_suite
from appliance.errors import OperatorError, ProgramMissing, Refused, UsageError
from appliance.history import queries
from appliance.history.store import History
from appliance.model.runs import RunState, Suite
from appliance.system import process
from tests.fio.runs import fio_processes, running_smoke, the_run

IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="needs root")

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """The smallest budget, and a short look at foreign load: tests run beside other tests."""
    monkeypatch.setattr(idle_check, "WINDOW_SECONDS", 0.2)
    monkeypatch.setattr(directory, "MAX_BUDGET_BYTES", directory.MIN_BUDGET_BYTES)


def one_job(rw: str = "randread", iodepth: int = 8) -> Suite:
    return parse_suite(
        "one",
        f'summary = "s"\n[[job]]\nname = "only"\nrw = "{rw}"\nblock_size = "4KiB"\n'
        f"iodepth = {iodepth}\njobs = 2\nruntime_seconds = 1\n",
    )


def measure(suite: Suite, place: Path, **changes: object) -> int:
    """Run on a machine that may be busy with other tests."""
    arguments = {"target": place, "db": place / "history.db", "patience": idle_check.Patience(1.0)}
    return runner.run_suite(suite, **(arguments | changes))  # type: ignore[arg-type]


def rows(place: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{place}/history.db?mode=ro", uri=True)
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def left_over(place: Path) -> list[str]:
    return sorted(entry.name for entry in place.rglob("data.*"))


# --------------------------------------------------------------------- a complete run


def test_smoke_is_measured_judged_and_kept(place):
    seen = []
    run_id = measure(load_suite("smoke"), place, time_factor=0.01, on_progress=seen.append)
    with queries.open_readonly(place / "history.db") as reader:
        run, results = reader.run(run_id), reader.results(run_id)
    samples = rows(place, "SELECT device, read_iops FROM sample WHERE run_id = ?", run_id)
    assert rows(place, "SELECT count(*) FROM epoch WHERE id = ?", run.epoch_id) == [(1,)]
    assert run.state is RunState.COMPLETE
    assert run.engine in fio_module.ENGINES
    assert [result.job for result in results] == [job.name for job in load_suite("smoke").jobs]
    for result in results:
        assert result.iops > 0
        assert result.runtime_ms >= 980
        assert sum(result.bins.values()) == result.total_ios
        assert result.io_bytes == result.total_ios * result.block_size_bytes
        assert result.host_cpu_percent is not None
        assert 0 < result.host_cpu_percent <= 100
        assert "SHORT" not in {finding.code for finding in result.findings}
    if run.members:
        # Files written in full and read directly: every byte comes from the disks.
        assert all(result.coverage >= 0.98 for result in results if result.direction == "read")
        assert {device for device, _ in samples} == {run.device, *run.members}
        assert max(read_iops for _, read_iops in samples) > 100
    assert {progress.phase for progress in seen} >= {"prepare", "seq-read-1m", "rand-write-4k"}
    assert not (place / ".stripewright-bench").exists()


def test_an_engine_that_ignores_the_depth_is_found_out(place, monkeypatch):
    monkeypatch.setattr(fio_module, "ENGINES", ("psync",))
    run_id = measure(one_job(iodepth=8), place)
    with queries.open_readonly(place / "history.db") as reader:
        (result,) = reader.results(run_id)
    assert result.engine == "psync"
    assert not result.valid
    assert "DEPTH" in {finding.code for finding in result.findings}


def test_an_engine_that_does_not_work_here_is_passed_over_and_named(place, monkeypatch):
    monkeypatch.setattr(fio_module, "ENGINES", ("cpuio", "psync"))
    measure(one_job(iodepth=1), place)
    run = the_run(place)
    # fio knows 'cpuio', but it takes no such job.
    assert run.engine == "psync"
    assert any("cpuio does not work here" in note for note in run.notes)


def test_an_engine_that_a_job_is_fixed_to_and_that_does_not_work_ends_the_run(place, monkeypatch):
    suite = parse_suite(
        "one",
        'summary = "s"\n[[job]]\nname = "only"\nrw = "read"\nblock_size = "4KiB"\n'
        'iodepth = 1\njobs = 1\nengine = "libaio"\nruntime_seconds = 1\n',
    )
    monkeypatch.setattr(fio_module, "ENGINES", ("psync",))
    with pytest.raises(OperatorError, match="asks for engine libaio"):
        measure(suite, place)
    assert the_run(place).state is RunState.FAILED


# ------------------------------------------------------------------------ other ends


def gone(place: Path) -> bool:
    deadline = time.monotonic() + 10
    while fio_processes(place) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not fio_processes(place)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_ends_fio_removes_its_files_and_says_so(place, number):
    with running_smoke(place) as child:
        child.send_signal(number)
        assert child.wait(30) == 0
    run = the_run(place)
    assert run.state is RunState.ABORTED
    assert number.name in run.reason
    assert gone(place)
    assert left_over(place) == []


def test_a_killed_run_is_found_and_the_next_one_works(place):
    with running_smoke(place) as child:
        assert left_over(place)
        child.kill()
        child.wait()
    assert rows(place, "SELECT state FROM run") == [("running",)]
    seen = the_run(place)
    assert (seen.state, "the next run records it" in seen.reason) == (RunState.ABORTED, True)
    assert gone(place), "fio must die with the process that started it"
    assert runner.reap(place / "history.db") == 1
    assert left_over(place) == []
    killed = the_run(place)
    assert killed.state is RunState.ABORTED
    assert killed.ended_at is not None
    next_id = measure(one_job(), place)
    assert next_id == killed.id + 1
    assert the_run(place).state is RunState.COMPLETE
    connection = sqlite3.connect(place / "history.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_second_run_in_the_same_place_is_refused(place):
    with running_smoke(place):
        with pytest.raises(Refused, match="another run"):
            measure(one_job(), place)
        refused = the_run(place)
    assert (refused.suite, refused.state) == ("one", RunState.SKIPPED)
    assert "another run" in refused.reason


def test_foreign_load_is_a_row_with_the_reason(place):
    measure(one_job(), place, patience=idle_check.Patience(-1.0, 0.0))
    run = the_run(place)
    if not run.members:
        pytest.skip("the temporary directory has no block device")
    assert run.state is RunState.SKIPPED
    assert "foreign load" in run.reason
    assert left_over(place) == []


def test_the_next_run_removes_what_a_killed_one_left_elsewhere(place):
    with running_smoke(place) as child:
        child.kill()
        child.wait()
    assert gone(place)
    assert left_over(place)
    with History.open_writable(place / "history.db"):
        pass  # marks the run, as the boot unit does, and removes nothing
    (place / "elsewhere").mkdir()
    measure(one_job(), place, target=place / "elsewhere")
    assert left_over(place) == []


def test_the_row_is_closed_though_the_last_samples_cannot_be_written(place, monkeypatch):
    def full(*_: object) -> None:
        raise OperatorError("history: database or disk is full", "make room")

    monkeypatch.setattr(History, "add_samples", full)
    monkeypatch.setattr(run_log, "WRITE_SECONDS", 3600.0)
    measure(one_job(), place)
    assert rows(place, "SELECT state FROM run") == [("complete",)]


def test_a_relative_target_is_kept_as_an_absolute_one(place, monkeypatch):
    monkeypatch.chdir(place)
    measure(one_job(), place, target=Path())
    assert the_run(place).target == str(place / ".stripewright-bench")


def test_a_file_that_is_no_history_is_left_alone_and_nothing_is_measured(place):
    (place / "history.db").write_bytes(b"thesis" * 1000)
    with pytest.raises(UsageError, match="not a Stripewright history"):
        measure(one_job(), place)
    assert (place / "history.db").read_bytes() == b"thesis" * 1000
    assert [entry.name for entry in place.iterdir()] == ["history.db"]


def test_a_damaged_history_is_set_aside_and_the_run_goes_on(place):
    measure(one_job(), place)
    with (place / "history.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\0not a database" * 4096)
    measure(one_job(), place)
    assert the_run(place).state is RunState.COMPLETE
    assert len(list(place.glob("history.db.damaged-*"))) == 1


# -------------------------------------------------------------------------- bad input


def test_no_fio(place, monkeypatch):
    monkeypatch.setattr(process, "find_program", lambda _: None)
    with pytest.raises(ProgramMissing) as caught:
        measure(one_job(), place)
    assert caught.value.exit_code == 1
    assert "install" in caught.value.hint
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf")])
def test_a_time_factor_that_makes_no_sense(place, factor):
    with pytest.raises(UsageError, match="time factor"):
        measure(one_job(), place, time_factor=factor)


@needs_root
def test_a_target_without_space_is_refused_and_kept_as_a_row(place):
    full = place / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "none", str(full)], check=True)
    try:
        # An older kernel's tmpfs does no direct I/O, which is a clear error of its own.
        with pytest.raises((Refused, OperatorError)) as caught:
            measure(one_job(), place, target=full)
        assert "\n" not in caught.value.message
        if isinstance(caught.value, Refused):
            assert caught.value.exit_code == 3
            run = the_run(place)
            assert run.state is RunState.SKIPPED
            assert "not enough space" in run.reason
            assert any("no block device" in note for note in run.notes)
        assert list(full.iterdir()) == []
    finally:
        subprocess.run(["umount", str(full)], check=True)
