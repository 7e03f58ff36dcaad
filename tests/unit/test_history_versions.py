"""Files of earlier and later versions."""

from __future__ import annotations

import dataclasses
import sqlite3

import pytest
from sqlite_utils import Database

from appliance.errors import OperatorError
from appliance.history import exports, queries, rows, schema
from appliance.history import format as file_format
from appliance.history.store import History
from appliance.model import Capability, RunState
from tests.unit.histories import RESULT, begin

pytestmark = pytest.mark.usefixtures("journalled")

# What a writer of each version knew of a result.
_COLUMNS_OF_1 = (
    "job, direction, engine, block_size_bytes, iops, bandwidth_bytes, io_bytes, total_ios,"
    " latency_mean_ns, runtime_ms, runtime_asked_ms, jobs, iodepth, errors, cpu_percent,"
    " device_bytes, published_iops"
)
_AS_OF_1 = dataclasses.replace(
    RESULT,
    rw="",
    host_cpu_percent=None,
    capability=Capability(iops=825_000.0),
    member="",
    pass_index=1,
    provisioned=None,
)
_AS_OF_2 = dataclasses.replace(_AS_OF_1, rw="randread", host_cpu_percent=12.5)
_AS_OF = {1: _AS_OF_1, 2: _AS_OF_2, 3: _AS_OF_2}


def _make(path, version: int) -> None:
    """A file as the program of ``version`` left it, with one killed and one complete run."""
    connection = sqlite3.connect(path)
    database = Database(connection, strict=True)
    schema.MIGRATIONS.apply(
        database,
        stop_before={
            1: "m002_host_cpu_access_and_left_files",
            2: "m003_imports_means_and_published",
            3: "m004_drift",
        }[version],
    )
    connection.execute("INSERT INTO host VALUES (1, 'h', 'i3.4xlarge', 1.0)")
    connection.execute("INSERT INTO epoch VALUES (1, 1, 'appliance', 1.0, '{}', '{}')")
    connection.execute("INSERT INTO suite VALUES ('hash', 'smoke', '[]')")
    for number, state in ((1, "aborted"), (2, "complete")):
        connection.execute(
            "INSERT INTO run (id, suite_hash, suite, epoch_id, state, target, started_at, seen_at,"
            " ended_at, pid, time_factor) VALUES (?, 'hash', 'smoke', 1, ?, '/t', 5, 6, 7, 1, 1)",
            (number, state),
        )
    values = [getattr(RESULT, name.strip()) for name in _COLUMNS_OF_1.split(",")]
    connection.execute(
        f"INSERT INTO result (run_id, percentiles_ns, valid, {_COLUMNS_OF_1})"  # noqa: S608
        f" VALUES (2, ?, 1{', ?' * len(values)})",
        ('{"1.000000":1000,"99.000000":2008000}', *values),
    )
    if version >= 2:
        connection.execute("UPDATE result SET rw = 'randread', host_cpu_percent = 12.5")
    connection.execute("INSERT INTO histogram VALUES (1, ?)", (file_format.pack_bins(RESULT.bins),))
    for io in RESULT.device_io:
        connection.execute(
            f"INSERT INTO device_delta VALUES (1{', ?' * 9})",  # noqa: S608
            tuple(rows.delta_row(io).values()),
        )
    for finding in RESULT.findings:
        connection.execute(
            "INSERT INTO finding VALUES (NULL, 1, ?, ?, ?, ?, ?, ?, ?)",
            dataclasses.astuple(finding),
        )
    connection.execute("INSERT INTO sample VALUES (1, 2, 9000000000, 'md0', 1, 2, 3, 4, 5, 6)")
    connection.execute(f"PRAGMA application_id = {file_format.APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_of_an_earlier_version_answers_everything_without_being_changed(db, version):
    _make(db, version)
    before = db.read_bytes()
    with queries.open_readonly(db) as reader:
        assert reader.results(2) == (_AS_OF[version],)
        run = reader.run(2)
        assert (run.target_kind, run.conditions) == ("filesystem", {})
        light = dataclasses.replace(_AS_OF[version], bins={}, device_io=())
        assert reader.summaries([1, 2]) == {1: (), 2: (light,)}
        assert [point.iops for point in reader.trend("smoke", RESULT.job, "read", limit=9)] == [
            RESULT.iops
        ]
        assert [point.read_iops for point in reader.series(2)] == [1]
        assert reader.ends(2) == (None,)
        assert reader.imports() == ()
        with pytest.raises(OperatorError, match="no import 1"):
            reader.import_reports(1)
        assert reader.host(1) == "h"
        assert reader.drift_findings(include_closed=True) == ()
        assert reader.drift_lately(7.0) == ()
        assert reader.drift_transitions(1) == ()
        assert (reader.approvals(), reader.confirmations()) == ((), ())
        assert reader.surroundings_before("a boot") is None
        assert not reader.knows_surroundings("a boot")
        assert (reader.drift_mark(), reader.drift_checked_at()) == ("2/1", None)
        with pytest.raises(OperatorError, match="no finding 1"):
            reader.drift_finding(1)
        (found,) = reader.latest_results()
        assert found[1].iops == RESULT.iops
        assert "stripewright_result_iops" in exports.metrics_text(reader)
        assert len(list(exports.csv_text(reader))) == 2
        assert '"imports": [' in "".join(exports.json_text(reader))
    assert db.read_bytes() == before


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_writer_brings_a_file_of_an_earlier_version_up_to_this_one(db, version):
    _make(db, version)
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.add_result(run_id, RESULT, raw_report="x")
        history.finish_run(run_id, RunState.COMPLETE)
        history.add_import("f", sha256="00", machine_type="", judged=())
        history.drift.keep_surroundings("a boot", {"kernel": "6.12"}, now=7.0)
        # Nobody wrote down in version 1 whether a killed run's files were removed: look again.
        assert len(history.left_behind()) == (1 if version == 1 else 0)
    with queries.open_readonly(db) as reader:
        assert reader.results(2) == (_AS_OF[version],)
        assert reader.results(run_id) == (RESULT,)
        assert reader.runs(5, suite="smoke")[1].id == 2
        assert reader.surroundings_before("another") == {"kernel": "6.12"}


def test_a_later_versions_file_is_left_alone(db):
    with History.open_writable(db):
        pass
    connection = sqlite3.connect(db)
    connection.execute(f"PRAGMA user_version = {file_format.SCHEMA_VERSION + 1}")
    connection.close()
    for opener in (History.open_writable, queries.open_readonly):
        with pytest.raises(OperatorError, match="schema version"):
            opener(db)
