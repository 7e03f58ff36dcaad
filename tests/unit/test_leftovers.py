"""The files of killed runs: who removes them, and what is never entered for it."""

import os
import sqlite3
from pathlib import Path

import pytest

from appliance.bench import directory, runner
from appliance.bench.directory import private_directory
from appliance.bench.suite import load_suite
from appliance.history.store import History


@pytest.fixture
def db(tmp_path):
    return tmp_path / "history.db"


def killed(db: Path, target: Path) -> None:
    """A run in ``target`` whose process is gone, as it stands in the history."""
    with History.open_writable(db) as history:
        history.begin_run(
            load_suite("smoke"),
            target=str(target),
            device="",
            members=(),
            machine_type="",
            fio_version="fio-3.39",
            time_factor=1.0,
        )
    connection = sqlite3.connect(db)
    connection.execute("UPDATE run SET pid_start_ticks = 1 WHERE state = 'running'")
    connection.commit()
    connection.close()


def private(place: Path) -> Path:
    target = place / ".stripewright-bench"
    target.mkdir(parents=True, mode=0o700)
    (target / "data.0").write_text("x")
    return target


def test_a_run_that_another_opening_marked_is_still_cleaned_up_after(db, tmp_path):
    target = private(tmp_path)
    killed(db, target)
    with History.open_writable(db) as history:
        assert len(history.reaped) == 1
        assert history.left_behind() == (str(target),)
    assert (target / "data.0").exists()
    assert runner.reap(db) == 0
    assert list(target.iterdir()) == []
    with History.open_writable(db) as history:
        assert history.left_behind() == ()


def test_what_cannot_be_cleaned_now_is_tried_again(db, tmp_path):
    busy, free, gone = private(tmp_path / "a"), private(tmp_path / "b"), tmp_path / "c"
    for target in (busy, free, gone / ".stripewright-bench"):
        killed(db, target)
    with private_directory(busy), History.open_writable(db) as history:
        (busy / "data.0").write_text("a running job's")
        runner.clean(history)
        assert (busy / "data.0").exists()
        assert set(history.left_behind()) == {str(busy), f"{gone}/.stripewright-bench"}
    # The stripe that it was on is back.
    private(gone)
    runner.reap(db)
    assert not (gone / ".stripewright-bench" / "data.0").exists()
    with History.open_writable(db) as history:
        assert history.left_behind() == ()


def test_a_reap_waits_for_the_fio_of_a_killed_run(db, tmp_path, monkeypatch):
    target = private(tmp_path)
    killed(db, target)
    fio = private_directory(target)
    fio.__enter__()
    monkeypatch.setattr(directory.time, "sleep", lambda _: fio.__exit__(None, None, None))
    assert runner.reap(db) == 1
    with History.open_writable(db) as history:
        assert history.left_behind() == ()


def test_the_directory_that_a_run_holds_is_clean_already(db, tmp_path):
    target = private(tmp_path)
    killed(db, target)
    with private_directory(target) as held, History.open_writable(db) as history:
        runner.clean(history, held=held.path)
        assert history.left_behind() == ()


def test_a_path_that_no_run_would_use_is_not_entered(db, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o700)
    (precious / "data.0").write_text("keep")
    private(tmp_path / "relative")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / ".stripewright-bench").symlink_to(precious)
    for target in (
        precious,
        Path("relative/.stripewright-bench"),
        tmp_path / "link" / ".stripewright-bench",
    ):
        killed(db, target)
    runner.reap(db)
    assert [entry.name for entry in precious.iterdir()] == ["data.0"]
    with History.open_writable(db) as history:
        assert len(history.left_behind()) == 3
    assert (tmp_path / "relative" / ".stripewright-bench" / "data.0").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")
def test_root_does_not_enter_another_users_directory_and_leaves_it_to_them(db, tmp_path):
    target = private(tmp_path)
    os.chown(target, 12345, 12345)
    killed(db, target)
    runner.reap(db)
    assert (target / "data.0").exists()
    with History.open_writable(db) as history:
        assert history.left_behind() == (str(target),)
