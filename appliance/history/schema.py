"""The tables of history.db; docs/schema.md explains them to a reader.

There is one schema. A file of the one before is converted once (:mod:`appliance.history.convert`);
APPLICATION_ID and the number in the file's header tell which it is.
"""

from __future__ import annotations

import sqlite3

from appliance.history.format import APPLICATION_ID, SCHEMA_VERSION

# A NOT NULL column with a default is one that is filled in later, or that most rows leave empty.
TABLES: dict[str, str] = {
    "host": """
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, machine_type TEXT NOT NULL,
        first_seen_at REAL NOT NULL,
        UNIQUE (name, machine_type)""",
    "epoch": """
        id INTEGER PRIMARY KEY, host_id INTEGER NOT NULL REFERENCES host (id),
        subject TEXT NOT NULL, opened_at REAL NOT NULL, fingerprint TEXT NOT NULL,
        changed TEXT NOT NULL""",
    "suite": """
        content_hash TEXT PRIMARY KEY, name TEXT NOT NULL, jobs TEXT NOT NULL""",
    "run": """
        id INTEGER PRIMARY KEY,
        suite_hash TEXT NOT NULL REFERENCES suite (content_hash), suite TEXT NOT NULL,
        epoch_id INTEGER REFERENCES epoch (id),
        state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', notes TEXT NOT NULL DEFAULT '[]',
        target TEXT NOT NULL, target_kind TEXT NOT NULL DEFAULT 'filesystem',
        device TEXT NOT NULL DEFAULT '', members TEXT NOT NULL DEFAULT '[]',
        machine_type TEXT NOT NULL DEFAULT '', conditions TEXT NOT NULL DEFAULT '{}',
        engine TEXT NOT NULL DEFAULT '', fio_version TEXT NOT NULL DEFAULT '',
        time_factor REAL NOT NULL DEFAULT 1.0,
        started_at REAL NOT NULL, ended_at REAL, seen_at REAL NOT NULL,
        phase TEXT NOT NULL DEFAULT '', phase_started_at REAL NOT NULL,
        phase_seconds REAL NOT NULL DEFAULT 0.0, job_index INTEGER NOT NULL DEFAULT 0,
        job_count INTEGER NOT NULL DEFAULT 0, files_left INTEGER NOT NULL DEFAULT 0,
        pid INTEGER NOT NULL, pid_start_ticks INTEGER, boot_id TEXT NOT NULL DEFAULT ''""",
    "imported": """
        id INTEGER PRIMARY KEY, at REAL NOT NULL, file TEXT NOT NULL, sha256 TEXT NOT NULL,
        machine_type TEXT NOT NULL,
        UNIQUE (sha256, machine_type)""",
    # Of a run, or of a report in an imported file.
    "result": """
        id INTEGER PRIMARY KEY,
        run_id INTEGER REFERENCES run (id),
        imported_id INTEGER REFERENCES imported (id), line INTEGER,
        ended_at REAL,
        job TEXT NOT NULL, direction TEXT NOT NULL, rw TEXT NOT NULL DEFAULT '',
        engine TEXT NOT NULL DEFAULT '', device TEXT NOT NULL DEFAULT '',
        member TEXT NOT NULL DEFAULT '', pass_index INTEGER NOT NULL DEFAULT 1,
        block_size_bytes INTEGER, jobs INTEGER, iodepth INTEGER,
        iops REAL, bandwidth_bytes REAL, io_bytes INTEGER, total_ios INTEGER,
        latency_mean_ns REAL, percentiles_ns TEXT,
        runtime_ms INTEGER, runtime_asked_ms INTEGER, errors INTEGER,
        cpu_percent REAL, host_cpu_percent REAL, device_bytes INTEGER,
        published_iops REAL, published_bytes_per_s REAL,
        published_basis TEXT NOT NULL DEFAULT '', published_source TEXT NOT NULL DEFAULT '',
        provisioned TEXT, device_latencies TEXT,
        more TEXT NOT NULL DEFAULT '{}', valid INTEGER NOT NULL,
        CHECK ((run_id IS NULL) = (imported_id IS NOT NULL)),
        CHECK (run_id IS NULL OR iops IS NOT NULL)""",
    "finding": """
        id INTEGER PRIMARY KEY, result_id INTEGER NOT NULL REFERENCES result (id),
        code TEXT NOT NULL, severity TEXT NOT NULL, message TEXT NOT NULL,
        measured REAL, limit_value REAL, corrected REAL, unit TEXT NOT NULL DEFAULT ''""",
    "histogram": """
        result_id INTEGER PRIMARY KEY REFERENCES result (id), bins BLOB NOT NULL""",
    "device_delta": """
        result_id INTEGER REFERENCES result (id), device TEXT,
        read_ios INTEGER, read_bytes INTEGER, read_ms INTEGER,
        write_ios INTEGER, write_bytes INTEGER, write_ms INTEGER,
        in_flight INTEGER, io_ms INTEGER,
        PRIMARY KEY (result_id, device)""",
    "sample": """
        id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES run (id),
        at_ns INTEGER NOT NULL, device TEXT NOT NULL, read_iops REAL, write_iops REAL,
        read_bytes_per_s REAL, write_bytes_per_s REAL, await_ms REAL, util REAL""",
    "sample_mean": """
        run_id INTEGER PRIMARY KEY REFERENCES run (id), means BLOB NOT NULL""",
    "raw_report": """
        id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES run (id), job TEXT NOT NULL,
        at REAL NOT NULL, fio_json BLOB NOT NULL""",
    "event": """
        id INTEGER PRIMARY KEY, at REAL NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,
        fields TEXT NOT NULL""",
    "audit_step": """
        id INTEGER PRIMARY KEY, at REAL NOT NULL, boot_id TEXT, plan_digest TEXT NOT NULL,
        step_index INTEGER NOT NULL, argv TEXT NOT NULL, state TEXT NOT NULL, detail TEXT""",
    "drift_finding": """
        id INTEGER PRIMARY KEY, code TEXT NOT NULL, subject TEXT NOT NULL, identity TEXT NOT NULL,
        severity TEXT NOT NULL, state TEXT NOT NULL, fact_state TEXT NOT NULL,
        summary TEXT NOT NULL, expected TEXT NOT NULL, observed TEXT NOT NULL,
        volume TEXT NOT NULL, member TEXT NOT NULL, evidence TEXT NOT NULL,
        next_step TEXT NOT NULL, epoch_id INTEGER REFERENCES epoch (id), boot_id TEXT NOT NULL,
        opened_at REAL NOT NULL, seen_at REAL NOT NULL, closed_at REAL, announced_at REAL,
        quiet INTEGER NOT NULL, times INTEGER NOT NULL,
        acknowledged_at REAL, acknowledged_by TEXT NOT NULL, note TEXT NOT NULL""",
    "drift_transition": """
        id INTEGER PRIMARY KEY, finding_id INTEGER NOT NULL REFERENCES drift_finding (id),
        at REAL NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, severity TEXT NOT NULL,
        who TEXT NOT NULL, note TEXT NOT NULL""",
    "drift_approval": """
        id INTEGER PRIMARY KEY, finding_id INTEGER NOT NULL REFERENCES drift_finding (id),
        at REAL NOT NULL, who TEXT NOT NULL, note TEXT NOT NULL, subject TEXT NOT NULL,
        target TEXT NOT NULL, from_run INTEGER NOT NULL""",
    "drift_confirmation": """
        id INTEGER PRIMARY KEY, at REAL NOT NULL, code TEXT NOT NULL, subject TEXT NOT NULL,
        identity TEXT NOT NULL, target TEXT NOT NULL, change_run INTEGER NOT NULL,
        run_id INTEGER NOT NULL REFERENCES run (id), verdict TEXT NOT NULL, words TEXT NOT NULL,
        repeats TEXT NOT NULL, control TEXT NOT NULL""",
    "drift_surroundings": """
        boot_id TEXT PRIMARY KEY, at REAL NOT NULL, facts TEXT NOT NULL""",
    "drift_value": """
        key TEXT PRIMARY KEY, value TEXT NOT NULL""",
}
INDEXES: tuple[tuple[str, str], ...] = (
    ("epoch", "subject, id"),
    ("run", "state"),
    # A series is one job of a suite over time: its values are read from the index alone.
    ("run", "suite, epoch_id"),
    ("result", "job, direction, run_id, member, iops, valid"),
    ("result", "run_id"),
    ("result", "imported_id"),
    ("finding", "result_id"),
    ("sample", "run_id, at_ns"),
    ("raw_report", "run_id"),
    ("drift_finding", "state, closed_at"),
    ("drift_transition", "finding_id"),
)


def create(connection: sqlite3.Connection) -> None:
    """Make the tables, in one transaction that two processes cannot share."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have made them since the file was looked at.
        if not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            for table in TABLES:
                create_table(connection, table)
            stamp(connection)
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def create_table(connection: sqlite3.Connection, table: str) -> None:
    connection.execute(f"CREATE TABLE {table} ({TABLES[table]}\n) STRICT")
    for of, columns in INDEXES:
        if of == table:
            name = "_".join(("idx", table, *columns.split(", ")))
            connection.execute(f"CREATE INDEX {name} ON {table} ({columns})")


def stamp(connection: sqlite3.Connection) -> None:
    """Write into the file's header whose it is, and of which schema."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
