"""What the Results screen asks of the history; every answer may take long or fail."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from appliance.history import queries
from appliance.model.findings import SeriesKey
from appliance.model.measurement import JobResult, Measurement
from appliance.model.runs import EpochRecord, RunRecord

# What only some questions need is imported when they are asked: the first screen waits for none.
if TYPE_CHECKING:
    from appliance.drift.series.trends import Trend
    from appliance.figures.sides import Chosen, Worded
    from appliance.history.pages import Page
    from appliance.history.queries import ImportRecord


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A run with all its results; ``layout`` is in words."""

    run: RunRecord
    results: tuple[JobResult, ...]
    layout: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides next to each other; ``a_key`` and ``b_key`` name them."""

    a_key: str
    a: Chosen
    b_key: str
    b: Chosen
    worded: Worded


@dataclass(frozen=True, slots=True)
class EpochRow:
    """An epoch, and how many complete runs it has."""

    epoch: EpochRecord
    runs: int


class Results(Protocol):
    """All methods may block and raise OperatorError. Runs and imports are named as
    :func:`appliance.figures.selection.parse` reads them: ``12``, ``import:3``, ``epoch:2``.
    """

    def page(self, before: int | None) -> Page:
        """The last runs, or those before run ``before``."""
        ...

    def imports(self) -> tuple[ImportRecord, ...]:
        """Every import, latest first."""
        ...

    def run(self, run_id: int) -> RunDetail: ...

    def imported(self, import_id: int) -> tuple[Measurement, ...]: ...

    def series(self) -> tuple[SeriesKey, ...]: ...

    def trend(self, key: SeriesKey) -> Trend: ...

    def epochs(self) -> tuple[EpochRow, ...]:
        """Every epoch, latest first."""
        ...

    def compare(self, a: str, b: str) -> Comparison:
        """Two sides; an empty ``a`` is the run of the same suite and target before ``b``."""
        ...

    def export(self, what: str, output: Path) -> str:
        """Write a run or an import (or, as ``.csv``, the whole history) to a new file."""
        ...


class HistoryResults:
    """:class:`Results` out of the history at ``db``, with a connection for each question."""

    def __init__(self, db: Path) -> None:
        self._db = db

    def page(self, before: int | None) -> Page:
        from appliance.history import pages

        with queries.open_readonly(self._db) as reader:
            return pages.page(reader, before)

    def imports(self) -> tuple[ImportRecord, ...]:
        with queries.open_readonly(self._db) as reader:
            return reader.imports()

    def run(self, run_id: int) -> RunDetail:
        with queries.open_readonly(self._db) as reader:
            run = reader.run(run_id)
            return RunDetail(run, reader.results(run_id), layout_words(reader, run))

    def imported(self, import_id: int) -> tuple[Measurement, ...]:
        with queries.open_readonly(self._db) as reader:
            return reader.import_reports(import_id)

    def series(self) -> tuple[SeriesKey, ...]:
        from appliance.drift.series import trends

        with queries.open_readonly(self._db) as reader:
            return trends.keys(reader)

    def trend(self, key: SeriesKey) -> Trend:
        from appliance.drift.series import trends

        with queries.open_readonly(self._db) as reader:
            return trends.whole(reader, key)

    def epochs(self) -> tuple[EpochRow, ...]:
        from appliance.history import pages

        with queries.open_readonly(self._db) as reader:
            runs = pages.runs_by_epoch(reader)
            return tuple(EpochRow(one, runs.get(one.id, 0)) for one in reversed(reader.epochs()))

    def compare(self, a: str, b: str) -> Comparison:
        from appliance.figures import comparison, selection, sides
        from appliance.history import compare_source, pages

        second = selection.parse(b)
        with queries.open_readonly(self._db) as reader:
            before = a or str(pages.run_before(reader, second.number))
            left = compare_source.choose(reader, selection.parse(before))
            right = compare_source.choose(reader, second)
        rows = comparison.compare(left.observations, right.observations)
        return Comparison(before, left, b, right, sides.in_words((left, right), rows))

    def export(self, what: str, output: Path) -> str:
        from appliance.figures import selection
        from appliance.report import sources

        return sources.write_new(self._db, selection.parse(what), output)


def layout_words(reader: queries.Reader, run: RunRecord) -> str:
    """What a run measured, in words for people."""
    from appliance.model.layout_words import stripe_words

    stripe = ""
    if run.epoch_id is not None:
        stripe = reader.epoch(run.epoch_id).fingerprint.get("stripe", "")
    words = stripe_words(stripe) or run.device or "layout not recorded"
    return words if run.target_kind == "filesystem" else f"{words}, {run.target_kind}"
