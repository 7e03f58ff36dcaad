"""Acceptance at first boot: the run that is judged, made if there is none. Starts runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from appliance import paths
from appliance.bench import runner
from appliance.bench.idle_check import Patience
from appliance.bench.progress import Progress
from appliance.bench.suite import load_suite
from appliance.drift import evaluate, repeating
from appliance.drift.acceptance import Acceptance
from appliance.errors import OperatorError, Refused
from appliance.history import queries, series_slots
from appliance.history.store import History
from appliance.model import RunRecord, RunState, advice

SUITE = "smoke"
# At boot a run that was missed may have begun; that it is at work says nothing about the disks.
_WAIT_SECONDS = 1800.0


def accept(
    db: Path,
    *,
    target: Path | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    patience: Patience | None = None,
) -> Acceptance:
    """The verdict on the latest complete smoke run of the current epoch.

    Without one a run is made, on ``target`` or the first mounted volume, and the control jobs
    are measured beside it. Raises :class:`Refused` where that run was not possible, and
    :class:`OperatorError` where it failed.
    """
    run_id = _latest(db, target)
    if run_id is None:
        place = target or _volume()
        suite = load_suite(SUITE)
        run_id = runner.run_suite(
            suite,
            target=place,
            db=db,
            on_progress=on_progress,
            patience=patience,
            wait_seconds=_WAIT_SECONDS,
        )
        with queries.open_readonly(db) as reader:
            run = reader.run(run_id)
        _require_complete(run)
        # What they are for comes later, if ever: no reason to withhold the verdict.
        with contextlib.suppress(OperatorError):
            repeating.measure_controls(
                db, suite, run.target, on_progress=on_progress, patience=patience
            )
    with queries.open_readonly(db) as reader:
        found = evaluate.accepted(reader, run_id)
    if found is None:
        raise OperatorError(
            f"run {run_id} is no longer in the history", "try again: stripewright drift accept"
        )
    with History.open_writable(db) as history:
        history.drift.set_value(evaluate.ACCEPTED_RUN, str(run_id))
    return found


def _volume() -> Path:
    """The first mounted volume; here no directory can be named, but a run elsewhere is judged."""
    try:
        return runner.default_target()
    except OperatorError as error:
        raise OperatorError(
            error.message,
            "see why: stripewright status; or run the suite in any directory, and accept that: "
            f"{advice.run_anywhere(SUITE)}, then stripewright drift accept --db FILE",
        ) from error


def _latest(db: Path, target: Path | None) -> int | None:
    if not db.exists():
        return None
    # A run keeps its private directory as its target.
    wanted = None if target is None else {str(target), str(target / paths.BENCH_DIR_NAME)}
    with queries.open_readonly(db) as reader:
        runs = [
            slot.run_id
            for span in series_slots.spans(reader)
            for key, slots in span.series.items()
            if key.suite == SUITE and (wanted is None or key.target in wanted)
            for slot in slots[-1:]
        ]
    return max(runs, default=None)


def _require_complete(run: RunRecord) -> None:
    if run.state is RunState.COMPLETE:
        return
    why = f"the acceptance run ended as {run.state.value}: {run.reason}"
    hint = "when the disks are quiet, try again: stripewright drift accept"
    raise (Refused if run.state is RunState.SKIPPED else OperatorError)(why, hint)
