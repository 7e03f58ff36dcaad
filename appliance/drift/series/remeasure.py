"""Runs that drift makes: repeats of suspect jobs, and the acceptance of new disks.

A repeat is a run like every other one (suite ``confirm``): visible while it runs, in the
history, never beside another run, and not started beside other load. What could not be
repeated stays suspect.
"""

from __future__ import annotations

import contextlib
import dataclasses
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from appliance import paths
from appliance.bench import fingerprint, job_order, runner
from appliance.bench.block_devices import devices_of
from appliance.bench.progress import Progress
from appliance.bench.suite import content_hash, file_count, load_suite, suite_names
from appliance.drift.series import confirmation, evaluate, member_rules, series_rules
from appliance.drift.series.acceptance import Acceptance
from appliance.errors import OperatorError, Refused, UsageError
from appliance.history import published, queries, series_slots
from appliance.history.store import History
from appliance.model import advice
from appliance.model.confirmations import CONFIRM_SUITE, Confirmation, Repeated
from appliance.model.findings import Fact
from appliance.model.measurement import JobResult
from appliance.model.runs import Job, RunRecord, RunState, Suite
from appliance.model.slots import Detail

OnProgress = Callable[[Progress], None]
# Another run may be at work; the jobs of a suite take less.
WAIT_SECONDS = 1800.0
# In one call: what is left is repeated with the next one, and the disks are free in between.
MAX_SUSPECTS = 3
# The suite by which new disks are accepted.
ACCEPTANCE_SUITE = "smoke"


def _ignored(_: Progress) -> None: ...


def repeat_suspects(
    db: Path,
    *,
    on_progress: OnProgress = _ignored,
    now: Callable[[], float] = time.time,
) -> Repeated:
    """Repeat the suspects of history ``db`` that wait for it, and keep what that says.

    :class:`OperatorError` for a history that cannot be read or written. A run that cannot be made
    (no target, no fio) keeps none of the others from being made.
    """
    facts = evaluate.facts_of(db, now=now())
    with queries.open_readonly(db) as reader:
        suspects = confirmation.waiting(facts, reader.confirmations(), now=now())
    chosen = sorted(suspects, key=_weight, reverse=True)[:MAX_SUSPECTS]
    waits = [(fact, "others are repeated first") for fact in suspects if fact not in chosen]
    made: list[Confirmation] = []
    stopped = failed = False
    for of, group in _grouped(chosen):
        if stopped:
            waits += [(fact, "the repeats were stopped") for fact in group]
            continue
        try:
            _require_this_machine(db, group[0])
            suite = _suite_of(db, group)
            run_id = _run(suite, _directory(of[1]), db, on_progress)
        except OperatorError as error:
            failed = failed or not isinstance(error, Refused | UsageError)
            waits += [(fact, error.message) for fact in group]
            continue
        with queries.open_readonly(db) as reader:
            detail = series_slots.details(reader, [run_id])[run_id]
            if detail.run.state is RunState.COMPLETE:
                said = [_judged(reader, fact, detail, at=now()) for fact in group]
            else:
                said = []
                stopped = detail.run.state is RunState.ABORTED
                waits += [(fact, detail.run.reason) for fact in group]
        if said:
            with History.open_writable(db) as history:
                for one in said:
                    history.drift.add_confirmation(one)
            made += said
    return Repeated(tuple(made), tuple(waits), stopped or failed)


def measure_controls(
    db: Path, suite: Suite, target: str, *, on_progress: OnProgress = _ignored
) -> None:
    """Keep what the control jobs of ``suite`` do on this machine now, for later confirmations."""
    controls = tuple(job_order.control_for(job) for job in suite.jobs)
    made = _made(controls, passes=confirmation.NEEDED_CONTROL)
    _run(made, _directory(target), db, on_progress)


def _run(suite: Suite, target: Path, db: Path, on_progress: OnProgress) -> int:
    return runner.run_suite(
        suite, target=target, db=db, on_progress=on_progress, wait_seconds=WAIT_SECONDS
    )


