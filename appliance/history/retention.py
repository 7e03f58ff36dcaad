"""What is thinned out, and when: old samples become means, old raw reports go.

Done by a writer when a run has ended, in one short transaction a run, and only for some runs
at a time: no other writer waits long. Results, histograms and findings stay for good.

The clock alone is not believed. After a boot with a wrong clock (no battery, no time server
yet) it may be years ahead, and every sample would look old; or years behind. So a run is
dated by the median of the runs around it, and the present is no later than the median of the
latest ones: up to eight runs in a row with a wrong clock, two days of the timer, change
nothing. It costs that what is due goes up to eight runs later.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from appliance.figures import sampling
from appliance.history.writing import Writer
from appliance.model.runs import Sample

_DAY_SECONDS = 86_400
# Results, histograms and findings stay; these are large, and looked at while they are fresh.
KEEP_SAMPLES_SECONDS = 14 * _DAY_SECONDS
KEEP_REPORTS_SECONDS = 90 * _DAY_SECONDS
# As many runs in a row may have had a wrong clock.
NEIGHBOURS = 8
# A backlog (an old file, a time without runs) goes over several runs.
_RUNS_AT_ONCE = 20


def due(starts: Sequence[tuple[int, float]], *, now: float, keep_seconds: float) -> list[int]:
    """The ids of the runs that are older than ``keep_seconds``, oldest first.

    ``starts`` are (id, start in seconds since the epoch) in the order of the runs, which is
    that of the ids and not that of the clock.
    """
    dates = [
        statistics.median(
            at for _, at in starts[max(0, index - NEIGHBOURS) : index + NEIGHBOURS + 1]
        )
        for index in range(len(starts))
    ]
    believed = dates[: max(0, len(starts) - NEIGHBOURS)]
    if not believed:
        return []
    present = min(now, believed[-1])
    return [
        run_id
        for (run_id, _), at in zip(starts, believed, strict=False)
        if at < present - keep_seconds
    ]


def thin_out(writer: Writer, *, now: float) -> None:
    """Thin out what is due, some runs of it. Raises as :meth:`Writer.transaction` does."""
    for table, keep_seconds in (
        ("sample", KEEP_SAMPLES_SECONDS),
        ("raw_report", KEEP_REPORTS_SECONDS),
    ):
        holding = {
            row["run_id"]
            for row in writer.all(f"SELECT DISTINCT run_id FROM {table}")  # noqa: S608
        }
        if not holding:
            continue
        starts = [
            (row["id"], row["started_at"])
            for row in writer.all(
                "SELECT id, started_at FROM run WHERE id >= ? ORDER BY id",
                # With those before, which help to date the first of them.
                min(holding) - NEIGHBOURS,
            )
        ]
        old = [run for run in due(starts, now=now, keep_seconds=keep_seconds) if run in holding]
        for run_id in old[:_RUNS_AT_ONCE]:
            with writer.transaction():
                if table == "sample":
                    _keep_means(writer, run_id)
                writer.execute(f"DELETE FROM {table} WHERE run_id = ?", run_id)  # noqa: S608


def _keep_means(writer: Writer, run_id: int) -> None:
    found = writer.all(
        "SELECT at_ns, device, read_iops, write_iops, read_bytes_per_s, write_bytes_per_s,"
        " await_ms, util FROM sample WHERE run_id = ?"
        # SQLite keeps what is not a number as NULL; a mean of it would be none either.
        " AND read_iops + write_iops + read_bytes_per_s + write_bytes_per_s + await_ms + util"
        " IS NOT NULL",
        run_id,
    )
    packed = sampling.pack(sampling.means(Sample(*row) for row in found))
    # Not "or replace": what was thinned out once is never thinned out again.
    writer.insert("sample_mean", {"run_id": run_id, "means": packed})
