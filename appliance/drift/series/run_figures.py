"""What matters first of each run: the figures of its headline workload, beside what is normal.

Normal is what :mod:`appliance.drift.series.trends` takes for it, of the run's own epoch.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from appliance import text
from appliance.drift.detection.normal import Baseline
from appliance.drift.series.trends import Normals
from appliance.figures.metric import Metric
from appliance.history import pages, series_slots
from appliance.history.pages import PAGE_RUNS, Order, Page
from appliance.history.queries import Reader
from appliance.model.findings import SeriesKey
from appliance.model.slots import Slot

# So many runs back the figures of a workload are given, this run's last.
RECENT = 24
# What says most of disks first: random reads, of the smallest blocks, at the greatest depth.
_PATTERNS = ("randread", "randrw", "randwrite", "read", "rw", "write")
# From this block size on people speak of bandwidth.
_LARGE_BLOCK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Change:
    """How far one workload of a run is from its normal: ``share`` is value ÷ median - 1.

    ``side`` is -1 or 1 where that is below or above what is normal, else 0.
    """

    key: SeriesKey
    workload: str
    share: float
    side: int


@dataclass(frozen=True, slots=True)
class RunFigures:
    """``key``, ``workload`` and the figures are of the headline workload (the median of its
    passes). ``recent`` are its valid IOPS in the epoch up to this run, oldest first.

    ``changes`` has the workloads whose normal is known: those below it, the farthest first, then
    those above, then the others, the headline first.
    """

    key: SeriesKey
    workload: str
    is_large: bool
    valid: bool
    iops: float
    bandwidth_bytes: float
    p99_ns: float | None
    recent: tuple[float, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def change(self) -> Change | None:
        """The change that matters most."""
        return self.changes[0] if self.changes else None


# What is normal in epochs that are over does not change, nor how far their runs are from it: both
# are kept by epoch, by its moment (another history in the file's place numbers its epochs alike),
# and by how many words of people and of repeats there were.
Known = dict[
    tuple[int, float, int, int], tuple[Mapping[SeriesKey, Baseline], dict[int, float | None]]
]


def page(
    reader: Reader,
    words: Sequence[str] = (),
    order: Order = Order.RUN,
    *,
    descending: bool = True,
    skip: int = 0,
    limit: int = PAGE_RUNS,
    known: Known | None = None,
) -> Page:
    """The runs that have each of ``words``, in ``order``, from the ``skip``-th on."""
    with reader.snapshot(), reader.understood():
        found = pages.find(reader, words, order, descending=descending)
        if order in {Order.FIGURE, Order.P99, Order.CHANGE}:
            normals = _Normals(reader, known) if order is Order.CHANGE else None
            worth: dict[int, float | None] = {}
            for epoch_id, runs in _by_epoch(reader, found):
                worth |= _worths(reader, epoch_id, runs, order, normals)
            # What has no figure comes last in both directions.
            last = -math.inf if descending else math.inf
            found.sort(
                key=lambda run: last if (of := worth.get(run)) is None else of, reverse=descending
            )
        return pages.page(reader, found, skip=skip, limit=limit)


def of_runs(
    reader: Reader, run_ids: Sequence[int], known: Known | None = None
) -> dict[int, RunFigures]:
    """What matters of each of these runs that has results."""
    with reader.snapshot(), reader.understood():
        normals = _Normals(reader, known)
        return {
            run_id: one
            for epoch_id, runs in _by_epoch(reader, run_ids)
            for run_id, one in _of_epoch(reader, epoch_id, runs, normals)
        }


def _worths(
    reader: Reader,
    epoch_id: int | None,
    runs: Mapping[int, tuple[str, str]],
    order: Order,
    normals: _Normals | None,
) -> dict[int, float | None]:
    found = {} if normals is None else normals.kept(epoch_id)
    new = {run: of for run, of in runs.items() if run not in found}
    if not new:
        return found
    made: dict[int, float | None] = dict.fromkeys(new)
    made |= {run: _worth(one, order) for run, one in _of_epoch(reader, epoch_id, new, normals)}
    if normals is not None:
        normals.kept(epoch_id).update(made)
    return found | made


def _worth(one: RunFigures, order: Order) -> float:
    if order is Order.P99:
        return one.p99_ns or 0.0
    if order is Order.CHANGE:
        return one.change.share if one.change is not None else 0.0
    # Bandwidth: what small blocks and large ones have in common.
    return one.bandwidth_bytes


def change_of(key: SeriesKey, workload: str, value: float, normal: Baseline) -> Change:
    """How far ``value`` is from ``normal``, whose median is above 0."""
    return Change(key, workload, value / normal.median - 1, normal.side(value))


class _Normals:
    """The series of an epoch and what is normal of each."""

    def __init__(self, reader: Reader, known: Known | None) -> None:
        self._reader, self._known = reader, {} if known is None else known
        self._judge = Normals(reader)

    def of(
        self, epoch_id: int
    ) -> tuple[Mapping[SeriesKey, tuple[Slot, ...]], Mapping[SeriesKey, Baseline]]:
        series = series_slots.of_epoch(self._reader, epoch_id)
        epoch = self._reader.epoch(epoch_id)
        place = (epoch_id, epoch.opened_at, *self._judge.said)
        if place in self._known:
            return series, self._known[place][0]
        surveys = self._judge.surveys(epoch, series)
        found = {one.key: one.normal for one in surveys if one.normal is not None}
        if self._judge.is_over(epoch_id):
            self._known[place] = found, {}
        return series, found

    def kept(self, epoch_id: int | None) -> dict[int, float | None]:
        """How far the runs of an epoch are from normal, if that is kept: to be added to."""
        if epoch_id is None:
            return {}
        place = (epoch_id, self._reader.epoch(epoch_id).opened_at, *self._judge.said)
        return self._known[place][1] if place in self._known else {}


class _Result(NamedTuple):
    """One workload of a run; the one of the least ``rank`` is its headline."""

    rank: tuple[object, ...]
    figures: RunFigures


def _by_epoch(
    reader: Reader, run_ids: Sequence[int]
) -> Iterator[tuple[int | None, dict[int, tuple[str, str]]]]:
    """The suite and target of each run, one epoch after the other: ten years of slots are not held
    at once.
    """
    rows = reader.all(
        "SELECT id, epoch_id, suite, target FROM run"
        " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY epoch_id, id",
        json.dumps(list(run_ids)),
    )
    for epoch_id, group in groupby(rows, key=lambda row: row["epoch_id"]):
        yield epoch_id, {row["id"]: (row["suite"], row["target"]) for row in group}


def _of_epoch(
    reader: Reader,
    epoch_id: int | None,
    runs: Mapping[int, tuple[str, str]],
    normals: _Normals | None,
) -> Iterator[tuple[int, RunFigures]]:
    series: Mapping[SeriesKey, tuple[Slot, ...]] = {}
    known: Mapping[SeriesKey, Baseline] = {}
    if epoch_id is not None and normals is not None:
        series, known = normals.of(epoch_id)
    places = {
        key: {slot.run_id: place for place, slot in enumerate(slots)}
        for key, slots in series.items()
    }
    for run_id, results in _results(reader, runs):
        first = min(results, key=lambda one: one.rank).figures
        end = places.get(first.key, {}).get(run_id, -1) + 1
        recent = series.get(first.key, ())[max(0, end - RECENT) : end]
        judged = [one for _, one in results if run_id in places.get(one.key, {})]
        yield (
            run_id,
            replace(
                first,
                recent=tuple(slot.value for slot in recent if slot.valid),
                changes=_changes(first, judged, known),
            ),
        )


def _changes(
    headline: RunFigures, results: Sequence[RunFigures], known: Mapping[SeriesKey, Baseline]
) -> tuple[Change, ...]:
    changes: list[tuple[tuple[object, ...], Change]] = []
    for number, one in enumerate(results):
        normal = known.get(one.key)
        if normal is None or not one.valid or normal.median <= 0:
            continue
        off = one.iops - normal.median
        score = abs(off) / (normal.scale_down if off < 0 else normal.scale_up)
        change = change_of(one.key, one.workload, one.iops, normal)
        rank = (
            (-1, 1, 0).index(change.side),
            -score if change.side else 0.0,
            one.key != headline.key,
            number,
        )
        changes.append((rank, change))
    return tuple(change for _, change in sorted(changes, key=lambda each: each[0]))


def _results(
    reader: Reader, runs: Mapping[int, tuple[str, str]]
) -> Iterator[tuple[int, list[_Result]]]:
    rows = reader.all(
        "SELECT run_id, job, direction, member, rw, block_size_bytes, iodepth, jobs, iops,"  # noqa: S608
        f" bandwidth_bytes, {series_slots.COLUMNS[Metric.P99]} AS p99_ns, valid FROM result"
        " WHERE run_id IN (SELECT value FROM json_each(?)) ORDER BY run_id, id",
        json.dumps(list(runs)),
    )
    for run_id, group in groupby(rows, key=lambda row: row["run_id"]):
        passes: dict[SeriesKey, list[Any]] = {}
        for row in group:
            key = SeriesKey(*runs[run_id], row["job"], row["direction"], row["member"])
            passes.setdefault(key, []).append(row)
        yield run_id, [_result(key, same) for key, same in passes.items()]


def _result(key: SeriesKey, passes: Sequence[Any]) -> _Result:
    """``passes`` are rows of the same workload of one run."""
    row = passes[0]
    slot = Slot(row["run_id"], 0.0, row["iops"], row["valid"] == 1)
    if len(passes) > 1:
        values = [(one["iops"], one["valid"]) for one in passes]
        slot = Slot.of_passes(row["run_id"], 0.0, values)
    counted = [one for one in passes if one["valid"]] or passes
    p99s = [one["p99_ns"] for one in counted if one["p99_ns"] is not None]
    rank, workload = _asked(
        row["rw"], row["block_size_bytes"] or 0, row["iodepth"], row["jobs"], key.direction
    )
    return _Result(
        (key.member != "", *rank),
        RunFigures(
            key=key,
            workload=f"{workload} on {key.member}" if key.member else workload,
            is_large=(row["block_size_bytes"] or 0) >= _LARGE_BLOCK_BYTES,
            valid=slot.valid,
            iops=slot.value,
            bandwidth_bytes=_median([one["bandwidth_bytes"] or 0.0 for one in counted]),
            p99_ns=_median(p99s) if p99s else None,
        ),
    )


# Ten years of results are of a few workloads.
@lru_cache(maxsize=1024)
def _asked(
    rw: str, block: int, iodepth: int | None, jobs: int | None, direction: str
) -> tuple[tuple[int, int, int], str]:
    """The rank of a workload, and its words."""
    pattern = _PATTERNS.index(rw) if rw in _PATTERNS else len(_PATTERNS)
    words = text.workload(
        rw, block_size_bytes=block, iodepth=iodepth, jobs=jobs, direction=direction
    )
    return (pattern, block, -(iodepth or 0) * (jobs or 0)), words


def _median(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else statistics.median(values)
