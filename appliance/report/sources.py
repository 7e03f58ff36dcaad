"""What a report is made of, out of the history: of a run, or of an imported diary."""

from __future__ import annotations

import time
from collections.abc import Sequence

from appliance import __version__
from appliance.drift import trends
from appliance.errors import OperatorError
from appliance.history import queries, series_slots
from appliance.model import JobResult, RunRecord, RunState, SeriesKey, advice
from appliance.report import diary
from appliance.report.beside_normal import Normal
from appliance.report.gather import Material, gather
from appliance.report.page import Past, Rate, ReportDocument
from appliance.report.result_rows import Normals

# Thirty days of the timer: more would make the charts slower to read, not better.
_EARLIER = 120


def of_run(reader: queries.Reader, run_id: int | None) -> ReportDocument:
    """The report of run ``run_id``, or of the latest of a suite that measured something."""
    run = _latest(reader) if run_id is None else reader.run(run_id)
    results = reader.results(run.id)
    material = Material(
        run=run,
        results=results,
        epoch=None if run.epoch_id is None else reader.epoch(run.epoch_id),
        host="" if run.epoch_id is None else reader.host(run.epoch_id),
        rates=_rates(reader, run.id),
        ended_at=_ends(reader, run.id),
        others=_others(reader, run),
        normals=_normals(reader, run, results),
    )
    return gather(material, written_at=time.time(), version=__version__)


def of_import(reader: queries.Reader, import_id: int) -> ReportDocument:
    """The report of an imported diary."""
    found = reader.import_reports(import_id)
    record = next(one for one in reader.imports() if one.id == import_id)
    return diary.gather(
        found,
        file=record.file,
        machine_type=record.machine_type,
        imported_at=record.at,
        written_at=time.time(),
        version=__version__,
    )


def _latest(reader: queries.Reader) -> RunRecord:
    """The latest run of a suite that measured something; else the latest, to tell why it did not.

    A repeat of a suspect is not meant by a report of the machine: it has to be named.
    """
    runs = reader.runs(limit=50, repeats=False)
    if not runs:
        raise OperatorError(
            "there are no runs of a suite yet",
            f"start one: {advice.run_suite()}",
        )
    measured = reader.summaries(run.id for run in runs if run.state is not RunState.RUNNING)
    return next((run for run in runs if measured.get(run.id)), runs[0])


def _others(reader: queries.Reader, run: RunRecord) -> tuple[Past, ...]:
    """The other runs of this suite on this target: some earlier ones, and the latest three."""
    found = reader.runs_around(run, before=_EARLIER, after=3)
    results = reader.summaries(one.id for one in found if one.id < run.id)
    return tuple(Past(one, results.get(one.id, ())) for one in found)


def _normals(reader: queries.Reader, run: RunRecord, results: Sequence[JobResult]) -> Normals:
    """What is normal in the run's epoch, as screens and drift have it; of a run with other times,
    or of the suite as it was before it was edited, nothing is known.
    """
    found: dict[tuple[str, str, str], Normal] = {}
    if run.scaled:
        return found
    asked = series_slots.suite_hash(reader, run.id)
    for job, direction, member in {(one.job, one.direction, one.member) for one in results}:
        whole = trends.whole(reader, SeriesKey(run.suite, run.target, job, direction, member))
        for one in whole.stretches:
            if (
                one.epoch.id == run.epoch_id
                and series_slots.suite_hash(reader, one.slots[-1].run_id) == asked
            ):
                valid = sum(slot.valid for slot in one.slots)
                found[job, direction, member] = Normal(valid, one.normal)
    return found


def _rates(reader: queries.Reader, run_id: int) -> tuple[Rate, ...]:
    """The samples. History dates each by the whole second in which it was taken, at its end:
    half a second less is the middle of that uncertainty.
    """
    return tuple(
        Rate(
            at=one.at - 0.5,
            seconds=one.seconds,
            device=one.device,
            read_bytes_per_s=one.read_bytes_per_s,
            write_bytes_per_s=one.write_bytes_per_s,
        )
        for one in reader.series(run_id)
    )


def _ends(reader: queries.Reader, run_id: int) -> tuple[float, ...]:
    """When each result was written; none if that is not known of every one."""
    found = [at for at in reader.ends(run_id) if at is not None]
    return tuple(found) if len(found) == len(reader.ends(run_id)) else ()
