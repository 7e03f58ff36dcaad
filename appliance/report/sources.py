"""What a report is made of, out of the history: of a run, or of an imported diary."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from appliance import __version__, text
from appliance.drift.series import trends
from appliance.errors import OperatorError, UsageError
from appliance.figures.selection import Selector
from appliance.history import exports, queries, series_slots
from appliance.model import advice
from appliance.model.findings import SeriesKey
from appliance.model.measurement import JobResult
from appliance.model.runs import RunRecord, RunState
from appliance.model.slots import Detail
from appliance.report import gather, html, markdown
from appliance.report.gather import run_report
from appliance.report.page import BesideNormal, Material, Normals, ReportDocument
from appliance.system import files

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
        rates=reader.series(run.id),
        ended_at=_ends(reader, run.id),
        others=_others(reader, run),
        normals=_normals(reader, run, results),
    )
    return run_report(material, written_at=time.time(), version=__version__)


def of_import(reader: queries.Reader, import_id: int) -> ReportDocument:
    """The report of an imported diary."""
    found = reader.import_reports(import_id)
    record = next(one for one in reader.imports() if one.id == import_id)
    return gather.import_report(
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


def _others(reader: queries.Reader, run: RunRecord) -> tuple[Detail, ...]:
    """The other runs of this suite on this target: some earlier ones, and the latest three."""
    found = reader.runs_around(run, before=_EARLIER, after=3)
    results = reader.summaries(one.id for one in found if one.id < run.id)
    return tuple(Detail(one, results.get(one.id, ())) for one in found)


def _normals(reader: queries.Reader, run: RunRecord, results: Sequence[JobResult]) -> Normals:
    """What is normal in the run's epoch, as screens and drift have it; of a run with other times,
    or of the suite as it was before it was edited, nothing is known.
    """
    found: dict[tuple[str, str, str], BesideNormal] = {}
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
                found[job, direction, member] = BesideNormal(valid, one.normal)
    return found


def _ends(reader: queries.Reader, run_id: int) -> tuple[float, ...]:
    """When each result was written; none if that is not known of every one."""
    found = [at for at in reader.ends(run_id) if at is not None]
    return tuple(found) if len(found) == len(reader.ends(run_id)) else ()


# ---------------------------------------------------------------- a report or export as a new file


# What a name may end in, and what is written then.
FORMS: Mapping[str, str] = {
    ".html": "a report, as a page",
    ".md": "a report, as text for a ticket",
    ".json": "every figure, for other programs",
    ".csv": "the results of the whole history, for a spreadsheet",
}
REPORTS: Mapping[str, Callable[[ReportDocument], str]] = {
    ".html": html.page,
    ".md": markdown.text,
}


def write_new(db: Path, what: Selector, output: Path) -> str:
    """Write ``what`` (a run or an import) to the new file ``output``; says what was written.

    :class:`OperatorError` if the name has another ending, if something has that name
    already (it stays as it is), or if it cannot be written.
    """
    form = output.suffix.lower()
    if form not in FORMS:
        raise UsageError(
            f"{output.name or output} does not say what to write", f"end it in {', '.join(FORMS)}"
        )
    if os.path.lexists(output):
        raise _exists(output)
    left_out: list[str] = []
    try:
        with queries.open_readonly(db) as reader:
            files.create_text(output, _pieces(reader, what, form, left_out))
    except FileExistsError as error:
        raise _exists(output) from error
    except OSError as error:
        raise OperatorError(
            f"{output} cannot be written: {os.strerror(error.errno or 0)}",
            "name a file in a directory that you may write, on a filesystem with space",
        ) from error
    lost = f", without {len(left_out)} that cannot be read" if left_out else ""
    return f"{output.absolute()}: {FORMS[form]}, {text.size(output.stat().st_size)}{lost}"


def _exists(output: Path) -> OperatorError:
    return OperatorError(f"{output} exists and was left as it is", "type another name")


def _pieces(
    reader: queries.Reader, what: Selector, form: str, left_out: list[str]
) -> Iterable[str]:
    if form == ".csv":
        return exports.csv_text(reader, left_out)
    is_import = what.kind == "import"
    if form == ".json":
        if is_import:
            record = next((one for one in reader.imports() if one.id == what.number), None)
            if record is None:
                raise OperatorError(
                    f"there is no import {what.number} in {reader.path}",
                    "it may have been removed since: read the list again",
                )
            document = exports.import_document(reader, record, left_out)
        else:
            document = exports.run_document(reader, reader.run(what.number), left_out)
        if left_out:
            document["left_out"] = left_out
        return (json.dumps(document, indent=1), "\n")
    made = of_import if is_import else of_run
    return (REPORTS[form](made(reader, what.number)),)
