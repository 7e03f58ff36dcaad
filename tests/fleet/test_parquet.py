"""A history as Parquet, and many of them in one place."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import duckdb
import pytest

from appliance.cli import main
from appliance.errors import OperatorError, Refused, UsageError
from appliance.figures import histogram
from appliance.fleet import one_place, overview, places, tables
from appliance.model.measurement import Finding, Severity
from tests.fleet.conftest import BEGAN, SERIALS, NewHistory, result
from tests.unit.histories import select


def exported(history: Path, folder: Path, *more: str) -> int:
    return main.main(["export", "parquet", "--db", str(history), "--output", str(folder), *more])


def file_of(folder: Path, table: str, day: str, machine: str) -> Path:
    """The file that ``machine`` exported."""
    (path,) = (folder / tables.ROOT / table / f"day={day}").glob(f"machine={machine}.*.parquet")
    return path


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with places.open_fleet(str(folder)) as fleet:
        return fleet.all(sql)


def test_every_row_of_a_history_is_in_its_table(new_history, tmp_path):
    bad = result(findings=(Finding("COVERAGE", Severity.BLOCK, "half of it was cached"),))
    history = new_history("node-1", [[result((1, 1, 1, 2)), bad], [result()]])
    assert exported(history, tmp_path / "out") == 0
    found = rows(tmp_path / "out", "SELECT machine, day, run, state, stripe FROM runs ORDER BY run")
    stripe = "md-raid0 chunk=262144 members=2"
    assert found == [
        ("node-1", "2026-06-01", 1, "complete", stripe),
        ("node-1", "2026-06-02", 2, "complete", stripe),
    ]
    found = rows(
        tmp_path / "out", "SELECT run, result, iops, p99_ns, valid FROM results ORDER BY ALL"
    )
    assert found == [
        (1, 1, 581_387.0, 2_008_000, True), (1, 2, 581_387.0, 2_008_000, False),
        (2, 1, 581_387.0, 2_008_000, True),
    ]  # fmt: skip
    found = rows(
        tmp_path / "out",
        "SELECT member, await_ms, await_ratio FROM members WHERE run = 1 AND valid ORDER BY member",
    )
    assert found == [*((serial, 1.0, 1.0) for serial in SERIALS[:3]), (SERIALS[3], 2.0, 2.0)]
    assert rows(tmp_path / "out", "SELECT code, severity FROM findings") == [("COVERAGE", "block")]
    assert rows(tmp_path / "out", "SELECT epoch, subject FROM epochs") == [(1, "appliance")]


def test_histograms_are_added_up_over_the_valid_results_of_a_day(new_history, tmp_path):
    twice = [result(bins={1000: 1, 5000: 3}), result(bins={5000: 6}, pass_index=2)]
    blocked = result(findings=(Finding("DEPTH", Severity.BLOCK, ""),), bins={9000: 99})
    exported(new_history("node-1", [[*twice, blocked]]), tmp_path / "out")
    ((latency_ns, counts),) = rows(tmp_path / "out", "SELECT latency_ns, counts FROM histograms")
    assert dict(zip(latency_ns, counts, strict=True)) == {1000: 1, 5000: 9}


def test_a_fleet_s_percentiles_are_those_of_all_its_i_os(new_history, tmp_path):
    bins = [{1000 * (at + 1): 7 * number + at for at in range(60)} for number in range(1, 4)]
    for number, one in enumerate(bins):
        exported(new_history(f"node-{number}", [[result(bins=one)]]), tmp_path / "out")
    with places.open_fleet(str(tmp_path / "out")) as fleet:
        (normal,) = overview.normals(fleet)
    merged = histogram.merge(bins)
    assert normal.latency_ns == tuple(histogram.percentile_ns(merged, p) for p in (50, 99, 99.9))
    assert normal.machines == 3


def test_only_what_is_new_is_written_again(new_history, tmp_path):
    history = new_history("node-1", [[result()]] * 3)
    out = tmp_path / "out"
    exported(history, out)

    def inodes() -> list[int]:
        return [path.stat().st_ino for path in sorted(out.rglob("results/*/*.parquet"))]

    before = inodes()
    exported(history, out)
    assert inodes() == before


def test_a_run_of_a_day_that_was_written_is_added_also_after_one_dated_far_ahead(
    new_history, tmp_path
):
    history = new_history("node-1", [[result()]] * 3)
    select(history, "UPDATE run SET started_at = 1900000000 WHERE id = 2")
    select(history, "UPDATE run SET started_at = ? + 3600 WHERE id = 3", BEGAN)
    select(history, "UPDATE run SET state = 'running', ended_at = NULL WHERE id = 3")
    connection = sqlite3.connect(history)
    held = connection.execute("SELECT * FROM run WHERE id = 3").fetchone()
    with connection:
        connection.execute("DELETE FROM result WHERE run_id = 3")
        connection.execute("DELETE FROM raw_report WHERE run_id = 3")
        connection.execute("DELETE FROM run WHERE id = 3")
    exported(history, tmp_path / "out")
    with connection:
        connection.execute(f"INSERT INTO run VALUES ({', '.join('?' * len(held))})", held)
        connection.execute("UPDATE run SET state = 'complete', ended_at = seen_at WHERE id = 3")
    exported(history, tmp_path / "out")
    path = file_of(tmp_path / "out", "runs", "2026-06-01", "node-1")
    assert duckdb.execute(f"SELECT run FROM '{path}' ORDER BY run").fetchall() == [(1,), (3,)]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a'b; DROP TABLE runs --", "%2e", "Zürich"])
def test_a_machine_s_name_is_a_name_and_nothing_else(new_history, tmp_path, name):
    history = new_history("node-1", [[result()]])
    out = tmp_path / "out"
    assert exported(history, out, "--machine", name) == 0
    assert rows(out, "SELECT machine FROM runs") == [(name,)]
    assert all(path.is_relative_to(out) for path in tmp_path.rglob("*.parquet"))
    one_place.bring([out], tmp_path / "fleet")
    assert rows(tmp_path / "fleet", "SELECT machine FROM runs") == [(name,)]


def test_what_is_wrong_with_a_request_is_said_in_a_line(new_history, tmp_path, capsys):
    history = new_history("node-1", [[result()]])
    assert main.main(["export", "parquet", "--db", str(history)]) == 2
    assert "--output DIR" in capsys.readouterr().err
    assert main.main(["export", "csv", "--machine", "x", "--db", str(history)]) == 2
    assert exported(history, tmp_path / "out", "--machine", "x" * 121) == 2
    (tmp_path / "file").touch()
    assert exported(history, tmp_path / "file") == 1
    assert capsys.readouterr().err.count("Traceback") == 0
    with pytest.raises(UsageError):
        one_place.bring([tmp_path / "nowhere"], tmp_path / "fleet")
    with pytest.raises(UsageError), places.open_fleet(str(tmp_path / "nowhere")):
        pass
    with pytest.raises(OperatorError), places.open_fleet(str(tmp_path)):
        pass


def test_without_duckdb_it_says_what_to_install(new_history, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    assert exported(new_history("node-1", [[result()]]), tmp_path / "out") == 1
    assert "pip install 'stripewright[fleet]'" in capsys.readouterr().err


# ---------------------------------------------------------------------------------- import


def test_histories_and_parquet_of_many_machines_come_into_one_place(new_history, tmp_path):
    for number in range(3):
        history = new_history(f"node-{number}", [[result()]] * 2)
        if number:
            exported(history, tmp_path / "outbox" / f"node-{number}")
    done = one_place.bring([tmp_path / "outbox", tmp_path / "node-0"], tmp_path / "fleet")
    assert done.problems == ()
    counted = rows(tmp_path / "fleet", "SELECT machine, count(*) FROM runs GROUP BY 1 ORDER BY 1")
    assert counted == [("node-0", 2), ("node-1", 2), ("node-2", 2)]
    names = {path.name for path in (tmp_path / "fleet").rglob("*.parquet")}
    assert names == {"fleet.parquet"}
    again = one_place.bring([tmp_path / "outbox", tmp_path / "node-0"], tmp_path / "fleet")
    assert (again.new, again.known) == (0, done.new)


def test_a_machine_that_reports_twice_counts_once(new_history, tmp_path):
    history = new_history("node-1", [[result()]] * 2)
    exported(history, tmp_path / "a")
    exported(history, tmp_path / "b")
    one_place.bring([tmp_path / "a"], tmp_path / "fleet")
    one_place.bring([tmp_path / "b", history], tmp_path / "fleet")
    assert rows(tmp_path / "fleet", "SELECT count(*) FROM results") == [(2,)]
    # Also where no import brought them together.
    for table in ("results", "runs"):
        path = file_of(tmp_path / "a", table, "2026-06-01", "node-1")
        shutil.copy(path, path.with_name("again.parquet"))
    assert rows(tmp_path / "a", "SELECT count(*) FROM results") == [(2,)]


def test_days_that_come_later_are_added(new_history, tmp_path):
    history = new_history("node-1", [[result()]])
    exported(history, tmp_path / "out")
    one_place.bring([tmp_path / "out"], tmp_path / "fleet")
    shutil.rmtree(history.parent)
    exported(new_history("node-1", [[result()]] * 3), tmp_path / "out")
    one_place.bring([tmp_path / "out"], tmp_path / "fleet")
    assert rows(tmp_path / "fleet", "SELECT count(*), max(day) FROM runs") == [(3, "2026-06-03")]


def test_two_imports_do_not_write_at_once(tmp_path):
    with (
        one_place._alone(tmp_path / "fleet"),
        pytest.raises(Refused),
        one_place._alone(tmp_path / "fleet"),
    ):
        pass


# ------------------------------------------------------------------------------ wrong input


@pytest.fixture
def three(new_history: NewHistory, tmp_path: Path) -> Path:
    """Parquet of three machines."""
    out = tmp_path / "out"
    for number in range(3):
        exported(new_history(f"node-{number}", [[result()]] * 3), out)
    return out


def problems(folder: Path) -> dict[str, str]:
    with places.open_fleet(str(folder)) as fleet:
        return {one.what: one.why for one in fleet.problems}


@pytest.mark.parametrize("how", ["cut", "other", "empty", "inside", "columns"])
def test_a_file_that_is_not_whole_is_named_and_the_others_count(three, how):
    path = file_of(three, "results", "2026-06-02", "node-1")
    held = path.read_bytes()
    if how == "columns":
        duckdb.execute(f"COPY (SELECT 1 AS machine) TO '{path}' (FORMAT parquet)")
    else:
        path.write_bytes(
            {
                "cut": held[: len(held) // 2], "other": b"GIF89a" + held, "empty": b"",
                "inside": held[:200] + bytes(len(held) - 400) + held[-200:],
            }[how]
        )  # fmt: skip
    seen = overview.survey(str(three))
    assert [one.what for one in seen.problems] == [str(path)]
    assert [one.machines for one in seen.normals] == [3]
    fleet = three.parent / "fleet"
    done = one_place.bring([three], fleet)
    assert [one.what for one in done.problems] == [str(path)]
    assert rows(fleet, "SELECT count(*) FROM results") == [(8,)]
    # It is not forgotten: mended, it is taken.
    path.write_bytes(held)
    one_place.bring([three], fleet)
    assert rows(fleet, "SELECT count(*) FROM results") == [(9,)]


def test_files_of_a_later_schema_are_left_alone_and_named(three):
    (three / tables.ROOT).rename(three / "schema=9")
    with pytest.raises(OperatorError), places.open_fleet(str(three)):
        pass
    (three / "schema=9").rename(three / tables.ROOT)
    (three / "schema=2").mkdir()
    assert problems(three) == {"schema=2": "written by another version; this one does not read it"}


def test_two_machines_of_one_name_are_named_and_neither_counts(three, new_history, tmp_path):
    stranger = new_history("stranger", [[result()]] * 3, began=1_780_300_000.0)
    exported(stranger, tmp_path / "other", "--machine", "node-1")
    one_place.bring([three], tmp_path / "fleet")
    one_place.bring([tmp_path / "other"], tmp_path / "fleet")
    assert problems(tmp_path / "fleet") == {
        "node-1": "two machines have this name; neither is counted"
    }
    found = rows(tmp_path / "fleet", "SELECT DISTINCT machine FROM results ORDER BY machine")
    assert found == [("node-0",), ("node-2",)]


def test_a_copied_disk_that_went_on_elsewhere_is_two_machines(three, tmp_path):
    shutil.copytree(tmp_path / "node-1", tmp_path / "clone")
    clone = tmp_path / "clone" / "history.db"
    select(clone, "UPDATE run SET started_at = started_at + 60 WHERE id = 3")
    one_place.bring([three, clone], tmp_path / "fleet")
    assert list(problems(tmp_path / "fleet")) == ["node-1"]


def test_a_new_history_of_a_machine_is_no_other_machine(three, new_history, tmp_path):
    later = new_history("later", [[result()]], began=1_780_293_600.0 + 4 * 86_400)
    exported(later, three, "--machine", "node-1")
    assert problems(three) == {}
    assert rows(three, "SELECT count(*) FROM runs WHERE machine = 'node-1'") == [(4,)]


def test_a_clock_years_ahead_moves_nothing_and_is_named(three, new_history):
    exported(new_history("ahead", [[result()]] * 2, began=2_500_000_000.0), three)
    found = problems(three)
    assert list(found) == ["ahead"]
    assert "its clock is ahead" in found["ahead"]
    assert rows(three, "SELECT max(day), count(*) FROM runs") == [("2026-06-03", 9)]


def test_a_clock_years_behind_is_one_that_has_not_reported(three, new_history, capsys):
    exported(new_history("behind", [[result()]], began=1_000_000_000.0), three)
    capsys.readouterr()
    assert main.main(["fleet", str(three), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["silent"] == [{"machine": "behind", "last": "2001-09-09"}]
    assert document["present"] == "2026-06-03"


def test_names_with_control_characters_reach_no_terminal(three, capsys):
    held = file_of(three, "runs", "2026-06-01", "node-1")
    path = held.with_name("x.parquet")
    duckdb.execute(
        f"COPY (SELECT * REPLACE ('\x1b[2Jevil' AS machine, '2026-05-01' AS day) FROM"
        f" '{held}') TO '{path}' (FORMAT parquet)"
    )
    capsys.readouterr()
    assert main.main(["fleet", str(three)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[2Jevil" in out


def test_a_history_that_could_not_be_read_is_read_when_it_can_be(new_history, tmp_path):
    history = new_history("node-1", [[result()]])
    held = history.read_bytes()
    for broken in (held[: len(held) // 2], b"no history"):
        history.write_bytes(broken)
        for _ in range(2):
            done = one_place.bring([history], tmp_path / "fleet")
            assert (done.new, done.known, len(done.problems)) == (0, 0, 1)
    history.write_bytes(held)
    assert one_place.bring([history], tmp_path / "fleet").new == 1


def test_a_damaged_file_of_the_one_place_is_made_anew(three, tmp_path):
    fleet = tmp_path / "fleet"
    one_place.bring([three], fleet)
    (target,) = fleet.glob(f"{tables.ROOT}/results/day=2026-06-02/*.parquet")
    target.write_bytes(target.read_bytes()[:100])
    other = tmp_path / "more"
    shutil.copytree(three, other)
    done = one_place.bring([other], fleet)
    assert [one.what for one in done.problems] == [str(target)]
    one_place.bring([three, other], fleet)
    assert rows(fleet, "SELECT count(*) FROM results") == [(9,)]


@pytest.mark.parametrize(
    ("column", "value"), [("day", "'zzz'"), ("day", "'0001-01-01'"), ("day", "NULL"),
                          ("machine", "NULL"), ("machine", "''")],
)  # fmt: skip
def test_rows_of_no_machine_or_no_day_are_left_out_and_named(three, column, value):
    path = file_of(three, "runs", "2026-06-03", "node-1")
    changed = f"SELECT * REPLACE ({value} AS {column}) FROM '{path}'"
    duckdb.execute(f"COPY ({changed}) TO '{path}.new' (FORMAT parquet)")
    Path(f"{path}.new").rename(path)
    assert problems(three) == {str(path): "1 rows are of no machine or of no day, and left out"}
    done = one_place.bring([three], three.parent / "fleet")
    assert [one.what for one in done.problems] == [str(path)]
    assert overview.survey(str(three.parent / "fleet")).machines == 3


def test_a_figure_without_end_breaks_nothing(three):
    path = file_of(three, "results", "2026-06-03", "node-1")
    changed = f"SELECT * REPLACE ('inf'::DOUBLE AS iops) FROM '{path}'"
    duckdb.execute(f"COPY ({changed}) TO '{path}.new' (FORMAT parquet)")
    Path(f"{path}.new").rename(path)
    seen = overview.survey(str(three))
    assert seen.odd == []
    assert [one.iops for one in seen.normals] == [(581_387.0, 581_387.0, 581_387.0)]


def test_a_machine_that_was_renamed_is_one_machine(three, tmp_path):
    renamed = tmp_path / "node-1" / "history.db"
    exported(renamed, three, "--machine", "called-otherwise")
    assert len(problems(three)) == 1
    with places.open_fleet(str(three)) as fleet:
        assert fleet.machines == 3


def test_names_that_are_long_and_alike_have_files_of_their_own(new_history, tmp_path):
    history = new_history("node-1", [[result()]] * 2)
    for last in "аб":
        exported(history, tmp_path / "out", "--machine", "ж" * 42 + last)
    assert len(list((tmp_path / "out").rglob("runs/*/*.parquet"))) == 4


def test_a_file_that_is_called_otherwise_is_named(three, tmp_path):
    stray = tmp_path / "stray.parquet"
    shutil.copy(file_of(three, "runs", "2026-06-01", "node-1"), stray)
    done = one_place.bring([stray], tmp_path / "fleet")
    assert (done.new, len(done.problems)) == (0, 1)
    assert "schema=1/TABLE/day=YYYY-MM-DD" in done.problems[0].why


@pytest.mark.parametrize(("machine_type", "named"), [("i4i.xlarge", ["node-5"]), ("", [])])
def test_machines_of_a_type_that_is_not_known_are_no_siblings(
    new_history, tmp_path, machine_type, named
):
    for number in range(6):
        iops = 581_387.0 / (1 + 3 * (number == 5)) * (1 + number / 1000)
        history = new_history(f"node-{number}", [[result(iops=iops)]])
        select(history, "UPDATE run SET machine_type = ?", machine_type)
        exported(history, tmp_path / "out")
    seen = overview.survey(str(tmp_path / "out"))
    assert [one.unit.machine for one in seen.odd] == named
    document, _ = overview.normal_document(str(tmp_path / "out"))
    assert bool(document["normal"]) == bool(machine_type)
