"""A broken file costs nothing but itself, and another program's costs nothing at all."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from appliance import paths
from appliance.errors import OperatorError, UsageError
from appliance.history import published, queries
from appliance.history.store import History
from tests.unit.histories import RESULT, begin, select

pytestmark = pytest.mark.usefixtures("journalled")


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
    with pytest.raises(UsageError, match=f"{db}.* (directory|regular)"):
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
        for connection in (history._writer._connection, reader._connection):
            assert connection.execute("PRAGMA trusted_schema").fetchone()[0] == 0
            assert connection.execute("PRAGMA cell_size_check").fetchone()[0] == 1


def test_setting_aside_twice_in_a_second_keeps_both(own_place):
    kept = set()
    for text in (b"one", b"two", b"three"):
        published.live(own_place).parent.mkdir(exist_ok=True)
        published.live(own_place).write_bytes(text)
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


def test_a_reader_leaves_a_half_write_alone_though_it_might_undo_it(db, tmp_path):
    with History.open_writable(db) as history:
        begin(history)
        writing = history._writer._connection
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
        assert history._writer.all("SELECT * FROM event") == []


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


def test_a_file_that_may_not_be_read(db, monkeypatch):
    with History.open_writable(db):
        pass
    db.chmod(0)
    # Root may read it all the same.
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(OperatorError, match="Permission denied") as caught:
        queries.open_readonly(db)
    assert "--db" in caught.value.hint


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(OperatorError, match="cannot make history") as caught:
        History.open_writable(tmp_path / "no" / "history.db")
    assert "--db" in caught.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be tricked like that")
def test_root_writes_no_history_in_somebody_elses_directory(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    with pytest.raises(UsageError, match="directory of another user"):
        History.open_writable(theirs / "history.db")
    assert list(theirs.iterdir()) == []


def test_a_damaged_history_goes_on_from_the_copy_that_readers_have(own_place, journalled):
    with History.open_writable(own_place) as history:
        first = begin(history)
    with published.live(own_place).open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(8000))
    for _ in range(3):  # the copies of before are used again in turn
        with History.open_writable(own_place) as history:
            begin(history)
    with queries.open_readonly(own_place) as reader:
        runs = [one.id for one in reader.runs(limit=9)]
    assert first in runs
    assert len(runs) == 4
    assert [name for name, _ in journalled] == ["HISTORY_DAMAGED"]
