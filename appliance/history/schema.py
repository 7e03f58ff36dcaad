"""The tables of history.db, as migrations; docs/schema.md explains them to a reader.

A migration that has been released is never edited: a change is a new function at the end.
Imported by the writing side only, because importing sqlite-utils takes a while on a slow
machine. APPLICATION_ID and the schema's version stand in the file's header, so that a file
of another program, or of a newer Stripewright, is told before anything is written.
"""

from __future__ import annotations

import sqlite3

from sqlite_utils import Database, Migrations
from sqlite_utils.db import Table

from appliance.history import drift_schema
from appliance.history.format import APPLICATION_ID, SCHEMA_VERSION

MIGRATIONS = Migrations("stripewright")


def table(db: Database, name: str) -> Table:
    found = db.table(name)
    assert isinstance(found, Table)  # noqa: S101 - narrows the type: views are not written
    return found


@MIGRATIONS()
def m001_first(db: Database) -> None:
    """Everything that the first version keeps."""
    _host_and_epoch(db)
    _suite_and_run(db)
    _result(db)
    _log(db)


@MIGRATIONS()
def m002_host_cpu_access_and_left_files(db: Database) -> None:
    """The host's processors beside each job, what it asked for, and what a killed run left."""
    table(db, "result").add_column("host_cpu_percent", float)
    table(db, "result").add_column("rw", str)
    table(db, "run").add_column("files_left", int)
    # Which killed run was cleaned up after was not written down: look once more.
    db.execute("UPDATE run SET files_left = 1 WHERE state = 'aborted'")


@MIGRATIONS()
def m003_imports_means_and_published(db: Database) -> None:
    """Imported diaries, means of old samples, and what is known beside a result."""
    for column, kind in (
        ("published_bytes_per_s", float),
        ("published_basis", str),
        ("published_source", str),
        ("member", str),
        ("pass_index", int),
        ("provisioned", str),
        ("ended_at", float),
    ):
        table(db, "result").add_column(column, kind)
    table(db, "run").add_column("target_kind", str)
    table(db, "run").add_column("conditions", str)
    # A series is one job of a suite over time: its values are read from the index alone.
    table(db, "run").create_index(["suite", "epoch_id"])
    table(db, "result").create_index(["job", "direction", "run_id", "member", "iops", "valid"])
    _sample_mean(db)
    _imported(db)


def _sample_mean(db: Database) -> None:
    table(db, "sample_mean").create(
        {"run_id": int, "means": bytes},
        pk="run_id",
        foreign_keys=[("run_id", "run", "id")],
        not_null={"means"},
        strict=True,
    )


def _imported(db: Database) -> None:
    table(db, "imported").create(
        {"id": int, "at": float, "file": str, "sha256": str, "machine_type": str},
        pk="id",
        not_null={"at", "file", "sha256", "machine_type"},
        strict=True,
    )
    table(db, "imported").create_index(["sha256", "machine_type"], unique=True)
    table(db, "imported_report").create(
        {
            "id": int,
            "imported_id": int,
            "line": int,
            "job": str,
            "direction": str,
            "rw": str,
            "engine": str,
            "device": str,
            "block_size_bytes": int,
            "jobs": int,
            "iodepth": int,
            "iops": float,
            "bandwidth_bytes": float,
            "latency_mean_ns": float,
            "valid": int,
            "evidence": str,
            "findings": str,
        },
        pk="id",
        foreign_keys=[("imported_id", "imported", "id")],
        not_null={"imported_id", "line", "job", "direction", "valid", "evidence", "findings"},
        strict=True,
    )
    table(db, "imported_report").create_index(["imported_id"])


@MIGRATIONS()
def m004_drift(db: Database) -> None:
    """Findings of drift, and what people and repeated runs said of them."""
    drift_schema.create(db, table)


@MIGRATIONS()
def m005_device_latencies(db: Database) -> None:
    """How long the disks themselves took, by their own count."""
    table(db, "result").add_column("device_latencies", str)


def _host_and_epoch(db: Database) -> None:
    table(db, "host").create(
        {"id": int, "name": str, "machine_type": str, "first_seen_at": float},
        pk="id",
        not_null={"name", "machine_type", "first_seen_at"},
        strict=True,
    )
    table(db, "host").create_index(["name", "machine_type"], unique=True)
    table(db, "epoch").create(
        {
            "id": int,
            "host_id": int,
            "subject": str,
            "opened_at": float,
            "fingerprint": str,
            "changed": str,
        },
        pk="id",
        foreign_keys=[("host_id", "host", "id")],
        not_null={"host_id", "subject", "opened_at", "fingerprint", "changed"},
        strict=True,
    )
    table(db, "epoch").create_index(["subject", "id"])


