"""One side of a comparison out of the history: a run, an epoch, or an import."""

from __future__ import annotations

from appliance import text
from appliance.errors import OperatorError
from appliance.figures import sampling, selection
from appliance.figures.metric import Metric
from appliance.figures.sides import Chosen
from appliance.history import queries
from appliance.model import advice
from appliance.model.layout_words import stripe_words
from appliance.model.runs import RunRecord

# Of an epoch the latest runs of each suite speak: two weeks of the timer. Older ones would
# tell what the disks were, and cost the file's readers time.
_RUNS_OF_AN_EPOCH = 60


def choose(
    reader: queries.Reader,
    chosen: selection.Selector,
    *,
    histograms: bool = False,
    metric: Metric = Metric.IOPS,
) -> Chosen:
    """What ``chosen`` has to be compared; :class:`OperatorError` if there is nothing.

    ``histograms``: those of an epoch's runs are read as well. ``metric`` is what is compared.
    """
    if chosen.kind == "import":
        return _import(reader, chosen, metric)
    if chosen.kind == "epoch":
        return _epoch(reader, chosen.number, metric, histograms=histograms)
    run = reader.run(chosen.number)
    results = reader.results(run.id)
    if not results:
        why = f" ({run.reason})" if run.reason else ""
        raise OperatorError(
            f"run {run.id} has no results: it is {run.state}{why}",
            "compare another: stripewright results, with the same --db, lists them",
        )
    points = reader.series(run.id)
    layout = layout_of(reader, run)
    observations = selection.of_run(
        run,
        results,
        layout=layout,
        rates=[
            ()
            if ended_at is None
            else sampling.of_job(
                points,
                device=result.member or run.device,
                direction=result.direction,
                ended_at=ended_at,
                seconds=result.runtime_ms / 1000,
            )
            # A run that goes on may have ended one more job since.
            for result, ended_at in zip(results, reader.ends(run.id), strict=False)
        ],
        metric=metric,
    )
    return Chosen(
        what=f"run {run.id}: {run.suite} {run.state}, {text.moment(run.started_at)},"
        f" {_in_words(layout)}",
        notes=(run.scaled,) if run.scaled else (),
        observations=tuple(observations),
    )


def layout_of(reader: queries.Reader, run: RunRecord) -> str:
    """What the run measured: the stripe as its epoch has it, or its device."""
    stripe = ""
    if run.epoch_id is not None:
        stripe = reader.epoch(run.epoch_id).fingerprint.get("stripe", "")
    layout = stripe or run.device or run.target
    # A filesystem costs something: with and without one are two layouts.
    return layout if run.target_kind == "filesystem" else f"{layout}, {run.target_kind}"


def _in_words(layout: str) -> str:
    """What :func:`layout_of` gives, for people."""
    stripe, comma, kind = layout.partition(", ")
    return f"{stripe_words(stripe)}{comma}{kind}"


def _epoch(reader: queries.Reader, number: int, metric: Metric, *, histograms: bool) -> Chosen:
    epoch = reader.epoch(number)
    found = reader.runs_of_epoch(number, per_suite=_RUNS_OF_AN_EPOCH)
    own_time = [run for run in found if not run.scaled]
    runs = own_time or list(found)
    if not runs:
        raise OperatorError(
            f"epoch {number} has no complete run", f"start one: {advice.run_suite()}"
        )
    layouts = {run.id: layout_of(reader, run) for run in runs}
    results = reader.summaries([run.id for run in runs], histograms=histograms)
    words = dict.fromkeys(_in_words(layout) for layout in layouts.values())
    return Chosen(
        what=f"epoch {number} since {text.moment(epoch.opened_at)}: "
        f"the last {len(runs)} complete runs, {' and '.join(words)}",
        notes=tuple({run.scaled: None for run in runs if run.scaled}),
        observations=tuple(
            one
            for run in runs
            for one in selection.of_run(
                run, results[run.id], layout=layouts[run.id], rates=(), metric=metric
            )
        ),
    )


def _import(reader: queries.Reader, chosen: selection.Selector, metric: Metric) -> Chosen:
    reports = reader.import_reports(chosen.number)
    observations = selection.of_import(reports, chosen.device, metric=metric)
    if not observations:
        devices = dict.fromkeys(one.device or "not known" for one in reports)
        raise OperatorError(
            f"import {chosen.number} has no report on {chosen.device}",
            f"it has reports on: {', '.join(devices)}",
        )
    record = next(one for one in reader.imports() if one.id == chosen.number)
    machine = f", {record.machine_type}" if record.machine_type else ""
    on = f" on {chosen.device}" if chosen.device else ""
    return Chosen(
        what=f"import {record.id}: {record.file}{machine}, results{on}: {len(observations)}",
        notes=(),
        observations=tuple(observations),
    )
