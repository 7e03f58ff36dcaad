"""What a drift check sees: the machine if there is one to look at, and the history. Writes nothing.

A history can be looked at anywhere, a machine only on the appliance: on a laptop the runs in a
copied history are judged, and nothing is said about the laptop's own disks.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.drift.lifecycle import Scope
from appliance.drift.memory import Memory
from appliance.errors import OperatorError
from appliance.history import liveness, queries
from appliance.model import EpochRecord
from appliance.model.confirmations import CONFIRM_SUITE, Confirmation
from appliance.model.drift import Area, Fact, FindingRecord

# Some facts of performance are made by time alone: no run comes any more.
_JUDGE_AGAIN_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was seen. ``not_judged`` says of an area why it was not looked at; of the others,
    ``blind`` is what could not be seen (:class:`appliance.drift.lifecycle.Scope`).

    ``is_own`` says that this history is that of this machine. ``surroundings`` are to be kept for
    ``boot_id``; they are empty if they are known. ``judged`` names the runs that were judged.
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
    checked_at: float = 0.0
    is_own: bool = True

    @property
    def scope(self) -> Scope:
        return Scope(frozenset(area for area in Area if area not in self.not_judged), self.blind)


def gather(db: Path, remembered: Memory, *, now: float) -> Gathered:
    """Look at what there is. ``remembered`` spares judging the same runs again.

    :class:`OperatorError` if there is neither an appliance to look at nor a history to read.
    """
    is_appliance = paths.STATE_FILE.exists()
    if is_appliance and not os.path.lexists(db):
        return _machine_alone({Area.PERFORMANCE: "there is no history yet"})
    try:
        with queries.open_readonly(db) as reader:
            return _with_history(reader, db, remembered, is_appliance=is_appliance, now=now)
    except OperatorError as error:
        if not is_appliance:
            raise
        why = f"the history cannot be read: {error.message}; {error.hint}"
        # What was before is in it, too: without it a change of the environment is not seen.
        return _machine_alone({Area.ENVIRONMENT: why, Area.PERFORMANCE: why})


def _machine_alone(not_judged: Mapping[Area, str]) -> Gathered:
    seen = _machine(None, None)
    return replace(seen, not_judged={**not_judged, **seen.not_judged})


def _with_history(
    reader: queries.Reader, db: Path, remembered: Memory, *, is_appliance: bool, now: float
) -> Gathered:
    epoch = reader.current_epoch()
    host = "" if epoch is None else reader.host(epoch.id)
    # The appliance's own is its own, though somebody gave it another name meanwhile.
    is_own = is_appliance and (db.absolute() == paths.HISTORY_DB or host in {"", platform.node()})
    if is_own:
        boot_id = liveness.boot_id()
        known = reader.knows_surroundings(boot_id)
        seen = _machine(epoch, reader.surroundings_before(boot_id))
        seen = replace(seen, surroundings={} if known else seen.surroundings)
    else:
        why = (
            f"this is the history of another machine, {host}"
            if is_appliance
            else "there is no appliance here"
        )
        seen = Gathered(
            not_judged={Area.LAYOUT: why, Area.ENVIRONMENT: why},
            notes=("only the runs in the history were looked at",),
            is_own=False,
        )
    tried = reader.runs(1, suite=CONFIRM_SUITE)
    seen = replace(
        seen,
        records=reader.drift_lately(now),
        confirmations=reader.confirmations(),
        last_tried_at=tried[0].started_at if tried else None,
        checked_at=reader.drift_checked_at() or 0.0,
    )
    return _with_runs(seen, reader, db, remembered, now=now)


def _machine(epoch: EpochRecord | None, before: Mapping[str, Any] | None) -> Gathered:
    from appliance.drift import environment, layout, looking

    observation = looking.look()
    notes = observation.notes
    if ("*", "") in observation.blind:
        why = "; ".join(notes) or "the boot unit has not finished"
        return Gathered(
            not_judged={Area.LAYOUT: why, Area.ENVIRONMENT: why},
            notes=notes,
            boot_id=observation.boot_id,
        )
    return Gathered(
        facts=(
            *layout.judge(observation),
            *environment.judge(observation, epoch=epoch, before=before),
        ),
        blind=frozenset(observation.blind),
        notes=notes,
        boot_id=observation.boot_id,
        surroundings=observation.surroundings,
    )


def _with_runs(
    seen: Gathered, reader: queries.Reader, db: Path, remembered: Memory, *, now: float
) -> Gathered:
    mark = reader.drift_mark()
    if mark.startswith("0/"):
        why = "no run has ended yet"
        return replace(seen, not_judged={**seen.not_judged, Area.PERFORMANCE: why})
    judged = f"{db.absolute()}: {mark}"
    lately = abs(now - remembered.judged_at) < _JUDGE_AGAIN_SECONDS
    if seen.is_own and lately and judged == remembered.judged:
        why = "nothing was measured since it was last judged"
        return replace(seen, not_judged={**seen.not_judged, Area.PERFORMANCE: why})
    # It reads months of results: imported only where there is something to judge.
    from appliance.drift import judging

    facts = judging.performance_facts(
        reader,
        approvals=reader.approvals(),
        confirmations=seen.confirmations,
        now=now,
        up_since=up_since(now) if seen.is_own else None,
        gaps=planned_gaps() if seen.is_own else {},
    )
    return replace(seen, facts=(*seen.facts, *facts), judged=judged)


def planned_gaps() -> Mapping[str, float | None]:
    """What the schedule leaves between two runs; one that is refused is not in effect."""
    from appliance.schedule import Schedule, gaps_seconds
    from appliance.schedule_file import read_schedule

    try:
        return gaps_seconds(read_schedule())
    except OperatorError:
        return gaps_seconds(Schedule())


def up_since(now: float) -> float | None:
    """When this machine was started, seconds since the epoch (proc_uptime(5))."""
    try:
        return now - float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
