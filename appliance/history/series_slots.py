"""The series of history.db as drift sees them: one slot a run, details only where they count.

A look every few minutes must not read ten years of reports: the slots come out of an index,
and percentiles, counters and histograms of a few runs are read when they are asked for.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from appliance.figures import histogram
from appliance.history import queries, rows
from appliance.model import (
    CONFIRM_SUITE,
    Attempt,
    Detail,
    Happening,
    Job,
    RunState,
    SeriesKey,
    Slot,
    Span,
)

# Enough to say in words what became of the last runs.
_ATTEMPTS = 40
# Events that may explain why a figure changed; root's are copied from the journal, each a little
# later than it happened (:mod:`appliance.drift.roots_events`).
EXPLAINING = (
    "TUNING_SET",
    "PLAN_CONFIRMED",
    "STEP_DONE",
    "LAYOUT_DECLARED",
    "EPOCH_OPENED",
    "INITIALISE_STARTED",
    "INITIALISE_ENDED",
    "DISK_ARRIVED",
)
_MAX_HAPPENINGS = 20
# Three confirmations of five repeats each.
_CONTROLS = 15


class Slots(queries.Reader):
    """A history of which the series are asked for, over the connection of another reader."""

    def __init__(self, reader: queries.Reader) -> None:
        super().__init__(reader._connection, reader._path)
        self._version = reader._version

    def spans(self) -> tuple[Span, ...]:
        """The current epoch of the appliance; in a history without, that of each subject.

        A run of another directory or device is somebody's own measurement, and no drift.
        """
        with self._snapshot(), self._understood():
            found = [self._span(*one) for one in self.current_epochs().items()]
        return tuple(found)

    def current_epochs(self) -> dict[int, str]:
        """The subject of each epoch that :meth:`spans` are of, by its id."""
        latest = self._all("SELECT max(id) AS id, subject FROM epoch GROUP BY subject ORDER BY 1")
        ours = [row for row in latest if row["subject"] == queries.APPLIANCE]
        return {row["id"]: row["subject"] for row in ours or latest}

    def details(self, run_ids: Iterable[int]) -> dict[int, Detail]:
        """The runs with their results, without histograms."""
        found = {}
        with self._snapshot(), self._understood():
            for run_id in run_ids:
                for row in self._find_run(run_id):
                    found[run_id] = Detail(rows.to_run(row), self._whole(run_id))
        return found

    def bins(self, key: SeriesKey, run_id: int) -> dict[int, int]:
        """The latency histogram of one slot, its passes added up."""
        found = self._all(
            "SELECT id, member FROM result WHERE run_id = ? AND job = ? AND direction = ?"
            if self._version >= 3
            else "SELECT id, '' AS member FROM result WHERE run_id = ? AND job = ?"
            " AND direction = ?",
            run_id,
            key.job,
            key.direction,
        )
        with self._understood():
            return histogram.merge(
                self._bins(row["id"]) for row in found if (row["member"] or "") == key.member
            )

    def jobs(self, run_id: int) -> tuple[Job, ...]:
        """The jobs of the suite as it was when run ``run_id`` began."""
        import json

        found = self._all(
            "SELECT jobs FROM suite JOIN run ON content_hash = suite_hash WHERE run.id = ?", run_id
        )
        with self._understood():
            return tuple(Job(**job) for row in found for job in json.loads(row["jobs"]))

    def suite_hash(self, run_id: int) -> str:
        """The content hash of the suite of run ``run_id``; empty if there is no such run."""
        found = self._all("SELECT suite_hash FROM run WHERE id = ?", run_id)
        return str(found[0]["suite_hash"]) if found else ""

    def happenings(self, since: float, until: float) -> tuple[Happening, ...]:
        """Events that may explain a change between two moments, latest first."""
        marks = ", ".join("?" * len(EXPLAINING))
        found = self._all(
            "SELECT at, code, message FROM event"  # noqa: S608 - question marks only
            f" WHERE at BETWEEN ? AND ? AND code IN ({marks}) ORDER BY at DESC, id DESC LIMIT ?",
            since,
            until,
            *EXPLAINING,
            _MAX_HAPPENINGS,
        )
        return tuple(Happening(row["at"], row["code"], row["message"]) for row in found)

    def earlier_controls(self, epoch_id: int, job: str, direction: str) -> tuple[float, ...]:
        """The latest IOPS of a control job in the repeats of an epoch, latest first."""
        found = self._all(
            "SELECT iops FROM result JOIN run ON run.id = run_id"
            " WHERE suite = ? AND epoch_id = ? AND job = ? AND direction = ? AND valid = 1"
            " ORDER BY result.id DESC LIMIT ?",
            CONFIRM_SUITE,
            epoch_id,
            job,
            direction,
            _CONTROLS,
        )
        return tuple(float(row["iops"]) for row in found)

    def _whole(self, run_id: int) -> tuple[Any, ...]:
        findings: dict[int, list[Any]] = {}
        deltas: dict[int, list[Any]] = {}
        of_run = "FROM {0} WHERE result_id IN (SELECT id FROM result WHERE run_id = ?)"
        for table, kept in (("finding", findings), ("device_delta", deltas)):
            for row in self._all(f"SELECT * {of_run.format(table)}", run_id):
                kept.setdefault(row["result_id"], []).append(row)
        return tuple(
            rows.to_result(
                row,
                bins={},
                deltas=deltas.get(row["id"], ()),
                findings=findings.get(row["id"], ()),
            )
            for row in self._results(run_id)
        )

    def _span(self, epoch_id: int, subject: str) -> Span:
        epoch = self.epoch(epoch_id)
        complete = self._complete(epoch_id)
        return Span(
            epoch_id,
            epoch.opened_at,
            epoch.fingerprint,
            self._series(complete),
            self._attempts(epoch_id, min(complete, default=0), subject),
        )

    def _complete(self, epoch_id: int) -> dict[int, tuple[str, str, float]]:
        """Suite, target and start of the complete runs of an epoch, by id.

        Of a suite that was edited, only the runs since: before, something else was asked for.
        """
        found = self._all(
            "SELECT id, suite, suite_hash, target, started_at FROM run"
            " WHERE epoch_id = ? AND state = ? AND suite != ? AND coalesce(time_factor, 1) = 1"
            " ORDER BY id",
            epoch_id,
            RunState.COMPLETE.value,
            CONFIRM_SUITE,
        )
        latest = {(suite, target): asked for _, suite, asked, target, _ in found}
        return {
            run_id: (suite, target, started_at)
            for run_id, suite, asked, target, started_at in found
            if latest[suite, target] == asked
        }

    def _series(
        self, complete: Mapping[int, tuple[str, str, float]]
    ) -> dict[SeriesKey, tuple[Slot, ...]]:
        if not complete:
            return {}
        member = "''" if self._version < 3 else "coalesce(member, '')"
        # In the order of the index, which has all of this: no result itself is read.
        found = self._all(
            f"SELECT job, direction, run_id, {member}, iops, valid FROM result"  # noqa: S608
            " WHERE run_id >= ? ORDER BY job, direction, run_id",
            min(complete),
        )
        series: dict[SeriesKey, list[Slot]] = {}
        passes: dict[tuple[SeriesKey, int], list[tuple[float, int]]] = {}
        latest: tuple[object, ...] = ()
        for job, direction, run_id, of_member, iops, valid in found:
            known = complete.get(run_id)
            if known is None:
                continue
            suite, target, started_at = known
            # Neighbours are mostly of one series: a key is looked up only where it changes.
            if latest != (suite, target, job, direction, of_member):
                latest = (suite, target, job, direction, of_member)
                key = SeriesKey(suite, target, job, direction, of_member)
                slots = series.setdefault(key, [])
            if slots and slots[-1].run_id == run_id:
                passes.setdefault((key, run_id), [slots[-1][2:]]).append((iops, valid))
                slots[-1] = of_passes(slots[-1], passes[key, run_id])
            else:
                slots.append(Slot(run_id, started_at, iops, valid == 1))
        return {key: tuple(slots) for key, slots in sorted(series.items())}

    def _attempts(self, epoch_id: int, first: int, subject: str) -> tuple[Attempt, ...]:
        """The last runs of the epoch; those that ended before their epoch was known (skipped)
        are told by their number and, outside of the appliance's volumes, by their target.
        """
        found = self._all(
            "SELECT id, suite, target, state, started_at, reason FROM run"
            " WHERE (epoch_id = ? OR (epoch_id IS NULL AND id > ?)) AND suite != ?"
            " ORDER BY id DESC LIMIT ?",
            epoch_id,
            first,
            CONFIRM_SUITE,
            _ATTEMPTS,
        )
        return tuple(
            Attempt(
                row["id"],
                row["suite"],
                row["target"],
                RunState(row["state"]),
                row["started_at"],
                row["reason"] or "",
            )
            for row in reversed(found)
            if subject == queries.APPLIANCE or subject.endswith(f" {row['target']}")
        )


def of_passes(slot: Slot, values: Sequence[tuple[float, int]]) -> Slot:
    """One value of a run's passes: the median of those that are valid."""
    good = [iops for iops, valid in values if valid]
    # Half of the passes is not what a whole run is.
    is_valid = 2 * len(good) > len(values)
    return slot._replace(
        iops=statistics.median(good or [iops for iops, _ in values]), valid=is_valid
    )
