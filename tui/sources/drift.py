"""What the Drift screen asks of the history and of the units; all of it may block and raise."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.history import queries
from appliance.model.confirmations import Confirmation
from appliance.model.findings import Fact, FindingRecord, SeriesKey
from appliance.system import services

# What only some questions need is imported when they are asked: the first screen waits for none.
if TYPE_CHECKING:
    from appliance.client.finding_actions import AskedConfirm
    from appliance.drift.series.trends import Stretch
    from appliance.history.drift_queries import TransitionRecord
    from appliance.model.confirmations import Repeated

# A histogram says more of it than a series does.
_OF_A_HISTOGRAM = "PERF-LATENCY-MODE"
# The member of its evidence is the slow disk; the series is the stripe's.
_OF_THE_STRIPE = "PERF-MEMBER"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A suspect that would be repeated now. ``seconds`` is how long its repeats measure, ``rw``
    what its job does; ``target`` is a directory.
    """

    subject: str
    job: str
    rw: str
    target: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Findings:
    """``records`` are all that there are, closed ones too. ``unjudged`` says in words which
    series have too few results to be judged; empty if none.
    """

    records: tuple[FindingRecord, ...]
    unjudged: str = ""
    repeats: tuple[Repeat, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one finding besides itself. ``stretch`` is its series in its epoch, if it
    has one; ``bins`` the latency histogram of the run that was judged last (ns -> count), where
    the finding is about that. ``said`` is what repeats said, oldest first.
    """

    transitions: tuple[TransitionRecord, ...] = ()
    said: tuple[Confirmation, ...] = ()
    stretch: Stretch | None = None
    bins: Mapping[int, int] = field(default_factory=dict)


class Drift:
    """Findings of history ``db``, and this machine's units. All methods may block for seconds, and
    raise OperatorError.
    """

    def __init__(self, db: Path) -> None:
        self._db = db
        # What could not be judged, by the mark of the runs concerned.
        self._unjudged: tuple[str, str] | None = None

    def findings(self) -> Findings:
        from appliance.drift.series import confirmation

        with queries.open_readonly(self._db) as reader:
            records = reader.drift_findings(include_closed=True)
            here = [one.fact for one in records if one.closed_at is None]
            wanted = confirmation.waiting(here, reader.confirmations(), now=time.time())
            repeats = [_repeat(reader, fact) for fact in wanted]
            return Findings(records, self._not_yet(reader), tuple(filter(None, repeats)))

    def evidence(self, record: FindingRecord) -> Evidence:
        from appliance.drift.series import trends
        from appliance.history import series_slots

        key = series_key(record.fact)
        with queries.open_readonly(self._db) as reader:
            said = tuple(one for one in reader.confirmations() if one.key == record.fact.key)
            moves = reader.drift_transitions(record.id)
            if key is None:
                return Evidence(moves, said)
            run = record.fact.evidence.get("last_run")
            of_histogram = record.fact.code == _OF_A_HISTOGRAM and isinstance(run, int)
            return Evidence(
                moves,
                said,
                _stretch_of(record.fact, trends.whole(reader, key).stretches),
                series_slots.bins(reader, key, int(run or 0)) if of_histogram else {},
            )

    def acknowledge(self, finding_id: int, note: str) -> FindingRecord:
        from appliance.client import finding_actions
        from appliance.drift.acknowledge import Action

        return finding_actions.say(self._db, finding_id, Action.ACKNOWLEDGE, note)

    def approve(self, finding_id: int, note: str) -> FindingRecord:
        from appliance.client import finding_actions
        from appliance.drift.acknowledge import Action

        return finding_actions.say(self._db, finding_id, Action.APPROVE, note)

    def look(self) -> None:
        """Look for drift now, and come back when that is done."""
        services.start_and_wait(services.DRIFT_UNIT)

    def confirm(self) -> AskedConfirm:
        """Ask for repeated runs, and come back at once."""
        from appliance.client import finding_actions

        return finding_actions.confirm_now(self._db)

    def confirmed(self, asked: AskedConfirm) -> Repeated | None:
        """Their answers; ``None`` while they run."""
        from appliance.client import finding_actions

        return finding_actions.poll_confirm(asked)

    def stop_confirming(self) -> None:
        from appliance.client import finding_actions

        finding_actions.stop_confirming()

    def _not_yet(self, reader: queries.Reader) -> str:
        """It reads the whole epoch: only after a run has ended."""
        from appliance.drift.series import evaluate
        from appliance.history import series_slots

        mark = reader.drift_mark()
        if self._unjudged is None or self._unjudged[0] != mark:
            self._unjudged = (mark, evaluate.unlearned(series_slots.spans(reader))[1])
        return self._unjudged[1]


def series_key(fact: Fact) -> SeriesKey | None:
    """The series that a finding is about, as its evidence names it; ``None`` without one."""
    suite, target, job, direction = (
        str(fact.evidence.get(name, "")) for name in ("suite", "target", "job", "direction")
    )
    if not (suite and target and job and direction):
        return None
    member = "" if fact.code == _OF_THE_STRIPE else fact.evidence.get("member_name", "")
    return SeriesKey(suite, target, job, direction, str(member))


def _stretch_of(fact: Fact, stretches: Sequence[Stretch]) -> Stretch | None:
    epoch = fact.evidence.get("epoch")
    return next((one for one in stretches if one.epoch.id == epoch), None)


def _repeat(reader: queries.Reader, fact: Fact) -> Repeat | None:
    """How long the repeats of a suspect take, from its job as it was asked for."""
    from appliance.bench import job_order
    from appliance.drift.series import confirmation
    from appliance.history import series_slots

    run, job = fact.evidence.get("change_run"), fact.evidence.get("job")
    found = next((one for one in series_slots.jobs(reader, int(run or 0)) if one.name == job), None)
    if found is None:
        return None
    return Repeat(
        subject=fact.subject,
        job=found.name,
        rw=found.rw,
        target=str(fact.evidence.get("target", "")),
        seconds=confirmation.REPEATS * (found.runtime_seconds + job_order.CONTROL_SECONDS),
    )
