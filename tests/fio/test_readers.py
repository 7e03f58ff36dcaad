"""Readers without privilege beside a writer: one that goes on, and one that was killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from appliance import paths
from appliance.history import pages, published, queries
from appliance.history.store import History
from appliance.model.runs import RunState
from appliance.storage.execute import record
from tests.fio import locks
from tests.fio.runs import ROOT, running_smoke, the_run

IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="needs root")


def as_nobody(work) -> str:
    """What ``work`` returns when it is done by a process without any privilege."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}; {getattr(error, 'hint', '')}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@needs_root
@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_an_unprivileged_reader_follows_a_run_that_writes(place):
    def watch() -> str:
        phases = set()
        for _ in range(20):
            phases.add(the_run(place).phase)
            time.sleep(0.1)
        return ",".join(sorted(phases))

    with running_smoke(place):
        said = as_nobody(watch)
    assert said == "seq-read-1m"


_HALF_A_WRITE = """
import os, signal, sys
from pathlib import Path
from appliance.history.store import History
history = History.open_writable(Path(sys.argv[1]))
connection = history._writer._connection
connection.execute("PRAGMA cache_size = 5")
connection.execute("BEGIN IMMEDIATE")
for n in range(3000):
    connection.execute(
        "INSERT INTO event (at, code, message, fields) VALUES (1.0, 'X', ?, '{}')", ("y" * 500,)
    )
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_write_cut_off_by_sigkill_is_undone_by_the_next_writer(place):
    db = place / "history.db"
    with History.open_writable(db) as history:
        history.event("BEFORE", "kept", {})
    killed = subprocess.run([sys.executable, "-c", _HALF_A_WRITE, str(db)], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    journal_file = place / "history.db-journal"
    assert journal_file.stat().st_size > 0
    if IS_ROOT:
        said = as_nobody(lambda: str(the_run(place)))
        assert said.startswith("OperatorError")
        assert "bench reap --db FILE" in said
    with History.open_writable(db) as history:
        codes = [row["code"] for row in history._writer.all("SELECT code FROM event")]
    assert codes == ["BEFORE"]
    assert not journal_file.exists()


# ------------------------------------------------------------------ readers that hold locks


@pytest.fixture
def own(place, monkeypatch):
    """The appliance's own history, in ``place``."""
    monkeypatch.setattr(paths, "HISTORY_DB", place / "history.db")
    return place / "history.db"


def audited(db: Path) -> list[tuple[int, str]]:
    with queries.open_readonly(db) as reader:
        return [(row["step_index"], row["state"]) for row in pages.log(reader, "audit_step")]


@needs_root
def test_a_plan_has_its_audit_rows_whatever_a_reader_holds(own):
    with History.open_writable(own) as history:
        history.event("BEFORE", "", {})
    with locks.held(own.parent) as opened:
        assert opened == ["history.db"], "all that can be opened is the copy"
        began = time.monotonic()
        with record.Record(own) as rec:
            for index in range(3):
                for state in ("started", "done"):
                    rec.audit("d" * 64, index, ["mkfs.xfs"], state, "")
            assert rec.problem == ""
        assert time.monotonic() - began < 5
        whole = [(index, state) for index in range(3) for state in ("started", "done")]
        assert audited(own) == whole
        assert as_nobody(lambda: str(audited(own))) == str(whole), "a new reader has them, too"


@needs_root
def test_a_history_of_another_user_is_refused_in_words(own):
    with History.open_writable(own):
        pass
    (own.parent / "live").chmod(0o700)
    said = as_nobody(lambda: str(History.open_writable(own)))
    assert said.startswith("OperatorError"), said


def test_a_step_waits_for_its_row_and_not_for_the_copy_of_readers(own, monkeypatch):
    with History.open_writable(own) as history:
        late = []
        monkeypatch.setattr(published.Publisher, "now_and_then", lambda _: late.append(1))
        history.audit(plan_digest="d", step_index=0, argv=["mkfs.xfs"], state="done")
        assert late == []
        history.event("BEFORE", "kept", {})
        assert late == [1]
    assert audited(own) == [(0, "done")]


@needs_root
@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_a_suite_ends_complete_whatever_a_reader_holds(own):
    with History.open_writable(own):
        pass
    with locks.held(own.parent), running_smoke(own.parent, own=True, time_factor=0.1):
        with locks.held(own.parent) as opened:
            assert "history.db" in opened
            deadline = time.monotonic() + 300
            while the_run(own.parent).state is RunState.RUNNING:
                assert time.monotonic() < deadline
                time.sleep(0.5)
        assert the_run(own.parent).state is RunState.COMPLETE
        assert as_nobody(lambda: the_run(own.parent).state.value) == "complete"
