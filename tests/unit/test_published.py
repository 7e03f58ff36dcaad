"""The copy that readers have of the appliance's history."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from appliance.errors import UsageError
from appliance.history import pages, published, queries
from appliance.history.store import History


def said(path: Path) -> list[str]:
    """What a plain SQLite finds there, without knowing of another place."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [row[0] for row in connection.execute("SELECT code FROM event ORDER BY id")]
    finally:
        connection.close()


def write(db: Path, code: str) -> None:
    with History.open_writable(db) as history:
        history.event(code, "", {})


def own_files(db: Path) -> list[Path]:
    return sorted(path for path in db.parent.rglob("*") if path.is_file())


def test_the_copy_is_whole_and_nobody_else_enters_where_it_is_written(own_place):
    write(own_place, "A")
    write(own_place, "B")
    assert said(own_place) == ["A", "B"]
    live = published.live(own_place)
    assert said(live) == ["A", "B"]
    assert live != own_place
    assert live.parent.stat().st_mode & 0o777 == 0o700
    assert own_place.stat().st_mode & 0o777 == 0o644
    assert not own_place.samefile(live)


def test_a_history_anywhere_else_is_one_file(db):
    write(db, "A")
    assert own_files(db) == [db]


def test_who_writes_reads_what_he_wrote_and_others_the_copy(own_place, monkeypatch):
    write(own_place, "A")
    with History.open_writable(own_place) as history:
        history.event("B", "", {})  # too soon for another copy
        with queries.open_readonly(own_place) as reader:
            assert len(list(pages.log(reader, "event"))) == 2
            assert reader.path == own_place
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        with queries.open_readonly(own_place) as reader:
            assert len(list(pages.log(reader, "event"))) == 1
        monkeypatch.undo()


def test_a_writer_that_stays_brings_the_copy_up_to_date(own_place, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(published.time, "monotonic", lambda: now[0])
    with History.open_writable(own_place) as history:
        history.event("A", "", {})
        assert said(own_place) == []
        now[0] += 1.5
        history.event("B", "", {})
        assert said(own_place) == ["A", "B"]


def test_a_reader_keeps_what_he_opened(own_place):
    write(own_place, "0")
    with own_place.open("rb") as reader:
        as_it_was = reader.read()
        for number in range(1, 6):
            write(own_place, str(number))
            reader.seek(0)
            assert reader.read() == as_it_was
    assert said(own_place) == list("012345")


def test_readers_who_keep_every_copy_take_no_more_space_than_a_few(own_place):
    write(own_place, "0")
    held = []
    for number in range(1, 12):
        held.append(os.open(own_place, os.O_RDONLY))
        fcntl.lockf(held[-1], fcntl.LOCK_SH)
        write(own_place, str(number))
        assert said(own_place)[-1] == str(number)
    inodes = {os.fstat(one).st_ino for one in held}
    gone = [one for one in held if os.fstat(one).st_nlink == 0]
    for one in held:
        os.close(one)
    assert gone == [], "no space that only a reader's descriptor keeps"
    assert len(inodes) == 3
    assert len(own_files(own_place)) == 4


def test_without_readers_one_earlier_copy_is_used_again(own_place):
    for number in range(8):
        write(own_place, str(number))
    assert len(own_files(own_place)) == 3
    assert said(own_place) == list("01234567")


def test_an_open_in_the_moment_of_the_lease_ends_no_writer(own_place, monkeypatch):
    """A reader's descriptor of O_PATH still leads to an earlier copy; opening it is a signal."""
    write(own_place, "0")
    (earlier,) = (path for path in own_files(own_place) if path.name.startswith("copy-"))
    real = fcntl.fcntl

    def opened_meanwhile(descriptor: int, command: int, value: int) -> int:
        answer = real(descriptor, command, value)
        if (command, value) == (fcntl.F_SETLEASE, fcntl.F_WRLCK):
            if os.fork() == 0:
                with contextlib.suppress(OSError):
                    os.open(earlier, os.O_RDONLY | os.O_NONBLOCK)
                os._exit(0)
            os.wait()
        return answer

    monkeypatch.setattr(fcntl, "fcntl", opened_meanwhile)
    writer = os.fork()
    if writer == 0:
        os._exit(int(published._is_read(earlier)))
    assert os.waitpid(writer, 0)[1] == 0


def test_cut_off_between_the_two_names_the_next_goes_on(own_place):
    write(own_place, "0")
    # The present copy has a second name: what is written there would be written under readers.
    os.link(own_place, published.live(own_place).with_name("copy-3"))
    with own_place.open("rb") as reader:
        as_it_was = reader.read()
        for number in range(1, 4):
            write(own_place, str(number))
            reader.seek(0)
            assert reader.read() == as_it_was
    assert said(own_place) == list("0123")


def test_half_a_copy_is_never_seen_and_is_made_whole(own_place, monkeypatch):
    write(own_place, "0")
    write(own_place, "1")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
        patched.setattr(published, "_PIECE_BYTES", 512)
        said_journal: list[str] = []
        patched.setattr(published.journal, "event", lambda _, text, **__: said_journal.append(text))
        write(own_place, "2")
    assert said(own_place) == ["0", "1"]
    assert "not up to date" in said_journal[-1]
    write(own_place, "3")
    assert said(own_place) == list("0123")


# ---------------------------------------------------------------- histories that were there


@pytest.fixture
def earlier(own_place, tmp_path):
    """A history as versions before this one left it: the file itself lies in the open."""
    write(tmp_path / "elsewhere.db", "A")
    shutil.move(tmp_path / "elsewhere.db", own_place)
    return own_place


def test_a_history_of_an_earlier_version_goes_on(earlier):
    write(earlier, "B")
    assert said(earlier) == said(published.live(earlier)) == ["A", "B"]


def test_a_lock_that_is_held_since_before_the_update_stops_nobody(earlier):
    reader = sqlite3.connect(f"file:{earlier}?mode=ro", uri=True)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM event").fetchall()
    child = os.fork()  # locks of one process are no conflict with itself
    if child == 0:
        write(earlier, "B")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    reader.close()
    assert said(earlier) == ["A", "B"]


def test_the_journal_of_a_killed_write_goes_with_it(earlier):
    left_over = earlier.with_name("history.db-journal")
    left_over.write_bytes(b"")
    write(earlier, "B")
    assert not left_over.exists()


def test_a_link_in_its_place_is_not_followed(own_place, tmp_path):
    victim = tmp_path / "victim.db"
    write(victim, "A")
    own_place.symlink_to(victim)
    with pytest.raises(UsageError, match="symbolic link"):
        History.open_writable(own_place)
    assert said(victim) == ["A"]


def test_what_lies_there_is_not_read_once_the_history_lives(own_place):
    write(own_place, "A")
    own_place.write_bytes(b"something else")
    write(own_place, "B")
    assert said(own_place) == ["A", "B"]
