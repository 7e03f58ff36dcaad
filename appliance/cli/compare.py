"""``compare A B``: two runs, epochs or imports side by side, each ratio with its interval."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from appliance import text
from appliance.errors import EXIT_OK
from appliance.figures import comparison, histogram, interval, selection, sides
from appliance.figures.comparison import Row, Side
from appliance.figures.sides import Chosen
from appliance.history import compare_source, queries


def compare(a: str, b: str, *, db: Path, as_json: bool) -> int:
    """Print the comparison of two sides as they were typed."""
    selectors = (selection.parse(a), selection.parse(b))
    with queries.open_readonly(db) as reader:
        left, right = (compare_source.choose(reader, one, histograms=as_json) for one in selectors)
    rows = comparison.compare(left.observations, right.observations)
    if as_json:
        print(json.dumps(_document((a, b), (left, right), rows), indent=2))
    else:
        print(as_text((left, right), rows))
    return EXIT_OK


def as_text(both: Sequence[Chosen], rows: Sequence[Row]) -> str:
    """The comparison for a screen of 80 columns: what A and B are, a table, its notes."""
    lines = []
    for name, side in zip("AB", both, strict=True):
        lines += text.wrapped(f"{name}  {side.what}", indent="   ")
        for note in side.notes:
            lines += text.wrapped(f"   {note}", indent="   ")
    worded = sides.in_words(both, rows)
    cells: list[tuple[str, ...]] = [("WORKLOAD", "A IOPS", "B IOPS", "B/A", "95 %", "NOTE")]
    cells += [
        (row.workload, row.a, row.b, row.ratio, row.interval, ",".join(map(str, row.notes)))
        for row in worded.rows
    ]
    lines += ["", text.table(cells), ""]
    for number, note in enumerate(worded.notes, start=1):
        lines += text.wrapped(f"{number:>3}  {note}", indent="     ")
    return "\n".join(lines)


# -------------------------------------------------------------------------------- as JSON


def _document(
    typed: Sequence[str], both: Sequence[Chosen], rows: Sequence[Row]
) -> dict[str, object]:
    return {
        **{
            name: {"selector": word, "what": side.what, "notes": list(side.notes)}
            for name, word, side in zip("ab", typed, both, strict=True)
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