def _require_this_machine(db: Path, fact: Fact) -> None:
    """:class:`Refused` for a copy of another machine's history: what the disks here do says
    nothing of it, and a target of the same name may well be here.
    """
    if published.is_own(db):
        return
    epoch_id, target = int(fact.evidence["epoch"]), Path(str(fact.evidence["target"]))
    with queries.open_readonly(db) as reader:
        host, then = reader.host(epoch_id), reader.epoch(epoch_id).fingerprint
    here = platform.node()
    if host != here:
        raise Refused(
            f"{fact.subject} was measured on {host}, and this is {here}",
            "repeat it on that machine",
        )
    place = _directory(str(target))
    if not place.exists():
        return  # the run itself says so
    number = place.stat().st_dev
    now = fingerprint.fingerprint(
        devices_of(number), device_number=number, fio_version="", machine_type=""
    )
    if then.get("serials") != now["serials"]:
        raise Refused(
            f"the disks at {target} are not those that {fact.subject} was measured on",
            "measure these for some days first: the new ones have no baseline yet",
        )


def _directory(target: str) -> Path:
    """What to name for ``target`` of a run: its private directory is removed after a run unless
    it was there before.
    """
    path = Path(target)
    gone = path.name == paths.BENCH_DIR_NAME and not path.exists()
    return path.parent if gone else path


def _weight(fact: Fact) -> float:
    """The largest change first; one that a rule sees has no size, and goes ahead."""
    effect = fact.evidence.get("effect_percent")
    return abs(float(effect)) if effect is not None else 100.0


def _grouped(chosen: Sequence[Fact]) -> list[tuple[tuple[str, str], list[Fact]]]:
    """Suspects of one suite and target are repeated in one run."""
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in chosen:
        of = (str(fact.evidence["suite"]), str(fact.evidence["target"]))
        groups.setdefault(of, []).append(fact)
    return list(groups.items())


# ---------------------------------------------------------------------------- the suite


def _suite_of(db: Path, group: Sequence[Fact]) -> Suite:
    """The jobs of ``group`` as their suite asks for them, each with its control job.

    The files are those of the whole suite. :class:`Refused` for a suite that is not known here.
    """
    run_id = int(group[0].evidence["change_run"])
    with queries.open_readonly(db) as reader:
        run, jobs = reader.run(run_id), series_slots.jobs(reader, run_id)
        asked = series_slots.suite_hash(reader, run_id)
    wanted = {str(fact.evidence["job"]) for fact in group}
    whole = _known_suite(run.suite, asked, jobs)
    found = tuple(job for job in whole.jobs if job.name in wanted)
    if not found:
        raise Refused(
            f"the jobs of suite {run.suite} are not in this history",
            f"repeat it: {advice.run_suite(run.suite)}",
        )
    controls = (job_order.control_for(job) for job in found)
    return _made((*found, *controls), passes=confirmation.REPEATS, whole=whole)


def _known_suite(name: str, asked: str, jobs: tuple[Job, ...]) -> Suite:
    """The suite of that name if it is still the same; else what the history has of it."""
    if name in suite_names():
        suite = load_suite(name)
        if suite.content_hash == asked:
            return suite
    return Suite(name=name, summary=name, jobs=jobs, content_hash=asked)


def _made(jobs: tuple[Job, ...], *, passes: int, whole: Suite | None = None) -> Suite:
    """``whole``: the suite with whose files they are measured."""
    made = Suite(
        name=CONFIRM_SUITE,
        summary="Repeats of suspect jobs, beside jobs that touch no disk",
        jobs=jobs,
        content_hash="",
        passes=passes,
    )
    if whole is not None:
        made = dataclasses.replace(
            made,
            files=file_count(whole),
            file_size_bytes=whole.file_size_bytes,
            steady=whole.steady,
        )
    return dataclasses.replace(made, content_hash=content_hash(made))


# ------------------------------------------------------------------------ what they say


