"""What a long history holds, in pages: runs with what their verdicts come to, and its log.

A page costs the same whatever lies before it: ten years of runs are not read to show the last.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from appliance.errors import OperatorError
from appliance.history.queries import Reader
from appliance.model.confirmations import CONFIRM_SUITE
from appliance.model.measurement import Severity
from appliance.model.runs import RunRecord, RunState

PAGE_RUNS = 200
# Of the log: a reader keeps a writer waiting for as long as it reads.
ROWS_AT_ONCE = 1000
# Gravest first.
_ORDER = (Severity.BLOCK, Severity.WARN, Severity.LABEL)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run and how many of its results are valid. ``code`` and ``severity`` are its gravest
    finding's, the one that most of its results have; empty and ``None`` without any.
    """

    run: RunRecord
    results: int
    valid: int
    code: str = ""
    severity: Severity | None = None


class Order(StrEnum):
    """What a list of runs can be sorted by; the values are the columns' names for people.

    By figure, p99 and change it is :mod:`appliance.drift.series.run_figures` that sorts.
    """

    RUN = "run"
    WHEN = "when"
    SUITE = "suite"
    FIGURE = "figure"
    P99 = "p99"
    CHANGE = "change"
    VERDICT = "verdict"
    LAYOUT = "layout"
    TOOK = "took"
    TARGET = "target"


