"""The history for other programs: what a strict reader of each form accepts."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import re
import stat

import pytest

from appliance.cli import export, main
from appliance.errors import OperatorError
from appliance.history import exports, pages, queries
from appliance.history.metrics import Gauge, render
from appliance.history.store import History
from appliance.model.measurement import Finding, Severity
from appliance.model.runs import RunState, Sample
from tests.unit.histories import FINGERPRINT, RESULT, begin, report, select

pytestmark = pytest.mark.usefixtures("journalled")

_VALID = dataclasses.replace(RESULT, findings=(), member="", job="rand-read-4k")
_HOSTILE = '=cmd|"/c calc"!A1, "\x1b[2J\n\\end'


@pytest.fixture
def filled(db):
    """Two runs (one killed before its end, one complete) and an import with odd words."""
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        first = begin(history, "smoke", 1.0)
        history.finish_run(first, RunState.ABORTED, "stopped")
        second = begin(history, "smoke", 1.0)
        history.update_run(second, epoch_id=epoch)
        history.add_samples(
            second, [Sample(at * 10**9, "md0", 1, 2, 3, 4, 0.5, 0.5) for at in range(100, 130)]
        )
        history.add_result(second, _VALID, raw_report="x")
        history.add_result(second, RESULT, raw_report="the raw words of fio")
        history.finish_run(second, RunState.COMPLETE)
        history.event("RUN_FINISHED", "it ended", {"run": 2})
        history.audit(plan_digest="d", step_index=1, argv=("a",), state="done")
        finding = Finding("TARGET", Severity.BLOCK, "x")
        history.add_import(
            _HOSTILE,
            sha256="0",
            machine_type="i3.4xlarge",
            judged=[report(7, [finding], job=_HOSTILE, target="@x"), report(9, iops=None)],
        )
    return db


def _export(db, capsys, form: str) -> str:
    assert main.main(["export", form, "--db", str(db)]) == 0
    return capsys.readouterr().out


# ------------------------------------------------------------------------------------ CSV


def test_csv_is_one_row_a_result_and_every_row_has_every_column(filled, capsys):
    out = _export(filled, capsys, "csv")
    rows = list(csv.DictReader(io.StringIO(out, newline=""), strict=True))
    assert [row["source"] for row in rows] == ["run", "run", "import", "import"]
    assert tuple(rows[0]) == exports.CSV_COLUMNS
    assert all(None not in row and None not in row.values() for row in rows)
    assert (rows[0]["number"], rows[0]["job"], rows[0]["valid"]) == ("2", "rand-read-4k", "1")
    assert float(rows[0]["iops"]) == RESULT.iops
    assert rows[0]["p99_ns"] == "2008000"
    assert (rows[1]["findings"], rows[1]["corrected_iops"]) == ("COVERAGE DEPTH", "412279.0")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", rows[0]["started_at"])
    assert (rows[2]["line"], rows[2]["valid"], rows[3]["iops"]) == ("7", "0", "")


def test_csv_lines_end_as_rfc_4180_says(filled, capsys):
    out = _export(filled, capsys, "csv")
    assert out.endswith("\r\n")
    assert out.split("\r\n")[0] == ",".join(exports.CSV_COLUMNS)
    hostile = next(csv.reader(io.StringIO(out.split("\r\n", 3)[3], newline="")))
    assert hostile[exports.CSV_COLUMNS.index("suite")] == f"'{_HOSTILE}"


@pytest.mark.parametrize("begin_with", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff20"])
def test_no_text_can_become_a_formula_and_numbers_stay_numbers(begin_with):
    assert exports._safe(f"{begin_with}1+1") == f"'{begin_with}1+1"
    assert exports._safe("a=1") == "a=1"
    assert exports._safe(-1.5) == -1.5


def test_columns_keep_their_places():
    """A sheet that was made last year is still filled: a new column goes to the end."""
    assert exports.CSV_COLUMNS[:6] == ("source", "number", "line", "suite", "state", "started_at")
    assert exports.CSV_COLUMNS[23] == "iops"
    assert exports.CSV_COLUMNS[40:] == ("valid", "findings")


# ----------------------------------------------------------------------------------- JSON


def test_json_is_everything_but_raw_reports(filled, capsys):
    out = _export(filled, capsys, "json")
    found = json.loads(out)
    assert [run["run"] for run in found["runs"]] == [1, 2]
    result = found["runs"][1]["results"][1]
    assert result["histogram"] == [[1000, 10], [2_000_000, 990]]
    assert result["device_deltas"][0]["device"] == "md0"
    assert result["findings"][0]["code"] == "COVERAGE"
    assert len(found["runs"][1]["rates"]) == 30
    minutes = found["runs"][1]["minutes"]
    assert [(one["at"], one["read_ios"]) for one in minutes] == [(60, 20), (120, 10)]
    assert found["epochs"][0]["fingerprint"] == FINGERPRINT
    assert found["imports"][0]["results"][0]["evidence"]["job"] == _HOSTILE
    assert found["events"][-1]["message"] == "it ended"
    assert found["audit"][0]["state"] == "done"
    assert "raw words" not in out


def test_an_empty_history_is_a_whole_document(db, capsys):
    with History.open_writable(db):
        pass
    assert json.loads(_export(db, capsys, "json"))["runs"] == []
    assert _export(db, capsys, "csv").count("\r\n") == 1
    assert _export(db, capsys, "metrics") == "# EOF\n"


def test_long_logs_are_read_in_parts(db, monkeypatch):
    monkeypatch.setattr(pages, "ROWS_AT_ONCE", 3)
    with History.open_writable(db) as history:
        for n in range(8):
            history.event("X", str(n), {})
    with queries.open_readonly(db) as reader:
        assert [row["message"] for row in pages.log(reader, "event")] == [str(n) for n in range(8)]


# -------------------------------------------------------------------------------- metrics

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)?\}})? (\S+)")


def parse_metrics(text: str) -> dict[str, dict[str, float]]:
    """A reader that takes only what OpenMetrics 1.0 and the text format 0.0.4 both allow.

    Family by family, each with its TYPE first and its samples together; gauges only (the two
    forms name the samples of counters differently); no time stamps (the textfile collector
    refuses them); no empty line; EOF at the very end.
    """
    assert text.endswith("# EOF\n")
    lines = text.split("\n")[:-2]
    found: dict[str, dict[str, float]] = {}
    family, unit, said = "", "", set()
    for line in lines:
        if line.startswith("#"):
            word, name, rest = re.fullmatch(rf"# (TYPE|UNIT|HELP) ({_NAME}) (.+)", line).groups()
            if word == "TYPE":
                assert rest == "gauge"
                assert name not in found, "a family comes once"
                family, unit, said, found[name] = name, "", set(), {}
            assert name == family
            assert not found[family], "metadata comes before samples"
            assert word not in said, "once each"
            said.add(word)
            if word == "UNIT":
                unit = rest
                assert family.endswith(f"_{unit}")
            assert word != "HELP" or not re.search(r'["\\]', rest)
            continue
        name, labels, value = _SAMPLE.fullmatch(line).groups()
        assert name == family
        assert not name.endswith(("_total", "_created", "_bucket", "_count", "_sum", "_info"))
        names = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="', re.sub(r"\\.", "", labels or ""))
        assert len(set(names)) == len(names)
        assert (labels or "") not in found[name], "each series once"
        found[name][labels or ""] = float(value)
    assert all(found.values()), "no family without a sample"
    return found


def test_metrics_are_accepted_by_both_readers(filled, capsys):
    found = parse_metrics(_export(filled, capsys, "metrics"))
    assert found["stripewright_runs"] == {
        'suite="smoke",state="aborted"': 1.0,
        'suite="smoke",state="complete"': 1.0,
    }
    assert len(found["stripewright_last_run_timestamp_seconds"]) == 2
    (labels,) = found["stripewright_result_iops"]
    assert 'job="rand-read-4k",direction="read",member=""' in labels
    assert found["stripewright_result_iops"][labels] == RESULT.iops
    assert found["stripewright_result_latency_p99_seconds"][labels] == 0.002008
    assert found["stripewright_result_published_ratio"][labels] == pytest.approx(0.7047, abs=1e-4)


def test_labels_are_escaped_and_steer_no_terminal(filled, capsys):
    select(filled, "UPDATE run SET suite = ?", _HOSTILE + '\r\u202e\x00"\\')
    text = _export(filled, capsys, "metrics")
    found = parse_metrics(text)
    assert not any(char in text for char in "\x1b\r\x00\u202e")
    assert any("\\\\x1b[2J" in labels for labels in found["stripewright_runs"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(3.0, "3"), (0.25, "0.25"), (1e300, "1e+300"), (-2.0, "-2"), (1.5e15, "1500000000000000.0")],
)
def test_numbers_are_whole_or_exact(value, shown):
    text = render([Gauge("a", "", "b", (({}, value),))])
    assert f"a {shown}\n" in text
    assert parse_metrics(text) == {"a": {"": value}}


def test_what_is_no_number_is_left_out():
    gauges = [
        Gauge("a", "", "b", (({}, float("nan")), ({}, float("inf")))),
        Gauge("c", "", "d", ()),
    ]
    assert render(gauges) == "# EOF\n"


# ------------------------------------------------------------------------------- the file


@pytest.mark.parametrize("form", ["csv", "json", "metrics"])
def test_a_file_holds_the_same_text_for_everybody_and_nothing_else_is_left(
    filled, capsys, tmp_path, form
):
    folder = tmp_path / "collector"
    folder.mkdir()
    path = folder / "stripewright.prom"
    path.write_text("old")
    path.chmod(0o600)
    old = os.umask(0o077)
    try:
        assert main.main(["export", form, "--db", str(filled), "--output", str(path)]) == 0
    finally:
        os.umask(old)
    assert capsys.readouterr().out == ""
    assert path.read_bytes().decode() == _export(filled, capsys, form)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(folder.iterdir()) == [path]


def test_it_is_on_the_disk_before_it_has_the_name_and_then_the_name_is(
    filled, tmp_path, monkeypatch
):
    done = []
    real_fsync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda fd: (done.append(stat.S_IFMT(os.fstat(fd).st_mode)), real_fsync(fd))
    )
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("rename"), real_replace(a, b)))
    path = tmp_path / "x.prom"
    assert main.main(["export", "metrics", "--db", str(filled), "--output", str(path)]) == 0
    assert done == [stat.S_IFREG, "rename", stat.S_IFDIR]


def test_a_failure_leaves_the_old_file_and_no_other(filled, capsys, tmp_path, monkeypatch):
    path = tmp_path / "out" / "x.prom"
    path.parent.mkdir()
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main.main(["export", "metrics", "--db", str(filled), "--output", str(path)]) == 1
    err = capsys.readouterr().err
    assert "No space left on device; it is unchanged" in err
    assert "hint: " in err
    assert [one.read_text() for one in path.parent.iterdir()] == ["old"]


def test_an_interrupt_leaves_no_half_file(filled, tmp_path, monkeypatch):
    def pieces(*_: object):
        yield "half"
        raise KeyboardInterrupt

    monkeypatch.setattr(exports, "csv_text", pieces)
    path = tmp_path / "out" / "x"
    path.parent.mkdir()
    with pytest.raises(KeyboardInterrupt):
        export.export(form="csv", db=filled, output=path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("made", ["directory", "fifo", "nothing"])
def test_what_cannot_be_replaced_is_named(filled, capsys, tmp_path, made):
    path = tmp_path / "no" / "x" if made == "nothing" else tmp_path / "x"
    if made == "directory":
        path.mkdir()
    elif made == "fifo":
        os.mkfifo(path)
    status = main.main(["export", "csv", "--db", str(filled), "--output", str(path)])
    err = capsys.readouterr().err
    assert status == 2
    assert str(path) in err
    assert "hint: " in err


def test_the_history_is_not_replaced_by_its_own_export(filled, capsys, tmp_path):
    aside = tmp_path / "aside"
    os.link(filled, aside)
    before = filled.read_bytes()
    for path in (filled, aside):
        assert main.main(["export", "csv", "--db", str(filled), "--output", str(path)]) == 2
        assert "is the history itself" in capsys.readouterr().err
    assert aside.read_bytes() == before


def test_half_a_surrogate_pair_out_of_somebodys_json_is_written(filled, tmp_path, monkeypatch):
    monkeypatch.setattr(exports, "csv_text", lambda *_: ("a", "\ud800"))
    path = tmp_path / "x"
    assert export.export(form="csv", db=filled, output=path) == 0
    assert path.read_text() == "a\\ud800"


@pytest.mark.parametrize(
    ("damage", "what", "lost"),
    [
        (
            'UPDATE result SET more = \'{"truncated": "yes"}\' WHERE line = 9',
            "result 4 of import 1",
            "imported",
        ),
        # As the conversion leaves a report of schema 5 that it could not understand.
        (
            'UPDATE result SET more = \'{"evidence": "{}"}\' WHERE line = 7',
            "result 3 of import 1",
            "imported",
        ),
        ("UPDATE result SET more = '[' WHERE line > 0", "result 3 of import 1", "imported"),
        (
            "UPDATE result SET percentiles_ns = '7' WHERE id = 2",
            "result 2 of run 2",
            "measured",
        ),
        (
            "UPDATE histogram SET bins = x'00' WHERE result_id = 1",
            "result 1 of run 2",
            "measured",
        ),
        ("UPDATE run SET conditions = '[1]' WHERE id = 1", "run 1", "runs"),
        ("UPDATE run SET members = printf('%.*c', 100000, '[') WHERE id = 1", "run 1", "runs"),
        ("UPDATE result SET jobs = NULL WHERE id = 2", "result 2 of run 2", "measured"),
        ("UPDATE run SET notes = CAST(x'ff' AS TEXT) WHERE id = 1", "run 1", "runs"),
        ("UPDATE epoch SET changed = 'no JSON'", "epoch 1", "epochs"),
    ],
)
def test_what_cannot_be_understood_damages_nothing_else(filled, capsys, damage, what, lost):
    def count(found: dict[str, list[dict[str, list[object]]]]) -> dict[str, int]:
        listed = {name: len(found[name]) for name in ("epochs", "runs", "imports", "events")}
        results = {
            name: sum(len(one["results"]) for one in found[part])
            for name, part in (("measured", "runs"), ("imported", "imports"))
        }
        return listed | results

    whole = count(json.loads(_export(filled, capsys, "json")))
    select(filled, damage)
    assert main.main(["export", "json", "--db", str(filled)]) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["left_out"][0].startswith(f"{what}: ")
    assert f"not in the export: {what}: " in err
    kept = count(found)
    assert {name for name in whole if kept[name] < whole[name]} == {lost}
    # CSV needs no histogram, and has an empty cell for a number that is not known.
    in_csv = lost != "epochs" and not any(one in damage for one in ("histogram", "jobs"))
    assert main.main(["export", "csv", "--db", str(filled)]) == in_csv
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    counted = kept if in_csv else whole
    assert len(rows) == counted["measured"] + counted["imported"]


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("UPDATE run SET started_at = 1e300 WHERE id = 2", "run 2"),
        ("UPDATE run SET started_at = 1e15 WHERE id = 2", "run 2"),
        ("UPDATE imported SET at = 1e300", "import 1"),
    ],
)
def test_what_cannot_be_written_is_named_and_the_rest_written(filled, capsys, damage, what):
    before = _export(filled, capsys, "csv").count("\r\n")
    select(filled, damage)
    assert main.main(["export", "csv", "--db", str(filled)]) == 1
    out, err = capsys.readouterr()
    assert 3 <= out.count("\r\n") < before
    first, second = [one for one in err.splitlines() if one]
    assert first == f"error: history {filled} is damaged"
    assert second.startswith(f"error: not in the export: {what}: ")
    assert str(filled) not in second


def test_damaged_rates_cost_no_results(filled, capsys):
    whole = json.loads(_export(filled, capsys, "json"))["runs"][1]
    select(filled, "DELETE FROM sample")
    select(filled, "INSERT INTO sample_mean (run_id, means) VALUES (2, x'00')")
    assert main.main(["export", "json", "--db", str(filled)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"][0].startswith("rates of run 2: ")
    assert found["runs"][1] == whole | {"rates": [], "minutes": []}


def test_metrics_of_a_damaged_history_are_refused_in_a_line(filled, capsys, tmp_path):
    path = tmp_path / "x.prom"
    path.write_text("old")
    select(filled, "UPDATE result SET percentiles_ns = '7'")
    assert main.main(["export", "metrics", "--db", str(filled), "--output", str(path)]) == 1
    assert f"error: history {filled} is damaged: " in capsys.readouterr().err
    assert path.read_text() == "old"


def test_an_import_without_reports_is_an_error_whatever_was_left_out_before(filled):
    with queries.open_readonly(filled) as reader, pytest.raises(OperatorError, match="import 7"):
        reader.import_reports_as(str, 7, ["run 1: x"])


def test_a_form_that_there_is_not_is_a_mistake(capsys):
    with pytest.raises(SystemExit) as ended:
        main.main(["export", "yaml"])
    assert ended.value.code == 2
