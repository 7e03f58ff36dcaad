"""What can go wrong around history.db, for real: kills, full and read-only disks, two writers."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.errors import OperatorError
from appliance.history import pages, queries
from appliance.history.store import History
from appliance.model.runs import RunState, Sample
from appliance.storage.execute import record
from tests.fio import kills
from tests.fio.test_readers import as_nobody
from tests.unit.histories import RESULT, begin, report

ROOT = Path(__file__).parents[2]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_twenty_kills_of_runs_and_imports_leave_nothing_half():
    """``make soak`` does two hundred."""
    seed = time.time_ns() % 2**32
    tally = kills.kill(20, seed)
    print(tally)
    assert tally.problems == [], f"seed {seed}"
    assert tally.moments.total() == 20


# ---------------------------------------------------------------------------- full disks


@contextlib.contextmanager
def _mounted(*options: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="stripewright-full-") as name:
        place = Path(name)
        subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(place)], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)


def _cli(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "appliance.cli.main", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def _one_line_and_a_hint(err: str) -> str:
    lines = err.splitlines()
    assert len(lines) == 2, err
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("hint: ")
    return lines[0]


def _fill(place: Path) -> None:
    with (place / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@needs_root
def test_a_full_disk_is_said_loses_nothing_and_ends_when_there_is_room_again():
    with _mounted("-o", "size=2m") as place:
        db = place / "history.db"
        with History.open_writable(db) as history:
            run_id = begin(history)
            history.add_result(run_id, RESULT, raw_report="kept")
            _fill(place)
            refused = 0
            for n in range(200):
                try:
                    samples = [Sample(n * 10**9, "md0", 0, 0, 0, 0, 0, 0)] * 200
                    history.add_samples(run_id, samples)
                except OperatorError as error:
                    refused += 1
                    assert "full" in error.message
                    assert "make room" in error.hint
            assert refused > 100
            with queries.open_readonly(db) as reader:
                assert reader.results(run_id) == (RESULT,)
                whole = len(reader.series(run_id))
                assert whole % 200 == 0, "a batch is there or it is not"
            with pytest.raises(OperatorError, match="full"):
                history.add_import(
                    "d", sha256="0", machine_type="", judged=[report(n) for n in range(500)]
                )
            (place / "ballast").unlink()
            history.add_result(run_id, RESULT, raw_report="after")
            history.finish_run(run_id, RunState.COMPLETE)
        with queries.open_readonly(db) as reader:
            assert reader.run(run_id).state is RunState.COMPLETE
            assert len(reader.results(run_id)) == 2
            assert reader.imports() == ()


@needs_root
def test_commands_on_a_full_disk_say_so_in_a_line():
    with _mounted("-o", "size=3m") as place, tempfile.TemporaryDirectory() as elsewhere:
        db = place / "history.db"
        with History.open_writable(db):
            pass
        _fill(place)
        diary = Path(elsewhere) / "diary.txt"
        diary.write_text(kills.diary_text(20))
        ended = _cli("bench", "import", str(diary), "--db", str(db))
        assert ended.returncode == 1
        assert "full" in _one_line_and_a_hint(ended.stderr)
        ended = _cli("export", "json", "--db", str(db), "--output", str(place / "out.json"))
        assert ended.returncode == 1
        assert "No space left" in _one_line_and_a_hint(ended.stderr)
        assert sorted(path.name for path in place.iterdir()) == ["ballast", "history.db"]
        ended = _cli("results", "--db", str(db))
        assert (ended.returncode, ended.stderr) == (0, "")


# ----------------------------------------------------------------------- read-only places


@needs_root
def test_a_read_only_filesystem_can_be_read_and_says_why_it_is_not_written():
    with _mounted() as place:
        db = place / "history.db"
        with History.open_writable(db) as history:
            run_id = begin(history)
            history.add_result(run_id, RESULT, raw_report="x")
            history.finish_run(run_id, RunState.COMPLETE)
        before = db.read_bytes()
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        for words in (
            ("results",),
            ("compare", "1", "1"),
            ("export", "csv"),
            ("export", "metrics"),
            ("export", "json"),
        ):
            ended = _cli(*words, "--db", str(db))
            assert (ended.returncode, ended.stderr) == (0, ""), words
        ended = _cli("bench", "import", str(kills.DIARY), "--db", str(db))
        assert ended.returncode == 1
        assert "readonly" in _one_line_and_a_hint(ended.stderr)
        assert "--db" in ended.stderr
        assert db.read_bytes() == before
        assert [path.name for path in place.iterdir()] == ["history.db"]


@needs_root
def test_a_history_that_one_may_only_read():
    with tempfile.TemporaryDirectory(prefix="stripewright-theirs-") as name:
        place = Path(name)
        place.chmod(0o755)
        db = place / "history.db"
        with History.open_writable(db) as history:
            history.finish_run(begin(history), RunState.COMPLETE)
        before = db.read_bytes()

        def look() -> str:
            with queries.open_readonly(db) as reader:
                return reader.runs(5)[0].state.value

        assert as_nobody(look) == "complete"
        said = as_nobody(lambda: str(begin(History.open_writable(db))))
        assert said.startswith("OperatorError: ")
        assert "--db FILE" in said
        assert db.read_bytes() == before
        assert [path.name for path in place.iterdir()] == ["history.db"]


# ---------------------------------------------------------------------------- two writers


_HOLDS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO event (at, code, message, fields) VALUES (1.0, 'X', '', '{}')")
print("held", flush=True)
sys.stdin.read()
connection.rollback()
"""

