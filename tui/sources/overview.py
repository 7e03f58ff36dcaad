"""What the overview asks of the history; every answer may take long or fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

# Import what only the answer needs when it is needed: the first paint does not wait.
if TYPE_CHECKING:
    from appliance.history import queries
    from appliance.history.pages import RunSummary
    from appliance.history.queries import ImportRecord
    from appliance.model.confirmations import Approval
    from appliance.model.runs import RunRecord
    from appliance.model.slots import Slot

_RUNS = 20
# A baseline is known after far fewer slots, as in appliance.drift.series.trends.
_LEARNING_SLOTS = 240


@dataclass(frozen=True, slots=True)
class Level:
    """What is normal for a series of the stripe: the median of drift's baseline, in IOPS."""

    iops: float
    provisional: bool = False


@dataclass(frozen=True, slots=True)
class Lookback:
    """``levels`` are by job and direction, for the last suite in its own epoch; a series that has
    too few results has none. ``runs`` and ``imports`` are the latest, latest first.
    """

    levels: Mapping[tuple[str, str], Level] = field(default_factory=dict)
    runs: tuple[RunSummary, ...] = ()
    imports: tuple[ImportRecord, ...] = ()


class Overview:
    """What the history at ``db`` says; may block for seconds, and raises OperatorError."""

    def __init__(self, db: Path) -> None:
        self._db = db

    def lookback(self) -> Lookback:
        from appliance.history import pages, queries
        from appliance.model.runs import RunState

        with queries.open_readonly(self._db) as reader:
            latest = reader.runs(limit=5, repeats=False)
            last = next((run for run in latest if run.state is not RunState.RUNNING), None)
            levels = {} if last is None else _levels(reader, last)
            runs = pages.page(reader, pages.find(reader, limit=_RUNS)).runs
            return Lookback(levels, runs, reader.imports()[:_RUNS])


def _levels(reader: queries.Reader, run: RunRecord) -> dict[tuple[str, str], Level]:
    """The first baseline of each series of ``run``: what drift takes for normal."""
    from appliance.drift.series import series_state
    from appliance.history import series_slots
    from appliance.model.slots import Span

    approvals, confirmations = reader.approvals(), reader.confirmations()
    levels = {}
    for span in series_slots.spans(reader):
        learned = {
            key: _learning(found, [one for one in approvals if one.subject == str(key)])
            for key, found in span.series.items()
            if (key.suite, key.target, key.member) == (run.suite, run.target, "")
        }
        narrow = Span(span.epoch_id, span.opened_at, span.fingerprint, learned)
        for survey in series_state.survey(narrow, approvals, confirmations):
            if survey.normal is not None:
                normal = Level(survey.normal.median, survey.normal.provisional)
                levels[survey.key.job, survey.key.direction] = normal
    return levels


def _learning(slots: Sequence[Slot], approvals: Sequence[Approval]) -> tuple[Slot, ...]:
    """The slots from which the baseline comes: the first, or those since it was approved."""
    first = max((one.from_run for one in approvals), default=0)
    return tuple(slot for slot in slots if slot.run_id >= first)[:_LEARNING_SLOTS]
