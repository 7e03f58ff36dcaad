"""A series as drift sees it: one slot a run, and what is known beside its figure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from appliance.model.findings import SeriesKey
from appliance.model.measurement import JobResult
from appliance.model.runs import RunRecord, RunState


class Slot(NamedTuple):
    """One run's value in a series: the median of its valid passes, else of all. IOPS, unless
    another :class:`appliance.figures.metric.Metric` was asked for.

    ``started_at`` of the run is seconds since the epoch. A tuple, because ten years are
    fifteen thousand of them in each series.
    """

    run_id: int
    started_at: float
    value: float
    valid: bool

    @classmethod
    def of_passes(
        cls, run_id: int, started_at: float, passes: Sequence[tuple[float, bool | int]]
    ) -> Slot:
        """A slot of the (value, valid) of a run's passes."""
        good = [value for value, valid in passes if valid]
        median = statistics.median(good or [value for value, _ in passes])
        # Half of the passes is not what a whole run is.
        return cls(run_id, started_at, median, 2 * len(good) > len(passes))


@dataclass(frozen=True, slots=True)
class Detail:
    """Everything that is known of one slot: its run, and the result of each pass.

    ``results`` have no histogram unless it was asked for.
    """

    run: RunRecord
    results: tuple[JobResult, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run of a suite, however it ended. ``started_at`` is seconds since the epoch (UTC)."""

    run_id: int
    suite: str
    target: str
    state: RunState
    started_at: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Happening:
    """An event in the history, for what it may explain. ``at`` is seconds since the epoch."""

    at: float
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Span:
    """All series of one epoch, their slots oldest first.

    ``opened_at`` is when it began, seconds since the epoch (UTC). ``fingerprint`` is that of
    :class:`EpochRecord`, ``attempts`` are its latest runs, oldest first, whatever became of them.
    """

    epoch_id: int
    opened_at: float
    fingerprint: Mapping[str, str]
    series: Mapping[SeriesKey, tuple[Slot, ...]]
    attempts: tuple[Attempt, ...] = ()