def _suite_and_run(db: Database) -> None:
    table(db, "suite").create(
        {"content_hash": str, "name": str, "jobs": str},
        pk="content_hash",
        not_null={"name", "jobs"},
        strict=True,
    )
    table(db, "run").create(
        {
            "id": int,
            "suite_hash": str,
            "suite": str,
            "epoch_id": int,
            "state": str,
            "reason": str,
            "notes": str,
            "target": str,
            "device": str,
            "members": str,
            "machine_type": str,
            "engine": str,
            "fio_version": str,
            "time_factor": float,
            "started_at": float,
            "ended_at": float,
            "seen_at": float,
            "phase": str,
            "phase_started_at": float,
            "phase_seconds": float,
            "job_index": int,
            "job_count": int,
            "pid": int,
            "pid_start_ticks": int,
            "boot_id": str,
        },
        pk="id",
        foreign_keys=[("suite_hash", "suite", "content_hash"), ("epoch_id", "epoch", "id")],
        not_null={"suite_hash", "suite", "state", "target", "started_at", "seen_at", "pid"},
        strict=True,
    )
    table(db, "run").create_index(["state"])


def _result(db: Database) -> None:
    table(db, "result").create(
        {
            "id": int,
            "run_id": int,
            "job": str,
            "direction": str,
            "engine": str,
            "block_size_bytes": int,
            "iops": float,
            "bandwidth_bytes": float,
            "io_bytes": int,
            "total_ios": int,
            "latency_mean_ns": float,
            "percentiles_ns": str,
            "runtime_ms": int,
            "runtime_asked_ms": int,
            "jobs": int,
            "iodepth": int,
            "errors": int,
            "cpu_percent": float,
            "device_bytes": int,
            "published_iops": float,
            "valid": int,
        },
        pk="id",
        foreign_keys=[("run_id", "run", "id")],
        not_null={"run_id", "job", "direction", "iops", "valid"},
        strict=True,
    )
    table(db, "result").create_index(["run_id"])
    table(db, "histogram").create(
        {"result_id": int, "bins": bytes},
        pk="result_id",
        foreign_keys=[("result_id", "result", "id")],
        not_null={"bins"},
        strict=True,
    )
    table(db, "device_delta").create(
        {
            "result_id": int,
            "device": str,
            "read_ios": int,
            "read_bytes": int,
            "read_ms": int,
            "write_ios": int,
            "write_bytes": int,
            "write_ms": int,
            "in_flight": int,
            "io_ms": int,
        },
        pk=("result_id", "device"),
        foreign_keys=[("result_id", "result", "id")],
        strict=True,
    )
    table(db, "finding").create(
        {
            "id": int,
            "result_id": int,
            "code": str,
            "severity": str,
            "message": str,
            "measured": float,
            "limit_value": float,
            "corrected": float,
            "unit": str,
        },
        pk="id",
        foreign_keys=[("result_id", "result", "id")],
        not_null={"result_id", "code", "severity", "message"},
        strict=True,
    )
    table(db, "finding").create_index(["result_id"])
    table(db, "sample").create(
        {
            "id": int,
            "run_id": int,
            "at_ns": int,
            "device": str,
            "read_iops": float,
            "write_iops": float,
            "read_bytes_per_s": float,
            "write_bytes_per_s": float,
            "await_ms": float,
            "util": float,
        },
        pk="id",
        foreign_keys=[("run_id", "run", "id")],
        not_null={"run_id", "at_ns", "device"},
        strict=True,
    )
    table(db, "sample").create_index(["run_id", "at_ns"])
    table(db, "raw_report").create(
        {"id": int, "run_id": int, "job": str, "at": float, "fio_json": bytes},
        pk="id",
        foreign_keys=[("run_id", "run", "id")],
        not_null={"run_id", "job", "at", "fio_json"},
        strict=True,
    )
    table(db, "raw_report").create_index(["run_id"])


def _log(db: Database) -> None:
    table(db, "event").create(
        {"id": int, "at": float, "code": str, "message": str, "fields": str},
        pk="id",
        not_null={"at", "code", "message", "fields"},
        strict=True,
    )
    table(db, "audit_step").create(
        {
            "id": int,
            "at": float,
            "boot_id": str,
            "plan_digest": str,
            "step_index": int,
            "argv": str,
            "state": str,
            "detail": str,
        },
        pk="id",
        not_null={"at", "plan_digest", "step_index", "argv", "state"},
        strict=True,
    )


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to this version, in one transaction that two processes cannot share."""
    db = Database(connection, strict=True)
    connection.execute("BEGIN IMMEDIATE")
    try:
        MIGRATIONS.apply(db)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
