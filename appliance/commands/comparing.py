"""``compare A B``: two runs, epochs or imports side by side, each ratio with its interval."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance import text
from appliance.bench.figures import comparison, histogram, interval, selection
from appliance.bench.figures.comparison import Key, Observation, Row, Side
from appliance.errors import EXIT_OK, OperatorError
from appliance.history import queries, series
from appliance.model import RunRecord

# Of an epoch the latest runs of each suite speak: two weeks of the timer. Older ones would
# tell what the disks were, and cost the file's readers time.
_RUNS_OF_AN_EPOCH = 60


@dataclass(frozen=True, slots=True)
class Chosen:
    """One side of the comparison: what it is in words, what limits it, its results."""

    what: str
    notes: tuple[str, ...]
    observations: tuple[Observation, ...]


def compare(a: str, b: str, *, db: Path, as_json: bool) -> int:
    """Print the comparison of two sides as they were typed."""
    selectors = (selection.parse(a), selection.parse(b))
    with queries.open_readonly(db) as reader:
        left, right = (_choose(reader, one, histograms=as_json) for one in selectors)
    rows = comparison.compare(left.observations, right.observations)
    if as_json:
        print(json.dumps(_document((a, b), (left, right), rows), indent=2))
    else:
        print(as_text((left, right), rows))
    return EXIT_OK


# ------------------------------------------------------------------------------- choosing


def _choose(reader: queries.Reader, chosen: selection.Selector, *, histograms: bool) -> Chosen:
    if chosen.kind == "import":
        return _import(reader, chosen)
    if chosen.kind == "epoch":
        return _epoch(reader, chosen.number, histograms=histograms)
    run = reader.run(chosen.number)
    results = reader.results(run.id)
    if not results:
        why = f" ({run.reason})" if run.reason else ""
        raise OperatorError(
            f"run {run.id} has no results: it is {run.state}{why}",
            "compare another: stripewright results, with the same --db, lists them",
        )
    points = reader.series(run.id)
    layout = _layout(reader, run)
    observations = selection.of_run(
        run,
        results,
        layout=layout,
        rates=[
            ()
            if ended_at is None
            else series.rates(
                points,
                device=result.member or run.device,
                direction=result.direction,
                ended_at=ended_at,
                seconds=result.runtime_ms / 1000,
            )
            # A run that goes on may have ended one more job since.
            for result, ended_at in zip(results, reader.ends(run.id), strict=False)
        ],
    )
    return Chosen(
        what=f"run {run.id}: {run.suite} {run.state}, {text.moment(run.started_at)}, {layout}",
        notes=(run.scaled,) if run.scaled else (),
        observations=tuple(observations),
    )


def _epoch(reader: queries.Reader, number: int, *, histograms: bool) -> Chosen:
    epoch = reader.epoch(number)
    found = reader.runs_of_epoch(number, per_suite=_RUNS_OF_AN_EPOCH)
    own_time = [run for run in found if not run.scaled]
    runs = own_time or list(found)
    if not runs:
        raise OperatorError(
            f"epoch {number} has no complete run", "start one: stripewright bench run smoke"
        )
    layouts = {run.id: _layout(reader, run) for run in runs}
    results = reader.summaries([run.id for run in runs], histograms=histograms)
    return Chosen(
        what=f"epoch {number} since {text.moment(epoch.opened_at)}: "
        f"the last {len(runs)} complete runs, {' and '.join(dict.fromkeys(layouts.values()))}",
        notes=tuple({run.scaled: None for run in runs if run.scaled}),
        observations=tuple(
            one
            for run in runs
            for one in selection.of_run(run, results[run.id], layout=layouts[run.id], rates=())
        ),
    )


def _import(reader: queries.Reader, chosen: selection.Selector) -> Chosen:
    reports = reader.import_reports(chosen.number)
    observations = selection.of_import(reports, chosen.device)
    if not observations:
        devices = dict.fromkeys(one.evidence.device or "not known" for one in reports)
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


def _layout(reader: queries.Reader, run: RunRecord) -> str:
    """What the run measured in words: the stripe as its epoch has it, or its device."""
    stripe = ""
    if run.epoch_id is not None:
        stripe = reader.epoch(run.epoch_id).fingerprint.get("stripe", "")
    layout = stripe or run.device or run.target
    # A filesystem costs something: with and without one are two layouts.
    return layout if run.target_kind == "filesystem" else f"{layout}, {run.target_kind}"


# -------------------------------------------------------------------------------- as text


def as_text(sides: Sequence[Chosen], rows: Sequence[Row]) -> str:
    """The comparison for a screen of 80 columns: what A and B are, a table, its notes."""
    lines = []
    for name, side in zip("AB", sides, strict=True):
        lines += text.wrapped(f"{name}  {side.what}", indent="   ")
        for note in side.notes:
            lines += text.wrapped(f"   {note}", indent="   ")
    notes: dict[str, int] = {}
    several = tuple(len({one.layout for one in side.observations}) > 1 for side in sides)
    engines: dict[Key, set[str]] = {}
    for row in rows:
        engines.setdefault(dataclasses.replace(row.key, engine=""), set()).add(row.key.engine)
    cells: list[tuple[str, ...]] = [("WORKLOAD", "A IOPS", "B IOPS", "B/A", "95 %", "NOTE")]
    for row in sorted(rows, key=lambda row: row.a is None or row.b is None):
        others = engines[dataclasses.replace(row.key, engine="")] - {row.key.engine}
        numbers = [
            notes.setdefault(note, len(notes) + 1)
            for note in _notes(row, layouts=several, other_engines=others)
        ]
        cells.append(
            (
                workload(row.key),
                _figure(row.a),
                _figure(row.b),
                "-" if row.ratio is None else f"{row.ratio.value:.2f}",
                _interval(row.ratio),
                ",".join(str(number) for number in sorted(numbers)),
            )
        )
    lines += ["", text.table(cells), ""]
    for note, number in notes.items():
        lines += text.wrapped(f"{number:>3}  {note}", indent="     ")
    return "\n".join(lines)


def workload(key: Key) -> str:
    """What was asked, in short: ``randrw read 16k 16×32 io_uring``."""
    mixed = key.rw in {"rw", "randrw"} or not key.rw
    words = [key.rw, key.direction if mixed else "", _block_size(key.block_size_bytes)]
    words += [f"{key.jobs or '?'}×{key.iodepth or '?'}", key.engine]
    return " ".join(word for word in words if word)


def _block_size(size_bytes: int) -> str:
    for unit, factor in (("M", 1024**2), ("k", 1024)):
        if size_bytes >= factor and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes) if size_bytes else "?"


def _figure(side: Side | None) -> str:
    if side is None or side.median is None:
        return "-"
    return f"{'~' if side.by_correction else ''}{text.count(side.median)}"


def _interval(ratio: interval.Ratio | None) -> str:
    if ratio is None or ratio.low is None or ratio.high is None:
        return "-"
    return f"{ratio.low:.2f} to {ratio.high:.2f}"


def _notes(row: Row, *, layouts: tuple[bool, ...], other_engines: set[str]) -> Iterable[str]:
    """What has to be known to read a row. ``layouts``: whether a side has several."""
    if row.a is None or row.b is None:
        yield f"only in {'B' if row.a is None else 'A'}" + (
            f"; {' and '.join(sorted(other_engines))} is another workload" if other_engines else ""
        )
    else:
        yield _basis(row, row.a, row.b)
        if row.a.jobs != row.b.jobs:
            yield f"job {', '.join(row.a.jobs)} in A is {', '.join(row.b.jobs)} in B"
    for name, side, several in zip("AB", (row.a, row.b), layouts, strict=True):
        if side is None:
            continue
        if several:
            yield f"{name} on {', '.join(layout or '?' for layout in side.layouts)}"
        for one in side.invalid:
            yield f"{name}, {one.label}: {_why_not(one)}"


def _basis(row: Row, a: Side, b: Side) -> str:
    if row.basis == comparison.WITHIN:
        return f"{row.basis}: how far runs differ from each other is not in it"
    if len(a.values + b.values) > 2:
        return f"{row.basis} ({len(a.values)} and {len(b.values)} values)"
    return row.basis


def _why_not(one: Observation) -> str:
    if one.valid:
        return "no rate is known, not compared"
    iops = "-" if one.iops is None else text.count(one.iops)
    corrected = (
        "" if one.corrected_iops is None else f"; corrected ~{text.count(one.corrected_iops)}"
    )
    return f"{iops} is not valid ({' '.join(one.codes)}), not compared{corrected}"


# -------------------------------------------------------------------------------- as JSON


def _document(
    typed: Sequence[str], sides: Sequence[Chosen], rows: Sequence[Row]
) -> dict[str, object]:
    return {
        **{
            name: {"selector": word, "what": side.what, "notes": list(side.notes)}
            for name, word, side in zip("ab", typed, sides, strict=True)
        },
        "confidence": interval.CONFIDENCE,
        "rows": [_row_document(row) for row in rows],
    }


def _row_document(row: Row) -> dict[str, object]:
    key, ratio = row.key, row.ratio
    return {
        "workload": {
            "rw": key.rw,
            "direction": key.direction,
            "block_size_bytes": key.block_size_bytes or None,
            "jobs": key.jobs or None,
            "iodepth": key.iodepth or None,
            "engine": key.engine,
        },
        "a": _side_document(row.a),
        "b": _side_document(row.b),
        "ratio": None if ratio is None else ratio.value,
        "interval": None if ratio is None or ratio.low is None else [ratio.low, ratio.high],
        "basis": row.basis,
    }


def _side_document(side: Side | None) -> dict[str, object] | None:
    if side is None:
        return None
    merged = histogram.merge(dict(one.bins) for one in side.valid)
    return {
        "jobs": list(side.jobs),
        "layouts": list(side.layouts),
        "iops": side.median,
        "corrected": side.by_correction,
        "values": list(side.values),
        "p50_ns": histogram.percentile_ns(merged, 50.0),
        "p99_ns": histogram.percentile_ns(merged, 99.0),
        "not_compared": [
            {
                "label": one.label,
                "job": one.job,
                "iops": one.iops,
                "corrected_iops": one.corrected_iops,
                "codes": list(one.codes),
            }
            for one in side.invalid
        ],
    }
