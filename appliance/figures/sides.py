"""A comparison in words: what its sides are, its figures, and what has to be known to read them.

Pure. The command prints it, a screen shows it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from appliance import text
from appliance.figures import comparison
from appliance.figures.comparison import Key, Observation, Row, Side
from appliance.figures.metric import Metric


@dataclass(frozen=True, slots=True)
class Chosen:
    """One side of a comparison: what it is in words, what limits it, its results."""

    what: str
    notes: tuple[str, ...]
    observations: tuple[Observation, ...]


class Change(StrEnum):
    """What the interval of B ÷ A says of B."""

    FASTER = "faster"
    SLOWER = "slower"
    NOT_TOLD = "the interval has 1 in it"
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class WordedRow:
    """A row as texts; ``-`` is what is not known. ``notes`` are numbers from 1 of the notes."""

    workload: str
    a: str
    b: str
    ratio: str
    interval: str
    change: Change
    notes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Worded:
    """Rows, those with a counterpart first, and their notes in the order of their numbers."""

    rows: tuple[WordedRow, ...]
    notes: tuple[str, ...]


def in_words(sides: Sequence[Chosen], rows: Sequence[Row], metric: Metric = Metric.IOPS) -> Worded:
    """The comparison ``rows`` of two sides as texts; ``metric`` is what was compared."""
    notes: dict[str, int] = {}
    several = tuple(len({one.layout for one in side.observations}) > 1 for side in sides)
    engines: dict[Key, set[str]] = {}
    for row in rows:
        engines.setdefault(dataclasses.replace(row.key, engine=""), set()).add(row.key.engine)
    worded = []
    for row in sorted(rows, key=lambda row: row.a is None or row.b is None):
        others = engines[dataclasses.replace(row.key, engine="")] - {row.key.engine}
        numbers = [
            notes.setdefault(note, len(notes) + 1)
            for note in _notes(row, metric, layouts=several, other_engines=others)
        ]
        worded.append(
            WordedRow(
                workload=workload(row.key) + (f" {row.key.engine}" if others else ""),
                a=_figure(row.a, metric),
                b=_figure(row.b, metric),
                ratio="-" if row.ratio is None else f"{row.ratio.value:.2f}",
                interval=_interval(row.ratio),
                change=_change(row.ratio, metric),
                notes=tuple(sorted(numbers)),
            )
        )
    return Worded(tuple(worded), tuple(notes))


def workload(key: Key) -> str:
    """What was asked, as :func:`appliance.text.workload` has it."""
    return text.workload(
        key.rw,
        block_size_bytes=key.block_size_bytes,
        iodepth=key.iodepth,
        jobs=key.jobs,
        direction=key.direction,
    )


def _figure(side: Side | None, metric: Metric) -> str:
    if side is None or side.median is None:
        return "-"
    return f"{'~' if side.by_correction else ''}{metric.words(side.median)}"


def _interval(ratio: comparison.Ratio | None) -> str:
    if ratio is None or ratio.low is None or ratio.high is None:
        return "-"
    return f"{ratio.low:.2f} to {ratio.high:.2f}"


def _change(ratio: comparison.Ratio | None, metric: Metric) -> Change:
    if ratio is None or ratio.low is None or ratio.high is None:
        return Change.UNKNOWN
    # As it is shown: an interval to 1.00 has 1 in it for its reader.
    more, less = Change.FASTER, Change.SLOWER
    if metric.is_latency:
        more, less = less, more
    if round(ratio.low, 2) > 1:
        return more
    return less if round(ratio.high, 2) < 1 else Change.NOT_TOLD


def _notes(
    row: Row, metric: Metric, *, layouts: tuple[bool, ...], other_engines: set[str]
) -> Iterable[str]:
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
            yield f"{name}, {one.label}: {_why_not(one, metric)}"


def _basis(row: Row, a: Side, b: Side) -> str:
    if row.basis == comparison.WITHIN:
        return f"{row.basis} only; repeated runs may differ by more"
    if len(a.values + b.values) > 2:
        return f"{row.basis} ({len(a.values)} and {len(b.values)} values)"
    return row.basis


def _why_not(one: Observation, metric: Metric) -> str:
    if one.valid:
        return f"no {metric} is known, not compared"
    value = "-" if one.value is None else metric.words(one.value)
    corrected = "" if one.corrected is None else f"; corrected ~{metric.words(one.corrected)}"
    return f"{value} is not valid ({' '.join(one.codes)}), not compared{corrected}"