_WRITES = """
import sys
from pathlib import Path
from appliance.history.store import History
with History.open_writable(Path(sys.argv[1])) as history:
    for n in range(40):
        history.event(sys.argv[2], str(n), {})
"""


@contextlib.contextmanager
def _held(db: Path) -> Iterator[None]:
    """Another process is in the middle of a write."""
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(db)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    try:
        yield
    finally:
        child.communicate(timeout=60)


def test_a_second_writer_waits_says_so_and_loses_nothing(tmp_path):
    db = tmp_path / "history.db"
    with History.open_writable(db) as history:
        run_id = begin(history)
        history._writer._connection.execute("PRAGMA busy_timeout = 200")
        with _held(db):
            with pytest.raises(OperatorError, match="in use by another process") as caught:
                history.add_result(run_id, RESULT, raw_report="x")
            assert "try again" in caught.value.hint
        history.add_result(run_id, RESULT, raw_report="x")
    with queries.open_readonly(db) as reader:
        assert reader.results(run_id) == (RESULT,)
        assert list(pages.log(reader, "event")) == []


def test_four_writers_at_once_all_get_their_turn(tmp_path):
    db = tmp_path / "history.db"
    children = [
        subprocess.Popen([sys.executable, "-c", _WRITES, str(db), name], cwd=ROOT)
        for name in "ABCD"
    ]
    assert [child.wait(timeout=300) for child in children] == [0] * 4
    with queries.open_readonly(db) as reader:
        said = [(row["code"], row["message"]) for row in pages.log(reader, "event")]
    for name in "ABCD":
        assert [message for code, message in said if code == name] == [str(n) for n in range(40)]


# ------------------------------------------------------------- the audit, whatever happens


_ROW = {"argv": ["mkfs.xfs"], "detail": ""}

_AUDITS = """
import sys
from pathlib import Path
from appliance.storage.execute.record import Record
with Record(Path(sys.argv[1]), [Path(sys.argv[2])]) as rec:
    for n in range(int(sys.argv[3])):
        rec.audit("d", n, ["mkfs.xfs"], "started", "")
        print(n, flush=True)
"""

_DIES_BEFORE_THE_SPOOL_IS_EMPTIED = """
import os, signal, sys
from pathlib import Path
from appliance.storage.execute import record
from appliance.storage.execute.record import Record
took = Record._take
def take_and_die(self, steps):
    took(self, steps)
    os.kill(os.getpid(), signal.SIGKILL)
Record._take = take_and_die
with Record(Path(sys.argv[1]), [Path(sys.argv[2])]):
    pass
"""


def _audited(db: Path) -> list[int]:
    with queries.open_readonly(db) as reader:
        return [row["step_index"] for row in pages.log(reader, "audit_step")]


def _merged(db: Path, spool: Path) -> list[int]:
    """The audit after the next opening."""
    with record.Record(db, [spool]) as rec:
        assert "not written" not in rec.problem
    return _audited(db)


def test_a_locked_history_keeps_no_plan_waiting_and_gets_its_rows_later_once(tmp_path):
    db, spool = tmp_path / "history.db", tmp_path / "spool"
    with History.open_writable(db):
        pass
    with _held(db):
        began = time.monotonic()
        with record.Record(db, [spool]) as rec:
            for number in range(30):
                rec.audit("d", number, ["mkfs.xfs"], "started", "")
            assert "in use" in rec.problem
        assert time.monotonic() - began < 15, "one wait, not one a row"
    assert _audited(db) == []
    assert _merged(db, spool) == list(range(30))
    assert _merged(db, spool) == list(range(30))


