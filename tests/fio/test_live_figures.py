"""Real fio, asked for its figures while it measures: what is told, and what is not disturbed."""

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from appliance.bench import directory, fio_process, idle_check, runner
from appliance.bench.live_file import LiveJob, read_live
from appliance.bench.suite import parse_suite
from appliance.errors import OperatorError
from appliance.history import queries
from appliance.history.store import History
from appliance.model.measurement import JobResult
from appliance.model.runs import RunState, Suite
from appliance.system import process
from tests.fio.runs import fio_processes, the_run

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")

SECONDS = 5


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked each second, and left alone in the last two of five."""
    monkeypatch.setattr(idle_check, "WINDOW_SECONDS", 0.2)
    monkeypatch.setattr(directory, "MAX_BUDGET_BYTES", directory.MIN_BUDGET_BYTES)
    monkeypatch.setattr(fio_process, "LEAST_SECONDS", 1.0)
    monkeypatch.setattr(fio_process, "QUIET_SECONDS", 2.0)


@pytest.fixture
def unit(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that systemd makes for a unit, and sets in its environment."""
    folder = place / "run" / "stripewright-bench@only"
    folder.mkdir(parents=True)
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(folder))
    return folder


def suite(rw: str = "randrw", passes: int = 1) -> Suite:
    mixed = "read_percent = 70\n" if rw == "randrw" else ""
    return parse_suite(
        "only",
        f'summary = "s"\npasses = {passes}\n[[job]]\nname = "only"\nrw = "{rw}"\n{mixed}'
        f'block_size = "4KiB"\niodepth = 8\njobs = 2\nruntime_seconds = {SECONDS}\n',
    )


def measure(what: Suite, place: Path) -> tuple[list[tuple[LiveJob, ...]], tuple[JobResult, ...]]:
    """What was told about once a second, and what came of it."""
    seen: list[tuple[LiveJob, ...]] = []
    run_id = runner.run_suite(
        what,
        target=place,
        db=place / "history.db",
        patience=idle_check.Patience(1.0),
        on_progress=lambda _: seen.append(read_live(place / "run")),
    )
    with queries.open_readonly(place / "history.db") as reader:
        return seen, reader.results(run_id)


def test_both_directions_firm_up_and_end_as_the_result(
    place: Path, unit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    add = History.add_result

    def add_result(self: History, run_id: int, result: JobResult, *, raw_report: str) -> None:
        kept.append(raw_report)
        add(self, run_id, result, raw_report=raw_report)

    monkeypatch.setattr(History, "add_result", add_result)
    seen, results = measure(suite(), place)
    assert the_run(place).state is RunState.COMPLETE
    for result in results:
        told = [job for jobs in seen for job in jobs if job.direction == result.direction]
        moments = sorted({(job.at, job.ios) for job in told})
        assert len(moments) >= 2, "it was asked more than once"
        ios = [count for _, count in moments]
        assert ios == sorted(set(ios)), "each answer counts from the beginning of the job"
        assert ios[-1] < result.total_ios
        last = max(told, key=lambda job: job.at)
        assert set(last.percentiles_ns) == set(result.percentiles_ns)
        assert list(last.percentiles_ns.values()) == sorted(last.percentiles_ns.values())
        assert last.latency_mean_ns > 0
        assert last.iops == pytest.approx(last.ios / last.elapsed_seconds, rel=0.02)
        assert (last.run_id, last.suite, last.job) == (the_run(place).id, "only", "only")
        # The result is the whole job's, and no answer on the way.
        assert result.runtime_ms >= SECONDS * 980
        assert "SHORT" not in {finding.code for finding in result.findings}
    assert [report.count('"fio version"') for report in kept] == [1, 1]
    assert list(unit.iterdir()) == []


def test_what_is_told_of_one_pass_is_gone_in_the_next(place: Path, unit: Path) -> None:
    seen, results = measure(suite("randread", passes=2), place)
    assert [result.pass_index for result in results] == [1, 2]
    told = {job.pass_index: job for jobs in seen for job in jobs}
    assert set(told) == {1, 2}
    # Before the first answer of the second pass there is nothing again.
    first = next(at for at, jobs in enumerate(seen) if jobs)
    assert () in seen[first:]


def test_where_nobody_reads_it_fio_is_not_asked(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    asked: list[object] = []
    monkeypatch.setattr(process, "tell", lambda *words: bool(asked.append(words)))
    seen, results = measure(suite("randread"), place)
    assert asked == []
    assert not any(seen)
    assert len(results) == 1


def test_figures_on_the_way_are_no_result_of_a_fio_that_was_killed(place: Path, unit: Path) -> None:
    killed: list[int] = []

    def kill_once_it_told(_: object) -> None:
        if read_live(place / "run") and not killed:
            for pid in fio_processes(place):
                killed.append(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    with pytest.raises(OperatorError, match="fio was ended by signal 9"):
        runner.run_suite(
            suite("randread"),
            target=place,
            db=place / "history.db",
            patience=idle_check.Patience(1.0),
            on_progress=kill_once_it_told,
        )
    assert killed
    run = the_run(place)
    assert run.state is RunState.FAILED
    with queries.open_readonly(place / "history.db") as reader:
        assert reader.results(run.id) == ()
    assert list(unit.iterdir()) == []


def test_a_program_that_handles_no_such_signal_lives_on() -> None:
    """As fio itself before it is that far."""
    running = process.start(("sleep", "60"))
    try:
        for _ in range(20):
            assert not process.tell(running, signal.SIGUSR1)
            time.sleep(0.01)
        assert running.poll() is None
    finally:
        process.stop(running, grace_seconds=1.0)
    assert not process.tell(running, signal.SIGUSR1), "it is gone"
