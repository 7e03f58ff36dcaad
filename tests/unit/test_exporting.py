"""A run, an import or the history as a new file: the form by its name, and never over another."""

from __future__ import annotations

import csv
import dataclasses
import json
import os

import pytest

from appliance.errors import OperatorError
from appliance.figures.selection import parse
from appliance.history.store import History
from appliance.model.runs import RunState
from appliance.report import sources
from appliance.system import files
from tests.unit.histories import FINGERPRINT, RESULT, begin, report, select

pytestmark = pytest.mark.usefixtures("journalled")


@pytest.fixture
def filled(db):
    """One run and one import."""
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        run_id = begin(history, "smoke", 1.0)
        history.update_run(run_id, epoch_id=epoch)
        history.add_result(run_id, dataclasses.replace(RESULT, member=""), raw_report="x")
        history.finish_run(run_id, RunState.COMPLETE)
        history.add_import(file="d.txt", sha256="0", machine_type="i3", judged=[report()])
    return db


def _write(db, what, output):
    return sources.write_new(db, parse(what), output)


@pytest.mark.parametrize("what", ["1", "import:1"])
@pytest.mark.parametrize("ending", [".html", ".MD"])
def test_a_report(filled, tmp_path, what, ending):
    output = tmp_path / f"r{ending}"
    said = _write(filled, what, output)
    assert said.startswith(f"{output}: a report, as ")
    text = output.read_text()
    assert ("<html" in text) == (ending == ".html")
    assert "d.txt" in text if what == "import:1" else "rand-read-4k" in text


def test_every_figure_as_json(filled, tmp_path):
    _write(filled, "1", tmp_path / "run.json")
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["run"] == 1
    assert run["results"][0]["iops"] == RESULT.iops
    assert run["results"][0]["histogram"] == [[1000, 10], [2_000_000, 990]]
    _write(filled, "import:1", tmp_path / "import.json")
    found = json.loads((tmp_path / "import.json").read_text())
    assert (found["file"], found["results"][0]["evidence"]["iops"]) == ("d.txt", 824_600.0)


@pytest.mark.parametrize(("what", "key"), [("1", "run"), ("import:1", "id")])
def test_a_damaged_result_is_left_out_and_told(filled, tmp_path, what, key):
    select(filled, "UPDATE result SET percentiles_ns = '7'")
    said = _write(filled, what, tmp_path / "one.json")
    assert said.endswith(", without 1 that cannot be read")
    found = json.loads((tmp_path / "one.json").read_text())
    assert (found[key], found["results"]) == (1, [])
    assert found["left_out"][0].startswith("result ")


def test_the_whole_history_as_csv(filled, tmp_path):
    _write(filled, "1", tmp_path / "h.csv")
    with (tmp_path / "h.csv").open(newline="") as file:
        assert [row["source"] for row in csv.DictReader(file)] == ["run", "import"]


def test_what_exists_is_left_as_it_is(filled, tmp_path):
    old = tmp_path / "old.html"
    old.write_text("mine")
    dangling = tmp_path / "link.md"
    dangling.symlink_to(tmp_path / "elsewhere.md")
    for output in (old, dangling):
        with pytest.raises(OperatorError, match="exists and was left as it is"):
            _write(filled, "1", output)
    assert old.read_text() == "mine"
    assert not (tmp_path / "elsewhere.md").exists()


def test_a_file_that_comes_meanwhile_is_left_as_it_is(filled, tmp_path, monkeypatch):
    output = tmp_path / "new.csv"
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    output.write_text("theirs")
    with pytest.raises(OperatorError, match="exists and was left as it is"):
        _write(filled, "1", output)
    assert output.read_text() == "theirs"


@pytest.mark.parametrize(
    ("what", "name", "words"),
    [
        ("1", "report", "does not say what to write"),
        ("1", "report.pdf", "does not say what to write"),
        ("1", "none/r.html", "No such file"),
        ("9", "r.json", "there is no run 9"),
        ("import:9", "r.json", "there is no import 9"),
    ],
)
def test_what_cannot_be_written_is_said_and_leaves_nothing(filled, tmp_path, what, name, words):
    with pytest.raises(OperatorError, match=words):
        _write(filled, what, tmp_path / name)
    assert list(tmp_path.iterdir()) == [filled]


def test_a_file_that_is_not_whole_is_removed(tmp_path):
    def pieces():
        yield "begin"
        raise OperatorError("the history is damaged", "")

    with pytest.raises(OperatorError):
        files.create_text(tmp_path / "h.csv", pieces())
    assert list(tmp_path.iterdir()) == []