_EXPRESSIONS = {
    Order.WHEN: "started_at",
    Order.SUITE: "suite",
    Order.LAYOUT: "epoch_id",
    Order.TOOK: "ended_at - started_at",
    Order.TARGET: "target",
    # How grave: a run that did not end in order, then its gravest finding.
    Order.VERDICT: """CASE WHEN state != 'complete' THEN 4 ELSE coalesce((
        SELECT max(CASE severity WHEN 'block' THEN 3 WHEN 'warn' THEN 2 ELSE 1 END)
        FROM result JOIN finding ON result_id = result.id WHERE run_id = run.id), 0) END""",
}
# What a word is looked for in: a run as its row says it, its host and layout, its verdicts.
_HAS_WORD = """(
    instr(lower(run.id || ' ' || suite || ' ' || state || ' ' || reason || ' ' || target || ' '
        || device || ' ' || members || ' ' || machine_type || ' '
        || coalesce(strftime('%Y-%m-%d %H:%M', started_at, 'unixepoch'), '')), ?{n})
    OR epoch_id IN (SELECT epoch.id FROM epoch JOIN host ON host.id = host_id
        WHERE instr(lower(name || ' ' || host.machine_type || ' ' || fingerprint), ?{n}))
    OR run.id IN (SELECT run_id FROM finding JOIN result ON result.id = result_id
        WHERE instr(lower(code), ?{n})))"""


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the runs that were found. ``more``: there are others after them. ``stripes`` is by
    epoch what was measured, as its fingerprint has it; ``found`` counts the runs that were found,
    ``total`` all runs of the file.
    """

    runs: tuple[RunSummary, ...]
    more: bool
    stripes: dict[int, str]
    found: int
    total: int


def find(
    reader: Reader,
    words: Sequence[str] = (),
    order: Order = Order.RUN,
    *,
    descending: bool = True,
    limit: int = -1,
) -> list[int]:
    """The ids of all runs (or of the first ``limit``) that have each of ``words``, whatever their
    case; of equals the latest first.
    """
    where = " AND ".join(_HAS_WORD.format(n=n) for n in range(1, len(words) + 1)) or "1"
    by, way = _EXPRESSIONS.get(order, "id"), "DESC" if descending else "ASC"
    found = reader.all(
        f"SELECT id FROM run WHERE {where} ORDER BY {by} {way}, id DESC LIMIT {limit}",  # noqa: S608
        *(word.lower() for word in words),
    )
    return [row["id"] for row in found]


def page(reader: Reader, found: Sequence[int], *, skip: int = 0, limit: int = PAGE_RUNS) -> Page:
    """Of the runs ``found`` those from the ``skip``-th on, at most ``limit``."""
    with reader.snapshot(), reader.understood():
        shown = found[skip : skip + limit]
        rows = {
            row["id"]: row
            for row in reader.all(
                "SELECT * FROM run WHERE id IN (SELECT value FROM json_each(?))", json.dumps(shown)
            )
        }
        runs = tuple(reader.as_it_is(rows[one]) for one in shown if one in rows)
        (total,) = reader.all("SELECT count(*) AS runs FROM run")
        epochs = {run.epoch_id for run in runs if run.epoch_id is not None}
        return Page(
            runs=_summed(reader, runs),
            more=len(found) > skip + limit,
            stripes={one: reader.epoch(one).fingerprint.get("stripe", "") for one in epochs},
            found=len(found),
            total=total["runs"],
        )


def last_of_each_suite(reader: Reader) -> tuple[RunSummary, ...]:
    """The last run of each suite that has ended, in no order."""
    with reader.snapshot(), reader.understood():
        found = reader.all(
            "SELECT * FROM run WHERE id IN"
            " (SELECT max(id) FROM run WHERE state != ? GROUP BY suite)",
            RunState.RUNNING.value,
        )
        return _summed(reader, tuple(reader.as_it_is(row) for row in found))


def _summed(reader: Reader, runs: tuple[RunRecord, ...]) -> tuple[RunSummary, ...]:
    if not runs:
        return ()
    ids = json.dumps([run.id for run in runs])
    counts = {
        row["run_id"]: (row["results"], row["valid"])
        for row in reader.all(
            "SELECT run_id, count(*) AS results, coalesce(sum(valid), 0) AS valid FROM result"
            " WHERE run_id IN (SELECT value FROM json_each(?)) GROUP BY run_id",
            ids,
        )
    }
    # The last that is looked at is kept: gravest, then most frequent.
    gravest: dict[int, tuple[str, Severity]] = {}
    for row in reader.all(
        "SELECT run_id, severity, code, count(*) AS times FROM result"
        " JOIN finding ON result_id = result.id"
        " WHERE run_id IN (SELECT value FROM json_each(?)) GROUP BY run_id, severity, code"
        " ORDER BY times, code DESC",
        ids,
    ):
        severity = Severity(row["severity"])
        known = gravest.get(row["run_id"])
        if known is None or _ORDER.index(severity) <= _ORDER.index(known[1]):
            gravest[row["run_id"]] = (row["code"], severity)
    return tuple(
        RunSummary(run, *counts.get(run.id, (0, 0)), *gravest.get(run.id, ("", None)))
        for run in runs
    )


def run_before(reader: Reader, run_id: int) -> int:
    """The last complete run of the same suite on the same target before ``run_id``.

    :class:`OperatorError` if there is none with results.
    """
    run = reader.run(run_id)
    found = reader.all(
        "SELECT id FROM run WHERE suite = ? AND target = ? AND id < ? AND state = ?"
        " AND EXISTS (SELECT 1 FROM result WHERE run_id = run.id) ORDER BY id DESC LIMIT 1",
        run.suite,
        run.target,
        run.id,
        RunState.COMPLETE.value,
    )
    if not found:
        raise OperatorError(
            f"before run {run.id} there is no complete run of {run.suite} on {run.target}",
            "mark another run and compare again",
        )
    return int(found[0]["id"])


def runs_by_epoch(reader: Reader) -> dict[int, int]:
    """How many complete runs each epoch has, repeats of suspects not counted."""
    return {
        row["epoch_id"]: row["runs"]
        for row in reader.all(
            "SELECT epoch_id, count(*) AS runs FROM run WHERE state = ? AND suite != ?"
            " AND epoch_id IS NOT NULL GROUP BY epoch_id",
            RunState.COMPLETE.value,
            CONFIRM_SUITE,
        )
    }


def log(reader: Reader, table: str) -> Iterator[dict[str, Any]]:
    """The rows of ``event`` or ``audit_step`` as they are, oldest first, some at a time."""
    last = 0
    while found := reader.all(
        f"SELECT * FROM {table} WHERE id > ? ORDER BY id LIMIT {ROWS_AT_ONCE}",  # noqa: S608
        last,
    ):
        yield from (dict(row) for row in found)
        last = found[-1]["id"]


def last_events(reader: Reader, count: int, *, before: int | None = None) -> list[dict[str, Any]]:
    """The last ``count`` rows of ``event``, of those before the id ``before`` if it is given;
    oldest first, at most :data:`ROWS_AT_ONCE`.
    """
    found = reader.all(
        "SELECT * FROM event WHERE ? IS NULL OR id < ? ORDER BY id DESC LIMIT ?",
        before,
        before,
        min(count, ROWS_AT_ONCE),
    )
    return [dict(row) for row in reversed(found)]


def events_after(reader: Reader, event_id: int, count: int) -> list[dict[str, Any]]:
    """The first ``count`` rows of ``event`` behind ``event_id``, oldest first."""
    found = reader.all(
        "SELECT * FROM event WHERE id > ? ORDER BY id LIMIT ?",
        event_id,
        min(count, ROWS_AT_ONCE),
    )
    return [dict(row) for row in found]