def _judged(reader: queries.Reader, fact: Fact, detail: Detail, *, at: float) -> Confirmation:
    job, direction = str(fact.evidence["job"]), str(fact.evidence["direction"])
    repeats = _valid(detail, job, direction)
    (of_job,) = (one for one in series_slots.jobs(reader, detail.run.id) if one.name == job)
    beside = job_order.control_for(of_job).name
    controls = [result.iops for result in _valid(detail, beside, direction)]
    if fact.code == "PERF-MEMBER":
        outcome = _member_again(reader, fact, detail, repeats)
    elif fact.code == "PERF-LATENCY-MODE":
        outcome = _mode_again(reader, fact, detail.run.id)
    else:
        epoch_id = detail.run.epoch_id or 0
        earlier = series_slots.earlier_controls(reader, epoch_id, beside, direction)
        outcome = confirmation.verdict(
            float(fact.evidence["before_iops"]),
            float(fact.evidence["level_iops"]),
            [result.iops for result in repeats],
            control_before=earlier[len(controls) :],
            control=controls,
        )
    return Confirmation(
        code=fact.code,
        subject=fact.subject,
        identity=fact.identity,
        target=str(fact.evidence["target"]),
        change_run=int(fact.evidence["change_run"]),
        run_id=detail.run.id,
        at=at,
        verdict=outcome.verdict,
        words=outcome.words,
        repeats=tuple(result.iops for result in repeats),
        control=tuple(controls),
    )


def _valid(detail: Detail, job: str, direction: str) -> list[JobResult]:
    return [
        result
        for result in detail.results
        if (result.job, result.direction) == (job, direction) and result.valid
    ]


def _member_again(
    reader: queries.Reader, fact: Fact, detail: Detail, repeats: Sequence[JobResult]
) -> confirmation.Outcome:
    then = reader.epoch(detail.run.epoch_id or 0).fingerprint
    seen = [
        any(
            one.serial == fact.member
            for one in member_rules.outliers(dataclasses.replace(detail, results=(result,)), then)
        )
        for result in repeats
    ]
    return confirmation.of_rule(seen, f"{fact.member} is the slow member")


def _mode_again(reader: queries.Reader, fact: Fact, run_id: int) -> confirmation.Outcome:
    cut_ns = int(fact.evidence["cut_ns"])
    usual = float(fact.evidence["usual_share_percent"]) / 100
    of = (fact.evidence["job"], fact.evidence["direction"])
    seen = [
        series_rules.has_mode(result.bins, cut_ns, usual)
        for result in reader.results(run_id)
        if (result.job, result.direction) == of and result.valid
    ]
    return confirmation.of_rule(seen, "the second mode is there")


# ----------------------------------------------------------------------------- acceptance


def accept(db: Path, *, on_progress: OnProgress = _ignored) -> Acceptance:
    """The verdict on the latest complete smoke run of the current epoch.

    Without one a run is made on the first mounted volume, and the control jobs are measured
    beside it. Raises :class:`Refused` where that run was not possible, and
    :class:`OperatorError` where it failed.
    """
    run_id = _latest(db)
    if run_id is None:
        suite = load_suite(ACCEPTANCE_SUITE)
        run_id = _run(suite, _volume(), db, on_progress)
        with queries.open_readonly(db) as reader:
            run = reader.run(run_id)
        _require_complete(run)
        # What they are for comes later, if ever: no reason to withhold the verdict.
        with contextlib.suppress(OperatorError):
            measure_controls(db, suite, run.target, on_progress=on_progress)
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
        return fingerprint.default_target()
    except OperatorError as error:
        raise OperatorError(
            error.message,
            "see why: stripewright status; or run the suite in any directory, and accept that: "
            f"{advice.run_anywhere(ACCEPTANCE_SUITE)}, then stripewright drift accept --db FILE",
        ) from error


def _latest(db: Path) -> int | None:
    if not db.exists():
        return None
    with queries.open_readonly(db) as reader:
        runs = [
            slots[-1].run_id
            for span in series_slots.spans(reader)
            for key, slots in span.series.items()
            if key.suite == ACCEPTANCE_SUITE
        ]
    return max(runs, default=None)


def _require_complete(run: RunRecord) -> None:
    if run.state is RunState.COMPLETE:
        return
    why = f"the acceptance run ended as {run.state.value}: {run.reason}"
    hint = "when the disks are quiet, try again: stripewright drift accept"
    raise (Refused if run.state is RunState.SKIPPED else OperatorError)(why, hint)
