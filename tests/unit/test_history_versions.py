"""Files of other schemas: the one before becomes this one, and nothing in it is lost.

``data/history-5`` was made by the program of schema 5 (commit 4918d24): a file with rows in every
table, and what that program exported of it.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from appliance.cli import main
from appliance.errors import EXIT_OK, EXIT_USAGE, OperatorError
from appliance.history import convert, exports, metrics, published, queries, schema
from appliance.history import format as file_format
from appliance.history.store import History
from appliance.model.measurement import JobResult, Measurement
from appliance.model.runs import RunState
from tests.unit.histories import FINGERPRINT, RESULT, begin, report, select

pytestmark = pytest.mark.usefixtures("journalled")

_DATA = Path(__file__).parent / "data" / "history-5"
_TABLES = (
    *("host", "epoch", "suite", "run", "finding", "histogram", "device_delta", "sample"),
    *("sample_mean", "raw_report", "imported", "event", "audit_step", "drift_finding"),
    *("drift_transition", "drift_approval", "drift_confirmation", "drift_surroundings"),
    "drift_value",
)


def _kept(name: str) -> str:
    return gzip.decompress((_DATA / f"{name}.gz").read_bytes()).decode()


def _make(path: Path, *, version: int = 5) -> None:
    path.write_bytes(gzip.decompress((_DATA / "history.db.gz").read_bytes()))
    if version != 5:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")


def _rows(db: Path, table: str) -> list[dict[str, object]]:
    with closing(sqlite3.connect(db)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY rowid")]  # noqa: S608


def _looks(db: Path) -> dict[str, object]:
    """The schema as SQLite sees it: tables, indexes and references by their columns."""
    found: dict[str, object] = {}
    with closing(sqlite3.connect(db)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            ask = connection.execute
            columns = {row[1:] for row in ask(f"PRAGMA table_xinfo({table})")}
            refers = {row[2:5] for row in ask(f"PRAGMA foreign_key_list({table})")}
            indexes = {
                (unique, *(row[2] for row in ask(f"PRAGMA index_info({name})")))
                for _, name, unique, *_ in ask(f"PRAGMA index_list({table})")
            }
            found[table] = (columns, refers, indexes)
    return found


def _same_but_the_schemas_number(new: str, old: str) -> None:
    now, then = json.loads(new), json.loads(old)
    assert (now.pop("schema_version"), then.pop("schema_version")) == (6, 5)
    assert list(now) == list(then)
    for part in now:
        assert now[part] == then[part], part
    assert json.dumps(now) == json.dumps(then)


def test_everything_that_was_kept_is_there_after_the_conversion(db):
    _make(db)
    before = {table: _rows(db, table) for table in (*_TABLES, "result", "imported_report")}
    assert all(before.values()), "every table is tried"
    with History.open_writable(db):
        pass
    with queries.open_readonly(db) as reader:
        _same_but_the_schemas_number("".join(exports.json_text(reader, [])), _kept("export.json"))
        csv = "".join(exports.csv_text(reader, [])).encode(errors="backslashreplace").decode()
        assert csv == _kept("export.csv")
        assert metrics.metrics_text(reader) == _kept("export.metrics")
    for table in _TABLES:
        after = _rows(db, table)
        if table == "finding":  # and those of imports, behind them
            assert len(after) > len(before[table])
            after = after[: len(before[table])]
        assert len(after) == len(before[table]), table
        for row, old in zip(after, before[table], strict=True):
            # What was NULL is what the program took it for.
            assert {name: row[name] for name in old if old[name] is not None} == {
                name: value for name, value in old.items() if value is not None
            }
    results = _rows(db, "result")
    assert [row["id"] for row in results if row["run_id"]] == [
        row["id"] for row in before["result"]
    ]
    assert len([row for row in results if row["imported_id"]]) == len(before["imported_report"])


def test_a_converted_file_is_like_a_new_one(db, tmp_path):
    _make(db)
    new = tmp_path / "new.db"
    for path in (db, new):
        with History.open_writable(path):
            pass
    assert _looks(db) == _looks(new)
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA user_version").fetchone() == (6,)


def test_a_converted_history_goes_on(db):
    _make(db)
    with History.open_writable(db) as history:
        assert history._writer.all("PRAGMA foreign_keys")[0]["foreign_keys"] == 1
        epoch = history.ensure_epoch({**FINGERPRINT, "kernel": "6.12.9"})
        assert epoch.id == 3, "the epoch has not changed"
        run_id = begin(history)
        history.add_result(run_id, RESULT, raw_report="x")
        history.finish_run(run_id, RunState.COMPLETE)
        assert history.add_import("f", sha256="0", machine_type="", judged=[report()]) == 3
        with pytest.raises(OperatorError, match="FOREIGN KEY"):
            history.add_result(999, RESULT, raw_report="x")
    with queries.open_readonly(db) as reader:
        assert reader.results(run_id) == (RESULT,)
        assert reader.import_reports(3) == (dataclasses.replace(report(), file="f"),)


def test_a_conversion_that_is_killed_leaves_the_file_as_it_was(db, monkeypatch):
    _make(db)
    before = _looks(db)

    def fail(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(convert, "_move_imports", fail)
    with pytest.raises(KeyboardInterrupt):
        History.open_writable(db)
    monkeypatch.undo()
    assert _looks(db) == before
    with History.open_writable(db):
        pass


def test_two_processes_convert_once(db):
    _make(db)
    with closing(sqlite3.connect(db)) as one, closing(sqlite3.connect(db)) as other:
        for connection in (one, other):
            connection.execute("SELECT 1 FROM run").fetchall()
            convert.in_place(connection)
    with queries.open_readonly(db) as reader:
        assert len(reader.imports()) == 2


def test_the_appliance_converts_what_var_has_kept(own_place):
    """The image was replaced: readers are told to wait, and the first writer does it."""
    _make(own_place)
    with pytest.raises(OperatorError) as caught:
        queries.open_readonly(own_place)
    assert "the next boot" in caught.value.hint
    with History.open_writable(own_place) as history:
        assert history.set_aside is None
        assert history.ensure_epoch({**FINGERPRINT, "kernel": "6.12.9"}).id == 3
    with queries.open_readonly(own_place) as reader:
        assert len(reader.runs(100)) == 24
    with closing(sqlite3.connect(own_place)) as copy:
        assert copy.execute("PRAGMA user_version").fetchone() == (6,)


def test_the_appliance_goes_on_beside_a_history_that_is_too_old(own_place, journalled):
    _make(own_place, version=4)
    before = own_place.read_bytes()
    with History.open_writable(own_place) as history:
        assert history.set_aside is not None
        assert history.set_aside.read_bytes() == before
        assert begin(history) == 1
    assert [name for name, _ in journalled] == ["HISTORY_DAMAGED"]
    assert not published.live(own_place).with_name("begun").exists()


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        (1, "older than schema 5"),
        (4, "older than schema 5"),
        (7, "a newer one"),
    ],
)
def test_another_schema_is_refused_with_advice(db, version, advice, capsys):
    _make(db, version=version)
    before = db.read_bytes()
    for opener in (History.open_writable, queries.open_readonly):
        with pytest.raises(OperatorError, match=f"schema version {version}") as caught:
            opener(db)
        assert advice in caught.value.hint
    assert main.main(["history", "convert", str(db)]) == 1
    assert advice in capsys.readouterr().err
    assert db.read_bytes() == before
    assert [entry.name for entry in db.parent.iterdir()] == [db.name]


def test_the_command_converts_a_file_and_keeps_what_it_was(db, tmp_path, capsys):
    _make(db)
    with pytest.raises(OperatorError) as caught:
        queries.open_readonly(db)
    assert f"stripewright history convert {db}" in caught.value.hint
    before = db.read_bytes()
    new = tmp_path / "new.db"
    assert main.main(["history", "convert", str(db), "--output", str(new)]) == EXIT_OK
    assert db.read_bytes() == before
    assert main.main(["history", "convert", str(db)]) == EXIT_OK
    assert "history.db.schema-5" in capsys.readouterr().out
    aside = db.with_name("history.db.schema-5")
    assert _rows(aside, "imported_report")
    for path in (db, new):
        with queries.open_readonly(path) as reader:
            _same_but_the_schemas_number(
                "".join(exports.json_text(reader, [])), _kept("export.json")
            )
    assert main.main(["history", "convert", str(db)]) == EXIT_USAGE
    assert "nothing to convert" in capsys.readouterr().err
    assert main.main(["history", "convert", str(aside), "--output", str(new)]) == EXIT_USAGE
    assert "exists" in capsys.readouterr().err
    assert main.main(["history"]) == EXIT_USAGE


def test_the_command_leaves_what_it_cannot_convert(db, tmp_path, capsys):
    new = tmp_path / "new.db"
    for content in (b"my thesis\n", b"SQLite format 3\0" + b"\1" * 99):
        db.write_bytes(content)
        assert main.main(["history", "convert", str(db), "--output", str(new)]) == EXIT_USAGE
        assert "not a Stripewright history" in capsys.readouterr().err
        assert not new.exists()
    db.unlink()
    _make(db)
    db.write_bytes(db.read_bytes()[:-8192])
    before = db.read_bytes()
    for more in ([], ["--output", str(new)]):
        assert main.main(["history", "convert", str(db), *more]) == 1
        assert "damaged" in capsys.readouterr().err
    assert db.read_bytes() == before
    assert [entry.name for entry in db.parent.iterdir()] == [db.name]


def test_a_damaged_report_keeps_nothing_else_from_being_converted(db):
    _make(db)
    select(db, "UPDATE imported_report SET evidence = '{' WHERE imported_id = 2")
    with History.open_writable(db) as history:
        assert history.set_aside is None
    with queries.open_readonly(db) as reader:
        assert len(reader.import_reports(1)) == 11
        with pytest.raises(OperatorError, match="damaged"):
            reader.import_reports(2)
        assert [one.reports for one in reader.imports()] == [2, 11]


def test_every_column_of_a_result_is_a_field_of_the_model():
    """What makes a new figure a change of three files: the model, the schema, FIGURES."""
    with closing(sqlite3.connect(":memory:")) as connection:
        schema.create(connection)
        columns = {row[1] for row in connection.execute("PRAGMA table_info(result)")}
        header = connection.execute("PRAGMA application_id").fetchone()[0]
    assert header == file_format.APPLICATION_ID
    from appliance.history.json_documents import FIGURES

    assert set(FIGURES) <= columns
    assert set(FIGURES) <= set(exports.CSV_COLUMNS)
    fields = {field.name for kind in (JobResult, Measurement) for field in dataclasses.fields(kind)}
    limit = {"published_iops", "published_bytes_per_s", "published_basis", "published_source"}
    assert columns - fields - limit == {"id", "run_id", "imported_id", "ended_at", "more", "valid"}


def test_the_copy_stays_when_something_fails_after_the_conversion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: History) -> None:
        raise KeyboardInterrupt

    _make(tmp_path / "h.db")
    monkeypatch.setattr(History, "_reap", interrupted)
    assert main.main(["history", "convert", str(tmp_path / "h.db")]) == 130
    with closing(sqlite3.connect(tmp_path / "h.db.schema-5")) as kept:
        assert kept.execute("PRAGMA user_version").fetchone() == (5,)


def test_an_imported_report_that_cannot_be_decoded_keeps_all_that_it_had(tmp_path: Path) -> None:
    _make(tmp_path / "h.db")
    with closing(sqlite3.connect(tmp_path / "h.db")) as connection, connection:
        connection.execute(
            'UPDATE imported_report SET findings = \'[{"code": "C", "message": "keep me"}]\','
            " evidence = json_object('later_key', 1)"
        )
    before = _rows(tmp_path / "h.db", "imported_report")
    with History.open_writable(tmp_path / "h.db", may_set_aside=False):
        pass
    found = [one for one in _rows(tmp_path / "h.db", "result") if one["imported_id"] is not None]
    assert before
    for was, now in zip(before, found, strict=True):
        names = was.keys() & now.keys() - {"id"}
        assert {name: now[name] for name in names} == {name: was[name] for name in names}
        assert {"iops", "bandwidth_bytes", "rw", "engine", "device"} <= names
        assert json.loads(str(now["more"])) == {
            name: was[name] for name in ("evidence", "findings")
        }
