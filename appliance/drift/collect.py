"""What a drift check sees: the machine if there is one to look at, and the history. Writes nothing.

A history can be looked at anywhere, a machine only on the appliance: on a laptop the runs in a
copied history are judged, and nothing is said about the laptop's own disks.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.drift.check_summary import Memory
from appliance.drift.lifecycle import Scope
from appliance.drift.looks import hostlook
from appliance.drift.rules import host_rules
from appliance.errors import OperatorError
from appliance.history import published, queries
from appliance.model.confirmations import CONFIRM_SUITE, Confirmation
from appliance.model.findings import Area, Fact, FindingRecord
from appliance.model.runs import EpochRecord
from appliance.system import liveness
from appliance.text import printable

# Some facts of performance are made by time alone: no run comes any more.
_JUDGE_AGAIN_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was seen. ``not_judged`` says of an area why it was not looked at; of the others,
    ``blind`` is what could not be seen (:class:`appliance.drift.lifecycle.Scope`).

    ``is_own`` says that this history is that of this machine. ``surroundings`` are to be kept for
    ``boot_id``; they are empty if they are known. ``judged`` names the runs that were judged, and
    ``unlearned`` says why none of them had anything to be judged by;
    ``defect`` is the traceback of what kept them from being judged, a defect of this program.
    """

    facts: tuple[Fact, ...] = ()
    not_judged: Mapping[Area, str] = field(default_factory=dict)
    blind: frozenset[tuple[str, str]] = frozenset()
    notes: tuple[str, ...] = ()
    boot_id: str = ""
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    records: tuple[FindingRecord, ...] = ()
    confirmations: tuple[Confirmation, ...] = ()
    last_tried_at: float | None = None
    judged: str = ""
    unlearned: str = ""
    checked_at: float = 0.0
    is_own: bool = True
    defect: str = ""

    @property
    def scope(self) -> Scope:
        return Scope(frozenset(area for area in Area if area not in self.not_judged), self.blind)


def gather(db: Path, remembered: Memory, *, now: float) -> Gathered:
    """Look at what there is. ``remembered`` spares judging the same runs again.

    :class:`OperatorError` if there is neither an appliance to look at nor a history to read.
    """
    is_appliance = paths.STATE_FILE.exists()
    # Not by the name of the host: every machine of one image has the same.
    is_own = is_appliance and published.is_own(db)
    if is_own and not os.path.lexists(db):
        return _without(_machine(None, None, None), "there is no history yet", Area.PERFORMANCE)
    try:
        with queries.open_readonly(db) as reader:
            if is_own:
                return _with_history(reader, db, remembered, now=now)
            return _runs_alone(reader, db, remembered, is_appliance=is_appliance, now=now)
    except OperatorError as error:
        if not is_own:
            raise
        why = f"the history cannot be read: {error.message}; {error.hint}"
        # What was before is in it, too: without it a change of the environment is not seen.
        return _without(_machine(None, None, None), why, Area.ENVIRONMENT, Area.PERFORMANCE)


def _without(seen: Gathered, why: str, *areas: Area) -> Gathered:
    """``seen`` with ``why`` these areas were not judged; what is said of one already stays."""
    return replace(seen, not_judged={**dict.fromkeys(areas, why), **seen.not_judged})


def _with_history(reader: queries.Reader, db: Path, remembered: Memory, *, now: float) -> Gathered:
    boot_id = liveness.boot_id()
    known = reader.knows_surroundings(boot_id)
    before = reader.surroundings_before(boot_id)
    ahead = reader.runs_after(now + hostlook.AHEAD_SECONDS)
    seen = _machine(reader.current_epoch(), before, ahead)
    seen = replace(seen, surroundings={} if known else seen.surroundings)
    seen = _with_records(seen, reader, now=now)
    try:
        return _with_runs(seen, reader, db, remembered, now=now)
    except OperatorError:
        raise
    except Exception as error:
        # What was seen of the disks is not lost by it: it may be that data is about to be.
        why = f"an internal error: {type(error).__name__}: {printable(str(error))[:200]}"
        return replace(_without(seen, why, Area.PERFORMANCE), defect=traceback.format_exc())


def _runs_alone(
    reader: queries.Reader, db: Path, remembered: Memory, *, is_appliance: bool, now: float
) -> Gathered:
    """A history that is not this machine's own; it says nothing of this machine."""
    why = (
        f"{db} is not this machine's own history" if is_appliance else "there is no appliance here"
    )
    seen = Gathered(
        not_judged={Area.LAYOUT: why, Area.ENVIRONMENT: why, Area.HOST: why},
        notes=("only the runs in the history were judged",),
        is_own=False,
    )
    return _with_runs(_with_records(seen, reader, now=now), reader, db, remembered, now=now)


def _with_records(seen: Gathered, reader: queries.Reader, *, now: float) -> Gathered:
    tried = reader.runs(1, suite=CONFIRM_SUITE)
    return replace(
        seen,
        records=reader.drift_lately(now),
        confirmations=reader.confirmations(),
        last_tried_at=tried[0].started_at if tried else None,
        checked_at=reader.drift_checked_at() or 0.0,
    )


def _machine(
    epoch: EpochRecord | None,
    before: Mapping[str, Any] | None,
    ahead: tuple[int, float] | None,
) -> Gathered:
    """``ahead`` is as for :func:`host_rules.judge`."""
    from appliance.drift.looks import observe
    from appliance.drift.rules import environment_rules, layout_rules

    observation, appliance = observe.look(), hostlook.look()
    # Whatever the boot unit is at: what stops the appliance stops that, too.
    facts = host_rules.judge(appliance, ahead=ahead)
    blind = host_rules.blind(appliance)
    if ahead is None:
        blind |= {("HOST-CLOCK", "history")}
    seen = Gathered(facts, blind=blind, notes=observation.notes, boot_id=observation.boot_id)
    if ("*", "") in observation.blind:
        why = "; ".join(observation.notes) or "the boot unit has not finished"
        return _without(seen, why, Area.LAYOUT, Area.ENVIRONMENT)
    return replace(
        seen,
        facts=(
            *facts,
            *layout_rules.judge(observation),
            *environment_rules.judge(observation, epoch=epoch, before=before),
        ),
        blind=blind | frozenset(observation.blind),
        surroundings=observation.surroundings,
    )


def _with_runs(
    seen: Gathered, reader: queries.Reader, db: Path, remembered: Memory, *, now: float
) -> Gathered:
    mark = reader.drift_mark()
    if mark.startswith("0/"):
        return _without(seen, "no run has ended yet", Area.PERFORMANCE)
    judged = f"{db.absolute()}: {mark}"
    lately = abs(now - remembered.judged_at) < _JUDGE_AGAIN_SECONDS
    if seen.is_own and lately and judged == remembered.judged:
        return _without(seen, "nothing was measured since the last check", Area.PERFORMANCE)
    # It reads months of results: imported only where there is something to judge.
    from appliance.drift.series import evaluate
    from appliance.history import series_slots

    spans = series_slots.spans(reader)
    facts = evaluate.performance_facts(reader, spans, now=now, is_own=seen.is_own)
    some, words = evaluate.unlearned(spans)
    return replace(
        seen,
        facts=(*seen.facts, *facts),
        judged=judged,
        notes=(*seen.notes, words) if some else seen.notes,
        unlearned="" if some else words,
    )
