"""The Parquet files: which there are, and what is in them. Pure.

A file holds the rows of one table and one day, of one machine or of many:
``schema=1/TABLE/day=YYYY-MM-DD/NAME.parquet``. A day is that on which a run began, in UTC. Another
number of ``schema`` is another layout: files of one that is not known are left alone, and named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

SCHEMA = 1
ROOT = f"schema={SCHEMA}"
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class Column(NamedTuple):
    """``kind`` is DuckDB's type."""

    name: str
    kind: str
    means: str


def _columns(*rows: str) -> tuple[Column, ...]:
    return tuple(Column(*(part.strip() for part in row.split("|", 2))) for row in rows)


_WHERE = _columns(
    "machine | VARCHAR | the machine's name",
    "history | VARCHAR | which of its histories, by a hash of how that begins: run numbers are its",
    "day | VARCHAR | when the run began, UTC, YYYY-MM-DD",
)
_RUN = _columns(
    "run | BIGINT | the number of the run in its history",
    "started_at | DOUBLE | seconds since 1970-01-01 UTC",
)
# What results can only be compared within: all of it the same.
_SERIES = _columns(
    "machine_type | VARCHAR | as the provider calls it; empty: not known",
    "conditions | VARCHAR | what else has to be equal: suite by hash, stripe, filesystem, mount"
    " options, kernel, fio",
    "suite | VARCHAR | the suite's name",
    "job | VARCHAR | fio's job",
    "direction | VARCHAR | read or write",
)
TABLES: Mapping[str, tuple[Column, ...]] = {
    "runs": (
        *_WHERE, *_RUN,
        *_columns(
            "machine_type | VARCHAR | as the provider calls it; empty: not known",
            "conditions | VARCHAR | as in results",
            "suite | VARCHAR | the suite's name",
            "state | VARCHAR | complete, aborted, failed or skipped",
            "reason | VARCHAR | why, if not complete",
            "epoch | BIGINT | the epoch in its history; NULL: none was open",
            "ended_at | DOUBLE | seconds since 1970-01-01 UTC",
            "time_factor | DOUBLE | not 1: never compared",
            "stripe | VARCHAR | level, chunk and members",
            "kernel | VARCHAR | its release",
            "fio_version | VARCHAR | fio's own words",
            "version | VARCHAR | of the Stripewright that wrote the file",
        ),
    ),
    "results": (
        *_WHERE, *_RUN, *_SERIES,
        *_columns(
            "result | BIGINT | its place in the run, from 1",
            "member | VARCHAR | the one disk that was measured; empty: the stripe",
            "pass | BIGINT | of a suite that measures every job several times, from 1",
            "rw | VARCHAR | fio's access pattern",
            "block_size_bytes | BIGINT | of an I/O",
            "jobs | BIGINT | workers",
            "iodepth | BIGINT | of each",
            "iops | DOUBLE | I/Os a second",
            "bandwidth_bytes | DOUBLE | bytes a second",
            "latency_mean_ns | DOUBLE | from submission to completion",
            "p50_ns | BIGINT | percentiles of completion latency, as fio gives them",
            "p99_ns | BIGINT | as p50_ns",
            "p999_ns | BIGINT | as p50_ns: 99.9 %",
            "published_iops | DOUBLE | the provider's, for as many disks; NULL: not known",
            "published_bytes_per_s | DOUBLE | as published_iops",
            "valid | BOOLEAN | no finding blocks it, the run is complete and ran its own times",
        ),
    ),
    "members": (
        *_WHERE, *_RUN, *_SERIES,
        *_columns(
            "result | BIGINT | as in results",
            "member | VARCHAR | the disk's serial, or its kernel name where that is not known",
            "device | VARCHAR | its kernel name in that run",
            "await_ms | DOUBLE | time ÷ I/Os of this direction",
            "await_ratio | DOUBLE | that ÷ the median of the others of the same stripe",
            "valid | BOOLEAN | of the result",
        ),
    ),
    "histograms": (
        *_WHERE, *_SERIES,
        *_columns(
            "latency_ns | BIGINT[] | the middles of fio's bins, ascending",
            "counts | BIGINT[] | I/Os in each, of all valid results of the stripe that day",
        ),
    ),
    "findings": (
        *_WHERE, *_RUN, *_SERIES,
        *_columns(
            "result | BIGINT | as in results",
            "code | VARCHAR | the validity rule",
            "severity | VARCHAR | block, warn or label",
            "message | VARCHAR | in words",
        ),
    ),
    "drift": (
        *_WHERE,
        *_columns(
            "finding | BIGINT | its number in its history; day is when it was opened",
            "code | VARCHAR | as docs/drift.md lists them",
            "severity | VARCHAR | critical, warning or notice",
            "state | VARCHAR | open, suspect, confirmed, acknowledged or closed",
            "subject | VARCHAR | what it is about",
            "member | VARCHAR | a disk's serial; empty: no disk",
            "summary | VARCHAR | in words",
            "opened_at | DOUBLE | seconds since 1970-01-01 UTC",
            "closed_at | DOUBLE | NULL: it is not closed",
        ),
    ),
    "epochs": (
        *_WHERE,
        *_columns(
            "epoch | BIGINT | its number in its history; day is when it was opened",
            "subject | VARCHAR | appliance, or directory PATH",
            "opened_at | DOUBLE | seconds since 1970-01-01 UTC",
            "fingerprint | VARCHAR | JSON: what was the same throughout it",
            "changed | VARCHAR | JSON: what differs from the epoch before",
        ),
    ),
}  # fmt: skip


def kinds(table: str) -> dict[str, str]:
    """DuckDB's type of each column of ``table``."""
    return {column.name: column.kind for column in TABLES[table]}
