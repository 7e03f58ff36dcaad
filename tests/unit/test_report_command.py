"""``stripewright report``: from a history to a file, whole or not at all."""

import dataclasses
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from appliance.bench.suite import load_suite
from appliance.cli.main import main
from appliance.history.store import History
from appliance.model.runs import RunState, Sample
from appliance.system import files, journal
from tests.unit import reports


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)


@pytest.fixture
def db(tmp_path):
    return tmp_path / "history.db"


def add_run(
    history: History, *, state=RunState.COMPLETE, results=None, reason="", suite=None
) -> int:
    """A run on four members, with samples of twenty seconds."""
    members = reports.run().members
    run_id = history.begin_run(
        suite or load_suite("smoke"),
        target="/mnt/scratch/.stripewright-bench",
        device="md127",
        members=members,
        machine_type="i3.8xlarge",
        fio_version="fio-3.39",
        time_factor=1.0,
    )
    if state is RunState.SKIPPED:
        history.finish_run(run_id, state, reason)
        return run_id
    epoch = history.ensure_epoch(reports.EPOCH.fingerprint)
    history.update_run(
        run_id, epoch_id=epoch.id, engine="io_uring", conditions={"scheduler": "none"}
    )
    now_ns = time.time_ns()
    history.add_samples(
        run_id,
        [
            Sample(now_ns + second * 10**9, device, 1000, 0, 5e8, 0, 0.3, 0.9)
            for second in range(20)
            for device in ("md127", *members)
        ],
    )
    for one in reports.results(seed=run_id) if results is None else results:
        history.add_result(run_id, one, raw_report="{}")
    history.finish_run(run_id, state, reason)
    return run_id


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Fourteen runs and one that was skipped: made once, because each write is synchronous."""
    made = tmp_path_factory.mktemp("template") / "history.db"
    with pytest.MonkeyPatch.context() as patch, History.open_writable(made) as history:
        patch.setattr(journal, "event", lambda *_, **__: None)
        for _ in range(14):
            add_run(history)
        add_run(history, state=RunState.SKIPPED, reason="nvme2n1 was busy")
    return made


@pytest.fixture
def filled(db, template):
    shutil.copy(template, db)
    return db


def report(db: Path, output: Path, *more: str) -> int:
    return main(["report", "--db", str(db), "--output", str(output), *more])


def test_the_latest_run_with_results_becomes_a_page(filled, tmp_path, capsys):
    output = tmp_path / "x.html"
    assert report(filled, output) == 0
    page = output.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>\n<html lang")
    for words in (
        "smoke, run 14",
        "There is a later run 15, skipped",
        "nvme2n1 was busy",
        "md-raid0 of 4, chunk 256 KiB",
        "serial AWS3C",
        os.uname().nodename,
        "The last 13 runs of this suite",
        "13 runs",
        "Samples of 1 s",
    ):
        assert words in page, words
    assert capsys.readouterr().out == f"{output}: smoke, run 14; 5 results, all valid\n"


def test_a_repeat_of_a_suspect_has_to_be_named(filled, tmp_path, capsys):
    with History.open_writable(filled) as history:
        run_id = add_run(history, suite=dataclasses.replace(load_suite("smoke"), name="confirm"))
    output = tmp_path / "x.md"
    assert report(filled, output) == 0
    assert ": smoke, run 14;" in capsys.readouterr().out
    assert report(filled, output, "--run", str(run_id)) == 0
    assert f": confirm, run {run_id};" in capsys.readouterr().out


def test_any_run_can_be_named(filled, tmp_path):
    output = tmp_path / "x.md"
    assert report(filled, output, "--run", "15") == 0
    assert "**Skipped: nothing was measured**" in output.read_text(encoding="utf-8")
    assert report(filled, output, "--run", "3") == 0
    found = output.read_text(encoding="utf-8")
    assert "learned from 12 runs" in found, "what is normal in the epoch, as screens have it"
    assert "There is a later run 15" in found
    assert report(filled, output, "--run", "99") == 1


def test_json_says_what_was_written(filled, tmp_path, capsys):
    output = tmp_path / "x.html"
    assert report(filled, output, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "output": str(output),
        "kind": "run",
        "title": "smoke, run 14",
        "headline": "5 results, all valid",
        "results": 5,
        "valid": 5,
        "size_bytes": output.stat().st_size,
    }


def test_an_import_becomes_a_page(db, tmp_path, capsys):
    with History.open_writable(db) as history:
        history.add_import(
            "diary.txt", sha256="0" * 64, machine_type="i3.8xlarge", judged=reports.judged()
        )
    output = tmp_path / "x.html"
    assert report(db, output, "--import", "1") == 0
    assert "1 of 2 results cannot be believed" in output.read_text(encoding="utf-8")
    assert report(db, output, "--import", "2") == 1
    assert "no import 2" in capsys.readouterr().err


def test_a_history_without_runs(db, tmp_path, capsys):
    with History.open_writable(db):
        pass
    assert report(db, tmp_path / "x.html") == 1
    assert "there are no runs of a suite yet" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize("name", ["x.txt", "x", "x.pdf", ".html"])
def test_another_form_is_an_error_of_usage(filled, tmp_path, capsys, name):
    assert report(filled, tmp_path / name) == 2
    said = capsys.readouterr().err
    assert "--output" in said
    assert ".html or .md" in said
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["history.db"]


def test_where_a_report_may_not_go(filled, tmp_path, capsys):
    (tmp_path / "d.html").mkdir()
    os.mkfifo(tmp_path / "f.html")
    (tmp_path / "l.html").symlink_to(tmp_path / "d.html")
    aside = tmp_path / "history.html"
    os.link(filled, aside)
    for path in ("d.html", "f.html", "l.html", "history.html", "none/x.html", "f.html/x.html"):
        assert report(filled, tmp_path / path) == 2, path
        assert f"--output {tmp_path / path}" in capsys.readouterr().err
    assert aside.samefile(filled)
    assert list((tmp_path / "d.html").iterdir()) == []


def test_a_report_is_replaced_whole_and_a_link_is_not_followed(filled, tmp_path):
    real, link = tmp_path / "real.html", tmp_path / "x.html"
    real.write_text("somebody's")
    link.symlink_to(real)
    assert report(filled, link) == 0
    assert real.read_text() == "somebody's"
    assert not link.is_symlink()
    assert report(filled, link) == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "history.db",
        "real.html",
        "x.html",
    ]


def test_a_full_disk_leaves_the_old_report(filled, tmp_path, monkeypatch, capsys):
    output = tmp_path / "x.html"
    output.write_text("the old one")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    assert report(filled, output) == 1
    assert "No space left" in capsys.readouterr().err
    assert output.read_text() == "the old one"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["history.db", "x.html"]
