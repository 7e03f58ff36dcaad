"""Real fio: mixed jobs, fixed engines, passes, suites of one's own, raw devices, progress.

Raw devices are loop devices over temporary files of these tests; they need root.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.bench import directory, idle_check, member_baseline, prepare, raw_device, runner
from appliance.bench import target as place
from appliance.bench.block_devices import Devices
from appliance.bench.suite import load_suite, parse_suite
from appliance.errors import Refused
from appliance.figures import steady
from appliance.figures.stripe_delivery import Stripe, efficiencies
from appliance.history import queries
from appliance.model.measurement import JobResult
from appliance.model.runs import RunRecord, RunState, Suite

ROOT = Path(__file__).parents[2]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
MIB = 1 << 20
DEVICE_MIB = 48


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="stripewright-test-") as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(idle_check, "WINDOW_SECONDS", 0.2)
    monkeypatch.setattr(directory, "MAX_BUDGET_BYTES", directory.MIN_BUDGET_BYTES)
    monkeypatch.setattr(directory, "MAX_ASKED_BYTES", 2 * directory.MIN_BUDGET_BYTES)
    monkeypatch.setattr(prepare, "_ROUND_SECONDS", 1.0)
    # A loop device on a busy machine may never be steady.
    monkeypatch.setattr(steady, "MAX_ROUNDS", 6)
    # This machine's shell may itself be a unit's.
    monkeypatch.delenv("INVOCATION_ID", raising=False)


def job(name: str, rw: str, **more: object) -> str:
    fields = {"block_size": "16KiB", "iodepth": 4, "jobs": 2, "runtime_seconds": 1} | more
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join(["[[job]]", f'name = "{name}"', f'rw = "{rw}"', *lines, ""])


def suite(*jobs: str, head: str = "") -> Suite:
    return parse_suite("own", f'summary = "s"\n{head}\n{"".join(jobs)}')


def measure(
    what: Suite, target: object, folder: Path, **more: object
) -> tuple[RunRecord, tuple[JobResult, ...]]:
    arguments: dict[str, object] = {"patience": idle_check.Patience(1.0)} | more
    run_id = runner.run_suite(what, target=target, db=folder / "history.db", **arguments)
    return stored(folder, run_id)


def stored(folder: Path, run_id: int | None = None) -> tuple[RunRecord, tuple[JobResult, ...]]:
    with queries.open_readonly(folder / "history.db") as reader:
        run = reader.runs(limit=1)[0] if run_id is None else reader.run(run_id)
        return run, reader.results(run.id)


def codes(result: JobResult) -> set[str]:
    return {finding.code for finding in result.findings}


# --------------------------------------------------------------------------------- files


def test_a_mixed_job_has_a_result_for_each_direction_and_the_share_that_was_asked_for(folder):
    run, results = measure(suite(job("mix", "randrw", read_percent=70)), folder, folder)
    assert run.state is RunState.COMPLETE
    reads, writes = results
    assert (reads.direction, writes.direction) == ("read", "write")
    share = reads.total_ios / (reads.total_ios + writes.total_ios)
    assert share == pytest.approx(0.7, abs=0.05)
    # The depth that was asked for is that of both directions together.
    assert not {"DEPTH", "SHORT", "UNITS"} & (codes(reads) | codes(writes))
    assert run.conditions["file_size_bytes"] == str(32 * MIB)
    assert "memory_bytes" in run.conditions


def test_jobs_with_plain_workers_keep_their_engine_and_their_depth(folder):
    run, results = measure(load_suite("psync-stripe"), folder, folder, time_factor=0.001)
    assert run.engine == "psync"
    assert {result.engine for result in results} == {"psync"}
    assert [result.jobs for result in results] == [16, 32, 16, 32]
    assert not any("DEPTH" in codes(result) for result in results)
    # 32 files of 1 GiB are not to be had within the budget, and that is told.
    assert any("4 MiB each and not the 1024 MiB" in note for note in run.notes)


def test_the_latency_probe_waits_between_two_reads(folder):
    _, results = measure(load_suite("latency-probe"), folder, folder, time_factor=0.05)
    busy, waiting = results
    assert 2 <= waiting.total_ios <= 4
    assert busy.total_ios > 100
    assert "SHORT" not in codes(waiting)


def test_passes_measure_every_job_and_say_which_pass_it_was(folder):
    seen = []
    both = suite(job("a", "randread"), job("b", "randwrite"), head="passes = 3\nsteady = true")
    run, results = measure(both, folder, folder, on_progress=seen.append)
    assert sorted((one.pass_index, one.job) for one in results) == [
        (at, name) for at in (1, 2, 3) for name in "ab"
    ]
    assert [one.pass_index for one in results] == [1, 1, 2, 2, 3, 3]
    assert run.job_count == 6
    last = seen[-1]
    assert (last.job_index, last.job_count, last.pass_index, last.passes) == (6, 6, 3, 3)
    assert seen[0].left_seconds > last.left_seconds
    assert [one.total_elapsed_seconds for one in seen] == sorted(
        one.total_elapsed_seconds for one in seen
    )


# --------------------------------------------------------------------- the command itself


# The command on a machine that may be busy with other tests.
_BUSY_OR_NOT = """
import sys
from appliance.bench import runner
from appliance.bench import idle_check
from appliance.cli.main import main
Any = type("Any", (), {"max_foreign_util": 1.0, "seconds": 0.0})
idle_check.Patience = runner.Patience = Any
sys.exit(main())
"""


def command(folder: Path, *words: str) -> list[str]:
    db = str(folder / "history.db")
    return [sys.executable, "-c", _BUSY_OR_NOT, "bench", "run", *words, "--db", db]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_a_suite_file_and_progress_as_json_lines(folder):
    own = folder / "mine.toml"
    own.write_text(f'summary = "s"\n{job("reads", "randread", runtime_seconds=3)}')
    done = subprocess.run(
        command(folder, str(own), "--target", str(folder), "--json", "--progress", "json"),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["suite"] == "mine"
    assert [one["job"] for one in document["results"]] == ["reads"]
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    measuring = [line for line in lines if line["job"] == "reads"]
    assert {"check", "prepare", "reads"} <= {line["phase"] for line in lines}
    assert len(measuring) >= 3
    left = [line["total_left_seconds"] for line in measuring]
    assert left == sorted(left, reverse=True)
    if document["members"]:
        assert measuring[-1]["read_iops"] > 0
        assert [one["device"] for one in measuring[-1]["members"]] == document["members"]


def test_a_cancel_in_the_second_pass_keeps_what_was_measured_and_removes_the_files(folder):
    own = folder / "mine.toml"
    text = "".join(job(name, "randread", runtime_seconds=2) for name in ("a", "b"))
    own.write_text(f'summary = "s"\npasses = 5\n{text}')
    with subprocess.Popen(
        command(folder, str(own), "--target", str(folder), "--progress", "json"),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment(),
    ) as child:
        try:
            assert child.stderr is not None
            for line in child.stderr:
                if json.loads(line)["pass"] == 2:
                    break
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            assert child.wait(30) == 1
        finally:
            child.kill()
    run, results = stored(folder)
    assert run.state is RunState.ABORTED
    assert "SIGINT" in run.reason
    assert {one.pass_index for one in results} >= {1}
    assert len([one for one in results if one.pass_index == 1]) == 2
    assert not list(folder.rglob("data.*"))


# ---------------------------------------------------------------------------- raw devices


@contextlib.contextmanager
def loop_device(folder: Path, name: str = "disk", *, written: bool = False) -> Iterator[Path]:
    file = folder / name
    with file.open("wb") as content:
        content.truncate(DEVICE_MIB * MIB)
        if written:
            for _ in range(DEVICE_MIB):
                content.write(os.urandom(MIB))
    made = subprocess.run(
        ["losetup", "--find", "--show", str(file)], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no loop device: {made.stderr}")
    try:
        yield Path(made.stdout.strip())
    finally:
        subprocess.run(["losetup", "--detach", made.stdout.strip()], check=False)


def content(folder: Path) -> bytes:
    return (folder / "disk").read_bytes()


@needs_root
def test_a_device_is_read_and_stays_as_it_was(folder):
    both = suite(job("reads", "randread"), job("writes", "randwrite"))
    with loop_device(folder, written=True) as device:
        before = content(folder)
        run, results = measure(both, runner.Target(device, place.RAW_READ), folder)
        assert content(folder) == before
    assert (run.target_kind, run.target, run.device) == ("raw-read", str(device), device.name)
    assert [one.job for one in results] == ["reads"]
    assert any("left out writes" in note for note in run.notes)
    assert results[0].device_bytes is not None


@needs_root
def test_a_device_is_overwritten_settled_measured_and_given_up(folder):
    what = suite(job("reads", "randread"), job("writes", "randwrite"), head="precondition = true")
    seen = []
    with loop_device(folder) as device:
        target = runner.Target(device, place.RAW_WRITE, serial=str(folder / "disk"))
        run, results = measure(what, target, folder, on_progress=seen.append, time_factor=2)
        assert content(folder).count(0) == DEVICE_MIB * MIB, "it is blank again"
        # And can be used for the next run.
        again, _ = measure(suite(job("reads", "randread")), target, folder)
    assert run.state is again.state is RunState.COMPLETE
    assert run.target_kind == "raw-write"
    assert {one.job for one in results} == {"reads", "writes"}
    assert run.conditions["written_before"] == "2 times its capacity, in sequence"
    assert "steady after" in run.conditions["steady_state writes"]
    assert "steady_state reads" not in run.conditions
    rounds = [one for one in seen if one.phase == "prepare" and one.phase_seconds == 1.0]
    assert rounds
    assert all(one.left_seconds >= 2 for one in rounds)


@needs_root
@pytest.mark.parametrize("what", ["serial", "data", "mounted", "partition table"])
def test_a_device_with_anything_on_it_is_not_written(folder, what):
    with loop_device(folder) as device, contextlib.ExitStack() as stack:
        serial = str(folder / "disk")
        if what == "serial":
            serial = str(folder / "another")
        if what == "data":
            device.write_bytes(b"x")
        if what == "partition table":
            # One Linux partition from sector 2048 on, and the signature at the end of the sector.
            entry = struct.pack("<B3sB3sII", 0, b"", 0x83, b"", 2048, 4096)
            device.write_bytes(bytes(446) + entry + bytes(48) + b"\x55\xaa")
        if what == "mounted":
            subprocess.run(["mkfs.ext4", "-q", str(device)], check=True)
            (folder / "mnt").mkdir()
            subprocess.run(["mount", str(device), str(folder / "mnt")], check=True)
            stack.callback(subprocess.run, ["umount", str(folder / "mnt")], check=True)
        before = content(folder)
        with pytest.raises(Refused) as caught:
            measure(
                suite(job("writes", "randwrite")),
                runner.Target(device, place.RAW_WRITE, serial=serial),
                folder,
            )
        assert content(folder) == before
    run, results = stored(folder)
    assert (run.state, run.reason) == (RunState.SKIPPED, caught.value.message)
    assert results == ()


@needs_root
def test_nobody_else_can_take_a_device_that_is_being_written(folder):
    with (
        loop_device(folder) as device,
        raw_device.open_to_overwrite(device, str(folder / "disk")),
    ):
        with pytest.raises(OSError, match="busy"):
            os.open(device, os.O_RDONLY | os.O_EXCL)
        with (
            pytest.raises(Refused),
            raw_device.open_to_overwrite(device, str(folder / "disk")),
        ):
            pass


@needs_root
def test_members_are_measured_one_by_one_beside_the_stripe(folder, monkeypatch):
    with (
        loop_device(folder, "one", written=True) as one,
        loop_device(folder, "two", written=True) as two,
    ):
        names = (one.name, two.name)
        # As if the directory were on a stripe of the two: its files lie where they lie.
        monkeypatch.setattr(place, "devices_of", lambda number: devices(number, names))
        monkeypatch.setattr(
            member_baseline, "read_stripe", lambda _: Stripe(names, 64 << 10, (MIB, MIB))
        )
        monkeypatch.setattr(
            member_baseline.stripe_delivery, "on_member", lambda *_, **__: ((MIB, 32 * MIB),)
        )
        run, results = measure(
            suite(job("reads", "randread"), job("writes", "randwrite")),
            runner.Target(folder, members=True),
            folder,
        )
    assert run.job_count == 4
    assert [(one.job, one.member) for one in results] == [
        ("reads", ""),
        ("reads", names[0]),
        ("reads", names[1]),
        ("writes", ""),
    ]
    for alone in results[1:3]:
        assert alone.member in {did.device for did in alone.device_io}
        assert alone.coverage == pytest.approx(1.0, abs=0.05)
    # A loop device answers out of the page cache, which is found out; the figures are there.
    as_if_valid = [dataclasses.replace(one, findings=()) for one in results]
    (found,) = efficiencies(as_if_valid, names)
    assert (found.job, set(found.member_iops)) == ("reads", set(names))


def devices(number: int, names: tuple[str, ...]) -> Devices:
    """The temporary directory's number leads to the stripe, a loop device's to itself."""
    own = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve().name
    return Devices(own, (own,)) if own in names else Devices("md0", names)


@needs_root
def test_members_of_what_is_no_stripe_are_refused_before_anything_is_written(folder):
    with pytest.raises(Refused, match="no members"):
        measure(suite(job("reads", "randread")), runner.Target(folder, members=True), folder)
    assert stored(folder)[0].state is RunState.SKIPPED
