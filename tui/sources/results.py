"""What the Results screen asks of the history; every answer may take long or fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.figures.metric import Metric
from appliance.history import queries
from appliance.history.pages import Order
from appliance.model.findings import FindingRecord, SeriesKey
from appliance.model.measurement import JobResult, Measurement
from appliance.model.runs import EpochRecord, RunRecord

# What only some questions need is imported when they are asked: the first screen waits for none.
if TYPE_CHECKING:
    from appliance.drift.series.run_figures import Known, RunFigures
    from appliance.drift.series.trends import Stretch, Trend
    from appliance.figures.sides import Chosen, Worded
    from appliance.history.pages import Page
    from appliance.history.queries import ImportRecord


@dataclass(frozen=True, slots=True)
class Asked:
    """Which runs, and in which order: those that have each of ``words``."""

    words: tuple[str, ...] = ()
    order: Order = Order.RUN
    descending: bool = True


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A run with all its results; ``layout`` is in words. ``figures`` have what differs from
    normal, ``findings`` are those of drift that began with the run or were there when it was made.
    """

    run: RunRecord
    results: tuple[JobResult, ...]
    layout: str
    figures: RunFigures | None = None
    findings: tuple[FindingRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides next to each other; ``a_key`` and ``b_key`` name them."""

    a_key: str
    a: Chosen
    b_key: str
    b: Chosen
    worded: Worded
    metric: Metric


@dataclass(frozen=True, slots=True)
class EpochRow:
    """An epoch, and how many complete runs it has."""

    epoch: EpochRecord
    runs: int


class Results:
    """What the history at ``db`` says, with a connection for each question. All methods may block
    and raise OperatorError. Runs and imports are named as
    :func:`appliance.figures.selection.parse` reads them: ``12``, ``import:3``, ``epoch:2``.
    """

    def __init__(self, db: Path) -> None:
        self._db = db
        # Kept from question to question: what is normal in ten years takes seconds to work out.
        self._known: Known = {}

    def page(self, asked: Asked, skip: int, limit: int) -> Page:
        """Of the runs that are asked for, ``limit`` from the ``skip``-th on."""
        from appliance.drift.series import run_figures

        with queries.open_readonly(self._db) as reader:
            return run_figures.page(
                reader,
                asked.words,
                asked.order,
                descending=asked.descending,
                skip=skip,
                limit=limit,
                known=self._known,
            )

    def figures(self, run_ids: Sequence[int]) -> Mapping[int, RunFigures]:
        """What matters first of each of these runs that has results."""
        from appliance.drift.series import run_figures

        with queries.open_readonly(self._db) as reader:
            return run_figures.of_runs(reader, run_ids, self._known)

    def imports(self) -> tuple[ImportRecord, ...]:
        """Every import, latest first."""
        with queries.open_readonly(self._db) as reader:
            return reader.imports()

    def run(self, run_id: int) -> RunDetail:
        from appliance.drift.series import run_figures

        with queries.open_readonly(self._db) as reader:
            run = reader.run(run_id)
            figures = run_figures.of_runs(reader, [run_id], self._known)
            return RunDetail(
                run,
                reader.results(run_id),
                layout_words(reader, run),
                figures.get(run_id),
                _findings(reader, run),
            )

    def imported(self, import_id: int) -> tuple[Measurement, ...]:
        with queries.open_readonly(self._db) as reader:
            return reader.import_reports(import_id)

    def series(self, metric: Metric) -> Mapping[SeriesKey, tuple[str, Stretch] | None]:
        """Every series; with its workload in words and its last epoch, if it is in there."""
        from appliance.drift.series import trends

        with queries.open_readonly(self._db) as reader:
            latest = trends.latest(reader, metric)
            return {key: latest.get(key) for key in trends.keys(reader)}

    def trend(self, key: SeriesKey, metric: Metric) -> Trend:
        from appliance.drift.series import trends

        with queries.open_readonly(self._db) as reader:
            return trends.whole(reader, key, metric)

    def epochs(self) -> tuple[EpochRow, ...]:
        """Every epoch, latest first."""
        from appliance.history import pages

        with queries.open_readonly(self._db) as reader:
            runs = pages.runs_by_epoch(reader)
            return tuple(EpochRow(one, runs.get(one.id, 0)) for one in reversed(reader.epochs()))

    def compare(self, a: str, b: str, metric: Metric) -> Comparison:
        """Two sides, by one of their figures; an empty ``a`` is the run of the same suite and
        target before ``b``.
        """
        from appliance.figures import comparison, selection, sides
        from appliance.history import compare_source, pages

        second = selection.parse(b)
        with queries.open_readonly(self._db) as reader:
            before = a or str(pages.run_before(reader, second.number))
            left = compare_source.choose(reader, selection.parse(before), metric=metric)
            right = compare_source.choose(reader, second, metric=metric)
        rows = comparison.compare(left.observations, right.observations)
        worded = sides.in_words((left, right), rows, metric)
        return Comparison(before, left, b, right, worded, metric)

    def export(self, what: str, output: Path) -> str:
        """Write a run or an import (or, as ``.csv``, the whole history) to a new file."""
        from appliance.figures import selection
        from appliance.report import sources

        return sources.write_new(self._db, selection.parse(what), output)


def _findings(reader: queries.Reader, run: RunRecord) -> tuple[FindingRecord, ...]:
    at = run.started_at
    return tuple(
        one
        for one in reader.drift_findings(include_closed=True)
        if one.opened_at <= at <= (at if one.closed_at is None else one.closed_at)
        or one.fact.evidence.get("change_run") == run.id
    )


def layout_words(reader: queries.Reader, run: RunRecord) -> str:
    """What a run measured, in words for people."""
    from appliance.model.layout_words import stripe_words

    stripe = ""
    if run.epoch_id is not None:
        stripe = reader.epoch(run.epoch_id).fingerprint.get("stripe", "")
    words = stripe_words(stripe) or run.device or "layout not recorded"
    return words if run.target_kind == "filesystem" else f"{words}, {run.target_kind}"