def test_a_history_that_is_locked_amid_a_plan_keeps_the_order(tmp_path):
    db, spool = tmp_path / "history.db", tmp_path / "spool"
    with record.Record(db, [spool]) as rec:
        rec.audit("d", 0, ["mkfs.xfs"], "started", "")
        with _held(db):
            rec.audit("d", 1, ["mkfs.xfs"], "started", "")
        rec.audit("d", 2, ["mkfs.xfs"], "started", "")
    assert _audited(db) == [0]
    assert _merged(db, spool) == [0, 1, 2]


def test_killed_between_the_history_and_the_spool_each_row_is_there_once(tmp_path):
    db, spool = tmp_path / "history.db", tmp_path / "spool"
    with History.open_writable(db):
        pass
    for number in range(25):
        record.keep([spool], {**_ROW, "at": 1.0 + number, "boot_id": "b", "plan_digest": "d",
                                  "step_index": number, "state": "started"}, "")  # fmt: skip
    for _ in range(2):
        killed = subprocess.run(
            [sys.executable, "-c", _DIES_BEFORE_THE_SPOOL_IS_EMPTIED, str(db), str(spool)],
            cwd=ROOT,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL
        assert len(_audited(db)) == 20, "some are in it, and none is there twice"
        assert next(spool.iterdir()).stat().st_size > 0
    assert _merged(db, spool) == list(range(25))
    assert next(spool.iterdir()).stat().st_size == 0


@pytest.mark.parametrize("locked", [False, True])
def test_killed_at_any_moment_what_was_said_to_be_kept_is_kept_once(tmp_path, locked):
    db, spool = tmp_path / "history.db", tmp_path / "spool"
    with History.open_writable(db):
        pass
    chance = random.Random(7)  # noqa: S311
    for _ in range(4):
        with _held(db) if locked else contextlib.nullcontext():
            child = subprocess.Popen(
                [sys.executable, "-c", _AUDITS, str(db), str(spool), "100000"],
                cwd=ROOT,
                stdout=subprocess.PIPE,
            )
            assert child.stdout is not None
            said = [child.stdout.readline()]
            time.sleep(chance.uniform(0, 0.2))
            child.kill()
            said += child.stdout.read().splitlines()
            child.wait()
        _settled(db)
        before = len(said)
        rows = _merged(db, spool)
        # The row that it was at may be there; none that it was told of is missing.
        assert rows[:before] == list(range(before))
        assert len(rows) <= before + 1
        with History.open_writable(db) as history, history._writer.transaction():
            history._writer.execute("DELETE FROM audit_step")


def _settled(db: Path) -> None:
    """The clerk of a parent that was killed ends by itself."""
    with History.open_writable(db):
        pass
    time.sleep(0.3)


def test_a_damaged_history_is_set_aside_and_the_new_one_gets_the_spool(tmp_path):
    db, spool = tmp_path / "history.db", tmp_path / "spool"
    with record.Record(db, [spool]) as rec:
        rec.audit("d", 0, ["mkfs.xfs"], "started", "")
        with _held(db):
            rec.audit("d", 1, ["mkfs.xfs"], "started", "")
    with db.open("r+b") as file:
        file.seek(100)  # behind SQLite's header
        file.write(b"\xff" * 8000)
    assert _merged(db, spool) == [1]
    assert len(list(tmp_path.glob("history.db.damaged-*"))) == 1


@needs_root
def test_on_a_full_disk_the_audit_goes_elsewhere_and_comes_back(tmp_path):
    with _mounted("-o", "size=2m") as place:
        db = place / "history.db"
        with History.open_writable(db):
            pass
        _fill(place)
        spools = [place / "spool", tmp_path / "spool"]
        with record.Record(db, spools) as rec:
            # Without a reserve: the disk was full before.
            for number in range(200):
                rec.audit("d", number, ["x" * 500], "started", "")
            assert "full" in rec.problem
        (place / "ballast").unlink()
        with record.Record(db, spools) as rec:
            assert rec.problem == ""
        assert sorted(_audited(db)) == list(range(200))


@needs_root
def test_a_disk_that_fills_up_has_room_for_the_audit_of_a_plan(tmp_path):
    """What lies in the second place is gone after a reboot."""
    with _mounted("-o", "size=2m") as place:
        db = place / "history.db"
        spools = [place / "spool", tmp_path / "spool"]
        with record.Record(db, spools):
            pass
        _fill(place)
        with record.Record(db, spools) as rec:
            for number in range(200):
                rec.audit("d", number, ["x" * 500], "started", "")
        assert not spools[1].exists()
        (place / "ballast").unlink()
        with record.Record(db, spools):
            pass
        assert sorted(_audited(db)) == list(range(200))
